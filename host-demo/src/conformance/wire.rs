//! Messages to a server and back, as raw JSON: what a client library would never send has to be sent as well.

use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use reqwest::header;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::Error;
use super::errors::Answer;

/// The revision that the kit speaks: the newest with a handshake, which servers of either kind answer.
const PROTOCOL: &str = "2025-11-25";

/// A connection to the target.
pub struct Wire {
    carrier: Carrier,
    patience: Duration,
    last_id: u64,
}

enum Carrier {
    Stdio { command: String, process: Box<Process> },
    Http(Http),
}

/// A server process of its own group.
struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

struct Http {
    client: reqwest::Client,
    url: String,
    token: Option<String>,
    session: Option<String>,
}

/// What a message without a proper request came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reaction {
    /// An error, by the protocol or by HTTP.
    Refused,
    /// No answer: allowed over stdio where the message has no id.
    Silence,
    /// It was taken for a request.
    Accepted,
}

impl Drop for Process {
    fn drop(&mut self) {
        // The command may be a launcher whose own children serve.
        if let Some(group) = self.child.id().and_then(|id| i32::try_from(id).ok()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    }
}

impl Process {
    fn start(command: &str) -> std::io::Result<Process> {
        let mut child = Command::new("sh")
            .args(["-c", &format!("exec {command}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            return Err(std::io::Error::other("the process has no pipes"));
        };
        Ok(Process { child, input, output: BufReader::new(output).lines() })
    }

    async fn send(&mut self, text: &str) -> std::io::Result<()> {
        self.input.write_all(format!("{text}\n").as_bytes()).await?;
        self.input.flush().await
    }

    /// The response to a request. Requests and notifications of the server's own are passed over.
    async fn response(&mut self, id: u64) -> Option<Value> {
        loop {
            let line = self.output.next_line().await.ok().flatten()?;
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == id && message.get("method").is_none() {
                return Some(message);
            }
        }
    }
}

impl Http {
    fn post(&self, body: String) -> reqwest::RequestBuilder {
        let mut request = self
            .client
            .post(&self.url)
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header(header::CONTENT_TYPE, "application/json")
            .header("mcp-protocol-version", PROTOCOL)
            .body(body);
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// The response to a request, from a body of JSON or of events.
    async fn response(&mut self, body: String, id: u64) -> Option<Value> {
        let mut response = self.post(body).send().await.ok()?;
        if let Some(session) = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()) {
            self.session = Some(session.to_owned());
        }
        let is_answer = |message: &Value| message["id"] == id && message.get("method").is_none();
        let mut text = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            text.extend_from_slice(&chunk);
            let so_far = String::from_utf8_lossy(&text);
            let lines = so_far.lines().map(|line| line.strip_prefix("data:").unwrap_or(line));
            let mut messages = lines.filter_map(|line| serde_json::from_str::<Value>(line.trim()).ok());
            if let Some(answer) = messages.rfind(is_answer) {
                return Some(answer);
            }
        }
        serde_json::from_slice(&text).ok().filter(is_answer)
    }
}

impl Wire {
    /// Connects to a URL, or starts a command.
    pub async fn open(target: &str, token: Option<&str>, patience: Duration) -> Result<Wire, Error> {
        let carrier = if target.starts_with("http://") || target.starts_with("https://") {
            let client = reqwest::Client::builder().build()?;
            Carrier::Http(Http { client, url: target.into(), token: token.map(String::from), session: None })
        } else {
            Carrier::Stdio { command: target.into(), process: Box::new(Process::start(target)?) }
        };
        Ok(Wire { carrier, patience, last_id: 0 })
    }

    /// Is it HTTP?
    pub fn is_http(&self) -> bool {
        matches!(self.carrier, Carrier::Http(_))
    }

    /// Is a token presented?
    pub fn has_token(&self) -> bool {
        matches!(&self.carrier, Carrier::Http(http) if http.token.is_some())
    }

    /// The handshake; gives the server's information back.
    pub async fn initialize(&mut self) -> Option<Value> {
        let parameters = json!({
            "protocolVersion": PROTOCOL, "capabilities": {},
            "clientInfo": { "name": "retort-conformance", "version": env!("CARGO_PKG_VERSION") },
        });
        let Answer::Result(information) = self.request("initialize", parameters).await else { return None };
        self.notify("notifications/initialized", json!({})).await;
        Some(information)
    }

    /// A session of its own from the beginning: a new process, or a new handshake.
    pub async fn begin_again(&mut self) -> Option<Value> {
        match &mut self.carrier {
            Carrier::Stdio { command, process } => **process = Process::start(command).ok()?,
            Carrier::Http(http) => http.session = None,
        }
        self.initialize().await
    }

    /// Makes a request and waits for its answer.
    pub async fn request(&mut self, method: &str, parameters: Value) -> Answer {
        self.last_id += 1;
        let id = self.last_id;
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }).to_string();
        let response = async {
            match &mut self.carrier {
                Carrier::Stdio { process, .. } => {
                    process.send(&body).await.ok()?;
                    process.response(id).await
                }
                Carrier::Http(http) => http.response(body, id).await,
            }
        };
        let response = timeout(self.patience, response).await.ok().flatten();
        response.map_or(Answer::Nothing, |response| Answer::read(&response))
    }

