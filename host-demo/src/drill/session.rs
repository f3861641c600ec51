//! A real MCP client of the server, in one process.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};

use super::{Error, Place};
use crate::Contract;
use crate::serve::{self, Host, Identity, Limits, Role, Server};

/// A client's session with the server.
pub struct Session {
    client: RunningService<RoleClient, ()>,
}

/// What a call came to.
pub enum Answer {
    /// The result.
    Success(Value),
    /// The envelope.
    Failure(Value),
}

impl Answer {
    /// The envelope's code; empty for a success.
    pub fn code(&self) -> &str {
        match self {
            Answer::Success(_) => "",
            Answer::Failure(envelope) => envelope["code"].as_str().unwrap_or_default(),
        }
    }
}

/// A host over the place's database, through the proxy where there is one.
pub async fn host(contract: Box<dyn Contract>, place: &Place, pool: u32) -> Result<Arc<Host>, Error> {
    let limits =
        Limits { pool, pool_wait: Duration::from_millis(150), statement: Duration::from_millis(400) };
    let policy = json!({ "base_ms": 2, "cap_ms": 20, "max_attempts": 6 });
    let url = place.proxied.as_deref();
    Ok(Arc::new(
        serve::open(contract, url, place.folder.path(), limits, Duration::from_millis(600), policy).await?,
    ))
}

impl Session {
    /// A session as this caller.
    pub async fn open(host: &Arc<Host>, role: Role) -> Result<Session, Error> {
        let identity =
            Identity { principal: "drill".into(), tenant: "north".into(), role, policy_version: "1".into() };
        let (near, far) = tokio::io::duplex(64 * 1024);
        let server = Server::new(Arc::clone(host), Some(identity));
        tokio::spawn(async move {
            if let Ok(session) = server.serve(far).await {
                let _ = session.waiting().await;
            }
        });
        let client = ().serve(near).await.map_err(|error| Error::Session(error.to_string()))?;
        Ok(Session { client })
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &'static str, arguments: Value) -> Result<Answer, Error> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result =
            self.client.call_tool(request).await.map_err(|error| Error::Session(error.to_string()))?;
        Ok(answer(&result))
    }
}

fn answer(result: &CallToolResult) -> Answer {
    let result = serde_json::to_value(result).unwrap_or_default();
    if result["isError"] == true {
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        return Answer::Failure(serde_json::from_str(text).unwrap_or_default());
    }
    Answer::Success(result["structuredContent"].clone())
}
