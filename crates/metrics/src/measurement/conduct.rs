//! How the run as a whole went: its threads, its clock, and what the machine gave it.

use crate::measurement::stalls::SinkStall;
use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// How the run as a whole went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conduct {
    pub workers: usize,
    /// One entry for each worker added during the run: the time since the start.
    pub workers_added_after: Vec<Nanos>,
    pub record_threads: usize,
    /// Records not computed yet when the last response came.
    pub backlog_at_end: u64,
    /// How long they took.
    pub drain: Nanos,
    /// Most bytes of finished exchanges that waited.
    pub peak_backlog_bytes: usize,
    /// Time that the coordinator spent computing while requests were being sent.
    pub relief: Nanos,
    /// How often dispatch was held back, and for how long in all.
    pub holds: u64,
    pub held: Nanos,
    /// Sinks that kept records waiting for longer than they may.
    pub sink_stalls: Vec<SinkStall>,
    /// Steps of the wall clock.
    pub clock_steps: u64,
    /// How far the clocks can have moved an instant.
    pub clock_error: Nanos,
    /// Cost of one clock read, in nanoseconds.
    pub clock_read_ns: f64,
    /// Each worker's wait for a core.
    pub worker_run_queue_wait: Vec<Nanos>,
    /// How long this process was stopped.
    pub stopped: Nanos,
    /// Workers that began with real-time priority, and when each of those that lost it did.
    pub realtime_workers: usize,
    pub demoted_after: Vec<Nanos>,
    /// CPU time taken by the hypervisor during the run, as a share of all.
    pub steal_share: Option<f64>,
    /// Times the process was held back by its CPU quota.
    pub throttled: Option<u64>,
}

impl Conduct {
    /// Of both parts of a run, on machines of their own. What is counted adds up; a length of time, a share or a peak is
    /// that of the machine where it was largest.
    pub fn merge(&mut self, other: Self) {
        self.workers += other.workers;
        self.workers_added_after.extend(other.workers_added_after);
        self.record_threads += other.record_threads;
        self.backlog_at_end += other.backlog_at_end;
        self.drain = self.drain.max(other.drain);
        self.peak_backlog_bytes = self.peak_backlog_bytes.max(other.peak_backlog_bytes);
        self.relief = self.relief.max(other.relief);
        self.holds += other.holds;
        self.held = self.held.max(other.held);
        self.sink_stalls.extend(other.sink_stalls);
        self.clock_steps += other.clock_steps;
        self.clock_error = self.clock_error.max(other.clock_error);
        self.clock_read_ns = self.clock_read_ns.max(other.clock_read_ns);
        self.stopped = self.stopped.max(other.stopped);
        self.worker_run_queue_wait.extend(other.worker_run_queue_wait);
        self.realtime_workers += other.realtime_workers;
        self.demoted_after.extend(other.demoted_after);
        self.steal_share = [self.steal_share, other.steal_share].into_iter().flatten().reduce(f64::max);
        self.throttled = [self.throttled, other.throttled].into_iter().flatten().reduce(|one, two| one + two);
    }
}
