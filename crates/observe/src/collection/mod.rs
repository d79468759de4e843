//! Pages of metrics fetched while a run is on, read and kept.
//!
//! Three threads, because each may be held up by something that must not hold up the others: one fetches (its instants
//! matter, so it does nothing else), one reads pages at the lowest priority, and one keeps what was read, writes it down
//! and reads itself what has waited too long for a core.
//!
//! # Layout
//! - [`kind`]: what a kind of pages must give; `server_pages`: those of servers
//! - `setup`: what collection is given and what it returns of an endpoint
//! - `endpoint`: when an endpoint is fetched, and what follows from what came of it
//! - `running`: which phases are on, and whose a page is
//! - `calls`: the calls for pages, and what comes of them
//! - `scraper`: the thread that fetches
//! - `keeper`: the thread that keeps; `lines`: the file it writes
//! - `collector`: all of it, as a run holds it

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
