//! The shape of an SQL statement, written token by token.

use alloc::string::String;

use super::dialect::Dialect;
use super::keywords::{KEYWORDS, NO_NAMES, OBJECT_FILLERS, Role, SECRET_STATEMENTS};
use super::lexer::{Kind, Lexer, Token};
use super::statement::{OTHER, Shape};

/// The shape of a statement in a dialect of SQL.
pub(super) fn write(statement: &str, dialect: Dialect) -> Shape {
    let mut writer = Writer::new(statement, dialect);
    while let Some(token) = writer.lexer.next() {
        if writer.write(token).is_none() {
            break;
        }
    }
    writer.shape
}

/// What a parenthesis holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Group {
    /// Anything.
    Plain,
    /// A query.
    Query,
    /// The values after `IN`.
    List,
    /// One row of values.
    Row,
}

/// Where a name that comes next belongs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Expect {
    Nothing,
    /// The name of a target.
    Target,
    /// A target was named; a dot would go on with its name.
    Dot,
    /// The rest of a dotted name.
    Rest,
}

/// How deep parentheses are told apart; deeper ones are plain.
const DEPTH: usize = 64;

/// Writes the shape, token by token.
struct Writer<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    shape: Shape,
    groups: [Group; DEPTH],
    depth: usize,
    last: Option<Token>,
    /// The word of the last token, if it is a keyword.
    last_keyword: &'static str,
    /// A sign that belongs to a number, if one follows.
    sign: Option<&'static str>,
    is_statement_start: bool,
    /// A `;` is written only when something follows.
    is_separated: bool,
    expect: Expect,
    /// The depth at which a comma separates targets.
    from_depth: Option<usize>,
    after_secret_name: bool,
}

impl<'t> Writer<'t> {
    fn new(text: &'t str, dialect: Dialect) -> Writer<'t> {
        Writer {
            text,
            lexer: Lexer::new(text, dialect),
            shape: Shape::new(text.len().min(8192)),
            groups: [Group::Plain; DEPTH],
            depth: 0,
            last: None,
            last_keyword: "",
            sign: None,
            is_statement_start: true,
            is_separated: false,
            expect: Expect::Nothing,
            from_depth: None,
            after_secret_name: false,
        }
    }

    fn slice(&self, token: Token) -> &'t str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    fn group(&self) -> Group {
        self.groups.get(self.depth).copied().unwrap_or(Group::Plain)
    }

    /// Writes a token; `None` when the rest of the text must not be read.
    fn write(&mut self, token: Token) -> Option<()> {
        if self.is_separated {
            self.shape.text.push_str("; ");
            self.is_separated = false;
        }
        // Nearly every token is a word or a mark: two branches that are easy to foresee.
        if token.kind == Kind::Word {
            return self.word(token);
        }
        if token.kind == Kind::Mark {
            self.mark(token);
            return Some(());
        }
        match token.kind {
            Kind::Name => self.name(token),
            _ => self.constant(token),
        }
        Some(())
    }

    /// Writes a piece with the white space that its neighbours ask for.
    fn push(&mut self, piece: &str, token: Token) {
        let text = &mut self.shape.text;
        if let Some(sign) = self.sign.take() {
            space(text);
            text.push_str(sign);
        } else if token.kind != Kind::Mark || (!matches!(piece, "," | ")" | "." | "]") && !self.joins(token))
        {
            space(&mut self.shape.text);
        }
        self.shape.text.push_str(piece);
        self.last = Some(token);
        self.last_keyword = "";
        self.is_statement_start = false;
    }

    /// Is a mark written next to the one before it, as in `<=` and `::`?
    fn joins(&self, token: Token) -> bool {
        self.last.is_some_and(|last| {
            token.kind == Kind::Mark
                && last.kind == Kind::Mark
                && last.end == token.start
                && !matches!(self.slice(token), "(")
        })
    }

