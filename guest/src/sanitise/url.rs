//! URLs and connection strings.

use super::bytes::{self, bits, is_word};
use super::finding::Kind;
use super::scan::Scanner;
use crate::signs::{find, holds};

/// Hosts of documentation: links that servers and drivers put into their own messages.
const DOCUMENTATION: &[&str] = &[
    "docs.",
    "doc.",
    "dev.mysql.com",
    "www.postgresql.org",
    "sqlalche.me",
    "learn.microsoft.com",
    "go.microsoft.com",
    "aka.ms",
    "pris.ly",
    "help.",
    "developer.",
    "developers.",
    "support.",
    "en.wikipedia.org",
    "mariadb.com/kb",
    "www.sqlite.org",
    "sqlite.org",
    "redis.io",
    "errors.",
    "www.prisma.io",
    "www.mongodb.com/docs",
    "dochub.mongodb.org",
    "cloud.google.com",
    "jdbc.postgresql.org",
    "stackoverflow.com",
    "python-oracledb.readthedocs.io",
    "www.elastic.co/guide",
    "opentelemetry.io",
    "datatracker.ietf.org",
    "www.w3.org",
    "github.com",
];

/// Schemes without `//` that carry credentials or hosts.
pub(super) fn scheme(chunk: &str) -> Option<&'static str> {
    ["jdbc:", "arn:", "cubrid:", "urn:ietf", "odbc:"].into_iter().find(|scheme| {
        chunk.len() > scheme.len() + 6
            && chunk.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme))
    })
}

/// A URL or connection string at `start`: it goes as a whole, unless it is a link to documentation.
pub(super) fn url(scanner: &mut Scanner, start: usize) -> bool {
    let opener = scanner.before(start);
    let mut end = start;
    let mut parentheses = 0_usize;
    let mut braces = 0_usize;
    while let Some(&byte) = scanner.bytes.get(end) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b'<' | b'>' | b'"' | b'`' if braces == 0 => break,
            b'\n' | b'"' => break,
            b'\'' if opener == b'\'' || !is_word(scanner.byte(end + 1)) => break,
            b'(' => parentheses += 1,
            b')' if parentheses == 0 => break,
            b')' => parentheses -= 1,
            b'{' => braces += 1,
            b'}' if braces > 0 => braces -= 1,
            b']' if opener == b'[' && !scanner.slice(start, end).contains('[') => break,
            _ => {}
        }
        end += 1;
    }
    while end > start
        && matches!(scanner.byte(end - 1), b'.' | b',' | b';' | b':' | b'!' | b'?' | b'*' | b']')
    {
        end -= 1;
    }
    // An unescaped bracket or quote in a password: what follows up to an `@` still belongs to it.
    let tail = scanner.slice(end, scanner.text.floor_char_boundary(end + 80));
    let word = tail.get(..tail.find(char::is_whitespace).unwrap_or(tail.len())).unwrap_or_default();
    if let Some(at) = word.rfind('@')
        && !scanner.slice(start, end).contains('@')
    {
        end += at
            + 1
            + word
                .get(at + 1..)
                .unwrap_or_default()
                .bytes()
                .take_while(|byte| bits(*byte) & bytes::CHUNK != 0)
                .count();
    }
    let url = scanner.slice(start, end);
    let (scheme, rest) = match find(url, "://") {
        Some(at) => (url.get(..at).unwrap_or_default(), url.get(at + 3..).unwrap_or_default()),
        None => ("", url),
    };
    let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    let authority = rest.split('/').next().unwrap_or_default();
    if scheme.eq_ignore_ascii_case("file") {
        scanner.found(Kind::Path, start, end);
    } else if is_web
        && !rest.contains('@')
        && !rest.contains('?')
        && (DOCUMENTATION.iter().any(|host| rest.starts_with(host))
            || holds(rest, "/docs/")
            || authority.len() < 2)
    {
        scanner.at = end;
        scanner.analysed = end;
    } else {
        let has_secret = rest.contains('@')
            || holds(rest, "assword=")
            || url.starts_with("jdbc")
            || url.starts_with("CUBRID");
        let kind = if has_secret {
            Kind::Credential
        } else if url.starts_with("arn:") {
            Kind::Identifier
        } else {
            Kind::Host
        };
        scanner.found(kind, start, end);
    }
    true
}
