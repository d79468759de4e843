//! The curves of phases: a sweep over the records of all threads while the run is on.

use crate::events::phases::PhaseTrack;
use crate::queue::Queue;
use crate::recording::courtesy;
use aiperf_metrics::{Accumulator, Metrics, SweepLine};
use aiperf_plan::{PhasePlan, overlapping};
use aiperf_types::{PhaseKind, WallNs};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The sweeps of a run.
pub(crate) struct Sweeps {
    /// By phase.
    phases: Vec<SharedSweepLine>,
    joint: Vec<JointSweep>,
    tracks: Arc<[PhaseTrack]>,
    queue: Arc<Queue>,
}

/// One sweep of all phases of a kind, if they may overlap.
struct JointSweep {
    kind: PhaseKind,
    /// The phases, by their index in the run.
    members: Vec<usize>,
    shared: SharedSweepLine,
}

impl Sweeps {
    pub(crate) fn new(
        phases: &[PhasePlan],
        metrics: &Metrics,
        tracks: Arc<[PhaseTrack]>,
        queue: Arc<Queue>,
    ) -> Arc<Self> {
        let slices = metrics.slice().map(|_| Arc::new(SharedSlices::new()));
        let joint = |kind| {
            let members = overlapping_of_kind(phases, kind)?;
            Some(JointSweep { kind, members, shared: SharedSweepLine::of(kind, metrics, slices.as_ref()) })
        };
        Arc::new(Self {
            phases: phases.iter().map(|phase| SharedSweepLine::of(phase.kind, metrics, slices.as_ref())).collect(),
            joint: [PhaseKind::Warmup, PhaseKind::Profiling].into_iter().filter_map(joint).collect(),
            tracks,
            queue,
        })
    }

    /// The joint sweep of a phase, and the phase's position in it.
    fn joint_of(&self, phase: usize) -> Option<(&JointSweep, u16)> {
        let place = |joint: &JointSweep| joint.members.iter().position(|member| *member == phase);
        self.joint.iter().find_map(|joint| Some((joint, place(joint)? as u16)))
    }

    /// The accumulator for the records of a phase.
    pub(crate) fn accumulator(&self, phase: usize, records: Accumulator) -> Accumulator {
        match self.joint_of(phase) {
            Some((_, place)) => records.joint(place),
            None => records,
        }
    }

    /// Takes the records that one thread has added to a phase, and continues the sweep. Does nothing if another thread
    /// has the lock: it may be a thread of lowest priority, which holds it for long.
    pub(crate) fn tend(&self, phase: usize, records: &mut Accumulator) {
        self.phases[phase].tend(records);
        if let Some((joint, _)) = self.joint_of(phase).filter(|_| records.jointly_unswept() > 0)
            && let Ok(mut sweep) = joint.shared.sweep.try_lock()
        {
            records.hand_over_jointly(&mut sweep);
            self.close_phases(joint, &mut sweep);
            joint.shared.sweep_on(&mut sweep);
        }
    }

    /// Sets how many records a phase has. This is known once all its requests are done: a request that was
    /// never sent has no record.
    fn close_phases(&self, joint: &JointSweep, sweep: &mut SweepLine) {
        for (place, &member) in joint.members.iter().enumerate() {
            if self.tracks[member].requests_done.get().is_some() {
                sweep.close_phase(place as u16, self.queue.arrived(member));
            }
        }
    }

    /// Adds the results of the sweep to the merged records of a phase.
    pub(crate) fn finish(&self, phase: usize, records: &mut Accumulator) {
        self.phases[phase].finish(records);
        if let Some((joint, _)) = self.joint_of(phase) {
            let mut sweep = joint.shared.lock();
            joint.shared.align(&mut sweep);
            records.hand_over_jointly(&mut sweep);
        }
    }

    /// The joint sweeps, once all phases are finished.
    pub(crate) fn take_joint(&self) -> Vec<(PhaseKind, SweepLine)> {
        let take = |joint: &JointSweep| std::mem::replace(&mut *joint.shared.lock(), SweepLine::new(None));
        self.joint.iter().map(|joint| (joint.kind, take(joint))).collect()
    }
}

/// The phases of a kind, by index, unless each of them is over before the next of them starts.
fn overlapping_of_kind(phases: &[PhasePlan], kind: PhaseKind) -> Option<Vec<usize>> {
    let members: Vec<usize> = (0..phases.len()).filter(|index| phases[*index].kind == kind).collect();
    let several = |group: &Range<usize>| members.iter().filter(|member| group.contains(member)).count() > 1;
    overlapping(phases).iter().any(several).then_some(members)
}

