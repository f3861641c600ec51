//! The report as it is read: the host's words about one error, every field optional but `error`.
//!
//! Reading never fails. What is missing gets its default, what has the wrong type or an unknown word gets the
//! cautious reading, and what comes from `context` is checked by charset and length before it is kept.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use crate::json::Json;
use crate::words::{Cancel, Dedupe, Effect, Origin, Phase, Prior, Receipt, Replays, Transaction, Unit};

/// One error with all that the host knows of its operation.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(default))]
pub struct Report<'a> {
    /// The driver's error as it is. `None`: absent, over-long, or nested too deeply.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::anything"))]
    pub error: Option<Json<'a>>,
    /// The host's word for the database system.
    pub system: Option<Cow<'a, str>>,
    /// The host's word for the driver.
    pub driver: Option<Cow<'a, str>>,
    /// What was being done.
    pub operation: Operation<'a>,
    /// Which try this was.
    pub attempt: Attempt,
    /// Was the statement cancelled?
    pub cancel: Cancel,
    /// The host's own argument check.
    pub violations: Vec<Violation>,
    /// Who asked, and under which identifiers.
    pub context: Context,
    /// The numbers that backoff works with.
    pub policy: Policy,
    /// A random number of the host's.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::anything"))]
    pub seed: u32,
    /// Could the report not be read? Then only what had been read before the fault is here.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub is_unreadable: bool,
}

/// What was being done.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(default))]
pub struct Operation<'a> {
    /// What it does to the data.
    pub effect: Effect,
    /// How far it had got.
    pub phase: Phase,
    /// The transaction around it.
    pub transaction: Transaction,
    /// What one unit of it is.
    pub unit: Unit,
    /// Statements of this operation already applied in autocommit.
    pub steps_done: u32,
    /// Who wrote the statement.
    pub origin: Origin,
    /// The operation key (1 to 256 visible ASCII characters), where it is valid.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::key"))]
    pub operation_key: Option<Token>,
    /// Was there an operation key that is not valid?
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub has_invalid_key: bool,
    /// What happens when the key arrives twice.
    pub dedupe: Dedupe,
    /// Milliseconds until the key expires. `None`: it does not.
    pub key_expires_ms: Option<u32>,
    /// What a look-up of the receipt said after this attempt; a later attempt needs a new one.
    pub receipt: Receipt,
    /// Can no attempt so far commit any more (session killed, lease expired, key fenced)?
    pub fenced: bool,
    /// May the driver have repeated the request by itself?
    pub replays: Replays,
    /// The receipt table's or the operation key's own unique constraint. Restricted.
    pub key_constraint: Option<Cow<'a, str>>,
    /// The statement. Restricted: fingerprinted, never published.
    pub statement: Option<Cow<'a, str>>,
    /// The operation of a batch that failed, counted from 0.
    pub op_index: Option<u32>,
}

/// Which try this was.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(default))]
pub struct Attempt {
    /// Counted from 1.
    pub number: u32,
    /// The most attempts; `None`: the policy's.
    pub max: Option<u32>,
    /// Milliseconds since the operation's start.
    pub elapsed_ms: Option<u32>,
    /// The whole budget in milliseconds from the operation's start.
    pub deadline_ms: Option<u32>,
    /// How long one attempt usually takes, in milliseconds.
    pub expected_ms: Option<u32>,
    /// The server's own wait, in milliseconds.
    pub server_retry_after_ms: Option<u32>,
    /// Retry tokens left; `None`: no budget is kept.
    pub tokens: Option<u32>,
    /// The joined outcome of earlier attempts.
    pub prior: Prior,
}

impl Default for Attempt {
    fn default() -> Attempt {
        Attempt {
            number: 1,
            max: None,
            elapsed_ms: None,
            deadline_ms: None,
            expected_ms: None,
            server_retry_after_ms: None,
            tokens: None,
            prior: Prior::default(),
        }
    }
}

/// A finding of the host's own argument check.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Violation {
    /// The argument's published name, where it is a name.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::argument"))]
    pub argument: Option<Token>,
    /// The rule it breaks: a JSON Schema keyword such as `maximum`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::argument"))]
    pub rule: Option<Token>,
}

/// Who asked, and under which identifiers: the host's word, never the model's.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(default))]
pub struct Context {
    /// The trace id, from `trace_id` or `traceparent`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::identifier"))]
    pub trace_id: Option<Token>,
    /// The operation's id.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::identifier"))]
    pub operation_id: Option<Token>,
    /// The attempt's id.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::identifier"))]
    pub attempt_id: Option<Token>,
    /// The tool's name.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::identifier"))]
    pub tool: Option<Token>,
    /// The tool's version.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::identifier"))]
    pub tool_version: Option<Token>,
    /// The policy's version.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::identifier"))]
    pub policy_version: Option<Token>,
    /// Where the error was caught.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::identifier"))]
    pub boundary: Option<Token>,
    /// A reference for people: a policy, a ticket.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::identifier"))]
    pub reference: Option<Token>,
    /// May the caller know whether objects exist?
    pub authorized: bool,
}

/// The numbers that backoff works with.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(default))]
pub struct Policy {
    /// The first delay's base, in milliseconds.
    pub base_ms: u32,
    /// The longest delay of our own, in milliseconds.
    pub cap_ms: u32,
    /// The most attempts of one operation.
    pub max_attempts: u32,
    /// The retry budget's capacity, in tokens.
    pub capacity: u32,
    /// Fold unique, foreign key and exclusion violations into `STATE_CONFLICT`?
    pub conceal_conflicts: bool,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { base_ms: 100, cap_ms: 20_000, max_attempts: 3, capacity: 500, conceal_conflicts: false }
    }
}

/// A short text of the host's, checked by charset and length: the only text of a report that may be published.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Token(String);

impl Token {
    /// An operation key: 1 to 256 visible ASCII characters.
    pub fn key(text: &str) -> Option<Token> {
        Token::checked(text, 256, |byte| byte.is_ascii_graphic())
    }

    /// An identifier, version, name or reference: 1 to 128 letters, digits and `. _ : / @ + # -`.
    pub fn identifier(text: &str) -> Option<Token> {
        Token::checked(text, 128, |byte| byte.is_ascii_alphanumeric() || b"._:/@+#-".contains(&byte))
    }

    /// An argument's name or a rule's: 1 to 64 letters, digits and `_ . [ ] $ -`.
    pub fn argument(text: &str) -> Option<Token> {
        Token::checked(text, 64, |byte| byte.is_ascii_alphanumeric() || b"_.[]$-".contains(&byte))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn checked(text: &str, most: usize, allows: impl Fn(u8) -> bool) -> Option<Token> {
        ((1..=most).contains(&text.len()) && text.bytes().all(allows)).then(|| Token(String::from(text)))
    }
}

impl serde::Serialize for Token {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
