//! The laws of the contract, as far as one verdict shows them.

use retort::codes::{Code, Proof};
use retort::report::Report;
use retort::words::{
    Category, Cleanup, Dedupe, Effect, Next, Outcome, Phase, Prior, Reason, Receipt, Scope, Transaction,
};
use serde_json::Value;

/// The members of an envelope, in the order of the contract, and whether each is always there.
const ENVELOPE: &[(&str, bool)] = &[
    ("code", true),
    ("category", true),
    ("retryable", true),
    ("retry_after_ms", false),
    ("outcome", true),
    ("trace_id", true),
    ("message", true),
    ("next", true),
    ("operation_key", false),
    ("check_after_ms", false),
    ("op_index", false),
    ("arguments", false),
    ("reference", false),
];

/// The members of a decision.
const DECISION: &[(&str, bool)] = &[
    ("action", true),
    ("delay_ms", false),
    ("scope", true),
    ("cleanup", true),
    ("reason", true),
    ("attempts_left", true),
    ("tokens_left", false),
];

/// The members of an attempt record.
const ATTEMPT: &[(&str, bool)] = &[
    ("error.type", true),
    ("db.system.name", true),
    ("db.response.status_code", true),
    ("gen_ai.tool.name", false),
    ("retort.operation.id", false),
    ("retort.attempt.id", false),
    ("retort.attempt.number", true),
    ("retort.category", true),
    ("retort.outcome", true),
    ("retort.retryable", true),
    ("retort.retry_delay_ms", false),
    ("retort.next", true),
    ("retort.tool.version", false),
    ("retort.policy.version", false),
    ("retort.boundary", false),
    ("retort.final", true),
];

/// The laws that a verdict breaks; none where all hold.
pub fn broken(report: &Report, verdict: &Value) -> Vec<String> {
    let envelope = &verdict["envelope"];
    let (Some(code), Some(category), Some(outcome), Some(next)) = (
        envelope["code"].as_str().and_then(Code::parse),
        envelope["category"].as_str().and_then(Category::parse),
        envelope["outcome"].as_str().and_then(Outcome::parse),
        envelope["next"].as_str().and_then(Next::parse),
    ) else {
        return vec![format!("law 9: a word outside the contract in {envelope}")];
    };
    let seen = Seen { report, verdict, code, category, outcome, next };
    [
        seen.shape(),
        seen.safe_retry(),
        seen.never_guess_up(),
        seen.no_hint(),
        seen.never_forget(),
        seen.agrees(),
    ]
    .into_iter()
    .flatten()
    .map(|law| format!("{law}: {envelope} {}", verdict["decision"]))
    .collect()
}

struct Seen<'a> {
    report: &'a Report<'a>,
    verdict: &'a Value,
    code: Code,
    category: Category,
    outcome: Outcome,
    next: Next,
}

