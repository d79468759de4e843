//! What phases were asked to send and what they sent: a part of what a run says of itself.

use aiperf_types::{Nanos, PhaseProgress, WallNs};
use serde_json::{Value, json};

/// Of the requests that were asked for, the share that may be missing at the end of a phase: some are always under way.
const UNSENT_SHARE: f64 = 0.01;

/// One profiling phase as it sent.
pub struct PhaseSending {
    pub name: String,
    pub index: u16,
    pub start: WallNs,
    /// When it sent no more.
    pub sent_end: WallNs,
    /// After which time it had to stop sending, if it had to.
    pub length: Option<Nanos>,
    pub counts: PhaseProgress,
    /// Of what was sent by its counters, what was cut off before it left this machine.
    pub never_left: u64,
}

/// Phases whose counts and times are added up.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    offered: u64,
    missed: u64,
    sent: u64,
    never_left: u64,
    slip: Nanos,
    seconds: f64,
    /// Requests after which another interval began: those that end a phase by their number have none.
    closing: u64,
    /// All of them offered requests, instead of sending as slots came free.
    is_open: bool,
}

impl Sum {
    fn of(phase: &PhaseSending) -> Self {
        let PhaseProgress { offered, missed, sent, slip, .. } = phase.counts;
        let sending = Nanos(phase.sent_end.0.saturating_sub(phase.start.0));
        let ended_by_time = phase.length.is_some_and(|length| sending >= length);
        let closing = u64::from(!ended_by_time);
        let (never_left, seconds) = (phase.never_left, sending.as_secs_f64());
        Self { offered, missed, sent, never_left, slip, seconds, closing, is_open: offered > 0 }
    }

    fn all(phases: &[PhaseSending]) -> Self {
        phases.iter().map(Self::of).reduce(Self::plus).unwrap_or_default()
    }

    fn plus(self, other: Self) -> Self {
        Self {
            offered: self.offered + other.offered,
            missed: self.missed + other.missed,
            sent: self.sent + other.sent,
            never_left: self.never_left + other.never_left,
            slip: Nanos(self.slip.0 + other.slip.0),
            seconds: self.seconds + other.seconds,
            closing: self.closing + other.closing,
            is_open: self.is_open && other.is_open,
        }
    }

    /// So many requests over the time of sending, in requests a second: one interval follows each but the last ones.
    fn rate(&self, requests: u64) -> Option<f64> {
        let intervals = requests.saturating_sub(self.closing);
        (self.seconds > 0.0 && intervals > 0).then(|| intervals as f64 / self.seconds)
    }

    fn asked(&self) -> Option<f64> {
        self.rate(self.offered).filter(|_| self.is_open)
    }

    fn achieved(&self) -> Option<f64> {
        self.rate(self.sent.saturating_sub(self.never_left))
    }

    /// Both, in words; nothing where one is not known.
    fn rates(&self) -> String {
        match (self.achieved(), self.asked()) {
            (Some(achieved), Some(asked)) => format!(" ({achieved:.1} instead of {asked:.1} requests a second)"),
            _ => String::new(),
        }
    }

    /// Requests that were asked for, found their slot, and were not sent.
    fn unsent(&self) -> u64 {
        self.offered.saturating_sub(self.missed + self.sent)
    }

    fn fields(&self) -> Value {
        json!({
            "offered": self.offered,
            "missed": self.missed,
            "sent": self.sent,
            "never_left": self.never_left,
            "asked_rate": self.asked(),
            "achieved_rate": self.achieved(),
            "slip_seconds": self.slip.as_secs_f64(),
        })
    }
}

/// In all, and phase by phase.
pub(crate) fn block(phases: &[PhaseSending]) -> Value {
    let mut block = Sum::all(phases).fields();
    block["phases"] = phases.iter().map(entry).collect();
    block
}

fn entry(phase: &PhaseSending) -> Value {
    let counts = &phase.counts;
    let mut entry = Sum::of(phase).fields();
    let more = [
        ("phase_name", phase.name.as_str().into()),
        ("phase_index", phase.index.into()),
        ("start_ns", phase.start.0.into()),
        ("sent_end_ns", phase.sent_end.0.into()),
        ("completed", counts.completed.into()),
        ("errors", counts.errors.into()),
        ("cancelled", counts.cancelled.into()),
        ("sessions_sent", counts.sessions_sent.into()),
        ("sessions_completed", counts.sessions_completed.into()),
        ("sessions_cancelled", counts.sessions_cancelled.into()),
        ("session_turns", counts.session_turns.into()),
    ];
    more.into_iter().for_each(|(name, value): (&str, Value)| entry[name] = value);
    entry
}

/// What to know of it, one sentence each.
pub(crate) fn doubts(phases: &[PhaseSending], was_stopped: bool) -> Vec<String> {
    phases.iter().flat_map(|phase| of_phase(phase, phases.len() > 1, was_stopped)).collect()
}

fn of_phase(phase: &PhaseSending, is_named: bool, was_stopped: bool) -> Vec<String> {
    let sum = Sum::of(phase);
    let name = if is_named { format!("phase {}: ", phase.name) } else { String::new() };
    let rates = sum.rates();
    let mut out = Vec::new();
    if sum.missed > 0 {
        let Sum { missed, offered, .. } = sum;
        out.push(format!(
            "{name}{missed} of {offered} offers found no free slot and were dropped{rates}: raise --concurrency or lower \
             the rate"
        ));
    }
    if sum.slip > Nanos(0) {
        out.push(format!(
            "{name}the schedule was moved back by {:.2} s because it could not be caught up: what was due in that time was \
             never sent",
            sum.slip.as_secs_f64()
        ));
    }
    if !was_stopped && sum.unsent() as f64 > UNSENT_SHARE * sum.offered as f64 && sum.unsent() > 1 {
        out.push(format!(
            "{name}{} of {} requests that were due were not sent{rates}: this client could not keep up",
            sum.unsent(),
            sum.offered
        ));
    }
    out
}

