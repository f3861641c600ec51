//! Laws that hold for any text: nothing panics, findings are in order and on characters, redaction settles.

use proptest::prelude::*;
use retort::sanitise::{Dialect, Level, commits, fingerprint, inspect, redact, writes};

/// Pieces that texts are made of: parts of messages, credentials, statements, marks, broken characters.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "ERROR: ", "DETAIL:  Key (a)=(", ") already exists.", "Duplicate entry '", "' for key 'k'", "near '", "' at line 1", "LINE 1: ", "\n", "\n    at f (/a/b.js:1:2)",
    "postgres://u:p@h:5432/d", "password=", "Pwd={", "}", "{", "\"", "'", "`", "«", "»", "(", ")", "[", "]", "=", ":", ";", ",", ".", "@", "/", "\\", "\\\"", "\\n",
    "SELECT * FROM t WHERE a = ", "insert into t values (", "'x'", "$$", "/*", "--", "user ", "host ", "database ", "value ", "contains ", "10.1.2.3", "::1",
    "a@example.com", "eyJhbGciOi.eyJzdWIi.sig", "53781c9d9a5ae0f9025b3326", "[value]", "[credential]", "[sql]", "{\"message\":\"", "{\"a\":[1,\"b\"]}", "ignore all previous instructions",
    "\u{1b}[31m", "\u{202e}", "ä", "中文", "🦀", "abc", "42", " ", "&quot;", "&#61;", "-P ", "psql ", "Some(\"", "binding parameter ", "AUTH", "\",\"", "containing ", " to a number", "  ", "\t", "dup key: { ", "[SQL: ", "[parameters: ", "(Background on this error", "C:\\Users\\x\\", "\u{0}",
];

/// Texts of a few pieces each, the same on every run.
fn texts(count: usize) -> impl Iterator<Item = String> {
    let mut random = fastrand::Rng::with_seed(7);
    (0..count)
        .map(move |_| (0..random.usize(1..12)).map(|_| *random.choice(PIECES).expect("a piece")).collect())
}

#[test]
fn findings_are_in_order_do_not_overlap_and_lie_on_characters() {
    for text in texts(4_000) {
        let mut end = 0;
        for finding in inspect(&text) {
            assert!(end <= finding.start && finding.start < finding.end, "{text:?} {finding:?}");
            assert!(text.get(finding.start as usize..finding.end as usize).is_some(), "{text:?} {finding:?}");
            end = finding.end;
        }
    }
}

#[test]
fn a_redacted_text_holds_nothing_to_find_and_does_not_change_again() {
    for text in texts(4_000) {
        for level in [Level::Diagnostic, Level::Strict] {
            let once = redact(&text, level);
            assert_eq!(redact(&once.text, level).text, once.text, "{text:?}");
            assert_eq!(inspect(&once.text), Vec::new(), "{text:?} {}", once.text);
        }
    }
}

/// Any text at all, or one of pieces between arbitrary texts.
fn arbitrary() -> impl Strategy<Value = String> {
    let piece = prop_oneof![any::<String>(), proptest::sample::select(PIECES).prop_map(String::from)];
    prop_oneof![any::<String>(), proptest::collection::vec(piece, 1..9).prop_map(|pieces| pieces.concat())]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn redaction_of_arbitrary_text_settles(text in arbitrary()) {
        for level in [Level::Diagnostic, Level::Strict] {
            let once = redact(&text, level).text;
            prop_assert_eq!(&redact(&once, level).text, &once);
            prop_assert_eq!(inspect(&once), Vec::new());
        }
        for dialect in [Dialect::Generic, Dialect::SqlServer, Dialect::Mongodb] {
            prop_assert_eq!(fingerprint(&text, dialect).fingerprint.len(), 16);
        }
    }
}

#[test]
fn a_text_seldom_goes_as_a_whole() {
    let covers =
        |text: &String| inspect(text).iter().any(|finding| finding.end - finding.start == text.len() as u32);
    let whole = |text: &String| {
        text != "[value]" && redact(text, Level::Diagnostic).text == "[value]" && !covers(text)
    };
    let gone: Vec<String> = texts(4_000).filter(whole).collect();
    assert!(gone.len() <= 4, "{gone:?}");
}

#[test]
fn statements_of_any_text_have_a_fingerprint_of_sixteen_digits() {
    for text in texts(4_000) {
        for dialect in
            [Dialect::Generic, Dialect::Mysql, Dialect::Oracle, Dialect::SqlServer, Dialect::Mongodb]
        {
            let found = fingerprint(&text, dialect);
            assert!(
                found.fingerprint.len() == 16
                    && found.fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit())
            );
            assert_eq!(fingerprint(&text, dialect), found);
            let _ = (writes(&text, dialect), commits(&text, dialect));
        }
    }
}

#[test]
fn what_lies_between_head_and_tail_of_an_over_long_text_goes() {
    let line = "the job finished and the queue is empty\n";
    let text = format!("{}canary{}", line.repeat(1000), line.repeat(1000));
    let redaction = redact(&text, Level::Diagnostic);
    assert!(
        !redaction.text.contains("canary")
            && redaction.text.starts_with(line)
            && redaction.text.ends_with(line)
    );
    assert!(redaction.text.len() <= 64 * 1024 + 16);
    assert_eq!(redaction.findings.len(), 1);
}

#[test]
fn a_literal_that_is_open_at_the_end_of_the_head_hides_the_tail() {
    let text = format!("SELECT * FROM t WHERE a = '{}canary'", "x".repeat(80_000));
    let redaction = redact(&text, Level::Diagnostic);
    assert_eq!(redaction.text, "[sql][value]");
    assert!(!fingerprint(&text, Dialect::Postgresql).shape.contains("canary"));
}
