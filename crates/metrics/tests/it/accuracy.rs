//! The loss of exactness beyond the limits.

use crate::load;

use aiperf_metrics::{Accumulator, Context, Limits, Metrics, RecordMetrics, RunTraits, Stats, Summary, SweepLine};
use aiperf_types::{EndpointKind, Measured, MonoNs, Nanos, WallNs};
use load::Load;

const EXACT: Limits = Limits { list_values: u64::MAX };
const LISTS_BINNED: Limits = Limits { list_values: 1000 };
const RECORDS: usize = 3000;

fn accumulators<const N: usize>(metrics: &Metrics, limits: [Limits; N], mut load: Load) -> [Accumulator; N] {
    let mut accumulators = limits.map(|limits| Accumulator::with_limits(metrics, limits));
    let (mut m, mut record) = (Measured::default(), RecordMetrics::default());
    for _ in 0..RECORDS {
        load.next_into(&mut m);
        metrics.record(&m, &mut record);
        accumulators.iter_mut().for_each(|accumulator| accumulator.add(&m, &record));
    }
    accumulators
}

fn chat() -> Metrics {
    Metrics::for_run(RunTraits::new(EndpointKind::Chat, true))
}

fn relative(one: f64, other: f64) -> f64 {
    if one == other { 0.0 } else { (one - other).abs() / one.abs().max(other.abs()) }
}

fn is_curve(tag: &str) -> bool {
    tag.starts_with("effective_") && tag != "effective_latency"
        || tag.starts_with("active_")
        || tag == "tokens_in_flight"
}

/// Checks how far apart two summaries are, in each statistic of each metric.
fn check(exact: &Summary, other: &Summary, allowed: impl Fn(&str, &str) -> f64) {
    assert_eq!(exact.results.len(), other.results.len());
    for (one, two) in exact.results.iter().zip(&other.results) {
        assert_eq!((&one.tag, one.stats.count), (&two.tag, two.stats.count));
        for stat in Stats::NAMES {
            let (one_value, two_value) = (one.stats.get(stat), two.stats.get(stat));
            assert_eq!(one_value.is_some(), two_value.is_some());
            let off = one_value.zip(two_value).map_or(0.0, |(one, two)| relative(one, two));
            assert!(off <= allowed(&one.tag, stat), "{} {stat}: {one_value:?}, {two_value:?}", one.tag);
        }
    }
}

#[test]
fn lists_beyond_their_limit_are_exact_except_for_percentiles_within_a_twentieth_of_a_percent() {
    let metrics = chat();
    let [exact, binned] = accumulators(&metrics, [EXACT, LISTS_BINNED], Load::new(3, 64, 64, 20_000_000, 500))
        .map(|accumulator| accumulator.summarise(&metrics, Context::default()));
    assert!(binned.exactness.lists_binned && !exact.exactness.lists_binned);
    check(&exact, &binned, |tag, stat| match (tag, stat) {
        ("inter_chunk_latency", "avg" | "sum" | "min" | "max" | "std") => 1e-12,
        ("inter_chunk_latency", _) => 5e-4,
        _ => 0.0,
    });
}

/// How far curves may be off beyond a limit: not at all, except for percentiles from a histogram.
fn allowed_of_curves(tag: &str, stat: &str) -> f64 {
    match stat {
        _ if tag == "inter_chunk_latency" => 5e-4,
        _ if !is_curve(tag) => 0.0,
        "p50" | "p90" | "p95" | "p99" => 5e-4,
        _ => 1e-9,
    }
}

#[test]
fn curves_beyond_their_limit_are_exact_except_for_percentiles_within_a_twentieth_of_a_percent() {
    let metrics = chat();
    for (users, gap) in [(200, 20_000_000), (16, 20_000_000), (8, 60_000_000)] {
        let load = Load::new(5, users, 64, gap, 500);
        let [exact, mut binned] = accumulators(&metrics, [EXACT, LISTS_BINNED], load);
        binned.finish_sweep(SweepLine::with_limit(None, 1000));
        let [exact, binned] = [exact, binned].map(|records| records.summarise(&metrics, Context::default()));
        assert!(!exact.exactness.curves_binned && binned.exactness.curves_binned);
        assert_eq!(binned.exactness.late_in_curves, 0);
        check(&exact, &binned, allowed_of_curves);
    }
}

