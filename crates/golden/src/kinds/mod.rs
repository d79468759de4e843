//! The table of kinds: what lies in `data`, how it is known, and which crates' tests read it. One file an area.
//!
//! A test takes its cases from a row of this table, so that the rows are those that tests use. `registry` checks the
//! table against the data and against the crates.

use crate::GoldenKind;

/// Rows of the table: a constant each, and `ROWS` with all of them. A row is `NAME = [areas], [readers], found;`.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = [$($area:expr),*], [$($reader:expr),*], $found:expr;)*) => {
        $(
            $(#[$doc])*
            pub const $name: &$crate::GoldenKind = &$crate::GoldenKind {
                name: stringify!($name),
                areas: &[$($area),*],
                readers: &[$($reader),*],
                found: $found,
            };
        )*
        pub(super) const ROWS: &[&$crate::GoldenKind] = &[$($name),*];
    };
}

pub mod config;
pub mod datasets;
pub mod endpoints;
pub mod exports;
pub mod fixtures;
pub mod load;
pub mod metrics;
pub mod orchestration;
pub mod runs;
pub mod servers;
pub mod telemetry;

/// Every kind, by area.
const KINDS: &[&[&GoldenKind]] = &[
    config::ROWS,
    datasets::ROWS,
    endpoints::ROWS,
    exports::ROWS,
    fixtures::ROWS,
    load::ROWS,
    metrics::ROWS,
    orchestration::ROWS,
    runs::ROWS,
    servers::ROWS,
    telemetry::ROWS,
];

pub fn all() -> impl Iterator<Item = &'static GoldenKind> {
    KINDS.iter().flat_map(|rows| rows.iter().copied())
}

/// Whether every case has these members.
fn all_have(cases: &[serde_json::Value], members: &[&str]) -> bool {
    cases.iter().all(|case| members.iter().all(|member| crate::has(case, member)))
}
