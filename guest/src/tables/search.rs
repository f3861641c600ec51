//! Packed tables and the searches in them: binary search over sorted keys, no allocation before a hit.

use alloc::format;
use alloc::string::String;

use super::packed::{BLOCK, READINGS};
use super::template::{self, Template};
use super::{Reading, Row, TextMatch};

/// Sorted strings, one after the other, in blocks of [`BLOCK`].
pub(super) struct Strings {
    /// All of them.
    pub blob: &'static str,
    /// Where each block starts.
    pub starts: &'static [u16],
    /// How long each string is.
    pub lengths: &'static [u8],
}

impl Strings {
    /// The string at an index.
    fn get(&self, index: usize) -> Option<&'static str> {
        let (block, place) = (index / BLOCK, index % BLOCK);
        let (before, from) = self.lengths.get(block * BLOCK..)?.split_at_checked(place)?;
        let start = before.iter().fold(self.start(block)?, |start, length| start + usize::from(*length));
        self.blob.get(start..start + usize::from(*from.first()?))
    }

    /// Where a block starts.
    fn start(&self, block: usize) -> Option<usize> {
        self.starts.get(block).copied().map(usize::from)
    }

    /// The index of the first string for whose bytes `is_before` does not hold; it holds for a head of the list.
    fn partition(&self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let is_before = |start: usize, length: &u8| {
            self.blob.as_bytes().get(start..start + usize::from(*length)).is_some_and(&is_before)
        };
        let is_block_before = |block: usize| {
            self.start(block)
                .zip(self.lengths.get(block * BLOCK))
                .is_some_and(|(start, length)| is_before(start, length))
        };
        let (mut low, mut high) = (0, self.starts.len());
        while low < high {
            let middle = low.midpoint(high);
            if is_block_before(middle) { low = middle + 1 } else { high = middle }
        }
        let Some(block) = low.checked_sub(1) else { return 0 };
        let mut start = self.start(block).unwrap_or_default();
        let lengths = self.lengths.get(block * BLOCK..).unwrap_or_default();
        let ahead = lengths.iter().take(BLOCK).take_while(|length| {
            let is_ahead = is_before(start, length);
            start += usize::from(**length);
            is_ahead
        });
        block * BLOCK + ahead.count()
    }

    /// The index of a string.
    fn find(&self, key: &str) -> Option<usize> {
        let index = self.partition(|at| at < key.as_bytes());
        (self.get(index)? == key).then_some(index)
    }
}

/// Numbers in runs of consecutive ones with one reading, in blocks of runs.
pub(super) struct Numbers {
    /// The first number of each block, and its first run.
    pub blocks: &'static [(u16, u16)],
    /// How far behind the start of the run before it in its block each run starts.
    pub gaps: &'static [u8],
    /// How many numbers follow the first of each run.
    pub more: &'static [u8],
    /// The reading of each run.
    pub readings: &'static [u8],
}

impl Numbers {
    /// The reading of a number.
    fn find(&self, number: u16) -> Option<Reading> {
        let next = self.blocks.partition_point(|(first, _)| *first <= number);
        let (mut start, first) = *self.blocks.get(next.checked_sub(1)?)?;
        let end = self.blocks.get(next).map_or(self.gaps.len(), |(_, run)| usize::from(*run));
        for run in usize::from(first)..end {
            start += u16::from(*self.gaps.get(run)?);
            if number.checked_sub(start)? <= u16::from(*self.more.get(run)?) {
                return reading(self.readings, run);
            }
        }
        None
    }
}

/// A name that is looked up: `psycopg2.errors.UniqueViolation`.
#[derive(Clone, Copy)]
pub(super) struct Name<'a> {
    whole: &'a str,
    /// What stands behind its qualifiers.
    last: &'a str,
}

