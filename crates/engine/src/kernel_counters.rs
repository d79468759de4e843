//! The kernel's counters of CPU time: waits for a core, time stolen by the hypervisor, throttling by quotas.

use aiperf_types::Nanos;
use nix::unistd::Pid;
use std::fs;

/// The time that a thread has had a core, and the time that it has waited for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CoreTime {
    pub(crate) used: Nanos,
    pub(crate) waited: Nanos,
}

impl CoreTime {
    /// That of a thread of this process; `None` if the kernel does not count it.
    pub(crate) fn of(thread: Pid) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
        let mut fields = text.split_ascii_whitespace().map(|field| field.parse().ok().map(Nanos));
        Some(Self { used: fields.next()??, waited: fields.next()?? })
    }
}

/// CPU time of all cores, in ticks: stolen time, and the total.
pub(crate) fn stolen_ticks() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let fields: Vec<u64> =
        text.lines().next()?.split_ascii_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    Some((*fields.get(7)?, fields.iter().take(8).sum()))
}

/// How often the control group was throttled so far.
fn throttled_periods() -> Option<u64> {
    let text = fs::read_to_string("/sys/fs/cgroup/cpu.stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok())
}

/// What the machine took from this process since this value was made.
pub(crate) struct Disturbance {
    stolen: Option<(u64, u64)>,
    throttled: Option<u64>,
}

impl Disturbance {
    pub(crate) fn since_now() -> Self {
        Self { stolen: stolen_ticks(), throttled: throttled_periods() }
    }

    /// The share of CPU time that the hypervisor took.
    pub(crate) fn steal_share(&self) -> Option<f64> {
        let ((stolen_before, all_before), (stolen, all)) = self.stolen.zip(stolen_ticks())?;
        (all > all_before).then(|| stolen.saturating_sub(stolen_before) as f64 / (all - all_before) as f64)
    }

    /// How often a CPU quota stopped this process.
    pub(crate) fn throttled(&self) -> Option<u64> {
        self.throttled.zip(throttled_periods()).map(|(before, after)| after.saturating_sub(before))
    }
}
