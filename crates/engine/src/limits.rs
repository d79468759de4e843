//! Descriptors and cores: what this process may use.

use aiperf_plan::Plan;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Descriptors that are not connections: files, timers, pipes.
const OTHER_DESCRIPTORS: u64 = 64;
/// Streams one worker carries well.
const STREAMS_A_WORKER: u32 = 512;

/// Raises the descriptor limit to what the system allows and says whether a number of connections fits.
pub(crate) fn allow_connections(connections: u64) -> Result<(), u64> {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    let now = if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft };
    if connections + OTHER_DESCRIPTORS > now { Err(now) } else { Ok(()) }
}

/// How many workers a plan gets: one for each 512 streams, at most half of the cores, at least one; the plan's own
/// number wins.
pub(crate) fn workers(plan: &Plan) -> usize {
    if let Some(wanted) = plan.runtime.workers_max {
        return wanted.clamp(1, plan.peak_concurrency().max(1)) as usize;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (plan.peak_concurrency().div_ceil(STREAMS_A_WORKER) as usize).min(cores / 2).max(1)
}
