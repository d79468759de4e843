//! Flags: Server Metrics, Network Latency, GPU Telemetry.

use super::flag::Status::{Acts, NotYet};
use super::flag::{BASE, Flag, Kind, Takes, To};
use crate::choice::Choice;
use crate::range::{at_least, more_than};
use crate::sections::observe;

pub(super) static SERVER_METRICS: &[Flag] = &[
    Flag {
        name: "--server-metrics",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: true },
        to: To::Rule("server_metrics.urls"),
        status: NotYet("metrics of the server are not collected"),
        summary: "Extra Prometheus endpoints",
        ..BASE
    },
    Flag {
        name: "--no-server-metrics",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        to: To::Rule("server_metrics.enabled"),
        status: Acts,
        summary: "Turn Prometheus scraping off",
        ..BASE
    },
    Flag {
        name: "--server-metrics-formats",
        kind: Kind::Choices(observe::ServerMetricsFormat::NAMES),
        takes: Takes::Many { comma: true, space: true },
        default: Some("json,csv,parquet"),
        to: To::Rule("server_metrics.formats"),
        status: NotYet("metrics of the server are not collected"),
        summary: "Server-metrics export files to write",
        ..BASE
    },
];

pub(super) static NETWORK_LATENCY: &[Flag] = &[
    Flag {
        name: "--network-latency-automatic",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        to: To::Rule("network_latency.enabled"),
        status: NotYet("the network is not probed"),
        summary: "Measure TCP round trip and emit adjusted metrics",
        ..BASE
    },
    Flag {
        name: "--network-latency-mean",
        kind: Kind::Float(at_least(0.0)),
        to: To::Rule("network_latency.mean_ms"),
        status: NotYet("the network is not probed"),
        summary: "Use this round trip in milliseconds instead of measuring",
        ..BASE
    },
    Flag {
        name: "--network-latency-ping-interval",
        kind: Kind::Float(more_than(0.0)),
        to: To::Rule("network_latency.ping_interval"),
        status: NotYet("the network is not probed"),
        summary: "Seconds between round-trip probes",
        ..BASE
    },
];

pub(super) static GPU_TELEMETRY: &[Flag] = &[
    Flag {
        name: "--gpu-telemetry",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: true },
        to: To::Rule("gpu_telemetry.urls"),
        status: NotYet("GPU telemetry is not collected"),
        summary: "DCGM URLs, a local collector name, dashboard, or a metrics CSV",
        ..BASE
    },
    Flag {
        name: "--no-gpu-telemetry",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        to: To::Rule("gpu_telemetry.enabled"),
        status: Acts,
        summary: "Turn GPU telemetry off",
        ..BASE
    },
];
