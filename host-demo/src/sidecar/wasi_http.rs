//! A component that exports `wasi:http/incoming-handler`, served by wasmtime's own support of it.
//!
//! Every request meets an instance of its own, to which nothing is granted: no file, no environment, no network. The
//! request's body is read before the instance is made, and the answer is whole before any of it is sent, so that a
//! component that fails midway is no different from one that fails at once.

use std::fs;
use std::future::Future;
use std::io;
use std::path::Path;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{self, HeaderValue, header};
use axum::response::Response;
use http_body_util::{BodyExt as _, Full, Limited};
use retort_sidecar::{FAILED, Handler, Refusal, answer, asked, read};
use tokio::sync::oneshot;
use tokio::{time, try_join};
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Store, StoreLimits, StoreLimitsBuilder, format_err};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::p2::bindings::ProxyPre;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::{
    RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

use crate::component::{DEADLINE, Ticker, engine};
use crate::{Error, Options, fault};

/// The component, compiled once.
pub struct WasiHttp {
    prepared: ProxyPre<Grant>,
    memory_bytes: usize,
    deadline: Duration,
    /// Stops with the component.
    _ticker: Ticker,
}

impl WasiHttp {
    /// Compiles the component at `path`. As it may be anybody's, it has a deadline in any case: without another one the usual second.
    pub fn load(path: &Path, options: Options) -> Result<WasiHttp, Error> {
        let (memory_bytes, deadline) = (options.memory_bytes, options.deadline.unwrap_or(DEADLINE));
        let unreadable = |source: io::Error| Error::Read { path: path.to_path_buf(), source };
        let bytes = fs::read(path).map_err(unreadable)?;
        let engine = engine(&Options { deadline: Some(deadline), ..options })?;
        let not_the_service = |reason: wasmtime::Error| Error::NotTheService { reason: reason.to_string() };
        let compiled = Component::from_binary(&engine, &bytes).map_err(not_the_service)?;
        let prepared = linker(&engine)
            .and_then(|linker| linker.instantiate_pre(&compiled))
            .and_then(ProxyPre::new)
            .map_err(not_the_service)?;
        Ok(WasiHttp { prepared, memory_bytes, deadline, _ticker: Ticker::start(engine) })
    }

    /// What an instance of its own makes of the request.
    async fn run(&self, request: http::Request<Full<Bytes>>) -> wasmtime::Result<Response> {
        let mut store = Store::new(self.prepared.engine(), Grant::nothing(self.memory_bytes));
        store.limiter(|grant| &mut grant.limits);
        // At each tick the instance makes way for others, and for the deadline.
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        let (respond, responded) = oneshot::channel();
        let request = store.data_mut().http().new_incoming_request(Scheme::Http, request)?;
        let response = store.data_mut().http().new_response_outparam(respond)?;
        let proxy = self.prepared.instantiate_async(&mut store).await?;
        // The store goes with the call: where the component has not answered by then, nobody waits on.
        let called =
            async move { proxy.wasi_http_incoming_handler().call_handle(store, request, response).await };
        let answered = async {
            let (head, body) = responded.await.map_err(|_| format_err!("it gave no answer"))??.into_parts();
            // What was made in the instance's memory is no larger than that.
            let body = Limited::new(body, self.memory_bytes).collect().await;
            let body = body.map_err(|error| format_err!("its answer broke off: {error}"))?;
            Ok(Response::from_parts(head, Body::from(body.to_bytes())))
        };
        let ((), response) = try_join!(called, answered)?;
        Ok(response)
    }
}

impl Handler for WasiHttp {
    /// Where the component fails (a trap, no memory, past its deadline) a call gets the host's constant.
    async fn handle(&self, request: Request) -> Result<Response, Refusal> {
        let asked = asked(&request);
        let (mut head, body) = request.into_parts();
        let body = read(body).await?;
        // HTTP/1.0 may leave it out, which wasi:http does not know.
        head.headers.entry(header::HOST).or_insert(HeaderValue::from_static("localhost"));
        let run = self.run(http::Request::from_parts(head, Full::new(body.clone())));
        let answered = time::timeout(self.deadline, run).await;
        answered.unwrap_or_else(|_| Err(format_err!("past its deadline"))).or_else(|error| {
            let path = asked.map_or("", |route| route.path);
            tracing::error!(path, reason = %error, "the component failed; the host answered in its place");
            let route = asked.map_err(|_| FAILED)?;
            Ok(answer(route, fault::answer(route.function, &String::from_utf8_lossy(&body))))
        })
    }
}

fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<Grant>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    Ok(linker)
}

/// What an instance is granted: memory, and nothing else.
struct Grant {
    limits: StoreLimits,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    requests: NoRequests,
    table: ResourceTable,
}

impl Grant {
    fn nothing(memory_bytes: usize) -> Grant {
        Grant {
            limits: StoreLimitsBuilder::new().memory_size(memory_bytes).build(),
            wasi: WasiCtx::builder().build(),
            http: WasiHttpCtx::new(),
            requests: NoRequests,
            table: ResourceTable::new(),
        }
    }
}

impl WasiView for Grant {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for Grant {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.requests }
    }
}

/// Denies every request of the component's own.
struct NoRequests;

/// What wasmtime calls the end of an exchange.
type Exchange = Box<dyn Future<Output = Result<(), wasmtime_wasi_http::Error>> + Send>;

impl WasiHttpHooks for NoRequests {
    fn send_request(
        &mut self,
        _: http::Request<WasiBody>,
        _: Option<RequestOptions>,
        _: Exchange,
    ) -> Box<dyn Future<Output = wasmtime_wasi_http::Result<(http::Response<WasiBody>, Exchange)>> + Send>
    {
        Box::new(async { Err(wasmtime_wasi_http::Error::HttpRequestDenied) })
    }
}
