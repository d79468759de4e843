//! The kernel's counters of CPU time: waits for a core, time stolen by the hypervisor, throttling by quotas.

use aiperf_types::Nanos;
use std::fs;

/// Time that the calling thread has waited for a core, as the kernel counts it.
pub(crate) fn run_queue_wait() -> Nanos {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Nanos(text.split_ascii_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0))
}

/// CPU time of all cores, in ticks: stolen time, and the total.
pub(crate) fn stolen_ticks() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let fields: Vec<u64> =
        text.lines().next()?.split_ascii_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    Some((*fields.get(7)?, fields.iter().take(8).sum()))
}

/// How often the control group was throttled so far.
pub(crate) fn throttled_periods() -> Option<u64> {
    let text = fs::read_to_string("/sys/fs/cgroup/cpu.stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok())
}
