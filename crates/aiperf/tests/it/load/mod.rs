//! The real binary against the simulated server, with every arrival rule.
//!
//! # Layout
//! - [`server`]: the arrival times in the server's log; [`bench`] is that of the tests of whole runs, [`logged`] that
//!   of the dialects
//! - [`rates`]: arrivals at a rate: laws, caps, ramps, series
//! - [`slots`]: limits of sessions and of prefills, and their ramps
//! - [`turns`]: conversations of several turns
//! - [`users`]: user-centric load
//! - [`recordings`]: fixed schedules
//! - [`phases`]: several phases, one after the other or overlapping
//! - [`endings`]: cancellation, too many failures, stalled servers
//! - [`refused`]: bad input, before anything is sent
//! - [`rehearsed`]: the dispatch plan without a server, and the pictures of the documentation
//! - [`templates`]: the printed configurations, unchanged

mod endings;
mod phases;
mod rates;
mod recordings;
mod refused;
mod rehearsed;
mod server;
mod slots;
mod templates;
mod turns;
mod users;
