//! How many threads and connections a run gets, of what this machine and process have.

use aiperf_plan::Plan;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Descriptors that are not connections: files, pipes, the standard streams.
const OTHER_DESCRIPTORS: u64 = 64;
/// Descriptors of one worker that are not connections: its poll, its wake-up, its two timers.
const DESCRIPTORS_A_WORKER: u64 = 4;
/// Streams one worker carries well.
const STREAMS_A_WORKER: u64 = 512;

/// What the process may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    /// Files that may be open at once.
    pub(crate) descriptors: u64,
}

impl Machine {
    /// This one, with the descriptor limit raised as far as the system allows.
    pub(crate) fn here() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let descriptors = match getrlimit(Resource::RLIMIT_NOFILE) {
            Ok((soft, hard)) if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() => hard,
            Ok((soft, _)) => soft,
            Err(_) => u64::MAX,
        };
        Self { cores, descriptors }
    }
}

/// What a plan asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// Requests in flight at once; `None` where nothing bounds them.
    pub(crate) peak_in_flight: Option<u64>,
    /// Workers that the user asked for.
    pub(crate) workers: Option<u32>,
    /// Connections in use at once that the user allows.
    pub(crate) connection_limit: Option<u32>,
}

impl Demand {
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            peak_in_flight: plan.peak_in_flight(),
            workers: plan.runtime.workers_max,
            connection_limit: plan.endpoint.http.connection_limit,
        }
    }
}

/// What a run gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizing {
    pub(crate) workers: usize,
    pub(crate) record_threads: usize,
    /// Connections that may be open at once, over all workers.
    pub(crate) connections: u64,
}

/// More files are needed than may be opened; each connection is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooFewDescriptors {
    /// All of them: connections and the rest.
    pub(crate) needed: u64,
    pub(crate) allowed: u64,
    /// Requests at once that would do.
    pub(crate) concurrency: u64,
}

impl Sizing {
    /// One worker for each 512 streams, at most half of the cores, at least one; the plan's own number wins. Where
    /// nothing bounds what is in flight, as many workers and connections as there may be. Record threads have the
    /// lowest priority there is, so they may be as many as the cores that workers leave: with one a worker, 16 cores
    /// held dispatch back for 6 of 10 seconds at saturation.
    pub(crate) fn of(demand: Demand, machine: Machine) -> Result<Self, TooFewDescriptors> {
        let Machine { cores, descriptors } = machine;
        let peak = demand.peak_in_flight;
        let limit = demand.connection_limit.map_or(u64::MAX, u64::from);
        let wanted = peak.unwrap_or(u64::MAX).min(limit);
        let most_workers = (cores / 2).max(1) as u64;
        let workers = match demand.workers {
            Some(wanted) => u64::from(wanted).min(peak.unwrap_or(u64::MAX)),
            None => peak.map_or(most_workers, |peak| peak.div_ceil(STREAMS_A_WORKER).min(most_workers)),
        };
        let workers = workers.max(1);
        let others = OTHER_DESCRIPTORS + workers.saturating_mul(DESCRIPTORS_A_WORKER);
        let allowed = descriptors.saturating_sub(others);
        if peak.is_some() && wanted > allowed {
            let needed = wanted.saturating_add(others);
            return Err(TooFewDescriptors { needed, allowed: descriptors, concurrency: allowed });
        }
        let workers = workers as usize;
        let record_threads = cores.saturating_sub(workers).max(1);
        Ok(Self { workers, record_threads, connections: wanted.min(allowed) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Machine = Machine { cores: 2, descriptors: 1_000_000 };
    const LARGE: Machine = Machine { cores: 16, descriptors: 1_000_000 };

    fn sized(peak_in_flight: Option<u64>, machine: Machine) -> Result<Sizing, TooFewDescriptors> {
        Sizing::of(Demand { peak_in_flight, workers: None, connection_limit: None }, machine)
    }

    #[test]
    fn threads_follow_streams_and_cores() {
        let threads = |streams, machine| {
            let sizing = sized(Some(streams), machine).unwrap();
            (sizing.workers, sizing.record_threads)
        };
        assert_eq!(threads(1000, SMALL), (1, 1));
        assert_eq!(threads(64, LARGE), (1, 15));
        assert_eq!(threads(1024, LARGE), (2, 14));
        assert_eq!(threads(100_000, LARGE), (8, 8));
    }

    #[test]
    fn the_number_of_workers_asked_for_wins_unless_there_is_less_to_do() {
        let workers = |workers, peak| {
            let demand = Demand { peak_in_flight: Some(peak), workers: Some(workers), connection_limit: None };
            Sizing::of(demand, SMALL).unwrap().workers
        };
        assert_eq!((workers(7, 1000), workers(7, 3), workers(0, 3)), (7, 3, 1));
    }

    #[test]
    fn a_load_without_a_limit_gets_what_there_is() {
        let sizing = sized(None, LARGE).unwrap();
        assert_eq!(sizing, Sizing { workers: 8, record_threads: 8, connections: 999_904 });
        let few = Machine { cores: 16, descriptors: 1024 };
        assert_eq!(sized(None, few).unwrap().connections, 928);
    }

    #[test]
    fn a_limit_of_the_users_holds_and_needs_no_more_descriptors() {
        let demand = Demand { peak_in_flight: Some(5000), workers: None, connection_limit: Some(100) };
        let few = Machine { cores: 2, descriptors: 1024 };
        assert_eq!(Sizing::of(demand, few).unwrap().connections, 100);
    }

    #[test]
    fn a_plan_that_needs_more_descriptors_is_refused() {
        let few = Machine { cores: 2, descriptors: 1024 };
        let refused = TooFewDescriptors { needed: 5068, allowed: 1024, concurrency: 956 };
        assert_eq!(sized(Some(5000), few), Err(refused));
        // What the message advises is enough: so many at once, or so many files.
        assert!(sized(Some(refused.concurrency), few).is_ok());
        assert!(sized(Some(refused.concurrency + 1), few).is_err());
        assert!(sized(Some(5000), Machine { descriptors: refused.needed, ..few }).is_ok());
        assert!(sized(Some(5000), Machine { descriptors: refused.needed - 1, ..few }).is_err());
    }
}
