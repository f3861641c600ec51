//! Where a line ends, and what stands last on it. Answers are remembered: a line that many matches ask about is walked
//! through once.

use core::cell::Cell;

use super::scan::Scanner;
use crate::signs::Signs;

/// An answer, once there is one.
type Remembered<T> = Cell<Option<T>>;

/// What was found on the lines looked at last: where from it holds, up to where, and what it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    /// The line's end.
    end: Remembered<(usize, usize)>,
    /// The last closing bracket of each sort: from where it was looked for, where the line ends, and where it is.
    closes: [Remembered<(usize, usize, Option<usize>)>; 3],
    /// The last sign of each set: from where it was looked for, and where it is; `None` where none follows.
    signs: [Remembered<(usize, Option<usize>)>; 3],
}

impl Scanner<'_> {
    /// The end of the line that `at` lies in.
    pub(super) fn line_end(&self, at: usize) -> usize {
        let known = self.lines.end.get().filter(|(from, end)| (*from..=*end).contains(&at));
        let (_, end) = known.unwrap_or_else(|| {
            let length = self.rest_bytes(at).iter().position(|byte| *byte == b'\n');
            (at, length.map_or(self.bytes.len(), |length| at + length))
        });
        if known.is_none() {
            self.lines.end.set(Some((at, end)));
        }
        end
    }

    /// The index of the last `close` on the line, or the line's end.
    pub(super) fn last_on_line(&self, at: usize, close: u8) -> usize {
        let end = self.line_end(at);
        let slot = match close {
            b')' => 0,
            b']' => 1,
            _ => 2,
        };
        let Some(memory) = self.lines.closes.get(slot) else { return end };
        let known = memory.get().filter(|(from, until, _)| *from <= at && *until == end);
        let (_, _, last) = known.unwrap_or_else(|| {
            let line = self.bytes.get(at..end).unwrap_or_default();
            let found = (at, end, line.iter().rposition(|byte| *byte == close).map(|found| at + found));
            memory.set(Some(found));
            found
        });
        last.filter(|last| *last >= at).unwrap_or(end)
    }

    /// The next place from `at` on where a sign of the set stands, or a later one on the same line if the message does
    /// not start anew in between.
    pub(super) fn last_sign(&self, search: Search, at: usize) -> Option<usize> {
        let memory = self.lines.signs.get(search as usize)?;
        let known = memory.get().filter(|(from, last)| *from <= at && last.is_none_or(|last| at <= last));
        let (_, last) = known.unwrap_or_else(|| {
            let found = (at, self.find_last_sign(search, at));
            memory.set(Some(found));
            found
        });
        last
    }

    fn find_last_sign(&self, search: Search, at: usize) -> Option<usize> {
        let (signs, again) = search.signs();
        let starts_anew =
            |bytes: &[u8], at: usize| bytes.get(at..).is_some_and(|rest| rest.starts_with(again.as_bytes()));
        let rest = self.rest_bytes(at);
        let next = at + signs.places(rest).find(|place| !starts_anew(rest, *place))?;
        let line = self.bytes.get(next..self.line_end(next)).unwrap_or_default();
        let last = signs.places(line).take_while(|place| !starts_anew(line, *place)).last();
        Some(next + last.unwrap_or(0))
    }
}

/// Signs that are searched for.
#[derive(Clone, Copy)]
pub(super) enum Search {
    /// Behind the value of MySQL's 1062.
    Entry,
    /// Behind the excerpt of a syntax error.
    Near,
    /// Behind the values of PostgreSQL's `Key (…)=(…)`.
    Key,
}

impl Search {
    /// The signs, and the one of them that starts the next message of the same sort.
    const fn signs(self) -> (&'static Signs, &'static str) {
        static ENTRY: Signs = Signs::new(&["' for key", "' für Schl", "' pour la", "ntry '"]);
        static NEAR: Signs = Signs::new(&["\": syntax", "' at line", "' à la ligne", "near '"]);
        #[rustfmt::skip]
        static KEY: Signs = Signs::new(&[
            ") already exists", ") conflicts with", ") existe ", ") existiert", ") is duplicated", ") is not present",
            ") is referenced", ") is still referenced", ") ist ", ") n'est pas", ") no está", ") violates", ") не ",
            ") уже", ") はすでに", ") 已存在", "Key (",
        ]);
        match self {
            Search::Entry => (&ENTRY, "ntry '"),
            Search::Near => (&NEAR, "near '"),
            Search::Key => (&KEY, "Key ("),
        }
    }
}
