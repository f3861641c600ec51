//! Texts that are searched for together.

/// A set of texts. The first three bytes at a place rule most of the texts out, so that a search for all of them costs
/// little more than one for a byte.
pub(crate) struct Signs {
    texts: &'static [&'static str],
    /// For each byte: the groups of texts that have it as their first, second and third, as eight bits each.
    heads: [u32; 256],
}

/// How many bytes of a place are looked at before the texts are.
const HEAD: usize = 3;

impl Signs {
    /// The set of these texts. Neighbours share a group: a sorted list is searched fastest.
    pub(crate) const fn new(texts: &'static [&'static str]) -> Signs {
        let mut heads = [0; 256];
        let mut index = 0;
        while index < texts.len() {
            let (text, bit) = (texts[index].as_bytes(), 1 << (index / group_size(texts)));
            let mut place = 0;
            while place < HEAD {
                let mut byte = 0;
                while byte < heads.len() {
                    if place >= text.len() || text[place] as usize == byte {
                        heads[byte] |= bit << (place * 8);
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
    pub(crate) fn start(&self, bytes: &[u8]) -> bool {
        let look = |place: usize| {
            let byte = bytes.get(place).copied().unwrap_or(0);
            self.heads[usize::from(byte)] >> (place * 8)
        };
        let groups = (look(0) & look(1) & look(2)) as u8;
        groups != 0 && self.verify(groups, bytes)
    }

    /// The first index at which one of the texts stands.
    pub(crate) fn first(&self, bytes: &[u8]) -> Option<usize> {
        self.places(bytes).next()
    }

    /// The last index at which one of the texts stands.
    pub(crate) fn last(&self, bytes: &[u8]) -> Option<usize> {
        self.places(bytes).last()
    }

    /// The indexes at which texts stand: the search that is known as "shift-and", over the heads of all of them.
    fn places<'t>(&'t self, bytes: &'t [u8]) -> impl Iterator<Item = usize> + 't {
        let mut begun = 0;
        // No byte follows the last two, and 0 stands for none.
        bytes.iter().chain(&[0; HEAD - 1]).enumerate().filter_map(move |(index, byte)| {
            begun = (begun << 8 | 0xff) & self.heads[usize::from(*byte)];
            let groups = (begun >> 16) as u8;
            let start = (groups != 0).then(|| index + 1 - HEAD)?;
            self.verify(groups, bytes.get(start..)?).then_some(start)
        })
    }

    #[cold]
    fn verify(&self, groups: u8, bytes: &[u8]) -> bool {
        let candidates = self.texts.chunks(group_size(self.texts)).enumerate();
        candidates
            .filter(|(group, _)| groups >> group & 1 == 1)
            .any(|(_, texts)| texts.iter().any(|text| begins(bytes, text)))
    }
}

/// The first index at which one text stands.
pub(crate) fn find(bytes: &[u8], text: &str) -> Option<usize> {
    (0..bytes.len()).find(|at| bytes.get(*at..).is_some_and(|rest| begins(rest, text)))
}

/// Do the bytes begin with a text? Most differ soon, so that calling for a comparison of memory takes longer.
fn begins(bytes: &[u8], text: &str) -> bool {
    text.len() <= bytes.len() && text.bytes().zip(bytes).all(|(wanted, byte)| wanted == *byte)
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
