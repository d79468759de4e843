//! What phases were asked to send, and what they sent.

use aiperf_types::{Nanos, PhaseProgress, WallNs};

/// The share of the requested requests that may be unsent at the end of a phase: some are always under way.
const UNSENT_SHARE: f64 = 0.01;
/// A phase that sent less than this share of what it was asked for sent a different load.
const ENOUGH: f64 = 0.98;

/// Counts and times of one phase, or of several added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sent {
    pub offered: u64,
    pub missed: u64,
    pub unsent_held: u64,
    pub unsent_waiting: u64,
    pub idle: u64,
    pub sent: u64,
    /// Requests that count as sent, but were cut off before they left this machine.
    pub never_left: u64,
    /// Requests with a response that is no error.
    pub answered: u64,
    pub slip: Nanos,
    /// The time in which requests were due, in seconds.
    pub seconds: f64,
    /// The time in which requests were sent, in seconds.
    pub sending_seconds: f64,
    /// The time until the last response, in seconds.
    pub answering_seconds: f64,
    /// Sent requests, one per interval.
    pub within: u64,
    /// Requests that were asked for within `seconds`; `None` if a phase was not asked for a number.
    pub asked: Option<f64>,
}

impl Sent {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            offered: self.offered + other.offered,
            missed: self.missed + other.missed,
            unsent_held: self.unsent_held + other.unsent_held,
            unsent_waiting: self.unsent_waiting + other.unsent_waiting,
            idle: self.idle + other.idle,
            sent: self.sent + other.sent,
            never_left: self.never_left + other.never_left,
            answered: self.answered + other.answered,
            slip: Nanos(self.slip.0 + other.slip.0),
            seconds: self.seconds + other.seconds,
            sending_seconds: self.sending_seconds + other.sending_seconds,
            answering_seconds: self.answering_seconds + other.answering_seconds,
            within: self.within + other.within,
            asked: self.asked.zip(other.asked).map(|(one, two)| one + two),
        }
    }

    /// Requests per second over the time in which they were due.
    pub fn rate(&self, requests: f64) -> Option<f64> {
        (self.seconds > 0.0 && requests > 0.0).then(|| requests / self.seconds)
    }

    pub fn asked_rate(&self) -> Option<f64> {
        self.asked.and_then(|asked| self.rate(asked))
    }

    pub fn achieved_rate(&self) -> Option<f64> {
        (self.sending_seconds > 0.0 && self.within > 0).then(|| self.within as f64 / self.sending_seconds)
    }

    pub fn answered_rate(&self) -> Option<f64> {
        (self.answering_seconds > 0.0 && self.answered > 0).then(|| self.answered as f64 / self.answering_seconds)
    }

    /// Whether so much less was sent than asked that it was a different load. One request is always between two ticks.
    pub fn is_short(&self) -> bool {
        let sent = self.within as f64;
        self.asked.is_some_and(|asked| sent < ENOUGH * asked && sent + 1.0 < asked)
    }

    /// Whether more of the due requests are unsent than are always under way at the end of a phase.
    pub fn are_many(&self, unsent: u64) -> bool {
        are_many(unsent, self.offered)
    }

    /// Requests that were due and not sent, without waiting for a slot: this client was too slow.
    pub fn not_got_to(&self) -> u64 {
        self.offered.saturating_sub(self.missed + self.unsent_waiting + self.sent)
    }

    /// The share of the due requests that this client did not get to, or that never left this machine. One request is
    /// always under way.
    pub fn unsent_share(&self) -> f64 {
        match self.not_got_to() + self.never_left {
            0 | 1 => 0.0,
            unsent => unsent as f64 / self.offered.max(self.sent) as f64,
        }
    }
}

/// Whether a count is more of all than is always under way at the end of a phase.
pub fn are_many(count: u64, all: u64) -> bool {
    count > 1 && count as f64 > UNSENT_SHARE * all as f64
}

/// What one profiling phase sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseSent {
    pub index: u16,
    pub name: String,
    pub start: WallNs,
    /// The end of its sending.
    pub sent_end: WallNs,
    pub counts: PhaseProgress,
    pub sent: Sent,
}

/// What the profiling phases of a run sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sending {
    pub phases: Vec<PhaseSent>,
}

impl Sending {
    /// All phases together.
    pub fn all(&self) -> Sent {
        self.phases.iter().map(|phase| phase.sent).reduce(Sent::plus).unwrap_or_default()
    }

    /// One phase; `None` if it is no profiling phase.
    pub fn of_phase(&self, index: u16) -> Option<&PhaseSent> {
        self.phases.iter().find(|phase| phase.index == index)
    }
}