    fn constant(&mut self, token: Token) {
        self.sign = None;
        self.after_secret_name = false;
        self.expect = Expect::Nothing;
        let text = &mut self.shape.text;
        let is_listed = matches!(self.groups.get(self.depth), Some(Group::List | Group::Row));
        if is_listed && (text.ends_with("[?,") || text.ends_with("(?,") || text.ends_with(", ?,")) {
            text.pop();
        } else if !text.ends_with('?') {
            self.push("?", token);
        }
        self.last = Some(token);
        self.last_keyword = "";
        self.is_statement_start = false;
        if is_listed {
            self.skip_constants();
        }
    }

    /// Skips further constants of a list, each behind a comma.
    fn skip_constants(&mut self) {
        loop {
            self.lexer.skip_plain_constants();
            let mut ahead = self.lexer.clone();
            let is_comma = ahead.next().is_some_and(|token| self.byte(token) == b',');
            let is_constant = |token: Token| matches!(token.kind, Kind::Literal | Kind::Parameter);
            if !is_comma || !ahead.next().is_some_and(is_constant) {
                return;
            }
            self.lexer = ahead;
        }
    }

    /// The first byte of a token.
    fn byte(&self, token: Token) -> u8 {
        self.text.as_bytes().get(token.start).copied().unwrap_or(0)
    }

    fn name(&mut self, token: Token) {
        let quoted = self.slice(token);
        let mut inside = quoted.chars();
        inside.next();
        inside.next_back();
        self.object(inside.as_str(), token);
    }

