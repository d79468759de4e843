//! Phases in words, for logs and for users who ask what a plan will do.

use crate::arrival::{Arrival, ArrivalLaw, RateLevel, RatePlan, ScheduleZero};
use crate::phase::{PhasePlan, StopWhen};
use crate::ramp::{Ramp, RampStrategy};
use aiperf_types::Nanos;

impl PhasePlan {
    /// Its load and its end: `profiling: Poisson arrivals at 20 req/s, at most 64 sessions, for 60 s`.
    pub fn in_words(&self) -> String {
        let end = match (self.stop.is_empty(), self.arrival.ends_by_itself()) {
            (false, _) => format!("for {}", self.target_in_words()),
            (true, true) => "to its end".to_owned(),
            (true, false) => "until stopped".to_owned(),
        };
        format!("{}: {}, {end}", self.name, self.load_in_words())
    }

    /// Its arrivals and its limits: `Poisson arrivals at 20 req/s, at most 64 sessions`.
    pub fn load_in_words(&self) -> String {
        let mut parts = vec![self.arrival_in_words()];
        let limits = [
            (self.concurrency.filter(|_| !self.arrival.is_closed_loop()), self.concurrency_ramp, "session"),
            (self.prefill_concurrency, self.prefill_ramp, "prefill"),
        ];
        for (limit, ramp, what) in limits {
            parts.extend(limit.map(|limit| format!("at most {}{}", counted(limit.into(), what), climbing(ramp))));
        }
        parts.extend(self.cancellation.map(|cancelled| {
            format!("{}% cancelled after {} s", cancelled.rate_percent, cancelled.delay.as_secs_f64())
        }));
        if self.seamless {
            parts.push("without waiting for the phase before it".to_owned());
        }
        parts.join(", ")
    }

    /// What ends its sending: `100 requests or 60 s`.
    pub fn target_in_words(&self) -> String {
        let target = |stop: &StopWhen| match stop {
            StopWhen::Requests(count) => counted(*count, "request"),
            StopWhen::Sessions(count) => counted(*count, "session"),
            StopWhen::Elapsed(length) => format!("{} s", length.as_secs_f64()),
        };
        match (self.stop.is_empty(), self.arrival.ends_by_itself()) {
            (false, _) => self.stop.iter().map(target).collect::<Vec<_>>().join(" or "),
            (true, true) => "the whole recording".to_owned(),
            (true, false) => "until stopped".to_owned(),
        }
    }

    /// How many of its requests were cut off, and why: `2 requests were cut off when the time was up`.
    pub fn cut_off_in_words(&self, requests: u64) -> String {
        let were = if requests == 1 { "was" } else { "were" };
        let end = match self.grace {
            Some(grace) if grace > Nanos::ZERO => "by the end of the grace period",
            _ => "when the time was up",
        };
        format!("{} {were} cut off {end}", counted(requests, "request"))
    }

    fn arrival_in_words(&self) -> String {
        match &self.arrival {
            Arrival::Concurrency => {
                let slots = self.session_limit().unwrap_or(1);
                format!("concurrency {slots}{}", climbing(self.concurrency_ramp))
            }
            Arrival::Rate { law, rate } => {
                let law = match law {
                    ArrivalLaw::Constant => "constant arrivals".to_owned(),
                    ArrivalLaw::Poisson => "Poisson arrivals".to_owned(),
                    ArrivalLaw::Gamma { smoothness } => format!("gamma arrivals (smoothness {smoothness})"),
                };
                format!("{law} {}", rate_in_words(rate))
            }
            Arrival::UserCentric { users, rate } => {
                let gap = self.arrival.user_interval().unwrap_or_default();
                let gap = (gap * 1e3).round() / 1e3;
                format!("{}, each of whom sends every {gap} s, {rate} req/s together", counted((*users).into(), "user"))
            }
            Arrival::FixedSchedule { zero: ScheduleZero::First } => "replay of a recording".to_owned(),
            Arrival::FixedSchedule { zero: ScheduleZero::At(ms) } => format!("replay of a recording from {ms} ms on"),
        }
    }
}

fn rate_in_words(rate: &RatePlan) -> String {
    let climbing = climbing(rate.ramp);
    match &rate.level {
        RateLevel::Fixed(rate) => format!("at {rate} req/s{climbing}"),
        RateLevel::Series(points) => {
            let last = points.last().map_or(0.0, |point| point.seconds);
            let rates = || points.iter().map(|point| point.rate);
            let (low, high) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
            format!("at {low} to {high} req/s, a series of {} points over {last} s{climbing}", points.len())
        }
    }
}

