//! Streams whose last event has come while nothing ends them. Such a response is complete; some servers never send its
//! end.
//!
//! The reader of events decides which event is the last, by functions that it passes in. This file removes the framing
//! and searches nothing twice.

use crate::body;
use crate::framer::ChunkDecoder;
use aiperf_types::Exchange;
use std::ops::ControlFlow;
use std::time::Duration;

/// How long the end of a stream may take after its last event.
pub const END_PATIENCE: Duration = Duration::from_secs(2);

/// Bytes that may follow the last event: the end of its line, the empty line, the end of its chunk, and the size of the
/// last chunk with its end.
const FRAMING: usize = b"\r\n\r\n\r\n0\r\n".len();

/// Bytes of a silent stream that are searched at a look: the worker has other streams to serve.
const MOST_AT_A_LOOK: usize = 4 << 20;

/// How the last event of a stream is known.
#[derive(Clone, Copy, Debug)]
pub struct StreamEnd {
    /// Whether a few bytes end in the event that ends streams. Asked after every read.
    pub ends_in_last: fn(&[u8]) -> bool,
    /// How many bytes it needs for that, without any framing.
    pub longest_last: usize,
    /// Searches events for one after which nothing comes: breaks when there is one, else returns how many bytes need not
    /// be searched again. Asked of streams that are silent.
    pub search: fn(&[u8]) -> ControlFlow<(), usize>,
}

impl StreamEnd {
    /// For streams that end by their framing alone.
    pub const NONE: Self =
        Self { ends_in_last: |_| false, longest_last: 0, search: |bytes| ControlFlow::Continue(bytes.len()) };

    /// Whether the last event of a stream has come, as far as the newest read shows.
    pub(crate) fn has_come(self, exchange: &Exchange) -> bool {
        let bytes = &exchange.raw[exchange.body_at..exchange.raw_len];
        exchange.body_at > 0 && (self.ends_in_last)(self.tail(bytes)) && body::is_event_stream(exchange)
    }

    /// The last bytes without what frames them.
    fn tail(self, bytes: &[u8]) -> &[u8] {
        let tail = bytes[bytes.len().saturating_sub(self.longest_last + FRAMING)..].trim_ascii_end();
        // The size of the last chunk may have come along, without the end of the body.
        tail.strip_suffix(b"\n0").unwrap_or(tail).trim_ascii_end()
    }
}

/// A stream that is looked at now and then.
#[derive(Default)]
pub(crate) struct Quiet {
    /// Bytes there were at the last look.
    came: usize,
    /// Of them, those that were unframed.
    unframed: usize,
    decoder: ChunkDecoder,
    /// The events from the first on that has to be searched again, framing removed.
    events: Vec<u8>,
}

impl Quiet {
    /// Whether nothing came since the last look, and nothing more is to come.
    pub(crate) fn is_complete(&mut self, exchange: &Exchange, end: StreamEnd) -> bool {
        let came = exchange.raw_len;
        let is_news = came == self.came && came > self.unframed && exchange.body_at > 0;
        self.came = came;
        if !is_news || !body::is_event_stream(exchange) {
            return false;
        }
        let from = self.unframed.max(exchange.body_at);
        self.unframed = came.min(from + MOST_AT_A_LOOK);
        let fresh = &exchange.raw[from..self.unframed];
        let events = &mut self.events;
        if !exchange.chunked {
            events.extend_from_slice(fresh);
        } else if self.decoder.feed(fresh, |span| events.extend_from_slice(span)).is_err() {
            return false;
        }
        match (end.search)(events) {
            ControlFlow::Break(()) => true,
            ControlFlow::Continue(searched) => {
                // Many streams may be silent for long: only what is needed is kept.
                *events = events.split_off(searched.min(events.len()));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static SEARCHED: Cell<usize> = const { Cell::new(0) };
    }

    /// Lines are the events, and `end` is the last.
    const LINES: StreamEnd = StreamEnd {
        ends_in_last: |bytes| bytes.ends_with(b"end"),
        longest_last: "x\nend 10".len(),
        search: |bytes| {
            SEARCHED.set(SEARCHED.get() + bytes.len());
            let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
            let mut lines = bytes.split(|&b| b == b'\n');
            if lines.any(|line| line == b"end") { ControlFlow::Break(()) } else { ControlFlow::Continue(whole) }
        },
    };

    fn stream(chunked: bool) -> Exchange {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        Exchange { raw: head.to_vec(), raw_len: head.len(), body_at: head.len(), chunked, ..Exchange::default() }
    }

    fn receive(exchange: &mut Exchange, bytes: &[u8]) {
        exchange.raw.extend_from_slice(bytes);
        exchange.raw_len = exchange.raw.len();
    }

    #[test]
    fn the_framing_hides_no_last_event_at_the_end() {
        for (bytes, shown) in
            [("x\nend\n\n\r\n", "x\nend"), ("x\nend\n\r\n0\r\n", "x\nend"), ("x\nend 10", "x\nend 10"), ("", "")]
        {
            assert_eq!(LINES.tail(bytes.as_bytes()), shown.as_bytes(), "{bytes:?}");
        }
    }

    #[test]
    fn the_longest_last_event_is_known_whatever_frames_it() {
        let longest = StreamEnd { longest_last: 3, ..LINES };
        for framing in ["", "\n\n", "\r\n\r\n", "\n\n\r\n", "\r\n\r\n\r\n0\r\n"] {
            assert_eq!(longest.tail(format!("xyend{framing}").as_bytes()).strip_suffix(b"end").map(|_| ()), Some(()));
        }
    }

    #[test]
    fn a_last_event_in_two_chunks_is_found_once_the_stream_is_silent() {
        let (mut exchange, mut quiet) = (stream(true), Quiet::default());
        receive(&mut exchange, b"4\r\na\nen\r\n");
        assert!(!quiet.is_complete(&exchange, LINES));
        assert!(!quiet.is_complete(&exchange, LINES), "silent, but not at its end");
        receive(&mut exchange, b"2\r\nd\n\r\n");
        assert!(!quiet.is_complete(&exchange, LINES), "not silent yet");
        assert!(quiet.is_complete(&exchange, LINES));
    }

    #[test]
    fn a_long_silent_stream_is_searched_in_several_looks() {
        let (mut exchange, mut quiet) = (stream(false), Quiet::default());
        receive(&mut exchange, &b"ten bytes\n".repeat(MOST_AT_A_LOOK / 5 + 1));
        receive(&mut exchange, b"end\n");
        assert!(!quiet.is_complete(&exchange, LINES), "not silent yet");
        let looks = (0..5).take_while(|_| !quiet.is_complete(&exchange, LINES)).count();
        assert_eq!(looks, 2);
    }

    #[test]
    fn what_was_searched_is_not_searched_again() {
        let (mut exchange, mut quiet) = (stream(false), Quiet::default());
        SEARCHED.set(0);
        for _ in 0..1000 {
            receive(&mut exchange, b"ten bytes\n");
            (0..5).for_each(|_| assert!(!quiet.is_complete(&exchange, LINES)));
        }
        assert_eq!(SEARCHED.get(), 10_000);
    }
}
