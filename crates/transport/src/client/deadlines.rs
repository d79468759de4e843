//! The deadlines of one request: its total time, and those of a request that the plan has cancelled.

use super::PlannedCancel;
use crate::cancel::{Cancel, CancelReason};
use crate::timers::{Deadline, Timers};
use aiperf_types::{MonoNs, Nanos};

/// The deadlines of one request.
pub(super) struct Deadlines<'a> {
    timers: &'a Timers,
    cancel: &'a Cancel,
    timeout: Option<Nanos>,
    end: Option<MonoNs>,
    pub(super) planned: Option<PlannedCancel>,
    /// The request's own end, or the end of its sending.
    running: Option<Deadline>,
    cancelling: Option<Deadline>,
    /// An earlier leg was sent.
    is_later_leg: bool,
}

impl<'a> Deadlines<'a> {
    pub(super) fn new(
        timers: &'a Timers,
        start: MonoNs,
        timeout: Option<Nanos>,
        planned: Option<PlannedCancel>,
        cancel: &'a Cancel,
    ) -> Self {
        let end = timeout.map(|timeout| start.plus(timeout));
        let mut deadlines =
            Self { timers, cancel, timeout, end, planned, running: None, cancelling: None, is_later_leg: false };
        match (end, planned) {
            (end, Some(planned)) => {
                let sent_by = end.unwrap_or(start.plus(planned.send_timeout));
                deadlines.running = Some(timers.stop_at(sent_by, cancel, CancelReason::SendTimedOut));
            }
            (Some(end), None) => deadlines.running = Some(timers.stop_at(end, cancel, CancelReason::TimedOut)),
            (None, None) => {}
        }
        deadlines
    }

    /// Another leg begins, perhaps with all the time anew.
    pub(super) fn begin_leg(&mut self, now: MonoNs, renews_time: bool) {
        self.is_later_leg = true;
        if let Some(timeout) = self.timeout.filter(|_| renews_time) {
            let end = now.plus(timeout);
            self.end = Some(end);
            self.running = Some(self.timers.stop_at(end, self.cancel, CancelReason::TimedOut));
        }
    }

    /// The request was sent; `true` when it is to be cancelled at once. One of several legs was sent with its first.
    pub(super) fn note_sent(&mut self, now: MonoNs) -> bool {
        let Some(planned) = self.planned else { return false };
        if self.is_later_leg && self.cancelling.is_some() {
            return false;
        }
        self.running = self.end.map(|end| self.timers.stop_at(end, self.cancel, CancelReason::TimedOut));
        let cancelled_at = now.plus(planned.after);
        self.cancelling = Some(self.timers.stop_at(cancelled_at, self.cancel, CancelReason::Planned));
        planned.after == Nanos(0)
    }

    pub(super) fn cancelled_after(&self) -> Nanos {
        self.planned.map_or(Nanos(0), |planned| planned.after)
    }
}
