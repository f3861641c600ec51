//! What starts with a hyphen: private keys, comments, options of command lines.

use super::finding::Kind;
use super::scan::Scanner;
use super::sql;
use crate::signs::{find, holds};

/// An option of a command line whose value goes.
struct Opt {
    /// The option, up to its value.
    name: &'static str,
    kind: Kind,
    /// Only a value with a colon goes: `user:secret`.
    needs_colon: bool,
    /// What the command line holds one of before it: the tool, or another option. Empty where it may hold anything.
    tools: &'static [&'static str],
}

/// Tools of databases.
const TOOLS: &[&str] = &["sql", "mongo", "pg_", "clickhouse", "redis-cli", "cqlsh", "bcp "];

#[rustfmt::skip]
const OPTIONS: &[Opt] = &[
    Opt { name: "--password ", kind: Kind::Credential, needs_colon: false, tools: &[] },
    Opt { name: "--token ", kind: Kind::Credential, needs_colon: false, tools: &[] },
    Opt { name: "--user ", kind: Kind::User, needs_colon: false, tools: TOOLS },
    Opt { name: "--username ", kind: Kind::User, needs_colon: false, tools: TOOLS },
    Opt { name: "-u ", kind: Kind::Credential, needs_colon: true, tools: &[] },
    Opt { name: "-a ", kind: Kind::Credential, needs_colon: false, tools: &["redis-cli"] },
    Opt { name: "-P ", kind: Kind::Credential, needs_colon: false, tools: TOOLS },
    Opt { name: "-U ", kind: Kind::User, needs_colon: false, tools: TOOLS },
    Opt { name: "-S ", kind: Kind::Host, needs_colon: false, tools: &["sqlcmd", "isql", "bcp "] },
    Opt { name: "-h ", kind: Kind::Host, needs_colon: false, tools: TOOLS },
    Opt { name: "-p", kind: Kind::Credential, needs_colon: false, tools: &["-u"] },
];

/// Private keys and options of command lines.
pub(super) fn dash(scanner: &mut Scanner) {
    let start = scanner.at;
    scanner.at += 1;
    let rest = scanner.rest(start);
    if rest.starts_with("--") && sql::comment(scanner, start) {
        return;
    }
    if rest.starts_with("-----BEGIN") {
        let end = find(rest, "-----END").map_or(scanner.bytes.len(), |found| scanner.line_end(start + found));
        scanner.found(Kind::Credential, start, end);
        return;
    }
    let is_option = matches!(scanner.before(start), b' ' | b'\n');
    if !is_option {
        return;
    }
    let window = scanner.slice(scanner.text.floor_char_boundary(start.saturating_sub(90)), start);
    let belongs = |tools: &[&str]| tools.is_empty() || tools.iter().any(|tool| holds(window, tool));
    let known = |option: &&Opt| rest.starts_with(option.name) && belongs(option.tools);
    let Some(option) = OPTIONS.iter().find(known) else {
        return;
    };
    let (skip, needs_colon) = (option.name.len(), option.needs_colon);
    let value = rest.get(skip..).unwrap_or_default();
    let length = match value.chars().next() {
        Some(quote @ ('\'' | '"')) => value.get(1..).and_then(|inside| inside.find(quote)).map(|end| end + 2),
        _ => value.find(char::is_whitespace),
    };
    let length = length.unwrap_or(value.len());
    let secret = value.get(..length).unwrap_or_default();
    if !secret.is_empty() && !secret.starts_with('-') && (!needs_colon || secret.contains(':')) {
        scanner.found(option.kind, start + skip, start + skip + length);
    }
}
