//! The real binary against the simulated server, in every way to offer load.
//!
//! # Layout
//! - [`server`]: when requests came to a server, by its own account; [`bench`] is that of the tests of whole runs, [`logged`]
//!   that of the dialects
//! - [`rates`]: arrivals at a rate: laws, caps, ramps, series
//! - [`slots`]: limits of sessions and of prefills, and how they climb
//! - [`turns`]: conversations of several turns
//! - [`users`]: user-centric load
//! - [`recordings`]: fixed schedules
//! - [`phases`]: several phases, one after the other or overlapping
//! - [`endings`]: cancellation, too many failures, servers that stall
//! - [`refused`]: bad input, before anything is sent
//! - [`rehearsed`]: the dispatch plan without a server, and the pictures of the documentation
//! - [`templates`]: the printed configurations, as they are

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
