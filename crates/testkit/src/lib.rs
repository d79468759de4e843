//! What tests of several crates share. Nothing that is shipped depends on it.
//!
//! # Layout
//! - [`plan`]: a small plan, which tests change
//! - [`encoding`]: the builtin encodings by their definition
//! - [`tokenizer_json`]: a `tokenizer.json` that fails, and one made from a builtin vocabulary
//! - [`fake_hub`]: a model hub over TLS, with faults
//! - [`vocabulary`]: every metric that an output can show, written by hand from the specification
//! - [`outputs`]: checks the outputs of a run against that vocabulary
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail like tests")]

pub mod encoding;
pub mod fake_hub;
pub mod outputs;
pub mod plan;
pub mod tokenizer_json;
pub mod vocabulary;
