//! The real binary against the simulated server, over every kind of connection there is.
//!
//! # Layout
//! - [`kinds`]: the kinds of connection, and a server for each; [`bench`] is that of the tests of whole runs
//! - [`answers`]: what is read and how long each phase of it took
//! - [`failures`]: answers that fail, and connections that end, among others that do not
//! - [`cancellation`]: requests that are given up, by plan or by a signal
//! - [`reuse`]: connections and TLS sessions that are used again
//! - [`redirects`], [`encodings`], [`certificates`], [`proxies`]: what stands between a request and its answer
//! - [`addresses`]: where servers listen

mod addresses;
mod answers;
mod cancellation;
mod certificates;
mod encodings;
mod failures;
mod kinds;
mod proxies;
mod redirects;
mod reuse;
