//! Records of a synthetic run: a closed loop of users, each record a stream.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aiperf_types::{ContentMark, HttpTiming, Measured, MonoNs, RequestError, TokenCounts, Usage, WallNs};

const EPOCH: u64 = 1_760_000_000_000_000_000;

/// A small random number generator, the same on every machine.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

/// A closed loop: `users` streams at a time, each of `chunks` chunks; about one in `errors_every` fails. Records arrive
/// in the order of their ends.
pub(crate) struct Load {
    draw: Draw,
    /// When each user's request ends, earliest first.
    ends: BinaryHeap<Reverse<(u64, usize)>>,
    flying: Vec<Measured>,
    sent: u64,
    chunks: u64,
    gap_ns: u64,
    errors_every: u64,
}

impl Load {
    pub(crate) fn new(seed: u64, users: usize, chunks: u64, gap_ns: u64, errors_every: u64) -> Self {
        let mut draw = Draw::new(seed);
        let mut starts: Vec<u64> = (0..users).map(|_| 1_000_000_000 + draw.below(100_000_000)).collect();
        starts.sort_unstable();
        let flying = (0..users).map(|_| Measured::default()).collect();
        let mut load = Self { draw, ends: BinaryHeap::new(), flying, sent: 0, chunks, gap_ns, errors_every };
        starts.into_iter().enumerate().for_each(|(user, start)| load.send(user, start));
        load
    }

    /// Writes the next record that ends into the memory of an earlier one.
    pub(crate) fn next_into(&mut self, m: &mut Measured) {
        if let Some(Reverse((end, user))) = self.ends.pop() {
            let mut content = std::mem::take(&mut m.content);
            content.clone_from(&self.flying[user].content);
            *m = Measured { content, ..std::mem::take(&mut self.flying[user]) };
            self.send(user, end);
        }
    }

    fn send(&mut self, user: usize, now: u64) {
        let m = &mut self.flying[user];
        let start = now + self.draw.below(2_000_000);
        let mut content = std::mem::take(&mut m.content);
        content.clear();
        let failed = self.errors_every > 0 && self.draw.below(self.errors_every) == 0;
        let mut at = start + 30_000_000 + self.draw.below(80_000_000);
        if !failed {
            for number in 0..self.chunks {
                content.push(ContentMark { at: MonoNs(at), output: number > 0, reasoning: number == 0 });
                at += self.gap_ns / 2 + self.draw.below(self.gap_ns);
            }
        }
        let last = content.last().map_or(at, |mark| mark.at.0);
        let end = last + 50_000 + self.draw.below(400_000);
        self.ends.push(Reverse((end, user)));
        let output = self.chunks + self.draw.below(20);
        let input = 300 + self.draw.below(500);
        *m = Measured {
            number: self.sent,
            start_wall: WallNs(EPOCH + start),
            start: MonoNs(start),
            end: MonoNs(end),
            head: (!failed).then_some(MonoNs(start + 20_000_000)),
            credit_issued: Some(WallNs(EPOCH + now)),
            credit_drop: Some(self.draw.below(90_000)),
            tokens: TokenCounts {
                input: Some(input),
                output: Some(output),
                reasoning: Some(1),
                ..TokenCounts::default()
            },
            usage: Usage {
                prompt_tokens: Some(input + 7),
                completion_tokens: Some(output + 1),
                total_tokens: Some(input + output + 8),
                prompt_cache_read_tokens: Some(self.draw.below(100)),
                ..Usage::default()
            },
            requested_osl: Some(self.chunks as u32 + 10),
            http: Some(HttpTiming {
                blocked: Some(0),
                dns_lookup: Some(0),
                connecting: Some(0),
                tls_handshaking: Some(0),
                sending: Some(20_000 + self.draw.below(10_000)),
                waiting: Some(30_000_000 + self.draw.below(1_000_000)),
                receiving: Some(end - start),
                duration: Some(end - start + 40_000),
                reused: Some(true),
                data_sent: Some(2_000 + self.draw.below(500)),
                chunks_sent: Some(1),
                data_received: Some(14_000 + self.draw.below(3_000)),
                chunks_received: Some(self.chunks),
            }),
            error: failed.then(|| RequestError::status(500, "Internal Server Error", "no")),
            content,
            ..Measured::default()
        };
        self.sent += 1;
    }
}
