//! `retort sidecar --wasi-http`: components that export `wasi:http`, as a program of any language calls them.

#[path = "../sidecar/tests/golden/mod.rs"]
mod golden;

use std::io::{BufRead as _, BufReader, ErrorKind};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use reqwest::{Client, Method, Response, StatusCode};
use serde_json::Value;
use tokio::task;

const FAULTS: &str = include_str!("../../tests/corpus/faults.jsonl");

/// The service itself.
const SIDECAR: &str = "retort/retort.sidecar.wasm";
/// The sidecar crate's example, which goes astray.
const ASTRAY: &str = "wasm32-wasip2/component/examples/astray.wasm";

/// A file that `make sidecar` leaves below `target`.
fn built(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(name);
    assert!(path.is_file(), "`make sidecar` builds {}", path.display());
    path
}

/// The command with a component, and a client of it.
struct Served {
    process: Child,
    address: String,
    client: Client,
}

impl Served {
    fn start(component: &str) -> Served {
        // The client wants to be able to encrypt, although nothing here is encrypted.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut process = Command::new(env!("CARGO_BIN_EXE_retort"))
            .args(["sidecar", "--http", "127.0.0.1:0", "--wasi-http"])
            .arg(built(component))
            .env("RETORT_TEST_VARIABLE", "not for the component")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut lines = BufReader::new(process.stderr.take().expect("piped")).lines();
        let line = lines.next().expect("a line").expect("UTF-8");
        let address = line.strip_prefix("serving ").expect("the address").to_owned();
        // What is logged is read on, lest the pipe fills.
        std::thread::spawn(move || lines.count());
        Served { process, address, client: Client::new() }
    }

    async fn send(&self, method: Method, path: &str, body: impl Into<reqwest::Body>) -> Response {
        let request = self.client.request(method, format!("{}{path}", self.address));
        request.header("content-type", "application/json").body(body).send().await.expect("an answer")
    }

    async fn text(&self, method: Method, path: &str, body: impl Into<reqwest::Body>) -> String {
        let response = self.send(method, path, body).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.text().await.expect("a body")
    }

    async fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> String {
        self.text(Method::POST, path, body).await
    }

    /// Status and sentence of a refusal.
    async fn refusal(&self, method: Method, path: &str, body: impl Into<reqwest::Body>) -> (u16, String) {
        let response = self.send(method, path, body).await;
        let status = response.status().as_u16();
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let problem: Value = response.json().await.expect("JSON");
        assert_eq!(problem["status"], status);
        (status, problem["detail"].as_str().expect("a sentence").to_owned())
    }

    /// How it ends when it is asked to.
    fn end(&mut self) -> ExitStatus {
        let id = nix::unistd::Pid::from_raw(self.process.id().try_into().expect("a process id"));
        nix::sys::signal::kill(id, nix::sys::signal::SIGTERM).expect("it is there");
        self.process.wait().expect("it ends")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the command says of a file that it cannot serve.
fn refused(file: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_retort"))
        .args(["sidecar", "--http", "127.0.0.1:0", "--wasi-http"])
        .arg(file)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).expect("UTF-8")
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON")
}

/// Minted trace ids, 32 hexadecimal digits, become zeros.
fn without_minted(output: &str) -> String {
    let is_digit = |letter: char| matches!(letter, '0'..='9' | 'a'..='f');
    let minted = output.split(|letter| !is_digit(letter)).filter(|digits| digits.len() == 32);
    minted.fold(output.to_owned(), |written, digits| written.replace(digits, &"0".repeat(32)))
}

#[tokio::test]
async fn every_golden_verdict_comes_through_wasi_http_byte_for_byte() {
    let served = Served::start(SIDECAR);
    for (report, verdict) in golden::verdicts() {
        assert_eq!(served.post("/evaluate", report).await, verdict, "{report}");
    }
}

#[tokio::test]
async fn every_golden_call_comes_through_wasi_http_byte_for_byte() {
    let served = Served::start(SIDECAR);
    for call in golden::calls() {
        let text = |name: &str| call[name].as_str().expect("text");
        let path = format!("/{}", text("function"));
        let output = match text("function") {
            "codes" | "version" => served.text(Method::GET, &path, "").await,
            _ => served.post(&path, text("input").to_owned()).await,
        };
        assert_eq!(output, text("output"), "{}", text("name"));
    }
}

#[tokio::test]
async fn what_is_no_call_is_refused_by_the_component_and_what_is_too_large_by_the_host() {
    let served = Served::start(SIDECAR);
    let no_function = served.refusal(Method::POST, "/evaluat", "{}").await;
    assert_eq!((no_function.0, no_function.1.starts_with("There is no such function.")), (404, true));
    let not_post = served.refusal(Method::GET, "/evaluate", "").await;
    assert_eq!(not_post, (405, String::from("This function is called with POST.")));
    let too_large = served.refusal(Method::POST, "/evaluate", vec![b' '; (2 << 20) + 1]).await;
    assert_eq!(too_large, (413, String::from("A request body has at most 2097152 bytes.")));
}

#[tokio::test]
async fn a_request_without_a_host_as_http_1_0_allows_is_answered() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let served = Served::start(SIDECAR);
    let address = served.address.strip_prefix("http://").expect("an address");
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
    stream.write_all(b"GET /version HTTP/1.0\r\n\r\n").await.expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("UTF-8");
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n") && answer.ends_with("\r\n\r\n0.1.0"), "{answer}");
}

