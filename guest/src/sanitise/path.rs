//! Paths of files: of POSIX, of Windows, relative ones, and files with a line.

use super::bytes::is_word;
use super::chunk;
use super::finding::Kind;
use super::number;
use super::scan::Scanner;
use crate::signs::holds;

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

/// A path: absolute, of Windows, or relative with the extension of a file; a file with a line.
pub(super) fn path(scanner: &mut Scanner, start: usize, until: usize) -> bool {
    let chunk = scanner.slice(start, until);
    let slashes = chunk.bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    let is_drive = matches!(chunk.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic());
    let is_relative =
        slashes > 0 && !holds(chunk, "://") && (has_extension(chunk) || chunk.starts_with("node_modules"));
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
pub(super) fn has_extension(chunk: &str) -> bool {
    let name = chunk.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ':');
    let name = name.split(['?', '#']).next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && EXTENSIONS.contains(&extension))
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
    let until = chunk::end(scanner, start).max(start + 1);
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
