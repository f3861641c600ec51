//! Characters that steer a terminal or hide text.

use super::finding::Kind;
use super::scan::Scanner;

/// A control character of ASCII; an escape sequence goes as a whole.
pub(super) fn ascii(scanner: &mut Scanner) {
    let start = scanner.at;
    let end = if scanner.byte(start) == 0x1b { escape_end(scanner, start + 1) } else { start + 1 };
    scanner.found(Kind::Control, start, end);
}

/// The end of an escape sequence whose introducer is at `at`.
fn escape_end(scanner: &Scanner, at: usize) -> usize {
    let rest = scanner.rest_bytes(at + 1);
    match scanner.byte(at) {
        // CSI: parameters, then one final byte.
        b'[' => {
            at + 1
                + rest
                    .iter()
                    .position(|byte| matches!(byte, 0x40..=0x7e))
                    .map_or(rest.len(), |found| found + 1)
        }
        // OSC, DCS, APC, PM, SOS: a string up to BEL or ST; unterminated to the end.
        b']' | b'P' | b'_' | b'^' | b'X' => {
            let found = rest.iter().position(|byte| matches!(byte, 0x07 | 0x1b));
            let end = found.map_or(rest.len(), |found| found + 1);
            at + 1
                + end
                + usize::from(found.is_some_and(|found| {
                    rest.get(found) == Some(&0x1b) && rest.get(found + 1) == Some(&b'\\')
                }))
        }
        _ => at + 1,
    }
}

/// An invisible or steering character outside ASCII at the scanner's place? Then it is found.
pub(super) fn unicode(scanner: &mut Scanner) -> bool {
    let start = scanner.at;
    let Some(character) = hidden(scanner, start) else {
        return false;
    };
    scanner.found(Kind::Control, start, start + character.len_utf8());
    true
}

/// The invisible or steering character at an index, if there is one.
pub(super) fn hidden(scanner: &Scanner, at: usize) -> Option<char> {
    // The first bytes that such characters can have.
    if !matches!(scanner.byte(at), 0xc2 | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef | 0xf3) {
        return None;
    }
    scanner.rest(at).chars().next().filter(|character| is_hidden(*character))
}

/// Does the character steer the order of text, or is it invisible?
const fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}
