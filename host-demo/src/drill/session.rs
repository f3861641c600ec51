//! A real MCP client of the server, in one process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest};
use rmcp::service::{PeerRequestOptions, RunningService};
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};

use super::Error;
use super::place::Place;
use super::servers::START;
use crate::Contract;
use crate::serve::{self, Host, Identity, Limits, Role, Server};

/// Connections of the server's pool.
pub const POOL: usize = 4;

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

/// A host over the place's database, through the proxy where there is one; `deadline` is its limit for a whole call.
pub async fn host(
    contract: Arc<dyn Contract>,
    place: &Place,
    deadline: Duration,
) -> Result<Arc<Host>, Error> {
    let slack = place.slack();
    let limits = Limits {
        pool: POOL as u32,
        pool_wait: Duration::from_millis(150) + slack,
        statement: Duration::from_millis(400) + slack,
        tenant_roles: !place.is_given(),
    };
    let policy = json!({ "base_ms": 2, "cap_ms": 20, "max_attempts": 6 });
    let url = place.proxied();
    let ends = Instant::now() + START;
    loop {
        let (contract, limits, policy) = (Arc::clone(&contract), limits.clone(), policy.clone());
        let open =
            serve::open(contract, url.as_deref(), place.folder.path(), limits, deadline + slack, policy);
        match open.await {
            // On a busy machine the first connection may take longer than a pool is to wait for one.
            Err(_) if Instant::now() < ends => continue,
            opened => return Ok(Arc::new(opened?)),
        }
    }
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
        let result = self.client.call_tool(request(tool, arguments)).await;
        Ok(answer(&result.map_err(|error| Error::Session(error.to_string()))?))
    }

    /// Calls a tool, and cancels the call as soon as `moment` has come, unless it has ended by then. Its answer is lost.
    pub async fn cancel(
        &self,
        tool: &'static str,
        arguments: Value,
        moment: impl Future<Output = ()>,
    ) -> Result<(), Error> {
        let call = ClientRequest::CallToolRequest(CallToolRequest::new(request(tool, arguments)));
        let options = PeerRequestOptions::no_options();
        let failed = |error: rmcp::ServiceError| Error::Session(error.to_string());
        let mut call = self.client.send_cancellable_request(call, options).await.map_err(failed)?;
        tokio::select! {
            _ = &mut call.rx => Ok(()),
            () = moment => call.cancel(Some(String::from("drill"))).await.map_err(failed),
        }
    }

    /// Ends the session, and with it what the server held for it.
    pub async fn close(self) {
        let _ = self.client.cancel().await;
    }
}

fn request(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().cloned().unwrap_or_default())
}

fn answer(result: &CallToolResult) -> Answer {
    let result = serde_json::to_value(result).unwrap_or_default();
    if result["isError"] == true {
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        return Answer::Failure(serde_json::from_str(text).unwrap_or_default());
    }
    Answer::Success(result["structuredContent"].clone())
}
