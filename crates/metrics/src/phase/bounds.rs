//! How far the statistics of a phase can be from the truth, because the instants of some events are known only to lie
//! within an interval.
//!
//! Such an event is reported at the end of its interval, so the truth is no later. A statistic is computed twice: with the
//! reported instants, and with each instant moved to the end of its interval that moves the statistic most. The truth is
//! in between.

use crate::facts::{Fact, Facts};
use crate::numbers::stats::{Stats, stats_of};
use crate::phase::accumulator::Accumulator;
use crate::phase::summary::{Bound, MetricBounds, Summary};
use crate::registry::metric::Compute;
use crate::run::{Chosen, Metrics};

/// The metrics with bounds: the width that makes each smaller, and the one that makes it larger.
const TAGS: [(&str, Earlier, Later); 3] = [
    ("time_to_first_token", first_width, |_, _| 0.0),
    (
        "inter_token_latency",
        // The last content is never before the first.
        |facts, value| (last_width(facts, value) / divisor(facts, value)).min(value),
        |facts, value| first_width(facts, value) / divisor(facts, value),
    ),
    ("request_latency", last_width, |_, _| 0.0),
];

type Earlier = fn(&Widths, f64) -> f64;
type Later = fn(&Widths, f64) -> f64;

type Statistic = fn(&Stats) -> Option<f64>;

/// The statistics with bounds, by the names that exports use.
const STATISTICS: [(&str, Statistic); 4] =
    [("avg", |stats| stats.avg), ("p50", |stats| stats.p50), ("p90", |stats| stats.p90), ("p99", |stats| stats.p99)];

/// Why an instant is uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Any,
    Ours,
    Merged,
    Unstamped,
}

/// The widths of one record, in the unit of the metric.
struct Widths {
    first: f64,
    last: f64,
    /// From the first content to the last.
    span: f64,
    tokens: f64,
}

fn first_width(widths: &Widths, _: f64) -> f64 {
    widths.first
}

fn last_width(widths: &Widths, _: f64) -> f64 {
    widths.last
}

/// The divisor of an inter-token latency. If all content arrived at once, the latency is zero and does not show it.
fn divisor(widths: &Widths, value: f64) -> f64 {
    if value > 0.0 { widths.span / value } else { (widths.tokens - 1.0).max(1.0) }
}

impl Widths {
    const FACTS: [Fact; 7] =
        [Fact::First, Fact::Last, Fact::FirstWidth, Fact::LastWidth, Fact::WidthCauses, Fact::Output, Fact::Reasoning];

    /// Those of a record by this cause, if it has any.
    fn of(facts: &Facts, cause: Cause, scale: f64) -> Option<Self> {
        let causes = facts.get(Fact::WidthCauses).unwrap_or(0);
        let width = |fact: Fact, late: u64, unstamped: u64| {
            let counts = match cause {
                Cause::Any => true,
                Cause::Ours => causes & (late | unstamped) != 0,
                Cause::Merged => causes & unstamped == 0,
                Cause::Unstamped => causes & unstamped != 0,
            };
            facts.get(fact).filter(|_| counts).map_or(0.0, |width| width as f64 * scale)
        };
        let first = width(Fact::FirstWidth, Facts::FIRST_LATE, Facts::FIRST_UNSTAMPED);
        let last = width(Fact::LastWidth, Facts::LAST_LATE, Facts::LAST_UNSTAMPED);
        if first == 0.0 && last == 0.0 {
            return None;
        }
        let (start, end) = (facts.get(Fact::First).unwrap_or(0), facts.get(Fact::Last).unwrap_or(0));
        let span = end.saturating_sub(start) as f64 * scale;
        let tokens = (facts.get(Fact::Output).unwrap_or(0) + facts.get(Fact::Reasoning).unwrap_or(0)) as f64;
        Some(Self { first, last, span, tokens })
    }
}

impl Accumulator {
    /// The bounds of every metric that has them. If all instants are exact, this costs one pass over the records.
    pub(crate) fn bounds(&self, metrics: &Metrics, summary: &Summary) -> Vec<MetricBounds> {
        let chosen = |tag: &str| metrics.chosen.iter().find(|chosen| chosen.exported && chosen.metric.tag == tag);
        let bounds = TAGS.into_iter().filter_map(|(tag, earlier, later)| {
            let reported = summary.get(tag)?.stats;
            Some(MetricBounds { tag, bounds: self.bounds_of(metrics, chosen(tag)?, &reported, earlier, later) })
        });
        bounds.collect()
    }

