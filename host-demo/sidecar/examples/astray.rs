//! A component that goes astray in each way that its host has to bear, by the path of the request. For tests.
#![cfg(target_family = "wasm")]

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::{env, fs, hint, net, process};

use wstd::http::body::{Body, Bytes, Frame, HttpBody};
use wstd::http::{Client, Error, Request, Response};
use wstd::task;
use wstd::time::Duration;

#[wstd::http_server]
async fn main(request: Request<Body>) -> Result<Response<Body>, Error> {
    let body = match request.uri().path() {
        "/well" => Body::from("well\n"),
        "/granted" => Body::from(granted(request.into_body()).await?),
        "/endless" => Body::from_http_body(Chunks { left: None }),
        "/halfway" => Body::from_http_body(Chunks { left: Some(2) }),
        "/spin" => loop {
            hint::spin_loop();
        },
        "/sleep" => {
            task::sleep(Duration::from_secs(3_600)).await;
            Body::empty()
        }
        "/swell" => Body::from(vec![b'm'; 64 << 20]),
        "/exit" => process::exit(0),
        _ => panic!("a component that goes astray"),
    };
    Ok(Response::new(body))
}

/// What the component finds of its host, and what it hears of the address in the body, as a socket and as a request.
async fn granted(mut address: Body) -> Result<String, Error> {
    let address = address.str_contents().await?.to_owned();
    let request = Request::get(format!("http://{address}/")).body(Body::empty())?;
    // Which error it is depends on what the host notices first: the head, or the body that nobody takes.
    let is_denied = Client::new().send(request).await.is_err();
    let connected = net::TcpStream::connect(&address).map(drop);
    Ok(format!(
        "variables {}, arguments {}, files {:?}, socket {:?}, request denied {is_denied}",
        env::vars().count(),
        env::args().count(),
        fs::read_dir("/").map(Iterator::count).map_err(|error| error.kind()),
        connected.map_err(|error| error.kind()),
    ))
}

/// A body of 64 KiB chunks, which never ends or breaks off in a trap.
struct Chunks {
    left: Option<u8>,
}

impl HttpBody for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.left = self.left.map(|left| left.checked_sub(1).expect("chunks"));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'm'; 64 << 10])))))
    }
}
