//! What the thread of a sink did while records waited for it, from the kernel's counters.

use crate::kernel_counters::stolen_ticks;
use aiperf_metrics::StallTimes;
use aiperf_types::{MonoNs, Nanos};
use std::fs;

/// Counters of a thread since its start. They only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadCounters {
    pub(crate) at: MonoNs,
    /// Time inside writes, on a core or not.
    pub(crate) in_writes: Nanos,
    /// Time on a core.
    pub(crate) computing: Nanos,
    /// Time in which it was ready to run and had no core.
    pub(crate) core_wait: Nanos,
    /// CPU time of all cores in ticks: the part that the hypervisor took, and the total.
    pub(crate) stolen: u64,
    pub(crate) ticks: u64,
}

impl ThreadCounters {
    /// The counters of a thread of this process, by its id. Counters that the kernel does not provide are zero.
    pub(crate) fn of_thread(id: i32, in_writes: Nanos, at: MonoNs) -> Self {
        let text = fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).unwrap_or_default();
        let mut fields = text.split_ascii_whitespace().map(|field| Nanos(field.parse().unwrap_or(0)));
        let mut next = || fields.next().unwrap_or(Nanos::ZERO);
        let (computing, core_wait) = (next(), next());
        let (stolen, ticks) = stolen_ticks().unwrap_or_default();
        Self { at, in_writes, computing, core_wait, stolen, ticks }
    }

    /// What the thread did during a wait, from its counters before and after.
    pub(crate) fn until(self, after: Self, waited: Nanos) -> StallTimes {
        let less = |of: fn(Self) -> Nanos| Nanos(of(after).0.saturating_sub(of(self).0));
        let mut times = StallTimes {
            waited,
            writing: Nanos::ZERO,
            computing: less(|counters| counters.computing),
            core_wait: less(|counters| counters.core_wait),
            stolen: after.stolen.saturating_sub(self.stolen),
            ticks: after.ticks.saturating_sub(self.ticks),
        };
        let in_writes = less(|counters| counters.in_writes).0;
        let elsewhere = times.computing.0 + times.core_wait.0 + times.stolen_of(waited).0;
        times.writing = Nanos(in_writes.saturating_sub(elsewhere));
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::StallCause;

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
        ThreadCounters::default().until(after, tenths(10))
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
