//! Texts that are searched for together.

/// A set of texts. The first three bytes at a place rule most of the texts out with one look at a table, so that a
/// search for all of them costs little more than one for a byte.
pub(super) struct Signs {
    texts: &'static [&'static str],
    /// For each of the first three bytes: the groups of texts, as bits, that have it there.
    heads: [[u8; 256]; 3],
}

impl Signs {
    /// The set of these texts. Neighbours share a group: a sorted list is searched fastest.
    pub(super) const fn new(texts: &'static [&'static str]) -> Signs {
        let mut heads = [[0; 256]; 3];
        let mut index = 0;
        while index < texts.len() {
            let (text, bit) = (texts[index].as_bytes(), 1 << (index / group_size(texts)));
            let mut place = 0;
            while place < heads.len() {
                let mut byte = 0;
                while byte < 256 {
                    if place >= text.len() || text[place] as usize == byte {
                        heads[place][byte] |= bit;
                    }
                    byte += 1;
                }
                place += 1;
            }
            index += 1;
        }
        Signs { texts, heads }
    }

    /// Does one of the texts stand at the start?
    pub(super) fn start(&self, bytes: &[u8]) -> bool {
        let byte = |place: usize| usize::from(bytes.get(place).copied().unwrap_or(0));
        let [first, second, third] = &self.heads;
        let groups = first[byte(0)] & second[byte(1)] & third[byte(2)];
        groups != 0 && self.verify(groups, bytes)
    }

    /// The first index at which one of the texts stands.
    pub(super) fn first(&self, bytes: &[u8]) -> Option<usize> {
        (0..bytes.len()).find(|at| self.start(bytes.get(*at..).unwrap_or_default()))
    }

    /// The last index at which one of the texts stands.
    pub(super) fn last(&self, bytes: &[u8]) -> Option<usize> {
        (0..bytes.len()).rev().find(|at| self.start(bytes.get(*at..).unwrap_or_default()))
    }

    #[cold]
    fn verify(&self, groups: u8, bytes: &[u8]) -> bool {
        let candidates = self.texts.chunks(group_size(self.texts)).enumerate();
        candidates
            .filter(|(group, _)| groups >> group & 1 == 1)
            .any(|(_, texts)| texts.iter().any(|text| bytes.starts_with(text.as_bytes())))
    }
}

/// How many texts share one of eight groups.
const fn group_size(texts: &[&str]) -> usize {
    texts.len().div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    static SIGNS: Signs = Signs::new(&["\n#", "ERR ", "ER_", "a", "abc", "b", "c", "d", "e", "ä!"]);

    #[test]
    fn finds_each_text_wherever_it_stands_and_no_part_of_it() {
        for text in ["\n#", "xERR ", "x ER_x", "a", "ba", "1 ä!"] {
            assert!(SIGNS.first(text.as_bytes()).is_some(), "{text}");
        }
        for text in ["", "\n", "ERR", "ER", "ä", "x\n"] {
            assert!(SIGNS.first(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn finds_the_first_and_the_last_place() {
        assert_eq!((SIGNS.first(b"xx ERR  a"), SIGNS.last(b"xx ERR  a.")), (Some(3), Some(8)));
    }

    #[test]
    fn looks_only_at_the_start_where_asked_to() {
        assert!(SIGNS.start(b"\n#") && SIGNS.start(b"ERR x"));
        assert!(!SIGNS.start(b" a") && !SIGNS.start(b""));
    }
}
