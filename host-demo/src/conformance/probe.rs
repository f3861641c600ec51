//! The checks, one after the other, over one session with the target.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Error;
use super::card::{Card, Check};
use super::cases::Tool;
use super::errors::{Answer, lack, leak};
use super::wire::{Reaction, Wire};
use crate::{Contract, ids};

/// Calls of a burst.
const BURST: u64 = 24;
/// How often a call is given up.
const GIVEN_UP: u32 = 5;

/// What the checks share.
pub struct Probe {
    wire: Wire,
    allow_writes: bool,
    server: Value,
    tools: Vec<Tool>,
    /// Planted in arguments; a new one each time.
    canary: String,
    /// The errors so far.
    errors: Vec<Answer>,
    checks: Vec<Check>,
    /// How often the server was gone.
    deaths: Check,
    calls: u32,
}

impl Probe {
    /// Begins a session and reads the tools.
    pub async fn start(mut wire: Wire, allow_writes: bool) -> Result<Probe, Error> {
        let information = wire.initialize().await.ok_or(Error::Silent("it does not answer `initialize`"))?;
        let Answer::Result(listed) = wire.request("tools/list", json!({})).await else {
            return Err(Error::Silent("it does not list its tools"));
        };
        let tools = listed["tools"].as_array().into_iter().flatten().filter_map(Tool::read).collect();
        Ok(Probe {
            wire,
            allow_writes,
            server: information["serverInfo"].clone(),
            tools,
            canary: format!("canary{}", &ids::trace_id()[..12]),
            errors: Vec::new(),
            checks: Vec::new(),
            deaths: Check::new(0, "the server outlives everything"),
            calls: 0,
        })
    }

    /// Makes all checks.
    pub async fn run(&mut self) {
        self.forbidden_arguments().await;
        self.provoked().await;
        self.authorization().await;
        self.burst().await;
        self.given_up().await;
        self.keys().await;
        self.malformed().await;
    }

    /// The card, with what all errors together show.
    pub fn finish(self, contract: &dyn Contract) -> Card {
        let mut public = Check::new(7, "errors hold nothing of arguments, statements, hosts or credentials");
        let mut traced = Check::new(8, "every error has a trace id of its own");
        let mut seen = HashSet::new();
        for error in &self.errors {
            let Some(value) = error.error() else { continue };
            let leaked = leak(contract, value, &self.canary);
            public.check(leaked.is_none(), || format!("{}: {value}", leaked.unwrap_or_default()));
            let envelope = error.envelope().unwrap_or_default();
            let trace_id = envelope["trace_id"].as_str().unwrap_or_default().to_owned();
            traced.check(!trace_id.is_empty() && seen.insert(trace_id), || value.to_string());
        }
        let mut checks = self.checks;
        checks.extend([
            Check::skipped(5, "a changed contract fails as such", "needs the server's database"),
            public,
            traced,
            self.deaths,
        ]);
        checks.sort_by_key(|check| if check.failure == 0 { u8::MAX } else { check.failure });
        let called = self.tools.iter().filter(|tool| tool.reads || self.allow_writes).count();
        Card::new(self.server, self.tools.len(), called, checks)
    }

    fn may_call(&self, tool: &Tool) -> bool {
        tool.reads || self.allow_writes
    }

    /// Calls a tool, keeps its error, and sees whether the server is still there.
    async fn call(&mut self, tool: &Tool, arguments: &Value) -> Answer {
        let answer = self.wire.call(&tool.name, arguments).await;
        if answer.error().is_some() {
            self.errors.push(answer.clone());
        }
        if answer == Answer::Nothing {
            self.is_alive(&format!("after a call of {}", tool.name)).await;
        }
        answer
    }

    /// Does the server still answer? Where it does not, it is begun anew.
    async fn is_alive(&mut self, when: &str) -> bool {
        let is_alive = self.wire.request("ping", json!({})).await != Answer::Nothing;
        self.deaths.check(is_alive, || format!("no answer {when}"));
        if !is_alive {
            let _ = self.wire.begin_again().await;
        }
        is_alive
    }

