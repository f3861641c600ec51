//! The service as a component: `wasi:http/incoming-handler` over the `retort` crate. Nothing is kept between requests.

use wstd::http::body::{Body, HttpBody};
use wstd::http::{Error, Request, Response};

use crate::{LARGEST_BODY, Refusal, Route, TOO_LARGE, route};

#[wstd::http_server]
async fn main(request: Request<Body>) -> Result<Response<Body>, Error> {
    let content_type = request.headers().get("content-type").and_then(|value| value.to_str().ok());
    let answered = match route(request.method().as_str(), request.uri().path(), content_type) {
        Ok(route) => answer(route, request.into_body()).await?,
        Err(refusal) => Err(refusal),
    };
    let response = Response::builder().header("cache-control", "no-store");
    Ok(match answered {
        Ok((media_type, text)) => response.header("content-type", media_type).body(text.into())?,
        Err(refusal) => {
            let response = response.status(refusal.status).header("content-type", Refusal::MEDIA_TYPE);
            let allowing =
                refusal.allow.into_iter().fold(response, |made, allow| made.header("allow", allow));
            allowing.body(refusal.problem().into())?
        }
    })
}

async fn answer(route: Route, body: Body) -> Result<Result<(&'static str, String), Refusal>, Error> {
    let Some(body) = bounded(body).await? else {
        return Ok(Err(TOO_LARGE));
    };
    Ok(Ok((route.media_type, route.function.answer(&String::from_utf8_lossy(&body)))))
}

/// The whole body; nothing where it is too large.
async fn bounded(body: Body) -> Result<Option<Vec<u8>>, Error> {
    let mut stream = core::pin::pin!(body.into_boxed_body());
    let mut whole = Vec::new();
    while let Some(frame) = core::future::poll_fn(|context| stream.as_mut().poll_frame(context)).await {
        let data = frame?.into_data().unwrap_or_default();
        if whole.len() + data.len() > LARGEST_BODY {
            return Ok(None);
        }
        whole.extend_from_slice(&data);
    }
    Ok(Some(whole))
}
