//! Watches the threads that measure: how much of a core each uses, and how long it waits for one.
//!
//! A thread that waits for a core reads its bytes late, and chunks that arrived apart come out of one read. Beside a busy
//! server on the same machine this happens to a thread of normal priority in most runs, and never to one of real-time
//! priority. So each thread that measures gets real-time priority where the system allows it. It must not take the core
//! from the server that it measures: a thread that uses more than a third of a core for a second loses it for the rest
//! of the run.
//!
//! The same figures show when the threads cannot carry the load, so that more of them are started (`worker_threads`).

use crate::kernel_counters::CoreTime;
use aiperf_plan::WorkerPriority;
use aiperf_transport::clock::mono_now;
use aiperf_transport::sys::{ask_for_short_slices, set_normal_priority, set_realtime_priority};
use aiperf_types::{MonoNs, Nanos};
use nix::unistd::{Pid, gettid};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks at the threads.
const TICK: Duration = Duration::from_millis(100);
/// The window of the use of a core. A real-time thread may use one part in so many of a core in it.
const WINDOW: Nanos = Nanos::from_millis(1000);
const SHARE: u64 = 3;

/// Timers and the hypervisor delay a tick by less than this.
const LEAST_STOP: Nanos = Nanos::from_millis(100);

/// The watch over all threads of a run that measure.
pub(crate) struct CoreWatch {
    priority: WorkerPriority,
    watched: Mutex<Vec<Watched>>,
    /// How long the process was stopped, in nanoseconds.
    stopped: AtomicU64,
    over: (Mutex<bool>, Condvar),
}

/// One thread under watch.
struct Watched {
    thread: Pid,
    is_realtime: bool,
    recent: CoreUse,
    since: MonoNs,
    /// How long it had waited for a core before.
    waited_before: Nanos,
    found: Found,
}

/// The findings about all threads so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SoFar {
    /// The longest that one of them waited for a core.
    pub(crate) longest_wait: Nanos,
    /// For how long the first of them is under watch.
    pub(crate) watched_for: Nanos,
    /// All of them began with real-time priority.
    pub(crate) are_realtime: bool,
    /// How long the process was stopped.
    pub(crate) stopped: Nanos,
}

/// The findings about one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// It had real-time priority at first.
    pub(crate) was_realtime: bool,
    /// When it lost it, since its start.
    pub(crate) demoted_after: Option<Nanos>,
    /// How long it waited for a core.
    pub(crate) waited: Nanos,
}

/// The use of a core within the last second.
#[derive(Debug, Default)]
struct CoreUse(VecDeque<(MonoNs, Nanos)>);

impl CoreUse {
    /// Notes how much of a core was used so far.
    fn note(&mut self, now: MonoNs, used: Nanos) {
        // The oldest entry is a window old or older, so that a whole window is covered.
        while self.0.get(1).is_some_and(|(at, _)| now.since(*at) >= WINDOW) {
            self.0.pop_front();
        }
        self.0.push_back((now, used));
    }

    /// How long the window is, and how much of a core was used in it. The window is a tick longer than a second at most.
    fn window_and_used(&self) -> (Nanos, Nanos) {
        let ends = self.0.front().zip(self.0.back());
        ends.map_or((WINDOW, Nanos::ZERO), |((since, first), (now, used))| {
            (now.since(*since).max(WINDOW), Nanos(used.0.saturating_sub(first.0)))
        })
    }

    fn is_over_budget(&self) -> bool {
        let (window, used) = self.window_and_used();
        used.0 > window.0 / SHARE
    }

    fn share(&self) -> f64 {
        let (window, used) = self.window_and_used();
        used.0 as f64 / window.0 as f64
    }
}

impl Watched {
    fn look(&mut self, now: MonoNs, time: CoreTime) {
        self.found.waited = Nanos(time.waited.0.saturating_sub(self.waited_before.0));
        self.recent.note(now, time.used);
        if self.is_realtime && self.recent.is_over_budget() && self.make_normal() {
            self.found.demoted_after = Some(now.since(self.since));
        }
    }

