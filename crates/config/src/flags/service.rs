//! Flags: UI, service, workers, zmq communication.

use super::Status::*;
use super::*;

pub(super) const UI: &[Flag] = &[Flag {
    name: "--ui-type",
    kind: Kind::Choice(&["dashboard", "none", "simple"]),
    aliases: &["--ui"],
    default: Some("dashboard"),
    path: "runtime.ui",
    status: Acts,
    summary: "Terminal interface",
    ..BASE
}];

pub(super) const SERVICE: &[Flag] = &[
    Flag {
        name: "--log-level",
        kind: Kind::Choice(&["TRACE", "DEBUG", "INFO", "NOTICE", "WARNING", "SUCCESS", "ERROR", "CRITICAL"]),
        default: Some("INFO"),
        path: "logging.level",
        status: Acts,
        summary: "Log threshold",
        ..BASE
    },
    Flag {
        name: "--verbose",
        kind: Kind::Bool,
        aliases: &["-v"],
        takes: Takes::Nothing,
        path: "logging.level=DEBUG",
        status: Acts,
        summary: "Debug logs and the simple UI",
        ..BASE
    },
    Flag {
        name: "--extra-verbose",
        kind: Kind::Bool,
        aliases: &["-vv"],
        takes: Takes::Nothing,
        path: "logging.level=TRACE",
        status: Acts,
        summary: "Trace logs and the simple UI",
        ..BASE
    },
    Flag {
        name: "--timestamps",
        kind: Kind::Choice(&["auto", "kernel", "user"]),
        default: Some("auto"),
        path: "runtime.timestamps",
        status: Acts,
        summary: "Which instant a read gets: the kernel's arrival stamp (auto: where it gives one) or when the read returned",
        ..BASE
    },
    Flag {
        name: "--record-processor-service-count",
        kind: Kind::Int(at_least(1.0)),
        aliases: &["--record-processors"],
        path: "runtime.record_processors",
        status: NoEffect("records are processed by threads of the same process, sized by the load itself"),
        summary: "Number of record processors",
        ..BASE
    },
    Flag {
        name: "--api-port",
        kind: Kind::Int(between(1.0, true, 65535.0, true)),
        path: "runtime.api_port",
        status: NotYet("its feature does not exist yet"),
        summary: "Port of the live HTTP/WebSocket API; enables it",
        ..BASE
    },
    Flag {
        name: "--api-host",
        kind: Kind::Text,
        path: "runtime.api_host",
        status: NotYet("its feature does not exist yet"),
        summary: "Bind address of the live API; needs a port",
        ..BASE
    },
    Flag {
        name: "--stats-interval",
        kind: Kind::Float(between(0.0, true, 1000.0, true)),
        path: "runtime.stats_interval",
        status: NotYet("its feature does not exist yet"),
        summary: "Seconds between live statistics; 0 stops the log block",
        ..BASE
    },
];

pub(super) const WORKERS: &[Flag] = &[Flag {
    name: "--workers-max",
    kind: Kind::Int(at_least(1.0)),
    aliases: &["--max-workers"],
    path: "runtime.workers",
    status: Acts,
    summary: "Upper limit of worker processes",
    ..BASE
}];

pub(super) const ZMQ_COMMUNICATION: &[Flag] = &[
    Flag {
        name: "--zmq-host",
        kind: Kind::Text,
        default: Some("127.0.0.1"),
        path: "runtime.communication (tcp)",
        status: NoEffect("workers are threads of one process and talk through memory"),
        summary: "Use TCP between components on this host",
        ..BASE
    },
    Flag {
        name: "--zmq-ipc-path",
        kind: Kind::Path,
        path: "runtime.communication (ipc)",
        status: NoEffect("workers are threads of one process and talk through memory"),
        summary: "Directory of the IPC sockets",
        ..BASE
    },
    Flag {
        name: "--zmq-dual-bind",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "runtime.communication (dual)",
        status: NoEffect("workers are threads of one process and talk through memory"),
        summary: "Bind both IPC and TCP",
        ..BASE
    },
];
