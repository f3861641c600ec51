//! Chunks: runs of characters without white space and brackets, told by their shape: addresses, paths, tokens, numbers.

use super::bytes::{self, bits, is_word};
use super::cues::Cue;
use super::finding::Kind;
use super::number;
use super::scan::Scanner;
use super::vocabulary::is_vocabulary;
use super::{mongo, path, sql, url};
use crate::signs::{find, holds};

/// Starts of secrets that vendors hand out, with the fewest characters that must follow.
const VENDOR_TOKENS: &[(&str, usize)] = &[
    ("AKIA", 12),
    ("ASIA", 12),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghs_", 16),
    ("ghu_", 16),
    ("github_pat_", 16),
    ("glpat-", 12),
    ("sk-", 16),
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("rk_live_", 8),
    ("pk_live_", 8),
    ("xoxb-", 8),
    ("xoxp-", 8),
    ("xoxa-", 8),
    ("xoxr-", 8),
    ("xoxs-", 8),
    ("dapi", 24),
    ("pscale_", 12),
    ("npg_", 8),
    ("sb_secret_", 8),
    ("sb_publishable_", 8),
    ("sbp_", 16),
    ("AIza", 24),
    ("ya29.", 12),
    ("SG.", 16),
    ("hvs.", 12),
    ("dop_v1_", 16),
    ("npm_", 16),
    ("pypi-", 16),
    ("whsec_", 12),
    ("shpat_", 12),
    ("eyJ", 16),
    ("lin_api_", 12),
    ("hf_", 16),
    ("ver:", 20),
    ("tskey-", 12),
];

/// The shortest of them.
const SHORTEST_TOKEN: usize = {
    let (mut shortest, mut index) = (usize::MAX, 0);
    while index < VENDOR_TOKENS.len() {
        let (sign, more) = VENDOR_TOKENS[index];
        if sign.len() + more < shortest {
            shortest = sign.len() + more;
        }
        index += 1;
    }
    shortest
};

/// Last labels of host names.
const TOP_LABELS: &[&str] = &[
    "com",
    "org",
    "net",
    "io",
    "dev",
    "cloud",
    "local",
    "internal",
    "lan",
    "corp",
    "example",
    "test",
    "invalid",
    "localdomain",
    "svc",
    "cluster",
    "intranet",
    "home",
    "arpa",
    "edu",
    "gov",
    "de",
    "fr",
    "uk",
    "eu",
    "us",
    "ca",
    "jp",
    "cn",
    "ru",
    "br",
    "in",
    "au",
    "ch",
    "nl",
    "es",
    "it",
    "tech",
    "app",
    "ai",
    "co",
    "host",
    "site",
    "online",
    "private",
    "consul",
    "k8s",
    "world",
];

/// Ports that databases listen on.
const DATABASE_PORTS: &[&str] = &[
    "5432", "5433", "6432", "6543", "3306", "3307", "33060", "1433", "1434", "1521", "1522", "2484", "27017",
    "27018", "27019", "6379", "6380", "9042", "9160", "9000", "9440", "8123", "8443", "26257", "9200",
    "9300", "2379", "2380", "33000", "30000", "50000", "11211", "5672", "4000", "7687", "8529",
];

/// The end of the chunk that starts at `start`.
pub(super) fn end(scanner: &Scanner, start: usize) -> usize {
    run(scanner, start).0
}

/// The end of the chunk that starts at `start`, and the union of its bytes' bits.
fn run(scanner: &Scanner, start: usize) -> (usize, u16) {
    let (mut end, mut known, mut union) = (start, 0, 0);
    for (index, byte) in scanner.rest_bytes(start).iter().enumerate() {
        let bits = bits(*byte);
        if bits & bytes::CHUNK == 0 {
            break;
        }
        union |= bits;
        if bits & bytes::LOOSE == 0 {
            (end, known) = (start + index + 1, union);
        }
    }
    (end, known)
}

