//! An HTTP/2 connection: its settings, the task that drives it, and how much it can carry.

use super::failure::Http2Failure;
use super::stream::{TappedStream, Taps};
use crate::clock::mono_now;
use crate::framer::HEAD_LIMIT;
use crate::stamped_stream::StampedStream;
use aiperf_types::MonoNs;
use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use http::uri::Scheme;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Bytes of one response that the server may have under way: no server under test ever waits for us, not even over a
/// slow link, so that what is measured is the server.
const STREAM_WINDOW: u32 = 16 << 20;
/// The same of all responses on a connection: a thousand streams with a megabyte each.
const CONNECTION_WINDOW: u32 = 1 << 30;
/// Bytes of a frame, the least that may be asked for. A frame is handed on, and gets its instant, when all of it has
/// come: longer frames would make both later.
const FRAME_SIZE: u32 = 16 << 10;
/// Bytes of a head as HTTP/2 counts them, 32 more a field: enough for every head that HTTP/1.1 may have.
const HEADER_LIST: u32 = 2 * HEAD_LIMIT as u32;
/// Cancelled streams that are remembered until their late frames have come. Frames of a stream that was forgotten are
/// answered by a reset, one each.
const CANCELLED_REMEMBERED: usize = 4096;
/// The last number a stream may get before the connection counts as used up.
const LAST_STREAM: u32 = 0x7fff_0000;

/// A connection that carries many exchanges at once. Dropped, it ends when the last of them has.
pub struct Http2Connection {
    sender: SendRequest<Bytes>,
    scheme: Scheme,
    state: Rc<ConnectionState>,
}

/// What a connection, its driver and its exchanges share.
pub(super) struct ConnectionState {
    pub(super) taps: Rc<RefCell<Taps>>,
    /// Exchanges that are not over.
    pub(super) open: Cell<usize>,
    pub(super) last_stream: Cell<u32>,
    pub(super) last_used: Cell<MonoNs>,
    is_over: Cell<bool>,
}

impl Http2Connection {
    /// Greets the server and starts the task that drives the connection, on the runtime of this thread. Does not wait
    /// for the server's greeting: the first request goes out in the same breath.
    pub async fn open<S>(stream: S, scheme: Scheme) -> Result<Self, Http2Failure>
    where
        S: StampedStream + Unpin + 'static,
    {
        let taps = Rc::new(RefCell::new(Taps::default()));
        let tapped = TappedStream::new(stream, taps.clone());
        let mut settings = Builder::new();
        settings
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME_SIZE)
            .max_header_list_size(HEADER_LIST)
            .max_concurrent_reset_streams(CANCELLED_REMEMBERED)
            .max_local_error_reset_streams(None);
        let (sender, driver) = settings.handshake::<_, Bytes>(tapped).await.map_err(|error| {
            let text = error.to_string();
            error.into_io().map_or(Http2Failure::Protocol(text), Http2Failure::Io)
        })?;
        let state = Rc::new(ConnectionState {
            taps,
            open: Cell::new(0),
            last_stream: Cell::new(0),
            last_used: Cell::new(mono_now()),
            is_over: Cell::new(false),
        });
        let driven = state.clone();
        tokio::task::spawn_local(async move {
            // Every exchange under way gets the error from its own stream.
            let _ = driver.await;
            driven.is_over.set(true);
        });
        Ok(Self { sender, scheme, state })
    }

    /// Whether new requests may go out: the connection is open, and the server has sent no GOAWAY.
    pub fn is_usable(&self) -> bool {
        let taps = self.state.taps.borrow();
        let is_ending = taps.is_closed || taps.received.last_processed().is_some();
        !self.state.is_over.get() && !is_ending && self.state.last_stream.get() < LAST_STREAM
    }

    /// Streams that the server allows on top of those that are open. One more would wait for its turn.
    pub fn free_streams(&self) -> usize {
        self.sender.current_max_send_streams().saturating_sub(self.state.open.get())
    }

    /// Exchanges that are not over.
    pub fn open_streams(&self) -> usize {
        self.state.open.get()
    }

    /// When an exchange last began or ended; before the first, when the connection was opened.
    pub fn last_used(&self) -> MonoNs {
        self.state.last_used.get()
    }

    pub(super) fn sender(&self) -> SendRequest<Bytes> {
        self.sender.clone()
    }

    pub(super) fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    pub(super) fn state(&self) -> &Rc<ConnectionState> {
        &self.state
    }
}
