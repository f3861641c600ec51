//! Tables of words, looked up by a hash that is laid out at compile time.

/// A constant map from ASCII words (any case) to a value.
pub(super) struct Words<T: 'static, const SLOTS: usize> {
    entries: &'static [(&'static str, T)],
    /// 0 is empty, otherwise the entry's index + 1; `SLOTS` is a power of two, at least twice the entries.
    slots: [u16; SLOTS],
}

impl<T: Copy, const SLOTS: usize> Words<T, SLOTS> {
    /// Lays the table out. Compilation fails where `SLOTS` does not fit.
    pub(super) const fn new(entries: &'static [(&'static str, T)]) -> Words<T, SLOTS> {
        assert!(SLOTS.is_power_of_two() && entries.len() * 2 <= SLOTS);
        let mut slots = [0; SLOTS];
        let mut index = 0;
        while index < entries.len() {
            let mut slot = hash(entries[index].0.as_bytes()) as usize & (SLOTS - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (SLOTS - 1);
            }
            slots[slot] = index as u16 + 1;
            index += 1;
        }
        Words { entries, slots }
    }

    /// The value of a word and the word in the table's spelling; ASCII case does not matter.
    #[inline]
    pub(super) fn entry(&self, word: &[u8]) -> Option<(&'static str, T)> {
        let slot = hash(word) as usize & (SLOTS - 1);
        if *self.slots.get(slot)? == 0 { None } else { self.probe(slot, word) }
    }

    /// The entry of a word, from its slot on.
    fn probe(&self, mut slot: usize, word: &[u8]) -> Option<(&'static str, T)> {
        loop {
            let index = usize::from(*self.slots.get(slot)?).checked_sub(1)?;
            let (spelling, value) = self.entries.get(index)?;
            if spelling.as_bytes().eq_ignore_ascii_case(word) {
                return Some((spelling, *value));
            }
            slot = (slot + 1) & (SLOTS - 1);
        }
    }

    /// The value of a word.
    #[inline]
    pub(super) fn get(&self, word: &[u8]) -> Option<T> {
        self.entry(word).map(|(_, value)| value)
    }
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
        static TABLE: Words<u8, 8> = Words::new(&[("select", 1), ("insert", 2), ("a", 3)]);
        let found =
            ["SELECT", "Insert", "a", "b", "", "selec", "selects"].map(|word| TABLE.get(word.as_bytes()));
        assert_eq!(found, [Some(1), Some(2), Some(3), None, None, None, None]);
    }
}
