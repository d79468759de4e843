//! What phases were asked to send and what they sent, from the plan and the counters; and the doubts about it.

use aiperf_metrics::{PhaseSent, Sending, Sent, are_many};
use aiperf_plan::PhasePlan;
use aiperf_schedule::RateCurve;
use aiperf_types::{Nanos, PhaseProgress, WallNs};

/// What one profiling phase sent.
pub struct PhaseSending {
    pub index: u16,
    pub start: WallNs,
    /// The end of its sending.
    pub sent_end: WallNs,
    /// When its last request was released.
    pub last_sent: WallNs,
    /// When its last request was over.
    pub end: WallNs,
    pub plan: PhasePlan,
    /// Its rate over time, if it has one.
    pub rate: Option<RateCurve>,
    pub counts: PhaseProgress,
    /// Requests that its counters count as sent, but that were cut off before they left this machine.
    pub never_left: u64,
    /// Requests that the run itself ended after their start.
    pub cut_off: u64,
}

impl PhaseSending {
    fn ended_by_time(&self) -> bool {
        self.plan.duration().is_some_and(|length| self.until_sent_end() >= length)
    }

    /// The time in which requests were due. A time limit that is noticed late does not lengthen it.
    fn asking(&self) -> Nanos {
        self.plan.duration().map_or(self.until_sent_end(), |length| length.min(self.until_sent_end()))
    }

    /// The time in which requests were sent. It is longer than `asking` if this process was suspended and sent late
    /// what was due.
    fn sending(&self) -> Nanos {
        self.asking().max(Nanos(self.last_sent.0.saturating_sub(self.start.0)))
    }

    fn until_sent_end(&self) -> Nanos {
        Nanos(self.sent_end.0.saturating_sub(self.start.0))
    }

    /// How many of these requests stand for an interval within that time. A rate sends after each interval. Users send
    /// their first request at once, so the request that ends the phase has no interval of its own.
    fn intervals(&self, requests: u64) -> u64 {
        let closing = self.plan.arrival.user_interval().is_some() && !self.ended_by_time();
        requests.saturating_sub(u64::from(closing))
    }

    /// How many requests the user asked for within that time; `None` if the server sets the pace.
    fn asked(&self) -> Option<f64> {
        let (time, arrival) = (self.asking(), &self.plan.arrival);
        if arrival.replays() {
            return Some(self.counts.offered as f64);
        }
        match arrival.rate_plan() {
            Some(_) => self.rate.as_ref().map(|curve| curve.expected(time)),
            None => arrival.steady_rate().map(|rate| rate * time.as_secs_f64()),
        }
    }

    /// Its counts and times.
    fn sent(&self) -> Sent {
        let PhaseProgress { offered, missed, unsent_held, unsent_waiting, idle, sent, slip, .. } = self.counts;
        Sent {
            offered,
            missed,
            unsent_held,
            unsent_waiting,
            idle,
            sent,
            never_left: self.never_left,
            answered: self.counts.completed.saturating_sub(self.counts.errors),
            slip,
            seconds: self.asking().as_secs_f64(),
            sending_seconds: self.sending().as_secs_f64(),
            answering_seconds: Nanos(self.end.0.saturating_sub(self.start.0)).as_secs_f64(),
            within: self.intervals(sent.saturating_sub(self.never_left)),
            asked: self.asked(),
        }
    }

    /// The flags of its slot limits.
    fn limits(&self) -> Vec<&'static str> {
        let limits = [
            ("--concurrency", self.plan.concurrency.is_some()),
            ("--prefill-concurrency", self.plan.prefill_concurrency.is_some()),
        ];
        limits.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag).collect()
    }
}

/// Both rates, in words; empty if one is unknown.
fn rates(sent: &Sent) -> String {
    match (sent.achieved_rate(), sent.asked_rate()) {
        (Some(achieved), Some(asked)) => format!(" ({achieved:.1} instead of {asked:.1} requests a second)"),
        _ => String::new(),
    }
}

