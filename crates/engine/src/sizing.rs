//! How many threads and connections a run gets, from the cores and descriptors of this machine and process.

use aiperf_plan::{PhasePlan, Plan};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Descriptors that are not connections: files, pipes, the standard streams.
const OTHER_DESCRIPTORS: u64 = 64;
/// Descriptors of one worker that are not connections: its poll, its wake-up, its two timers.
const DESCRIPTORS_A_WORKER: u64 = 4;
/// Streams that one worker handles well.
const STREAMS_A_WORKER: u64 = 512;
/// Requests per second that one worker sends well. A closed loop against an instant server reaches about 74,000
/// (`scripts/saturate --sim-threads 8 --pin` on 16 cores).
const REQUESTS_A_WORKER: f64 = 40_000.0;

/// With fewer connections the run is refused: an open loop would mostly wait for them, and with none it would wait for
/// ever.
const LEAST_CONNECTIONS: u64 = 4;
/// A load without a limit hardly needs more of them.
const ENOUGH_CONNECTIONS: u64 = 10_000;

/// The resources of the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    /// Files that may be open at once.
    pub(crate) descriptors: u64,
}

impl Machine {
    /// This machine, with the descriptor limit raised as far as the system allows.
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

/// The demand of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// Requests in flight at once; `None` if nothing bounds them.
    pub(crate) peak_in_flight: Option<u64>,
    /// Requests that are certainly in flight: a closed loop fills its slots, however fast the server is.
    pub(crate) filled: u64,
    /// Workers that handle the load well.
    pub(crate) carriers: u64,
    /// The number of workers that the user set.
    pub(crate) workers: Option<u32>,
    /// The user's limit of connections in use at once.
    pub(crate) connection_limit: Option<u32>,
}

impl Demand {
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            peak_in_flight: plan.peak_in_flight(),
            filled: plan.phases.iter().map(filled).max().unwrap_or(0),
            carriers: plan.phases.iter().map(carriers).max().unwrap_or(1),
            workers: plan.runtime.workers_max,
            connection_limit: plan.endpoint.http.connection_limit,
        }
    }
}

fn filled(phase: &PhasePlan) -> u64 {
    phase.peak_in_flight().filter(|_| phase.arrival.is_closed_loop()).unwrap_or(0)
}

/// Workers that handle a phase well. A closed loop fills its slots, so the slots count. The requests in flight of an
/// open loop are its rate times a latency, and only the run shows the latency. Known are the requests per second. Few
/// workers are better than many: with one worker the schedule lives in its loop, and no request waits for a hop between
/// threads. A trace is sent at the rate of the users of one service, far below what a worker can do.
fn carriers(phase: &PhasePlan) -> u64 {
    let by_streams = phase.peak_in_flight().map_or(u64::MAX, |peak| peak.div_ceil(STREAMS_A_WORKER));
    let by_pace = match phase.arrival.is_closed_loop() {
        true => u64::MAX,
        false => (phase.arrival.top_rate().unwrap_or(0.0) / REQUESTS_A_WORKER).ceil() as u64,
    };
    by_streams.min(by_pace).max(1)
}

/// The threads and connections of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizing {
    /// Workers at the start of the run.
    pub(crate) workers: usize,
    /// Workers that may be added while the run is on. The only worker of a run is replaced by them: the schedule keeps
    /// its thread.
    pub(crate) more_workers: usize,
    pub(crate) record_threads: usize,
    /// Connections that may be open at once, over all workers.
    pub(crate) connections: u64,
}

/// The run needs more open files than the limit allows; each connection is one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooFewDescriptors {
    /// All descriptors: connections and the rest.
    pub(crate) needed: u64,
    pub(crate) allowed: u64,
    /// A concurrency that would fit.
    pub(crate) concurrency: u64,
}

impl Sizing {
    /// The workers at the start, and those that may be added.
    pub(crate) fn all_workers(&self) -> usize {
        self.workers + self.more_workers
    }

