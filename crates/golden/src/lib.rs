//! Golden data for tests: cases recorded from AIPerf, and the rules by which they run.
//!
//! An area is a folder: `data/<area>` of this crate, or `$AIPERF_GOLDEN_DIR/<area>`, which may contain other cases of
//! the same kinds under other file names. So a test finds files by the shape of their cases, never by a list of names.
//! It runs every case, and lists all failures of a file at once. It skips what it cannot run by a condition on the
//! case's content, with the reason.
//!
//! In the project's own root, each kind must have files, each file must be of a kind, and a test that runs no case of
//! its kind fails unless it declares why. In another root, that is only printed.
//!
//! # Layout
//! - [`kinds`]: the table of all kinds of golden data
//! - `kind`: a row of it ([`GoldenKind`]): how it is known, who reads it, and how its cases run
//! - `area`: where cases are ([`Area`], [`CaseList`], [`own_path`]); what a case looks like ([`Shape`], [`has`]); a
//!   decision that holds for every kind of text ([`skips_mark`])
//! - `whole_file`: files that are read as a whole ([`GoldenFile`])
//! - `lists`: the lists of cases in files
//! - `tally`: what became of the cases of a test ([`Tally`])
//! - [`cases`]: cases as tests of their own, for binaries with many of them
//! - `registry`: the table against the data, and against the crates
//! - `numbers`: texts whose numbers are written in one way ([`respelled`])

mod area;
pub mod cases;
mod kind;
pub mod kinds;
mod lists;
mod numbers;
#[cfg(test)]
mod registry;
mod tally;
mod whole_file;

use area::root;
pub use area::{Area, CaseList, Shape, has, is_own_root, name, own_path, skips_mark};
pub use kind::{Found, GoldenKind};
pub use numbers::respelled;
pub use tally::Tally;
pub use whole_file::GoldenFile;
