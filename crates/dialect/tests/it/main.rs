//! Requests and responses of every endpoint type, by golden data and by any bytes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod any_bytes;
mod golden_cases;
mod sessions;