    /// Gives the thread normal priority. Returns whether it has lost real-time priority.
    fn make_normal(&mut self) -> bool {
        let is_lost = self.is_realtime && set_normal_priority(self.thread).is_ok();
        if is_lost {
            self.is_realtime = false;
            let _ = ask_for_short_slices(self.thread);
        }
        is_lost
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this system lets the calling thread have real-time priority. The thread keeps the priority that it has.
pub(crate) fn check(priority: WorkerPriority) -> io::Result<()> {
    if priority == WorkerPriority::Realtime {
        // A thread of its own: an unprivileged one could lose more than it gained.
        let tried = std::thread::spawn(|| {
            CoreTime::of(gettid())
                .ok_or_else(|| io::Error::other("the kernel does not count the CPU time of threads"))?;
            set_realtime_priority()
        });
        return tried.join().unwrap_or(Ok(()));
    }
    Ok(())
}

impl CoreWatch {
    pub(crate) fn new(priority: WorkerPriority) -> Arc<Self> {
        let (watched, stopped) = (Mutex::default(), AtomicU64::new(0));
        Arc::new(Self { priority, watched, stopped, over: (Mutex::new(false), Condvar::new()) })
    }

    /// Starts the thread that looks at the others.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<Looking> {
        let watch = self.clone();
        let thread = std::thread::Builder::new().name("aiperf-watch".to_owned()).spawn(move || watch.run())?;
        Ok(Looking { watch: self.clone(), thread: Some(thread) })
    }

    /// Puts the calling thread under watch until the result is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Entered {
        let thread = gettid();
        let time = CoreTime::of(thread);
        let may_be_realtime = self.priority != WorkerPriority::Normal && time.is_some();
        let is_realtime = may_be_realtime && set_realtime_priority().is_ok();
        if !is_realtime {
            let _ = ask_for_short_slices(thread);
        }
        let found = Found { was_realtime: is_realtime, ..Found::default() };
        let (recent, since, waited_before) = (CoreUse::default(), mono_now(), time.unwrap_or_default().waited);
        let mut watched = lock(&self.watched);
        watched.push(Watched { thread, is_realtime, recent, since, waited_before, found });
        Entered { watch: self.clone(), number: watched.len() - 1, has_cpu_time: time.is_some() }
    }

    /// The findings of the last look.
    pub(crate) fn so_far(&self) -> SoFar {
        let watched = lock(&self.watched);
        SoFar {
            longest_wait: watched.iter().map(|watched| watched.found.waited).max().unwrap_or_default(),
            watched_for: watched.first().map_or(Nanos::ZERO, |first| mono_now().since(first.since)),
            are_realtime: watched.iter().all(|watched| watched.found.was_realtime),
            stopped: Nanos(self.stopped.load(Relaxed)),
        }
    }

    fn run(&self) {
        if self.priority != WorkerPriority::Normal {
            // Otherwise the threads that it looks at could keep it from running.
            let _ = set_realtime_priority();
        }
        let waited = || CoreTime::of(gettid()).unwrap_or_default().waited;
        let mut over = lock(&self.over.0);
        while !*over {
            let (slept, before) = (mono_now(), waited());
            over = self.over.1.wait_timeout(over, TICK).unwrap_or_else(PoisonError::into_inner).0;
            let stopped = stopped_in(mono_now().since(slept), Nanos(waited().0.saturating_sub(before.0)));
            self.stopped.fetch_add(stopped.0, Relaxed);
            self.look();
        }
    }

    fn look(&self) {
        let now = mono_now();
        for watched in &mut *lock(&self.watched) {
            if let Some(time) = CoreTime::of(watched.thread) {
                watched.look(now, time);
            }
        }
    }
}

/// How long the process was stopped during one tick, given how long this lasted and how much of it was a wait for a core.
/// A thread that neither slept nor waited was stopped: by a signal, a frozen container or a paused machine.
fn stopped_in(tick: Nanos, waited: Nanos) -> Nanos {
    let beyond = Nanos(tick.0.saturating_sub(TICK.as_nanos() as u64 + waited.0));
    if beyond > LEAST_STOP { beyond } else { Nanos::ZERO }
}

