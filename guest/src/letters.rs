//! Letters, without Unicode's tables, which would be larger than all that asks for them.

/// Is the character a letter or a digit? Outside ASCII all but white space, punctuation and quotes count.
pub(crate) const fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
        || !matches!(letter,
            '\0'..='\u{a9}' | '\u{ab}'..='\u{b4}' | '\u{b6}'..='\u{b9}' | '\u{bb}' | '\u{bf}' | '\u{2000}'..='\u{206f}'
            | '\u{2190}'..='\u{2bff}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}' | '\u{fe30}'..='\u{fe6f}'
            | '\u{ff00}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_every_script_are_letters_and_their_marks_and_blanks_are_not() {
        for letter in "aZ0éßЖ錯ー한אبกº".chars() {
            assert!(is_letter(letter) && letter.is_alphanumeric(), "{letter}");
        }
        for mark in " \n_.:«»“„—…\u{a0}\u{2028}→■「。：（！～".chars() {
            assert!(!is_letter(mark) && !mark.is_alphanumeric(), "{mark}");
        }
    }
}
