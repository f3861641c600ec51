//! The curated rules that turn raw facts into rows.
//!
//! A rule file's columns are `match condition proof marks name source`. `match` is a code, a glob (`*`) over codes,
//! `name:GLOB` over names, `category:GLOB` over `category/outcome/transient` of the facts, each optionally with
//! `=> KEY` to store the row under another key (its `*` is what the first `*` of the glob matched). Condition `-`
//! drops the row, `.` leaves the decision to the rules below. An exact code that the facts do not have adds a row.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use retort::codes::{Code, Proof};
use retort::recognise::Marks;

use super::{Reading, lines, parse_condition, parse_marks, parse_proof};

/// Where a row was found since it was recalled, by table and code.
pub type Confirmed = BTreeMap<(String, String), String>;

/// What a rule looks at.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// The code itself.
    Code(String),
    /// The vendor's name of the code.
    Name(String),
    /// `category/outcome/transient`.
    Category(String),
}

/// What a rule decides.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The row is no error or not recognisable by its code.
    Drop,
    /// A later rule decides.
    Pass,
    /// The row says this.
    Read(Code, Proof),
}

/// A curated rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What it looks at.
    pub pattern: Pattern,
    /// The key that the row is stored under.
    pub rename: Option<String>,
    /// What it decides.
    pub decision: Decision,
    /// Side facts.
    pub marks: Marks,
    /// Replaces the facts' name unless empty.
    pub name: String,
    /// Replaces the facts' source unless empty, and confirms a recalled row.
    pub source: String,
}

/// A row of the raw facts.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// The code as the facts spell it.
    pub code: String,
    /// The vendor's name.
    pub name: String,
    /// `category/outcome/transient`.
    pub category: String,
    /// Where that is written.
    pub source: String,
}

impl Rule {
    /// Does the rule name exactly one code?
    pub fn is_exact(&self) -> bool {
        matches!(&self.pattern, Pattern::Code(code) if !code.trim_end_matches("***").contains('*'))
    }

    /// What the pattern's first `*` stands for in this fact; `None` where the pattern does not match.
    pub fn capture<'a>(&self, fact: &'a Fact) -> Option<&'a str> {
        match &self.pattern {
            Pattern::Code(code) if self.is_exact() => (*code == fact.code).then_some(""),
            Pattern::Code(glob) => glob_capture(glob, &fact.code),
            Pattern::Name(glob) => glob_capture(glob, &fact.name),
            Pattern::Category(glob) => glob_capture(glob, &fact.category),
        }
    }

    /// The reading, if the rule decides on one.
    pub fn reading(&self) -> Option<Reading> {
        match self.decision {
            Decision::Read(condition, proof) => Some(Reading { condition, proof, marks: self.marks }),
            Decision::Drop | Decision::Pass => None,
        }
    }
}

/// Reads a rule file; a missing one has no rules.
pub fn read(path: &Path) -> Result<Vec<Rule>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path)?;
    lines(&text)
        .map(|(number, columns)| read_rule(&columns).with_context(|| format!("{}:{number}", path.display())))
        .collect()
}

/// Reads the list of rows that were confirmed: `table code source`.
pub fn read_confirmed(path: &Path) -> Result<Confirmed> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    lines(&text)
        .map(|(number, columns)| {
            let [table, code, source] = columns[..] else {
                bail!("{}:{number}: not 3 columns", path.display())
            };
            Ok(((table.to_owned(), code.to_owned()), source.to_owned()))
        })
        .collect()
}

/// Reads one rule; columns at the end may be missing.
fn read_rule(columns: &[&str]) -> Result<Rule> {
    let column = |index: usize| columns.get(index).copied().unwrap_or_default();
    let (pattern, rename) = match column(0).split_once(" => ") {
        Some((pattern, key)) => (pattern, Some(key.to_owned())),
        None => (column(0), None),
    };
    let pattern = match pattern.split_once(':') {
        Some(("name", glob)) => Pattern::Name(glob.to_owned()),
        Some(("category", glob)) => Pattern::Category(glob.to_owned()),
        _ => Pattern::Code(pattern.to_owned()),
    };
    let decision = match column(1) {
        "" => bail!("no condition"),
        "-" => Decision::Drop,
        "." => Decision::Pass,
        word => {
            let condition = parse_condition(word)?;
            let proof = column(2);
            Decision::Read(condition, if proof.is_empty() { condition.proof() } else { parse_proof(proof)? })
        }
    };
    let marks = parse_marks(column(3))?;
    Ok(Rule { pattern, rename, decision, marks, name: column(4).to_owned(), source: column(5).to_owned() })
}

/// Does the text match the glob, ASCII case ignored, and what does the first `*` stand for?
fn glob_capture<'a>(glob: &str, text: &'a str) -> Option<&'a str> {
    let Some((head, tail)) = glob.split_once('*') else {
        return glob.eq_ignore_ascii_case(text).then_some("");
    };
    let rest = text.get(head.len()..).filter(|_| text[..head.len()].eq_ignore_ascii_case(head))?;
    (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).find_map(|at| {
        let (held, after) = rest.split_at(at);
        let is_match = if tail.contains('*') {
            glob_capture(tail, after).is_some()
        } else {
            tail.eq_ignore_ascii_case(after)
        };
        is_match.then_some(held)
    })
}

#[cfg(test)]
mod tests {
    use super::glob_capture;

    #[test]
    fn a_glob_matches_the_whole_text_and_tells_what_its_star_stands_for() {
        let cases = [
            ("py:*", "py:OSError", Some("OSError")),
            ("*deadlock*", "ER_LOCK_DEADLOCK", Some("ER_LOCK_")),
            ("A*C*E", "abcde", Some("b")),
            ("plain", "Plain", Some("")),
            ("py:*", "go:x", None),
            ("a*b", "ac", None),
        ];
        for (glob, text, expected) in cases {
            assert_eq!(glob_capture(glob, text), expected, "{glob} on {text}");
        }
    }
}
