//! The sending side of a run: a conductor that drives the schedule, and workers that send and read. It hands every
//! finished exchange to the queue and knows nothing of records.
//!
//! - `drive`: starts the workers and the conductor
//! - `worker_threads`: workers on their own threads, and when they are added
//! - `load`: what these threads share, and the thread of a worker
//! - `conductor`: the schedule driven by a clock; [`hooks`]: calls around phases; `reach`: whether any server is there
//! - `workers`: which worker a request goes to; `unsent`: how many requests wait for theirs
//! - `worker`: requests in flight on one thread; `sessions`: sessions of several turns; `alarm`: a panic among them
//! - `legs`: requests of several legs; `secrets`: what no redirect takes to another server

mod alarm;
pub(crate) mod conductor;
pub(crate) mod drive;
pub mod hooks;
mod legs;
pub(crate) mod load;
mod reach;
mod secrets;
mod sessions;
pub(crate) mod unsent;
mod worker;
pub(crate) mod worker_threads;
mod workers;
