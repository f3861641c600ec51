//! The service on a socket of this machine, over anything that answers its requests.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::{self, Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task;
use tokio_util::sync::CancellationToken;

use crate::{Function, LARGEST_BODY, Refusal, Route, TOO_LARGE, route};

/// What answers requests. Any function that takes a [`Function`] and a text, empty where the function takes none, does.
pub trait Handler: Send + Sync + 'static {
    /// The answer to one request. A refusal is written out for it.
    fn handle(&self, request: Request) -> impl Future<Output = Result<Response, Refusal>> + Send;
}

impl<C: Fn(Function, &str) -> String + Send + Sync + 'static> Handler for C {
    async fn handle(&self, request: Request) -> Result<Response, Refusal> {
        let route = asked(&request)?;
        let body = read(request.into_body()).await?;
        Ok(answer(route, task::block_in_place(|| self(route.function, &String::from_utf8_lossy(&body)))))
    }
}

struct Service<H> {
    handler: H,
    places: Semaphore,
}

/// Serves until `stop`; requests under way are finished. More than `requests` at once are told to come back. Needs a
/// runtime with several threads.
pub async fn serve(
    listener: TcpListener,
    handler: impl Handler,
    requests: usize,
    stop: CancellationToken,
) -> io::Result<()> {
    let service = Arc::new(Service { handler, places: Semaphore::new(requests) });
    let router = Router::new().fallback(enter).with_state(service);
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
}

async fn enter<H: Handler>(State(service): State<Arc<Service<H>>>, request: Request) -> Response {
    let Ok(_place) = service.places.try_acquire() else {
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response();
    };
    service.handler.handle(request).await.unwrap_or_else(refuse)
}

/// What a request calls, by its head.
pub fn asked(request: &Request) -> Result<Route, Refusal> {
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    route(request.method().as_str(), request.uri().path(), content_type)
}

/// The whole body, unless it is above [`LARGEST_BODY`].
pub async fn read(body: Body) -> Result<Bytes, Refusal> {
    body::to_bytes(body, LARGEST_BODY).await.map_err(|_| TOO_LARGE)
}

/// A call's answer.
pub fn answer(route: Route, text: String) -> Response {
    let headers = [(header::CONTENT_TYPE, route.media_type), (header::CACHE_CONTROL, "no-store")];
    (headers, text).into_response()
}

fn refuse(refusal: Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    let headers = [(header::CONTENT_TYPE, Refusal::MEDIA_TYPE), (header::CACHE_CONTROL, "no-store")];
    match refusal.allow.map(|allow| [(header::ALLOW, allow)]) {
        Some(allow) => (status, headers, allow, refusal.problem()).into_response(),
        None => (status, headers, refusal.problem()).into_response(),
    }
}