fn climbing(ramp: Option<Ramp>) -> String {
    let how = |strategy| match strategy {
        RampStrategy::Linear => "",
        RampStrategy::Exponential => ", slow at first",
        RampStrategy::Poisson => ", in random steps",
    };
    ramp.map_or_else(String::new, |Ramp { duration, strategy }| {
        format!(" (reached over {} s{})", duration.as_secs_f64(), how(strategy))
    })
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::RatePoint;
    use crate::cancellation::Cancellation;
    use aiperf_types::PhaseKind;

    fn phase(arrival: Arrival) -> PhasePlan {
        PhasePlan::new(PhaseKind::Profiling, arrival)
    }

    fn seconds(seconds: u64) -> Nanos {
        Nanos::from_millis(seconds * 1000)
    }

    fn poisson(level: RateLevel, ramp: Option<Ramp>) -> Arrival {
        Arrival::Rate { law: ArrivalLaw::Poisson, rate: RatePlan { level, ramp } }
    }

    #[test]
    fn a_rate_is_described_with_its_limits_and_its_end() {
        let plan = PhasePlan {
            concurrency: Some(64),
            stop: vec![StopWhen::Elapsed(seconds(60))],
            ..phase(poisson(RateLevel::Fixed(20.0), None))
        };
        assert_eq!(plan.in_words(), "profiling: Poisson arrivals at 20 req/s, at most 64 sessions, for 60 s");
    }

    #[test]
    fn a_closed_loop_is_described_by_its_concurrency() {
        let stop = vec![StopWhen::Requests(100), StopWhen::Elapsed(Nanos::from_millis(1500))];
        let plan = PhasePlan { concurrency: Some(8), stop, ..phase(Arrival::Concurrency) };
        assert_eq!(plan.in_words(), "profiling: concurrency 8, for 100 requests or 1.5 s");
        let unset = PhasePlan { concurrency: None, ..plan.clone() };
        assert_eq!(unset.load_in_words(), "concurrency 1");
        let ramp = Some(Ramp { duration: seconds(10), strategy: RampStrategy::Exponential });
        let (prefill_concurrency, concurrency_ramp) = (Some(1), ramp);
        let plan = PhasePlan { prefill_concurrency, concurrency_ramp, stop: vec![StopWhen::Sessions(1)], ..plan };
        assert_eq!(
            plan.in_words(),
            "profiling: concurrency 8 (reached over 10 s, slow at first), at most 1 prefill, for 1 session"
        );
    }

    #[test]
    fn users_recordings_and_cancellation_are_described() {
        let users = PhasePlan {
            seamless: true,
            cancellation: Some(Cancellation { rate_percent: 5.0, delay: Nanos::from_millis(500) }),
            ..phase(Arrival::UserCentric { users: 12, rate: 1.5 })
        };
        assert_eq!(
            users.in_words(),
            "profiling: 12 users, each of whom sends every 8 s, 1.5 req/s together, 5% cancelled after 0.5 s, without \
             waiting for the phase before it, until stopped"
        );
        let replay = phase(Arrival::FixedSchedule { zero: ScheduleZero::First });
        assert_eq!(replay.in_words(), "profiling: replay of a recording, to its end");
        assert_eq!(replay.target_in_words(), "the whole recording");
        let later = phase(Arrival::FixedSchedule { zero: ScheduleZero::At(500.0) });
        assert_eq!(later.load_in_words(), "replay of a recording from 500 ms on");
    }

    #[test]
    fn changing_rates_are_described() {
        let point = |(seconds, rate): (f64, f64)| RatePoint { seconds, rate };
        let series = |points: &[(f64, f64)]| {
            phase(poisson(RateLevel::Series(points.iter().copied().map(point).collect()), None)).load_in_words()
        };
        assert_eq!(
            series(&[(0.0, 2.0), (60.0, 4.5)]),
            "Poisson arrivals at 2 to 4.5 req/s, a series of 2 points over 60 s"
        );
        let many = [(0.0, 2.0), (10.0, 8.0), (20.0, 8.0), (30.0, 1.0)];
        assert_eq!(series(&many), "Poisson arrivals at 1 to 8 req/s, a series of 4 points over 30 s");
        let climb = phase(poisson(RateLevel::Fixed(20.0), Some(Ramp::linear(seconds(30)))));
        assert_eq!(climb.load_in_words(), "Poisson arrivals at 20 req/s (reached over 30 s)");
    }
}
