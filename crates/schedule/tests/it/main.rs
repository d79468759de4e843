//! Arrivals, slots and phases in simulated time.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod any_order;
mod arrivals;
mod arrivals_by_law;
mod golden;
mod golden_rates;
mod golden_run;
mod rehearsal;
mod rehearsal_modes;
mod schedule;
