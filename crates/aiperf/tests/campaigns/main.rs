//! Several runs by one command of the real binary: trials and sweeps over real sockets.
//!
//! # Layout
//! - [`trials`]: the same run several times
//! - [`sweeps`]: a run for each value
//! - [`resumed`]: what was begun and not brought to its end
//! - [`refused`]: bad input, before anything is sent
//! - [`left`]: what such a command leaves; [`bench`] is that of the tests of whole runs

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

#[path = "../profile/bench.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod bench;
mod left;
mod refused;
mod resumed;
mod sweeps;
mod trials;
