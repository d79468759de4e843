//! Flags: UI, Service, Workers, ZMQ Communication.

use super::flag::Status::{Acts, NoEffect};
use super::flag::{FlagType, Takes, To, WhenAbsent, flags};
use crate::choice::Choice;
use aiperf_plan::{LogLevel, Timestamps, UiKind, WorkerPriority};

flags! { UI_FLAGS:
    UI_TYPE {
        name: "--ui-type",
        kind: FlagType::Choice(UiKind::NAMES),
        aliases: &["--ui"],
        default: Some(WhenAbsent::Words("dashboard on a terminal, otherwise none")),
        to: To::Rule("runtime.ui"),
        status: Acts,
        summary: "Terminal interface",
    }
}

flags! { SERVICE_FLAGS:
    LOG_LEVEL {
        name: "--log-level",
        kind: FlagType::Choice(LogLevel::NAMES),
        default: Some(WhenAbsent::DefaultOfKey),
        to: To::Rule("logging.level"),
        status: Acts,
        summary: "Log threshold",
    }
    VERBOSE {
        name: "--verbose",
        kind: FlagType::Bool,
        aliases: &["-v"],
        takes: Takes::Nothing,
        to: To::Rule("logging.level"),
        status: Acts,
        summary: "Debug logs and the simple UI",
    }
    EXTRA_VERBOSE {
        name: "--extra-verbose",
        kind: FlagType::Bool,
        aliases: &["-vv"],
        takes: Takes::Nothing,
        to: To::Rule("logging.level"),
        status: Acts,
        summary: "Trace logs and the simple UI",
    }
    TIMESTAMPS {
        name: "--timestamps",
        kind: FlagType::Choice(Timestamps::NAMES),
        to: To::Key("runtime.timestamps"),
        status: Acts,
    }
    WORKER_PRIORITY {
        name: "--worker-priority",
        kind: FlagType::Choice(WorkerPriority::NAMES),
        to: To::Key("runtime.worker_priority"),
        status: Acts,
    }
    RECORD_PROCESSOR_SERVICE_COUNT {
        name: "--record-processor-service-count",
        kind: FlagType::Int,
        aliases: &["--record-processors"],
        to: To::Key("runtime.record_processors"),
        status: NoEffect("records are processed by threads of the same process, as many as the load needs"),
    }
    API_PORT {
        name: "--api-port",
        kind: FlagType::Int,
        to: To::Key("runtime.api_port"),
        status: Acts,
        summary: "Port of the live HTTP/WebSocket API; enables it",
    }
    API_HOST {
        name: "--api-host",
        kind: FlagType::Text,
        to: To::Key("runtime.api_host"),
        status: Acts,
    }
    STATS_INTERVAL {
        name: "--stats-interval",
        kind: FlagType::Float,
        to: To::Key("runtime.stats_interval"),
        status: Acts,
    }
}

flags! { WORKERS_FLAGS:
    WORKERS_MAX {
        name: "--workers-max",
        kind: FlagType::Int,
        aliases: &["--max-workers"],
        to: To::Key("runtime.workers"),
        status: Acts,
    }
}

flags! { ZMQ_COMMUNICATION_FLAGS:
    ZMQ_HOST {
        name: "--zmq-host",
        kind: FlagType::Text,
        to: To::Rule("runtime.communication"),
        status: NoEffect("workers are threads of one process and share memory"),
        summary: "Use TCP between components on this host",
    }
    ZMQ_IPC_PATH {
        name: "--zmq-ipc-path",
        kind: FlagType::Path,
        to: To::Rule("runtime.communication"),
        status: NoEffect("workers are threads of one process and share memory"),
        summary: "Directory of the IPC sockets",
    }
    ZMQ_DUAL_BIND {
        name: "--zmq-dual-bind",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Rule("runtime.communication"),
        status: NoEffect("workers are threads of one process and share memory"),
        summary: "Bind both IPC and TCP",
    }
}
