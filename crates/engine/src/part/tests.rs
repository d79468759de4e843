use super::*;
use aiperf_metrics::{Context, Quality, RecordMetrics, RunTraits, Summary, Window};
use aiperf_types::{
    ContentMark, EndpointKind, Measured, MonoNs, Nanos, PhaseEnding, PhaseId, PhaseProgress, RequestError, TokenCounts,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

const EPOCH: u64 = 1_760_000_000_000_000_000;
const PARTS: usize = 4;
const SLICE: Nanos = Nanos(300_000_000);

/// Warm-up, then two profiling phases that overlap.
const KINDS: [PhaseKind; 3] = [PhaseKind::Warmup, PhaseKind::Profiling, PhaseKind::Profiling];

/// A request, and which part measured it.
#[derive(Clone, Debug)]
struct Request {
    part: usize,
    phase: usize,
    start: u64,
    gaps: Vec<u64>,
    error: Option<u16>,
    lag: u64,
}

fn request() -> impl Strategy<Value = Request> {
    let gaps = vec(prop_oneof![Just(0), 1..50_000_000_u64], 0..8);
    let error = prop::option::weighted(0.2, 500..504_u16);
    (0..PARTS, 0..KINDS.len(), 0..900_000_000_u64, gaps, error, any::<u32>()).prop_map(
        |(part, phase, start, gaps, error, lag)| {
            let start = phase as u64 * 600_000_000 + start;
            Request { part, phase, start, gaps, error, lag: lag.into() }
        },
    )
}

impl Request {
    fn end(&self) -> u64 {
        self.start + 1_000_000 + self.gaps.iter().sum::<u64>() + 500_000
    }

    fn measured(&self) -> Measured {
        let mut at = 5_000_000_000 + self.start + 1_000_000;
        let mark = |at| ContentMark { at: MonoNs(at), output: true, reasoning: false };
        let mut content = vec![mark(at)];
        content.extend(self.gaps.iter().map(|gap| {
            at += gap;
            mark(at)
        }));
        let error = self.error.map(|code| RequestError::status(code, "Error", "no"));
        Measured {
            start_wall: WallNs(EPOCH + self.start),
            start: MonoNs(5_000_000_000 + self.start),
            end: MonoNs(5_000_000_000 + self.end()),
            credit_issued: Some(WallNs(EPOCH + self.start)),
            content: if error.is_some() { Vec::new() } else { content },
            tokens: TokenCounts { input: Some(self.lag % 90), output: Some(40), ..TokenCounts::default() },
            error,
            ..Measured::default()
        }
    }
}

/// The costs of reading these requests.
fn quality<'a>(requests: impl Iterator<Item = &'a &'a Request>) -> Quality {
    let mut quality = Quality::default();
    for request in requests {
        quality.receive_lag.add(request.lag);
        quality.schedule_lateness.add(request.lag / 7);
        quality.events += request.gaps.len() as u64 + 1;
        quality.merged_width_sum += u128::from(request.lag) << 70;
        quality.merged_width_max = quality.merged_width_max.max(request.lag);
        if request.error == Some(500) {
            let fault = if request.lag % 2 == 0 { "even" } else { "odd" };
            quality.spec_decode_faults.add(WallNs(EPOCH + request.start), fault);
        }
    }
    quality
}

/// The results of an engine that had sent these requests.
fn outcome(metrics: &Metrics, requests: &[&Request]) -> EngineOutcome {
    let phases = (0..KINDS.len()).filter_map(|index| phase(metrics, index, requests)).collect();
    let lost = requests.iter().filter(|request| request.error == Some(501)).count() as u64;
    EngineOutcome {
        phases,
        overlapping: vec![(PhaseKind::Profiling, SweepLine::new(None))],
        conduct: Conduct::default(),
        was_stopped: false,
        given_up: None,
        hook_failure: None,
        hooks: None,
        sink_failures: Vec::new(),
        lost: Lost { records: lost, record_threads: 0 },
    }
}

