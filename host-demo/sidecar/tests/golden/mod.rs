//! The golden lines, as they are replayed over HTTP.

const VERDICTS: &str = include_str!("../../../../tests/corpus/golden.jsonl");
const CALLS: &str = include_str!("../../../../tests/corpus/golden-calls.jsonl");

/// Every report and its verdict, in their own spelling.
pub fn verdicts() -> impl Iterator<Item = (&'static str, &'static str)> {
    assert!(VERDICTS.lines().count() > 100);
    VERDICTS.lines().map(|line| {
        let report = line.find(r#","report":"#).expect("a report");
        let verdict = line.rfind(r#","verdict":{"envelope":"#).expect("a verdict");
        (
            &line[report + r#","report":"#.len()..verdict],
            &line[verdict + r#","verdict":"#.len()..line.len() - 1],
        )
    })
}

/// Calls of the other functions.
pub fn calls() -> impl Iterator<Item = serde_json::Value> {
    CALLS.lines().map(|line| serde_json::from_str(line).expect("JSON"))
}