/// The looking thread, until dropped.
pub(crate) struct Looking {
    watch: Arc<CoreWatch>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Looking {
    fn drop(&mut self) {
        *lock(&self.watch.over.0) = true;
        self.watch.over.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A thread under watch. Its end gives the thread its normal priority back.
pub(crate) struct Entered {
    watch: Arc<CoreWatch>,
    number: usize,
    has_cpu_time: bool,
}

impl Entered {
    /// The findings so far.
    pub(crate) fn found(&self) -> Found {
        self.watch.look();
        lock(&self.watch.watched)[self.number].found
    }

    /// Whether the kernel reports the CPU time of this thread.
    pub(crate) fn has_cpu_time(&self) -> bool {
        self.has_cpu_time
    }

    /// The share of a core that this thread used within the last second.
    pub(crate) fn share(&self) -> f64 {
        lock(&self.watch.watched)[self.number].recent.share()
    }

    /// The largest share of the other threads.
    pub(crate) fn largest_of_others(&self) -> f64 {
        let watched = lock(&self.watch.watched);
        let others = watched.iter().enumerate().filter(|(number, _)| *number != self.number);
        others.map(|(_, watched)| watched.recent.share()).fold(0.0, f64::max)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let _ = lock(&self.watch.watched)[self.number].make_normal();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a thread that uses this share of a core is found to exceed its budget, in seconds.
    fn exceeded_at(share: f64) -> Option<f64> {
        let mut recent = CoreUse::default();
        let times = (0..600).map(|tick| Nanos::from_millis(tick * 100));
        let used = |time: Nanos| Nanos((time.0 as f64 * share) as u64);
        let exceeds = |time: &Nanos| {
            recent.note(MonoNs(1).plus(*time), used(*time));
            recent.is_over_budget()
        };
        times.into_iter().find(exceeds).map(Nanos::as_secs_f64)
    }

    #[test]
    fn a_thread_may_use_a_third_of_a_core() {
        assert_eq!(exceeded_at(0.3), None);
        assert_eq!(exceeded_at(0.35), Some(1.0));
        assert_eq!(exceeded_at(1.0), Some(0.4));
    }

    #[test]
    fn a_thread_is_busy_only_after_a_second() {
        let mut recent = CoreUse::default();
        let mut share = |ms: u64| {
            recent.note(MonoNs(ms * 1_000_000), Nanos::from_millis(ms * 9 / 10));
            recent.share()
        };
        assert_eq!((share(0), share(500)), (0.0, 0.45));
        assert_eq!((share(1000), share(1100)), (0.9, 0.9));
    }

    #[test]
    fn a_burst_counts_for_a_second() {
        let mut recent = CoreUse::default();
        let mut note = |ms: u64, used_ms: u64| {
            recent.note(MonoNs(ms * 1_000_000), Nanos::from_millis(used_ms));
            recent.is_over_budget()
        };
        assert!(!note(100, 0) && !note(400, 300) && !note(1100, 300));
        assert!(!note(1500, 600), "the first burst is over a second old");
        assert!(!note(1600, 660), "360 ms within 1.1 s");
        assert!(note(1700, 1100), "over a third within 1.1 s");
    }

    #[test]
    fn a_tick_that_lasts_too_long_without_a_wait_for_a_core_shows_a_stop() {
        let ms = Nanos::from_millis;
        assert_eq!(stopped_in(ms(150), ms(0)), ms(0));
        assert_eq!(stopped_in(ms(2100), ms(0)), ms(2000));
        assert_eq!(stopped_in(ms(2100), ms(1950)), ms(0), "it waited for a core");
    }

    #[test]
    fn a_thread_has_its_priority_back_when_it_is_no_longer_watched() {
        let watch = CoreWatch::new(WorkerPriority::Auto);
        let policy = || std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // Field 41 of the line, counted from the end of the name: 0 is normal, 2 is round robin.
        let policy = || policy().rsplit(')').next().unwrap().split_whitespace().nth(38).unwrap().to_owned();
        let before = policy();
        let entered = watch.enter();
        let expected = if entered.found().was_realtime { "2" } else { before.as_str() };
        assert_eq!(policy(), expected);
        drop(entered);
        assert_eq!(policy(), before);
    }
}
