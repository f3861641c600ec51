//! What a statement does: does it write, does it commit?

use super::dialect::Dialect;
use super::keywords::{KEYWORDS, Role};
use super::lexer::{Kind, Lexer, Token};
use super::{cut, mongo};
use crate::signs::holds;

/// Two words that write wherever they stand: T-SQL needs nothing between statements.
const WRITING_PAIRS: &[(&str, &str)] = &[
    ("INSERT", "INTO"),
    ("DELETE", "FROM"),
    ("MERGE", "INTO"),
    ("REPLACE", "INTO"),
    ("BULK", "INSERT"),
    ("TRUNCATE", "TABLE"),
    ("DROP", "TABLE"),
    ("CREATE", "TABLE"),
    ("ALTER", "TABLE"),
];

/// Keywords after which a statement can begin.
const BEFORE_STATEMENT: &[&str] = &["BEGIN", "THEN", "ELSE", "ANALYZE"];

/// Words after BEGIN that make it the start of a transaction rather than of a block.
const TRANSACTION_WORDS: &[&str] =
    &["TRANSACTION", "TRAN", "WORK", "ISOLATION", "READ", "DEFERRED", "IMMEDIATE", "EXCLUSIVE", "CONCURRENT"];

/// Does the statement write? True for a writing verb where a verb can stand (`INSERT`, DDL, `CALL`, a data-modifying
/// common table expression, `COPY … FROM`, `SELECT … INTO`, MongoDB's writing commands), whatever literals, comments
/// and quoted names say. `SELECT … FOR UPDATE` is no write. A text too long to be read whole counts as a write.
pub fn writes(statement: &str, dialect: Dialect) -> bool {
    let (statement, tail) = cut(statement);
    if !tail.is_empty() {
        return true;
    }
    if mongo::is_command(statement, dialect) {
        return mongo::writes(statement);
    }
    let mut reader = Reader::new(statement, dialect);
    while let Some(word) = reader.next() {
        if reader.is_write(word) {
            return true;
        }
    }
    false
}

/// Does the text commit a transaction: is there a `COMMIT`, or an `END` that closes a transaction and not a block?
pub fn commits(statement: &str, dialect: Dialect) -> bool {
    let (statement, tail) = cut(statement);
    if !tail.is_empty() {
        return true;
    }
    if mongo::is_command(statement, dialect) {
        return holds(statement, "commitTransaction");
    }
    let mut reader = Reader::new(statement, dialect);
    while let Some(word) = reader.next() {
        if reader.commits(word) {
            return true;
        }
    }
    false
}

/// Walks through the words of a text and knows where statements start.
struct Reader<'t> {
    text: &'t str,
    dialect: Dialect,
    lexer: Lexer<'t>,
    /// The word or mark before the present one; empty at the start of a statement.
    before: &'t str,
    /// The verb of the present statement.
    verb: &'t str,
    depth: usize,
    /// How many blocks (`BEGIN … END`) are open.
    blocks: usize,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, dialect: Dialect) -> Reader<'t> {
        Reader { text, dialect, lexer: Lexer::new(text, dialect), before: "", verb: "", depth: 0, blocks: 0 }
    }

    fn slice(&self, token: Option<Token>) -> &'t str {
        token.and_then(|token| self.text.get(token.start..token.end)).unwrap_or_default()
    }

    /// The next word together with the piece before it.
    fn next(&mut self) -> Option<Word<'t>> {
        loop {
            let token = self.lexer.next()?;
            let piece = self.slice(Some(token));
            let before = core::mem::replace(&mut self.before, piece);
            match piece {
                "(" => self.depth += 1,
                ")" => self.depth = self.depth.saturating_sub(1),
                ";" => (self.before, self.verb, self.depth) = ("", "", 0),
                _ if token.kind == Kind::Word => return Some(Word { word: piece, before }),
                _ => {}
            }
        }
    }

    fn peek(&self) -> &'t str {
        self.slice(self.lexer.clone().next())
    }

    fn is_write(&mut self, Word { word, before }: Word<'t>) -> bool {
        let role = KEYWORDS.get(word.as_bytes());
        let next = self.peek();
        let is_start = self.is_start(before);
        if is_start && self.verb.is_empty() {
            self.verb = word;
        }
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        let verb_is = |known: &str| self.verb.eq_ignore_ascii_case(known);
        if role == Some(Role::Write) && is_start {
            // `REPLACE(…)` and `INSERT(…)` are functions; `EXEC('…')` is a call all the same.
            let explained = verb_is("EXPLAIN") && !before.eq_ignore_ascii_case("ANALYZE");
            return (next != "(" || is("EXEC") || is("EXECUTE")) && !explained;
        }
        if role == Some(Role::Target) && self.depth == 0 {
            let is_copy = verb_is("COPY") && (is("FROM") || is("INTO"));
            let is_select_into =
                is("INTO") && (verb_is("SELECT") || verb_is("WITH")) && !next.starts_with(['@', ':']);
            return is_copy || is_select_into;
        }
        let is_block =
            self.dialect == Dialect::Oracle && before.eq_ignore_ascii_case("BEGIN") && verb_is("BEGIN");
        let starts_anywhere = matches!(self.dialect, Dialect::SqlServer | Dialect::Generic)
            && !is_one_of(&[".", ",", "AS", "FOR", "KEY", "ON", "DO"], before);
        let is_free = starts_anywhere
            && (WRITING_PAIRS.iter().any(|(first, second)| is(first) && next.eq_ignore_ascii_case(second))
                || (is("UPDATE")
                    && self.lexer.clone().take(6).any(|token| is_one_of(&["SET"], self.slice(Some(token)))))
                || (self.dialect == Dialect::SqlServer
                    && (is("EXEC") || is("EXECUTE"))
                    && !is_one_of(&["AS"], next)));
        is_free || (is_block && role.is_none() && next != ";")
    }

    fn commits(&mut self, Word { word, before }: Word<'t>) -> bool {
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        let next = self.peek();
        if is("BEGIN") && self.is_start(before) {
            let is_transaction = matches!(next, "" | ";") || is_one_of(TRANSACTION_WORDS, next);
            self.blocks += usize::from(!is_transaction);
        }
        let ends =
            matches!(next, "" | ";") || is_one_of(TRANSACTION_WORDS, next) || is_one_of(&["AND"], next);
        if is("END") && before.is_empty() && ends {
            let closes_block = self.blocks > 0;
            self.blocks = self.blocks.saturating_sub(1);
            return !closes_block;
        }
        is("COMMIT")
            && (self.is_start(before)
                || (self.dialect == Dialect::SqlServer && (ends || is_one_of(&["TRAN"], next))))
    }

    /// Can a statement begin behind this piece?
    fn is_start(&self, before: &str) -> bool {
        matches!(before, "" | "(" | ")")
            || is_one_of(BEFORE_STATEMENT, before)
            || before.eq_ignore_ascii_case("EXPLAIN")
    }
}

/// A word and the piece before it.
#[derive(Clone, Copy)]
struct Word<'t> {
    word: &'t str,
    before: &'t str,
}

fn is_one_of(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}