impl<'a> Name<'a> {
    /// The name written as `whole`.
    pub fn of(whole: &'a str) -> Name<'a> {
        let is_qualifier = |byte: &u8| matches!(byte, b'.' | b':' | b'$' | b'/' | b'\\');
        let start = whole.as_bytes().iter().rposition(is_qualifier).map_or(0, |at| at + 1);
        Name { whole, last: whole.get(start..).unwrap_or(whole) }
    }
}

/// One table, packed.
pub(super) struct Table {
    /// The file's stem.
    pub id: &'static str,
    /// What stands before a number in the table's spelling (`ORA-`), and how many digits follow.
    pub spelling: (&'static str, usize),
    /// Codes that are numbers; those beyond 65,535 are kept as names.
    pub numbers: Numbers,
    /// Codes that are names.
    pub names: Strings,
    /// The reading of each name.
    pub name_readings: &'static [u8],
    /// Second names of codes, folded to lower-case letters and digits.
    pub symbols: Strings,
    /// What each symbol stands for: a number, or the index of a name where the table has no numbers.
    pub symbol_keys: &'static [u16],
    /// Templates, each behind its code and a `+`, in the order of their codes and heads.
    pub texts: Strings,
    /// How far before each template the next one stands whose head it begins with; 0: there is none.
    pub text_parents: &'static [u8],
    /// The reading of each template.
    pub text_readings: &'static [u8],
}

impl Table {
    /// The row of a number.
    pub fn number(&self, number: i64) -> Option<Row> {
        let (prefix, digits) = self.spelling;
        let key = || format!("{prefix}{number:0digits$}");
        let Ok(number) = u16::try_from(number) else { return self.named(self.names.find(&key())?) };
        let reading = self.numbers.find(number)?;
        let key = key();
        Some(reading.row(self.id, &key, Some(&key)))
    }

    /// The row of a name as it is, by its last part, or by its symbol.
    pub fn name(&self, Name { whole, last }: Name<'_>) -> Option<Row> {
        let is_qualified = last.len() < whole.len();
        let exact = self.exact(whole).or_else(|| is_qualified.then(|| self.exact(last))?);
        exact.or_else(|| self.symbol(last))
    }

    /// The row of a name as it is, a number in the table's own spelling included.
    pub fn exact(&self, name: &str) -> Option<Row> {
        let (prefix, digits) = self.spelling;
        match name.strip_prefix(prefix).filter(|rest| digits > 0 && rest.len() == digits) {
            Some(rest) => self.number(i64::from(rest.parse::<u32>().ok()?)),
            None => self.named(self.names.find(name)?),
        }
    }

    /// The row of the name at an index.
    fn named(&self, index: usize) -> Option<Row> {
        let key = self.names.get(index)?;
        Some(reading(self.name_readings, index)?.row(self.id, key, Some(key)))
    }

    /// The row of a symbolic name in any of its spellings: `unique_violation`, `UniqueViolationError`.
    fn symbol(&self, name: &str) -> Option<Row> {
        /// No symbol is longer; longer names are not folded.
        const LONGEST: usize = 80;
        if self.symbols.lengths.is_empty() || name.len() > LONGEST {
            return None;
        }
        let folded: String =
            name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
        let stem = folded.strip_suffix("error").or_else(|| folded.strip_suffix("exception"));
        let index = self.symbols.find(&folded).or_else(|| self.symbols.find(stem?))?;
        let key = *self.symbol_keys.get(index)?;
        if self.numbers.blocks.is_empty() {
            self.named(usize::from(key))
        } else {
            self.number(i64::from(key))
        }
    }

    /// The row of the template that matches a line and has the most fixed letters, among those behind this code.
    ///
    /// A template begins with fixed letters, its head. The heads that a line begins with are the last one before the
    /// line in the order of heads, or such as that one begins with itself: `text_parents` leads from one to the next.
    pub fn text(&self, code: &str, line: &str) -> Option<(Row, TextMatch)> {
        let mut place = self.texts.partition(|at| template::is_before(at, code, line));
        let mut best: Option<(usize, Template<'static>)> = None;
        while let Some(index) = place.checked_sub(1) {
            let text = self.texts.get(index)?.strip_prefix(code)?.strip_prefix('+')?;
            let template = Template::new(text);
            let is_longer = best.is_none_or(|(_, best)| template.literal_len() > best.literal_len());
            if is_longer && template.matches(line) {
                best = Some((index, template));
            }
            place = match *self.text_parents.get(index)? {
                0 => 0,
                distance => place.checked_sub(usize::from(distance))?,
            };
        }
        let (index, found) = best?;
        let plus = if code.is_empty() { "" } else { "+" };
        let key = [code, plus, "msg:", found.pattern()].concat();
        let native = (!code.is_empty()).then_some(code);
        Some((reading(self.text_readings, index)?.row(self.id, &key, native), found.reach()))
    }
}

/// The reading behind an index.
fn reading(readings: &[u8], index: usize) -> Option<Reading> {
    READINGS.get(usize::from(*readings.get(index)?)).copied()
}
