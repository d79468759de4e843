//! HTTP/2: many exchanges at once on one connection.
//!
//! The `h2` crate speaks the protocol. It hands out the bytes of an answer without saying when they came, so the stream
//! beneath it is tapped on its way in and out: the walk over frame headers is cheap, and tells of every byte of every
//! exchange which read brought it and which write took it.
//!
//! # Layout
//! - [`frames`]: where frames begin and end, in whatever pieces they come
//! - [`tap`]: which read brought what of an answer
//! - [`sent`]: which write took what of a request

pub mod frames;
pub mod sent;
pub mod tap;
