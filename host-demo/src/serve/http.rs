//! Streamable HTTP: on loopback unless told otherwise, behind bearer tokens, with limits. The operator's pages stand
//! behind a token of their own, and to everybody else look as if they were not there.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, serve};
use http_body_util::BodyExt as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::end_calls;
use super::identity::{Operator, Tokens};
use super::server::{Host, Server};
use crate::diagnostics::Entry;
use crate::telemetry::Exporters;

/// The largest request body, in bytes.
const BODY: usize = 256 * 1024;

/// How long a shutdown waits for answers to be read.
const UNREAD: Duration = Duration::from_secs(10);

/// Who may call, and from where.
pub struct Access {
    /// The callers' tokens.
    pub tokens: Tokens,
    /// The operator's token.
    pub operator: Operator,
    /// Origins that browsers may call from.
    pub origins: Vec<String>,
    /// The most calls at once.
    pub most_calls: u32,
}

/// What the gate lets in.
struct Gate {
    tokens: Tokens,
    operator: Operator,
    places: Arc<Semaphore>,
    host: Arc<Host>,
    exporters: Arc<Exporters>,
}

/// Serves until `stop`; calls under way are finished, and later ones are told that nothing was started.
pub async fn run(
    host: Arc<Host>,
    exporters: Arc<Exporters>,
    listener: TcpListener,
    access: Access,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let address: SocketAddr = listener.local_addr()?;
    let (ended, over) = (CancellationToken::new(), CancellationToken::new());
    let places = Arc::new(Semaphore::new(usize::try_from(access.most_calls).unwrap_or(usize::MAX)));
    tokio::spawn(end_calls(Arc::clone(&host.calls), stop, ended.clone()));
    tokio::spawn(end_answers(Arc::clone(&places), access.most_calls, ended, over.clone()));
    let mut config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(BODY)
        .with_allowed_origins(access.origins)
        .enforce_origin_validation()
        .with_cancellation_token(over.clone());
    if !address.ip().is_loopback() {
        // Whoever binds a public address has a name for it that is not known here; the token guards it.
        config = config.disable_allowed_hosts();
    }
    let server = Server::new(Arc::clone(&host), None);
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let gate = Arc::new(Gate { tokens: access.tokens, operator: access.operator, places, host, exporters });
    let router = Router::new()
        .nest_service("/mcp", service)
        .route("/metrics", get(metrics))
        .route("/traces/{trace_id}", get(traces))
        .with_state(Arc::clone(&gate))
        .layer(middleware::from_fn_with_state(gate, enter));
    serve(listener, router).with_graceful_shutdown(over.cancelled_owned()).await
}

/// When the calls are through: waits until their answers have been written, and says so.
async fn end_answers(
    places: Arc<Semaphore>,
    most_calls: u32,
    ended: CancellationToken,
    over: CancellationToken,
) {
    ended.cancelled().await;
    // Whoever does not read its answer is not waited for any longer.
    let _all = timeout(UNREAD, places.acquire_many(most_calls)).await;
    over.cancel();
}

/// Lets a caller's request through with the identity that its token stands for, and the operator's to the operator's
/// pages. To a caller those are not there, and to the operator the tools are not.
async fn enter(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    let is_tool = request.uri().path().starts_with("/mcp");
    if gate.operator.is(authorization(request.headers())) {
        return if is_tool { StatusCode::NOT_FOUND.into_response() } else { next.run(request).await };
    }
    let Some(identity) = gate.tokens.identify(authorization(request.headers())) else {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")]).into_response();
    };
    if !is_tool {
        return StatusCode::NOT_FOUND.into_response();
    }
    request.extensions_mut().insert(identity);
    // A GET is the open end of a session: it asks for nothing, and stays.
    if request.method() == Method::GET {
        return next.run(request).await;
    }
    let Ok(place) = Arc::clone(&gate.places).try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response();
    };
    // The answer is a stream: the place is taken until its end.
    next.run(request).await.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _ = &place;
            frame
        }))
    })
}

/// The metrics, in Prometheus' text format.
async fn metrics(State(gate): State<Arc<Gate>>) -> Response {
    match gate.exporters.prometheus_text() {
        Ok(text) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The restricted diagnostics of a trace id, oldest first, as `retort trace` shows them.
async fn traces(State(gate): State<Arc<Gate>>, Path(trace_id): Path<String>) -> Response {
    let entries = gate.host.diagnostics.lock().unwrap_or_else(PoisonError::into_inner).find(&trace_id);
    let Ok(entries) = entries else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let lines: Vec<String> = entries.iter().map(Entry::to_json).collect();
    match lines.as_slice() {
        [] => StatusCode::NOT_FOUND.into_response(),
        lines => {
            ([(header::CONTENT_TYPE, "application/json")], format!("[{}]", lines.join(","))).into_response()
        }
    }
}

fn authorization(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()
}
