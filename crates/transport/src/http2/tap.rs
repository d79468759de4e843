//! Which read delivered what of a response: notes on the frames of a connection, taken before `h2` sees the bytes.
//!
//! An instant belongs to a whole frame, that of the read that completed it, since `h2` gives nothing of a frame away
//! before that. Notes are asked for by how much was taken so far, so it does not matter how `h2` splits or merges. Only
//! registered streams are noted, and what was taken is dropped.

use super::frames::{Frame, FrameWalker, flag, kind};
use crate::framer::INTERIM_LIMIT;
use aiperf_types::{NumberMap, Read};
use std::collections::VecDeque;

/// Heads of one stream: interim ones, its own and trailers.
const MOST_HEADS: u8 = INTERIM_LIMIT + 2;
/// Frames in a row without progress on any stream: settings, pings, priorities, windows, empty data, and what comes
/// late for streams that are over. A server that sends one ping a second sends as many in three hours.
const MOST_IDLE: u32 = 10_000;

/// A read from the connection, as the notes know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The read of the connection, of all streams.
    pub stamp: Read,
    /// Its number on the connection, from 1: pieces of one read have it in common.
    pub read: u64,
}

impl Arrival {
    /// The read as an exchange lists it, with its bytes of that exchange.
    pub fn with_len(self, len: u32) -> Read {
        Read { len, ..self.stamp }
    }
}

/// Data up to some byte of a body.
#[derive(Clone, Copy, Debug)]
struct Piece {
    arrival: Arrival,
    through: u64,
}

#[derive(Clone, Debug, Default)]
struct Notes {
    heads: VecDeque<Arrival>,
    pieces: VecDeque<Piece>,
    /// Bytes of data that came, and those that were taken.
    came: u64,
    taken: u64,
    bytes: u64,
    end: Option<Arrival>,
    reset: Option<Arrival>,
    heads_seen: u8,
}

/// A header block that is not complete yet.
#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    stream: u32,
    ends_stream: bool,
}

/// Notes on everything that is read from a connection.
#[derive(Clone, Debug, Default)]
pub struct Tap {
    walker: FrameWalker,
    reads: u64,
    streams: NumberMap<Notes, u32>,
    block: Option<OpenBlock>,
    last_processed: Option<u32>,
    /// Frames since the last progress on a stream.
    idle: u32,
    flood: Option<&'static str>,
}

impl Tap {
    /// Notes what comes on a stream from now on.
    pub fn register(&mut self, stream: u32) {
        self.streams.insert(stream, Notes::default());
    }

    /// Lets go of what was noted on a stream.
    pub fn forget(&mut self, stream: u32) {
        self.streams.remove(&stream);
    }

    /// Takes the bytes of one read.
    pub fn note(&mut self, bytes: &[u8], read: Read) {
        self.reads += 1;
        let arrival = Arrival { stamp: read, read: self.reads };
        let Self { walker, streams, block, last_processed, idle, flood, .. } = self;
        // The stream whose data are the last so far.
        let mut last_data: Option<u32> = None;
        walker.walk(bytes, |part| {
            let frame = part.frame;
            // More data of the same stream belong to the same piece.
            let adds_data = |earlier: u32| earlier == frame.stream && part.is_last && frame.has_data();
            if let Some(earlier) = last_data.take_if(|earlier| !adds_data(*earlier))
                && let Some(notes) = streams.get_mut(&earlier)
            {
                notes.follow_last(arrival, frame.is_of_message() && (earlier != frame.stream || !part.is_last));
            }
            let mut notes = streams.get_mut(&frame.stream);
            if frame.is_of_message()
                && let Some(notes) = &mut notes
            {
                notes.bytes += u64::from(part.fresh);
            }
            if !part.is_last {
                return;
            }
            *idle += 1;
            match frame.kind {
                kind::DATA => {
                    if frame.has_data() {
                        last_data = Some(frame.stream);
                    }
                    if let Some(notes) = notes
                        && notes.add_data(&frame, arrival)
                    {
                        *idle = 0;
                    }
                }
                kind::HEADERS | kind::CONTINUATION => {
                    if let Some(ends_stream) = close_block(block, &frame)
                        && let Some(notes) = notes
                    {
                        notes.add_head(ends_stream, arrival);
                        *idle = 0;
                        if notes.heads_seen > MOST_HEADS {
                            *flood = Some("too many interim responses");
                        }
                    }
                }
                kind::RST_STREAM => {
                    if let Some(notes) = notes {
                        notes.reset.get_or_insert(arrival);
                    }
                }
                kind::GOAWAY => {
                    // Of several, the last has the lowest number, or the server breaks the rules.
                    let last = frame.last_stream();
                    *last_processed = Some(last_processed.map_or(last, |known| known.min(last)));
                }
                _ => {}
            }
            if *idle > MOST_IDLE {
                *flood = Some("too many frames that bring no answer further");
            }
        });
        if walker.is_within_header()
            && let Some(notes) = last_data.and_then(|last| streams.get_mut(&last))
        {
            notes.follow_last(arrival, false);
        }
    }

