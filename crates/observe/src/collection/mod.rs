//! Pages of metrics, fetched while a run is on, read and stored.
//!
//! There are three threads, because each may be delayed by something that must not delay the others. One fetches; its
//! instants matter, so it does nothing else. One reads pages at the lowest priority. One stores what was read, writes
//! the lines, and itself reads pages that have waited too long for a core.
//!
//! # Layout
//! - [`kind`]: the interface of a kind of page; `server_pages`: those of servers
//! - `setup`: the input of collection and its result for an endpoint
//! - `endpoint`: when an endpoint is fetched, and what follows from each result
//! - `running`: which phases are on, and to which a page belongs
//! - `calls`: the calls for pages, and their results
//! - `scraper`: the thread that fetches
//! - `keeper`: the thread that keeps; `lines`: the file it writes
//! - `collector`: all of it, for a run

pub(crate) mod calls;
mod collector;
pub(crate) mod endpoint;
mod keeper;
pub mod kind;
pub(crate) mod lines;
mod running;
mod scraper;
mod server_pages;
mod setup;

pub use collector::{Boundary, CollectError, Collected, Collector, Setup};
pub use kind::{FetchedPage, PageKind, ReadPage, Words};
pub use server_pages::{EncodeLine, ServerPages};
pub use setup::{Announce, CollectedEndpoint, Pods, WatchedPage};
