//! Several runs by one command of the real binary: trials and sweeps over real sockets.
//!
//! # Layout
//! - [`trials`]: the same run several times
//! - [`sweeps`]: a run for each value
//! - [`resumed`]: what was begun and not brought to its end
//! - [`refused`]: bad input, before anything is sent
//! - [`left`]: what such a command leaves; [`bench`] is that of the tests of whole runs

mod left;
mod refused;
mod resumed;
mod sweeps;
mod trials;