    /// Writes the name of an object, or `?` where it has characters that names seldom have.
    fn object(&mut self, name: &str, token: Token) {
        let is_simple = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80);
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'$' | b' ' | b'-' | b'.' | b'#')
                    || byte >= 0x80
            });
        if !is_name {
            return self.constant(token);
        }
        self.target(name);
        if is_simple {
            self.push(name, token);
        } else {
            self.push("\"", token);
            self.shape.text.push_str(name);
            self.shape.text.push('"');
        }
    }

    /// Takes a name into the summary where a target is expected.
    fn target(&mut self, name: &str) {
        match self.expect {
            Expect::Target => {
                self.shape.summarise(name, " ");
                self.expect = Expect::Dot;
            }
            Expect::Rest => {
                self.shape.summarise(name, ".");
                self.expect = Expect::Dot;
            }
            Expect::Nothing | Expect::Dot => self.expect = Expect::Nothing,
        }
    }

    fn ends_with(&self, byte: u8) -> bool {
        self.shape.text.as_bytes().last() == Some(&byte)
    }

    fn word(&mut self, token: Token) -> Option<()> {
        let word = self.slice(token);
        let is_name = |(keyword, role): &(&str, Role)| {
            self.expect == Expect::Target
                && !matches!(role, Role::Filler | Role::Target | Role::Secret)
                && !NO_NAMES.contains(keyword)
        };
        let follows_dot = self.ends_with(b'.');
        let entry = KEYWORDS.entry(word.as_bytes());
        if let Some((keyword, Role::Secret)) = entry {
            self.push(keyword, token);
            self.shape.text.push_str(" ?");
            return None;
        }
        let names_secret = matches!(entry, Some((_, Role::SecretName)) | Some(("PASSWORD", _)));
        let entry = entry.filter(|entry| entry.1 != Role::SecretName && !follows_dot && !is_name(entry));
        let Some((keyword, role)) = entry else {
            let is_value = self.after_secret_name || self.group() == Group::Row && !self.is_call(token);
            self.after_secret_name = names_secret;
            if is_value {
                self.constant(token);
            } else {
                self.target(word);
                self.push(word, token);
            }
            return Some(());
        };
        if self.is_statement_start && self.is_secret(keyword) {
            self.operation(keyword);
            self.push(keyword, token);
            self.shape.text.push_str(" ?");
            return None;
        }
        self.after_secret_name = names_secret;
        if role == Role::Constant && self.is_operand() {
            self.constant(token);
            return Some(());
        }
        self.keyword(keyword, role);
        self.push(keyword, token);
        self.last_keyword = if role == Role::Function { "" } else { keyword };
        Some(())
    }

    /// What a keyword means to the summary.
    fn keyword(&mut self, keyword: &'static str, role: Role) {
        let follows = self.last_keyword;
        let is_verb = matches!(role, Role::Verb | Role::Write);
        match keyword {
            "SELECT" => {
                if let Some(group) = self.groups.get_mut(self.depth) {
                    *group = Group::Query;
                }
            }
            "FROM" | "JOIN" | "INTO" | "USING" | "TABLE" | "VIEW" | "UPDATE" | "ONLY" | "IF" | "NOT"
            | "EXISTS" | "LATERAL" => {}
            "AS" | "INNER" | "LEFT" | "RIGHT" | "FULL" | "OUTER" | "CROSS" | "NATURAL" => {}
            _ => self.from_depth = None,
        }
        if is_verb && self.is_verb_position(keyword) {
            self.operation(keyword);
            self.expect = match keyword {
                "UPDATE" | "CALL" | "EXEC" | "EXECUTE" | "MERGE" | "TRUNCATE" => Expect::Target,
                _ => Expect::Nothing,
            };
            return;
        }
        match role {
            Role::Target
                if follows == "DISTINCT"
                    || (keyword == "USING" && self.shape.operation != "MERGE")
                    || (self.depth > 0 && self.group() != Group::Query && keyword == "FROM") =>
            {
                self.expect = Expect::Nothing;
            }
            Role::Target => {
                if matches!(keyword, "TABLE" | "VIEW")
                    && matches!(follows, "CREATE" | "ALTER" | "DROP" | "TRUNCATE")
                {
                    self.shape.summarise(keyword, " ");
                }
                self.expect = Expect::Target;
                self.from_depth = (keyword == "FROM").then_some(self.depth);
            }
            Role::Filler if self.expect == Expect::Target => {}
            _ => self.expect = Expect::Nothing,
        }
    }

    fn is_verb_position(&self, keyword: &str) -> bool {
        let follows = self.last_keyword;
        match self.last.map(|last| self.slice(last)) {
            None | Some("(" | ")") => keyword != "VALUES" || self.is_statement_start,
            _ => {
                self.is_statement_start
                    || matches!(
                        follows,
                        "EXPLAIN"
                            | "ANALYZE"
                            | "UNION"
                            | "ALL"
                            | "EXCEPT"
                            | "INTERSECT"
                            | "MINUS"
                            | "BEGIN"
                            | "THEN"
                            | "ELSE"
                    )
                    || keyword == "SELECT"
            }
        }
    }

    fn operation(&mut self, keyword: &'static str) {
        // The operation of a statement with common table expressions is that of its main part.
        if self.shape.operation == OTHER || (self.shape.operation == "WITH" && self.depth == 0) {
            self.shape.operation = keyword;
        }
        if keyword != "WITH" {
            self.shape.summarise(keyword, " ");
        }
    }

    /// Can the statement that starts with this verb hold a secret?
    fn is_secret(&self, verb: &str) -> bool {
        let Some((_, objects)) = SECRET_STATEMENTS.iter().find(|(known, _)| *known == verb) else {
            return false;
        };
        if objects.is_empty() {
            return true;
        }
        for token in self.lexer.clone().take(8) {
            let word = self.slice(token);
            if is_one_of(objects, word) {
                return true;
            }
            if !is_one_of(OBJECT_FILLERS, word) {
                return false;
            }
        }
        false
    }

    /// Is a constant that comes now a value, as opposed to a part of `IS NULL` or `SET NULL`?
    fn is_operand(&self) -> bool {
        self.last.is_some_and(|last| last.kind == Kind::Mark && self.slice(last) != ")")
    }

    /// Does an opening parenthesis follow the word directly?
    fn is_call(&self, token: Token) -> bool {
        self.text.as_bytes().get(token.end) == Some(&b'(')
    }

    fn mark(&mut self, token: Token) {
        if self.byte(token) == b',' && self.sign.is_none() {
            return self.comma(token);
        }
        let mark = self.slice(token);
        match mark {
            "(" => self.open(token),
            ")" => self.close(token),
            "[" => {
                self.push("[", token);
                self.enter(Group::List);
            }
            "]" => {
                self.depth = self.depth.saturating_sub(1);
                self.push("]", token);
            }
            ";" => {
                self.is_separated = !self.shape.text.is_empty();
                self.is_statement_start = true;
                (self.last, self.last_keyword) = (None, "");
                (self.expect, self.from_depth, self.after_secret_name, self.sign) =
                    (Expect::Nothing, None, false, None);
            }
            "-" | "+" if self.takes_sign() => self.sign = Some(if mark == "-" { "-" } else { "+" }),
            _ => {
                let keeps_secret = self.after_secret_name && matches!(mark, "=" | ":");
                self.expect = match (mark, self.expect) {
                    (".", Expect::Dot) => Expect::Rest,
                    _ => Expect::Nothing,
                };
                self.push(mark, token);
                self.after_secret_name = keeps_secret;
            }
        }
    }

    fn comma(&mut self, token: Token) {
        self.expect = if self.from_depth == Some(self.depth) { Expect::Target } else { Expect::Nothing };
        self.shape.text.push(',');
        (self.last, self.last_keyword) = (Some(token), "");
        (self.is_statement_start, self.after_secret_name) = (false, false);
    }

    fn takes_sign(&self) -> bool {
        match self.last {
            None => true,
            Some(last) => match last.kind {
                Kind::Mark => !matches!(self.slice(last), ")" | "]" | "-" | "+"),
                Kind::Word => !self.last_keyword.is_empty(),
                _ => false,
            },
        }
    }

    fn open(&mut self, token: Token) {
        let group = match self.last_keyword {
            "IN" | "ANY" | "SOME" | "ALL" => Group::List,
            "VALUES" | "ROW" => Group::Row,
            _ if self.group() == Group::List => Group::Row,
            _ => Group::Plain,
        };
        let is_call = self.last.is_some_and(|last| matches!(last.kind, Kind::Word | Kind::Name))
            && self.last_keyword.is_empty();
        if is_call {
            self.shape.text.push('(');
            (self.last, self.last_keyword) = (Some(token), "");
        } else {
            self.push("(", token);
        }
        self.enter(group);
    }

    fn enter(&mut self, group: Group) {
        self.depth += 1;
        if let Some(slot) = self.groups.get_mut(self.depth) {
            *slot = group;
        }
        (self.expect, self.after_secret_name) = (Expect::Nothing, false);
    }

    fn close(&mut self, token: Token) {
        let closed = self.group();
        self.depth = self.depth.saturating_sub(1);
        self.expect = Expect::Nothing;
        self.push(")", token);
        if closed == Group::Row {
            self.skip_rows();
        }
    }

    /// Skips `, (…), (…)` after a row.
    fn skip_rows(&mut self) {
        loop {
            let mut ahead = self.lexer.clone();
            let comma = ahead.next();
            let mut open = ahead.next();
            if open.is_some_and(|token| self.slice(token).eq_ignore_ascii_case("ROW")) {
                open = ahead.next();
            }
            if comma.is_none_or(|token| self.slice(token) != ",")
                || open.is_none_or(|token| self.slice(token) != "(")
            {
                return;
            }
            let mut depth = 1_usize;
            while depth > 0 {
                match ahead.next().map(|token| self.slice(token)) {
                    None => break,
                    Some("(") => depth += 1,
                    Some(")") => depth -= 1,
                    Some(_) => {}
                }
            }
            self.lexer = ahead;
        }
    }
}

/// Ends the text with white space, unless it is empty or ends with what binds to its right neighbour.
fn space(text: &mut String) {
    if !matches!(text.as_bytes().last(), None | Some(b' ' | b'(' | b'.' | b'[')) {
        text.push(' ');
    }
}

fn is_one_of(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}
