//! Which rows of a table of patterns can begin at a place: told by the two bytes there, for all rows at once.

use super::pattern::can_take;

/// Some rows of a table, one bit each.
pub(super) type Rows = u128;

/// How many values a byte has without its highest bit. The filter may let through a row too many, since what it lets
/// through is matched in full.
const BYTES: usize = 128;

/// What the rows of a table begin with.
pub(super) struct Beginnings {
    first: [Rows; BYTES],
    second: [Rows; BYTES],
}

impl Beginnings {
    /// The beginnings of patterns, or of plain words.
    pub const fn of(patterns: &[&str]) -> Beginnings {
        assert!(patterns.len() <= Rows::BITS as usize, "one bit per row");
        let mut beginnings = Beginnings { first: [0; BYTES], second: [0; BYTES] };
        let mut row = 0;
        while row < patterns.len() {
            let pattern = patterns[row].as_bytes();
            let mut byte = 0;
            while byte < BYTES {
                beginnings.first[byte] |= (begins(pattern, byte as u8) as Rows) << row;
                beginnings.second[byte] |= (goes_on(pattern, byte as u8) as Rows) << row;
                byte += 1;
            }
            row += 1;
        }
        beginnings
    }

    /// The rows that can begin where a text does.
    pub fn at(&self, text: &[u8]) -> Rows {
        let look =
            |rows: &[Rows; BYTES], byte: u8| rows.get(usize::from(byte) % BYTES).copied().unwrap_or_default();
        match *text {
            [first, second, ..] => look(&self.first, first) & look(&self.second, second),
            [first] => look(&self.first, first) & look(&self.second, 0),
            [] => 0,
        }
    }
}

/// The numbers of rows, in the table's order.
pub(super) fn numbers(mut rows: Rows) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let number = rows.trailing_zeros();
        rows &= rows.wrapping_sub(1);
        (number < Rows::BITS).then_some(number as usize)
    })
}

/// Can the pattern's match begin with the byte?
const fn begins(pattern: &[u8], byte: u8) -> bool {
    match pattern {
        [b'%', kind @ (b'c' | b'p' | b'w' | b'o' | b't' | b'k'), ..] => {
            can_take(*kind, byte) && (byte.is_ascii_alphabetic() || (*kind == b'c' && byte == b'_'))
        }
        [b'%', kind, ..] => can_take(*kind, byte),
        [b'~', ..] => true,
        [first, ..] => is_same(*first, byte),
        [] => false,
    }
}

/// Can the byte be a match's second one? 0 stands for a text that has none.
const fn goes_on(pattern: &[u8], byte: u8) -> bool {
    match pattern {
        [b'%' | b'~', ..] | [_, b'~', ..] | [_] => true,
        [_, b'%', kind, ..] => can_take(*kind, byte),
        [_, second, ..] => is_same(*second, byte),
        [] => false,
    }
}

/// Is the pattern's byte this one of a text, in either case?
const fn is_same(pattern: u8, byte: u8) -> bool {
    pattern.to_ascii_lowercase() as usize % BYTES == byte as usize
        || pattern.to_ascii_uppercase() as usize % BYTES == byte as usize
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn rows_are_told_by_two_bytes_in_either_case_and_in_their_order() {
        const WORDS: Beginnings = Beginnings::of(&["%d:", "Ab", "a%d", "é", "~x", "a"]);
        let at = |text: &str| numbers(WORDS.at(text.as_bytes())).collect::<Vec<usize>>();
        assert_eq!(at("aB"), [1, 4, 5]);
        assert_eq!(at("A7"), [2, 4, 5]);
        assert_eq!(at("7:"), [0, 4]);
        assert!(at("é").contains(&3));
        assert_eq!(at("a"), [4, 5]);
        assert_eq!(at(""), Vec::<usize>::new());
    }
}
