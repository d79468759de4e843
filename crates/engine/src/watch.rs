//! Watching the metrics of a run while it is on.
//!
//! Nobody sends anything until somebody asks: then each record thread puts up a copy of its running statistics at its next
//! batch, and whoever asked takes what is there.

use aiperf_metrics::Live;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long to wait for a record thread that gets no time; what it put up earlier is taken then.
const PATIENCE: Duration = Duration::from_millis(200);

/// Where record threads put their running statistics.
#[derive(Clone, Default)]
pub struct Watch(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// How often somebody asked.
    asked: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    over: bool,
    /// By record thread: its statistics of the profiling phases, and which question they answer.
    parts: Vec<(u64, Option<Live>)>,
}

impl Watch {
    /// Waits for so long; `false` once the run is over.
    pub fn wait(&self, length: Duration) -> bool {
        let wait = self.0.changed.wait_timeout_while(self.state(), length, |state| !state.over);
        !wait.unwrap_or_else(PoisonError::into_inner).0.over
    }

    /// The statistics of all record threads as they are now; `None` before the first record.
    pub fn look(&self) -> Option<Live> {
        let asked = self.0.asked.fetch_add(1, Relaxed) + 1;
        let unanswered = |state: &mut State| !state.over && state.parts.iter().any(|(answered, _)| *answered < asked);
        let wait = self.0.changed.wait_timeout_while(self.state(), PATIENCE, unanswered);
        let state = wait.unwrap_or_else(PoisonError::into_inner).0;
        state.parts.iter().filter_map(|(_, live)| live.clone()).reduce(|mut all, live| {
            all.merge(&live);
            all
        })
    }

    pub(crate) fn begin(&self, threads: usize) {
        self.state().parts = (0..threads).map(|_| (0, None)).collect();
    }

    /// Which question is the newest.
    #[inline]
    pub(crate) fn asked(&self) -> u64 {
        self.0.asked.load(Relaxed)
    }

    /// A thread's answer to a question.
    pub(crate) fn answer(&self, thread: usize, asked: u64, live: Option<Live>) {
        if let Some(part) = self.state().parts.get_mut(thread) {
            *part = (asked, live);
        }
        self.0.changed.notify_all();
    }

    /// Nothing more comes.
    pub fn end(&self) {
        self.state().over = true;
        self.0.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::{Accumulator, Metrics, RecordMetrics, RunTraits};
    use aiperf_types::{EndpointKind, Measured};

    #[test]
    fn whoever_looks_sees_what_all_threads_answered() {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
        let watch = Watch::default();
        watch.begin(2);
        let answer = |thread: usize, records: u64| {
            let (mut accumulator, mut computed) = (Accumulator::new(&metrics), RecordMetrics::default());
            for _ in 0..records {
                metrics.record(&Measured::default(), &mut computed);
                accumulator.add(&Measured::default(), &computed);
            }
            watch.answer(thread, watch.asked(), Some(accumulator.live()));
        };
        std::thread::scope(|scope| {
            let look = scope.spawn(|| watch.look());
            while watch.asked() == 0 {
                std::thread::yield_now();
            }
            answer(0, 3);
            answer(1, 4);
            assert_eq!(look.join().ok().flatten().map(|live| live.records()), Some(7));
        });
        watch.end();
        assert!(!watch.wait(Duration::from_secs(60)));
    }
}
