//! What is exported of operations and attempts: whole spans, whole metrics, and where they arrive.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use opentelemetry::Context;
use opentelemetry::trace::{SpanId, Status};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use retort::observe::AttemptRecord;
use retort::report::Report;
use retort_host::telemetry::{Exporters, Telemetry, diagnostics_layer, is_no_diagnostic, log_diagnostic};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

/// What an attempt met. The mail address must not get anywhere.
const DEADLOCK: &str = r#"{"error": {"code": "40P01", "severity": "ERROR", "message": "deadlock detected", "detail": "Process 1 waits for ada@example.com"},
    "system": "postgresql", "operation": {"phase": "execute", "transaction": "failed", "statement": "UPDATE users SET mail = 'ada@example.com'"},
    "attempt": {"number": 1}, "context": {"operation_id": "op-1", "attempt_id": "a-1", "tool": "update_order"}, "seed": 7}"#;
const LOST: &str = r#"{"error": {"code": "ECONNRESET", "syscall": "read", "message": "read ECONNRESET ada@example.com"},
    "system": "postgresql", "operation": {"phase": "commit", "transaction": "committing"},
    "attempt": {"number": 2, "prior": "not_committed"}, "context": {"operation_id": "op-1", "attempt_id": "a-2", "tool": "update_order"}, "seed": 8}"#;

fn record(report: &str) -> AttemptRecord {
    retort::evaluate(&Report::read(report)).attempt
}

fn at(milliseconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds)
}

/// An operation whose first attempt meets a deadlock, and whose second succeeds or loses its connection at COMMIT.
fn update(telemetry: &Telemetry, is_lost: bool) {
    let mut operation = telemetry.operation("update_order", &Context::new(), at(0));
    let (deadlock, lost) = (record(DEADLOCK), record(LOST));
    operation.attempt("postgresql", Some("UPDATE"), (at(10), at(30)), Some(&deadlock));
    operation.attempt("postgresql", Some("UPDATE"), (at(200), at(260)), is_lost.then_some(&lost));
    operation.end(is_lost, at(300));
}

/// A span without its random ids.
fn show(span: &SpanData, names: &HashMap<SpanId, String>) -> String {
    let mut attributes: Vec<String> = span
        .attributes
        .iter()
        .map(|attribute| format!("  {} = {}", attribute.key, attribute.value))
        .collect();
    attributes.sort();
    let status = match &span.status {
        Status::Unset => String::from("unset"),
        Status::Ok => String::from("ok"),
        Status::Error { description } => format!("error {description}"),
    };
    let lasted = span.end_time.duration_since(span.start_time).expect("it ends after it began");
    let parent = names.get(&span.parent_span_id).map_or("nothing", String::as_str);
    format!(
        "{:?} {} under {parent}, {} ms, {status}, {} events\n{}\n",
        span.span_kind,
        span.name,
        lasted.as_millis(),
        span.events.len(),
        attributes.join("\n")
    )
}

fn spans(is_lost: bool) -> String {
    let exporter = InMemorySpanExporter::default();
    let traces = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    update(&Telemetry::new(&traces, &SdkMeterProvider::builder().build()), is_lost);
    let spans = exporter.get_finished_spans().expect("they are kept");
    let names = spans.iter().map(|span| (span.span_context.span_id(), span.name.to_string())).collect();
    assert!(spans.iter().all(|span| span.span_context.trace_id() == spans[0].span_context.trace_id()));
    spans.iter().map(|span| show(span, &names)).collect()
}

#[test]
fn a_retried_attempt_marks_its_own_span_and_not_the_operations() {
    assert_eq!(
        spans(false),
        "\
Client UPDATE under tools/call update_order, 20 ms, error DEADLOCK, 0 events
  db.operation.name = UPDATE
  db.response.status_code = 40P01
  db.system.name = postgresql
  error.type = DEADLOCK
  gen_ai.tool.name = update_order
  retort.attempt.id = a-1
  retort.attempt.number = 1
  retort.category = transient
  retort.final = false
  retort.next = retry
  retort.operation.id = op-1
  retort.outcome = not_committed
  retort.retry_delay_ms = 156
  retort.retryable = true
Client UPDATE under tools/call update_order, 60 ms, unset, 0 events
  db.operation.name = UPDATE
  db.system.name = postgresql
Server tools/call update_order under nothing, 300 ms, unset, 0 events
  gen_ai.operation.name = execute_tool
  gen_ai.tool.name = update_order
  mcp.method.name = tools/call
  retort.attempts = 2
"
    );
}