    /// A request was written, or a part of one: the server has a reason to send frames about it.
    pub fn note_progress(&mut self) {
        self.idle = 0;
    }

    /// What the server floods the connection with, once it does.
    pub fn flood(&self) -> Option<&'static str> {
        self.flood
    }

    /// The read that completed the next head of a stream: those of interim responses first, trailers last.
    pub fn take_head(&mut self, stream: u32) -> Option<Arrival> {
        self.streams.get_mut(&stream)?.heads.pop_front()
    }

    /// The read that completed the next bytes of a body, and how many of them it did, `most` at most.
    pub fn take_data(&mut self, stream: u32, most: u64) -> Option<(Arrival, u64)> {
        let notes = self.streams.get_mut(&stream)?;
        let piece = *notes.pieces.front()?;
        let len = (piece.through - notes.taken).min(most);
        notes.taken += len;
        if notes.taken == piece.through {
            notes.pieces.pop_front();
        }
        Some((piece.arrival, len))
    }

    /// The read that completed the last frame of a stream, once it has come.
    pub fn end(&self, stream: u32) -> Option<Arrival> {
        self.streams.get(&stream)?.end
    }

    /// The read with the reset of a stream.
    pub fn reset(&self, stream: u32) -> Option<Arrival> {
        self.streams.get(&stream)?.reset
    }

    /// Bytes that came of a stream's heads and body, frame headers and padding included.
    pub fn bytes(&self, stream: u32) -> u64 {
        self.streams.get(&stream).map_or(0, |notes| notes.bytes)
    }

    /// The last stream that the server looks at, once it has sent GOAWAY.
    pub fn last_processed(&self) -> Option<u32> {
        self.last_processed
    }
}

impl Notes {
    /// Bytes of another frame follow those of this stream in the same read.
    fn follow_last(&mut self, arrival: Arrival, is_of_message: bool) {
        if let Some(last) = self.pieces.back_mut().filter(|last| last.arrival.read == arrival.read) {
            last.arrival.stamp.is_shared |= is_of_message;
            last.arrival.stamp.is_followed |= !is_of_message;
        }
    }

    /// Adds the data of a frame. Returns whether the stream makes progress.
    fn add_data(&mut self, frame: &Frame, arrival: Arrival) -> bool {
        let len = u64::from(frame.data_len());
        self.came += len;
        match self.pieces.back_mut() {
            Some(last) if last.arrival.read == arrival.read => last.through = self.came,
            _ if len > 0 => self.pieces.push_back(Piece { arrival, through: self.came }),
            _ => {}
        }
        let ends = frame.has(flag::END_STREAM);
        if ends {
            self.end.get_or_insert(arrival);
        }
        len > 0 || ends
    }

    fn add_head(&mut self, ends_stream: bool, arrival: Arrival) {
        self.heads_seen = self.heads_seen.saturating_add(1);
        if self.heads_seen <= MOST_HEADS {
            self.heads.push_back(arrival);
        }
        if ends_stream {
            self.end.get_or_insert(arrival);
        }
    }
}