/// The rate that was lost by drops alone: the offered rate varies around the requested one.
fn cost_of_drops(sent: &Sent) -> String {
    let offered = |count: u64| sent.rate(count as f64).unwrap_or(0.0);
    let (left, all) = (offered(sent.offered.saturating_sub(sent.missed)), offered(sent.offered));
    if sent.asked.is_none() || all == 0.0 {
        return String::new();
    }
    format!(" ({left:.1} instead of {all:.1} requests a second)")
}

/// The numbers of the phases, for the measurement of their run.
pub(crate) fn sending(phases: &[PhaseSending]) -> Sending {
    let of_phase = |phase: &PhaseSending| PhaseSent {
        index: phase.index,
        name: phase.plan.name.clone(),
        start: phase.start,
        sent_end: phase.sent_end,
        counts: phase.counts,
        sent: phase.sent(),
    };
    Sending { phases: phases.iter().map(of_phase).collect() }
}

/// The doubts about what was sent, one sentence each.
pub(crate) fn doubts(phases: &[PhaseSending], was_stopped: bool) -> Vec<String> {
    let named = |phase: &PhaseSending| match phases.len() {
        1 => String::new(),
        _ => format!("phase {}: ", phase.plan.name),
    };
    let of = |phase| {
        let name = named(phase);
        of_phase(phase, was_stopped).into_iter().map(move |doubt| format!("{name}{doubt}"))
    };
    phases.iter().flat_map(of).collect()
}

fn of_phase(phase: &PhaseSending, was_stopped: bool) -> Vec<String> {
    let sum = phase.sent();
    let Sent { missed, offered, .. } = sum;
    let rates = rates(&sum);
    let mut out = Vec::new();
    if missed > 0 {
        let ways = ways_to_slots(phase);
        let cost = cost_of_drops(&sum);
        out.push(format!("{missed} of {offered} offers found no free slot and were dropped{cost}: {ways}"));
    }
    if sum.slip > Nanos(0) {
        out.push(format!(
            "the schedule was moved back by {:.2} s because it could not be caught up{rates}: what was due in that time was \
             never sent",
            sum.slip.as_secs_f64()
        ));
    }
    let waiting = sum.unsent_waiting;
    if !was_stopped && sum.are_many(waiting) {
        let ways = ways_to_slots(phase);
        out.push(format!("{waiting} of {offered} requests that were due still waited for a slot{rates}: {ways}"));
    }
    let not_got_to = sum.not_got_to();
    if !was_stopped && sum.are_many(not_got_to) {
        let held = sum.unsent_held;
        let held = if held > 0 { format!(", {held} of them because it held back") } else { String::new() };
        out.push(format!(
            "{not_got_to} of {offered} requests that were due were not sent{rates}: this client could not keep up{held}"
        ));
    }
    if sum.idle > 0 && sum.is_short() {
        out.push(format!(
            "{} ticks of the rate found nothing to send{rates}: all sessions were begun, and none had a turn due",
            sum.idle
        ));
    }
    if out.is_empty() && !was_stopped && sum.is_short() {
        out.extend(late_users(&phase.plan).map(|why| format!("users came back late{rates}: {why}")));
    }
    if !was_stopped && phase.cut_off > 0 {
        out.push(format!(
            "{}: they have a line in the records and count in no metric",
            phase.plan.cut_off_in_words(phase.cut_off)
        ));
    }
    out
}

/// The doubt about requests that no worker started before the run cut them off, over all phases.
pub(crate) fn never_begun(phases: &[PhaseSending], count: u64) -> Option<String> {
    let sum = sending(phases).all();
    let (sent, rates) = (sum.sent, rates(&sum));
    are_many(count, sent).then(|| {
        format!(
            "{count} of {sent} requests were due and never left this machine{rates}: it could not keep up; they have a \
             line in the records and count in no metric"
        )
    })
}

/// How to have fewer offers without a slot. Only limits that are set can be raised.
fn ways_to_slots(phase: &PhaseSending) -> String {
    let raise = phase.limits().into_iter().map(|flag| format!("raise {flag}"));
    let lower = phase.plan.arrival.top_rate().map(|_| "lower the rate".to_owned());
    raise.chain(lower).collect::<Vec<_>>().join(" or ")
}

