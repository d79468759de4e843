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
