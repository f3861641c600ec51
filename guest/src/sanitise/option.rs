//! What starts with a hyphen: private keys, comments, options of command lines.

use super::finding::Kind;
use super::scan::Scanner;
use super::sql;

/// Private keys and options of command lines.
pub(super) fn dash(scanner: &mut Scanner) {
    let start = scanner.at;
    scanner.at += 1;
    let rest = scanner.rest(start);
    if rest.starts_with("--") && sql::comment(scanner, start) {
        return;
    }
    if rest.starts_with("-----BEGIN") {
        let end = rest.find("-----END").map_or(scanner.bytes.len(), |found| scanner.line_end(start + found));
        scanner.found(Kind::Credential, start, end);
        return;
    }
    let is_option = matches!(scanner.before(start), b' ' | b'\n');
    if !is_option {
        return;
    }
    // `--password secret`, `-u user:secret`, `-psecret`.
    let (skip, needs_colon) = match rest {
        _ if rest.starts_with("--password ") => (11, false),
        _ if rest.starts_with("--token ") => (8, false),
        _ if rest.starts_with("-u ") => (3, true),
        _ if rest.starts_with("-p") && scanner.slice(start.saturating_sub(60), start).contains("-u") => {
            (2, false)
        }
        _ if rest.starts_with("-a ")
            && scanner.slice(start.saturating_sub(60), start).contains("redis-cli") =>
        {
            (3, false)
        }
        _ => return,
    };
    let value = rest.get(skip..).unwrap_or_default();
    let length = value.find(char::is_whitespace).unwrap_or(value.len());
    let secret = value.get(..length).unwrap_or_default();
    if !secret.is_empty() && !secret.starts_with('-') && (!needs_colon || secret.contains(':')) {
        scanner.found(Kind::Credential, start + skip, start + skip + length);
    }
}
