//! Formulas, registry and statistics, checked by golden data and by properties.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod accuracy;
mod curves;
mod docs;
mod formulas;
mod golden_otlp;
mod golden_records;
mod golden_registry;
mod golden_rest;
mod golden_runs;
mod intended;
mod layers;
mod load;
mod measure;
mod parts;
mod properties;
mod support;
