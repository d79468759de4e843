//! Flags: Server Metrics, Network Latency, GPU Telemetry.

use super::flag::Status::Acts;
use super::flag::{FlagType, Takes, To, WhenAbsent, flags};
use crate::choice::Choice;
use crate::sections::observe;

flags! { SERVER_METRICS_FLAGS:
    SERVER_METRICS {
        name: "--server-metrics",
        kind: FlagType::Texts,
        takes: Takes::Many { comma: true, space: true },
        to: To::Rule("server_metrics.urls"),
        status: Acts,
        summary: "Extra Prometheus endpoints",
    }
    NO_SERVER_METRICS {
        name: "--no-server-metrics",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Rule("server_metrics.enabled"),
        status: Acts,
        summary: "Turn Prometheus scraping off",
    }
    SERVER_METRICS_FORMATS {
        name: "--server-metrics-formats",
        kind: FlagType::Choices(observe::ServerMetricsFormat::NAMES),
        takes: Takes::Many { comma: true, space: true },
        default: Some(WhenAbsent::DefaultOfKey),
        to: To::Rule("server_metrics.formats"),
        status: Acts,
        summary: "Server-metrics export files to write",
    }
}

flags! { NETWORK_LATENCY_FLAGS:
    NETWORK_LATENCY_AUTOMATIC {
        name: "--network-latency-automatic",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Rule("network_latency.enabled"),
        status: Acts,
        summary: "Measure the TCP round trip to the servers, and also report latencies without it",
    }
    NETWORK_LATENCY_MEAN {
        name: "--network-latency-mean",
        kind: FlagType::Float,
        to: To::Rule("network_latency.mean_ms"),
        status: Acts,
        summary: "Round trip in milliseconds to subtract from latencies, instead of measuring it; 0 subtracts nothing",
    }
    NETWORK_LATENCY_PING_INTERVAL {
        name: "--network-latency-ping-interval",
        kind: FlagType::Float,
        to: To::Rule("network_latency.ping_interval"),
        status: Acts,
        summary: "Seconds between round-trip probes of each server",
    }
}

flags! { GPU_TELEMETRY_FLAGS:
    GPU_TELEMETRY {
        name: "--gpu-telemetry",
        kind: FlagType::Texts,
        takes: Takes::Many { comma: true, space: true },
        to: To::Rule("gpu_telemetry.urls"),
        status: Acts,
        summary: "DCGM exporters besides those on ports 9400 and 9401 of this machine, and a CSV of custom metrics; or pynvml or amdsmi to read the GPUs of this machine directly; dashboard shows them in the dashboard from the start",
    }
    NO_GPU_TELEMETRY {
        name: "--no-gpu-telemetry",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Rule("gpu_telemetry.enabled"),
        status: Acts,
        summary: "Turn GPU telemetry off",
    }
}
