//! Pages of metrics fetched while a run is on, read and kept.
//!
//! Three threads, because each may be held up by something that must not hold up the others: one fetches (its instants
//! matter, so it does nothing else), one reads pages at the lowest priority, and one keeps what was read, writes it down
//! and reads itself what has waited too long for a core.
//!
//! # Layout
//! - `endpoint`: when an endpoint is fetched, and what follows from what came of it
//! - `running`: which phases are on, and whose a page is
//! - `calls`: the calls for pages, and what comes of them
//! - `scraper`: the thread that fetches
//! - `reading`: a page from its text to a scrape
//! - `keeper`: the thread that keeps
//! - `collector`: all of it, as a run holds it

mod calls;
mod collector;
mod endpoint;
mod keeper;
mod reading;
mod running;
mod scraper;

pub use calls::OriginOf;
pub use collector::{Announce, Boundary, CollectError, Collected, Collector, Setup};
pub use reading::EncodeLine;