/// One sweep, shared by the record threads.
struct SharedSweepLine {
    sweep: Mutex<SweepLine>,
    /// `None` without slices.
    slices: Option<Arc<SharedSlices>>,
}

/// The origin of the run's slices, for all profiling phases. `u64::MAX` means unknown.
struct SharedSlices {
    /// The start of the first known request.
    first_start: AtomicU64,
    /// The origin of the first sweep's slices. Requests that arrive later do not move it.
    origin: AtomicU64,
    /// Locked to begin a sweep while there is no origin. Two sweeps that begin at once would each set one.
    beginning: Mutex<()>,
}

impl SharedSlices {
    fn new() -> Self {
        Self { first_start: AtomicU64::new(u64::MAX), origin: AtomicU64::new(u64::MAX), beginning: Mutex::new(()) }
    }

    fn is_undecided(&self) -> bool {
        self.origin.load(Relaxed) == u64::MAX
    }

    fn origin(&self) -> Option<WallNs> {
        let known = [&self.origin, &self.first_start].map(|at| at.load(Relaxed));
        known.into_iter().find(|at| *at < u64::MAX).map(WallNs)
    }
}

impl SharedSweepLine {
    /// Slices are those of the run, so that all profiling phases share them.
    fn of(kind: PhaseKind, metrics: &Metrics, slices: Option<&Arc<SharedSlices>>) -> Self {
        match kind {
            PhaseKind::Profiling => {
                Self { sweep: Mutex::new(SweepLine::new(metrics.slice())), slices: slices.cloned() }
            }
            PhaseKind::Warmup => Self { sweep: Mutex::new(SweepLine::new(None)), slices: None },
        }
    }

    fn tend(&self, records: &mut Accumulator) {
        if records.unswept() == 0 {
            return;
        }
        self.note_start(records);
        if let Ok(mut sweep) = self.sweep.try_lock() {
            records.hand_over(&mut sweep);
            self.sweep_on(&mut sweep);
        }
    }