    /// As many workers as handle the load well, at most half of the cores, at least one. Others follow if the load is
    /// larger than expected. The number in the plan takes precedence, and then no others follow.
    ///
    /// If nothing bounds the requests in flight, the run gets as many connections as possible. A request that finds none
    /// waits, and the wait is counted. Record threads have the lowest priority and use what is left of each core: with
    /// one per worker, 16 cores held dispatch back for 6 of 10 seconds at saturation.
    pub(crate) fn of(demand: Demand, machine: Machine) -> Result<Self, TooFewDescriptors> {
        let Machine { cores, descriptors } = machine;
        let peak = demand.peak_in_flight;
        let limit = demand.connection_limit.map_or(u64::MAX, u64::from);
        let wanted = peak.unwrap_or(u64::MAX).min(limit);
        let most_workers = (cores / 2).max(1) as u64;
        let workers = match demand.workers {
            Some(wanted) => u64::from(wanted).min(peak.unwrap_or(u64::MAX)),
            None => demand.carriers.min(most_workers),
        };
        let workers = workers.max(1);
        let others = OTHER_DESCRIPTORS + workers.saturating_mul(DESCRIPTORS_A_WORKER);
        let allowed = descriptors.saturating_sub(others);
        let certain = demand.filled.min(limit).max(wanted.min(LEAST_CONNECTIONS));
        if certain > allowed {
            let needed = certain.saturating_add(others);
            return Err(TooFewDescriptors { needed, allowed: descriptors, concurrency: allowed });
        }
        let most = match demand.workers {
            Some(_) => workers,
            None => most_workers.min(peak.unwrap_or(u64::MAX)),
        };
        let more = match workers {
            // A single worker more would only replace the first.
            1 if most < 2 => 0,
            1 => most,
            workers => most - workers,
        };
        // Workers keep the connections that they used before others were added: the first all, each later set half of
        // them. Together with those in use, these are at most three times as many.
        let while_moving = allowed.saturating_sub(more * DESCRIPTORS_A_WORKER) / 3;
        let has_room = wanted.min(certain.max(ENOUGH_CONNECTIONS)) <= while_moving;
        let more = if has_room { more } else { 0 };
        let connections = wanted.min(if more > 0 { while_moving } else { allowed });
        let (workers, more_workers) = (workers as usize, more as usize);
        let record_threads = cores.saturating_sub(1).max(1);
        Ok(Self { workers, more_workers, record_threads, connections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;
    use aiperf_plan::{Arrival, ArrivalLaw, RateLevel, RatePlan, RatePoint, ScheduleZero, StopWhen};
    use aiperf_types::{Nanos, PhaseKind};

    const SMALL: Machine = Machine { cores: 2, descriptors: 1_000_000 };
    const LARGE: Machine = Machine { cores: 16, descriptors: 1_000_000 };

    /// The demand of a plan with these phases.
    fn demand(phases: Vec<PhasePlan>) -> Demand {
        Demand::of(&Plan { phases, ..plan("http://127.0.0.1:1") })
    }

    fn phase(arrival: Arrival, concurrency: Option<u32>, stop: StopWhen) -> PhasePlan {
        PhasePlan { concurrency, stop: vec![stop], ..PhasePlan::new(PhaseKind::Profiling, arrival) }
    }

    const LONG: StopWhen = StopWhen::Elapsed(Nanos(1));

    /// A closed loop of so many slots.
    fn closed(slots: u32) -> Demand {
        demand(vec![phase(Arrival::Concurrency, Some(slots), LONG)])
    }

    fn sized(streams: u32, machine: Machine) -> Result<Sizing, TooFewDescriptors> {
        Sizing::of(closed(streams), machine)
    }

    fn at_rate(rate: f64) -> Arrival {
        Arrival::Rate { law: ArrivalLaw::Poisson, rate: RatePlan::fixed(rate) }
    }

    #[test]
    fn threads_follow_streams_and_cores() {
        let threads = |streams, machine| {
            let sizing = sized(streams, machine).unwrap();
            (sizing.workers, sizing.record_threads)
        };
        assert_eq!(threads(1000, SMALL), (1, 1));
        assert_eq!(threads(64, LARGE), (1, 15));
        assert_eq!(threads(1024, LARGE), (2, 15));
        assert_eq!(threads(100_000, LARGE), (8, 15));
    }

    #[test]
    fn more_workers_may_follow_up_to_half_of_the_cores_and_one_per_request_in_flight() {
        let workers = |streams| sized(streams, LARGE).map(|sizing| (sizing.workers, sizing.more_workers)).unwrap();
        assert_eq!([1, 2, 64, 1024, 100_000].map(workers), [(1, 0), (1, 2), (1, 8), (2, 6), (8, 0)]);
        assert_eq!(sized(64, SMALL).unwrap().more_workers, 0, "two cores have one worker");
        let set = Demand { workers: Some(2), ..closed(64) };
        assert_eq!(Sizing::of(set, LARGE).unwrap().more_workers, 0, "the user has set their number");
        // Files, one worker with its connections, and eight more with twice as many.
        let descriptors = 64 + (4 + 64) + (8 * 4 + 2 * 64);
        let more = |descriptors| sized(64, Machine { cores: 16, descriptors }).unwrap().more_workers;
        assert_eq!(
            (more(descriptors), more(descriptors - 1)),
            (8, 0),
            "the connections of the first may still be open"
        );
    }

    #[test]
    fn the_users_number_of_workers_is_used_unless_there_is_less_to_do() {
        let workers =
            |workers, peak| Sizing::of(Demand { workers: Some(workers), ..closed(peak) }, SMALL).unwrap().workers;
        assert_eq!((workers(7, 1000), workers(7, 3), workers(0, 3)), (7, 3, 1));
    }

    #[test]
    fn a_load_without_a_limit_gets_as_many_connections_as_possible() {
        let open = demand(vec![phase(at_rate(10.0), None, LONG)]);
        let sizing = Sizing::of(open, LARGE).unwrap();
        assert_eq!(sizing, Sizing { workers: 1, more_workers: 8, record_threads: 15, connections: 333_300 });
        let few = Machine { cores: 16, descriptors: 1024 };
        let sizing = Sizing::of(open, few).unwrap();
        assert_eq!((sizing.more_workers, sizing.connections), (0, 956), "connections come before workers");
    }

    #[test]
    fn an_open_loop_gets_workers_by_its_rate() {
        let workers = |phases| Sizing::of(demand(phases), LARGE).unwrap().workers;
        let of = |arrival| workers(vec![phase(arrival, None, LONG)]);
        assert_eq!([10.0, 40_000.0, 40_001.0, 1e9].map(|rate| of(at_rate(rate))), [1, 1, 2, 8]);
        assert_eq!(of(Arrival::FixedSchedule { zero: ScheduleZero::First }), 1);
        assert_eq!(of(Arrival::UserCentric { users: 100_000, rate: 50.0 }), 1);
        let points = [(0.0, 5.0), (60.0, 90_000.0)].map(|(seconds, rate)| RatePoint { seconds, rate });
        let rate = RatePlan { level: RateLevel::Series(points.into()), ramp: None };
        assert_eq!(of(Arrival::Rate { law: ArrivalLaw::Constant, rate }), 3);
        // Fewer if fewer are ever in flight, and as many as the most demanding phase needs.
        assert_eq!(workers(vec![phase(at_rate(1e9), Some(600), LONG)]), 2);
        let closed = phase(Arrival::Concurrency, Some(2048), LONG);
        assert_eq!(workers(vec![closed, phase(at_rate(10.0), None, LONG)]), 4);
    }

    #[test]
    fn a_count_of_requests_at_a_rate_needs_no_connection_for_each() {
        let few = Machine { cores: 2, descriptors: 1024 };
        let open = demand(vec![phase(at_rate(10.0), None, StopWhen::Requests(1_000_000))]);
        assert_eq!(
            Sizing::of(open, few),
            Ok(Sizing { workers: 1, more_workers: 0, record_threads: 1, connections: 956 })
        );
        let bounded = demand(vec![phase(at_rate(10.0), None, StopWhen::Requests(20))]);
        assert_eq!(Sizing::of(bounded, few).unwrap().connections, 20);
    }

    #[test]
    fn a_limit_that_the_user_set_is_used_and_needs_no_more_descriptors() {
        let demand = Demand { connection_limit: Some(100), ..closed(5000) };
        let few = Machine { cores: 2, descriptors: 1024 };
        assert_eq!(Sizing::of(demand, few).unwrap().connections, 100);
    }

    #[test]
    fn a_load_without_a_limit_is_refused_if_there_are_hardly_any_connections() {
        let open = |concurrency| demand(vec![phase(at_rate(20.0), concurrency, LONG)]);
        let machine = |descriptors| Machine { cores: 2, descriptors };
        let refused = |allowed, concurrency| Err(TooFewDescriptors { needed: 72, allowed, concurrency });
        assert_eq!(Sizing::of(open(None), machine(64)), refused(64, 0));
        assert_eq!(Sizing::of(open(None), machine(71)), refused(71, 3));
        assert_eq!(Sizing::of(open(None), machine(72)).unwrap().connections, 4);
        // The advice in the message is enough, and so is the user's limit.
        assert_eq!(Sizing::of(open(Some(3)), machine(71)).unwrap().connections, 3);
        let one = Demand { connection_limit: Some(1), ..open(None) };
        assert_eq!(Sizing::of(one, machine(69)).unwrap().connections, 1);
        assert!(Sizing::of(one, machine(68)).is_err());
    }

    #[test]
    fn a_plan_that_needs_more_descriptors_is_refused() {
        let few = Machine { cores: 2, descriptors: 1024 };
        let refused = TooFewDescriptors { needed: 5068, allowed: 1024, concurrency: 956 };
        assert_eq!(sized(5000, few), Err(refused));
        // The advice in the message is enough: this concurrency, or this many files.
        assert!(sized(refused.concurrency as u32, few).is_ok());
        assert!(sized(refused.concurrency as u32 + 1, few).is_err());
        assert!(sized(5000, Machine { descriptors: refused.needed, ..few }).is_ok());
        assert!(sized(5000, Machine { descriptors: refused.needed - 1, ..few }).is_err());
    }
}
