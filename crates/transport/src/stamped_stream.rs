//! What a connection looks like to those who speak over it, whatever it is made of.

use aiperf_types::Read;
use std::io::{self, IoSlice};
use std::task::{Context, Poll};

/// Bytes of a connection, each read with its instant.
pub trait StampedStream {
    /// Reads once. A length of zero is the end of the stream, provided that there was room.
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<Read>>;

    /// Writes once, from the first parts first, and returns how many bytes it took.
    fn poll_write(&mut self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>>;

    /// Hands on what a layer below still holds of what was written.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Closes the writing side.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}
