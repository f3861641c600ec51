//! The service on a socket of this machine, over any implementation of the contract.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::{self, Body};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task;
use tokio_util::sync::CancellationToken;

use crate::{Function, LARGEST_BODY, Refusal, Route, TOO_LARGE, route};

/// Calls a function of the interface `json` with a text, which is empty where the function takes none.
pub type Call = Box<dyn Fn(Function, &str) -> String + Send + Sync>;

struct Service {
    call: Call,
    places: Semaphore,
}

/// Serves until `stop`; requests under way are finished. More than `requests` at once are told to come back. Needs a
/// runtime with several threads.
pub async fn serve(
    listener: TcpListener,
    call: Call,
    requests: usize,
    stop: CancellationToken,
) -> io::Result<()> {
    let service = Arc::new(Service { call, places: Semaphore::new(requests) });
    let router = Router::new().fallback(enter).with_state(service);
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
}

async fn enter(State(service): State<Arc<Service>>, request: Request) -> Response {
    let Ok(_place) = service.places.try_acquire() else {
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response();
    };
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let answered = match route(request.method().as_str(), request.uri().path(), content_type) {
        Ok(route) => service.answer(route, request.into_body()).await,
        Err(refusal) => Err(refusal),
    };
    answered.unwrap_or_else(refuse)
}

impl Service {
    async fn answer(&self, route: Route, body: Body) -> Result<Response, Refusal> {
        let body = body::to_bytes(body, LARGEST_BODY).await.map_err(|_| TOO_LARGE)?;
        let text = task::block_in_place(|| (self.call)(route.function, &String::from_utf8_lossy(&body)));
        let headers = [(header::CONTENT_TYPE, route.media_type), (header::CACHE_CONTROL, "no-store")];
        Ok((headers, text).into_response())
    }
}

fn refuse(refusal: Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    let headers = [(header::CONTENT_TYPE, Refusal::MEDIA_TYPE), (header::CACHE_CONTROL, "no-store")];
    match refusal.allow.map(|allow| [(header::ALLOW, allow)]) {
        Some(allow) => (status, headers, allow, refusal.problem()).into_response(),
        None => (status, headers, refusal.problem()).into_response(),
    }
}
