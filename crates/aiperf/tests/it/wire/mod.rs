//! The real binary against the simulated server, over every kind of connection.
//!
//! # Layout
//! - [`kinds`]: the kinds of connections, and a server for each; [`bench`] is that of the tests of whole runs
//! - [`responses`]: responses, and the length of their phases
//! - [`failures`]: failed responses and closed connections among others
//! - [`cancellation`]: requests that are cancelled, by plan or by a signal
//! - [`reuse`]: connections and TLS sessions that are reused
//! - [`redirects`], [`encodings`], [`certificates`], [`proxies`]: what is between a request and its response
//! - [`addresses`]: addresses of servers

mod addresses;
mod cancellation;
mod certificates;
mod encodings;
mod failures;
mod kinds;
mod proxies;
mod redirects;
mod responses;
mod reuse;
