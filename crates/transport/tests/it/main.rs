//! HTTP/1.1 and HTTP/2 over real sockets, and the framer against hyper.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod against_hyper;
mod client;
mod encoding;
mod fetch;
mod http2;
mod http2_tap;
