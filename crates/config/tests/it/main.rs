//! Flags, files and variables as users write them, and every message about them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod api;
mod artifacts;
mod attack;
mod files;
mod load;
mod messages;
mod network;
mod points;
mod profile;
mod robust;
mod traces;