    /// Sweeps on, unless a sweep of another phase is just about to begin and to decide where slices lie: then later.
    fn sweep_on(&self, sweep: &mut SweepLine) {
        let beginning = match self.slices.as_ref().filter(|slices| slices.is_undecided()) {
            None => None,
            Some(slices) => match slices.beginning.try_lock() {
                Ok(beginning) => Some(beginning),
                Err(TryLockError::Poisoned(beginning)) => Some(beginning.into_inner()),
                Err(TryLockError::WouldBlock) => return,
            },
        };
        self.align(sweep);
        while sweep.go_on() {
            courtesy::give_way();
        }
        if let (Some(slices), Some(origin)) = (&self.slices, sweep.slice_origin()) {
            // Whichever phase began first stays.
            let _ = slices.origin.compare_exchange(u64::MAX, origin.0, Relaxed, Relaxed);
        }
        drop(beginning);
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

    fn lock(&self) -> MutexGuard<'_, SweepLine> {
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, records: &mut Accumulator) {
        self.note_start(records);
        let mut sweep = self.lock();
        self.align(&mut sweep);
        if let Some((slices, origin)) = self.slices.as_ref().and_then(|slices| Some((slices, slices.origin()?))) {
            let _ = slices.origin.compare_exchange(u64::MAX, origin.0, Relaxed, Relaxed);
        }
        records.finish_sweep(std::mem::replace(&mut sweep, SweepLine::new(None)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::phases;
    use crate::testing::plan;
    use aiperf_metrics::{Context, Limits, RecordMetrics, RunTraits, Summary};
    use aiperf_plan::{Arrival, Plan};
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
                shared.tend(part);
                shared.tend(&mut parts[2]);
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
                    shared.tend(&mut records);
                }
            }
            origins.extend(shared.sweep.lock().unwrap().slice_origin());
        }
        let [one, two] = origins.try_into().unwrap();
        assert_eq!(one, measured(1).start_wall);
        assert_eq!((two.0 - one.0) % slice.0, 0);
    }

    #[test]
    fn of_two_sweeps_that_could_begin_at_once_one_decides_where_slices_lie() {
        let slice = Nanos::from_millis(70);
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true)).with_slices(slice);
        let slices = Arc::new(SharedSlices::new());
        let [one, two] = [(), ()].map(|()| SharedSweepLine {
            sweep: Mutex::new(SweepLine::new(Some(slice))),
            slices: Some(Arc::clone(&slices)),
        });
        let origin = |shared: &SharedSweepLine| shared.sweep.lock().unwrap().slice_origin();
        let mut computed = RecordMetrics::default();
        let mut records_of = |requests: std::ops::Range<u64>| {
            let mut records = Accumulator::new(&metrics);
            for (number, request) in requests.enumerate() {
                let m = Measured { number: number as u64, ..measured(request) };
                metrics.record(&m, &mut computed);
                records.add(&m, &computed);
            }
            records
        };
        let (mut early, mut late, mut more) = (records_of(0..2000), records_of(3003..5000), records_of(5000..5016));
        let beginning = slices.beginning.lock().unwrap();
        two.tend(&mut late);
        assert_eq!(origin(&two), None, "the other one is about to decide");
        drop(beginning);
        one.tend(&mut early);
        two.tend(&mut more);
        let [Some(one), Some(two)] = [&one, &two].map(origin) else { panic!("both have begun") };
        assert_eq!((one, (two.0 - one.0) % slice.0), (measured(0).start_wall, 0));
    }

    #[test]
    fn phases_that_may_overlap_are_swept_together() {
        let phases = |seamless: &[(PhaseKind, bool)]| -> Vec<PhasePlan> {
            let phase = |&(kind, seamless): &(PhaseKind, bool)| PhasePlan {
                seamless,
                ..PhasePlan::new(kind, Arrival::Concurrency)
            };
            seamless.iter().map(phase).collect()
        };
        let (warmup, profiling) = (PhaseKind::Warmup, PhaseKind::Profiling);
        let of = |seamless: &[(PhaseKind, bool)]| overlapping_of_kind(&phases(seamless), profiling);
        assert_eq!(of(&[(warmup, false), (profiling, true)]), None);
        assert_eq!(of(&[(profiling, false), (profiling, false)]), None);
        assert_eq!(of(&[(warmup, false), (profiling, false), (profiling, true)]), Some(vec![1, 2]));
        assert_eq!(of(&[(profiling, false), (warmup, true), (profiling, false)]), None, "a warm-up waits for all");
        let apart = (profiling, false);
        assert_eq!(of(&[apart, (profiling, true), apart]), Some(vec![0, 1, 2]), "the last may meet the first");
    }

    #[test]
    fn of_phases_that_overlap_curves_are_those_of_all_their_requests_at_once() {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
        let phase = |seamless| PhasePlan { seamless, ..PhasePlan::new(PhaseKind::Profiling, Arrival::Concurrency) };
        let plan = Plan { phases: vec![phase(false), phase(true)], ..plan("http://127.0.0.1:1") };
        let (queue, _arrivals) = Queue::new(1 << 30, 2, 1);
        let (tracks, queue) = (phases::of(&plan), Arc::new(queue));
        let sweeps = Sweeps::new(&plan.phases, &metrics, tracks.clone(), queue.clone());
        let mut alone = Accumulator::new(&metrics);
        let mut records: Vec<Accumulator> =
            (0..2).map(|phase| sweeps.accumulator(phase, Accumulator::new(&metrics))).collect();
        // The last ones of the first phase end while the second one sends; number 40 of it was cut off.
        let mut all: Vec<(usize, Measured)> = (0..4000).map(|n| (usize::from(n >= 2000), measured(n))).collect();
        all.sort_by_key(|(_, m)| m.end);
        let mut computed = RecordMetrics::default();
        for (at, (phase, m)) in all.iter().enumerate() {
            let m = Measured { number: m.number - 2000 * *phase as u64, ..m.clone() };
            if (*phase, m.number) == (0, 40) {
                records[0].pass_over(m.number, m.credit_issued.unwrap());
                continue;
            }
            metrics.record(&m, &mut computed);
            alone.add(&m, &computed);
            records[*phase].add(&m, &computed);
            if at % 16 == 0 {
                sweeps.tend(*phase, &mut records[*phase]);
            }
        }
        records.iter_mut().enumerate().for_each(|(phase, records)| sweeps.finish(phase, records));
        let [(kind, joint)] = <[_; 1]>::try_from(sweeps.take_joint()).unwrap();
        assert_eq!(kind, PhaseKind::Profiling);
        let merged = records.into_iter().reduce(Accumulator::merge).unwrap().with_sweep(joint);
        let [alone, merged] = [&alone, &merged].map(|part| part.summarise(&metrics, Context::default()));
        assert_eq!(merged.exactness.late_in_curves, 0);
        for tag in ["effective_concurrency", "effective_decode_throughput", "tokens_in_flight"] {
            for (one, two) in mean_and_deviation(&alone, tag).into_iter().zip(mean_and_deviation(&merged, tag)) {
                assert!((one / two - 1.0).abs() < 1e-9, "{tag}: {one}, {two}");
            }
        }
    }
}