#[test]
fn a_failed_operation_says_how_it_ended() {
    let spans = spans(true);
    let (_, after_first) =
        spans.split_once("Client UPDATE under tools/call update_order, 60 ms").expect("two attempts");
    assert_eq!(
        after_first,
        ", error OUTCOME_UNKNOWN, 0 events
  db.operation.name = UPDATE
  db.response.status_code = ECONNRESET
  db.system.name = postgresql
  error.type = OUTCOME_UNKNOWN
  gen_ai.tool.name = update_order
  retort.attempt.id = a-2
  retort.attempt.number = 2
  retort.category = unknown_outcome
  retort.final = true
  retort.next = escalate
  retort.operation.id = op-1
  retort.outcome = unknown
  retort.retryable = false
Server tools/call update_order under nothing, 300 ms, error OUTCOME_UNKNOWN, 0 events
  error.type = OUTCOME_UNKNOWN
  gen_ai.operation.name = execute_tool
  gen_ai.tool.name = update_order
  mcp.method.name = tools/call
  retort.attempts = 2
  retort.category = unknown_outcome
  retort.duplicates_possible = false
  retort.final = true
  retort.first_code = DEADLOCK
  retort.operation.id = op-1
  retort.outcome = unknown
  retort.total_delay_ms = 156
"
    );
}

/// A figure of the text: its name, its value, and its labels in the order of the alphabet. Buckets are left out, and what
/// is the same for all.
fn figure(line: &str) -> Option<String> {
    let (name, rest) = line.split_once('{')?;
    let (labels, value) = rest.split_once("} ")?;
    let mut labels: Vec<&str> =
        labels.split(',').filter(|label| !label.starts_with("otel_scope_name=")).collect();
    labels.sort_unstable();
    let is_figure = !line.starts_with('#') && !name.ends_with("_bucket") && name != "target_info";
    is_figure.then(|| format!("{name} {value} {}", labels.join(" ")))
}

#[test]
fn metrics_count_codes_outcomes_durations_and_retries() {
    let exporters = Exporters::new("orders", None).expect("nothing has to be reached");
    let telemetry = exporters.telemetry();
    update(&telemetry, false);
    update(&telemetry, true);
    let text = exporters.prometheus_text().expect("it is text");
    let mut figures: Vec<String> = text.lines().filter_map(figure).collect();
    figures.sort();
    assert_eq!(
        figures,
        [
            r#"db_client_operation_duration_seconds_count 1 db_operation_name="UPDATE" db_response_status_code="ECONNRESET" db_system_name="postgresql" error_type="OUTCOME_UNKNOWN" retort_category="unknown_outcome" retort_next="escalate" retort_outcome="unknown""#,
            r#"db_client_operation_duration_seconds_count 1 db_operation_name="UPDATE" db_system_name="postgresql""#,
            r#"db_client_operation_duration_seconds_count 2 db_operation_name="UPDATE" db_response_status_code="40P01" db_system_name="postgresql" error_type="DEADLOCK" retort_category="transient" retort_next="retry" retort_outcome="not_committed""#,
            r#"db_client_operation_duration_seconds_sum 0.04 db_operation_name="UPDATE" db_response_status_code="40P01" db_system_name="postgresql" error_type="DEADLOCK" retort_category="transient" retort_next="retry" retort_outcome="not_committed""#,
            r#"db_client_operation_duration_seconds_sum 0.06 db_operation_name="UPDATE" db_response_status_code="ECONNRESET" db_system_name="postgresql" error_type="OUTCOME_UNKNOWN" retort_category="unknown_outcome" retort_next="escalate" retort_outcome="unknown""#,
            r#"db_client_operation_duration_seconds_sum 0.06 db_operation_name="UPDATE" db_system_name="postgresql""#,
            r#"mcp_server_operation_duration_seconds_count 1 error_type="OUTCOME_UNKNOWN" gen_ai_tool_name="update_order" mcp_method_name="tools/call""#,
            r#"mcp_server_operation_duration_seconds_count 1 gen_ai_tool_name="update_order" mcp_method_name="tools/call""#,
            r#"mcp_server_operation_duration_seconds_sum 0.3 error_type="OUTCOME_UNKNOWN" gen_ai_tool_name="update_order" mcp_method_name="tools/call""#,
            r#"mcp_server_operation_duration_seconds_sum 0.3 gen_ai_tool_name="update_order" mcp_method_name="tools/call""#,
            r#"retort_errors_total 1 db_operation_name="UPDATE" db_response_status_code="ECONNRESET" db_system_name="postgresql" error_type="OUTCOME_UNKNOWN" retort_category="unknown_outcome" retort_next="escalate" retort_outcome="unknown""#,
            r#"retort_errors_total 2 db_operation_name="UPDATE" db_response_status_code="40P01" db_system_name="postgresql" error_type="DEADLOCK" retort_category="transient" retort_next="retry" retort_outcome="not_committed""#,
            r#"retort_retries_total 2 gen_ai_tool_name="update_order""#,
        ],
        "{text}"
    );
    assert!(!text.contains("ada@example.com"));
}

