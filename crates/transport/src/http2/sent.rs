//! Which write took what of a request: notes on the frames that `h2` writes.

use super::frames::FrameWalker;
use aiperf_types::MonoNs;
use std::collections::HashMap;

/// What was written of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bytes of head and body, frame headers included.
    pub bytes: u64,
    /// Writes that took some of them.
    pub writes: u32,
    /// When the last of these returned.
    pub at: MonoNs,
    /// Number of the last write on the connection.
    write: u64,
}

/// Notes on everything that is written to a connection.
#[derive(Clone, Debug)]
pub struct SentTap {
    walker: FrameWalker,
    writes: u64,
    streams: HashMap<u32, Sent>,
}

impl Default for SentTap {
    fn default() -> Self {
        Self { walker: FrameWalker::after_preface(), writes: 0, streams: HashMap::new() }
    }
}

impl SentTap {
    /// Notes what is written of a stream from now on.
    pub fn register(&mut self, stream: u32) {
        self.streams.insert(stream, Sent::default());
    }

    /// Lets go of what was noted on a stream.
    pub fn forget(&mut self, stream: u32) {
        self.streams.remove(&stream);
    }

    /// Takes the bytes of one write, in parts, and when it returned.
    pub fn note<'a>(&mut self, parts: impl Iterator<Item = &'a [u8]>, at: MonoNs) {
        self.writes += 1;
        let Self { walker, writes, streams } = self;
        for bytes in parts {
            walker.walk(bytes, |part| {
                let frame = part.frame;
                let Some(sent) = streams.get_mut(&frame.stream).filter(|_| frame.is_of_message()) else { return };
                sent.bytes += u64::from(part.fresh);
                sent.writes += u32::from(sent.write != *writes);
                (sent.write, sent.at) = (*writes, at);
            });
        }
    }

    /// What was written of a stream so far.
    pub fn of(&self, stream: u32) -> Sent {
        self.streams.get(&stream).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::{PREFACE_LEN, kind};
    use super::*;

    #[test]
    fn a_request_ends_with_the_write_that_took_its_last_byte() {
        let mut tap = SentTap::default();
        tap.register(1);
        tap.register(3);
        let preface = [b'P'; PREFACE_LEN];
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        let data = |stream: u8| [0, 0, 2, kind::DATA, 0, 0, 0, 0, stream, b'{', b'}'];
        tap.note([&preface[..5], &preface[5..], &settings].into_iter(), MonoNs(1));
        assert_eq!(tap.of(1), Sent::default());
        // One write with all of one stream and a cut frame of another, and one with its rest.
        tap.note([&data(1)[..], &data(1), &data(3)[..10]].into_iter(), MonoNs(2));
        tap.note([&data(3)[10..]].into_iter(), MonoNs(3));
        let noted = |stream| (tap.of(stream).bytes, tap.of(stream).writes, tap.of(stream).at);
        assert_eq!((noted(1), noted(3)), ((22, 1, MonoNs(2)), (11, 2, MonoNs(3))));
        tap.forget(1);
        assert_eq!(tap.of(1), Sent::default());
    }
}