/// Whether a frame completes a header block, and if so, whether the block ends its stream.
fn close_block(block: &mut Option<OpenBlock>, frame: &Frame) -> Option<bool> {
    if frame.kind == kind::HEADERS {
        *block = Some(OpenBlock { stream: frame.stream, ends_stream: frame.has(flag::END_STREAM) });
    }
    let open = block.filter(|open| open.stream == frame.stream)?;
    frame.has(flag::END_HEADERS).then(|| {
        *block = None;
        open.ends_stream
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Read = Read {
        at: aiperf_types::MonoNs(1),
        lag: 0,
        len: 0,
        width: 0,
        is_full: false,
        is_late: false,
        is_shared: false,
        is_followed: false,
    };

    fn data(stream: u8) -> [u8; 12] {
        [0, 0, 3, kind::DATA, 0, 0, 0, 0, stream, b'a', b'b', b'c']
    }

    #[test]
    fn what_was_taken_and_what_is_not_registered_takes_no_room() {
        let mut tap = Tap::default();
        tap.register(1);
        for _ in 0..1000 {
            tap.note(&data(1), READ);
            tap.note(&data(3), READ);
            assert!(tap.take_data(1, 2).is_some() && tap.take_data(1, 9).is_some());
        }
        assert_eq!((tap.streams.len(), tap.streams[&1].pieces.len(), tap.bytes(1)), (1, 0, 12_000));
        tap.forget(1);
        tap.note(&data(1), READ);
        assert!(tap.streams.is_empty() && tap.take_data(1, 1).is_none());
    }

    fn frame(kind: u8, stream: u8) -> [u8; 9] {
        [0, 0, 0, kind, 0, 0, 0, 0, stream]
    }

    #[test]
    fn frames_that_bring_no_stream_further_are_a_flood_and_a_word_of_a_response_or_a_request_ends_the_count() {
        const PRIORITY: u8 = 2;
        const SETTINGS: u8 = 4;
        const PING: u8 = 6;
        for (kind, stream) in [(SETTINGS, 0), (PING, 0), (PRIORITY, 1), (kind::DATA, 1), (kind::DATA, 3)] {
            let mut tap = Tap::default();
            tap.register(1);
            let many = |tap: &mut Tap| (0..MOST_IDLE).for_each(|_| tap.note(&frame(kind, stream), READ));
            many(&mut tap);
            tap.note(&data(1), READ);
            many(&mut tap);
            tap.note_progress();
            many(&mut tap);
            assert_eq!(tap.flood(), None, "kind {kind}");
            tap.note(&frame(kind, stream), READ);
            assert!(tap.flood().is_some(), "kind {kind}");
        }
    }

    #[test]
    fn data_are_followed_by_every_frame_behind_them_but_more_data_of_their_stream() {
        let noted = |bytes: &[&[u8]]| {
            let mut tap = Tap::default();
            tap.register(1);
            tap.note(&bytes.concat(), READ);
            let stamp = tap.take_data(1, 99).expect("data").0.stamp;
            (stamp.is_followed, stamp.is_shared)
        };
        let head = [0, 0, 0, kind::HEADERS, flag::END_HEADERS, 0, 0, 0, 3];
        let end = [0, 0, 0, kind::DATA, flag::END_STREAM, 0, 0, 0, 1];
        assert_eq!(noted(&[&data(1)]), (false, false));
        assert_eq!(noted(&[&data(1), &data(1)]), (false, false));
        assert_eq!(noted(&[&data(1), &end]), (true, false), "the end of the stream");
        assert_eq!(noted(&[&data(1), &frame(kind::RST_STREAM, 1)]), (true, false));
        assert_eq!(noted(&[&data(1), &end[..4]]), (true, false), "a part of a header");
        assert_eq!(noted(&[&data(1), &data(1)[..11]]), (false, true), "a part of later data");
        assert_eq!(noted(&[&data(1), &head]), (false, true), "another stream");
    }

    #[test]
    fn interim_responses_without_end_are_a_flood() {
        let mut tap = Tap::default();
        tap.register(1);
        let head = [0, 0, 0, kind::HEADERS, flag::END_HEADERS, 0, 0, 0, 1];
        (0..MOST_HEADS).for_each(|_| tap.note(&head, READ));
        assert_eq!(tap.flood(), None);
        tap.note(&head, READ);
        assert!(tap.flood().is_some());
    }

    #[test]
    fn heads_without_end_are_not_kept_without_end() {
        let mut tap = Tap::default();
        tap.register(1);
        for _ in 0..1000 {
            tap.note(&[0, 0, 0, kind::HEADERS, flag::END_HEADERS, 0, 0, 0, 1], READ);
        }
        assert_eq!(tap.streams[&1].heads.len(), usize::from(MOST_HEADS));
    }
}