/// A phase, if any of these requests belongs to it.
fn phase(metrics: &Metrics, index: usize, requests: &[&Request]) -> Option<PhaseOutcome> {
    let own = || requests.iter().filter(|request| request.phase == index);
    let mut records = Accumulator::with_limits(metrics, Limits::NONE).unwatched();
    let mut computed = RecordMetrics::default();
    let mut counts = PhaseProgress::default();
    for request in own() {
        let measured = request.measured();
        metrics.record(&measured, &mut computed);
        records.add(&measured, &computed);
        counts.sent += 1;
        counts.errors += u64::from(request.error.is_some());
        counts.slip = counts.slip.max(Nanos(request.lag));
        counts.ending = PhaseEnding { timed_out: counts.ending.timed_out | (request.lag % 5 == 0), ..counts.ending };
    }
    let first = own().map(|request| EPOCH + request.start).min()?;
    let end = WallNs(EPOCH + own().map(|request| request.end()).max()?);
    let kind = KINDS[index];
    let mut sweep = SweepLine::new(metrics.slice().filter(|_| kind == PhaseKind::Profiling));
    let profiling = requests.iter().filter(|request| KINDS[request.phase] == PhaseKind::Profiling);
    let origin = profiling.map(|request| WallNs(EPOCH + request.start)).min();
    origin.into_iter().for_each(|origin| sweep.align_slices(origin));
    records.finish_sweep(sweep);
    let name = format!("phase {index}").as_str().into();
    Some(PhaseOutcome {
        id: Arc::new(PhaseId { index: index as u16, profiling_index: None, name, kind }),
        start: WallNs(first),
        sent_end: end,
        last_sent: end,
        end,
        counts,
        cut_off: counts.errors / 2,
        never_left: 0,
        was_stopped: false,
        quality: quality(own()),
        until: None,
        records,
    })
}

fn sent(part: RunPart) -> RunPart {
    RunPart::from_bytes(&part.to_bytes().unwrap()).unwrap()
}

fn summary(metrics: &Metrics, phase: &PhaseOutcome) -> Summary {
    let window = Window { start: phase.start, end: phase.end };
    phase.records.summarise(metrics, Context::from(window))
}

/// Curves are sums of floats. Their last bits depend on the order of the terms. All other values are equal to the bit.
fn assert_equal(whole: &Summary, merged: &Summary) {
    assert_eq!(whole.results.len(), merged.results.len());
    for (one, two) in whole.results.iter().zip(&merged.results) {
        let is_curve = ["effective_", "active_", "tokens_in_flight"].iter().any(|name| one.tag.starts_with(name));
        for stat in aiperf_metrics::Stats::NAMES {
            let (one_value, two_value) = (one.stats.get(stat), two.stats.get(stat));
            let near = |one: f64, two: f64| (one - two).abs() <= 1e-9 * one.abs().max(two.abs()).max(1.0);
            let is_near = one_value.zip(two_value).is_some_and(|(one, two)| near(one, two));
            // A mean of floats is a sum of floats too.
            let is_sum = ["avg", "sum", "std"].contains(&stat);
            assert!(
                one_value == two_value || (is_curve || is_sum) && is_near,
                "{} {stat} {one_value:?} {two_value:?}",
                one.tag
            );
        }
    }
    assert_eq!((&whole.exactness, whole.records, whole.failed), (&merged.exactness, merged.records, merged.failed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_that_were_sent_and_merged_equal_the_run(requests in vec(request(), 1..60), is_reversed in any::<bool>()) {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true)).with_slices(SLICE);
        let whole = outcome(&metrics, &requests.iter().collect::<Vec<_>>());
        let part = |part: usize| {
            let own: Vec<&Request> = requests.iter().filter(|request| request.part == part).collect();
            sent(RunPart::of(outcome(&metrics, &own)).unwrap())
        };
        let mut parts: Vec<RunPart> = (0..PARTS).map(part).collect();
        if is_reversed {
            parts.reverse();
        }
        let merged = parts.into_iter().fold(RunPart::default(), |all, part| sent(all.merge(part)));
        let merged = merged.into_outcome(&metrics);
        prop_assert_eq!(whole.quality(), merged.quality());
        let faults = [whole.quality(), merged.quality()].map(|quality| quality.spec_decode_faults);
        prop_assert_eq!(faults[0].first(), faults[1].first());
        prop_assert_eq!(whole.lost, merged.lost);
        prop_assert_eq!(whole.phases.len(), merged.phases.len());
        for (one, two) in whole.phases.iter().zip(&merged.phases) {
            prop_assert_eq!(&one.id, &two.id);
            prop_assert_eq!((one.start, one.sent_end, one.last_sent, one.end), (two.start, two.sent_end, two.last_sent, two.end));
            prop_assert_eq!(one.counts, two.counts);
            prop_assert_eq!(&one.quality, &two.quality);
            prop_assert_eq!(one.records.errors(), two.records.errors());
            assert_equal(&summary(&metrics, one), &summary(&metrics, two));
            let [one, two] = [one, two].map(|phase| phase.records.slices(&metrics, SLICE, Context::default()));
            prop_assert_eq!(one.len(), two.len());
            one.iter().zip(&two).for_each(|(one, two)| assert_equal(&one.summary, &two.summary));
        }
        // The joint curves of overlapping phases are the same, though no part has seen all requests.
        let [(PhaseKind::Profiling, _)] = &merged.overlapping[..] else { panic!("two phases overlap") };
    }
}

