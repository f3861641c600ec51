//! Texts that are searched for, alone and together.

/// A set of texts. The first four bytes at a place rule most of the texts out, so that a search for all of them costs
/// little more than one for a byte.
pub(crate) struct Signs {
    texts: &'static [&'static str],
    /// How many neighbours share one of eight groups.
    group_size: usize,
    /// For each byte: the groups of texts that have it as their first, second, third and fourth, as eight bits each.
    heads: [u32; 256],
}

/// How many bytes of a place are looked at before the texts are.
const HEAD: usize = 4;

impl Signs {
    /// The set of these texts. Neighbours share a group: a sorted list is searched fastest.
    pub(crate) const fn new(texts: &'static [&'static str]) -> Signs {
        let group_size = texts.len().div_ceil(8);
        let mut heads = [0; 256];
        let mut index = 0;
        while index < texts.len() {
            let (text, bit) = (texts[index].as_bytes(), 1 << (index / group_size));
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
        Signs { texts, group_size, heads }
    }

    /// Does one of the texts stand at the start? The first byte mostly tells.
    #[inline]
    pub(crate) fn start(&self, bytes: &[u8]) -> bool {
        let look = |place: usize| (self.head(bytes, place) >> (place * 8)) as u8;
        look(0) != 0 && self.has(look(0) & look(1) & look(2) & look(3), bytes)
    }

    /// The indexes of all texts that stand at the start.
    pub(crate) fn all_at(&self, bytes: &[u8]) -> impl Iterator<Item = usize> {
        let texts = self.texts.iter().enumerate();
        texts.filter(|(_, text)| begins(bytes, text)).map(|(index, _)| index)
    }

    /// The first index at which one of the texts stands.
    pub(crate) fn first(&self, bytes: &[u8]) -> Option<usize> {
        self.places(bytes).next()
    }

    /// The indexes at which texts stand: the search that is known as "shift-and", over the heads of all of them.
    pub(crate) fn places<'t>(&'t self, bytes: &'t [u8]) -> impl Iterator<Item = usize> + 't {
        let mut begun = 0_u32;
        (0..bytes.len() + HEAD - 1).filter_map(move |end| {
            begun = (begun << 8 | 0xff) & self.head(bytes, end);
            let groups = (begun >> 24) as u8;
            let start = (groups != 0).then(|| end + 1 - HEAD)?;
            self.has(groups, bytes.get(start..)?).then_some(start)
        })
    }

    /// The groups that have the byte at a place, which is 0 behind the last one.
    fn head(&self, bytes: &[u8], place: usize) -> u32 {
        self.heads[usize::from(bytes.get(place).copied().unwrap_or(0))]
    }

    /// Does a text of these groups stand at the start?
    fn has(&self, mut groups: u8, bytes: &[u8]) -> bool {
        while groups != 0 {
            let first = groups.trailing_zeros() as usize * self.group_size;
            if self.texts.iter().skip(first).take(self.group_size).any(|text| begins(bytes, text)) {
                return true;
            }
            groups &= groups - 1;
        }
        false
    }
}

/// Where the first of a text's parts like this one starts. The standard library's search is prepared for long parts, which
/// takes longer than looking for a short one, and 3 kB.
pub(crate) fn find(text: &str, part: &str) -> Option<usize> {
    places(text, part).next()
}

/// Where the last one starts.
pub(crate) fn find_last(text: &str, part: &str) -> Option<usize> {
    places(text, part).next_back()
}

/// Is there one?
pub(crate) fn holds(text: &str, part: &str) -> bool {
    find(text, part).is_some()
}

fn places(text: &str, part: &str) -> impl DoubleEndedIterator<Item = usize> {
    let (bytes, part) = (text.as_bytes(), part.as_bytes());
    let is_first = move |byte: &u8| part.first().is_none_or(|first| first == byte);
    let heads = bytes.iter().enumerate().filter(move |(_, byte)| is_first(byte)).map(|(at, _)| at);
    heads.filter(move |at| bytes.get(*at..).is_some_and(|rest| rest.starts_with(part)))
}

/// Do the bytes begin with a text? Most differ soon, so that calling for a comparison of memory takes longer.
fn begins(bytes: &[u8], text: &str) -> bool {
    text.len() <= bytes.len() && text.bytes().zip(bytes).all(|(wanted, byte)| wanted == *byte)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

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
    fn finds_every_place_in_order() {
        let places: Vec<usize> = SIGNS.places(b"xx ERR  a.ab").collect();
        assert_eq!(places, [3, 8, 10, 11]);
    }

    #[test]
    fn a_single_text_is_found_where_the_standard_library_finds_it() {
        for text in ["a", "abcabc", "xabc", "éabc é", "ab"] {
            for part in ["", "a", "abc", "bc", "é", " é", "abcabca"] {
                assert_eq!(find(text, part), text.find(part), "{part} in {text}");
                assert_eq!(holds(text, part), text.contains(part), "{part} in {text}");
                if !part.is_empty() {
                    assert_eq!(find_last(text, part), text.rfind(part), "{part} in {text}");
                }
            }
        }
    }

    #[test]
    fn looks_only_at_the_start_where_asked_to() {
        assert!(SIGNS.start(b"\n#") && SIGNS.start(b"ERR x"));
        assert!(!SIGNS.start(b" a") && !SIGNS.start(b""));
    }
}
