//! Text → report. Reading never fails: see [`crate::report`] for what the fields become.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::hash::Hash;
use crate::json::{self, Json};
use crate::report::{Attempt, Context, Operation, Policy, Report, Token, Violation};
use crate::words::{Cancel, Dedupe, Effect, Origin, Phase, Prior, Receipt, Replays, Transaction, Unit};

/// Reports above this many bytes lose their `error`.
pub const LONGEST_REPORT: usize = 1 << 20;

/// The most findings of an argument check that are kept.
pub const MOST_VIOLATIONS: usize = 32;

impl<'a> Report<'a> {
    /// Reads a report. What cannot be read is judged as a sent write, with the members that were whole before the fault.
    pub fn read(text: &'a str) -> Report<'a> {
        let json = (text.len() <= LONGEST_REPORT).then(|| Json::read(text).ok()).flatten();
        json.map_or_else(|| Report::salvage(text), Report::of)
    }

    /// Reads several reports: the items of an array. What is not an array, or breaks off, ends with an unreadable report.
    pub fn read_many(text: &'a str) -> Vec<Report<'a>> {
        if text.len() <= LONGEST_REPORT
            && let Ok(Json::List(items)) = Json::read(text)
        {
            return items.into_iter().map(Report::of).collect();
        }
        let (items, is_whole) = json::parts(text, '[', ']');
        let end = (!is_whole).then(Report::unreadable);
        items.into_iter().map(Report::read).chain(end).collect()
    }

    /// The report that a value is. The last of repeated members counts.
    fn of(json: Json<'a>) -> Report<'a> {
        let Json::Object(members) = json else { return Report::unreadable() };
        let mut report = Report::default();
        for (name, value) in members {
            report.take(&name, value);
        }
        report
    }

    fn unreadable() -> Report<'a> {
        Report { is_unreadable: true, ..Report::default() }
    }

    /// What can be had of a text that is too long, too deeply nested, or not whole: the members before a fault. An `error`
    /// that cannot be read is lost.
    fn salvage(text: &'a str) -> Report<'a> {
        let (members, is_whole) = json::parts(text, '{', '}');
        let mut report = Report { is_unreadable: !is_whole, ..Report::default() };
        for part in members {
            match read_member(part, text.len() > LONGEST_REPORT) {
                Some((name, value)) => report.take(&name, value),
                None => return Report { is_unreadable: true, ..report },
            }
        }
        report
    }

    /// Takes in one member.
    fn take(&mut self, name: &str, value: Json<'a>) {
        match name {
            "error" => self.error = Some(value).filter(|value| *value != Json::Null),
            "system" => self.system = into_text(value),
            "driver" => self.driver = into_text(value),
            "operation" => self.operation = Operation::read(value),
            "attempt" => self.attempt = Attempt::read(&value),
            "cancel" => self.cancel = Cancel::reading(word(Some(&value))),
            "violations" => {
                self.violations = value.items().iter().take(MOST_VIOLATIONS).map(Violation::read).collect()
            }
            "context" => self.context = Context::read(&value),
            "policy" => self.policy = Policy::read(&value),
            "seed" => self.seed = seed(&value),
            _ => {}
        }
    }
}

impl<'a> Operation<'a> {
    /// Reads the member `operation`.
    fn read(value: Json<'a>) -> Operation<'a> {
        let key = value.get("operation_key").filter(|key| **key != Json::Null);
        let operation_key = key.and_then(Json::as_text).and_then(Token::key);
        let mut operation = Operation {
            effect: Effect::reading(word(value.get("effect"))),
            phase: Phase::reading(word(value.get("phase"))),
            transaction: Transaction::reading(word(value.get("transaction"))),
            unit: Unit::reading(word(value.get("unit"))),
            steps_done: number(value.get("steps_done"), u32::MAX).unwrap_or(0),
            origin: Origin::reading(word(value.get("origin"))),
            has_invalid_key: key.is_some() && operation_key.is_none(),
            operation_key,
            dedupe: Dedupe::reading(word(value.get("dedupe"))),
            key_expires_ms: number(value.get("key_expires_ms"), 0),
            receipt: Receipt::reading(word(value.get("receipt"))),
            fenced: value.get("fenced").and_then(Json::as_bool) == Some(true),
            replays: Replays::reading(word(value.get("replays"))),
            key_constraint: None,
            statement: None,
            op_index: number(value.get("op_index"), u32::MAX).filter(|index| *index < u32::MAX),
        };
        if let Json::Object(members) = value {
            for (name, value) in members {
                match &*name {
                    "key_constraint" => operation.key_constraint = into_text(value),
                    "statement" => operation.statement = into_text(value),
                    _ => {}
                }
            }
        }
        operation
    }
}

impl Attempt {
    /// Reads the member `attempt`. A number that is none leaves no attempt, no time and no token.
    fn read(value: &Json<'_>) -> Attempt {
        Attempt {
            number: number(value.get("number"), u32::MAX).unwrap_or(1).max(1),
            max: number(value.get("max"), 0),
            elapsed_ms: number(value.get("elapsed_ms"), u32::MAX),
            deadline_ms: number(value.get("deadline_ms"), 0),
            expected_ms: number(value.get("expected_ms"), u32::MAX),
            server_retry_after_ms: number(value.get("server_retry_after_ms"), 0),
            tokens: number(value.get("tokens"), 0),
            prior: Prior::reading(word(value.get("prior"))),
        }
    }
}

impl Violation {
    /// Reads an item of `violations` or `arguments`.
    pub(crate) fn read(value: &Json<'_>) -> Violation {
        let token = |name: &str| value.get(name).and_then(Json::as_text).and_then(Token::argument);
        Violation { argument: token("argument"), rule: token("rule") }
    }
}

impl Context {
    /// Reads the member `context`.
    pub(crate) fn read(value: &Json<'_>) -> Context {
        let text = |name: &str| value.get(name).and_then(Json::as_text);
        let token = |name: &str| text(name).and_then(Token::identifier);
        Context {
            trace_id: token("trace_id").or_else(|| text("traceparent").and_then(Token::trace_id)),
            operation_id: token("operation_id"),
            attempt_id: token("attempt_id"),
            tool: token("tool"),
            tool_version: token("tool_version"),
            policy_version: token("policy_version"),
            boundary: token("boundary"),
            reference: token("reference"),
            authorized: value.get("authorized").and_then(Json::as_bool) == Some(true),
        }
    }
}

impl Token {
    /// The trace id of a W3C traceparent: `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`, not all zero.
    pub fn trace_id(traceparent: &str) -> Option<Token> {
        let mut parts = traceparent.split('-');
        let (_, trace_id) = (parts.next().filter(|version| version.len() == 2)?, parts.next()?);
        let is_hex = trace_id.len() == 32 && trace_id.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_hex && trace_id.bytes().any(|byte| byte != b'0')).then_some(())?;
        Token::identifier(trace_id)
    }
}

impl Policy {
    /// Reads the member `policy`.
    pub(crate) fn read(value: &Json<'_>) -> Policy {
        let default = Policy::default();
        let conceal = value.get("conceal_conflicts").filter(|conceal| **conceal != Json::Null);
        Policy {
            base_ms: number(value.get("base_ms"), default.cap_ms).unwrap_or(default.base_ms),
            cap_ms: number(value.get("cap_ms"), default.cap_ms).unwrap_or(default.cap_ms),
            max_attempts: number(value.get("max_attempts"), 0).unwrap_or(default.max_attempts),
            capacity: number(value.get("capacity"), 0).unwrap_or(default.capacity),
            conceal_conflicts: conceal.is_some_and(|conceal| conceal.as_bool() != Some(false)),
        }
    }
}

/// The text of a word's field. What is no text is an unknown word, `null` an absent one.
fn word<'v>(value: Option<&'v Json<'_>>) -> Option<&'v str> {
    match value? {
        Json::Null => None,
        value => Some(value.as_text().unwrap_or("")),
    }
}

/// A number of milliseconds or of things, brought into range. What is no number gives the cautious value.
fn number(value: Option<&Json<'_>>, cautious: u32) -> Option<u32> {
    match value? {
        Json::Null => None,
        Json::Whole(number) => Some(u32::try_from((*number).max(0)).unwrap_or(u32::MAX)),
        // Casting saturates, and NaN, which JSON cannot spell, would be 0.
        Json::Real(number) => Some(*number as u32),
        _ => Some(cautious),
    }
}

/// Any value serves as a seed; whole numbers that fit are taken as they are.
fn seed(value: &Json<'_>) -> u32 {
    let fold = |bits: u64| (bits ^ (bits >> 32)) as u32;
    match value {
        Json::Whole(number) => fold(*number as u64),
        // In single precision, since readers of JSON differ in a number's last bit.
        Json::Real(number) => (*number as f32).to_bits(),
        Json::Text(text) => fold(Hash::new().text(text).finish()),
        _ => 0,
    }
}

/// The text of a value that is one.
fn into_text<'a>(value: Json<'a>) -> Option<Cow<'a, str>> {
    match value {
        Json::Text(text) => Some(text),
        _ => None,
    }
}

/// A member's name and value.
fn read_member(part: &str, is_too_long: bool) -> Option<(Cow<'_, str>, Json<'_>)> {
    let (name, value) = json::member(part)?;
    let Ok(Json::Text(name)) = Json::read(name) else { return None };
    // What is lost was an error all the same: one that says nothing.
    let lost = Json::Text(Cow::Borrowed(""));
    let value = match name == "error" {
        true if is_too_long => lost,
        true => Json::read(value).unwrap_or(lost),
        false => Json::read(value).ok()?,
    };
    Some((name, value))
}