#[test]
fn curves_of_phases_that_overlap_on_different_machines_include_both() {
    let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
    let request = |part, phase, start: u64| Request {
        part,
        phase,
        start: start * 1_000_000_000,
        gaps: vec![1_998_500_000],
        error: None,
        lag: 1,
    };
    // One machine is a second late: its first profiling phase ends after the second phase of the other machine has
    // begun.
    let (one, two) = ([request(0, 1, 0), request(0, 2, 2)], [request(1, 1, 1), request(1, 2, 3)]);
    let part = |requests: &[Request]| {
        let mut outcome = outcome(&metrics, &requests.iter().collect::<Vec<_>>());
        outcome.overlapping.clear();
        sent(RunPart::of(outcome).unwrap())
    };
    let merged = part(&one).merge(part(&two)).into_outcome(&metrics);
    let [(PhaseKind::Profiling, joint)] = <[_; 1]>::try_from(merged.overlapping).ok().unwrap() else { panic!() };
    let records = merged.phases.into_iter().map(|phase| phase.records).reduce(Accumulator::merge).unwrap();
    let summary = records.with_sweep(joint).summarise(&metrics, Context::default());
    let concurrency = summary.get("effective_concurrency").unwrap().stats;
    // Eight seconds of requests in five.
    assert!((concurrency.avg.unwrap() - 1.6).abs() < 1e-12 && concurrency.max == Some(2.0), "{concurrency:?}");
}

#[test]
fn a_run_that_kept_no_gaps_cannot_become_a_part() {
    let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
    let request = Request { part: 0, phase: 1, start: 0, gaps: vec![5, 6], error: None, lag: 1 };
    let mut outcome = outcome(&metrics, &[&request]);
    let mut records = Accumulator::with_limits(&metrics, Limits { list_values: 1 });
    let mut computed = RecordMetrics::default();
    metrics.record(&request.measured(), &mut computed);
    records.add(&request.measured(), &computed);
    outcome.phases[0].records = records;
    assert_eq!(RunPart::of(outcome).unwrap_err(), PartError::NoGaps("phase 1".into()));
}

#[test]
fn counts_of_machines_add_up_and_the_longest_wait_is_kept() {
    let conduct = |workers, held, steal_share| Conduct {
        workers,
        held: Nanos(held),
        steal_share,
        throttled: Some(3),
        worker_run_queue_wait: vec![Nanos(held); workers],
        ..Conduct::default()
    };
    let part = |conduct| RunPart {
        conduct,
        sink_failures: vec![PartSinkFailure { sink: "jsonl".into(), path: "/x".into(), error: "full".into() }],
        ..RunPart::default()
    };
    let merged = sent(part(conduct(2, 5, None))).merge(sent(part(conduct(1, 9, Some(0.25)))));
    assert_eq!((merged.conduct.workers, merged.conduct.held, merged.conduct.throttled), (3, Nanos(9), Some(6)));
    assert_eq!(merged.conduct.steal_share, Some(0.25));
    assert_eq!(merged.conduct.worker_run_queue_wait, [Nanos(5), Nanos(5), Nanos(9)]);
    let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
    let failures = merged.into_outcome(&metrics).sink_failures;
    assert_eq!(failures.iter().map(|failure| failure.error.to_string()).collect::<Vec<_>>(), ["jsonl: full"; 2]);
}
