//! How far the statistics of a phase can be from the truth, because the instants of some events are known only to lie
//! within an interval.
//!
//! Such an event is reported at the end of its interval, so the truth is no later. A statistic is computed twice: with the
//! reported instants, and with each instant moved to the end of its interval that moves the statistic most. The truth is
//! in between.

use crate::facts::{Fact, Facts};
use crate::numbers::stats::{Stats, stats_of};
use crate::phase::accumulator::Accumulator;
use crate::phase::main_metrics::{Cause, MAIN_METRICS, MAIN_STATISTICS, MainMetric, Widths};
use crate::phase::summary::{Bound, MetricBounds, Summary};
use crate::registry::metric::Compute;
use crate::run::{Chosen, Metrics};

impl Accumulator {
    /// The bounds of every metric that has them. If all instants are exact, this costs one pass over the records.
    pub(crate) fn bounds(&self, metrics: &Metrics, summary: &Summary) -> Vec<MetricBounds> {
        let chosen = |tag: &str| metrics.chosen.iter().find(|chosen| chosen.exported && chosen.metric.tag == tag);
        let bounds = MAIN_METRICS.iter().filter_map(|main| {
            let reported = summary.get(main.tag)?.stats;
            Some(MetricBounds { tag: main.tag, bounds: self.bounds_of(metrics, chosen(main.tag)?, main, &reported) })
        });
        bounds.collect()
    }

    fn bounds_of(
        &self,
        metrics: &Metrics,
        chosen: &Chosen,
        main: &MainMetric,
        reported: &Stats,
    ) -> Vec<(&'static str, Bound)> {
        let mut exact = Vec::new();
        // By cause: the values with every instant at the other end of its interval, for those records that change.
        let causes = [Cause::Any, Cause::Ours, Cause::Merged, Cause::Unstamped];
        let mut moved: [Vec<(usize, f64, f64)>; 4] = Default::default();
        let scale = chosen.metric.scale();
        self.each_with(metrics, chosen, &Widths::FACTS, |facts, value| {
            for (cause, moved) in causes.iter().zip(&mut moved) {
                if let Some(widths) = Widths::of(facts, *cause, scale) {
                    moved.push((exact.len(), (main.earlier)(&widths, value), (main.later)(&widths)));
                }
            }
            exact.push(value);
        });
        // Where nothing changes, nothing is sorted again.
        let reach = |moved: &[(usize, f64, f64)], at: fn(f64, &(usize, f64, f64)) -> f64| {
            if moved.is_empty() {
                return *reported;
            }
            let mut values = exact.clone();
            moved.iter().for_each(|change| values[change.0] = at(values[change.0], change));
            stats_of(&mut values).unwrap_or(*reported)
        };
        let ends = moved.each_ref().map(|moved| {
            (reach(moved, |value, change| value - change.1), reach(moved, |value, change| value + change.2))
        });
        let bounds = MAIN_STATISTICS.iter().filter_map(|main| {
            let statistic = main.of;
            let value = statistic(reported)?;
            let [any, ours, merged, unstamped] = ends.each_ref().map(|(early, late)| {
                let early = statistic(early).map_or(0.0, |early| value - early);
                (early.max(0.0), statistic(late).map_or(0.0, |late| late - value).max(0.0))
            });
            let larger = |(early, late): (f64, f64)| early.max(late);
            let (ours, merged, unstamped) = (larger(ours), larger(merged), larger(unstamped));
            Some((main.name, Bound { value, early: any.0, late: any.1, ours, merged, unstamped }))
        });
        bounds.collect()
    }

