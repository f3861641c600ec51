//! Frames of stacks, told by how a line starts.

use super::finding::Kind;
use super::scan::Scanner;
use crate::signs::{find, holds};

/// Starts of lines of a stack, behind white space.
const STARTS: &[&str] = &[
    "at ",
    "File \"",
    "Traceback (most recent call last)",
    "在 ",
    "Caused by: org.",
    "... ",
    "goroutine ",
    "→ ",
];

/// Is the line at the scanner's place a frame? Then it goes, with the source line that follows a Python frame.
pub(super) fn line(scanner: &mut Scanner) {
    let line = scanner.at;
    let start = scanner.skip_blanks(line);
    if is_excerpt(scanner, start) {
        let end = scanner.line_end(start);
        let label =
            find(scanner.slice(start, end), ": ").filter(|found| *found < 24).map_or(0, |found| found + 2);
        return scanner.found(Kind::Sql, start + label, end);
    }
    let first = scanner.byte(start);
    if first == b'#' || first.is_ascii_digit() {
        if is_numbered(scanner, start) || is_source(scanner, start) {
            let end = scanner.line_end(start);
            scanner.found(Kind::Stack, start, end);
        }
        return;
    }
    let rest = scanner.rest_bytes(start);
    let Some(sign) = STARTS
        .iter()
        .find(|sign| sign.as_bytes().first() == Some(&first) && rest.starts_with(sign.as_bytes()))
    else {
        return;
    };
    let end = scanner.line_end(start);
    let frame = scanner.slice(start, end);
    let is_frame = match *sign {
        "at " => {
            start > line
                && (frame.contains('(') || holds(frame, ":\\") || holds(frame, ".js:") || frame.contains('/'))
                || holds(frame, ".java:")
        }
        "... " => frame.ends_with(" more"),
        "→ " => frame.chars().nth(2).is_some_and(|letter| letter.is_ascii_digit()),
        _ => true,
    };
    if !is_frame {
        return;
    }
    let mut until = end;
    if *sign == "File \"" && scanner.byte(end) == b'\n' {
        // The source line is indented deeper than its frame.
        let next = scanner.skip_blanks(end + 1);
        let source = scanner.slice(next, scanner.line_end(next));
        let is_source = source.contains('(') && !holds(source, ": ") && !source.starts_with("File ");
        if next > end + 1 + (start - line) || (next > end + 1 && start == line) || is_source {
            until = scanner.line_end(next);
        }
    }
    scanner.found(Kind::Stack, start, until);
}

/// Is the line an excerpt of a statement: `LINE 1: …` in any language, with a caret under it?
fn is_excerpt(scanner: &mut Scanner, start: usize) -> bool {
    if scanner.rest_bytes(start).starts_with(b"LINE ") {
        return true;
    }
    if !scanner.has_caret() {
        return false;
    }
    let end = scanner.line_end(start);
    let under = scanner.skip_blanks(end + 1);
    end > start && under > end + 1 && scanner.byte(under) == b'^'
}

/// Is the line one of source code, numbered, in front of the one that an arrow marks?
fn is_source(scanner: &Scanner, start: usize) -> bool {
    let window = scanner.slice(start, scanner.text.floor_char_boundary(start + 400));
    let digits = window.bytes().take_while(u8::is_ascii_digit).count();
    (1..6).contains(&digits)
        && window.as_bytes().get(digits) == Some(&b' ')
        && window.split('\n').take(5).any(|line| line.starts_with('→'))
}

/// `#0 /path(12): call()`, `0. clickhouse(StackTrace…) [0x…]`, `12: 0x55…`.
fn is_numbered(scanner: &Scanner, start: usize) -> bool {
    let is_php = scanner.byte(start) == b'#';
    let digits = start + usize::from(is_php);
    let mut at = digits;
    while scanner.byte(at).is_ascii_digit() {
        at += 1;
    }
    if at == digits || at > digits + 3 {
        return false;
    }
    let line = scanner.slice(at, scanner.line_end(at).min(at + 4000));
    match scanner.byte(at) {
        b' ' if is_php => line.contains('(') || holds(line, "{main}"),
        b'.' => holds(line, "0x") || holds(line, "::"),
        b':' => holds(line, " 0x") || holds(line, ": from "),
        _ => false,
    }
}