/// Takes one request, answers 200, and gives back its first line and its body.
fn take_request(listener: &TcpListener) -> (String, Vec<u8>) {
    let (mut stream, _) = listener.accept().expect("a request comes");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("the stream takes a time-out");
    let mut bytes = Vec::new();
    loop {
        if let Some((head, body)) = split_request(&bytes) {
            answer(&mut stream);
            return (head, body);
        }
        let mut chunk = [0; 4096];
        let length = stream.read(&mut chunk).expect("the request goes on");
        assert!(length > 0, "the request ends too early");
        bytes.extend_from_slice(&chunk[..length]);
    }
}

fn answer(stream: &mut TcpStream) {
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .expect("the answer is sent");
}

fn split_request(bytes: &[u8]) -> Option<(String, Vec<u8>)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length: usize =
        head.lines().find_map(|line| line.strip_prefix("content-length: "))?.trim().parse().ok()?;
    let body = &bytes[end + 4..];
    (body.len() >= length).then(|| (head.lines().next().unwrap_or_default().into(), body.to_vec()))
}

#[test]
fn traces_and_metrics_arrive_by_otlp() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let endpoint = format!("http://{}", listener.local_addr().expect("it is bound"));
    let collector = std::thread::spawn(move || [take_request(&listener), take_request(&listener)]);
    let exporters = Exporters::new("orders", Some(&endpoint)).expect("the exporters are made");
    update(&exporters.telemetry(), true);
    exporters.shut_down();
    let mut requests = collector.join().expect("both requests came");
    requests.sort();
    let [(metrics, numbers), (traces, spans)] = requests;
    assert_eq!(
        (metrics.as_str(), traces.as_str()),
        ("post /v1/metrics http/1.1", "post /v1/traces http/1.1")
    );
    let holds = |body: &[u8], text: &str| body.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds(&spans, "retort.duplicates_possible") && holds(&spans, "OUTCOME_UNKNOWN"));
    assert!(holds(&numbers, "db.client.operation.duration") && holds(&numbers, "retort.errors"));
    for body in [&numbers, &spans] {
        assert!(!holds(body, "ada@example.com") && !holds(body, "deadlock detected"));
    }
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("nobody panicked").clone()).expect("logs are text")
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panicked").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn diagnostics_are_logged_on_a_path_of_their_own() {
    let (restricted, ordinary) = (Log::default(), Log::default());
    let (to_restricted, to_ordinary) = (restricted.clone(), ordinary.clone());
    let ordinary_layer = tracing_subscriber::fmt::layer()
        .with_writer(move || to_ordinary.clone())
        .with_filter(filter_fn(is_no_diagnostic));
    let subscriber = tracing_subscriber::registry()
        .with(diagnostics_layer(move || to_restricted.clone()))
        .with(ordinary_layer);
    tracing::subscriber::with_default(subscriber, || {
        log_diagnostic("t-1", "DEADLOCK", r#"{"rule":"postgres/40P01"}"#);
        tracing::info!("the server listens");
    });
    let line: serde_json::Value =
        serde_json::from_str(restricted.text().trim_end()).expect("one line of JSON");
    assert_eq!(
        (&line["target"], &line["trace_id"], &line["code"], &line["diagnostic"]),
        (
            &"retort::diagnostics".into(),
            &"t-1".into(),
            &"DEADLOCK".into(),
            &r#"{"rule":"postgres/40P01"}"#.into()
        )
    );
    assert!(ordinary.text().contains("the server listens") && !ordinary.text().contains("40P01"));
}
