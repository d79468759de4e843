//! The curves of a phase: records of all threads swept together while it is on.

use crate::recorder::Courtesy;
use aiperf_metrics::{Accumulator, Metrics, SweepLine};
use aiperf_plan::PhasePlan;
use aiperf_types::{PhaseKind, WallNs};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// One phase's sweep, shared by the record threads.
pub(crate) struct SharedSweepLine {
    sweep: Mutex<SweepLine>,
    /// `None` without slices.
    slices: Option<Arc<SharedSlices>>,
}

/// Where the slices of the run begin, for all profiling phases. `u64::MAX` is not known yet.
struct SharedSlices {
    /// When the first request began, of those that are known.
    first_start: AtomicU64,
    /// Where the first sweep that began has its slices: a request that comes later moves them no more.
    origin: AtomicU64,
}

impl SharedSlices {
    fn new() -> Self {
        Self { first_start: AtomicU64::new(u64::MAX), origin: AtomicU64::new(u64::MAX) }
    }

    fn origin(&self) -> Option<WallNs> {
        let known = [&self.origin, &self.first_start].map(|at| at.load(Relaxed));
        known.into_iter().find(|at| *at < u64::MAX).map(WallNs)
    }
}

impl SharedSweepLine {
    /// A sweep for each phase. Slices are those of the run, so that all profiling phases share them.
    pub(crate) fn of_phases(phases: &[PhasePlan], metrics: &Metrics) -> Vec<Self> {
        let slices = metrics.slice().map(|_| Arc::new(SharedSlices::new()));
        let sweep = |phase: &PhasePlan| match phase.kind {
            PhaseKind::Profiling => Self { sweep: Mutex::new(SweepLine::new(metrics.slice())), slices: slices.clone() },
            PhaseKind::Warmup => Self { sweep: Mutex::new(SweepLine::new(None)), slices: None },
        };
        phases.iter().map(sweep).collect()
    }

    /// Takes over what one thread has added since, unless another thread is just doing so, and sweeps on. Nobody waits:
    /// a thread of lowest priority may hold the lock for long.
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
            if let (Some(slices), Some(origin)) = (&self.slices, sweep.slice_origin()) {
                // Whichever phase began first stays.
                let _ = slices.origin.compare_exchange(u64::MAX, origin.0, Relaxed, Relaxed);
            }
        }
    }

    fn note_start(&self, records: &Accumulator) {
        if let (Some(known), Some(first)) = (&self.slices, records.first_unswept()) {
            known.first_start.fetch_min(first.0, Relaxed);
        }
    }

    fn align(&self, sweep: &mut SweepLine) {
        if let Some(origin) = self.slices.as_ref().and_then(|slices| slices.origin()) {
            sweep.align_slices(origin);
        }
    }

    /// Gives the records of all threads what was swept of them.
    pub(crate) fn finish(&self, records: &mut Accumulator) {
        self.note_start(records);
        let mut sweep = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
        self.align(&mut sweep);
        records.finish_sweep(std::mem::replace(&mut sweep, SweepLine::new(None)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::{Context, Limits, RecordMetrics, RunTraits, Summary};
    use aiperf_types::{ContentMark, EndpointKind, Measured, MonoNs, Nanos, TokenCounts, WallNs};

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
        let shared = SharedSweepLine { sweep: Mutex::new(SweepLine::new(None)), slices: None };
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

    #[test]
    fn a_later_phase_keeps_to_the_slices_of_the_first_though_an_earlier_request_comes_late() {
        let slice = Nanos::from_millis(70);
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true)).with_slices(slice);
        let slices = Arc::new(SharedSlices::new());
        let phase =
            || SharedSweepLine { sweep: Mutex::new(SweepLine::new(Some(slice))), slices: Some(Arc::clone(&slices)) };
        let mut computed = RecordMetrics::default();
        let mut origins = Vec::new();
        // The first phase goes on without a request that began before all others, and gets it then.
        for requests in [(1..2000).chain(0..1), (3000..5000).chain(0..0)] {
            let (shared, mut records) = (phase(), Accumulator::new(&metrics));
            for (number, request) in requests.enumerate() {
                let m = Measured { number: number as u64, ..measured(request) };
                metrics.record(&m, &mut computed);
                records.add(&m, &computed);
                if number % 16 == 0 || request == 0 {
                    shared.tend(&mut records, Courtesy::GivesWay);
                }
            }
            origins.extend(shared.sweep.lock().unwrap().slice_origin());
        }
        let [one, two] = origins.try_into().unwrap();
        assert_eq!(one, measured(1).start_wall);
        assert_eq!((two.0 - one.0) % slice.0, 0);
    }
}
