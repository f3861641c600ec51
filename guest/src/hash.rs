//! One small stable hash, for jitter, fallback trace ids and fingerprints. Not for secrets.

/// FNV-1a over 64 bits, finished with an avalanche so that every bit of the result can be used.
/// Source: the FNV reference (Fowler, Noll, Vo); the finisher is MurmurHash3's `fmix64`.
#[derive(Clone, Copy, Debug)]
pub struct Hash(u64);

impl Hash {
    /// The empty hash.
    pub const fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    /// Takes in a text and its end, so that `"ab", "c"` and `"a", "bc"` differ.
    pub fn text(self, text: &str) -> Hash {
        text.bytes().fold(self, Hash::byte).byte(0xff)
    }

    /// Takes in a long text, eight bytes at a time, and its length. The hash is another than that of [`Hash::text`].
    pub fn long(self, text: &str) -> Hash {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let (words, rest) = text.as_bytes().as_chunks();
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(slot, byte)| *slot = *byte);
        let word =
            |hash: u64, word: [u8; 8]| (hash.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
        let hash = words.iter().fold(self.0 ^ text.len() as u64, |hash, next| word(hash, *next));
        Hash(word(hash, last))
    }

    /// Takes in a number.
    pub fn number(self, number: u32) -> Hash {
        number.to_le_bytes().into_iter().fold(self, Hash::byte)
    }

    /// The hash.
    pub const fn finish(self) -> u64 {
        let mut hash = self.0;
        hash ^= hash >> 33;
        hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^= hash >> 33;
        hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ (hash >> 33)
    }

    /// A number below `bound`, or 0 where that is 0.
    pub const fn below(self, bound: u32) -> u32 {
        (((self.finish() >> 32) * bound as u64) >> 32) as u32
    }

    /// Takes in a byte.
    pub const fn byte(self, byte: u8) -> Hash {
        Hash((self.0 ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3))
    }
}

impl Default for Hash {
    fn default() -> Hash {
        Hash::new()
    }
}
