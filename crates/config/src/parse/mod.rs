//! Values with a syntax of their own: lengths with shares, filters, search dimensions, objectives, variants.

mod lengths;
mod search;
mod variant;

pub(crate) use lengths::{filters, range_ratio, sequence_distribution};
pub(crate) use search::{isl_osl_pairs, search_dimension, sla_filter, sla_tier, sweep_path};
pub(crate) use variant::variant;
