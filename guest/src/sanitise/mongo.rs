//! MongoDB commands: JSON documents and shell calls, read tolerantly.

use super::dialect::Dialect;
use super::statement::Shape;

/// Commands: their name and whether they change data or collections. Shell methods count as commands.
const COMMANDS: &[(&str, bool)] = &[
    ("find", false),
    ("findOne", false),
    ("aggregate", false),
    ("count", false),
    ("countDocuments", false),
    ("estimatedDocumentCount", false),
    ("distinct", false),
    ("getMore", false),
    ("explain", false),
    ("listCollections", false),
    ("listIndexes", false),
    ("ping", false),
    ("hello", false),
    ("commitTransaction", false),
    ("abortTransaction", false),
    ("insert", true),
    ("insertOne", true),
    ("insertMany", true),
    ("update", true),
    ("updateOne", true),
    ("updateMany", true),
    ("replaceOne", true),
    ("delete", true),
    ("deleteOne", true),
    ("deleteMany", true),
    ("remove", true),
    ("save", true),
    ("findAndModify", true),
    ("findOneAndUpdate", true),
    ("findOneAndReplace", true),
    ("findOneAndDelete", true),
    ("bulkWrite", true),
    ("mapReduce", true),
    ("create", true),
    ("createCollection", true),
    ("createIndex", true),
    ("createIndexes", true),
    ("drop", true),
    ("dropDatabase", true),
    ("dropIndex", true),
    ("dropIndexes", true),
    ("renameCollection", true),
    ("collMod", true),
    ("createUser", true),
    ("updateUser", true),
    ("dropUser", true),
    ("grantRolesToUser", true),
    ("revokeRolesFromUser", true),
];

/// Keys that write wherever they stand.
const WRITING_KEYS: &[&str] = &["$out", "$merge"];

/// Commands that can hold a password: only their name is kept.
const SECRET_COMMANDS: &[&str] = &["createUser", "updateUser", "saslStart", "saslContinue", "authenticate"];

/// Keys that say nothing about the shape.
const DROPPED_KEYS: &[&str] =
    &["lsid", "$clusterTime", "$db", "txnNumber", "signature", "$readPreference", "comment"];

/// Is the statement a MongoDB command?
pub(super) fn is_command(statement: &str, dialect: Dialect) -> bool {
    dialect == Dialect::Mongodb || (dialect == Dialect::Generic && statement.trim_start().starts_with('{'))
}

/// Keys that stand beside a command's name and in little else.
const COMPANIONS: &[&str] = &[
    "filter",
    "pipeline",
    "documents",
    "updates",
    "deletes",
    "query",
    "$db",
    "ordered",
    "projection",
    "cursor",
    "limit",
];

/// Is a text in front of a brace a command with its fields?
pub(super) fn starts_command(text: &str) -> bool {
    let mut words = [""; 6];
    let mut pieces =
        (Pieces { text: text.get(..text.floor_char_boundary(400)).unwrap_or_default(), at: 0 }).skip(1);
    for slot in &mut words {
        *slot = match pieces.next() {
            Some(Piece::Word(word) | Piece::Text(word)) => word,
            Some(Piece::Mark(b':')) => ":",
            Some(Piece::Mark(b',')) => ",",
            _ => "",
        };
    }
    let [command, colon, _, comma, companion, second] = words;
    colon == ":"
        && comma == ","
        && second == ":"
        && COMPANIONS.contains(&companion)
        && COMMANDS.iter().any(|(name, _)| *name == command)
}

/// Does a chunk like `db.users.find` end with a method of the shell?
pub(super) fn is_method(chunk: &str) -> bool {
    chunk.rsplit('.').next().is_some_and(|method| COMMANDS.iter().any(|(name, _)| *name == method))
}

