//! From a failure to its envelope: the report, the verdict, the clean-up, and what is kept of it.

use std::sync::PoisonError;
use std::time::Duration;

use retort::words::Outcome;
use rmcp::model::{CallToolResult, ContentBlock, ResultType};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::flow::{Failure, Held, Progress, now_ms};
use super::server::{About, Host};
use super::tools::{self, Tool};
use crate::attempts::Identity as Operation;
use crate::receipts::KEY_CONSTRAINT;
use crate::{fault, ids, telemetry};

impl Host {
    /// Judges a failure, cleans up as the decision says, records the diagnostic, and only then answers. The attempt's
    /// record comes back with the answer.
    pub(super) async fn fail(
        &self,
        about: &About,
        failure: &Failure,
        held: Held,
        progress: &Progress,
    ) -> (CallToolResult, Value) {
        let verdict_text = self.judge(about, failure, progress).await;
        let verdict: Value = serde_json::from_str(&verdict_text).unwrap_or_default();
        if let Some(session) = held.lock().await.take() {
            session.clean(verdict["decision"]["cleanup"].as_str().unwrap_or("discard_connection")).await;
        }
        let outcome =
            verdict["envelope"]["outcome"].as_str().and_then(Outcome::parse).unwrap_or(Outcome::Unknown);
        self.attempts().fail(about.operation, outcome);
        if outcome.is_without_effect() {
            self.release(about, progress).await;
        }
        self.record(&verdict);
        tracing::info!(attempt = %verdict["attempt"], "a call failed");
        let rendered = self.contract.render(&format!(r#"{{"verdict":{verdict_text},"as":"mcp"}}"#));
        let mut result: CallToolResult =
            serde_json::from_str(&rendered).unwrap_or_else(|_| carry(&verdict["envelope"]));
        // The newest revision wants it on every result; for an older one the SDK takes it away again.
        result.result_type = Some(ResultType::COMPLETE);
        (result, verdict["attempt"].clone())
    }

    /// The answer where the server's own code failed over a call: nothing is known of it but its tool.
    pub(super) fn fault(&self, tool: &Tool) -> CallToolResult {
        let report = json!({
            "operation": { "effect": if tool.writes { "write" } else { "read" } },
            "context": { "trace_id": ids::trace_id(), "tool": tool.name },
        });
        let verdict: Value = serde_json::from_str(&fault::verdict(&report.to_string())).unwrap_or_default();
        self.record(&verdict);
        carry(&verdict["envelope"])
    }

    /// The verdict, with the tokens that its retry costs paid.
    async fn judge(&self, about: &About, failure: &Failure, progress: &Progress) -> String {
        let Some(budget) = &self.budget else {
            return self.contract.evaluate(&self.report(about, failure, progress, None).to_string());
        };
        let tokens = budget.tokens().await;
        let verdict =
            self.contract.evaluate(&self.report(about, failure, progress, Some(tokens)).to_string());
        let left =
            serde_json::from_str::<Value>(&verdict).unwrap_or_default()["decision"]["tokens_left"].as_u64();
        let cost =
            left.and_then(|left| u32::try_from(left).ok()).map_or(0, |left| tokens.saturating_sub(left));
        if cost == 0 || budget.pay(cost).await {
            return verdict;
        }
        // Another call was quicker: for this one nothing is left.
        self.contract.evaluate(&self.report(about, failure, progress, Some(0)).to_string())
    }

    /// Gives the key back, so that the next attempt need not wait for the lease's end.
    async fn release(&self, about: &About, progress: &Progress) {
        let stage = progress.stage();
        let release = async {
            match (stage.ticket, about.call.scope()) {
                (Some(ticket), _) => self.store.acquire().await?.release(&ticket).await,
                // Whether the key was claimed is not known; that it shall not stay claimed is.
                (None, Some(scope)) if stage.is_claiming => {
                    self.store.acquire().await?.fence(&scope, self.lifetimes, now_ms()).await.map(drop)
                }
                _ => Ok(()),
            }
        };
        // Where this fails the lease runs out by itself.
        let _ = timeout(Duration::from_secs(1), release).await;
    }

    /// Keeps the diagnostic where its trace id finds it, and logs it on its own path.
    fn record(&self, verdict: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (trace_id, code) =
            (text(&verdict["diagnostic"]["trace_id"]), text(&verdict["diagnostic"]["code"]));
        let diagnostic = verdict["diagnostic"].to_string();
        let mut store = self.diagnostics.lock().unwrap_or_else(PoisonError::into_inner);
        if store.append(&trace_id, &diagnostic, now_ms()).is_err() {
            tracing::error!(trace_id, "a diagnostic could not be kept; the log has it");
        }
        drop(store);
        telemetry::log_diagnostic(&trace_id, &code, &diagnostic);
    }

    fn report(&self, about: &About, failure: &Failure, progress: &Progress, tokens: Option<u32>) -> Value {
        let (stage, call) = (progress.stage(), &about.call);
        let violation =
            |violation: &tools::Violation| json!({ "argument": violation.argument, "rule": violation.rule });
        json!({
            "error": failure.error,
            "system": self.store.system(),
            "driver": self.store.driver(),
            "operation": {
                "effect": if about.tool.writes { "write" } else { "read" },
                "phase": stage.phase,
                "transaction": stage.transaction,
                "origin": if call.tool == "query" { "model" } else { "tool" },
                "operation_key": call.arguments.get("operation_key").filter(|_| about.tool.writes),
                "dedupe": if about.tool.writes { "receipt" } else { "none" },
                "receipt": stage.receipt,
                "key_constraint": KEY_CONSTRAINT,
                "statement": stage.statement,
            },
            "attempt": {
                "number": about.begun.number,
                "prior": about.begun.prior.as_str(),
                "elapsed_ms": u64::from(about.begun.elapsed_ms) + about.started.elapsed().as_millis() as u64,
                // The next attempt is a call of its own, with a time of its own.
                "deadline_ms": null,
                "tokens": tokens,
            },
            "cancel": failure.cancel,
            "violations": failure.violations.iter().map(violation).collect::<Vec<_>>(),
            "context": {
                "trace_id": about.trace_id,
                "operation_id": about.operation.id(),
                "tool": call.tool,
                "tool_version": tools::VERSION,
                "policy_version": call.identity.policy_version,
                "boundary": "mcp",
                "authorized": about.may_know,
            },
            "policy": self.policy,
            "seed": ids::seed(),
        })
    }

    /// A receipt's answer with what it means for the earlier call.
    pub(super) fn with_verdict(&self, about: &About, mut value: Value) -> Value {
        if about.tool.name != "receipt" {
            return value;
        }
        let key = about.call.arguments.get("operation_key");
        let earlier = json!({
            "verdict": {
                "code": "OUTCOME_UNKNOWN", "category": "unknown_outcome", "retryable": false, "outcome": "unknown",
                "trace_id": about.trace_id, "message": "", "next": "reconcile", "operation_key": key,
            },
            "system": self.store.system(),
            "driver": self.store.driver(),
            "receipt": value["receipt"],
            "fenced": value["fenced"],
            "operation": { "effect": "write", "phase": "commit", "transaction": "committing", "operation_key": key, "dedupe": "receipt" },
            "context": {
                "trace_id": about.trace_id, "operation_id": about.operation.id(), "tool": "receipt",
                "tool_version": tools::VERSION, "policy_version": about.call.identity.policy_version,
                "boundary": "mcp", "authorized": true,
            },
            "policy": self.policy,
            "seed": ids::seed(),
        });
        let verdict: Value =
            serde_json::from_str(&self.contract.reconcile(&earlier.to_string())).unwrap_or_default();
        let outcome = verdict["envelope"]["outcome"].as_str().and_then(Outcome::parse);
        if let (Some(outcome), Some(key)) = (outcome, key.and_then(Value::as_str)) {
            let operation = Operation::of_write(&about.call.identity.principal, "update_status", key);
            self.attempts().settle(operation, outcome);
        }
        self.record(&verdict);
        value["envelope"] = verdict["envelope"].clone();
        value
    }
}

/// An envelope as MCP carries it, where the contract itself cannot be asked.
fn carry(envelope: &Value) -> CallToolResult {
    let meta = serde_json::from_value(json!({ "dev.retort/error": envelope })).ok();
    let mut result = CallToolResult::error(vec![ContentBlock::text(envelope.to_string())]);
    result.meta = meta;
    result
}
