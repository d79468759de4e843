//! Golden data for tests: cases recorded from AIPerf, and the rules by which they run.
//!
//! An area is a folder: `data/<area>` of this crate, or `$AIPERF_GOLDEN_DIR/<area>`, which may contain other cases of
//! the same kinds under other file names. So a test finds files by the shape of their cases, never by a list of names.
//! It runs every case, and lists all failures of a file at once. It skips what it cannot run by a condition on the
//! case's content, with the reason.
//!
//! # Layout
//! - `area`: where cases are ([`Area`], [`File`], [`own_path`]); what the cases of a kind look like ([`Shape`]; [`has`]
//!   says whether a case has a member); a decision that holds for every kind of text ([`skips_mark`])
//! - `tally`: what became of them ([`Tally`])
//! - `lists`: the lists of cases in files
//! - `numbers`: texts whose numbers are written in one way ([`respelled`])

mod area;
mod lists;
mod numbers;
mod tally;

pub use area::{Area, File, Shape, has, name, own_path, skips_mark};
pub use numbers::respelled;
pub use tally::Tally;
