//! Why a run could not start or continue.

use crate::sizing::TooFewDescriptors;
use aiperf_transport::from_plan::TlsError;
use std::io;
use thiserror::Error;

/// Why a run could not start or continue.
#[derive(Debug, Error)]
pub enum EngineError {
    #[error(
        "this run may need {needed} open files, but the process may open only {allowed}\n  \
         each connection is one; the limit is the hard one already, which only an administrator raises\n  \
         try: {}a limit of {needed} files: prlimit --nofile={needed} as root, LimitNOFILE={needed} of a service, \
         --ulimit nofile={needed} of a container", fewer(*concurrency)
    )]
    Descriptors { needed: u64, allowed: u64, concurrency: u64 },
    /// The user set kernel stamps, and this kernel has none.
    #[error(
        "--timestamps kernel: this kernel gives no receive stamps: {0}\n  \
         try: --timestamps auto, which falls back to when a read returned"
    )]
    NoStamps(io::Error),
    /// The user set real-time priority, and the system does not allow it.
    #[error(
        "--worker-priority realtime: the system does not allow real-time priority: {0}\n  \
         try: --worker-priority auto, or allow it: setcap cap_sys_nice+ep on the program's file, ulimit -r 1, \
         --cap-add SYS_NICE of a container"
    )]
    NoRealtime(io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A thread or its runtime could not be created.
    #[error(
        "cannot start a thread: {0}\n  try: fewer processes beside it, or a higher limit of processes (ulimit -u, or that of \
         the container)"
    )]
    Thread(#[from] io::Error),
    /// A thread panicked: a fault in this program.
    #[error("an internal thread failed: {0}")]
    Panicked(&'static str),
}

/// Advice to send fewer requests at once, if the limit leaves room for any.
fn fewer(concurrency: u64) -> String {
    if concurrency > 0 { format!("--concurrency {concurrency}, or ") } else { String::new() }
}

impl From<TooFewDescriptors> for EngineError {
    fn from(TooFewDescriptors { needed, allowed, concurrency }: TooFewDescriptors) -> Self {
        Self::Descriptors { needed, allowed, concurrency }
    }
}