/// Looks at the chunk whose first word lies at `start..end`. True where something was found or skipped.
pub(super) fn chunk(scanner: &mut Scanner, start: usize, end: usize) -> bool {
    let (until, bits) = run(scanner, start);
    let until = until.max(end);
    scanner.analysed = until;
    let chunk = scanner.slice(start, until);
    if chunk.len() < 3 {
        return false;
    }
    let bytes = chunk.as_bytes();
    if scanner.cue == Cue::None && number::is_moment(bytes) {
        scanner.at = until;
        return true;
    }
    let has = |wanted: u16| bits & wanted != 0;
    let has_colon = has(bytes::COLON);
    if has_colon && (bytes.windows(3).any(|signs| signs == b"://") || url::scheme(chunk).is_some()) {
        return url::url(scanner, start);
    }
    let is_called = scanner.byte(until) == b'(';
    if is_called && chunk.starts_with("db.") && mongo::is_method(chunk) {
        let boundary = sql::boundary(scanner, until, false);
        scanner.found(Kind::Sql, start, boundary);
        return true;
    }
    // What a procedure raises with ORA-20000 to ORA-20999, or a script of Redis, is the text of its author.
    if (chunk.len() == 9 && chunk.starts_with("ORA-20") || chunk.starts_with("user_script:"))
        && scanner.rest(until).starts_with(": ")
    {
        let line = scanner.line_end(until);
        scanner.found(Kind::Value, until + 2, line);
        return true;
    }
    // The bytes of "invalid byte sequence for encoding".
    if chunk.starts_with("0x") && holds(scanner.slice(start.saturating_sub(60), start), "encoding") {
        let line = scanner.line_end(start);
        scanner.found(Kind::Value, start, line);
        return true;
    }
    // `key%3Dvalue`, as in a URL's query.
    if has(bytes::PERCENT)
        && let Some(equals) = find(chunk, "%3D").or_else(|| find(chunk, "%3d"))
    {
        scanner.found(Kind::Value, start + equals + 3, until);
        return true;
    }
    // `key=value`: the key is looked up first, the value is a chunk of its own.
    if has(bytes::EQUALS)
        && let Some(equals) = bytes.iter().position(|byte| *byte == b'=')
        && bytes.iter().take(equals).all(|byte| is_word(*byte) || matches!(byte, b'.' | b'-' | b'@'))
        && !chunk.starts_with("ey")
    {
        scanner.analysed = start + equals;
        if !bytes.iter().take(equals).any(|byte| matches!(byte, b'@' | b'.')) {
            return token(scanner, start, start + equals);
        }
    }
    if has(bytes::AT)
        && let Some(at) = bytes.iter().position(|byte| *byte == b'@')
        && mail(scanner, start, start + at, until)
    {
        return true;
    }
    let is_numeric = has(bytes::DIGIT) && has(bytes::DOT);
    let is_path =
        has(bytes::SLASH) || (has(bytes::DOT) && (has_colon || is_called)) || chunk.starts_with("node:");
    ((is_numeric || has_colon) && address(scanner, start, until, bits))
        || (is_path && path::path(scanner, start, until))
        || token(scanner, start, until)
        || (has(bytes::DOT | bytes::COLON) && host(scanner, start, until))
}

/// Something with an `@`: a mail address, user and host, user, password and host.
fn mail(scanner: &mut Scanner, start: usize, at: usize, until: usize) -> bool {
    let local = scanner.slice(start, at);
    let first = scanner.byte(at + 1);
    if local.is_empty() || at + 1 >= until && !matches!(first, b'(' | b'[') {
        return false;
    }
    if local.contains([':', '/']) {
        // `user:password@host`, `user/password@service`, `user:password@tcp(host:1)/db`; a scoped package is neither.
        if holds(local, "node_modules") || local.starts_with('/') {
            return false;
        }
        let mut end = until;
        if matches!(scanner.byte(end), b'(' | b'[') {
            let line = scanner.line_end(end);
            while end < line && !matches!(scanner.byte(end), b' ' | b'"' | b'\'') {
                end += 1;
            }
        }
        scanner.found(Kind::Credential, start, end);
        return true;
    }
    if first.is_ascii_digit()
        && local.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        && scanner.slice(at + 1, until).split('.').count() == 3
    {
        // `package@1.2.3`
        return false;
    }
    let last = scanner.slice(at + 1, until).rsplit('@').next().unwrap_or_default();
    let mut end = until;
    while end > at + 1 && !is_word(scanner.byte(end - 1)) {
        end -= 1;
    }
    let kind = if last.contains('.') && !first.is_ascii_digit() { Kind::Email } else { Kind::User };
    scanner.found(kind, start, end);
    true
}

