//! The command as users run it: over real sockets, against the simulated server and hostile ones.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod api;
mod architecture;
mod bench;
mod campaigns;
mod command;
mod compare;
mod datasets;
mod dialects;
mod golden_commands;
mod hostile;
mod layers;
mod load;
mod logged;
mod profile;
mod schedule;
mod wire;
