//! Curves over time compared with their definition, instant by instant.

use aiperf_metrics::{Accumulator, Context, Limits, Metrics, RecordMetrics, RunTraits, Stats, Summary, SweepLine};
use aiperf_types::{ContentMark, EndpointKind, Measured, MonoNs, RequestError, TokenCounts, WallNs};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

const EPOCH: u64 = 1_760_000_000_000_000_000;
const BEFORE: u64 = 5_000_000_000;

/// A request: gaps may have zero length, and the last content may arrive with the end.
fn request() -> impl Strategy<Value = Measured> {
    let gap = prop_oneof![Just(0), 1..5_u64, 1_000..9_000_000_u64];
    let tail = prop_oneof![Just(0), 1..400_000_u64];
    let tokens = || option::weighted(0.9, 0..90_u64);
    (0..60_000_000_u64, 0..9_000_000_u64, vec(gap, 0..6), tail, tokens(), tokens(), 0..9_u8).prop_map(
        |(start, wait, gaps, tail, input, output, fate)| {
            let mut at = BEFORE + start + wait;
            let mut content = vec![at];
            content.extend(gaps.iter().map(|gap| {
                at += gap;
                at
            }));
            let failed = fate == 0;
            let mark = |at: u64| ContentMark { at: MonoNs(at), output: true, reasoning: false };
            Measured {
                start_wall: WallNs(EPOCH + start),
                start: MonoNs(BEFORE + start),
                end: MonoNs(at + tail),
                content: if failed { Vec::new() } else { content.into_iter().map(mark).collect() },
                tokens: TokenCounts { input, output, ..TokenCounts::default() },
                error: failed.then(|| RequestError::status(500, "Error", "no")),
                ..Measured::default()
            }
        },
    )
}

/// A height that holds from one instant to another.
type Pulse = (u64, u64, f64);

/// Every curve as the pulses it is made of, and the curve that decides when it is active.
struct Naive {
    curves: Vec<(&'static str, Vec<Pulse>, Option<&'static str>)>,
    span: (u64, u64),
}

impl Naive {
    fn of(requests: &[Measured]) -> Self {
        let tags = [
            ("concurrency", None),
            ("prefill_concurrency", None),
            ("decode_concurrency", None),
            ("prefill_throughput", Some("prefill_concurrency")),
            ("decode_throughput", Some("decode_concurrency")),
            ("total_throughput", Some("concurrency")),
            ("tokens_in_flight", None),
        ];
        let mut naive =
            Self { curves: tags.map(|(tag, active)| (tag, Vec::new(), active)).to_vec(), span: (u64::MAX, 0) };
        let has_gaps = requests.iter().any(|m| m.content.len() > 1);
        requests.iter().for_each(|m| naive.add(m, has_gaps));
        naive
    }

    fn pulse(&mut self, tag: &str, from: u64, to: u64, height: f64) {
        self.curves.iter_mut().find(|curve| curve.0 == tag).unwrap().1.push((from, to, height));
    }

    fn add(&mut self, m: &Measured, run_has_gaps: bool) {
        let (start, end) = (m.start_wall.0, m.start_wall.0 + m.end.0 - m.start.0);
        self.span = (self.span.0.min(start), self.span.1.max(end));
        self.pulse("concurrency", start, end, 1.0);
        let Some(first) = m.content.first().map(|mark| start + mark.at.0 - m.start.0) else { return };
        self.pulse("prefill_concurrency", start, first, 1.0);
        self.pulse("decode_concurrency", first, end, 1.0);
        if let Some(input) = m.tokens.input.filter(|_| first > start) {
            let rate = input as f64 / (first - start) as f64 * 1e9;
            self.pulse("prefill_throughput", start, first, rate);
            self.pulse("total_throughput", start, first, rate);
            self.pulse("tokens_in_flight", start, end, input as f64);
        }
        let Some(output) = m.tokens.output.filter(|_| end > first) else { return };
        let more = output.saturating_sub(1) as f64;
        if output >= 1 {
            let even = more / (end - first) as f64 * 1e9;
            self.pulse("total_throughput", first, end, even);
            if !run_has_gaps {
                self.pulse("decode_throughput", first, end, even);
            }
        }
        let gaps: Vec<u64> = m.content.windows(2).map(|pair| pair[1].at.0 - pair[0].at.0).collect();
        if gaps.is_empty() || output == 0 {
            self.pulse("tokens_in_flight", first, end, output as f64);
            return;
        }
        let share = |of: usize| more / of as f64;
        let (arrival, decode) = (share(gaps.len()), share(gaps.iter().filter(|gap| **gap > 0).count()));
        self.pulse("tokens_in_flight", first, end, 1.0);
        let mut at = first;
        for gap in gaps {
            if gap > 0 {
                self.pulse("decode_throughput", at, at + gap, decode / gap as f64 * 1e9);
            }
            at += gap;
            self.pulse("tokens_in_flight", at.min(end - 1), end, arrival);
        }
    }

    fn pulses(&self, tag: &str) -> &[Pulse] {
        &self.curves.iter().find(|curve| curve.0 == tag).unwrap().1
    }

