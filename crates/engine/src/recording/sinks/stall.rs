//! Sinks that keep records waiting for longer than they may.

use super::OpenSink;
use super::writer::SinkState;
use crate::queue::LONGEST_WAIT;
use crate::recording::stalls::ThreadCounters;
use aiperf_metrics::StallTimes;
use aiperf_types::{MonoNs, Nanos};

/// The longest wait in a sink that keeps up.
const SHORT_WAIT: Nanos = Nanos(LONGEST_WAIT.0 / 4);
/// How often the counters of a sink's thread are noted while it keeps up.
const MEASURED_EVERY: Nanos = Nanos(LONGEST_WAIT.0 / 2);

/// The start or the end of a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StallNews {
    /// How long its oldest record has waited, and what its thread did meanwhile.
    Began(Nanos, StallTimes),
    /// How long it lasted.
    Ended(Nanos),
}

impl OpenSink {
    /// `since` is the arrival of the oldest waiting batch.
    pub(super) fn look_for_stall(
        &mut self,
        since: Option<MonoNs>,
        now: MonoNs,
        holds_sending: bool,
        measure: fn(&SinkState, MonoNs) -> ThreadCounters,
    ) -> Option<StallNews> {
        let waited = since.map_or(Nanos::ZERO, |since| now.since(since));
        let counters = || measure(&self.state, now);
        let is_calm = self.stalled.is_none() && waited < SHORT_WAIT;
        let is_old = self.calm.is_none_or(|calm| now.since(calm.at) >= MEASURED_EVERY);
        if is_calm && is_old {
            self.calm = Some(counters());
        }
        let times = |waited| self.calm.map_or(StallTimes::default(), |calm| calm.until(counters(), waited));
        match self.stalled {
            Some(stalled) if waited.0 < LONGEST_WAIT.0 / 2 => {
                let length = now.since(stalled);
                let times = times(length);
                self.stall.times.add(times);
                self.stall.total.0 += length.0;
                self.stall.longest = self.stall.longest.max(length);
                self.stalled = None;
                Some(StallNews::Ended(length))
            }
            Some(_) => {
                self.stall.held_sending |= holds_sending;
                None
            }
            None if waited > LONGEST_WAIT || (holds_sending && waited.0 > LONGEST_WAIT.0 / 2) => {
                let times = times(waited);
                self.stalled = since;
                self.stall.count += 1;
                self.stall.held_sending |= holds_sending;
                Some(StallNews::Began(waited, times))
            }
            None => None,
        }
    }
}