/// Curves that are exact beyond a limit of lists.
fn allowed_of_exact_curves(tag: &str, stat: &str) -> f64 {
    if is_curve(tag) { 1e-9 } else { allowed_of_curves(tag, stat) }
}

#[test]
fn curves_swept_during_the_run_are_those_swept_at_its_end() {
    let slice = Nanos::from_millis(2000);
    let metrics = chat().with_slices(slice);
    for (stretches, allowed) in
        [(u64::MAX, allowed_of_exact_curves as fn(&str, &str) -> f64), (1000, allowed_of_curves)]
    {
        let (mut m, mut record) = (Measured::default(), RecordMetrics::default());
        let mut load = Load::new(11, 100, 64, 20_000_000, 500);
        let mut exact = Accumulator::with_limits(&metrics, EXACT);
        // Two threads share the records of the run and hand them over now and then, not always in step.
        let mut parts = [LISTS_BINNED; 2].map(|limits| Accumulator::with_limits(&metrics, limits));
        let mut sweep = SweepLine::with_limit(metrics.slice(), stretches);
        let mut most = 0;
        for number in 0..2 * RECORDS {
            load.next_into(&mut m);
            metrics.record(&m, &mut record);
            exact.add(&m, &record);
            let part = &mut parts[number / 7 % 2];
            part.add(&m, &record);
            if number % 50 == 0 {
                parts[number / 50 % 2].hand_over(&mut sweep);
                while sweep.go_on() {}
            }
            most = most.max(sweep.held());
        }
        assert!(most < 500, "{most} requests were held for the curves of 100 users");
        let [one, other] = parts;
        let mut merged = one.merge(other);
        merged.finish_sweep(sweep);
        let summary = merged.summarise(&metrics, Context::default());
        assert_eq!(summary.exactness.late_in_curves, 0);
        assert_eq!(summary.exactness.curves_binned, stretches == 1000);
        check(&exact.summarise(&metrics, Context::default()), &summary, allowed);
        let (exact, swept) = [&exact, &merged].map(|part| part.slices(&metrics, slice, Context::default())).into();
        assert_eq!(exact.len(), swept.len());
        for (one, two) in exact.iter().zip(&swept) {
            check(&one.summary, &two.summary, allowed);
        }
    }
}

/// The same request at a later time.
fn postpone(m: &mut Measured, by: u64) {
    m.start_wall.0 += by;
    m.start.0 += by;
    m.end.0 += by;
    m.head = m.head.map(|at| MonoNs(at.0 + by));
    m.credit_issued = m.credit_issued.map(|at| WallNs(at.0 + by));
    m.content.iter_mut().for_each(|mark| mark.at.0 += by);
}

#[test]
fn phases_swept_one_after_another_give_the_results_of_all_their_records() {
    let slice = Nanos::from_millis(3000);
    let metrics = chat().with_slices(slice);
    let (mut m, mut record) = (Measured::default(), RecordMetrics::default());
    let mut exact = Accumulator::with_limits(&metrics, EXACT);
    let mut merged: Option<Accumulator> = None;
    let mut first = None;
    // The last slice of the first phase and the first slice of the second are one; the third phase follows after a
    // pause.
    for (phase, begin) in [0, 40_500_000_000, 99_000_000_000].into_iter().enumerate() {
        let mut load = Load::new(phase as u64 + 3, 20, 64, 20_000_000, 500);
        let mut records = Accumulator::with_limits(&metrics, EXACT);
        let mut sweep = SweepLine::new(metrics.slice());
        for number in 0..500 {
            load.next_into(&mut m);
            postpone(&mut m, begin);
            metrics.record(&m, &mut record);
            exact.add(&m, &record);
            records.add(&m, &record);
            if number % 20 == 0 {
                first = first.min(records.first_unswept()).or(records.first_unswept());
                sweep.align_slices(first.unwrap());
                records.hand_over(&mut sweep);
                while sweep.go_on() {}
            }
        }
        records.finish_sweep(sweep);
        merged = Some(merged.map_or(records.clone(), |earlier| earlier.merge(records)));
    }
    let merged = merged.unwrap();
    let both = [&exact, &merged];
    let [one, two] = both.map(|records| records.summarise(&metrics, Context::default()));
    assert_eq!(two.exactness, one.exactness);
    check(&one, &two, allowed_of_exact_curves);
    let [one, two] = both.map(|records| records.slices(&metrics, slice, Context::default()));
    assert_eq!(one.len(), two.len());
    for (one, two) in one.iter().zip(&two) {
        assert_eq!((one.start, one.end), (two.start, two.end));
        check(&one.summary, &two.summary, allowed_of_exact_curves);
    }
}

