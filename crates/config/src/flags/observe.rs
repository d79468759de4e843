//! Flags: server metrics, network latency, gpu telemetry.

use super::Status::*;
use super::*;

pub(super) const SERVER_METRICS: &[Flag] = &[
    Flag {
        name: "--server-metrics",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: true },
        path: "server_metrics.urls",
        status: NotYet("its feature does not exist yet"),
        summary: "Extra Prometheus endpoints",
        ..BASE
    },
    Flag {
        name: "--no-server-metrics",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "server_metrics.enabled=false",
        status: Acts,
        summary: "Turn Prometheus scraping off",
        ..BASE
    },
    Flag {
        name: "--server-metrics-formats",
        kind: Kind::Choices(&["json", "csv", "jsonl", "parquet"]),
        takes: Takes::Many { comma: true, space: true },
        default: Some("json,csv,parquet"),
        path: "server_metrics.formats",
        status: NotYet("its feature does not exist yet"),
        summary: "Server-metrics export files to write",
        ..BASE
    },
];

pub(super) const NETWORK_LATENCY: &[Flag] = &[
    Flag {
        name: "--network-latency-automatic",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "network_latency.enabled",
        status: NotYet("its feature does not exist yet"),
        summary: "Measure TCP round trip and emit adjusted metrics",
        ..BASE
    },
    Flag {
        name: "--network-latency-mean",
        kind: Kind::Float(at_least(0.0)),
        path: "network_latency.mean_ms",
        status: NotYet("its feature does not exist yet"),
        summary: "Use this round trip in milliseconds instead of measuring",
        ..BASE
    },
    Flag {
        name: "--network-latency-ping-interval",
        kind: Kind::Float(more_than(0.0)),
        path: "network_latency.ping_interval",
        status: NotYet("its feature does not exist yet"),
        summary: "Seconds between round-trip probes",
        ..BASE
    },
];

pub(super) const GPU_TELEMETRY: &[Flag] = &[
    Flag {
        name: "--gpu-telemetry",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: true },
        path: "gpu_telemetry.*",
        status: NotYet("its feature does not exist yet"),
        summary: "DCGM URLs, a local collector name, dashboard, or a metrics CSV",
        ..BASE
    },
    Flag {
        name: "--no-gpu-telemetry",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "gpu_telemetry.enabled=false",
        status: Acts,
        summary: "Turn GPU telemetry off",
        ..BASE
    },
];
