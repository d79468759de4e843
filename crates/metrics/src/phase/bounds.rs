//! How far the statistics of a phase can be from the truth, because the instants of some events are known only to lie
//! within an interval.
//!
//! Such an event is reported at the end of its interval, so the truth is no later. A statistic is computed twice: with the
//! reported instants, and with each instant moved to the end of its interval that moves the statistic most. The truth is
//! in between.

use crate::facts::{Fact, Facts};
use crate::numbers::in_parallel::in_parallel;
use crate::numbers::stats::{Encoding, Stats, float_key};
use crate::numbers::two_passes::visited_twice;
use crate::phase::accumulator::Accumulator;
use crate::phase::main_metrics::{Cause, MAIN_METRICS, MAIN_STATISTICS, MainMetric, Widths};
use crate::phase::summary::{Bound, MetricBounds, Summary};
use crate::phase::values::value_of;
use crate::run::{Chosen, Metrics};

/// Which end of the intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Early,
    Late,
}

/// Each cause with both ends.
const CASES: [(Cause, End); 8] = [
    (Cause::Any, End::Early),
    (Cause::Any, End::Late),
    (Cause::Ours, End::Early),
    (Cause::Ours, End::Late),
    (Cause::Merged, End::Early),
    (Cause::Merged, End::Late),
    (Cause::Unstamped, End::Early),
    (Cause::Unstamped, End::Late),
];

/// A metric whose values are visited with their records.
struct Visited<'a> {
    main: &'static MainMetric,
    metrics: &'a Metrics,
    chosen: &'a Chosen,
    reported: Stats,
}

impl Accumulator {
    /// The bounds of every metric that has them, on at most `threads` threads. If all instants are exact, this costs
    /// one pass over the records.
    pub(crate) fn bounds(&self, metrics: &Metrics, summary: &Summary, threads: usize) -> Vec<MetricBounds> {
        let chosen = |tag: &str| metrics.chosen.iter().find(|chosen| chosen.exported && chosen.metric.tag == tag);
        let visited = MAIN_METRICS.iter().filter_map(|main| {
            Some(Visited { main, metrics, chosen: chosen(main.tag)?, reported: summary.get(main.tag)?.stats })
        });
        let visited: Vec<Visited<'_>> = visited.collect();
        let moved = in_parallel(threads, visited.len(), |(): &mut (), at| self.moved(&visited[at]));
        // Where nothing changes, nothing is computed again, and neither is what two causes have in common.
        let is_needed = |(at, case): &(usize, usize)| moved[*at][*case] == Moved::Own;
        let pairs = (0..visited.len()).flat_map(|at| (0..CASES.len()).map(move |case| (at, case)));
        let needed: Vec<(usize, usize)> = pairs.filter(is_needed).collect();
        let keeps = self.keeps_values(threads);
        let stats = in_parallel(threads, needed.len(), |kept: &mut Vec<i64>, number| {
            let (at, case) = needed[number];
            self.stats_at(&visited[at], CASES[case], keeps.then_some(kept))
        });
        let ends = |at: usize| {
            let own =
                |case: usize| needed.iter().position(|known| *known == (at, case)).and_then(|number| stats[number]);
            let stats = |case: usize| match moved[at][case] {
                Moved::Nothing => None,
                Moved::Own => own(case),
                Moved::LikeAny => own(case % 2),
            };
            std::array::from_fn(|case| stats(case).unwrap_or(visited[at].reported))
        };
        let bounds = visited.iter().enumerate().map(|(at, visited)| MetricBounds {
            tag: visited.main.tag,
            bounds: bounds_of(&visited.reported, &ends(at)),
        });
        bounds.collect()
    }

    /// What changes in each of [`CASES`].
    fn moved(&self, visited: &Visited<'_>) -> [Moved; 8] {
        let (main, scale) = (visited.main, visited.chosen.metric.scale());
        let (mut changes, mut like_any) = ([false; 8], [true; 8]);
        self.each_with(visited, Widths::is_uncertain, |facts, value| {
            let change = |(cause, end)| change(main, facts, cause, end, scale, value);
            let any = [End::Early, End::Late].map(|end| change((Cause::Any, end)));
            if any == [0.0; 2] {
                return;
            }
            let is_ours = facts.get(Fact::WidthCauses).is_some();
            for (at, &case) in CASES.iter().enumerate() {
                let change = match case.0 {
                    Cause::Any => any[at % 2],
                    Cause::Merged if !is_ours => any[at % 2],
                    _ if !is_ours => 0.0,
                    _ => change(case),
                };
                changes[at] |= change != 0.0;
                like_any[at] &= change == any[at % 2];
            }
        });
        std::array::from_fn(|at| match (changes[at], like_any[at]) {
            (false, _) => Moved::Nothing,
            (true, true) if CASES[at].0 != Cause::Any => Moved::LikeAny,
            (true, _) => Moved::Own,
        })
    }

    /// The statistics with every instant at one end of its interval.
    fn stats_at(
        &self,
        visited: &Visited<'_>,
        (cause, end): (Cause, End),
        kept: Option<&mut Vec<i64>>,
    ) -> Option<Stats> {
        let (main, scale) = (visited.main, visited.chosen.metric.scale());
        let ranked = visited_twice(Encoding::Float, 0, kept, |pass| {
            self.each_with(
                visited,
                |_| true,
                |facts, value| {
                    let change = change(main, facts, cause, end, scale, value);
                    pass.add(float_key(if end == End::Early { value - change } else { value + change }));
                },
            );
        });
        ranked.map(|ranked| ranked.distribution.stats)
    }

    /// The values of a metric in its display unit, with the facts of their records that widths need. `wanted`: the
    /// records to visit. Only uncertain ones change anything.
    fn each_with(&self, visited: &Visited<'_>, wanted: impl Fn(&Facts) -> bool, mut visit: impl FnMut(&Facts, f64)) {
        let Visited { metrics, chosen, .. } = visited;
        let facts: Vec<Fact> = chosen.facts.iter().chain(&Widths::FACTS).copied().collect();
        self.kept.columns.each(&facts, |_, facts| {
            if wanted(facts)
                && let Some(value) = value_of(metrics, chosen, facts)
            {
                visit(facts, value);
            }
        });
    }
}

/// How a case differs from the reported values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    Nothing,
    /// As much as with any cause.
    LikeAny,
    Own,
}

/// How far a value moves.
fn change(main: &MainMetric, facts: &Facts, cause: Cause, end: End, scale: f64, value: f64) -> f64 {
    Widths::of(facts, cause, scale).map_or(0.0, |widths| match end {
        End::Early => (main.earlier)(&widths, value),
        End::Late => (main.later)(&widths),
    })
}

/// The bounds of each statistic, from those of the moved values, by case.
fn bounds_of(reported: &Stats, ends: &[Stats; 8]) -> Vec<(&'static str, Bound)> {
    let bounds = MAIN_STATISTICS.iter().filter_map(|main| {
        let statistic = main.of;
        let value = statistic(reported)?;
        let bound = |case: usize| {
            statistic(&ends[case])
                .map_or(0.0, |end| if CASES[case].1 == End::Early { value - end } else { end - value })
        };
        let both = |cause: usize| (bound(2 * cause).max(0.0), bound(2 * cause + 1).max(0.0));
        let larger = |(early, late): (f64, f64)| early.max(late);
        let (early, late) = both(0);
        let [ours, merged, unstamped] = [1, 2, 3].map(|cause| larger(both(cause)));
        Some((main.name, Bound { value, early, late, ours, merged, unstamped }))
    });
    bounds.collect()
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
