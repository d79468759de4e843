//! Every metric, one row of one table each: its name, when a run has it, how it is computed.

pub mod docs;
pub(crate) mod families;
pub mod flags;
pub mod instrument;
pub mod metric;
pub mod rules;
pub mod scope;
mod table;
pub mod unit;

pub use table::{LEADING, all, find};
pub(crate) use table::{export_rank, place};