impl Seen<'_> {
    fn envelope(&self, name: &str) -> Option<&Value> {
        self.verdict["envelope"].get(name)
    }

    fn retryable(&self) -> bool {
        self.verdict["envelope"]["retryable"] == Value::Bool(true)
    }

    /// A read, unless its statement may write: then the verdict says which it was taken for.
    fn may_write(&self) -> bool {
        self.report.operation.effect != Effect::Read || self.report.operation.statement.is_some()
    }

    fn surely_writes(&self) -> bool {
        self.report.operation.effect != Effect::Read
    }

    fn has_enforced_key(&self) -> bool {
        let operation = &self.report.operation;
        operation.dedupe == Dedupe::Enforced
            && operation.operation_key.is_some()
            && operation.key_expires_ms != Some(0)
    }

    /// Laws 1 and 9: every member, in order, with closed words and the code's constant text.
    fn shape(&self) -> Option<&'static str> {
        let decision = &self.verdict["decision"];
        let word = |name: &str| decision[name].as_str();
        let in_order = is_shaped(&self.verdict["envelope"], ENVELOPE)
            && is_shaped(decision, DECISION)
            && is_shaped(&self.verdict["attempt"], ATTEMPT)
            && self.verdict["diagnostic"].is_object();
        let closed = word("action").and_then(Next::parse).is_some()
            && word("scope").and_then(Scope::parse).is_some()
            && word("cleanup").and_then(Cleanup::parse).is_some()
            && word("reason").and_then(Reason::parse).is_some();
        let constant = self.envelope("message").and_then(Value::as_str) == Some(self.code.message());
        let traced = self.envelope("trace_id").and_then(Value::as_str).is_some_and(|id| !id.is_empty());
        (!(in_order && closed && constant && traced)).then_some("law 9: the verdict's shape")
    }

    fn safe_retry(&self) -> Option<&'static str> {
        let repeatable = self.report.operation.effect != Effect::Write || self.has_enforced_key();
        let unknown = self.outcome == Outcome::Unknown;
        let retries = matches!(self.next, Next::Retry | Next::Resubmit);
        let rules = [
            (!self.retryable() || self.outcome.is_without_effect() || repeatable, "law 3: an unsafe retry"),
            (self.envelope("retry_after_ms").is_some() == self.retryable(), "law 3: a delay without a retry"),
            (
                self.envelope("check_after_ms").is_some() == (self.next == Next::Reconcile),
                "law 3: a look-up time without a look-up",
            ),
            (
                !unknown || self.retryable() || self.category == Category::UnknownOutcome,
                "law 3: unknown, but of another category",
            ),
            (retries == self.retryable(), "law 3: next is not the retry's"),
            (!self.retryable() || self.category == Category::Transient, "a retry of what does not pass"),
            ((self.next == Next::Done) == (self.outcome == Outcome::Committed), "done, but not committed"),
        ];
        rules.into_iter().find_map(|(holds, law)| (!holds).then_some(law))
    }

    fn never_guess_up(&self) -> Option<&'static str> {
        let diagnostic = &self.verdict["diagnostic"];
        let unrecognised = diagnostic["rule"] == "none" || diagnostic["proof"] == Proof::Nothing.as_str();
        (unrecognised && self.retryable()).then_some("law 4: an unrecognised error is retryable")
    }

    fn no_hint(&self) -> Option<&'static str> {
        let operation = &self.report.operation;
        let hidden = !self.report.context.authorized
            && matches!(self.code, Code::NotAuthorized | Code::NotFound | Code::UnknownObject);
        let further =
            ["operation_key", "check_after_ms", "op_index", "arguments", "reference", "retry_after_ms"];
        let bare = self.code == Code::NotAuthorized
            && self.outcome == Outcome::NotCommitted
            && self.next == Next::Escalate
            && further.iter().all(|name| self.envelope(name).is_none());
        let conflict = self.report.policy.conceal_conflicts
            && matches!(self.code, Code::UniqueViolation | Code::FkViolation | Code::ExclusionViolation);
        match (hidden && !bare, conflict) {
            (true, _) => Some("law 5: a hint on permission or existence"),
            (_, true) => Some("law 5: a hint on a concealed conflict"),
            _ if operation.has_invalid_key && self.envelope("operation_key").is_some() => {
                Some("an invalid operation key is published")
            }
            _ => None,
        }
    }

    fn never_forget(&self) -> Option<&'static str> {
        let operation = &self.report.operation;
        let prior = self.report.attempt.prior;
        let fenced = operation.receipt == Receipt::Absent && operation.fenced;
        let sent = !operation.phase.is_before_sending();
        let ended = operation.phase == Phase::Done || operation.transaction == Transaction::Committed;
        let writes = self.surely_writes() && !self.report.is_unreadable;
        let rules = [
            (
                !(writes && prior == Prior::Committed) || self.outcome == Outcome::Committed,
                "law 8: a commit is forgotten",
            ),
            (
                !(writes && prior == Prior::Unknown && self.outcome.is_without_effect())
                    || fenced
                    || self.has_enforced_key(),
                "law 8: a doubt is forgotten",
            ),
            (
                !(writes && operation.receipt == Receipt::Committed) || self.outcome == Outcome::Committed,
                "law 8: a receipt is forgotten",
            ),
            (
                !(writes && sent && ended && self.outcome.is_without_effect())
                    || fenced
                    || self.verdict["diagnostic"]["proof"] == Proof::SaysNotCommitted.as_str(),
                "a confirmed COMMIT is forgotten",
            ),
            (self.may_write() || self.outcome.is_without_effect(), "a read had an effect"),
        ];
        rules.into_iter().find_map(|(holds, law)| (!holds).then_some(law))
    }

    /// Envelope, decision, diagnostic and attempt record tell the same.
    fn agrees(&self) -> Option<&'static str> {
        let Value::Object(attempt) = &self.verdict["attempt"] else { return Some("no attempt record") };
        let decision = &self.verdict["decision"];
        let same = self.envelope("code") == attempt.get("error.type")
            && self.envelope("category") == attempt.get("retort.category")
            && self.envelope("retryable") == attempt.get("retort.retryable")
            && self.envelope("next") == attempt.get("retort.next")
            && self.envelope("next") == decision.get("action")
            && self.envelope("code") == self.verdict["diagnostic"].get("code")
            && self.envelope("trace_id") == self.verdict["diagnostic"].get("trace_id")
            && self.envelope("retry_after_ms").or(self.envelope("check_after_ms"))
                == decision.get("delay_ms");
        (!same).then_some("envelope, decision and records disagree")
    }
}

/// Does an object hold these members and no other, in this order, with every one that is always there?
fn is_shaped(object: &Value, members: &[(&str, bool)]) -> bool {
    let Value::Object(object) = object else { return false };
    let mut names = object.keys();
    let mut next = names.next();
    for (name, is_always) in members {
        if next.is_some_and(|next| next == name) {
            next = names.next();
        } else if *is_always {
            return false;
        }
    }
    next.is_none()
}
