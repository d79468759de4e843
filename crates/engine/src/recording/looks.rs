//! Looks at the values of a phase while it runs: it ends when its statistics are known exactly enough (`--until`).
//!
//! Record threads put the values of a batch beside its records. The coordinator forwards them in batches, and reports
//! to the conductor which phases have enough. A separate thread takes the looks. Its work over a run is about eleven
//! times the last look. A look sorts all values: few take a moment, and many would disturb the workers, so from
//! [`MANY`] on the thread has the lowest priority. It may then get no core for seconds, and the phase ends later than
//! it could. The coordinator never waits for the lock, and the thread holds it only to move a list.

use aiperf_metrics::{RecordMetrics, Sample, Watched};
use aiperf_plan::Plan;
use aiperf_schedule::Event;
use aiperf_transport::sys;
use aiperf_types::{Measured, PhaseIndex, PhaseKind};
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// The sleep between two looks. On an idle machine, a run ends at most this much later.
const SLEEP: Duration = Duration::from_millis(10);

/// The number of values from which looks have the lowest priority. A server with a thousand requests a second reaches
/// it in 50 s. From then on, looks are at least 5 s apart.
const MANY: usize = 50_000;

/// The values of one record that may end its phase.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Values {
    phase: PhaseIndex,
    start: u64,
    /// By target.
    values: Vec<Option<f64>>,
}

impl Values {
    /// `None` if the plan has no `--until`, or if the record has none of its values.
    pub(crate) fn of(
        watched: &Watched,
        phase: PhaseKind,
        index: PhaseIndex,
        measured: &Measured,
        metrics: &RecordMetrics,
    ) -> Option<Self> {
        if watched.is_empty() || phase != PhaseKind::Profiling {
            return None;
        }
        let values: Vec<Option<f64>> = watched.values(metrics).collect();
        let has_any = values.iter().any(Option::is_some);
        has_any.then_some(Self { phase: index, start: measured.start_wall.0, values })
    }
}

/// The state that the coordinator and the thread share.
struct Shared {
    arrived: Mutex<Vec<Values>>,
    /// By phase: whether it has enough values.
    enough: Box<[AtomicBool]>,
    closed: AtomicBool,
}

/// The coordinator's end. The thread ends when this is dropped.
pub(crate) struct Looks {
    shared: Arc<Shared>,
    /// Values that are not forwarded yet.
    pending: Vec<Values>,
    /// By phase: whether this was reported to the conductor.
    reported: Box<[bool]>,
    conductor: UnboundedSender<Event>,
}

/// The thread's end.
pub(crate) struct Looker {
    shared: Arc<Shared>,
    samples: Vec<Sample>,
    taken: usize,
}

/// Both ends; `None` if the plan has nothing to look at.
pub(crate) fn looks(plan: &Plan, conductor: &UnboundedSender<Event>) -> Option<(Looks, Looker)> {
    let precisions = &plan.metrics.until;
    let phases = plan.phases.len();
    (!precisions.is_empty()).then(|| {
        let shared = Arc::new(Shared {
            arrived: Mutex::default(),
            enough: (0..phases).map(|_| AtomicBool::new(false)).collect(),
            closed: AtomicBool::new(false),
        });
        let reported = vec![false; phases].into();
        let looks = Looks { shared: shared.clone(), pending: Vec::new(), reported, conductor: conductor.clone() };
        (looks, Looker { shared, samples: vec![Sample::new(precisions); phases], taken: 0 })
    })
}

impl Looks {
    pub(crate) fn add(&mut self, values: &[Values]) {
        self.pending.extend_from_slice(values);
    }

    /// Forwards values, and reports phases that have enough.
    pub(crate) fn exchange(&mut self) {
        if !self.pending.is_empty()
            && let Ok(mut arrived) = self.shared.arrived.try_lock()
        {
            arrived.append(&mut self.pending);
        }
        for (phase, reported) in self.reported.iter_mut().enumerate() {
            if !*reported && self.shared.enough[phase].load(Relaxed) {
                *reported = true;
                // If the run could not continue, there is no receiver any more.
                let _ = self.conductor.send(Event::Enough(PhaseIndex(phase as u16)));
            }
        }
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        self.shared.closed.store(true, Release);
    }
}

