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

mod answers;
mod bodies;
mod examples;
mod failures;
mod refused;
mod rows;
mod videos;
