//! The real binary against the simulated server, in every dialect.
//!
//! # Layout
//! - [`logged`]: a server that logs its requests
//! - [`rows`]: the endpoint types and their requests; [`bench`] is that of the tests of whole runs
//! - [`responses`]: parsed responses, streamed and not
//! - [`failures`]: responses that fail, and requests that are cancelled
//! - [`bodies`]: requests as servers receive them: forms, templates, headers, raw bodies
//! - [`videos`]: jobs that are polled until they are done
//! - [`refused`]: bad input, before anything is sent
//! - [`examples`]: the examples of the documentation

mod bodies;
mod examples;
mod failures;
mod refused;
mod responses;
mod rows;
mod videos;
