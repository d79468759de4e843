//! Why a run could not be started or carried on.

use crate::sizing::TooFewDescriptors;
use aiperf_transport::from_plan::TlsError;
use std::io;
use thiserror::Error;

/// Why a run could not be started or carried on.
#[derive(Debug, Error)]
pub enum EngineError {
    #[error(
        "this run may need {needed} open files, but the process may open only {allowed}\n  \
         each connection is one; the limit is the hard one already, which only an administrator raises\n  \
         try: {}a limit of {needed} files: prlimit --nofile={needed} as root, LimitNOFILE={needed} of a service, \
         --ulimit nofile={needed} of a container", fewer(*concurrency)
    )]
    Descriptors { needed: u64, allowed: u64, concurrency: u64 },
    /// Kernel stamps were asked for and cannot be had.
    #[error(
        "--timestamps kernel: this kernel gives no receive stamps: {0}\n  \
         try: --timestamps auto, which falls back to when a read returned"
    )]
    NoStamps(io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A thread or its runtime could not be made.
    #[error(
        "cannot start a thread: {0}\n  try: fewer processes beside it, or a higher limit of processes (ulimit -u, or that of \
         the container)"
    )]
    Thread(#[from] io::Error),
    /// A thread ended by a fault of our own.
    #[error("an internal thread failed: {0}")]
    Panicked(&'static str),
}

/// Advice to do less at once, where there is anything left to do.
fn fewer(concurrency: u64) -> String {
    if concurrency > 0 { format!("--concurrency {concurrency}, or ") } else { String::new() }
}

impl From<TooFewDescriptors> for EngineError {
    fn from(TooFewDescriptors { needed, allowed, concurrency }: TooFewDescriptors) -> Self {
        Self::Descriptors { needed, allowed, concurrency }
    }
}
