//! Files, traces, public sets and synthetic prompts, read as users store them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod columns;
mod files;
mod formats;
mod golden;
mod public;
mod shown_turn;
mod support;
mod synthetic;
mod texts;
mod traces;
mod turns;
