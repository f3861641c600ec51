//! What each byte can be, as bits of one table: a run of bytes is told by the union of its bits.

/// A letter, digit or underscore; bytes outside ASCII count as letters.
pub(super) const WORD: u16 = 1;
/// A letter of ASCII, or `_` or `$`.
pub(super) const LETTER: u16 = 1 << 12;
/// Behind a word: what can make it a key, directly or behind more white space.
pub(super) const SEPARATOR: u16 = 1 << 13;
/// A digit.
pub(super) const DIGIT: u16 = 1 << 1;
/// Outside ASCII.
pub(super) const HIGH: u16 = 1 << 2;
/// Joins two words to a chunk.
pub(super) const JOINT: u16 = 1 << 3;
/// Goes on with a chunk.
pub(super) const CHUNK: u16 = 1 << 4;
/// Belongs to a chunk only if more of it follows.
pub(super) const LOOSE: u16 = 1 << 5;
/// Part of a word of SQL.
pub(super) const NAME: u16 = 1 << 14;
/// A mark of SQL that never is the start of anything else.
pub(super) const MARK: u16 = 1 << 15;
/// What tells sorts of chunks apart.
pub(super) const DOT: u16 = 1 << 6;
pub(super) const COLON: u16 = 1 << 7;
pub(super) const SLASH: u16 = 1 << 8;
pub(super) const AT: u16 = 1 << 9;
pub(super) const EQUALS: u16 = 1 << 10;
pub(super) const PERCENT: u16 = 1 << 11;

static BITS: [u16; 256] = {
    let mut bits = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        bits[byte] = match byte as u8 {
            b'0'..=b'9' => WORD | CHUNK | DIGIT | NAME,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => WORD | CHUNK | LETTER | NAME,
            b'$' => WORD | CHUNK | LETTER,
            0x80..=0xff => WORD | CHUNK | HIGH | NAME,
            b'.' => JOINT | CHUNK | LOOSE | DOT,
            b':' => JOINT | CHUNK | LOOSE | COLON | SEPARATOR,
            b'/' => JOINT | CHUNK | SLASH,
            b'\\' => JOINT | CHUNK | SLASH | SEPARATOR,
            b'@' => JOINT | CHUNK | AT,
            b'=' => JOINT | CHUNK | LOOSE | EQUALS | SEPARATOR | MARK,
            b' ' | b'\t' | b'"' | b'\'' => SEPARATOR,
            b'%' => JOINT | CHUNK | PERCENT,
            b'-' => JOINT | CHUNK | LOOSE,
            b'+' | b'#' | b'~' => JOINT | CHUNK,
            b'?' | b'!' => CHUNK | LOOSE,
            b'*' | b'&' => CHUNK | MARK,
            b',' | b'(' | b')' | b';' | b'<' | b'>' => MARK,
            _ => 0,
        };
        byte += 1;
    }
    bits
};

/// The bits of a byte.
pub(super) fn bits(byte: u8) -> u16 {
    BITS[usize::from(byte)]
}

/// Can the byte be part of a word?
pub(super) fn is_word(byte: u8) -> bool {
    bits(byte) & WORD != 0
}
