//! Which write took what of a request: notes on the frames that `h2` writes.

use super::frames::{FrameWalker, flag};
use aiperf_types::{MonoNs, NumberMap};

/// What was written of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bytes of head and body, frame headers included.
    pub bytes: u64,
    /// The writes that took some of them: when each returned, and how many of them it took.
    pub writes: Vec<(MonoNs, u32)>,
    /// Nothing is left to write.
    pub is_whole: bool,
    /// Number of the last write on the connection.
    write: u64,
}

/// Notes on everything that is written to a connection.
#[derive(Clone, Debug)]
pub struct SentTap {
    walker: FrameWalker,
    writes: u64,
    streams: NumberMap<Sent, u32>,
}

impl Default for SentTap {
    fn default() -> Self {
        Self { walker: FrameWalker::after_preface(), writes: 0, streams: NumberMap::default() }
    }
}

impl Sent {
    /// When the last write returned.
    pub fn at(&self) -> MonoNs {
        self.writes.last().map_or(MonoNs(0), |(at, _)| *at)
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

    /// Takes the bytes of one write, in parts, and when it returned. Returns whether some were of a request.
    pub fn note<'a>(&mut self, parts: impl Iterator<Item = &'a [u8]>, at: MonoNs) -> bool {
        let mut is_of_request = false;
        self.writes += 1;
        let Self { walker, writes, streams } = self;
        for bytes in parts {
            walker.walk(bytes, |part| {
                let frame = part.frame;
                let Some(sent) = streams.get_mut(&frame.stream).filter(|_| frame.is_of_message()) else { return };
                is_of_request = true;
                sent.bytes += u64::from(part.fresh);
                match sent.writes.last_mut() {
                    Some((_, taken)) if sent.write == *writes => *taken += part.fresh,
                    _ => sent.writes.push((at, part.fresh)),
                }
                sent.write = *writes;
                sent.is_whole |= part.is_last && frame.has(flag::END_STREAM);
            });
        }
        is_of_request
    }

    /// What was written of a stream so far.
    pub fn of(&self, stream: u32) -> Option<&Sent> {
        self.streams.get(&stream)
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
        assert_eq!(tap.of(1), Some(&Sent::default()));
        // One write with all of one stream and a cut frame of another, and one with its rest.
        tap.note([&data(1)[..], &data(1), &data(3)[..10]].into_iter(), MonoNs(2));
        tap.note([&data(3)[10..]].into_iter(), MonoNs(3));
        let noted = |stream| tap.of(stream).map(|sent| (sent.bytes, sent.writes.clone(), sent.at()));
        assert_eq!(noted(1), Some((22, vec![(MonoNs(2), 22)], MonoNs(2))));
        assert_eq!(noted(3), Some((11, vec![(MonoNs(2), 10), (MonoNs(3), 1)], MonoNs(3))));
        tap.forget(1);
        assert_eq!(tap.of(1), None);
    }
}
