//! Requests and responses of every endpoint type, by any bytes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod any_bytes;
mod sessions;
