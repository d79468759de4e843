//! HTTP/2: many exchanges at once on one connection.
//!
//! The `h2` crate speaks the protocol. It hands out the bytes of a response without their times, so the stream beneath
//! it is tapped on its way in and out. The walk over frame headers is cheap, and shows for every byte of every exchange
//! which read delivered it and which write took it.
//!
//! # Layout
//! - [`frames`]: where frames begin and end, in whatever pieces they come
//! - [`tap`]: which read delivered what of a response
//! - [`sent`]: which write took what of a request
//! - [`stream`]: the tapped stream that `h2` reads and writes
//! - [`request`]: a request as HTTP/1.1 writes it, in the terms of HTTP/2
//! - [`failure`]: why there is no response
//! - [`connection`]: a connection, its driver, and how much it can carry
//! - [`exchange`]: one request and its response
//! - `pool`: open connections, each used by many

pub mod connection;
pub mod exchange;
pub mod failure;
pub mod frames;
mod pool;
pub mod request;
pub mod sent;
pub mod stream;
pub mod tap;

pub use connection::Http2Connection;
pub use exchange::{Http2Exchange, Progress};
pub use failure::Http2Failure;
pub(crate) use pool::Http2Pool;