/// Does the command change anything?
pub(super) fn writes(statement: &str) -> bool {
    let mut is_first_key = true;
    let mut last_end = Piece::Mark(0);
    for piece in (Pieces { text: statement, at: 0 }) {
        if let Piece::Word(word) | Piece::Text(word) = last_end {
            let follows = matches!(piece, Piece::Mark(b':' | b'('));
            let is_call = matches!(piece, Piece::Mark(b'('));
            let is_command = follows
                && (is_first_key || is_call)
                && COMMANDS.iter().any(|(name, writes)| *writes && name.eq_ignore_ascii_case(word));
            if is_command || (follows && WRITING_KEYS.contains(&word)) {
                return true;
            }
            is_first_key &= !follows;
        }
        last_end = piece;
    }
    false
}

/// The elements of an array: equal neighbours are folded.
#[derive(Clone, Copy, Default)]
struct Elements {
    is_array: bool,
    /// Where the last element that was kept lies in the shape.
    last: Option<(usize, usize)>,
    /// Where the present element starts.
    start: usize,
}

impl Elements {
    /// Ends the present element: it goes when it is like the last one.
    fn fold(&mut self, shape: &mut Shape) {
        let present = (self.start, shape.text.len());
        match self.last {
            Some((start, end)) if shape.text.get(start..end) == shape.text.get(present.0..present.1) => {
                shape.text.truncate(end);
            }
            _ => self.last = Some(present),
        }
    }
}

/// How deep arrays are folded.
const DEPTH: usize = 64;

/// The shape of a command: keys stay, values become `?`, equal neighbours in arrays are folded.
pub(super) fn shape(statement: &str) -> Shape {
    let mut shape = Shape::new(statement.len().min(1024));
    let pieces = Pieces { text: statement, at: 0 };
    let mut ahead = pieces.clone();
    ahead.next();
    // The depth at which something is left out up to the next comma.
    let mut skipped: Option<usize> = None;
    // The depth around the arguments of a constructor, `ObjectId(…)`, which is a value as a whole.
    let mut constructor: Option<usize> = None;
    let mut depth = 0_usize;
    let mut arrays = [Elements::default(); DEPTH];
    let mut is_target = false;
    for piece in pieces {
        let next = ahead.next();
        let is_key = matches!(next, Some(Piece::Mark(b':')));
        if let Some(until) = constructor {
            match piece {
                Piece::Mark(b'(') => depth += 1,
                Piece::Mark(b')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            constructor = constructor.filter(|_| depth > until);
            continue;
        }
        if let Some(until) = skipped {
            match piece {
                Piece::Mark(b'{' | b'[' | b'(') => depth += 1,
                Piece::Mark(b'}' | b']' | b')') if depth > until => depth -= 1,
                Piece::Mark(b',') if depth == until => {
                    skipped = None;
                    continue;
                }
                Piece::Mark(_) if depth == until && !matches!(piece, Piece::Mark(b',' | b':')) => {
                    skipped = None
                }
                _ => {}
            }
            if skipped.is_some() {
                continue;
            }
        }
        match piece {
            Piece::Mark(mark @ (b'{' | b'[' | b'(')) => {
                depth += 1;
                push(&mut shape, mark);
                if let Some(slot) = arrays.get_mut(depth) {
                    *slot = Elements { is_array: mark == b'[', last: None, start: shape.text.len() };
                }
                is_target = false;
            }
            Piece::Mark(mark @ (b'}' | b']' | b')')) => {
                if let Some(elements) = arrays.get_mut(depth).filter(|elements| elements.is_array) {
                    elements.fold(&mut shape);
                }
                depth = depth.saturating_sub(1);
                while shape.text.ends_with([' ', ',']) {
                    shape.text.pop();
                }
                push(&mut shape, mark);
            }
            Piece::Mark(b',') => {
                let elements = arrays.get_mut(depth).filter(|elements| elements.is_array);
                if let Some(elements) = elements {
                    elements.fold(&mut shape);
                    shape.text.push_str(", ");
                    elements.start = shape.text.len();
                } else {
                    shape.text.push_str(", ");
                }
            }
            Piece::Mark(b':') => shape.text.push_str(": "),
            Piece::Mark(mark) => push(&mut shape, mark),
            Piece::Word("new") if depth > 0 && !is_key => {}
            Piece::Word(_) if depth > 0 && matches!(next, Some(Piece::Mark(b'('))) => {
                if !shape.text.ends_with('?') {
                    shape.text.push('?');
                }
                constructor = Some(depth);
            }
            Piece::Word(word) | Piece::Text(word)
                if is_key || matches!(next, Some(Piece::Mark(b'(' | b'.'))) || shape.text.ends_with('.') =>
            {
                let command = COMMANDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
                if SECRET_COMMANDS.iter().any(|name| name.eq_ignore_ascii_case(word)) {
                    shape.text.push_str(word);
                    shape.text.push_str(" ?");
                    return finish(shape, command.map(|(name, _)| *name));
                }
                if is_key && DROPPED_KEYS.contains(&word) {
                    skipped = Some(depth);
                    continue;
                }
                let is_shell = !is_key && depth == 0;
                if let Some((name, _)) = command
                    && shape.operation == super::statement::OTHER
                    && (is_shell || depth <= 1)
                {
                    shape.operation = name;
                    is_target = is_key;
                } else if is_shell && shape.text.ends_with('.') && shape.summary.is_empty() {
                    shape.summarise(word, " ");
                }
                push_name(&mut shape, word);
            }
            Piece::Word(name) | Piece::Text(name) if is_target && is_plain(name) => {
                shape.summarise(name, " ");
                shape.text.push_str(name);
                is_target = false;
            }
            Piece::Word(_) | Piece::Text(_) | Piece::Number => {
                if !shape.text.ends_with('?') {
                    shape.text.push('?');
                }
            }
        }
    }
    finish(shape, None)
}

/// Puts the operation in front of the targets.
fn finish(mut shape: Shape, operation: Option<&'static str>) -> Shape {
    if let Some(operation) = operation {
        shape.operation = operation;
    }
    let targets = core::mem::take(&mut shape.summary);
    shape.summarise(shape.operation, "");
    if !targets.is_empty() {
        shape.summarise(&targets, " ");
    }
    shape
}

fn push(shape: &mut Shape, mark: u8) {
    shape.text.push(char::from(mark));
}

fn push_name(shape: &mut Shape, name: &str) {
    shape.text.push_str(if is_plain(name) { name } else { "?" });
}

/// Has the text only characters of names?
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 120
        && name.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'-') || byte >= 0x80
        })
}