/// An IPv4 or IPv6 address, with a port.
fn address(scanner: &mut Scanner, start: usize, until: usize, bits: u16) -> bool {
    let chunk = scanner.slice(start, until);
    // Versions of four numbers look like addresses.
    let is_version = || {
        let before = scanner.slice(start.saturating_sub(9), start);
        ["ersion ", "ersion: ", "/", "v", "elease "].iter().any(|word| before.ends_with(word))
    };
    // `host/10.0.0.9:9042`, as Java prints addresses.
    if bits & bytes::SLASH != 0
        && let Some((name, address)) = chunk.split_once('/')
        && number::ipv4(address).is_some()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
        && !is_version()
        && !["Chrome", "Safari", "Firefox", "Edg", "OPR"].contains(&name)
    {
        scanner.found(Kind::Host, start, until);
        return true;
    }
    let length = number::ipv4(chunk).filter(|_| !is_version()).or_else(|| number::ipv6(chunk));
    let Some(length) = length else {
        return false;
    };
    scanner.found(Kind::Host, start, start + length);
    true
}

/// A token or number: vendors' keys, hexadecimal and random texts, UUIDs, cards.
fn token(scanner: &mut Scanner, start: usize, until: usize) -> bool {
    let chunk = scanner.slice(start, until);
    let is_vendor = chunk.len() >= SHORTEST_TOKEN
        && VENDOR_TOKENS.iter().any(|(sign, more)| {
            chunk.as_bytes().first() == sign.as_bytes().first()
                && chunk.len() >= sign.len() + more
                && chunk.starts_with(sign)
                && chunk
                    .bytes()
                    .skip(sign.len())
                    .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        });
    if is_vendor {
        scanner.found(Kind::Token, start, until);
        return true;
    }
    let Some((kind, length)) = number::recognise(chunk, scanner.rest(start)) else {
        return false;
    };
    scanner.found(kind, start, start + length);
    true
}

/// A host's name, with a port.
fn host(scanner: &mut Scanner, start: usize, until: usize) -> bool {
    let chunk = scanner.slice(start, until);
    let (name, port) = chunk.split_once(':').unwrap_or((chunk, ""));
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let port = port.split('/').next().unwrap_or_default();
    let is_port = !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    let labels = name.split('.').count();
    if (labels < 2 && !is_port)
        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
        || name.starts_with('-')
    {
        return false;
    }
    let top = name.rsplit('.').next().unwrap_or_default();
    let is_lower = !name.bytes().any(|byte| byte.is_ascii_uppercase());
    let is_qualified = labels >= 3 && TOP_LABELS.contains(&top) && (is_lower || is_port);
    let is_served = is_port
        && (DATABASE_PORTS.contains(&port)
            || (labels >= 2 && is_lower && !path::has_extension(name))
            || name == "localhost")
        && !name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_known = scanner.cue == Cue::Host && labels >= 2 && TOP_LABELS.contains(&top);
    if !(is_qualified || is_served || is_known) || is_vocabulary(chunk) {
        return false;
    }
    scanner.found(Kind::Host, start, until);
    true
}

/// A telephone number with its country's code.
pub(super) fn plus(scanner: &mut Scanner) {
    let start = scanner.at;
    scanner.at += 1;
    if !is_word(scanner.before(start))
        && let Some(length) = number::phone(scanner.rest_bytes(start + 1))
    {
        scanner.found(Kind::Number, start, start + 1 + length);
    }
}

/// `::1`, and IPv6 addresses that start with colons.
pub(super) fn colon(scanner: &mut Scanner) {
    let start = scanner.at;
    scanner.at += 1;
    if scanner.byte(start + 1) != b':'
        || is_word(scanner.before(start))
        || !scanner.byte(start + 2).is_ascii_hexdigit()
    {
        return;
    }
    let window = scanner.slice(start, scanner.text.floor_char_boundary(start + 60));
    let chunk = window
        .split(|letter: char| !(letter.is_ascii_hexdigit() || letter == ':' || letter == '.'))
        .next()
        .unwrap_or_default();
    if let Some(length) = number::ipv6(chunk) {
        scanner.found(Kind::Host, start, start + length);
    }
}
