//! Whether the numbers of a run are those of the server: `trustworthy`, `doubtful` or `client-bound`, with reasons.
//!
//! Each reason is one row of `CHECKS`: a number of the run, its limit, and what to do when it is exceeded.

use crate::numbers::stats::Stats;
use crate::phase::summary::{MetricBounds, MetricResult, Summary};
use crate::registry;
use aiperf_types::{Grade, Reason, Verdict};

/// What a verdict is made from. Shares are from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence<'a> {
    /// How far the statistics can be from the truth.
    pub bounds: &'a [MetricBounds],
    /// How far any instant can be off because of the clocks, in milliseconds.
    pub clock_ms: f64,
    /// Of the time of sending, that in which this client held requests back.
    pub held: f64,
    /// Of the requests that the schedule asked for, those that this client did not send.
    pub unsent: f64,
    /// The mean time that a request waited for a connection because all were in use, in milliseconds.
    pub connection_wait_ms: f64,
    /// Of the time of the run, that in which this process was stopped.
    pub stopped: f64,
    /// Of the time of the run, the longest that a worker waited for a core.
    pub core_wait: f64,
    /// Every worker had real-time priority.
    pub is_realtime: bool,
    /// The user asked for normal priority.
    pub wants_normal: bool,
    /// CPU time taken by the hypervisor.
    pub steal: f64,
    pub clock_steps: u64,
    /// Times that a CPU quota stopped this process.
    pub throttled: u64,
    /// Reads without a kernel stamp.
    pub unstamped: f64,
    /// The user asked for the instants of reads.
    pub wants_unstamped: bool,
    /// Chunks that arrived together with later ones although this client was not late.
    pub coalesced: f64,
    /// No request succeeded.
    pub is_empty: bool,
    /// Of the requests that succeeded, those whose streams ended without their end marker.
    pub unfinished: f64,
}