/// A piece of a command.
#[derive(Clone, Copy, Debug)]
enum Piece<'t> {
    /// A bare word.
    Word(&'t str),
    /// The inside of a quoted text; empty when its end is missing.
    Text(&'t str),
    Number,
    Mark(u8),
}

#[derive(Clone)]
struct Pieces<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Iterator for Pieces<'t> {
    type Item = Piece<'t>;

    fn next(&mut self) -> Option<Piece<'t>> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(byte) if byte.is_ascii_whitespace()) {
            self.at += 1;
        }
        let start = self.at;
        let first = *bytes.get(start)?;
        let mut end = start + 1;
        match first {
            b'"' | b'\'' => {
                while let Some(byte) = bytes.get(end) {
                    match byte {
                        b'\\' => end += 2,
                        byte if *byte == first => break,
                        _ => end += 1,
                    }
                }
                self.at = (end + 1).min(bytes.len());
                let inside = self.text.get(start + 1..end).unwrap_or_default();
                let is_closed = bytes.get(end) == Some(&first);
                Some(Piece::Text(if is_closed { inside } else { "" }))
            }
            b'0'..=b'9' | b'-' | b'+' => {
                while matches!(bytes.get(end), Some(byte) if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-'))
                {
                    end += 1;
                }
                self.at = end;
                Some(Piece::Number)
            }
            _ if first.is_ascii_alphabetic() || matches!(first, b'_' | b'$') || first >= 0x80 => {
                while matches!(bytes.get(end), Some(byte) if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || *byte >= 0x80)
                {
                    end += 1;
                }
                self.at = end;
                Some(Piece::Word(self.text.get(start..end).unwrap_or_default()))
            }
            _ => {
                self.at = end;
                Some(Piece::Mark(first))
            }
        }
    }
}