    /// Every value of a metric in its display unit, with further facts of its record.
    fn each_with(&self, metrics: &Metrics, chosen: &Chosen, more: &[Fact], mut visit: impl FnMut(&Facts, f64)) {
        let (metric, rules, scale) = (chosen.metric, &metrics.rules, chosen.metric.scale());
        let facts: Vec<Fact> = chosen.facts.iter().chain(more).copied().collect();
        self.kept.columns.each(&facts, |_, facts| {
            let value = match metric.compute {
                _ if facts.failed() => None,
                Compute::Ints(compute) => compute(facts, rules).map(|value| value as f64),
                Compute::Floats(compute) => compute(facts, rules).filter(|value| value.is_finite()),
                _ => None,
            };
            if let Some(value) = value {
                visit(facts, value * scale);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::main_metrics::MainStatistic;
    use crate::phase::summary::Context;
    use crate::run::RunTraits;
    use crate::run::record::RecordMetrics;
    use aiperf_types::{ContentMark, EndpointKind, Measured, MonoNs, Nanos, TokenCounts, Uncertainty, WallNs};
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    /// A stream: the instants of its first and last content after its start, and how much earlier each may have
    /// arrived, in microseconds.
    #[derive(Clone, Copy, Debug)]
    struct Stream {
        first: u64,
        last: u64,
        widths: (u64, u64),
        is_late: bool,
        /// Tokens of the first content; the whole stream has eleven.
        first_tokens: u64,
        /// Whether it came as one chunk, which has no time between tokens.
        is_one_chunk: bool,
    }

    const STREAM: Stream =
        Stream { first: 50_000, last: 150_000, widths: (0, 0), is_late: false, first_tokens: 1, is_one_chunk: false };

    fn summary(streams: &[Stream]) -> Summary {
        let (metrics, records) = recorded(streams);
        records.summarise(&metrics, Context::default())
    }

    fn recorded(streams: &[Stream]) -> (Metrics, Accumulator) {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
        let (mut records, mut computed) = (Accumulator::new(&metrics), RecordMetrics::default());
        for (number, stream) in streams.iter().enumerate() {
            let start = MonoNs(1000 * MS);
            let mark = |us: u64| ContentMark { at: MonoNs(start.0 + us * 1000), output: true, reasoning: false };
            let uncertainty =
                |us: u64| Uncertainty { width: Nanos(us * 1000), is_late: stream.is_late, is_unstamped: false };
            let measured = Measured {
                number: number as u64,
                start_wall: WallNs(1_760_000_000_000_000_000),
                start,
                end: mark(stream.last).at,
                content: if stream.is_one_chunk {
                    vec![mark(stream.last)]
                } else {
                    vec![mark(stream.first), mark(stream.last)]
                },
                first_uncertainty: uncertainty(stream.widths.0),
                last_uncertainty: uncertainty(stream.widths.1),
                tokens: TokenCounts {
                    output: Some(11),
                    first_content_chunk_tokens: Some(stream.first_tokens),
                    ..TokenCounts::default()
                },
                ..Measured::default()
            };
            metrics.record(&measured, &mut computed);
            records.add(&measured, &computed);
        }
        (metrics, records)
    }

    fn bound(summary: &Summary, tag: &str, statistic: &str) -> Bound {
        summary.bound(tag, statistic).unwrap()
    }

    fn near(one: f64, two: f64) -> bool {
        (one - two).abs() < 1e-9
    }

    #[test]
    fn exact_instants_have_no_bound() {
        let streams = vec![STREAM; 20];
        let summary = summary(&streams);
        for MainMetric { tag, .. } in MAIN_METRICS {
            for MainStatistic { name: statistic, .. } in MAIN_STATISTICS {
                let found = bound(&summary, tag, statistic);
                assert_eq!((found.bound(), found.ours), (0.0, 0.0), "{tag} {statistic}");
            }
        }
    }

    #[test]
    fn a_bound_is_the_distance_to_the_other_end_of_the_intervals() {
        let mut streams = vec![STREAM; 99];
        streams.push(Stream { first: 90_000, widths: (30_000, 20_000), is_late: true, ..STREAM });
        let summary = summary(&streams);
        let mean = bound(&summary, "time_to_first_token", "avg");
        assert!(near(mean.early, 0.3) && near(mean.ours, 0.3) && mean.late == 0.0, "{mean:?}");
        // Ten tokens follow the first: the end moves the latency between them down, the first token moves it up.
        let itl = bound(&summary, "inter_token_latency", "avg");
        assert!(near(itl.early, 0.02) && near(itl.late, 0.03), "{itl:?}");
        assert_eq!(bound(&summary, "request_latency", "p50").bound(), 0.0);
        assert!(near(bound(&summary, "time_to_first_token", "p99").early, 0.3), "interpolated: 1% of 40, of 10");
    }

    #[test]
    fn while_a_run_is_on_the_bounds_of_means_are_those_of_its_summary() {
        let stream = |widths, is_late| Stream { widths, is_late, ..STREAM };
        let streams = [
            stream((30_000, 20_000), true),
            stream((9_000, 9_000), false),
            stream((0, 5_000), true),
            Stream { first_tokens: 6, ..stream((8_000, 8_000), true) },
            // All of it shared one read.
            Stream { first: 150_000, first_tokens: 9, ..stream((7_000, 7_000), true) },
            Stream { is_one_chunk: true, ..stream((90_000, 90_000), true) },
        ];
        let (metrics, records) = recorded(&streams);
        let (live, last) = (records.live().unwrap(), records.summarise(&metrics, Context::default()));
        let bounds = live.bounds(&metrics, &live.summary(&metrics));
        assert_eq!(bounds.len(), MAIN_METRICS.len());
        for MetricBounds { tag, bounds } in bounds {
            let [("avg", live)] = bounds[..] else { panic!("{tag}: {bounds:?}") };
            let last = bound(&last, tag, "avg");
            assert!(near(live.value, last.value) && near(live.ours, last.ours), "{tag}: {live:?} {last:?}");
        }
    }

    #[test]
    fn what_a_server_wrote_at_once_is_not_ours() {
        let stream = Stream { widths: (5_000, 5_000), ..STREAM };
        let found = bound(&summary(&[stream; 10]), "time_to_first_token", "p50");
        assert!(near(found.bound(), 5.0) && near(found.merged, 5.0), "{found:?}");
        assert_eq!((found.ours, found.unstamped), (0.0, 0.0));
    }

    /// A stream with the true instants of its first and last content. Intervals may be wider than the gap between them,
    /// and both may have come in one read.
    fn stream() -> impl Strategy<Value = (Stream, (u64, u64))> {
        let gap = prop_oneof![Just(0_u64), 1..200_000_u64];
        let widths = (0..100_000_u64, 0..300_000_u64);
        let parts = (1_000..80_000_u64, gap, widths, any::<bool>(), 1..=11_u64, (0.0..=1.0, 0.0..=1.0));
        parts.prop_map(|(first, gap, (one, two), is_late, first_tokens, (moved_one, moved_two))| {
            let last = first + gap;
            let widths = (one.min(first), two.min(last));
            let stream = Stream { first, last, widths, is_late, first_tokens, ..STREAM };
            let true_first = first - (widths.0 as f64 * moved_one) as u64;
            // The last content does not arrive before the first.
            let true_last = (last - (widths.1 as f64 * moved_two) as u64).max(true_first);
            (stream, (true_first, true_last))
        })
    }

    proptest! {
        #[test]
        fn instants_moved_anywhere_in_their_intervals_keep_every_statistic_within_its_bound(
            streams in proptest::collection::vec(stream(), 1..60),
        ) {
            let reported: Vec<Stream> = streams.iter().map(|(stream, _)| *stream).collect();
            let truth: Vec<Stream> = streams
                .iter()
                .map(|(stream, (first, last))| Stream { first: *first, last: *last, ..*stream })
                .collect();
            let (reported, truth) = (summary(&reported), summary(&truth));
            for MainMetric { tag, .. } in MAIN_METRICS {
                for MainStatistic { name: statistic, .. } in MAIN_STATISTICS {
                    let Bound { value, early, late, .. } = bound(&reported, tag, statistic);
                    let true_value = bound(&truth, tag, statistic).value;
                    let slack = 1e-9 * value.max(1.0);
                    prop_assert!(
                        value - early - slack <= true_value && true_value <= value + late + slack,
                        "{tag} {statistic}: {true_value} is not in {value} -{early} +{late}"
                    );
                }
            }
        }
    }
}