    /// A call that reaches a tool: one that its schema allows where that is allowed, else one that it forbids.
    fn some_call(&mut self) -> Option<(Tool, Value)> {
        self.calls += 1;
        let callable = self.tools.iter().find(|tool| self.may_call(tool));
        if let Some(tool) = callable {
            return Some((tool.clone(), tool.valid(self.calls)));
        }
        let cases = |tool: &Tool| {
            tool.forbidden(false, &self.canary).first().map(|case| (tool.clone(), case.arguments.clone()))
        };
        self.tools.iter().find_map(cases)
    }

    async fn forbidden_arguments(&mut self) {
        let mut refused = Check::new(1, "calls that the schema forbids are refused");
        let mut carried = Check::new(1, "refusals are results of the tool, which a model sees");
        let mut readable = Check::new(1, "refusals are envelopes: code, category, outcome, next step");
        let mut settled =
            Check::new(1, "refusals say that nothing was started, and forbid the same call again");
        for tool in self.tools.clone() {
            for case in tool.forbidden(self.may_call(&tool), &self.canary) {
                let answer = self.call(&tool, &case.arguments).await;
                let shown = || format!("{} breaks {}: {answer:?}", tool.name, case.rule);
                refused.check(answer.error().is_some(), shown);
                if answer.error().is_none() {
                    continue;
                }
                carried.check(matches!(answer, Answer::ToolError(_)), shown);
                let envelope = answer.envelope().unwrap_or_default();
                readable.check(lack(&envelope).is_none(), || {
                    format!("no envelope with {}: {}", lack(&envelope).unwrap_or_default(), shown())
                });
                let is_settled =
                    matches!(envelope["outcome"].as_str(), Some("not_started" | "not_committed"))
                        && envelope["retryable"] == false;
                settled.check(is_settled, shown);
            }
        }
        let mut keyed = Check::new(6, "tools that may write require an operation key");
        for tool in self.tools.iter().filter(|tool| !tool.reads) {
            keyed.check(tool.requires_key(), || format!("{} does not", tool.name));
        }
        self.checks.extend([refused, carried, readable, settled, keyed]);
    }

    /// Calls that fail in the tool itself: their errors are what a driver says.
    async fn provoked(&mut self) {
        let mut failed = Check::new(7, "a statement that cannot succeed is an error, not a result");
        let mut readable = Check::new(7, "failures inside of a tool are envelopes as well");
        for tool in self.tools.clone() {
            if !self.may_call(&tool) {
                continue;
            }
            for provocation in tool.provocations(&self.canary) {
                let answer = self.call(&tool, &provocation.arguments).await;
                if provocation.must_fail {
                    failed.check(answer.error().is_some(), || format!("{}: {answer:?}", tool.name));
                }
                match answer {
                    // An error that calls itself a result is published like one.
                    Answer::Result(result) if provocation.must_fail => {
                        self.errors.push(Answer::ToolError(result));
                    }
                    Answer::Result(_) | Answer::Nothing => (),
                    error => {
                        let envelope = error.envelope().unwrap_or_default();
                        readable.check(lack(&envelope).is_none(), || format!("{}: {error:?}", tool.name));
                    }
                }
            }
        }
        self.checks.extend([failed, readable]);
    }

    async fn authorization(&mut self) {
        const NAME: &str = "without its token nothing is answered";
        if !self.wire.has_token() {
            let why = if self.wire.is_http() { "no --token was given" } else { "stdio has no token" };
            self.checks.push(Check::skipped(2, NAME, why));
            return;
        }
        let mut check = Check::new(2, NAME);
        let other = self.canary.clone();
        for token in [None, Some(other.as_str()), Some("")] {
            let status = self.wire.status_with(token).await;
            check.check(matches!(status, Some(401 | 403)), || {
                format!("status {status:?} with token {token:?}")
            });
        }
        self.checks.push(check);
    }

