//! Sweeps: from lists, variants, recipes and search flags to a sweep, and from a sweep to its runs.

mod bounds;
mod design;
mod expand;
mod lists;
mod recipes;
mod search;
mod seeds;
mod variants;

pub(crate) use design::design;
pub(crate) use expand::{Variation, at_point, expand};
pub(crate) use lists::{flag_lists, phase_lists};
pub(crate) use recipes::{Searches, in_words as recipes_in_words, searches, trade_off};
pub(crate) use search::{held_to, search};
pub(crate) use seeds::derived as derived_seed;
pub(crate) use variants::{difference, variants};
#[cfg(test)]
pub(crate) use {expand::dir_name, recipes::logspace};