    fn bounds_of(
        &self,
        metrics: &Metrics,
        chosen: &Chosen,
        reported: &Stats,
        earlier: Earlier,
        later: Later,
    ) -> Vec<(&'static str, Bound)> {
        let mut exact = Vec::new();
        // By cause: the values with every instant at the other end of its interval, for those records that change.
        let causes = [Cause::Any, Cause::Ours, Cause::Merged, Cause::Unstamped];
        let mut moved: [Vec<(usize, f64, f64)>; 4] = Default::default();
        let scale = chosen.metric.scale();
        self.each_with(metrics, chosen, &Widths::FACTS, |facts, value| {
            for (cause, moved) in causes.iter().zip(&mut moved) {
                if let Some(widths) = Widths::of(facts, *cause, scale) {
                    moved.push((exact.len(), earlier(&widths, value), later(&widths, value)));
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
        let bounds = STATISTICS.into_iter().filter_map(|(name, statistic)| {
            let value = statistic(reported)?;
            let [any, ours, merged, unstamped] = ends.each_ref().map(|(early, late)| {
                let early = statistic(early).map_or(0.0, |early| value - early);
                (early.max(0.0), statistic(late).map_or(0.0, |late| late - value).max(0.0))
            });
            let larger = |(early, late): (f64, f64)| early.max(late);
            let (ours, merged, unstamped) = (larger(ours), larger(merged), larger(unstamped));
            Some((name, Bound { value, early: any.0, late: any.1, ours, merged, unstamped }))
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
    }

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
                content: vec![mark(stream.first), mark(stream.last)],
                first_uncertainty: uncertainty(stream.widths.0),
                last_uncertainty: uncertainty(stream.widths.1),
                tokens: TokenCounts { output: Some(11), ..TokenCounts::default() },
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
        let streams = vec![Stream { first: 50_000, last: 150_000, widths: (0, 0), is_late: false }; 20];
        let summary = summary(&streams);
        for (tag, _, _) in TAGS {
            for (statistic, _) in STATISTICS {
                let found = bound(&summary, tag, statistic);
                assert_eq!((found.bound(), found.ours), (0.0, 0.0), "{tag} {statistic}");
            }
        }
    }

    #[test]
    fn a_bound_is_the_distance_to_the_other_end_of_the_intervals() {
        let exact = Stream { first: 50_000, last: 150_000, widths: (0, 0), is_late: false };
        let mut streams = vec![exact; 99];
        streams.push(Stream { first: 90_000, widths: (30_000, 20_000), is_late: true, ..exact });
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
        let stream = |widths, is_late| Stream { first: 50_000, last: 150_000, widths, is_late };
        let streams = [stream((30_000, 20_000), true), stream((9_000, 9_000), false), stream((0, 5_000), true)];
        let (metrics, records) = recorded(&streams);
        let (live, last) = (records.live().unwrap(), records.summarise(&metrics, Context::default()));
        let bounds = live.bounds(&metrics, &live.summary(&metrics));
        assert_eq!(bounds.len(), TAGS.len());
        for MetricBounds { tag, bounds } in bounds {
            let [("avg", live)] = bounds[..] else { panic!("{tag}: {bounds:?}") };
            let last = bound(&last, tag, "avg");
            assert!(near(live.value, last.value) && near(live.ours, last.ours), "{tag}: {live:?} {last:?}");
        }
    }

    #[test]
    fn what_a_server_wrote_at_once_is_not_ours() {
        let stream = Stream { first: 50_000, last: 150_000, widths: (5_000, 5_000), is_late: false };
        let found = bound(&summary(&[stream; 10]), "time_to_first_token", "p50");
        assert!(near(found.bound(), 5.0) && near(found.merged, 5.0), "{found:?}");
        assert_eq!((found.ours, found.unstamped), (0.0, 0.0));
    }

    fn stream() -> impl Strategy<Value = (Stream, (f64, f64))> {
        let parts =
            (1_000..80_000_u64, 1_000..200_000_u64, 0..900_u64, 0..900_u64, any::<bool>(), (0.0..=1.0, 0.0..=1.0));
        parts.prop_map(|(first, more, one, two, is_late, moves)| {
            (Stream { first, last: first + more, widths: (one, two), is_late }, moves)
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
                .map(|(stream, (first, last))| Stream {
                    first: stream.first - (stream.widths.0 as f64 * first) as u64,
                    last: stream.last - (stream.widths.1 as f64 * last) as u64,
                    ..*stream
                })
                .collect();
            let (reported, truth) = (summary(&reported), summary(&truth));
            for (tag, _, _) in TAGS {
                for (statistic, _) in STATISTICS {
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
