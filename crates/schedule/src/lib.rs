//! When requests are sent and when a phase ends: a pure state machine.
//!
//! [`Schedule::poll`] takes the time and what happened, and gives what to do and when to be asked again. It owns the
//! slots, the counts and the phases; it has no clock, no thread and no socket, so a run of an hour is tested in a
//! microsecond.
//!
//! # Layout
//! - [`message`]: what goes in and what comes out
//! - [`setup`]: what a schedule is made from
//! - [`schedule`]: the phases in order, and the one verb
//! - [`phase`]: one phase from start to end: targets, counters, states
//! - [`arrivals`]: when its requests go out, one file a kind
//! - `dispatcher`: what arrivals send through
//! - `turns`: turns that wait for their time or for a slot
//! - `sessions`: the live sessions
//! - [`slots`], [`limit`]: how many may be at a time
//! - [`sampler`]: which conversation a session sends; [`upcoming`]: which ones later sessions will send;
//!   `replay`: the order of a recording
//! - [`rate_curve`]: how many arrivals a rate gives by an instant, and when each is due
//! - [`intervals`]: how far apart arrivals are, before a rate scales them
//! - [`ramp`]: limits that climb step by step
//! - [`failures`]: when so many requests fail that the run is ended
//! - [`rehearsal`]: a schedule in virtual time; [`assumed`]: its server
//!
//! # Invariants
//! - The crate is pure: no socket, no clock, no file, no async. Virtual time and real time give the same schedule.
//! - It owns the arrivals, the slots of sessions and prefills, the ends of phases and their counters. The conductor of
//!   `engine` only executes.
//! - A slot belongs to a session or a request, not to a counter. So phases may overlap.
//! - A rate is integrated: arrival *n* of a phase is due when the integral of its rate reaches the sum of *n* unit
//!   intervals. So errors do not add up, and a changing rate needs no polling.
//! - It knows conversations by their shape only (`types::Shapes`: turns, delays, timestamps). It draws them by a
//!   function of (seed, position). So the draws to come are known (`upcoming`).
//! - A profiling phase with a hook starts only after the hook has returned: the schedule asks for the call and waits.
//! - It decides when so many requests have failed that the run ends (`failures`).

pub mod arrivals;
pub mod assumed;
mod dispatcher;
pub mod failures;
pub mod intervals;
pub mod limit;
pub mod message;
pub mod phase;
pub mod ramp;
pub mod rate_curve;
pub mod rehearsal;
mod replay;
pub mod sampler;
pub mod schedule;
mod sessions;
pub mod setup;
pub mod slots;
mod turns;
pub mod upcoming;

pub use arrivals::user_centric::{GridUser, UserGrid};
pub use assumed::{AssumedServer, AssumedTime, NoTime};
pub use failures::FailureCount;
pub use intervals::Intervals;
pub use limit::Limit;
pub use message::{Action, Dispatch, Draw, Event, Identity, OrderId, PhaseEnd, RequestEnd};
pub use phase::PhaseState;
pub use ramp::LimitSteps;
pub use rate_curve::RateCurve;
pub use rehearsal::{Rehearsal, RehearsalEvent, RehearsalKind, RehearsedRequest};
pub use sampler::Sampler;
pub use schedule::Schedule;
pub use setup::Setup;
pub use slots::Slots;
pub use upcoming::{Order, most_draws, orders, reachable};