impl Looker {
    /// Looks until the other end is dropped. Returns the samples by phase.
    pub(crate) fn run(mut self) -> Vec<Sample> {
        let mut has_lowest_priority = false;
        loop {
            if self.taken >= MANY && !std::mem::replace(&mut has_lowest_priority, true) {
                // A kernel that refuses leaves the thread at normal priority.
                let _ = sys::set_idle_priority();
            }
            // Read before the values: after it is closed, no values arrive.
            let closed = self.shared.closed.load(Acquire);
            let has_taken = self.step();
            if closed {
                return self.samples;
            }
            if !has_taken {
                std::thread::sleep(SLEEP);
            }
        }
    }

    /// Looks at the values that have arrived. Returns `false` if there are none.
    fn step(&mut self) -> bool {
        let arrived = std::mem::take(&mut *self.shared.arrived.lock().unwrap_or_else(PoisonError::into_inner));
        self.taken += arrived.len();
        for Values { phase, start, values } in &arrived {
            self.samples[usize::from(phase.0)].add(*start, values);
        }
        for (sample, enough) in self.samples.iter_mut().zip(&self.shared.enough) {
            if sample.look() {
                enough.store(true, Relaxed);
            }
        }
        !arrived.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;
    use aiperf_types::Precision;
    use tokio::sync::mpsc::unbounded_channel;

    fn plan_until(half_width: f64) -> Plan {
        let mut plan = plan("http://127.0.0.1:1");
        plan.phases = vec![plan.phases[0].clone(); 2];
        plan.metrics.until = vec![Precision { metric: "request_latency".into(), stat: "avg".into(), half_width }];
        plan
    }

    /// Values of a phase, from 10 to 106 in no order.
    fn values(phase: u16, numbers: std::ops::Range<u64>) -> Vec<Values> {
        let value = |number: u64| {
            (10 + number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9) % 97)
                as f64
        };
        numbers.map(|start| Values { phase: PhaseIndex(phase), start, values: vec![Some(value(start))] }).collect()
    }

    #[test]
    fn a_phase_with_enough_values_is_reported_once() {
        let (conductor, mut sent) = unbounded_channel();
        let (mut looks, mut looker) = looks(&plan_until(0.1), &conductor).unwrap();
        for step in 0..30 {
            looks.add(&values(1, step * 100..(step + 1) * 100));
            looks.add(&values(0, step * 2..step * 2 + 2));
            looks.exchange();
            looker.step();
        }
        looks.exchange();
        assert_eq!(sent.try_recv().ok(), Some(Event::Enough(PhaseIndex(1))));
        assert!(sent.try_recv().is_err());
        drop(looks);
        let samples = looker.run();
        let reached = samples[1].reached(true);
        assert!(reached.met_at.is_some_and(|at| (220..=1000).contains(&at)), "{reached:?}");
        assert_eq!(samples[0].reached(false).half_widths, [None]);
    }

    #[test]
    fn the_coordinator_does_not_wait_for_the_thread() {
        let (conductor, _sent) = unbounded_channel();
        let (mut looks, looker) = looks(&plan_until(0.1), &conductor).unwrap();
        let held = looker.shared.arrived.lock().unwrap();
        looks.add(&values(0, 0..100));
        looks.exchange();
        drop(held);
        assert_eq!(looks.pending.len(), 100, "values are kept until the lock is free");
        looks.exchange();
        assert!(looks.pending.is_empty());
    }

    #[test]
    fn a_plan_without_statistics_to_look_at_needs_no_thread() {
        let (conductor, _sent) = unbounded_channel();
        assert!(looks(&plan("http://127.0.0.1:1"), &conductor).is_none());
    }
}
