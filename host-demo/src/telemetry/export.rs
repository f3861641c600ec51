//! Where telemetry goes: OTLP for traces and metrics, and Prometheus' text format for whoever scrapes.

use std::io;

use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter, WithExportConfig as _};
use opentelemetry_prometheus_text_exporter::PrometheusExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;

use super::Telemetry;

/// Why an exporter could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the OTLP exporter cannot be made: {0}")]
pub struct ExportError(#[from] ExporterBuildError);

/// The providers, and the text that Prometheus scrapes.
#[derive(Debug)]
pub struct Exporters {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
    prometheus: PrometheusExporter,
}

impl Exporters {
    /// Exports under a service's name. Traces and metrics go to `endpoint` by OTLP over HTTP, such as
    /// `http://localhost:4318`, where there is one; Prometheus' text is always there.
    pub fn new(service: &str, endpoint: Option<&str>) -> Result<Exporters, ExportError> {
        let resource = Resource::builder().with_service_name(String::from(service)).build();
        let prometheus = PrometheusExporter::new();
        let mut traces = SdkTracerProvider::builder().with_resource(resource.clone());
        let mut metrics = SdkMeterProvider::builder().with_resource(resource).with_reader(prometheus.clone());
        if let Some(endpoint) = endpoint {
            // The HTTP client has no default; where the program has chosen one already, that one stays.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let endpoint = endpoint.trim_end_matches('/');
            let spans = SpanExporter::builder().with_http().with_endpoint(format!("{endpoint}/v1/traces"));
            let numbers =
                MetricExporter::builder().with_http().with_endpoint(format!("{endpoint}/v1/metrics"));
            traces = traces.with_batch_exporter(spans.build()?);
            metrics = metrics.with_reader(PeriodicReader::builder(numbers.build()?).build());
        }
        Ok(Exporters { traces: traces.build(), metrics: metrics.build(), prometheus })
    }

    /// The telemetry that goes there.
    pub fn telemetry(&self) -> Telemetry {
        Telemetry::new(&self.traces, &self.metrics)
    }

    /// The metrics in Prometheus' text format.
    pub fn prometheus_text(&self) -> io::Result<String> {
        let mut text = Vec::new();
        self.prometheus.export(&mut text)?;
        String::from_utf8(text).map_err(io::Error::other)
    }

    /// Sends what has not been sent yet, and stops. What cannot be sent is lost: the program ends anyway.
    pub fn shut_down(&self) {
        let _ = self.traces.shutdown();
        let _ = self.metrics.shutdown();
    }
}
