//! Properties that hold for any records.

use aiperf_metrics::metric::{Compute, Fold};
use aiperf_metrics::{
    Accumulator, BaseValue, Context, Flags, Limits, MetricType, Metrics, RecordMetrics, RunTraits, Slo, Stats, Summary,
    SweepLine, Window, registry, stats_of,
};
use aiperf_types::SpecDecode;
use aiperf_types::{
    ContentMark, EndpointKind, HttpTiming, Measured, MonoNs, Nanos, RequestError, TokenCounts, Usage, WallNs,
};
use proptest::prelude::*;
use proptest::{collection::vec, option};
use std::collections::BTreeMap;

const EPOCH: u64 = 1_760_000_000_000_000_000;

fn tokens() -> impl Strategy<Value = Option<u64>> {
    option::weighted(0.8, 0..2000_u64)
}

fn counts() -> impl Strategy<Value = (TokenCounts, Usage, Option<u32>)> {
    ([tokens(), tokens(), tokens(), tokens()], vec(tokens(), 12), option::of(0.0..50.0), option::of(0..300_u32))
        .prop_map(|([input, output, reasoning, first], usage, seconds, requested)| {
            let counts = TokenCounts { input, output, reasoning, first_content_chunk_tokens: first };
            let usage = Usage {
                prompt_tokens: usage[0],
                prompt_cache_read_tokens: usage[1],
                prompt_cache_write_tokens: usage[2],
                prompt_cache_miss_tokens: usage[3],
                prompt_audio_tokens: usage[4],
                tool_use_prompt_tokens: usage[5],
                prompt_audio_seconds: seconds,
                completion_tokens: usage[6],
                reasoning_tokens: usage[7],
                completion_audio_tokens: usage[8],
                accepted_prediction_tokens: usage[9],
                rejected_prediction_tokens: usage[10],
                total_tokens: usage[11],
            };
            (counts, usage, requested)
        })
}

fn http() -> impl Strategy<Value = Option<HttpTiming>> {
    option::of((vec(option::weighted(0.9, 0..5_000_000_u64), 12), any::<bool>())).prop_map(|given| {
        given.map(|(values, reused)| HttpTiming {
            blocked: values[0],
            dns_lookup: values[1],
            connecting: values[2],
            tls_handshaking: values[3],
            sending: values[4],
            waiting: values[5],
            receiving: values[6],
            duration: values[7],
            reused: Some(reused),
            data_sent: values[8],
            chunks_sent: values[9],
            data_received: values[10],
            chunks_received: values[11],
        })
    })
}

fn spec_decode() -> impl Strategy<Value = Option<Box<SpecDecode>>> {
    option::weighted(0.3, (1.0..4.0, 0.0..1.0, 0..50_u64, 0..50_u64, vec((0..9_u32, 0..20_u64), 0..4))).prop_map(
        |given| {
            given.map(|(length, rate, accepted, steps, histogram)| {
                Box::new(SpecDecode {
                    mean_acceptance_length: Some(length),
                    draft_acceptance_rate: Some(rate),
                    acceptance_histogram: histogram.into_iter().collect(),
                    num_accepted_draft_tokens: Some(accepted),
                    num_draft_tokens: Some(accepted + steps),
                    num_spec_steps: Some(steps),
                    ..SpecDecode::default()
                })
            })
        },
    )
}

