//! The real binary against the simulated server, in every dialect there is.
//!
//! # Layout
//! - [`logged`]: a server that writes down what came
//! - [`rows`]: the endpoint types and what each is asked; [`bench`] is that of the tests of whole runs
//! - [`answers`]: what is read, streamed and not
//! - [`failures`]: answers that fail, and requests that are given up
//! - [`bodies`]: what servers see: forms, templates, headers, bodies as they are
//! - [`videos`]: jobs that are asked for until they are done
//! - [`refused`]: bad input, before anything is sent
//! - [`examples`]: those of the documentation

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod answers;
#[path = "../profile/bench.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod bench;
mod bodies;
mod examples;
mod failures;
mod logged;
mod refused;
mod rows;
mod videos;
