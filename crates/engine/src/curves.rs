//! The curves of a run with too many gaps to keep: records of all threads swept together while it is on.

use aiperf_metrics::{Accumulator, Metrics, Sweep};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// One phase's sweep, shared by the record threads.
pub(crate) struct SharedSweep {
    sweep: Mutex<Sweep>,
    /// A thread had to let go of its gaps. All others do the same: the order of time needs the records of all of them.
    letting_go: AtomicBool,
}

impl SharedSweep {
    pub(crate) fn new(metrics: &Metrics) -> Self {
        Self { sweep: Mutex::new(Sweep::new(metrics.slice())), letting_go: AtomicBool::new(false) }
    }

    /// Takes over what one thread cannot keep, unless another thread is just doing so. Nobody waits: a thread of lowest priority
    /// may hold the lock for long.
    pub(crate) fn tend(&self, records: &mut Accumulator) {
        if !records.keeps_gaps() {
            self.letting_go.store(true, Relaxed);
        } else if self.letting_go.load(Relaxed) {
            records.let_go_of_gaps();
        }
        if records.unswept() > 0
            && let Ok(mut sweep) = self.sweep.try_lock()
        {
            records.hand_over(&mut sweep);
            while sweep.go_on() {
                // For the same reason that a record thread enters the kernel after every record.
                std::thread::yield_now();
            }
        }
    }

    /// Gives the records of all threads what was swept of them.
    pub(crate) fn finish(&self, metrics: &Metrics, records: &mut Accumulator) {
        let mut sweep = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
        records.put_back(std::mem::replace(&mut sweep, Sweep::new(metrics.slice())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::{Context, Limits, RecordMetrics, RunTraits, Summary};
    use aiperf_types::{ContentMark, EndpointKind, Measured, MonoNs, TokenCounts, WallNs};

    const EPOCH: u64 = 1_760_000_000_000_000_000;
    const EXACT: Limits = Limits { list_values: u64::MAX, curve_events: u64::MAX };
    const FEW: Limits = Limits { list_values: 200, curve_events: 200 };

    /// Every fifth request takes twenty times as long, so records come in another order than they were sent.
    fn measured(number: u64) -> Measured {
        let (sent, gap) = (number * 1_000_000, if number.is_multiple_of(5) { 2_000_000 } else { 100_000 });
        let at = |content: u64| MonoNs(5_000_000_000 + sent + 300_000 + content * (gap + number % 7));
        let content: Vec<ContentMark> =
            (0..20).map(|n| ContentMark { at: at(n), output: true, reasoning: false }).collect();
        Measured {
            number,
            start_wall: WallNs(EPOCH + sent + 1000),
            start: MonoNs(5_000_000_000 + sent + 1000),
            end: at(20),
            credit_issued: Some(WallNs(EPOCH + sent)),
            content,
            tokens: TokenCounts { input: Some(50), output: Some(33), ..TokenCounts::default() },
            ..Measured::default()
        }
    }

    fn mean_and_deviation(summary: &Summary, tag: &str) -> [f64; 2] {
        let stats = summary.get(tag).map(|result| result.stats).unwrap_or_default();
        [stats.avg.unwrap_or(f64::NAN), stats.std.unwrap_or(f64::NAN)]
    }

    #[test]
    fn records_of_several_threads_come_to_the_same_curves_as_those_of_one() {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
        let mut measured: Vec<Measured> = (0..4000).map(measured).collect();
        measured.sort_by_key(|m| m.end);
        let mut exact = Accumulator::with_limits(&metrics, EXACT);
        let mut parts = [FEW; 3].map(|limits| Accumulator::with_limits(&metrics, limits));
        let shared = SharedSweep::new(&metrics);
        let mut computed = RecordMetrics::default();
        for (at, m) in measured.iter().enumerate() {
            metrics.record(m, &mut computed);
            exact.add(m, &computed);
            // The third thread works now and then, as the relief thread does.
            let part = &mut parts[if at % 1000 < 50 { 2 } else { at / 16 % 2 }];
            part.add(m, &computed);
            if at % 16 == 0 {
                shared.tend(part);
                shared.tend(&mut parts[2]);
            }
        }
        let [one, two, three] = parts;
        let mut merged = one.merge(two).merge(three);
        shared.finish(&metrics, &mut merged);
        let [exact, merged] = [&exact, &merged].map(|part| part.summarise(&metrics, Context::default()));
        assert!(merged.exactness.curves_binned && merged.exactness.late_in_curves == 0);
        for tag in ["effective_concurrency", "effective_decode_throughput", "tokens_in_flight"] {
            for (one, two) in mean_and_deviation(&exact, tag).into_iter().zip(mean_and_deviation(&merged, tag)) {
                assert!((one / two - 1.0).abs() < 1e-9, "{tag}: {one}, {two}");
            }
        }
    }
}