    /// Calls a tool.
    pub async fn call(&mut self, tool: &str, arguments: &Value) -> Answer {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Calls a tool many times at once, each over a connection of its own where there are such.
    pub async fn burst(&mut self, tool: &str, arguments: &Value, calls: u64) -> Vec<Answer> {
        let first = self.last_id + 1;
        self.last_id += calls;
        let body = |id| {
            let parameters = json!({ "name": tool, "arguments": arguments });
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": parameters }).to_string()
        };
        let mut answers = vec![Answer::Nothing; calls as usize];
        match &mut self.carrier {
            Carrier::Stdio { process, .. } => {
                let answered = async {
                    for id in first..first + calls {
                        process.send(&body(id)).await.ok()?;
                    }
                    let mut open = calls;
                    while open > 0 {
                        let line = process.output.next_line().await.ok().flatten()?;
                        let message: Value = serde_json::from_str(&line).unwrap_or_default();
                        let place = message["id"].as_u64().and_then(|id| id.checked_sub(first));
                        if let Some(answer) = place.and_then(|place| answers.get_mut(place as usize)) {
                            *answer = Answer::read(&message);
                            open -= 1;
                        }
                    }
                    Some(())
                };
                // What has not come by then stays without an answer.
                let _ = timeout(self.patience, answered).await;
            }
            Carrier::Http(http) => {
                let mut tasks = tokio::task::JoinSet::new();
                for id in first..first + calls {
                    let request = http.post(body(id));
                    let patience = self.patience;
                    tasks.spawn(async move {
                        let text = timeout(patience, async { request.send().await?.text().await }).await;
                        let text = text.ok().and_then(Result::ok).unwrap_or_default();
                        let lines =
                            text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
                        let mut messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
                        let message = messages.find(|message| message["id"] == id);
                        message.map_or(Answer::Nothing, |message| Answer::read(&message))
                    });
                }
                answers = tasks.join_all().await;
            }
        }
        answers
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, parameters: Value) {
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": parameters }).to_string();
        let sent = async {
            match &mut self.carrier {
                Carrier::Stdio { process, .. } => drop(process.send(&body).await),
                Carrier::Http(http) => drop(http.post(body).send().await),
            }
        };
        // Nothing comes back for it.
        let _ = timeout(self.patience, sent).await;
    }

    /// Calls a tool and gives the call up at once: by `notifications/cancelled`, over HTTP by closing the stream.
    pub async fn give_up(&mut self, tool: &str, arguments: &Value) {
        self.last_id += 1;
        let id = self.last_id;
        let parameters = json!({ "name": tool, "arguments": arguments });
        let body =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": parameters }).to_string();
        match &mut self.carrier {
            Carrier::Stdio { process, .. } => drop(process.send(&body).await),
            Carrier::Http(http) => {
                // The request is on its way, and its answer is not waited for.
                let _ = timeout(Duration::from_millis(2), http.post(body).send()).await;
            }
        }
        self.notify("notifications/cancelled", json!({ "requestId": id, "reason": "given up" })).await;
    }

    /// Sends what is no proper message. Where it has an id, the answer to it is waited for.
    pub async fn send_raw(&mut self, text: &str, id: Option<u64>) -> Reaction {
        match (&mut self.carrier, id) {
            (Carrier::Stdio { process, .. }, None) => match process.send(text).await {
                Ok(()) => Reaction::Silence,
                Err(_) => Reaction::Accepted,
            },
            (Carrier::Stdio { process, .. }, Some(id)) => {
                let response = async {
                    process.send(text).await.ok()?;
                    process.response(id).await
                };
                let response = timeout(self.patience, response).await.ok().flatten();
                reaction(response.as_ref())
            }
            (Carrier::Http(http), _) => {
                let Ok(Ok(response)) = timeout(self.patience, http.post(text.into()).send()).await else {
                    return Reaction::Silence;
                };
                if response.status().is_client_error() {
                    return Reaction::Refused;
                }
                let text = timeout(self.patience, response.text()).await.ok().and_then(Result::ok);
                let text = text.unwrap_or_default();
                let lines = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
                let message = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok()).next_back();
                reaction(message.as_ref())
            }
        }
    }

    /// A number that no request has had yet.
    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// The HTTP status of a request with another token, or with none.
    pub async fn status_with(&mut self, token: Option<&str>) -> Option<u16> {
        let id = self.next_id();
        let Carrier::Http(http) = &self.carrier else { return None };
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {} }).to_string();
        let other = Http {
            client: http.client.clone(),
            url: http.url.clone(),
            token: token.map(String::from),
            session: http.session.clone(),
        };
        let response = timeout(self.patience, other.post(body).send()).await.ok()?.ok()?;
        Some(response.status().as_u16())
    }
}

fn reaction(message: Option<&Value>) -> Reaction {
    match message.map(Answer::read) {
        None | Some(Answer::Nothing) => Reaction::Silence,
        Some(Answer::ProtocolError(_) | Answer::ToolError(_)) => Reaction::Refused,
        Some(Answer::Result(_)) => Reaction::Accepted,
    }
}