/// Why users sent less than asked, if no counter explains it.
fn late_users(plan: &PhasePlan) -> Option<String> {
    let gap = plan.arrival.user_interval()?;
    let ended = plan.sessions().map(|sessions| format!(", or all {sessions} sessions were begun"));
    Some(format!(
        "responses took longer than the {gap:.1} s after which a user sends again{}",
        ended.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_plan::{Arrival, ArrivalLaw, Draws, RateLevel, RatePlan, RatePoint, ScheduleZero, StopWhen};
    use aiperf_types::PhaseKind;

    fn phase(arrival: Arrival, seconds: f64, counts: PhaseProgress) -> PhaseSending {
        let start = WallNs(1_760_000_000_000_000_000);
        let sent_end = WallNs(start.0 + Nanos::from_secs_f64(seconds).0);
        let rate = match &arrival {
            Arrival::Rate { rate, .. } => {
                Some(RateCurve::new(rate, Nanos::from_millis(100), &Draws::new(Some(1), "").purpose("")))
            }
            _ => None,
        };
        let plan = PhasePlan { name: "load".into(), ..PhasePlan::new(PhaseKind::Profiling, arrival) };
        PhaseSending {
            index: 1,
            start,
            sent_end,
            last_sent: start,
            end: sent_end,
            plan,
            rate,
            counts,
            never_left: 0,
            cut_off: 0,
        }
    }

    /// The phase with a time limit.
    fn ended(phase: PhaseSending, seconds: f64) -> PhaseSending {
        let stop = vec![StopWhen::Elapsed(Nanos::from_secs_f64(seconds))];
        PhaseSending { plan: PhasePlan { stop, ..phase.plan }, ..phase }
    }

    fn limited(phase: PhaseSending, concurrency: Option<u32>, prefill_concurrency: Option<u32>) -> PhaseSending {
        PhaseSending { plan: PhasePlan { concurrency, prefill_concurrency, ..phase.plan }, ..phase }
    }

    fn constant(rate: RatePlan) -> Arrival {
        Arrival::Rate { law: ArrivalLaw::Constant, rate }
    }

    fn at(rate: f64) -> Arrival {
        constant(RatePlan::fixed(rate))
    }

    fn counts(offered: u64, missed: u64, sent: u64) -> PhaseProgress {
        PhaseProgress { offered, missed, sent, ..PhaseProgress::default() }
    }

    /// The requested and the achieved rate.
    fn rates(phase: &PhaseSending) -> (Option<f64>, Option<f64>) {
        let sum = phase.sent();
        (sum.asked_rate(), sum.achieved_rate())
    }

    #[test]
    fn a_rate_sends_after_each_interval_however_it_ends() {
        // Five requests, one after each 50 ms.
        assert_eq!(rates(&phase(at(20.0), 0.25, counts(5, 0, 5))), (Some(20.0), Some(20.0)));
        // The end of the time is noticed late.
        assert_eq!(rates(&ended(phase(at(20.0), 1.01, counts(20, 0, 20)), 1.0)), (Some(20.0), Some(20.0)));
        assert_eq!(rates(&phase(at(20.0), 0.0, counts(0, 0, 0))), (None, None));
    }

    #[test]
    fn requests_sent_after_the_time_limit_count_over_the_time_until_then() {
        // Suspended for four seconds of two, the phase sends at once what was due meanwhile.
        let stopped = ended(phase(at(20.0), 5.0, counts(40, 0, 40)), 2.0);
        let late = PhaseSending { last_sent: stopped.sent_end, ..stopped };
        assert_eq!(rates(&late), (Some(20.0), Some(8.0)));
    }

    #[test]
    fn a_rate_that_changes_is_asked_for_by_its_integral() {
        let points = [(0.0, 2.0), (4.0, 6.0)].map(|(seconds, rate)| RatePoint { seconds, rate });
        let climbing = constant(RatePlan { level: RateLevel::Series(points.into()), ramp: None });
        assert_eq!(rates(&phase(climbing, 2.0, counts(6, 0, 6))), (Some(3.0), Some(3.0)));
    }

    #[test]
    fn users_send_their_first_request_at_once_and_the_last_ends_the_phase() {
        let users = || Arrival::UserCentric { users: 4, rate: 8.0 };
        assert_eq!(rates(&phase(users(), 0.5, counts(5, 0, 5))), (Some(8.0), Some(8.0)));
        assert_eq!(rates(&ended(phase(users(), 1.0, counts(8, 0, 8)), 1.0)), (Some(8.0), Some(8.0)));
    }

    #[test]
    fn a_recording_asks_for_its_requests_over_their_span() {
        let replay = Arrival::FixedSchedule { zero: ScheduleZero::First };
        assert_eq!(rates(&phase(replay, 1.0, counts(5, 0, 4))), (Some(5.0), Some(4.0)));
    }

    #[test]
    fn answered_requests_count_over_the_time_until_the_last_response() {
        let counts = PhaseProgress { completed: 40, errors: 10, ..counts(40, 0, 40) };
        let phase = ended(phase(at(20.0), 2.0, counts), 2.0);
        let slow = PhaseSending { end: WallNs(phase.start.0 + Nanos::from_secs_f64(3.0).0), ..phase };
        assert_eq!((slow.sent().achieved_rate(), slow.sent().answered_rate()), (Some(20.0), Some(10.0)));
    }

    #[test]
    fn requests_that_never_left_this_machine_are_not_in_the_achieved_rate() {
        let behind = PhaseSending { never_left: 60, ..ended(phase(at(100.0), 1.0, counts(100, 0, 100)), 1.0) };
        let sent = sending(&[behind]).all();
        assert_eq!((sent.sent, sent.never_left), (100, 60));
        assert_eq!((sent.asked_rate(), sent.achieved_rate()), (Some(100.0), Some(40.0)));
    }

    #[test]
    fn requests_that_no_worker_started_are_reported_if_they_are_more_than_a_few() {
        let behind = [PhaseSending { never_left: 60, ..ended(phase(at(100.0), 1.0, counts(100, 0, 100)), 1.0) }];
        assert_eq!(
            never_begun(&behind, 60).unwrap(),
            "60 of 100 requests were due and never left this machine (40.0 instead of 100.0 requests a second): it could \
             not keep up; they have a line in the records and count in no metric"
        );
        assert_eq!((never_begun(&behind, 0), never_begun(&behind, 1)), (None, None), "some are always under way");
        let closed = [PhaseSending { never_left: 3, ..phase(Arrival::Concurrency, 1.0, counts(0, 0, 100)) }];
        assert!(
            never_begun(&closed, 3).unwrap().starts_with("3 of 100 requests were due and never left this machine: it")
        );
    }

    #[test]
    fn the_requested_rate_of_all_phases_is_known_only_if_each_has_one() {
        let open = || ended(phase(at(10.0), 1.0, counts(10, 2, 8)), 1.0);
        let closed = || ended(phase(Arrival::Concurrency, 1.0, counts(0, 0, 500)), 1.0);
        let both = sending(&[open(), open()]).all();
        assert_eq!((both.offered, both.missed, both.sent), (20, 4, 16));
        assert_eq!((both.asked_rate(), both.achieved_rate()), (Some(10.0), Some(8.0)));
        let mixed = sending(&[open(), closed()]);
        assert_eq!((mixed.all().asked_rate(), mixed.phases[0].sent.asked_rate()), (None, Some(10.0)));
        assert_eq!((mixed.phases[1].sent.asked_rate(), mixed.phases[1].name.as_str()), (None, "load"));
    }

    #[test]
    fn offers_without_a_slot_are_reported_with_the_limits_that_are_set() {
        let missed = || ended(phase(at(20.0), 10.0, counts(200, 50, 150)), 10.0);
        let reported = |concurrency, prefill| doubts(&[limited(missed(), concurrency, prefill)], false);
        let dropped =
            "50 of 200 offers found no free slot and were dropped (15.0 instead of 20.0 requests a second): raise ";
        assert_eq!(reported(Some(8), None), [format!("{dropped}--concurrency or lower the rate")]);
        assert_eq!(reported(None, Some(2)), [format!("{dropped}--prefill-concurrency or lower the rate")]);
        assert_eq!(
            reported(Some(8), Some(2)),
            [format!("{dropped}--concurrency or raise --prefill-concurrency or lower the rate")]
        );
        let few = limited(ended(phase(at(12.0), 12.0, counts(132, 1, 131)), 12.0), Some(8), None);
        assert!(
            doubts(&[few], false)[0]
                .starts_with("1 of 132 offers found no free slot and were dropped (10.9 instead of 11.0"),
            "what chance did not offer was not dropped"
        );
        assert!(doubts(&[phase(Arrival::Concurrency, 10.0, counts(0, 0, 500))], false).is_empty());
        assert!(doubts(&[phase(at(20.0), 10.0, counts(200, 0, 199))], false).is_empty());
    }

    #[test]
    fn requests_that_the_client_did_not_send_are_reported_unless_it_was_stopped() {
        let slipped = PhaseProgress { slip: Nanos::from_millis(1500), ..counts(200, 0, 150) };
        let late = || phase(at(20.0), 10.0, slipped);
        let reported = doubts(&[late(), phase(at(5.0), 1.0, counts(5, 0, 5))], false);
        assert!(reported[0].starts_with("phase load: the schedule was moved back by 1.50 s"), "{reported:?}");
        assert!(reported[1].starts_with("phase load: 50 of 200 requests that were due were not sent"), "{reported:?}");
        assert_eq!(reported.len(), 2);
        assert_eq!(doubts(&[late()], true).len(), 1);
    }

    #[test]
    fn responses_that_take_longer_than_the_interval_of_a_user_are_reported() {
        let users =
            |sent| ended(phase(Arrival::UserCentric { users: 4, rate: 2.0 }, 10.0, counts(sent, 0, sent)), 10.0);
        assert_eq!(
            doubts(&[users(15)], false),
            [
                "users came back late (1.5 instead of 2.0 requests a second): responses took longer than the 2.0 s after which \
              a user sends again"
            ]
        );
        assert!(doubts(&[users(19)], false).is_empty(), "one is always between two turns");
    }

    #[test]
    fn intervals_that_were_drawn_long_are_no_doubt() {
        let drawn = Arrival::Rate { law: ArrivalLaw::Poisson, rate: RatePlan::fixed(20.0) };
        assert!(doubts(&[phase(drawn, 10.0, counts(150, 0, 150))], false).is_empty());
    }

    #[test]
    fn requests_that_wait_for_a_slot_are_not_those_the_client_was_too_slow_for() {
        let counts = PhaseProgress { unsent_waiting: 30, unsent_held: 15, ..counts(100, 0, 50) };
        let replay = Arrival::FixedSchedule { zero: ScheduleZero::First };
        assert_eq!(
            doubts(&[limited(phase(replay, 10.0, counts), Some(4), None)], false),
            [
                "30 of 100 requests that were due still waited for a slot (5.0 instead of 10.0 requests a second): raise \
                 --concurrency",
                "20 of 100 requests that were due were not sent (5.0 instead of 10.0 requests a second): this client could \
                 not keep up, 15 of them because it held back",
            ]
        );
    }

    #[test]
    fn ticks_with_nothing_to_send_are_reported_if_the_load_was_different() {
        let idle = |idle, sent| phase(at(20.0), 10.0, PhaseProgress { idle, ..counts(sent, 0, sent) });
        assert_eq!(
            doubts(&[idle(50, 150)], false),
            [
                "50 ticks of the rate found nothing to send (15.0 instead of 20.0 requests a second): all sessions were begun, \
              and none had a turn due"
            ]
        );
        assert!(doubts(&[idle(1, 199)], false).is_empty());
    }

    #[test]
    fn requests_that_were_cut_off_are_reported_with_their_phase_and_its_end() {
        let cut = |grace: u64| {
            let phase = phase(Arrival::Concurrency, 1.0, counts(0, 0, 5));
            let plan = PhasePlan { grace: Some(Nanos::from_millis(grace)), ..phase.plan };
            PhaseSending { cut_off: 2, plan, ..phase }
        };
        let why = "they have a line in the records and count in no metric";
        assert_eq!(doubts(&[cut(0)], false), [format!("2 requests were cut off when the time was up: {why}")]);
        let two = doubts(&[cut(100), cut(0)], false);
        assert_eq!(two[0], format!("phase load: 2 requests were cut off by the end of the grace period: {why}"));
        assert!(doubts(&[cut(0)], true).is_empty());
    }
}