/// A number of a run with its limits.
struct Check {
    code: &'static str,
    /// Each grade with the limit above which a run gets it, the worst grade first.
    limits: &'static [(Grade, f64)],
    value: fn(&Evidence<'_>, Grade) -> f64,
    text: fn(f64, &Evidence<'_>, Grade) -> String,
    fix: fn(&Evidence<'_>) -> &'static str,
}

/// A bound or a wait is a reason only if it exceeds a share of its statistic and this many milliseconds.
pub const DOUBTFUL_MS: f64 = 0.05;
const CLIENT_BOUND_MS: f64 = 0.1;

fn least_ms(grade: Grade) -> f64 {
    if grade == Grade::ClientBound { CLIENT_BOUND_MS } else { DOUBTFUL_MS }
}

/// The share of the run from which the wait of a worker for a core matters.
const CORE_WAIT: f64 = 0.01;

const OWN_CORES: &str = "give the client its own cores (taskset), --workers-max 4, or a second machine";
const REAL_TIME: &str = "allow real-time priority: setcap cap_sys_nice+ep on the program's file, ulimit -r 1, --cap-add SYS_NICE \
                         of a container, or chrt -r 1 aiperf; or give the client its own cores (taskset)";

/// Every check, in the order of reasons of the same grade.
const CHECKS: &[Check] = &[
    Check {
        code: "held",
        limits: &[(Grade::ClientBound, 0.01)],
        value: |run, _| run.held,
        text: |held, _, _| format!("this client held requests back for {:.1}% of the time of sending", held * 100.0),
        fix: |run| match run.core_wait > CORE_WAIT {
            true => OWN_CORES,
            // The workers had their cores, and a lower number of them frees none that they need.
            false => "free a core for the threads that compute and write records, or use a second machine",
        },
    },
    Check {
        code: "unsent",
        limits: &[(Grade::ClientBound, 0.02)],
        value: |run, _| run.unsent,
        text: |unsent, _, _| format!("this client did not send {:.1}% of the requests that were due", unsent * 100.0),
        fix: |_| OWN_CORES,
    },
    Check {
        code: "stopped",
        limits: &[(Grade::ClientBound, 0.01)],
        value: |run, _| run.stopped,
        text: |stopped, _, _| format!("this process was stopped for {:.1}% of the run", stopped * 100.0),
        fix: |_| "repeat the run without a stop signal, a frozen container or a paused machine",
    },
    Check {
        code: "error_bound",
        limits: &[(Grade::ClientBound, 0.1), (Grade::Doubtful, 0.02)],
        value: |run, grade| worst(run, least_ms(grade)).map_or(0.0, |worst| worst.share),
        text: |_, run, grade| worst(run, least_ms(grade)).map_or_else(String::new, |worst| worst.in_words()),
        fix: |run| match worst(run, DOUBTFUL_MS) {
            Some(Worst { why: NO_STAMP, .. }) => ask_for_stamps(run),
            _ => own_cores_or_real_time(run),
        },
    },
    Check {
        code: "connection_wait",
        limits: &[(Grade::ClientBound, 0.1), (Grade::Doubtful, 0.02)],
        value: |run, grade| connection_wait(run, least_ms(grade)),
        text: |share, run, _| {
            let (wait, percent) = (run.connection_wait_ms, share * 100.0);
            format!(
                "requests waited {wait:.1} ms for a connection on average, because all were in use: {percent:.0}% of the time \
                 to the first response"
            )
        },
        fix: |_| MORE_CONNECTIONS,
    },
    Check {
        code: "core_wait",
        limits: &[(Grade::ClientBound, 0.1), (Grade::Doubtful, CORE_WAIT)],
        value: |run, _| run.core_wait,
        text: |wait, _, _| format!("a worker waited for a core for {:.1}% of the run", wait * 100.0),
        fix: own_cores_or_real_time,
    },
    Check {
        code: "steal",
        limits: &[(Grade::Doubtful, 0.01)],
        value: |run, _| run.steal,
        text: |steal, _, _| format!("the hypervisor took {:.1}% of CPU time during the run", steal * 100.0),
        fix: |_| "repeat the run, or use a machine whose cores are not shared",
    },
    Check {
        code: "clock_step",
        limits: &[(Grade::Doubtful, 0.0)],
        value: |run, _| run.clock_steps as f64,
        text: |steps, _, _| format!("the wall clock stepped {steps:.0} times during the run"),
        fix: |_| "repeat the run when the clock is synchronised",
    },
    Check {
        code: "throttled",
        limits: &[(Grade::Doubtful, 0.0)],
        value: |run, _| run.throttled as f64,
        text: |times, _, _| format!("a CPU quota stopped this process {times:.0} times"),
        fix: |_| "raise the CPU limit of the container or the service",
    },
    Check {
        code: "unstamped",
        limits: &[(Grade::Doubtful, 0.01)],
        value: |run, _| run.unstamped,
        text: |share, run, _| {
            let why = if run.wants_unstamped { "as --timestamps user asks" } else { "the kernel gave none" };
            format!("{:.1}% of reads have no arrival stamp ({why})", share * 100.0)
        },
        fix: ask_for_stamps,
    },
    Check {
        code: "no_results",
        limits: &[(Grade::Doubtful, 0.0)],
        value: |run, _| f64::from(u8::from(run.is_empty)),
        text: |_, _, _| "no request succeeded, so there are no latencies".to_owned(),
        fix: |_| "see the errors of the run",
    },
    Check {
        code: "unfinished_streams",
        limits: &[(Grade::Doubtful, 0.5)],
        value: |run, _| run.unfinished,
        text: |share, _, _| format!("{:.1}% of the good streams ended without their end marker", share * 100.0),
        fix: |_| "look for a proxy or a server that closes streams early: their responses may be cut short",
    },
    Check {
        code: "coalesced",
        limits: &[(Grade::Trustworthy, 0.05)],
        value: |run, _| run.coalesced,
        text: |share, _, _| {
            format!(
                "{:.1}% of chunks arrived together with the next one: the server or a proxy wrote them at once",
                share * 100.0
            )
        },
        fix: |_| {
            "switch off buffering in the proxy, or ask the server for smaller writes; on the machine of the client, the \
             server may have waited for a core"
        },
    },
];

/// The grade of a reason that was read from a file. `None` if this version has no such check.
pub fn grade_of_reason(code: &str, limit: f64) -> Option<Grade> {
    let check = CHECKS.iter().find(|check| check.code == code)?;
    check.limits.iter().find(|(_, known)| *known == limit).map(|(grade, _)| *grade)
}

fn own_cores_or_real_time(run: &Evidence<'_>) -> &'static str {
    match run {
        run if run.wants_normal => "remove --worker-priority normal, or give the client its own cores (taskset)",
        run if run.is_realtime => OWN_CORES,
        _ => REAL_TIME,
    }
}

const NO_STAMP: &str = "reads have no arrival stamp";

fn ask_for_stamps(run: &Evidence<'_>) -> &'static str {
    match run.wants_unstamped {
        true => "use --timestamps auto",
        false => "use TCP instead of a Unix socket, and a kernel with SO_TIMESTAMPING",
    }
}

const MORE_CONNECTIONS: &str =
    "raise AIPERF_HTTP_CONNECTION_LIMIT or the limit of open files (ulimit -n), or lower the concurrency";

/// The part of the mean time to first token, or of the mean latency, that requests waited for a connection; 0 if they
/// waited for no longer than a limit.
fn connection_wait(run: &Evidence<'_>, limit_ms: f64) -> f64 {
    let mean =
        |metric: &MetricBounds| metric.bounds.iter().find(|(name, _)| *name == "avg").map(|(_, bound)| bound.value);
    let of = |tag: &str| run.bounds.iter().find(|metric| metric.tag == tag).and_then(mean);
    let whole = of("time_to_first_token").or_else(|| of("request_latency")).filter(|whole| *whole > 0.0);
    let wait = Some(run.connection_wait_ms).filter(|wait| *wait > limit_ms);
    wait.zip(whole).map_or(0.0, |(wait, whole)| wait / whole)
}

/// The bound of a statistic that is largest compared with the statistic.
struct Worst {
    tag: &'static str,
    statistic: &'static str,
    ms: f64,
    share: f64,
    why: &'static str,
}

impl Worst {
    fn in_words(&self) -> String {
        let Self { tag, statistic, ms, share, why } = self;
        let percent = share * 100.0;
        format!("{tag} {statistic} can be off by {ms:.2} ms ({percent:.0}%), because {why}")
    }
}

/// The worst of those above a limit in milliseconds that this client caused.
fn worst(run: &Evidence<'_>, limit_ms: f64) -> Option<Worst> {
    let bounds = run.bounds.iter().flat_map(|metric| metric.bounds.iter().map(|bound| (metric.tag, bound)));
    let worst = bounds.filter_map(|(tag, (statistic, bound))| {
        let ms = bound.ours + run.clock_ms;
        let why = match bound {
            bound if run.clock_ms > bound.ours => "the clocks moved apart",
            bound if bound.unstamped >= bound.ours => NO_STAMP,
            _ => "this client read late",
        };
        // A value of zero may be as large as its bound.
        let share = ms / bound.value.max(ms);
        (ms > limit_ms).then_some(Worst { tag, statistic, ms, share, why })
    });
    worst.max_by(|one, two| one.share.total_cmp(&two.share))
}

/// The verdict that follows from the evidence. Each check gives at most one reason, of its worst grade.
pub fn judge(run: &Evidence<'_>) -> Verdict {
    let mut reasons: Vec<Reason> = CHECKS.iter().filter_map(|check| reason(check, run)).collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.grade));
    let grade = reasons.first().map(|reason| reason.grade).unwrap_or_default();
    Verdict { grade, reasons }
}

fn reason(check: &Check, run: &Evidence<'_>) -> Option<Reason> {
    check.limits.iter().find_map(|&(grade, limit)| {
        let value = (check.value)(run, grade);
        let (code, text, fix) = (check.code.into(), (check.text)(value, run, grade), (check.fix)(run).into());
        (value > limit).then_some(Reason { code, grade, value, limit, text, fix })
    })
}

/// Adds a verdict to the results of its run, as the metric `verdict`.
pub fn add_to(summary: &mut Summary, verdict: &Verdict) {
    if let Some(metric) = registry::find("verdict") {
        summary.results.retain(|result| result.tag != metric.tag);
        summary.results.push(MetricResult::new(metric, Stats::of(verdict.grade.value())));
        summary.sort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::summary::Bound;

    fn ttft(value: f64, bound: f64, ours: f64) -> Vec<MetricBounds> {
        let bound = Bound { value, early: bound, ours, merged: bound, ..Bound::default() };
        vec![MetricBounds {
            tag: "time_to_first_token",
            bounds: vec![("avg", Bound { value, ..Bound::default() }), ("p99", bound)],
        }]
    }

    fn codes(verdict: &Verdict) -> Vec<&str> {
        verdict.reasons.iter().map(|reason| &*reason.code).collect()
    }

    #[test]
    fn a_clean_run_is_trustworthy() {
        let bounds = ttft(50.0, 0.0, 0.0);
        let clean = Evidence { bounds: &bounds, clock_ms: 0.0001, is_realtime: true, ..Evidence::default() };
        assert_eq!(judge(&clean), Verdict::default());
    }

    #[test]
    fn a_bound_counts_by_its_share_of_the_statistic_and_by_its_length() {
        let grade = |value: f64, ours: f64| {
            let bounds = ttft(value, ours, ours);
            judge(&Evidence { bounds: &bounds, ..Evidence::default() }).grade
        };
        assert_eq!(grade(50.0, 6.0), Grade::ClientBound, "12%");
        assert_eq!(grade(50.0, 2.0), Grade::Doubtful, "4%");
        assert_eq!(grade(50.0, 0.9), Grade::Trustworthy, "1.8%");
        assert_eq!(grade(0.1, 0.04), Grade::Trustworthy, "40% of a very short time");
        assert_eq!(grade(0.2, 0.09), Grade::Doubtful, "45% of a short time");
    }

    #[test]
    fn a_server_that_writes_several_chunks_at_once_is_not_the_clients_fault() {
        let bounds = ttft(50.0, 20.0, 0.0);
        let verdict = judge(&Evidence { bounds: &bounds, coalesced: 0.5, ..Evidence::default() });
        assert_eq!((verdict.grade, codes(&verdict)), (Grade::Trustworthy, vec!["coalesced"]));
    }

    #[test]
    fn a_wait_for_a_connection_counts_by_its_share_of_the_time_to_the_first_response() {
        let bounds = [MetricBounds {
            tag: "time_to_first_token",
            bounds: vec![("avg", Bound { value: 50.0, ..Bound::default() })],
        }];
        let grade =
            |connection_wait_ms| judge(&Evidence { bounds: &bounds, connection_wait_ms, ..Evidence::default() }).grade;
        assert_eq!(grade(6.0), Grade::ClientBound, "12%");
        assert_eq!(grade(2.0), Grade::Doubtful, "4%");
        assert_eq!(grade(0.9), Grade::Trustworthy, "1.8%");
    }

    #[test]
    fn fewer_workers_are_the_way_out_only_if_workers_waited_for_a_core() {
        let fix = |core_wait| {
            let verdict = judge(&Evidence { held: 0.5, core_wait, ..Evidence::default() });
            verdict.reasons.iter().find(|reason| reason.code == "held").map(|reason| reason.fix.to_string())
        };
        assert!(fix(0.5).is_some_and(|fix| fix.contains("--workers-max")));
        assert!(
            fix(0.0).is_some_and(|fix| fix.contains("compute and write records") && !fix.contains("--workers-max"))
        );
    }

    #[test]
    fn a_client_without_its_core_is_the_limit() {
        let grade = |core_wait| judge(&Evidence { core_wait, ..Evidence::default() }).grade;
        let grades = [0.005, 0.05, 0.3].map(grade);
        assert_eq!(grades, [Grade::Trustworthy, Grade::Doubtful, Grade::ClientBound]);
    }

    #[test]
    fn each_number_over_its_limit_is_a_reason_with_a_way_out() {
        let bounds = ttft(50.0, 30.0, 30.0);
        let all = Evidence {
            bounds: &bounds,
            clock_ms: 0.0,
            held: 0.5,
            unsent: 0.03,
            connection_wait_ms: 10.0,
            stopped: 0.02,
            core_wait: 0.2,
            is_realtime: false,
            wants_normal: false,
            steal: 0.02,
            clock_steps: 1,
            throttled: 3,
            unstamped: 0.5,
            wants_unstamped: true,
            coalesced: 0.2,
            is_empty: true,
            unfinished: 0.6,
        };
        let verdict = judge(&all);
        let expected = [
            "held",
            "unsent",
            "stopped",
            "error_bound",
            "connection_wait",
            "core_wait",
            "steal",
            "clock_step",
            "throttled",
            "unstamped",
            "no_results",
            "unfinished_streams",
            "coalesced",
        ];
        assert_eq!((verdict.grade, codes(&verdict)), (Grade::ClientBound, expected.to_vec()));
        assert!(verdict.reasons.iter().all(|reason| reason.value > reason.limit && !reason.text.is_empty()));
        assert!(verdict.reasons[3].fix.contains("setcap"), "real-time priority is not allowed here");
        assert!(verdict.reasons.is_sorted_by(|one, two| one.grade >= two.grade));
    }
}
