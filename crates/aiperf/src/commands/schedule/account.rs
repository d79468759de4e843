//! Totals of each phase in a rehearsal, counted event by event.

use aiperf_campaign::rehearsal::{PhaseEnd, RehearsalEvent, RehearsalKind};
use aiperf_types::{Nanos, PhaseIndex, PhaseProgress};

/// Totals of all phases.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    phases: Vec<PhaseAccount>,
    /// The time of the last event.
    pub(super) end: Nanos,
}

/// Totals of one phase.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PhaseAccount {
    pub(super) started: Nanos,
    /// Requests of other phases that were in flight when it started.
    pub(super) in_flight_before: u64,
    /// First and last dispatch.
    pub(super) sent: Option<(Nanos, Nanos)>,
    /// When it stopped sending.
    pub(super) sending_complete: Nanos,
    pub(super) complete: Nanos,
    pub(super) end: PhaseEnd,
    pub(super) counts: PhaseProgress,
    pub(super) in_flight: Level,
    pub(super) sessions: Level,
    pub(super) awaiting_first_content: Level,
    /// Cancelled on purpose.
    pub(super) given_up: u64,
}

/// The current number and the peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) now: u64,
    pub(super) peak: u64,
}

impl Level {
    fn rise(&mut self) {
        self.now += 1;
        self.peak = self.peak.max(self.now);
    }

    fn fall(&mut self) {
        self.now = self.now.saturating_sub(1);
    }
}

impl Account {
    pub(super) fn new(phases: usize) -> Self {
        Self { phases: vec![PhaseAccount::default(); phases], end: Nanos::ZERO }
    }

    pub(super) fn phases(&self) -> &[PhaseAccount] {
        &self.phases
    }

    pub(super) fn add(&mut self, moment: &RehearsalEvent) {
        let at = moment.at;
        self.end = at;
        match moment.what {
            RehearsalKind::Started(phase) => {
                let in_flight = self.phases.iter().map(|account| account.in_flight.now).sum();
                let account = self.of(phase);
                (account.started, account.in_flight_before) = (at, in_flight);
            }
            RehearsalKind::Sent(dispatch, _) => {
                let account = self.of(dispatch.phase);
                account.sent = Some((account.sent.map_or(at, |(first, _)| first), at));
                account.in_flight.rise();
                account.awaiting_first_content.rise();
                if dispatch.is_first() {
                    account.sessions.rise();
                }
                account.given_up += u64::from(dispatch.cancel_after.is_some());
            }
            RehearsalKind::FirstContent(request) => self.of(request.phase).awaiting_first_content.fall(),
            RehearsalKind::Returned(request, _) => {
                let account = self.of(request.phase);
                account.in_flight.fall();
                // A request that is cut off before its first content stops waiting too.
                if !request.has_content {
                    account.awaiting_first_content.fall();
                }
                if request.is_last {
                    account.sessions.fall();
                }
            }
            // The counts at the end of the phase contain their sum.
            RehearsalKind::Missed(..) => {}
            RehearsalKind::SendingComplete(phase, _) => self.of(phase).sending_complete = at,
            RehearsalKind::Complete(phase, end, counts) => {
                let account = self.of(phase);
                (account.complete, account.end, account.counts) = (at, end, counts);
            }
        }
    }

    fn of(&mut self, phase: PhaseIndex) -> &mut PhaseAccount {
        &mut self.phases[usize::from(phase.0)]
    }
}

impl PhaseAccount {
    /// Requests per second while the phase sent; `None` if all were sent at one instant.
    pub(super) fn rate(&self) -> Option<f64> {
        let seconds = Nanos(self.sending_complete.0.saturating_sub(self.started.0)).as_secs_f64();
        (seconds > 0.0).then(|| self.counts.sent as f64 / seconds)
    }
}
