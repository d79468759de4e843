//! Designs of experiments: points of the unit cube, spread more evenly than chance would.
//!
//! A point is a list of coordinates, each from 0 up to but not including 1.
//!
//! # Layout
//! - [`sobol`]: the Sobol sequence, plain or scrambled
//! - [`latin`]: Latin hypercubes, and what makes them more even
//! - `directions`: the table behind the Sobol sequence
//! - `discrepancy`: how uneven points are
//! - `random`: draws from a seed

mod directions;
mod discrepancy;
pub mod latin;
mod random;
pub mod sobol;

pub use discrepancy::centred_discrepancy;
pub use latin::{Evenness, latin_hypercube};
pub use sobol::{Sobol, TooManyDimensions};
