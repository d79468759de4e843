//! Golden data: every case of every file that looks like a kind known here, from this crate's folder or from
//! `$AIPERF_GOLDEN_DIR`.

mod better;
mod control;
mod events;
mod inputs;
mod real_server;
mod requests;
mod responses;
mod shapes;
