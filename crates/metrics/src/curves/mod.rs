//! The load at each instant: requests swept in the order of time, and time-weighted statistics.
//!
//! # Layout
//! - [`curve`]: the list of curves
//! - `timing`, `swept_request`: a record as curves see it; `change`, `changes`: its changes, in the order of time
//! - `weighted`: a value over time; `percentile_source`: the data for its percentiles; `gauges`: all curves together;
//!   `windowed`: one window after another
//! - `pending`, `order`: finished requests that are not swept yet, and up to which number all are known;
//!   [`sweep_line`]: the sweep itself; `column_sweep`: stored records, swept again

pub(crate) mod change;
pub(crate) mod changes;
pub(crate) mod column_sweep;
pub mod curve;
pub(crate) mod gauges;
pub(crate) mod order;
pub(crate) mod pending;
pub(crate) mod percentile_source;
pub mod sweep_line;
pub(crate) mod swept_request;
pub(crate) mod timing;
pub(crate) mod weighted;
pub(crate) mod windowed;
