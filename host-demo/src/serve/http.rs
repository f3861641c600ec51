//! Streamable HTTP: on loopback unless told otherwise, behind a bearer token, with limits.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Router, serve};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::identity::Tokens;
use super::server::{Host, Server};

/// The largest request body, in bytes.
const BODY: usize = 256 * 1024;

/// What the gate lets in.
struct Gate {
    tokens: Tokens,
    places: Semaphore,
}

/// Serves until `stop`; requests under way are finished.
pub async fn run(
    host: Arc<Host>,
    listener: TcpListener,
    tokens: Tokens,
    origins: Vec<String>,
    most_requests: usize,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let address: SocketAddr = listener.local_addr()?;
    let mut config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(BODY)
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_cancellation_token(stop.clone());
    if !address.ip().is_loopback() {
        // Whoever binds a public address has a name for it that is not known here; the token guards it.
        config = config.disable_allowed_hosts();
    }
    let calls = Arc::clone(&host.calls);
    let server = Server::new(host, None);
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let gate = Arc::new(Gate { tokens, places: Semaphore::new(most_requests) });
    let router =
        Router::new().nest_service("/mcp", service).layer(middleware::from_fn_with_state(gate, enter));
    let finished = async move {
        stop.cancelled().await;
        drop(calls.write().await);
    };
    serve(listener, router).with_graceful_shutdown(finished).await
}

/// Lets a request through with the identity that its token stands for.
async fn enter(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    let Some(identity) = gate.tokens.identify(authorization(request.headers())) else {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")]).into_response();
    };
    let Ok(_place) = gate.places.try_acquire() else {
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response();
    };
    request.extensions_mut().insert(identity);
    next.run(request).await
}

fn authorization(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()
}
