//! Chunks: runs of characters without white space and brackets, told by their shape: addresses, paths, tokens, numbers.

use super::finding::Kind;
use super::number;
use super::scan::{Scanner, is_word};
use super::vocabulary::is_vocabulary;
use super::{mongo, sql};

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

/// Extensions of source and data files.
const EXTENSIONS: &[&str] = &[
    "c", "cc", "cpp", "h", "hpp", "rs", "go", "py", "pyx", "js", "mjs", "cjs", "ts", "tsx", "jsx", "java",
    "kt", "scala", "rb", "php", "cs", "vb", "pl", "pm", "sql", "ex", "exs", "swift", "lua", "l", "y", "jar",
    "dll", "so", "exe", "sh", "yml", "yaml", "json", "xml", "csv", "tsv", "parquet", "db", "sqlite",
    "sqlite3", "log", "conf", "cnf", "ini", "env", "pem", "key", "crt", "jpg", "png", "pdf", "txt", "xlsx",
    "dart", "hs", "nim", "gz", "zip", "sock", "whl",
];

/// First components of absolute paths.
const ROOTS: &[&str] = &[
    "usr",
    "var",
    "home",
    "Users",
    "root",
    "etc",
    "opt",
    "srv",
    "app",
    "tmp",
    "mnt",
    "data",
    "workspace",
    "proc",
    "sys",
    "dev",
    "private",
    "Library",
    "bin",
    "lib",
    "code",
    "run",
    "media",
    "myapp",
    "project",
    "build",
    "src",
    "www",
];

/// Does the byte go on with a chunk?
const fn is_chunk(byte: u8) -> bool {
    is_word(byte)
        || matches!(
            byte,
            b'.' | b':'
                | b'/'
                | b'\\'
                | b'@'
                | b'='
                | b'-'
                | b'+'
                | b'%'
                | b'#'
                | b'~'
                | b'!'
                | b'*'
                | b'?'
                | b'&'
        )
}

/// The end of the chunk that starts at `start`.
pub(super) fn end(scanner: &Scanner, start: usize) -> usize {
    let mut end = start;
    while is_chunk(scanner.byte(end)) {
        end += 1;
    }
    while end > start && matches!(scanner.byte(end - 1), b'.' | b':' | b'?' | b'!' | b'-' | b'=') {
        end -= 1;
    }
    end
}

/// Looks at the chunk whose first word lies at `start..end`. True where something was found or skipped.
pub(super) fn chunk(scanner: &mut Scanner, start: usize, end: usize) -> bool {
    let until = self::end(scanner, start).max(end);
    scanner.analysed = until;
    let chunk = scanner.slice(start, until);
    if chunk.len() < 3 {
        return false;
    }
    let bytes = chunk.as_bytes();
    if chunk.contains("://") || scheme(chunk).is_some() {
        return url(scanner, start);
    }
    if chunk.starts_with("db.") && scanner.byte(until) == b'(' && mongo::is_method(chunk) {
        let boundary = sql::boundary(scanner, until, false);
        scanner.found(Kind::Sql, start, boundary);
        return true;
    }
    // The bytes of "invalid byte sequence for encoding".
    if chunk.starts_with("0x") && scanner.slice(start.saturating_sub(60), start).contains("encoding") {
        let line = scanner.line_end(start);
        scanner.found(Kind::Value, start, line);
        return true;
    }
    // `key%3Dvalue`, as in a URL's query.
    if let Some(equals) = chunk.find("%3D").or_else(|| chunk.find("%3d")) {
        scanner.found(Kind::Value, start + equals + 3, until);
        return true;
    }
    // `key=value`: the key is looked up first, the value is a chunk of its own.
    if let Some(equals) = bytes.iter().position(|byte| *byte == b'=')
        && bytes.iter().take(equals).all(|byte| is_word(*byte) || matches!(byte, b'.' | b'-' | b'@'))
        && !chunk.starts_with("ey")
    {
        scanner.analysed = start + equals;
        if !bytes.iter().take(equals).any(|byte| matches!(byte, b'@' | b'.')) {
            return token(scanner, start, start + equals);
        }
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == b'@')
        && mail(scanner, start, start + at, until)
    {
        return true;
    }
    address(scanner, start, until)
        || path(scanner, start, until)
        || token(scanner, start, until)
        || host(scanner, start, until)
}

