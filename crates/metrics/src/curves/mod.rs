//! What was going on at each instant: requests swept in the order of time, and statistics over it.

pub(crate) mod changes;
pub mod curve;
pub(crate) mod flight;
pub(crate) mod gauges;
pub mod sweep;
pub(crate) mod timing;
pub(crate) mod weighted;
