//! What was going on at each instant: requests swept in the order of time, and statistics over it.
//!
//! # Layout
//! - [`curve`]: which curves there are
//! - `timing`, `swept_request`: a record as curves see it; `change`, `changes`: what it changes, in the order of time
//! - `weighted`: a value over time; `kept`: what its percentiles come from; `gauges`: all curves at once; `windowed`:
//!   over one window after another
//! - `pending`, `order`: requests that are over and not swept, and up to which number every one is in; [`sweep_line`]:
//!   all of it together; `column_sweep`: records that are kept, swept again

pub(crate) mod change;
pub(crate) mod changes;
pub(crate) mod column_sweep;
pub mod curve;
pub(crate) mod gauges;
pub(crate) mod kept;
pub(crate) mod order;
pub(crate) mod pending;
pub mod sweep_line;
pub(crate) mod swept_request;
pub(crate) mod timing;
pub(crate) mod weighted;
pub(crate) mod windowed;