#[tokio::test]
async fn a_component_that_traps_is_answered_for_as_every_host_does() {
    let served = Served::start(ASTRAY);
    let mut replayed = 0;
    for line in FAULTS.lines().map(parse) {
        let text = |name: &str| line[name].as_str().expect("text");
        let path = format!("/{}", text("function"));
        let output = match text("function") {
            "codes" => served.text(Method::GET, &path, "").await,
            _ => served.post(&path, text("input").to_owned()).await,
        };
        assert_eq!(without_minted(&output), text("output"), "{}", text("name"));
        replayed += 1;
    }
    assert!(replayed > 20);
    assert_eq!(served.text(Method::GET, "/version", "").await, "");
    assert_eq!(served.post("/well", "").await, "well\n");
}

#[tokio::test]
async fn a_component_that_goes_astray_gives_a_500_and_the_next_request_its_answer() {
    let served = Served::start(ASTRAY);
    let failed = (500, String::from("The component failed. What it did is not known."));
    for path in ["/trap", "/exit", "/swell", "/halfway", "/endless", "/spin", "/sleep"] {
        assert_eq!(served.refusal(Method::POST, path, "").await, failed, "{path}");
        assert_eq!(served.post("/well", "").await, "well\n", "after {path}");
    }
}

#[tokio::test]
async fn instances_that_spin_leave_room_for_others() {
    let served = Served::start(ASTRAY);
    let spinning: Vec<_> = (0..8)
        .map(|_| {
            let request = served.client.post(format!("{}/spin", served.address));
            task::spawn(async move { request.send().await.expect("an answer").status() })
        })
        .collect();
    while spinning.iter().any(|one| !one.is_finished()) {
        assert_eq!(served.post("/well", "").await, "well\n");
    }
    for one in spinning {
        assert_eq!(one.await.expect("no panic"), StatusCode::INTERNAL_SERVER_ERROR);
    }
}

#[tokio::test]
async fn a_component_is_granted_no_file_no_environment_and_no_network() {
    let served = Served::start(ASTRAY);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    assert_eq!(
        served.post("/granted", address.to_string()).await,
        "variables 0, arguments 0, files Err(NotFound), socket Err(PermissionDenied), request denied true"
    );
    listener.set_nonblocking(true).expect("a socket of this process");
    assert_eq!(listener.accept().map(drop).map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));
}

#[test]
fn a_file_that_serves_nothing_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("text.wasm");
    std::fs::write(&text, "no component").expect("written");
    let not_a_service =
        "retort: this file does not hold a component that exports wasi:http/incoming-handler: ";
    for file in [text, built("retort/retort.component.wasm"), built("retort/retort.core.wasm")] {
        let said = refused(&file);
        assert!(said.starts_with(not_a_service), "{said}");
        assert!(said.ends_with("; `make sidecar` builds one\n"), "{said}");
    }
    let missing = refused(&folder.path().join("missing.wasm"));
    assert!(missing.starts_with("retort: cannot read the component "), "{missing}");
}

#[tokio::test]
async fn it_ends_in_good_order() {
    let mut served = Served::start(SIDECAR);
    assert_eq!(served.text(Method::GET, "/version", "").await, "0.1.0");
    assert!(served.end().success());
}
