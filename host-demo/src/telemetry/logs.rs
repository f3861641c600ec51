//! Diagnostics as structured logs, on a path of their own.
//!
//! A diagnostic is restricted, so it is logged under its own target. Whoever sets up logging gives
//! [`diagnostics_layer`] a writer that few can read, and filters every other layer with [`is_no_diagnostic`].

use tracing::{Metadata, Subscriber};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

/// The target of diagnostics.
pub const DIAGNOSTICS: &str = "retort::diagnostics";

/// Logs a diagnostic, given as JSON.
pub fn log_diagnostic(trace_id: &str, code: &str, diagnostic: &str) {
    tracing::info!(target: DIAGNOSTICS, trace_id, code, diagnostic);
}

/// Writes diagnostics, and nothing else, as JSON Lines.
pub fn diagnostics_layer<S, W>(writer: W) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let is_diagnostic = tracing_subscriber::filter::filter_fn(|metadata| !is_no_diagnostic(metadata));
    tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(writer)
        .with_filter(is_diagnostic)
}

/// The filter of every other layer.
pub fn is_no_diagnostic(metadata: &Metadata<'_>) -> bool {
    metadata.target() != DIAGNOSTICS
}
