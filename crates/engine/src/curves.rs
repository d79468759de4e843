//! The curves of a phase: records of all threads swept together while it is on.

use crate::recorder::Courtesy;
use aiperf_metrics::{Accumulator, Metrics, Sweep};
use aiperf_plan::PhasePlan;
use aiperf_types::{PhaseKind, WallNs};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// One phase's sweep, shared by the record threads.
pub(crate) struct SharedSweep {
    sweep: Mutex<Sweep>,
    /// When the first request of any profiling phase began: there the first slice of the run begins. `None` without slices.
    first_start: Option<Arc<AtomicU64>>,
}

impl SharedSweep {
    /// A sweep for each phase. Slices are those of the run, so that all profiling phases share them.
    pub(crate) fn of_phases(phases: &[PhasePlan], metrics: &Metrics) -> Vec<Self> {
        let first_start = metrics.slice().map(|_| Arc::new(AtomicU64::new(u64::MAX)));
        let sweep = |phase: &PhasePlan| match phase.kind {
            PhaseKind::Profiling => {
                Self { sweep: Mutex::new(Sweep::new(metrics.slice())), first_start: first_start.clone() }
            }
            PhaseKind::Warmup => Self { sweep: Mutex::new(Sweep::new(None)), first_start: None },
        };
        phases.iter().map(sweep).collect()
    }

    /// Takes over what one thread has added since, unless another thread is just doing so, and sweeps on. Nobody waits: a thread
    /// of lowest priority may hold the lock for long.
    pub(crate) fn tend(&self, records: &mut Accumulator, courtesy: Courtesy) {
        if records.unswept() == 0 {
            return;
        }
        self.note_start(records);
        if let Ok(mut sweep) = self.sweep.try_lock() {
            self.align(&mut sweep);
            records.hand_over(&mut sweep);
            while sweep.go_on() {
                courtesy.give_way();
            }
        }
    }

    fn note_start(&self, records: &Accumulator) {
        if let (Some(known), Some(first)) = (&self.first_start, records.first_unswept()) {
            known.fetch_min(first.0, Relaxed);
        }
    }

    fn align(&self, sweep: &mut Sweep) {
        let first = self.first_start.as_ref().map(|first| first.load(Relaxed)).filter(|first| *first < u64::MAX);
        if let Some(first) = first {
            sweep.align_slices(WallNs(first));
        }
    }

    /// Gives the records of all threads what was swept of them.
    pub(crate) fn finish(&self, records: &mut Accumulator) {
        self.note_start(records);
        let mut sweep = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
        self.align(&mut sweep);
        records.finish_sweep(std::mem::replace(&mut sweep, Sweep::new(None)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::{Context, Limits, RecordMetrics, RunTraits, Summary};
    use aiperf_types::{ContentMark, EndpointKind, Measured, MonoNs, TokenCounts, WallNs};

    const EPOCH: u64 = 1_760_000_000_000_000_000;
    const EXACT: Limits = Limits { list_values: u64::MAX };
    const FEW: Limits = Limits { list_values: 200 };

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
        let shared = SharedSweep { sweep: Mutex::new(Sweep::new(None)), first_start: None };
        let mut computed = RecordMetrics::default();
        for (at, m) in measured.iter().enumerate() {
            metrics.record(m, &mut computed);
            exact.add(m, &computed);
            // The third one works now and then, as the coordinator does.
            let part = &mut parts[if at % 1000 < 50 { 2 } else { at / 16 % 2 }];
            part.add(m, &computed);
            if at % 16 == 0 {
                shared.tend(part, Courtesy::GivesWay);
                shared.tend(&mut parts[2], Courtesy::GivesWay);
            }
        }
        let [one, two, three] = parts;
        let mut merged = one.merge(two).merge(three);
        shared.finish(&mut merged);
        let [exact, merged] = [&exact, &merged].map(|part| part.summarise(&metrics, Context::default()));
        assert!(merged.exactness.lists_binned && !merged.exactness.curves_binned);
        assert_eq!(merged.exactness.late_in_curves, 0);
        for tag in ["effective_concurrency", "effective_decode_throughput", "tokens_in_flight"] {
            for (one, two) in mean_and_deviation(&exact, tag).into_iter().zip(mean_and_deviation(&merged, tag)) {
                assert!((one / two - 1.0).abs() < 1e-9, "{tag}: {one}, {two}");
            }
        }
    }
}
