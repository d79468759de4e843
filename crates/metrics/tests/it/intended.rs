//! Latency from the instant at which the schedule wanted a request sent, compared with the closed form of a stall.

use aiperf_metrics::{Accumulator, Context, Metrics, RecordMetrics, RunTraits, Summary};
use aiperf_types::{ContentMark, EndpointKind, Measured, MonoNs, Nanos, RequestError, WallNs};
use proptest::prelude::*;

const EPOCH: u64 = 1_760_000_000_000_000_000;
const MS: u64 = 1_000_000;

/// A client that should send at a constant rate, and is stopped for a while.
#[derive(Clone, Copy, Debug)]
struct Stalled {
    requests: u64,
    interval: u64,
    /// The number of the request that is due when the stall begins.
    first_late: u64,
    stall: u64,
    /// From start to first token, and to last.
    service: [u64; 2],
}

impl Stalled {
    /// How late a request is sent: those due in the stall are all sent at its end.
    fn delay(&self, number: u64) -> u64 {
        let (due, begin) = (number * self.interval, self.first_late * self.interval);
        if due < begin { 0 } else { (begin + self.stall).saturating_sub(due) }
    }

    fn record(&self, number: u64) -> Measured {
        let start = number * self.interval + self.delay(number) + 1;
        let content = self
            .service
            .iter()
            .map(|service| ContentMark { at: MonoNs(start + service), output: true, reasoning: false })
            .collect();
        Measured {
            number,
            start_wall: WallNs(EPOCH + start),
            start: MonoNs(start),
            end: MonoNs(start + self.service[1]),
            schedule_delay: Some(Nanos(self.delay(number))),
            content,
            ..Measured::default()
        }
    }

    fn summary(&self, traits: RunTraits) -> Summary {
        let metrics = Metrics::for_run(traits);
        let (mut accumulator, mut record) = (Accumulator::new(&metrics), RecordMetrics::default());
        for number in 0..self.requests {
            let measured = self.record(number);
            metrics.record(&measured, &mut record);
            accumulator.add(&measured, &record);
        }
        accumulator.summarise(&metrics, Context::default())
    }
}

fn stalled() -> impl Strategy<Value = Stalled> {
    (500..3000_u64, 1..20_u64, 0..40_u64, 1..50_u64, 0..100_u64).prop_map(
        |(requests, interval_ms, first_late, first_ms, rest_ms)| {
            let interval = interval_ms * MS;
            // Longer than one percent of the run, so that the 99th percentile is within the stall.
            let stall = interval * (requests / 50);
            Stalled { requests, interval, first_late, stall, service: [first_ms * MS, (first_ms + rest_ms) * MS] }
        },
    )
}

fn open_loop() -> RunTraits {
    RunTraits { open_loop: true, ..RunTraits::new(EndpointKind::Chat, true) }
}

fn stat(summary: &Summary, tag: &str, statistic: &str) -> f64 {
    summary.get(tag).and_then(|metric| metric.stats.get(statistic)).unwrap_or_else(|| panic!("{tag} {statistic}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_stall_of_the_client_is_in_the_intended_latencies_as_the_closed_form_gives_it_and_in_no_other(
        run in stalled(),
    ) {
        let summary = run.summary(open_loop());
        let in_ms = |nanos: f64| nanos / MS as f64;
        // The latest is late by the whole stall, and each one after it by an interval less.
        let of_top = |share: f64| run.stall as f64 - share * (run.requests - 1) as f64 * run.interval as f64;
        let tags = [("intended_time_to_first_token", "time_to_first_token", run.service[0]),
            ("intended_request_latency", "request_latency", run.service[1])];
        for (intended, usual, service) in tags {
            for (statistic, share) in [("max", 0.0), ("p99", 0.01)] {
                let wanted = in_ms(service as f64 + of_top(share));
                let found = stat(&summary, intended, statistic);
                prop_assert!((found - wanted).abs() <= 1e-6 * wanted, "{intended} {statistic}: {found}, not {wanted}");
            }
            prop_assert_eq!(stat(&summary, intended, "count"), run.requests as f64);
            for statistic in ["min", "p50", "p99", "max"] {
                prop_assert_eq!(stat(&summary, usual, statistic), in_ms(service as f64));
            }
        }
    }
}

const RUN: Stalled =
    Stalled { requests: 300, interval: 10 * MS, first_late: 20, stall: 100 * MS, service: [5 * MS, 20 * MS] };

#[test]
fn a_closed_loop_has_no_intended_latencies() {
    let summary = RUN.summary(RunTraits::new(EndpointKind::Chat, true));
    assert!(summary.results.iter().all(|metric| !metric.tag.starts_with("intended_")));
    assert!(summary.get("request_latency").is_some());
}

#[test]
fn only_streams_have_an_intended_time_to_first_token() {
    let summary = RUN.summary(RunTraits { streaming: false, ..open_loop() });
    assert!(summary.get("intended_time_to_first_token").is_none());
    assert_eq!(stat(&summary, "intended_request_latency", "max"), 120.0);
}

#[test]
fn neither_a_failed_request_nor_one_of_a_phase_without_a_schedule_has_an_intended_latency() {
    let metrics = Metrics::for_run(open_loop());
    let (mut accumulator, mut record) = (Accumulator::new(&metrics), RecordMetrics::default());
    let error = Some(RequestError::status(500, "Internal Server Error", "no"));
    let of = |number| RUN.record(number);
    for measured in
        [of(0), Measured { error, content: Vec::new(), ..of(20) }, Measured { schedule_delay: None, ..of(21) }]
    {
        metrics.record(&measured, &mut record);
        accumulator.add(&measured, &record);
    }
    let summary = accumulator.summarise(&metrics, Context::default());
    assert_eq!(stat(&summary, "intended_request_latency", "count"), 1.0);
    assert_eq!(stat(&summary, "request_latency", "count"), 2.0);
}

#[test]
fn the_delay_takes_no_memory_in_a_closed_loop_and_few_bytes_in_an_open_one() {
    let size = |traits: RunTraits| {
        let metrics = Metrics::for_run(traits);
        let (mut accumulator, mut record) = (Accumulator::new(&metrics).unwatched(), RecordMetrics::default());
        for number in 0..4096 {
            let measured = Stalled { stall: 40 * MS, ..RUN }.record(number);
            metrics.record(&measured, &mut record);
            accumulator.add(&measured, &record);
        }
        accumulator.size()
    };
    let (closed, open) = (size(RunTraits::new(EndpointKind::Chat, true)), size(open_loop()));
    assert!(open > closed && open - closed <= 4 * 4096 + 4 * 128, "{}", open - closed);
}
