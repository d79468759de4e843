//! The sending side of a run: a conductor that drives the schedule, and workers that send and read. It hands every
//! finished exchange to the queue and knows nothing of records.
//!
//! - `load`: starts the workers and their conductor; `crew`: workers on their own threads
//! - `conductor`: the schedule driven by a clock; [`hooks`]: calls around phases; `reach`: whether any server is there
//! - `workers`: which worker a request goes to; `unsent`: how many requests wait for theirs
//! - `worker`: requests in flight on one thread; `sessions`: sessions of several turns; `alarm`: a panic among them
//! - `legs`: requests of several legs; `secrets`: what no redirect takes to another server

mod alarm;
pub(crate) mod conductor;
pub(crate) mod crew;
pub mod hooks;
mod legs;
pub(crate) mod load;
mod reach;
mod secrets;
mod sessions;
pub(crate) mod unsent;
mod worker;
mod workers;
