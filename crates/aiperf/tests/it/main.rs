//! The command, run as users run it: over real sockets, against the simulated server.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod api;
mod architecture;
mod bench;
mod campaigns;
mod command;
mod compare;
mod datasets;
mod dialects;
mod layers;
mod layouts;
mod load;
mod logged;
mod profile;
mod schedule;
mod wire;