    /// Stretches in which two curves are constant: the length, and both values.
    fn stretches(&self, tag: &str, other: &str) -> Vec<(f64, f64, f64)> {
        let (one, two) = (self.pulses(tag), self.pulses(other));
        let mut instants: Vec<u64> = one.iter().chain(two).flat_map(|pulse| [pulse.0, pulse.1]).collect();
        instants.extend([self.span.0, self.span.1]);
        instants.sort_unstable();
        instants.dedup();
        let value = |pulses: &[Pulse], at: u64| -> f64 {
            let on = pulses.iter().filter(|pulse| pulse.0 <= at && at < pulse.1);
            on.map(|pulse| pulse.2).sum()
        };
        instants.windows(2).map(|pair| ((pair[1] - pair[0]) as f64, value(one, pair[0]), value(two, pair[0]))).collect()
    }
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0)
}

/// Compares the statistics of a value over time with all its stretches.
fn check(tag: &str, stretches: &[(f64, f64)], found: Stats, percentile_share: f64) {
    let whole: f64 = stretches.iter().map(|(length, _)| length).sum();
    if whole == 0.0 {
        assert_eq!((found.avg, found.std, found.max), (Some(0.0), Some(0.0), Some(0.0)), "{tag}");
        return;
    }
    let mean = stretches.iter().map(|(length, value)| length * value).sum::<f64>() / whole;
    let square = stretches.iter().map(|(length, value)| length * (value - mean).powi(2)).sum::<f64>() / whole;
    let extreme = |pick: fn(f64, f64) -> f64| stretches.iter().map(|(_, value)| *value).reduce(pick).unwrap();
    for (name, expected) in
        [("avg", mean), ("std", square.sqrt()), ("min", extreme(f64::min)), ("max", extreme(f64::max))]
    {
        let found = found.get(name).unwrap_or(f64::NAN);
        // Content that follows within nanoseconds gives rates of 1e10; rounding loses most there.
        let close = if name == "std" {
            (found - expected).abs() <= 1e-8 * expected + 1e-7 * mean
        } else {
            near(found, expected)
        };
        assert!(close, "{tag} {name}: {found}, not {expected}");
    }
    for percent in [50.0, 90.0, 95.0, 99.0] {
        let value = found.get(&format!("p{percent}")).unwrap_or(f64::NAN);
        let slack = value * percentile_share + 1e-9 * value.max(1.0);
        let time = |below: f64| stretches.iter().filter(|(_, value)| *value <= below).map(|s| s.0).sum::<f64>() / whole;
        let before = stretches.iter().filter(|(_, other)| *other < value - slack).map(|s| s.0).sum::<f64>() / whole;
        assert!(time(value + slack) >= percent / 100.0 - 1e-9, "{tag} p{percent}: {value} is too low");
        assert!(before <= percent / 100.0 + 1e-9, "{tag} p{percent}: {value} is too high");
    }
}

fn check_all(naive: &Naive, summary: &Summary, percentile_share: f64) {
    let stats = |tag: &str| summary.get(tag).unwrap_or_else(|| panic!("{tag} is missing")).stats;
    for (name, _, active) in &naive.curves {
        let tag = if *name == "tokens_in_flight" { (*name).to_owned() } else { format!("effective_{name}") };
        let stretches = naive.stretches(name, active.unwrap_or(name));
        let all: Vec<(f64, f64)> = stretches.iter().map(|&(length, value, _)| (length, value)).collect();
        check(&tag, &all, stats(&tag), percentile_share);
        if active.is_none() {
            continue;
        }
        let busy = || stretches.iter().filter(|stretch| stretch.2 > 0.0);
        let while_active: Vec<(f64, f64)> = busy().map(|&(length, value, _)| (length, value)).collect();
        check(&format!("active_{name}"), &while_active, stats(&format!("active_{name}")), percentile_share);
        if *name != "total_throughput" {
            let each =
                |&(length, value, users): &(f64, f64, f64)| (length, if users > 0.0 { value / users } else { 0.0 });
            let (all, active) = (stretches.iter().map(each).collect::<Vec<_>>(), busy().map(each).collect::<Vec<_>>());
            for (tag, stretches) in
                [(format!("effective_{name}_per_user"), all), (format!("active_{name}_per_user"), active)]
            {
                check(&tag, &stretches, stats(&tag), percentile_share);
            }
        }
    }
}

/// Limits of lists and of stretches of curves, and how far percentiles may be off with them.
const LIMITS: [(Limits, u64, f64); 3] = [
    (Limits { list_values: u64::MAX }, u64::MAX, 0.0),
    (Limits { list_values: u64::MAX }, 20, 5e-4),
    (Limits { list_values: 5 }, 20, 5e-4),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn curves_have_the_load_at_every_instant(requests in vec(request(), 1..14), limits in 0..LIMITS.len()) {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
        let (limits, stretches, percentile_share) = LIMITS[limits];
        let (mut accumulator, mut record) = (Accumulator::with_limits(&metrics, limits), RecordMetrics::default());
        for m in &requests {
            metrics.record(m, &mut record);
            accumulator.add(m, &record);
        }
        accumulator.finish_sweep(SweepLine::with_limit(None, stretches));
        check_all(&Naive::of(&requests), &accumulator.summarise(&metrics, Context::default()), percentile_share);
    }
}
