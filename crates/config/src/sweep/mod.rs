//! Sweeps: from lists, variants, recipes and search flags to a sweep, and from a sweep to its runs.

mod expand;
mod lists;
mod recipes;
mod search;
mod seeds;
mod variants;

pub(crate) use expand::{Variation, expand};
pub(crate) use lists::{flag_lists, phase_lists};
pub(crate) use search::search;
pub(crate) use seeds::derived as derived_seed;
pub(crate) use variants::{difference, variants};
#[cfg(test)]
pub(crate) use {expand::dir_name, recipes::logspace};
