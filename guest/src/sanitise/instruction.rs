//! Text that addresses a model instead of a reader.

use super::finding::Kind;
use super::scan::{Scanner, mark_length};
use crate::letters::is_letter;

/// Markup of prompts and tool calls; compared without case.
const MARKUP: &[&str] = &[
    "</tool",
    "<tool_",
    "</system",
    "<system",
    "</assistant",
    "<assistant",
    "</user>",
    "<user>",
    "</function",
    "<function_calls",
    "<|im_start|>",
    "<|im_end|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<<sys>>",
    "[inst]",
    "[/inst]",
    "<important>",
    "</instructions",
    "<instructions",
    "</context>",
    "<invoke",
    "</invoke",
    "</result",
    "<thinking",
    "[system]",
    "[assistant]",
];

/// Sentences by their first word: one of the second list must follow within the next words, and, if any, one of the third.
const SENTENCES: &[Sentence] = &[
    (
        "ignore",
        &[
            "previous",
            "prior",
            "above",
            "earlier",
            "preceding",
            "all",
            "any",
            "the",
            "your",
            "my",
            "these",
            "those",
            "system",
        ],
        ORDERS,
    ),
    (
        "disregard",
        &["previous", "prior", "above", "earlier", "preceding", "all", "any", "the", "your"],
        ORDERS,
    ),
    ("forget", &["previous", "prior", "above", "earlier", "all", "everything", "your"], ORDERS),
    ("override", &["previous", "prior", "your", "the", "system", "all"], ORDERS),
    (
        "previous",
        ORDERS,
        &["void", "invalid", "ignored", "obsolete", "cancelled", "overridden", "superseded"],
    ),
    ("assistant", &["must", "should", "shall", "will", "please", "now"], &[]),
    (
        "you",
        &["must", "are", "should"],
        &["now", "assistant", "model", "tool", "call", "jailbroken", "unrestricted"],
    ),
    ("tell", &["user"], &["that", "it", "to"]),
    ("reveal", &["your", "the"], &["prompt", "instructions", "secret", "secrets", "password", "credentials"]),
];

/// The first word of a sentence, and the words after it.
type Sentence = (&'static str, &'static [&'static str], &'static [&'static str]);

/// What such sentences want ignored.
const ORDERS: &[&str] = &[
    "instruction",
    "instructions",
    "prompt",
    "prompts",
    "rules",
    "rule",
    "policy",
    "policies",
    "guidelines",
    "directions",
    "commands",
    "context",
    "messages",
];

/// Roles that a forged turn of a conversation starts with.
const ROLES: &[&str] = &["SYSTEM", "System", "ASSISTANT", "Assistant"];

/// How many words of a sentence are looked at.
const WORDS: usize = 9;

/// Markup at the scanner's place? Then everything from it on goes: nobody knows where its effect ends.
pub(super) fn markup(scanner: &mut Scanner) {
    let start = scanner.at.min(scanner.bytes.len());
    let start = if scanner.byte(start) == b'<' { start } else { start.saturating_sub(1) };
    if mark_length(scanner.rest(start)).is_some() {
        return;
    }
    let rest = scanner.rest_bytes(start);
    let is_markup = MARKUP
        .iter()
        .any(|sign| rest.get(..sign.len()).is_some_and(|head| head.eq_ignore_ascii_case(sign.as_bytes())));
    if is_markup {
        scanner.found(Kind::Instruction, start, scanner.bytes.len());
    }
}

/// A sentence to a model that starts with the word at `start..end`? Then everything from it on goes.
pub(super) fn sentence(scanner: &mut Scanner, start: usize, end: usize) -> bool {
    let word = scanner.slice(start, end);
    let is_role = ROLES.contains(&word)
        && scanner.byte(end) == b':'
        && scanner.byte(end + 1) == b' '
        && starts_sentence(scanner, start);
    let is_first = |(first, ..): &&Sentence| first.eq_ignore_ascii_case(word);
    let is_sentence = SENTENCES.iter().find(is_first).is_some_and(|(_, second, third)| {
        let window = scanner.slice(end, scanner.text.floor_char_boundary(end + 120));
        let words = window.split(|letter: char| !is_letter(letter)).filter(|word| !word.is_empty());
        let has = |wanted: &[&str], reach: usize| {
            words.clone().take(reach).any(|word| wanted.iter().any(|known| known.eq_ignore_ascii_case(word)))
        };
        has(second, if third.is_empty() { 1 } else { 4 }) && (third.is_empty() || has(third, WORDS))
    });
    if is_role || is_sentence {
        scanner.found(Kind::Instruction, start, scanner.bytes.len());
    }
    is_role || is_sentence
}

/// Does a sentence start here?
fn starts_sentence(scanner: &Scanner, start: usize) -> bool {
    let before = scanner.slice(0, start).trim_end_matches(' ');
    before.is_empty()
        || before.ends_with(['.', '\n', '>', '!', '?', ':', ';', '"'])
        || before.ends_with("###")
}