    async fn burst(&mut self) {
        let mut check = Check::new(3, "of many calls at once each is answered, a refusal by an envelope");
        if let Some((tool, arguments)) = self.some_call() {
            for answer in self.wire.burst(&tool.name, &arguments, BURST).await {
                let holds = match &answer {
                    Answer::Result(_) => true,
                    Answer::ToolError(_) => lack(&answer.envelope().unwrap_or_default()).is_none(),
                    Answer::ProtocolError(_) | Answer::Nothing => false,
                };
                check.check(holds, || format!("{}: {answer:?}", tool.name));
                self.errors.extend(answer.error().is_some().then_some(answer));
            }
        }
        self.is_alive("after a burst").await;
        self.checks.push(check);
    }

    /// Cancelled calls, and lost answers: over HTTP they are the same, and the client makes the call again.
    async fn given_up(&mut self) {
        let mut usable = Check::new(4, "after a cancelled call the session goes on");
        let mut again = Check::new(6, "a call whose answer was lost can be made again");
        for _ in 0..GIVEN_UP {
            let Some((tool, arguments)) = self.some_call() else { break };
            self.wire.give_up(&tool.name, &arguments).await;
            let is_alive = self.is_alive("after a cancelled call").await;
            usable.check(is_alive, || format!("a cancelled call of {} ended the session", tool.name));
            let answer = self.wire.call(&tool.name, &arguments).await;
            again.check(answer != Answer::Nothing, || format!("{} is not answered any more", tool.name));
            self.errors.extend(answer.error().is_some().then_some(answer));
        }
        self.checks.extend([usable, again]);
    }

    async fn keys(&mut self) {
        const FIRST: &str = "a repeated key gets the first result";
        const OTHER: &str = "a key with another payload is refused";
        let keyed = self.tools.iter().filter(|tool| !tool.reads && tool.key().is_some());
        let keyed: Vec<Tool> = keyed.cloned().collect();
        if keyed.is_empty() || !self.allow_writes {
            let why =
                if keyed.is_empty() { "no tool takes an operation key" } else { "needs --allow-writes" };
            self.checks.extend([Check::skipped(6, FIRST, why), Check::skipped(6, OTHER, why)]);
            return;
        }
        let (mut first, mut other) = (Check::new(6, FIRST), Check::new(6, OTHER));
        for tool in keyed {
            self.calls += 1;
            let arguments = tool.valid(1_000 + self.calls);
            let (once, twice) = (self.call(&tool, &arguments).await, self.call(&tool, &arguments).await);
            let is_same = matches!((&once, &twice), (Answer::Result(once), Answer::Result(twice)) if without_meta(once) == without_meta(twice));
            first.check(is_same, || format!("{}: {once:?}, then {twice:?}", tool.name));
            if let Some(changed) = tool.other_payload(&arguments) {
                let answer = self.call(&tool, &changed).await;
                let code = answer.envelope().unwrap_or_default()["code"].clone();
                other.check(code == "KEY_REUSED", || format!("{}: {answer:?}", tool.name));
            }
        }
        self.checks.extend([first, other]);
    }

    async fn malformed(&mut self) {
        let mut check = Check::new(1, "what is no message is refused, and harms nothing");
        let id = self.wire.next_id();
        let messages = [
            (String::from("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": "), None),
            (String::from("[]"), None),
            (String::from("{}"), None),
            (String::from("{\"jsonrpc\": \"1.0\", \"method\": 7}"), None),
            (json!({ "jsonrpc": "2.0", "id": id, "method": "no/such/method" }).to_string(), Some(id)),
        ];
        for (message, id) in messages {
            let reaction = self.wire.send_raw(&message, id).await;
            let is_alive = self.is_alive(&format!("after {message}")).await;
            let holds = is_alive
                && match reaction {
                    Reaction::Refused => true,
                    Reaction::Silence => id.is_none(),
                    Reaction::Accepted => false,
                };
            check.check(holds, || format!("{message}: {reaction:?}"));
        }
        let unknown = self.wire.call(&format!("no_such_{}", self.canary), &json!({})).await;
        check.check(unknown.error().is_some(), || format!("a tool that there is not: {unknown:?}"));
        self.is_alive("after all").await;
        self.checks.push(check);
    }
}

/// A result without what may differ from call to call.
fn without_meta(result: &Value) -> Value {
    let mut result = result.clone();
    if let Some(members) = result.as_object_mut() {
        members.remove("_meta");
    }
    result
}