#[test]
fn slices_are_those_of_the_sweep_even_if_the_first_request_arrives_too_late_for_it() {
    let slice = Nanos::from_millis(2000);
    let metrics = chat().with_slices(slice);
    let mut load = Load::new(3, 20, 64, 20_000_000, 500);
    let mut records = Accumulator::with_limits(&metrics, EXACT);
    let mut sweep = SweepLine::new(metrics.slice());
    let (mut m, mut record) = (Measured::default(), RecordMetrics::default());
    let mut late = None;
    for at in 0..500 {
        load.next_into(&mut m);
        if m.number == 0 {
            late = Some(m.clone());
            continue;
        }
        m.number -= 1;
        postpone(&mut m, 700_000_000);
        metrics.record(&m, &mut record);
        records.add(&m, &record);
        if at % 20 == 0 {
            records.first_unswept().into_iter().for_each(|first| sweep.align_slices(first));
            records.hand_over(&mut sweep);
            while sweep.go_on() {}
        }
    }
    let origin = sweep.slice_origin().unwrap();
    let late = late.unwrap();
    assert!(late.start_wall < origin);
    metrics.record(&late, &mut record);
    records.add(&Measured { number: 499, ..late }, &record);
    records.finish_sweep(sweep);
    assert_eq!(records.summarise(&metrics, Context::default()).exactness.late_in_curves, 1);
    let slices = records.slices(&metrics, slice, Context::default());
    assert!(slices.len() > 5);
    for slice in &slices {
        let known = slice.summary.get("effective_concurrency").is_some();
        assert_eq!(known, slice.start >= origin, "slice {}", slice.index);
    }
}

#[test]
fn slices_of_dropped_lists_are_those_of_stored_lists() {
    let metrics = chat().with_slices(Nanos::from_millis(2000));
    let [exact, binned] = accumulators(&metrics, [EXACT, LISTS_BINNED], Load::new(9, 64, 64, 20_000_000, 500));
    let slices = |accumulator: &Accumulator| accumulator.slices(&metrics, Nanos::from_millis(2000), Context::default());
    let (exact, binned) = (slices(&exact), slices(&binned));
    assert!(exact.len() > 10);
    for (one, two) in exact.iter().zip(&binned) {
        assert_eq!((one.start, one.end), (two.start, two.end));
        check(&one.summary, &two.summary, |tag, stat| match (tag, stat) {
            ("inter_chunk_latency", "avg" | "sum" | "min" | "max" | "std") => 1e-12,
            (tag, stat) => allowed_of_curves(tag, stat),
        });
    }
}

#[test]
fn live_statistics_agree_with_the_summary() {
    let metrics = chat();
    let [accumulator] = accumulators(&metrics, [EXACT], Load::new(7, 64, 64, 20_000_000, 500));
    let summary = accumulator.summarise(&metrics, Context::default());
    let live = accumulator.live().expect("a watched run");
    assert_eq!(live.records(), RECORDS as u64);
    let shown = live.summary(&metrics);
    for result in shown.results.iter().filter(|result| result.is_live()) {
        let exact = summary.get(&result.tag).expect("a metric of the summary");
        for stat in Stats::NAMES {
            let (one, two) = (exact.stats.get(stat), result.stats.get(stat));
            assert_eq!(one.is_some(), two.is_some(), "{} {stat}", result.tag);
            let allowed = if stat.starts_with('p') { 4e-3 } else { 1e-6 };
            assert!(one.zip(two).is_none_or(|(one, two)| relative(one, two) <= allowed), "{} {stat}", result.tag);
        }
    }
    assert!(shown.get("request_throughput").is_some() && shown.get("time_to_first_token").is_some());
}
