//! The contract as an HTTP service, for languages that run no WebAssembly: what its paths mean.
//!
//! `POST /<function>` takes and gives the JSON of the interface `json`, byte for byte. Two servers stand on this crate:
//! `retort sidecar`, and, where it is compiled to WebAssembly, a component for any host of `wasi:http`.

#[cfg(target_family = "wasm")]
mod component;
#[cfg(not(target_family = "wasm"))]
mod server;

#[cfg(not(target_family = "wasm"))]
pub use server::{Handler, answer, asked, read, serve};

use retort::strings;

/// The largest request body, in bytes: twice the largest report that is read whole.
pub const LARGEST_BODY: usize = 2 << 20;

const JSON: &str = "application/json";

/// A function of the interface `json`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "the interface documents its functions")]
pub enum Function {
    Budget,
    Codes,
    Evaluate,
    EvaluateMany,
    Fingerprint,
    Inspect,
    Reconcile,
    Redact,
    Render,
    Summarise,
    Version,
}

impl Function {
    /// What the logic itself answers; a constant needs no text.
    pub fn answer(self, text: &str) -> String {
        match self {
            Function::Budget => strings::budget(text),
            Function::Codes => strings::codes(),
            Function::Evaluate => strings::evaluate(text),
            Function::EvaluateMany => strings::evaluate_many(text),
            Function::Fingerprint => strings::fingerprint(text),
            Function::Inspect => strings::inspect(text),
            Function::Reconcile => strings::reconcile(text),
            Function::Redact => strings::redact(text),
            Function::Render => strings::render(text),
            Function::Summarise => strings::summarise(text),
            Function::Version => String::from(strings::version()),
        }
    }
}

/// One path of the service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Route {
    /// The path.
    pub path: &'static str,
    /// What it calls.
    pub function: Function,
    /// Whether it takes a text, in a POST; else it is read with GET.
    pub takes_text: bool,
    /// The media type of its answer.
    pub media_type: &'static str,
}

const fn call(path: &'static str, function: Function) -> Route {
    Route { path, function, takes_text: true, media_type: JSON }
}

const fn constant(path: &'static str, function: Function, media_type: &'static str) -> Route {
    Route { path, function, takes_text: false, media_type }
}

/// Every path.
pub const ROUTES: [Route; 11] = [
    call("/evaluate", Function::Evaluate),
    call("/evaluate-many", Function::EvaluateMany),
    call("/reconcile", Function::Reconcile),
    call("/summarise", Function::Summarise),
    call("/budget", Function::Budget),
    call("/redact", Function::Redact),
    call("/inspect", Function::Inspect),
    call("/fingerprint", Function::Fingerprint),
    call("/render", Function::Render),
    constant("/codes", Function::Codes, JSON),
    constant("/version", Function::Version, "text/plain"),
];

/// Why a request is no call. Its sentences are this file's own: nothing of the request is in them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// The status of HTTP.
    pub status: u16,
    /// What the status is called.
    pub title: &'static str,
    /// What to do instead.
    pub detail: &'static str,
    /// The header `allow`, where the method is wrong.
    pub allow: Option<&'static str>,
}

/// A body above [`LARGEST_BODY`].
pub const TOO_LARGE: Refusal =
    refusal(413, "Content Too Large", "A request body has at most 2097152 bytes.", None);
const NOT_FOUND: Refusal = refusal(
    404,
    "Not Found",
    "There is no such function. POST /evaluate takes a report; GET /version names the contract.",
    None,
);
const NOT_GET: Refusal = refusal(405, "Method Not Allowed", "This path is read with GET.", Some("GET"));
const NOT_POST: Refusal =
    refusal(405, "Method Not Allowed", "This function is called with POST.", Some("POST"));
const NOT_JSON: Refusal =
    refusal(415, "Unsupported Media Type", "Send the header content-type: application/json.", None);

/// A component that failed at something else than a call, for which there is no constant to answer with.
pub const FAILED: Refusal =
    refusal(500, "Internal Server Error", "The component failed. What it did is not known.", None);

const fn refusal(
    status: u16,
    title: &'static str,
    detail: &'static str,
    allow: Option<&'static str>,
) -> Refusal {
    Refusal { status, title, detail, allow }
}

impl Refusal {
    /// The media type of [`problem`](Refusal::problem).
    pub const MEDIA_TYPE: &'static str = "application/problem+json";

    /// The refusal as RFC 9457 has it.
    pub fn problem(&self) -> String {
        let Refusal { status, title, detail, .. } = self;
        format!(r#"{{"title":"{title}","status":{status},"detail":"{detail}"}}"#)
    }
}

/// What a request calls, before its body is read.
pub fn route(method: &str, path: &str, content_type: Option<&str>) -> Result<Route, Refusal> {
    let route = ROUTES.into_iter().find(|route| route.path == path).ok_or(NOT_FOUND)?;
    match (route.takes_text, method) {
        (true, "POST") if !is_json(content_type) => Err(NOT_JSON),
        (true, "POST") | (false, "GET") => Ok(route),
        (true, _) => Err(NOT_POST),
        (false, _) => Err(NOT_GET),
    }
}

/// Parameters of a media type, such as a charset, change nothing: JSON is UTF-8.
fn is_json(content_type: Option<&str>) -> bool {
    let essence = content_type.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(JSON)
}
