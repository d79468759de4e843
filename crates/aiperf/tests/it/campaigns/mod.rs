//! Several runs by one command of the real binary: trials and sweeps over real sockets.
//!
//! # Layout
//! - [`trials`]: the same run several times
//! - [`sweeps`]: one run per value
//! - [`resumed`]: campaigns that were interrupted
//! - [`refused`]: bad input, before anything is sent
//! - [`left`]: the files of such a command; [`bench`] is that of the tests of whole runs

mod left;
mod refused;
mod resumed;
mod sweeps;
mod trials;
