//! Why a sink keeps records waiting: what its thread did meanwhile, by the kernel's account. A thread that waits for a
//! core is no slow disk, and a faster one would not help it.

use crate::kernel_counters::stolen_ticks;
use aiperf_types::{MonoNs, Nanos};
use serde::{Deserialize, Serialize};
use std::fs;

/// The part of a wait that a cause must explain before it is named.
const NAMED_PART: u64 = 4;
/// Share of CPU time from which the hypervisor is named.
const STOLEN_SHARE: f64 = 0.05;

/// What a thread did since it began; counters that only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadCounters {
    pub(crate) at: MonoNs,
    /// Time inside writes, whatever it did there.
    pub(crate) in_writes: Nanos,
    /// Time on a core.
    pub(crate) computing: Nanos,
    /// Time it was ready to run and had no core.
    pub(crate) core_wait: Nanos,
    /// CPU time of all cores that the hypervisor took, and all of it, in ticks.
    pub(crate) stolen: u64,
    pub(crate) ticks: u64,
}

impl ThreadCounters {
    /// Of a thread of this process, by its number; what the kernel does not say is zero.
    pub(crate) fn of_thread(id: i32, in_writes: Nanos, at: MonoNs) -> Self {
        let text = fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).unwrap_or_default();
        let mut fields = text.split_ascii_whitespace().map(|field| Nanos(field.parse().unwrap_or(0)));
        let mut next = || fields.next().unwrap_or(Nanos::ZERO);
        let (computing, core_wait) = (next(), next());
        let (stolen, ticks) = stolen_ticks().unwrap_or_default();
        Self { at, in_writes, computing, core_wait, stolen, ticks }
    }
}

/// What a sink's thread did while records waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallTimes {
    /// How long records waited.
    pub waited: Nanos,
    /// Inside writes, neither on a core nor waiting for one: the file's own time.
    pub writing: Nanos,
    pub computing: Nanos,
    pub core_wait: Nanos,
    /// CPU time of all cores that the hypervisor took, and all of it, in ticks.
    pub stolen: u64,
    pub ticks: u64,
}

/// What kept records waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallCause {
    /// Writes that did not come back.
    Writes,
    /// No core for the thread that writes.
    NoCore,
    /// The work of that thread itself.
    Computing,
    /// Nothing that is measured.
    Unknown,
}

impl StallTimes {
    /// Of a wait, between two looks at the counters.
    pub(crate) fn between(before: ThreadCounters, after: ThreadCounters, waited: Nanos) -> Self {
        let less = |of: fn(ThreadCounters) -> Nanos| Nanos(of(after).0.saturating_sub(of(before).0));
        let mut times = Self {
            waited,
            writing: Nanos::ZERO,
            computing: less(|counters| counters.computing),
            core_wait: less(|counters| counters.core_wait),
            stolen: after.stolen.saturating_sub(before.stolen),
            ticks: after.ticks.saturating_sub(before.ticks),
        };
        let in_writes = less(|counters| counters.in_writes).0;
        let elsewhere = times.computing.0 + times.core_wait.0 + times.stolen_of(waited).0;
        times.writing = Nanos(in_writes.saturating_sub(elsewhere));
        times
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.waited.0 += other.waited.0;
        self.writing.0 += other.writing.0;
        self.computing.0 += other.computing.0;
        self.core_wait.0 += other.core_wait.0;
        self.stolen += other.stolen;
        self.ticks += other.ticks;
    }

    /// The share of CPU time that the hypervisor took.
    pub fn stolen_share(&self) -> f64 {
        if self.ticks == 0 { 0.0 } else { self.stolen as f64 / self.ticks as f64 }
    }

    fn stolen_of(&self, time: Nanos) -> Nanos {
        Nanos((time.0 as f64 * self.stolen_share()) as u64)
    }

    /// What explains most of the wait.
    pub fn cause(&self) -> StallCause {
        let no_core = self.core_wait.0 + self.stolen_of(self.waited).0;
        let parts = [
            (self.writing.0, StallCause::Writes),
            (no_core, StallCause::NoCore),
            (self.computing.0, StallCause::Computing),
        ];
        let most = parts.into_iter().max_by_key(|(time, _)| *time);
        match most {
            Some((time, cause)) if time > 0 && time >= self.waited.0 / NAMED_PART => cause,
            _ => StallCause::Unknown,
        }
    }

    /// What was measured, in words.
    pub fn in_words(&self) -> String {
        let seconds = Nanos::as_secs_f64;
        match self.cause() {
            StallCause::Writes => format!("its writes took {:.1} s", seconds(self.writing)),
            StallCause::NoCore => {
                let share = self.stolen_share();
                let stolen = format!("the hypervisor took {:.0}% of CPU time", share * 100.0);
                let waited = format!("its thread waited {:.1} s for a core", seconds(self.core_wait));
                match share >= STOLEN_SHARE {
                    true if self.core_wait.0 < self.stolen_of(self.waited).0 => stolen,
                    true => format!("{waited}, and {stolen}"),
                    false => waited,
                }
            }
            StallCause::Computing => format!("its thread computed for {:.1} s", seconds(self.computing)),
            StallCause::Unknown => "neither its writes nor the wait for a core explain it".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenths(tenths: u64) -> Nanos {
        Nanos(tenths * 100_000_000)
    }

    fn times(in_writes: u64, computing: u64, core_wait: u64, stolen: u64) -> StallTimes {
        let after = ThreadCounters {
            at: MonoNs(1),
            in_writes: tenths(in_writes),
            computing: tenths(computing),
            core_wait: tenths(core_wait),
            stolen,
            ticks: 100,
        };
        StallTimes::between(ThreadCounters::default(), after, tenths(10))
    }

    #[test]
    fn a_wait_is_explained_by_what_took_most_of_it() {
        for (times, cause, words) in [
            (times(9, 1, 0, 0), StallCause::Writes, "its writes took 0.8 s"),
            // A write that waits for a core lasts just as long.
            (times(9, 1, 8, 0), StallCause::NoCore, "its thread waited 0.8 s for a core"),
            (times(9, 3, 0, 60), StallCause::NoCore, "the hypervisor took 60% of CPU time"),
            (
                times(9, 1, 7, 20),
                StallCause::NoCore,
                "its thread waited 0.7 s for a core, and the hypervisor took 20% of CPU time",
            ),
            (times(9, 9, 0, 0), StallCause::Computing, "its thread computed for 0.9 s"),
            (times(1, 1, 1, 1), StallCause::Unknown, "neither its writes nor the wait for a core explain it"),
            (times(0, 0, 0, 0), StallCause::Unknown, "neither its writes nor the wait for a core explain it"),
        ] {
            assert_eq!((times.cause(), times.in_words().as_str()), (cause, words), "{times:?}");
        }
    }

    #[test]
    fn the_kernel_knows_what_a_thread_of_this_process_did() {
        let id = nix::unistd::gettid().as_raw();
        let before = ThreadCounters::of_thread(id, Nanos::ZERO, MonoNs(1));
        let mut work = 0u64;
        let after = loop {
            work = std::hint::black_box(work + 1);
            let now = ThreadCounters::of_thread(id, Nanos::ZERO, MonoNs(2));
            if now.computing > before.computing {
                break now;
            }
        };
        assert!(after.computing > before.computing && after.ticks >= before.ticks);
    }
}
