//! What is observed besides the requests, and where results are sent.

use crate::choice::{Choice, choices};
use crate::range::{at_least, more_than};
use crate::setting::{List, section};
use aiperf_plan::LocalSource;

/// What reads the GPUs: DCGM exporters, or one of the sources of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuCollector {
    Dcgm,
    Local(LocalSource),
}

const COLLECTORS: usize = 1 + LocalSource::ALL.len();

impl Choice for GpuCollector {
    const ALL: &'static [Self] = &{
        let mut all = [Self::Dcgm; COLLECTORS];
        let mut local = 0;
        while local < LocalSource::ALL.len() {
            all[1 + local] = Self::Local(LocalSource::ALL[local]);
            local += 1;
        }
        all
    };
    const NAMES: &'static [&'static str] = &{
        let mut names = ["dcgm"; COLLECTORS];
        let mut local = 0;
        while local < LocalSource::ALL.len() {
            names[1 + local] = LocalSource::ALL[local].keyword();
            local += 1;
        }
        names
    };
}

choices! {
    /// How GPU telemetry is shown.
    GpuMode {
        Summary = "summary",
        RealtimeDashboard = "realtime_dashboard",
    }
    /// Format of the server metrics.
    ServerMetricsFormat {
        Json = "json",
        Csv = "csv",
        Jsonl = "jsonl",
        Parquet = "parquet",
    }
    /// What is sent by OTLP.
    StreamDomain {
        Default = "default",
        Metrics = "metrics",
        Timing = "timing",
        None = "none",
    }
    /// How metric endpoints are found.
    DiscoveryMode {
        Auto = "auto",
        Kubernetes = "kubernetes",
        Disabled = "disabled",
    }
}

section! {
    /// GPU telemetry.
    GpuTelemetry {
        /// On or off
        enabled: bool = true;
        /// DCGM exporters besides the default ones
        urls: List<String>;
        /// CSV of custom metrics, one row `FIELD, gauge|counter, help text` each
        metrics_file: String;
        /// What reads the GPUs: DCGM exporters, or on this machine NVML or the AMD driver
        collector: GpuCollector = GpuCollector::Dcgm;
        /// How it is shown: after the run, or also in the dashboard
        mode: GpuMode = GpuMode::Summary;
    }
    /// Metrics of the server.
    ServerMetrics {
        /// On or off
        enabled: bool = true;
        /// Metric endpoints besides those of the server's URLs
        urls: List<String>;
        formats: List<ServerMetricsFormat> = [ServerMetricsFormat::Json, ServerMetricsFormat::Csv, ServerMetricsFormat::Parquet];
        /// How further endpoints are found
        discovery: Discovery;
    }
    /// How metric endpoints are found.
    Discovery {
        /// Discovery mode
        mode: DiscoveryMode = DiscoveryMode::Auto;
        /// Label selector of pods
        label_selector: String;
        /// Namespace of the pods
        namespace: String;
        /// Timeout in seconds
        timeout_seconds: f64 [more_than(0.0)] = 30.0;
    }
    /// Round-trip time of the network.
    NetworkLatency {
        /// Also report latencies without the round trip
        enabled: bool = false;
        /// Seconds between probes of each server
        ping_interval: f64 [more_than(0.0)] = 1.0;
        /// A known mean, milliseconds, instead of probing
        mean_ms: f64 [at_least(0.0)];
    }
    /// Metrics sent by OTLP.
    Otel {
        /// URL of the receiver; /v1/metrics is added
        metrics_url: String;
        /// Send request metrics
        stream_metrics_enabled: bool = true;
        /// Send phase progress
        stream_timing_enabled: bool = true;
        /// Attributes of the resource
        custom_resource_attributes: Vec<(String, String)>;
        /// Provider name in GenAI attributes; by default from the host of the URL
        gen_ai_provider: String;
    }
    /// Results sent to MLflow.
    Mlflow {
        /// URL of the tracking server
        tracking_uri: String;
        /// MLflow experiment name
        experiment: String = "aiperf";
        /// MLflow run name
        run_name: String;
        tags: Vec<(String, String)>;
        /// MLflow parent run
        parent_run_id: String;
        /// Which files to upload
        artifact_globs: List<String>;
    }
    /// Results sent to Weights & Biases.
    Wandb {
        project: String;
        /// W&B team or user
        entity: String;
        /// W&B run name
        run_name: String;
        /// W&B tags
        tags: List<String>;
    }
}
