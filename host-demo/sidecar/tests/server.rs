//! The service over HTTP, as a program of any language calls it.

mod golden;

use reqwest::{Client, Method, Response, StatusCode};
use retort::strings;
use retort_sidecar::{Function, LARGEST_BODY, serve};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The service over the logic itself.
struct Sidecar {
    address: String,
    client: Client,
    stop: CancellationToken,
    served: JoinHandle<std::io::Result<()>>,
}

impl Sidecar {
    async fn start(requests: usize) -> Sidecar {
        // The client wants to be able to encrypt, although nothing here is encrypted.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let stop = CancellationToken::new();
        let served = tokio::spawn(serve(listener, Function::answer, requests, stop.clone()));
        Sidecar { address, client: Client::new(), stop, served }
    }

    async fn send(&self, method: Method, path: &str, kind: &str, body: impl Into<reqwest::Body>) -> Response {
        let request = self.client.request(method, format!("{}{path}", self.address));
        request.header("content-type", kind).body(body).send().await.expect("an answer")
    }

    async fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> String {
        let response = self.send(Method::POST, path, "application/json", body).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "application/json");
        response.text().await.expect("a body")
    }

    async fn get(&self, path: &str) -> String {
        let response = self.send(Method::GET, path, "", "").await;
        assert_eq!(response.status(), StatusCode::OK);
        response.text().await.expect("a body")
    }

    /// Status, `allow` and the sentence of a refusal.
    async fn refusal(&self, method: Method, path: &str, kind: &str, body: Vec<u8>) -> (u16, String, String) {
        let response = self.send(method, path, kind, body).await;
        let status = response.status().as_u16();
        let allow =
            response.headers().get("allow").map_or("", |value| value.to_str().expect("text")).to_owned();
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let problem: Value = response.json().await.expect("JSON");
        assert_eq!(problem["status"], status);
        (status, allow, problem["detail"].as_str().expect("a sentence").to_owned())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_golden_verdict_comes_over_http_byte_for_byte() {
    let sidecar = Sidecar::start(64).await;
    for (report, verdict) in golden::verdicts() {
        assert_eq!(sidecar.post("/evaluate", report).await, verdict, "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_golden_call_comes_over_http_byte_for_byte() {
    let sidecar = Sidecar::start(64).await;
    for call in golden::calls() {
        let text = |name: &str| call[name].as_str().expect("text");
        let path = format!("/{}", text("function"));
        let output = match text("function") {
            "codes" | "version" => sidecar.get(&path).await,
            _ => sidecar.post(&path, text("input").to_owned()).await,
        };
        assert_eq!(output, text("output"), "{}", text("name"));
    }
}

/// The page's table of the exceptions of MongrelDB's F# client: report, code, outcome, whether it may be repeated.
#[tokio::test(flavor = "multi_thread")]
async fn the_exceptions_of_mongreldbs_f_sharp_client_mean_what_the_page_says() {
    let sidecar = Sidecar::start(64).await;
    let thrown = |class: &str| json!({ "type": format!("MongrelDB.Client.{class}"), "message": "no" });
    let with = |class: &str, name: &str, value: Value| {
        let mut error = thrown(class);
        error[name] = value;
        error
    };
    let unique = with("ConflictException", "ErrorCode", json!("UNIQUE_VIOLATION"));
    let commit = with("ConflictException", "ErrorCode", json!("COMMIT_OUTCOME"));
    let reset =
        json!({ "type": "System.Net.Sockets.SocketException", "message": "Connection reset by peer" });
    let network = with("QueryException", "cause", reset);
    let cases = [
        (thrown("AuthException"), "CREDENTIALS_REJECTED", "not_committed", false),
        (thrown("NotFoundException"), "CONTRACT_BROKEN", "not_committed", false),
        (unique, "UNIQUE_VIOLATION", "not_committed", false),
        (commit, "OUTCOME_UNKNOWN", "unknown", false),
        (thrown("ConflictException"), "OUTCOME_UNKNOWN", "unknown", false),
        (thrown("QueryException"), "OUTCOME_UNKNOWN", "unknown", false),
        (network.clone(), "OUTCOME_UNKNOWN", "unknown", false),
    ];
    let envelope = async |error: &Value, operation: Value| {
        let report = json!({ "error": error, "operation": operation }).to_string();
        let verdict: Value = serde_json::from_str(&sidecar.post("/evaluate", report).await).expect("JSON");
        verdict["envelope"].clone()
    };
    let write = json!({ "effect": "write", "phase": "execute", "transaction": "none" });
    for (error, code, outcome, retryable) in cases {
        let told = envelope(&error, write.clone()).await;
        let told = (&told["code"], &told["outcome"], &told["retryable"]);
        assert_eq!(told, (&json!(code), &json!(outcome), &json!(retryable)), "{error}");
    }
    let mut keyed = write.clone();
    (keyed["operation_key"], keyed["dedupe"]) = (json!("key-1"), json!("enforced"));
    let told = envelope(&network, keyed).await;
    assert_eq!((&told["code"], &told["next"]), (&json!("CONNECTION_LOST"), &json!("resubmit")));
    let placed = with("ConflictException", "OpIndex", json!(2));
    assert_eq!(envelope(&placed, write).await["op_index"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_call_is_refused_with_a_reason() {
    let sidecar = Sidecar::start(64).await;
    let json = "application/json";
    let cases = [
        (Method::POST, "/evaluat", json, 0, 404, "", "There is no such function."),
        (Method::GET, "/evaluate", json, 0, 405, "POST", "This function is called with POST."),
        (Method::POST, "/codes", json, 0, 405, "GET", "This path is read with GET."),
        (
            Method::POST,
            "/evaluate",
            "text/plain",
            2,
            415,
            "",
            "Send the header content-type: application/json.",
        ),
        (
            Method::POST,
            "/evaluate",
            json,
            LARGEST_BODY + 1,
            413,
            "",
            "A request body has at most 2097152 bytes.",
        ),
    ];
    for (method, path, kind, length, status, allow, detail) in cases {
        let refusal = sidecar.refusal(method, path, kind, vec![b' '; length]).await;
        assert_eq!((refusal.0, refusal.1.as_str()), (status, allow));
        assert!(refusal.2.starts_with(detail), "{}", refusal.2);
    }
    let largest = format!(r#"{{"error":"{}"}}"#, "m".repeat(LARGEST_BODY - 12));
    assert_eq!(sidecar.post("/evaluate", largest.clone()).await.len(), strings::evaluate(&largest).len());
    let read = sidecar.send(Method::POST, "/evaluate", "Application/JSON; charset=utf-8", "{}").await;
    assert_eq!(read.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_requests_than_there_are_places_are_told_to_come_back() {
    let sidecar = Sidecar::start(0).await;
    let response = sidecar.send(Method::GET, "/version", "", "").await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["retry-after"], "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_in_good_order_although_a_connection_is_kept() {
    let sidecar = Sidecar::start(64).await;
    assert_eq!(sidecar.get("/version").await, strings::version());
    sidecar.stop.cancel();
    assert!(sidecar.served.await.expect("it does not panic").is_ok());
}