/// Any record: in order or not, with or without content, failed or not.
pub(crate) fn record() -> impl Strategy<Value = Measured> {
    let timing =
        (0..3_000_000_000_u64, vec((0..90_000_000_u64, any::<bool>()), 0..12), 0..9_000_000_u64, any::<bool>());
    let rest =
        (http(), spec_decode(), option::of(0.0..9.0), 0..3_u32, option::of(-5e3..5e3), option::of(0..900_000_u64));
    (timing, counts(), rest, 0..10_u8).prop_map(
        |(
            (start, chunks, tail, shuffled),
            (tokens, usage, requested_osl),
            (http, spec, audio, images, schedule, credit),
            fate,
        )| {
            let mut at = 5_000_000_000 + start;
            let mut content: Vec<ContentMark> = chunks
                .iter()
                .map(|&(gap, output)| {
                    at += gap;
                    ContentMark { at: MonoNs(at), output, reasoning: !output }
                })
                .collect();
            if shuffled && fate == 1 {
                content.reverse();
            }
            let failed = fate == 0 || content.is_empty();
            Measured {
                number: 0,
                first_uncertainty: Default::default(),
                last_uncertainty: Default::default(),
                receive_lag: None,
                start_wall: WallNs(EPOCH + start),
                start: MonoNs(5_000_000_000 + start),
                end: MonoNs(at + tail),
                head: Some(MonoNs(5_000_000_000 + start + tail / 2)),
                credit_issued: credit.map(|credit| WallNs(EPOCH + start - credit + 300_000)),
                credit_drop: credit,
                schedule_delay: credit.map(|credit| Nanos(credit * u64::from(fate))),
                content: if failed { Vec::new() } else { content },
                tokens,
                usage,
                requested_osl,
                images,
                audio_seconds: audio,
                video_inference_seconds: audio,
                video_peak_memory_mb: audio,
                scheduled_send_ms: schedule,
                http,
                http_trace: None,
                spec_decode: spec,
                error: failed.then(|| RequestError::status(500 + u16::from(fate % 3), "Error", "no")),
                context_overflow: failed && fate % 2 == 0,
            }
        },
    )
}

pub(crate) fn traits() -> impl Strategy<Value = RunTraits> {
    (0..EndpointKind::ALL.len(), any::<[bool; 7]>()).prop_map(|(endpoint, flags)| {
        let [streaming, server_token_count, fixed_schedule, open_loop, accuracy, shown, slos] = flags;
        let mut traits = RunTraits::new(EndpointKind::ALL[endpoint], streaming);
        traits.server_token_count = server_token_count;
        traits.fixed_schedule = fixed_schedule;
        traits.open_loop = open_loop;
        traits.accuracy = accuracy;
        traits.show_internal = shown;
        traits.show_experimental = shown;
        if slos {
            traits.slos =
                [("request_latency", 200.0), ("output_sequence_length", 100.0), ("inter_token_latency", 30.0)]
                    .map(|(tag, threshold)| Slo { tag: tag.to_owned(), threshold })
                    .to_vec();
        }
        traits
    })
}

pub(crate) fn accumulate<'a>(
    metrics: &Metrics,
    limits: Limits,
    records: impl IntoIterator<Item = &'a Measured>,
) -> Accumulator {
    let mut accumulator = Accumulator::with_limits(metrics, limits);
    let mut record = RecordMetrics::default();
    for m in records {
        metrics.record(m, &mut record);
        accumulator.add(m, &record);
    }
    accumulator
}

fn naive(mut values: Vec<f64>) -> Stats {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let at = |percent: f64| {
        let position = percent / 100.0 * (count - 1.0);
        let (low, high) = (values[position.floor() as usize], values[position.ceil() as usize]);
        Some(low + position.fract() * (high - low))
    };
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Stats {
        avg: Some(mean),
        min: values.first().copied(),
        max: values.last().copied(),
        sum: Some(values.iter().sum()),
        p1: at(1.0),
        p5: at(5.0),
        p10: at(10.0),
        p25: at(25.0),
        p50: at(50.0),
        p75: at(75.0),
        p90: at(90.0),
        p95: at(95.0),
        p99: at(99.0),
        std: Some(if count > 1.0 { (squares / (count - 1.0)).sqrt() } else { 0.0 }),
        count: Some(values.len() as u64),
    }
}

fn near(one: Option<f64>, other: Option<f64>, share: f64) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() <= share * one.abs().max(other.abs()).max(1.0),
        (one, other) => one.is_none() && other.is_none(),
    }
}

pub(crate) fn assert_same(one: &Summary, other: &Summary, share: f64) {
    let tags = |summary: &Summary| summary.results.iter().map(|result| result.tag.to_string()).collect::<Vec<_>>();
    assert_eq!(tags(one), tags(other));
    for (one, other) in one.results.iter().zip(&other.results) {
        assert_eq!(one.stats.count, other.stats.count, "{}", one.tag);
        for stat in Stats::NAMES {
            let (a, b) = (one.stats.get(stat), other.stats.get(stat));
            assert!(near(a, b, share), "{} {stat}: {a:?}, {b:?}", one.tag);
        }
    }
}