/// What to know of requests that no worker came to begin before the run cut them off, over all phases.
pub(crate) fn never_begun(phases: &[PhaseSending], count: u64) -> Option<String> {
    let sum = Sum::all(phases);
    let (sent, rates) = (sum.sent, sum.rates());
    (count > 1 && count as f64 > UNSENT_SHARE * sent as f64).then(|| {
        format!(
            "{count} of {sent} requests were due and never left this machine{rates}: it could not keep up; they have a \
             line in the records and count in no metric"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(seconds: f64, counts: PhaseProgress) -> PhaseSending {
        let start = WallNs(1_760_000_000_000_000_000);
        let sent_end = WallNs(start.0 + Nanos::from_secs_f64(seconds).0);
        PhaseSending { name: "load".into(), index: 1, start, sent_end, length: None, counts, never_left: 0 }
    }

    fn counts(offered: u64, missed: u64, sent: u64) -> PhaseProgress {
        PhaseProgress { offered, missed, sent, ..PhaseProgress::default() }
    }

    #[test]
    fn a_rate_counts_the_intervals_between_requests() {
        // Ten requests, one every 100 ms: the last is sent after 0.9 s.
        let by_count = phase(0.9, counts(10, 0, 10));
        assert_eq!(Sum::of(&by_count).achieved(), Some(10.0));
        let by_time = PhaseSending { length: Some(Nanos::from_millis(1000)), ..phase(1.0, counts(10, 0, 10)) };
        assert_eq!(Sum::of(&by_time).achieved(), Some(10.0));
        assert_eq!(Sum::of(&phase(0.0, counts(1, 0, 1))).achieved(), None);
    }

    #[test]
    fn what_never_left_this_machine_is_in_no_rate_that_was_achieved() {
        let length = Some(Nanos::from_millis(1000));
        let behind = PhaseSending { length, never_left: 60, ..phase(1.0, counts(100, 0, 100)) };
        let block = block(&[behind]);
        assert_eq!((&block["sent"], &block["never_left"]), (&100.into(), &60.into()));
        assert_eq!((&block["asked_rate"], &block["achieved_rate"]), (&100.0.into(), &40.0.into()));
    }

    #[test]
    fn requests_that_nobody_came_to_begin_are_said_where_they_are_more_than_a_few() {
        let length = Some(Nanos::from_millis(1000));
        let behind = [PhaseSending { length, never_left: 60, ..phase(1.0, counts(100, 0, 100)) }];
        assert_eq!(
            never_begun(&behind, 60).unwrap(),
            "60 of 100 requests were due and never left this machine (40.0 instead of 100.0 requests a second): it could \
             not keep up; they have a line in the records and count in no metric"
        );
        assert_eq!((never_begun(&behind, 0), never_begun(&behind, 1)), (None, None), "some are always under way");
        let closed = [PhaseSending { never_left: 3, ..phase(1.0, counts(0, 0, 100)) }];
        assert!(
            never_begun(&closed, 3).unwrap().starts_with("3 of 100 requests were due and never left this machine: it")
        );
    }

    #[test]
    fn what_was_asked_of_all_phases_is_known_only_where_all_were_asked() {
        let open = || PhaseSending { length: Some(Nanos::from_millis(1000)), ..phase(1.0, counts(10, 2, 8)) };
        let closed = || PhaseSending { length: Some(Nanos::from_millis(1000)), ..phase(1.0, counts(0, 0, 500)) };
        let both = block(&[open(), open()]);
        assert_eq!((&both["offered"], &both["missed"], &both["sent"]), (&20.into(), &4.into(), &16.into()));
        assert_eq!((&both["asked_rate"], &both["achieved_rate"]), (&10.0.into(), &8.0.into()));
        let mixed = block(&[open(), closed()]);
        assert_eq!((&mixed["asked_rate"], &mixed["phases"][0]["asked_rate"]), (&Value::Null, &10.0.into()));
        assert_eq!(mixed["phases"][1]["asked_rate"], Value::Null);
        assert_eq!(mixed["phases"][1]["phase_name"], "load");
    }

    #[test]
    fn offers_without_a_slot_are_said_with_the_way_out() {
        let length = Some(Nanos::from_millis(10_000));
        let missed = PhaseSending { length, ..phase(10.0, counts(200, 50, 150)) };
        assert_eq!(
            doubts(&[missed], false),
            ["50 of 200 offers found no free slot and were dropped (15.0 instead of 20.0 requests a second): raise \
              --concurrency or lower the rate"]
        );
        assert!(doubts(&[phase(10.0, counts(0, 0, 500))], false).is_empty());
        assert!(doubts(&[phase(10.0, counts(200, 0, 199))], false).is_empty());
    }

    #[test]
    fn what_the_client_did_not_send_is_said_unless_it_was_stopped() {
        let late = || phase(10.0, PhaseProgress { slip: Nanos::from_millis(1500), ..counts(200, 0, 150) });
        let said = doubts(&[late(), phase(1.0, counts(5, 0, 5))], false);
        assert!(said[0].starts_with("phase load: the schedule was moved back by 1.50 s"), "{said:?}");
        assert!(said[1].starts_with("phase load: 50 of 200 requests that were due were not sent"), "{said:?}");
        assert_eq!(said.len(), 2);
        assert_eq!(doubts(&[late()], true).len(), 1);
    }
}