/// Schemes without `//` that carry credentials or hosts.
fn scheme(chunk: &str) -> Option<&'static str> {
    ["jdbc:", "arn:", "cubrid:", "urn:ietf", "odbc:"].into_iter().find(|scheme| {
        chunk.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme))
            && chunk.len() > scheme.len() + 6
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
            + word.get(at + 1..).unwrap_or_default().bytes().take_while(|byte| is_chunk(*byte)).count();
    }
    let url = scanner.slice(start, end);
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    let authority = rest.split('/').next().unwrap_or_default();
    if scheme.eq_ignore_ascii_case("file") {
        scanner.found(Kind::Path, start, end);
    } else if is_web
        && !rest.contains('@')
        && !rest.contains('?')
        && (DOCUMENTATION.iter().any(|host| rest.starts_with(host))
            || rest.contains("/docs/")
            || authority.len() < 2)
    {
        scanner.at = end;
        scanner.analysed = end;
    } else {
        let has_secret = rest.contains('@')
            || rest.contains("assword=")
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

/// Something with an `@`: a mail address, user and host, user, password and host.
fn mail(scanner: &mut Scanner, start: usize, at: usize, until: usize) -> bool {
    let local = scanner.slice(start, at);
    let first = scanner.byte(at + 1);
    if local.is_empty() || at + 1 >= until && !matches!(first, b'(' | b'[') {
        return false;
    }
    if local.contains([':', '/']) {
        // `user:password@host`, `user/password@service`, `user:password@tcp(host:1)/db`; a scoped package is neither.
        if local.contains("node_modules") || local.starts_with('/') {
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
fn address(scanner: &mut Scanner, start: usize, until: usize) -> bool {
    let chunk = scanner.slice(start, until);
    // Versions of four numbers look like addresses.
    let before = scanner.slice(start.saturating_sub(9), start);
    let is_version = ["ersion ", "ersion: ", "/", "v", "elease "].iter().any(|word| before.ends_with(word));
    // `host/10.0.0.9:9042`, as Java prints addresses.
    if let Some((name, address)) = chunk.split_once('/')
        && number::ipv4(address).is_some()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
        && !is_version
        && !["Chrome", "Safari", "Firefox", "Edg", "OPR"].contains(&name)
    {
        scanner.found(Kind::Host, start, until);
        return true;
    }
    let length = number::ipv4(chunk).filter(|_| !is_version).or_else(|| number::ipv6(chunk));
    let Some(length) = length else {
        return false;
    };
    scanner.found(Kind::Host, start, start + length);
    true
}

/// A path: absolute, of Windows, or relative with the extension of a file; a file with a line.
fn path(scanner: &mut Scanner, start: usize, until: usize) -> bool {
    let chunk = scanner.slice(start, until);
    let slashes = chunk.bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    let is_drive = matches!(chunk.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic());
    let is_relative =
        slashes > 0 && !chunk.contains("://") && (has_extension(chunk) || chunk.starts_with("node_modules"));
    let is_module = chunk.starts_with("node:") && chunk.bytes().filter(|byte| *byte == b':').count() > 1;
    let is_file_with_line = slashes == 0
        && chunk.contains(':')
        && has_extension(chunk)
        && chunk.rsplit(':').next().is_some_and(|line| line.bytes().all(|byte| byte.is_ascii_digit()));
    let is_source_file = slashes == 0
        && scanner.byte(until) == b'('
        && scanner.byte(until + 1).is_ascii_digit()
        && has_extension(chunk);
    if !(is_drive || is_relative || is_module || is_file_with_line || is_source_file) {
        return false;
    }
    let end = if is_drive { windows_end(scanner, start) } else { until };
    scanner.found(Kind::Path, start, end);
    true
}

/// The end of a Windows path, which may hold blanks: the last backslash on the line decides.
fn windows_end(scanner: &Scanner, start: usize) -> usize {
    let line = scanner.slice(start, scanner.line_end(start));
    let line = line
        .get(..line.find(['"', '\'', '(', ')', ',', ';', '<', '>', '|']).unwrap_or(line.len()))
        .unwrap_or_default();
    let last = line.rfind('\\').unwrap_or(0);
    let tail = line.get(last..).unwrap_or_default();
    start + last + tail.find(' ').unwrap_or(tail.len())
}

/// Does a file's extension end the text, perhaps with a line number behind it?
fn has_extension(chunk: &str) -> bool {
    let name = chunk.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ':');
    let name = name.split(['?', '#']).next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && EXTENSIONS.contains(&extension))
}

/// A token or number: vendors' keys, hexadecimal and random texts, UUIDs, cards.
fn token(scanner: &mut Scanner, start: usize, until: usize) -> bool {
    let chunk = scanner.slice(start, until);
    let is_vendor = VENDOR_TOKENS.iter().any(|(sign, more)| {
        chunk.len() >= sign.len() + more
            && chunk.starts_with(sign)
            && chunk.bytes().skip(sign.len()).any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
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
    let port = port.split('/').next().unwrap_or_default();
    let is_port = !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
        || name.starts_with('-')
    {
        return false;
    }
    let labels = name.split('.').count();
    let top = name.rsplit('.').next().unwrap_or_default();
    let is_lower = !name.bytes().any(|byte| byte.is_ascii_uppercase());
    let is_qualified = labels >= 3 && TOP_LABELS.contains(&top) && (is_lower || is_port);
    let is_served = is_port
        && (DATABASE_PORTS.contains(&port)
            || (labels >= 2 && is_lower && !has_extension(name))
            || name == "localhost")
        && !name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_known = scanner.cue == super::cues::Cue::Host && labels >= 2 && TOP_LABELS.contains(&top);
    if !(is_qualified || is_served || is_known) || is_vocabulary(chunk) {
        return false;
    }
    scanner.found(Kind::Host, start, until);
    true
}

/// A slash, backslash, tilde or dot that may start a path.
pub(super) fn slash(scanner: &mut Scanner) {
    let start = scanner.at;
    scanner.at += 1;
    if start < scanner.analysed.max(scanner.no_path) || is_word(scanner.before(start)) {
        return;
    }
    let first = scanner.byte(start);
    let begin = start
        + usize::from(matches!(first, b'~' | b'.'))
        + usize::from(first == b'.' && scanner.byte(start + 1) == b'.');
    if matches!(first, b'~' | b'.')
        && !matches!(scanner.byte(begin), b'/' | b'\\')
        && !(first == b'.' && scanner.byte(begin).is_ascii_alphabetic())
    {
        return;
    }
    let until = end(scanner, start).max(start + 1);
    let chunk = scanner.slice(start, until);
    scanner.analysed = until;
    // `/10.0.0.1:9042`, as Java prints addresses.
    if let Some(length) = number::ipv4(chunk.trim_start_matches('/')) {
        scanner.found(Kind::Host, start + 1, start + 1 + length);
        return;
    }
    let separators = chunk.bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    let root = chunk.trim_start_matches(['/', '~', '.']).split('/').next().unwrap_or_default();
    let is_unc = chunk.strip_prefix("\\\\").is_some_and(|share| {
        share.contains('\\') && share.starts_with(|letter: char| letter.is_ascii_alphanumeric())
    });
    let is_request = ["GET ", "PUT ", "POST ", "HEAD ", "DELETE ", "PATCH "]
        .iter()
        .any(|verb| scanner.slice(start.saturating_sub(7), start).ends_with(verb));
    let is_path = match first {
        b'/' => {
            chunk.len() > 2
                && is_word(scanner.byte(start + 1))
                && (separators >= 2 || ROOTS.contains(&root) || is_request || has_extension(chunk))
        }
        b'\\' => is_unc,
        _ => separators >= 1 && chunk.len() > 4 && (separators >= 2 || has_extension(chunk)),
    };
    if is_path {
        scanner.found(Kind::Path, start, until);
    } else {
        // The words inside are looked at, but no other slash starts a path.
        scanner.analysed = start + 1;
        scanner.no_path = until;
    }
}

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