/// Limits of lists and of stretches of curves.
pub(crate) const LIMITS: [(Limits, u64); 3] = [
    (Limits { list_values: u64::MAX }, u64::MAX),
    (Limits { list_values: 40 }, u64::MAX),
    (Limits { list_values: 40 }, 30),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn percentiles_are_those_of_a_sorted_list(mut values in vec(-1e6..1e6_f64, 1..400)) {
        let expected = naive(values.clone());
        let found = stats_of(&mut values).unwrap();
        for stat in Stats::NAMES {
            prop_assert!(near(found.get(stat), expected.get(stat), 1e-9), "{stat}");
        }
    }

    #[test]
    fn the_mean_of_equal_values_is_that_value_and_they_have_no_deviation(value in -1e6..1e6_f64, count in 1_usize..4000) {
        let found = stats_of(&mut vec![value; count]).unwrap();
        prop_assert_eq!((found.avg, found.min, found.max, found.std), (Some(value), Some(value), Some(value), Some(0.0)));
    }

    /// So the facts that a metric declares are all that it reads, and packing them loses nothing.
    #[test]
    fn a_summary_is_that_of_the_values_of_records(traits in traits(), records in vec(record(), 1..60)) {
        let metrics = Metrics::for_run(traits);
        let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let mut record = RecordMetrics::default();
        for m in &records {
            metrics.record(m, &mut record);
            for (metric, value) in record.base() {
                let values = values.entry(metric.tag).or_default();
                match value {
                    BaseValue::Int(value) => values.push(value as f64),
                    BaseValue::Float(value) => values.push(value),
                    BaseValue::Gaps(gaps) => values.extend(gaps.iter().map(|&gap| gap as f64)),
                }
            }
        }
        let summary = accumulate(&metrics, LIMITS[0].0, &records).summarise(&metrics, Context::default());
        for (tag, values) in values {
            let metric = registry::find(tag).unwrap();
            let Some(result) = summary.get(tag) else {
                prop_assert!(!metrics.traits().exports(metric), "{tag} is missing");
                continue;
            };
            match metric.kind() {
                MetricType::Aggregate(how) => {
                    let folded = match how {
                        Fold::Sum => values.iter().sum(),
                        Fold::Min => values.iter().copied().fold(f64::MAX, f64::min),
                        Fold::Max => values.iter().copied().fold(f64::MIN, f64::max),
                    };
                    prop_assert!(near(result.stats.avg, Some(folded), 1e-9), "{tag}");
                }
                _ => {
                    let scale = metric.unit.factor_to(metric.display);
                    let expected = naive(values);
                    prop_assert_eq!(result.stats.count, expected.count);
                    // As floats, schedule offsets of today are too coarse for a deviation.
                    for stat in Stats::NAMES.into_iter().filter(|stat| tag != "replay_send_schedule_offset" || *stat != "std") {
                        let expected = expected.get(stat).map(|value| value * scale);
                        prop_assert!(near(result.stats.get(stat), expected, 1e-9), "{tag} {stat} {expected:?} {:?}", result.stats.get(stat));
                    }
                }
            }
        }
    }

    #[test]
    fn merging_two_parts_gives_the_whole(
        traits in traits(),
        records in vec((record(), any::<bool>()), 1..80),
        limits in 0..LIMITS.len(),
    ) {
        let metrics = Metrics::for_run(traits);
        let (limits, stretches) = LIMITS[limits];
        let mut whole = accumulate(&metrics, limits, records.iter().map(|(m, _)| m));
        let part = |side: bool| accumulate(&metrics, limits, records.iter().filter(|(_, at)| *at == side).map(|(m, _)| m));
        let mut merged = part(true).merge(part(false));
        for records in [&mut whole, &mut merged] {
            records.finish_sweep(SweepLine::with_limit(None, stretches));
        }
        let of = |accumulator: &Accumulator| accumulator.summarise(&metrics, Context::default());
        let (whole_summary, merged_summary) = (of(&whole), of(&merged));
        assert_same(&whole_summary, &merged_summary, 1e-12);
        for (one, other) in whole_summary.results.iter().zip(&merged_summary.results) {
            // For integers every sum, and so every mean and deviation, is the same to the last bit.
            let exact = registry::find(&one.tag).is_some_and(|metric| matches!(metric.compute, Compute::Ints(_) | Compute::Fold(..) | Compute::Gaps | Compute::Pass(_)));
            prop_assert!(!exact || one.stats == other.stats, "{}", one.tag);
        }
        prop_assert_eq!(&whole_summary.exactness, &merged_summary.exactness);
        prop_assert_eq!(&whole_summary.spec_decode_histogram, &merged_summary.spec_decode_histogram);
        let sorted = |accumulator: &Accumulator| {
            let mut errors: Vec<(Option<i64>, u64)> = accumulator.errors().into_iter().map(|(error, count)| (error.code, count)).collect();
            errors.sort_unstable();
            errors
        };
        prop_assert_eq!(sorted(&whole), sorted(&merged));
        let live = |accumulator: &Accumulator| accumulator.live().unwrap().summary(&metrics);
        assert_same(&live(&whole), &live(&merged), 1e-9);
    }

    #[test]
    fn slices_part_the_run(traits in traits(), records in vec(record(), 1..60), length in 1..1500_u64, limits in 0..LIMITS.len()) {
        let length = Nanos::from_millis(length);
        let metrics = Metrics::for_run(traits).with_slices(length);
        let (limits, stretches) = LIMITS[limits];
        let mut accumulator = accumulate(&metrics, limits, &records);
        accumulator.finish_sweep(SweepLine::with_limit(Some(length), stretches));
        let summary = accumulator.summarise(&metrics, Context::default());
        let slices = accumulator.slices(&metrics, length, Context::default());
        prop_assert_eq!(slices.iter().map(|slice| slice.summary.records).sum::<u64>(), summary.records);
        prop_assert_eq!(slices.iter().map(|slice| slice.summary.failed).sum::<u64>(), summary.failed);
        for pair in slices.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start && pair[0].index < pair[1].index && pair[0].complete);
        }
        for metric in metrics.chosen().filter(|metric| !metric.flags.has(Flags::NO_SLICES)) {
            let counts = slices.iter().filter_map(|slice| slice.summary.get(metric.tag)?.stats.count);
            let whole = summary.get(metric.tag).and_then(|result| result.stats.count);
            if whole.is_some() && !metric.tag.starts_with("adj_") {
                prop_assert_eq!(counts.sum::<u64>(), whole.unwrap_or(0), "{}", metric.tag);
            }
        }
    }

    #[test]
    fn no_exported_number_is_infinite_or_nan(
        traits in traits(),
        records in vec(record(), 1..20),
        window in option::of((0..4_000_000_000_u64, 0..4_000_000_000_u64)),
        rtt in option::of(0.0..1e9_f64),
        limits in 0..LIMITS.len(),
    ) {
        let metrics = Metrics::for_run(traits);
        let window = window.map(|(start, end)| Window { start: WallNs(EPOCH + start), end: WallNs(EPOCH + end) });
        let (limits, stretches) = LIMITS[limits];
        let mut accumulator = accumulate(&metrics, limits, &records);
        accumulator.finish_sweep(SweepLine::with_limit(Some(Nanos::from_millis(100)), stretches));
        let context = Context { window, network_rtt_ns: rtt, threads: 2 };
        let slices = accumulator.slices(&metrics, Nanos::from_millis(100), context);
        let summaries = slices.iter().map(|slice| &slice.summary);
        let (whole, live) = (accumulator.summarise(&metrics, context), accumulator.live().unwrap().summary(&metrics));
        for result in summaries.chain([&whole, &live]).flat_map(|summary| &summary.results) {
            prop_assert_ne!(result.stats, Stats::default(), "{}", &result.tag);
            for stat in Stats::NAMES {
                prop_assert!(result.stats.get(stat).is_none_or(f64::is_finite), "{} {stat}", result.tag);
            }
        }
    }
}
