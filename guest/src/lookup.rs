//! Tables of words, looked up by a hash that is laid out at compile time.

use core::ops::Range;

/// A constant map from ASCII words (any case) to a value. [`words!`] lays it out.
pub(crate) struct Words<T: 'static> {
    /// All words, one after the other: a list of slices would be as large again as what they point to.
    pub(crate) text: &'static str,
    /// Where each word starts, and where the last one ends.
    pub(crate) starts: &'static [u16],
    pub(crate) values: &'static [T],
    /// 0 is empty, otherwise a word's index + 1. A power of two, at least twice the words.
    pub(crate) slots: &'static [u16],
}

/// `words!(Cue, &[("password", Cue::Credential), …])`: a constant table.
macro_rules! words {
    ($value:ty, $entries:expr) => {{
        use $crate::lookup;
        const ENTRIES: &[(&str, $value)] = $entries;
        const TEXT: [u8; lookup::length(ENTRIES)] = lookup::text(ENTRIES);
        lookup::Words {
            text: match core::str::from_utf8(&TEXT) {
                Ok(text) => text,
                Err(_) => panic!(),
            },
            starts: &const { lookup::starts::<_, { ENTRIES.len() + 1 }>(ENTRIES) },
            values: &const { lookup::values::<_, { ENTRIES.len() }>(ENTRIES) },
            slots: &const { lookup::slots::<_, { (ENTRIES.len() * 2).next_power_of_two() }>(ENTRIES) },
        }
    }};
}
pub(crate) use words;

impl<T: Copy> Words<T> {
    /// The value of a word and the word in the table's spelling; ASCII case does not matter.
    pub(crate) fn entry(&self, word: &[u8]) -> Option<(&'static str, T)> {
        let index = self.index(word)?;
        Some((self.text.get(self.range(index)?)?, *self.values.get(index)?))
    }

    /// The value of a word.
    pub(crate) fn get(&self, word: &[u8]) -> Option<T> {
        self.values.get(self.index(word)?).copied()
    }

    fn index(&self, word: &[u8]) -> Option<usize> {
        let mut slot = hash(word) as usize;
        loop {
            slot &= self.slots.len() - 1;
            let index = usize::from(*self.slots.get(slot)?).checked_sub(1)?;
            if self.text.as_bytes().get(self.range(index)?)?.eq_ignore_ascii_case(word) {
                return Some(index);
            }
            slot += 1;
        }
    }

    /// Where in the text a word stands.
    fn range(&self, index: usize) -> Option<Range<usize>> {
        let end = *self.starts.get(index + 1)?;
        Some(usize::from(*self.starts.get(index)?)..usize::from(end))
    }
}

/// The bytes of all words.
pub(crate) const fn length<T>(entries: &[(&str, T)]) -> usize {
    let (mut length, mut index) = (0, 0);
    while index < entries.len() {
        length += entries[index].0.len();
        index += 1;
    }
    length
}

pub(crate) const fn text<T, const BYTES: usize>(entries: &[(&str, T)]) -> [u8; BYTES] {
    let (mut text, mut at, mut index) = ([0; BYTES], 0, 0);
    while index < entries.len() {
        let word = entries[index].0.as_bytes();
        let mut place = 0;
        while place < word.len() {
            text[at] = word[place];
            (at, place) = (at + 1, place + 1);
        }
        index += 1;
    }
    text
}

pub(crate) const fn starts<T, const COUNT: usize>(entries: &[(&str, T)]) -> [u16; COUNT] {
    let (mut starts, mut index) = ([0; COUNT], 0);
    while index < entries.len() {
        let end = starts[index] as usize + entries[index].0.len();
        assert!(end <= u16::MAX as usize, "too many words");
        starts[index + 1] = end as u16;
        index += 1;
    }
    starts
}

pub(crate) const fn values<T: Copy, const COUNT: usize>(entries: &[(&str, T)]) -> [T; COUNT] {
    let (mut values, mut index) = ([entries[0].1; COUNT], 0);
    while index < COUNT {
        values[index] = entries[index].1;
        index += 1;
    }
    values
}

pub(crate) const fn slots<T, const SLOTS: usize>(entries: &[(&str, T)]) -> [u16; SLOTS] {
    let (mut slots, mut index) = ([0; SLOTS], 0);
    while index < entries.len() {
        let mut slot = hash(entries[index].0.as_bytes()) as usize & (SLOTS - 1);
        while slots[slot] != 0 {
            slot = (slot + 1) & (SLOTS - 1);
        }
        index += 1;
        slots[slot] = index as u16;
    }
    slots
}

/// A hash of a word's length and of up to eight bytes at each of its ends, blind to ASCII case.
#[inline]
const fn hash(word: &[u8]) -> u32 {
    const BLIND: u64 = 0x2020_2020_2020_2020;
    let (head, tail) = match (word.first_chunk(), word.last_chunk()) {
        (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
        _ => match (word.first_chunk(), word.last_chunk(), word) {
            (Some(head), Some(tail), _) => {
                (u32::from_le_bytes(*head) as u64, u32::from_le_bytes(*tail) as u64)
            }
            (_, _, [first, .., last]) => ((*first as u64) << 8 | *last as u64, word[1] as u64),
            (_, _, [only]) => (*only as u64, 0),
            _ => (0, 0),
        },
    };
    let mixed = (head | BLIND) ^ (tail | BLIND).rotate_left(21) ^ word.len() as u64;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_word_in_any_case_and_no_other() {
        static TABLE: Words<u8> = words!(u8, &[("select", 1), ("insert", 2), ("a", 3)]);
        let found =
            ["SELECT", "Insert", "a", "b", "", "selec", "selects"].map(|word| TABLE.get(word.as_bytes()));
        assert_eq!(found, [Some(1), Some(2), Some(3), None, None, None, None]);
    }
}
