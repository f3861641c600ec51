//! Decision → envelope: constant text by code.
//!
//! An [`Envelope`] can only be made here, and nothing here can see evidence: what goes in are enums, numbers and
//! [`Token`]s, the host's own short texts that were checked by charset and length.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::codes::Code;
use crate::decide::Decision;
use crate::hash::Hash;
use crate::json::Json;
use crate::judge::Judgement;
use crate::report::{Context, Token, Violation};
use crate::words::{Category, Effect, Next, Outcome};

/// The public error, as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    code: Code,
    category: Category,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u32>,
    outcome: Outcome,
    trace_id: String,
    message: &'static str,
    next: Next,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    operation_key: Option<Token>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check_after_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    op_index: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<Argument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    reference: Option<Token>,
}

/// An argument that breaks a rule.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Argument {
    /// The argument's published name.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub argument: Token,
    /// The rule it breaks, as a JSON Schema keyword; empty where the host gave none that is a word.
    pub rule: String,
}

/// What of a report may be published. Its error, statement and names are not in here.
#[derive(Clone, Copy, Debug)]
pub struct Publishable<'a> {
    /// Identifiers and reference.
    pub context: &'a Context,
    /// The operation key.
    pub operation_key: Option<&'a Token>,
    /// The failed operation of a batch.
    pub op_index: Option<u32>,
    /// The host's own argument check.
    pub violations: &'a [Violation],
    /// The host's random number, for a trace id where the host minted none.
    pub seed: u32,
}

/// Publishes a decision.
pub fn publish(judgement: &Judgement, decision: &Decision, publishable: &Publishable<'_>) -> Envelope {
    let Publishable { context, operation_key, op_index, violations, seed } = *publishable;
    let is_open = !judgement.is_concealed;
    let is_write = judgement.effect != Effect::Read;
    let is_fault_of_arguments = matches!(decision.category, Category::Validation | Category::Clarification);
    Envelope {
        code: decision.code,
        category: decision.category,
        retryable: decision.retryable,
        retry_after_ms: decision.delay_ms.filter(|_| decision.retryable),
        outcome: if is_open { judgement.outcome } else { Outcome::NotCommitted },
        trace_id: trace_id(context, seed),
        message: decision.code.message(),
        next: decision.action,
        operation_key: operation_key.filter(|_| is_open && is_write).cloned(),
        check_after_ms: decision.delay_ms.filter(|_| decision.action == Next::Reconcile),
        op_index: op_index.filter(|_| is_open),
        arguments: if is_open && is_fault_of_arguments { arguments(violations) } else { Vec::new() },
        reference: context.reference.as_ref().filter(|_| is_open).cloned(),
    }
}

impl Envelope {
    /// Reads an envelope back that was published before. Every text in it is made anew from its code or checked like a
    /// host's; `None` where it is no envelope.
    pub fn read(json: &Json<'_>) -> Option<Envelope> {
        let text = |name: &str| json.get(name).and_then(Json::as_text);
        let number = |name: &str| {
            json.get(name).and_then(Json::as_whole).and_then(|number| u32::try_from(number).ok())
        };
        let code = Code::parse(text("code")?)?;
        let arguments = json.get("arguments").map_or(&[][..], Json::items).iter();
        let violations: Vec<Violation> = arguments.map(Violation::read).collect();
        Some(Envelope {
            code,
            category: Category::parse(text("category")?)?,
            retryable: json.get("retryable").and_then(Json::as_bool)?,
            retry_after_ms: number("retry_after_ms"),
            outcome: Outcome::parse(text("outcome")?)?,
            trace_id: String::from(Token::identifier(text("trace_id")?)?.as_str()),
            message: code.message(),
            next: Next::parse(text("next")?)?,
            operation_key: text("operation_key").and_then(Token::key),
            check_after_ms: number("check_after_ms"),
            op_index: number("op_index"),
            arguments: self::arguments(&violations),
            reference: text("reference").and_then(Token::identifier),
        })
    }

    /// The public code.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The category.
    pub const fn category(&self) -> Category {
        self.category
    }

    /// May the same call be made again?
    pub const fn retryable(&self) -> bool {
        self.retryable
    }

    /// Not before this many milliseconds.
    pub const fn retry_after_ms(&self) -> Option<u32> {
        self.retry_after_ms
    }

    /// What happened to the write.
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The trace id.
    pub fn trace_id(&self) -> &str {
        &self.trace_id
    }

    /// The code's constant text.
    pub const fn message(&self) -> &'static str {
        self.message
    }

    /// The next step.
    pub const fn next(&self) -> Next {
        self.next
    }

    /// The operation key.
    pub fn operation_key(&self) -> Option<&str> {
        self.operation_key.as_ref().map(Token::as_str)
    }

    /// Look the key up after this many milliseconds.
    pub const fn check_after_ms(&self) -> Option<u32> {
        self.check_after_ms
    }

    /// The failed operation of a batch, counted from 0.
    pub const fn op_index(&self) -> Option<u32> {
        self.op_index
    }

    /// The arguments that break a rule.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// The host's reference for people.
    pub fn reference(&self) -> Option<&str> {
        self.reference.as_ref().map(Token::as_str)
    }
}

/// The host's trace id, or one made of seed, operation and attempt.
fn trace_id(context: &Context, seed: u32) -> String {
    if let Some(trace_id) = &context.trace_id {
        return String::from(trace_id.as_str());
    }
    let name =
        |token: &Option<Token>| token.as_ref().map_or(String::new(), |token| String::from(token.as_str()));
    let hash = Hash::new().number(seed).text(&name(&context.operation_id)).text(&name(&context.attempt_id));
    format!("{:016x}{:016x}", hash.finish(), hash.byte(1).finish())
}

/// The violations whose argument is a name.
fn arguments(violations: &[Violation]) -> Vec<Argument> {
    let argument = |violation: &Violation| {
        let rule = violation.rule.as_ref().map_or(String::new(), |rule| String::from(rule.as_str()));
        Some(Argument { argument: violation.argument.clone()?, rule })
    };
    violations.iter().filter_map(argument).collect()
}
