//! Golden data: every case of every file that looks like a kind known here, from this crate's folder or from
//! `$AIPERF_GOLDEN_DIR`.
#![expect(clippy::unwrap_used, reason = "golden data that cannot be read is a failed test")]

mod better;
mod control;
mod events;
mod inputs;
mod real_server;
mod requests;
mod responses;
mod shapes;
