//! Golden timelines: phases against a server of known latency, in virtual time; and the results of limits, grids of
//! users and shares of failures.

use crate::golden_run;

use aiperf_golden::has;
use aiperf_golden::kinds::load::{CHANGING_LIMIT, FAILURE_THRESHOLD, TIMELINE, USER_GRID};
use aiperf_schedule::{FailureCount, GridUser, Limit, RequestEnd, UserGrid};
use aiperf_types::Nanos;
use golden_run::{Happened, PhaseStory, Run, list, nanos, phase};
use serde_json::Value;
use std::collections::HashMap;

/// What a phase of a case may set.
const PHASE_MEMBERS: &[&str] = &[
    "kind",
    "name",
    "type",
    "concurrency",
    "concurrency_ramp",
    "prefill_concurrency",
    "prefill_ramp",
    "requests",
    "sessions",
    "duration",
    "grace_period",
    "seamless",
    "rate",
    "rate_ramp",
    "rate_series",
    "smoothness",
    "users",
    "auto_offset",
    "start_offset",
    "end_offset",
    "cancellation",
    "failed_request_threshold",
    "exclude_from_results",
];

/// Instants may differ by this much.
const TOLERANCE: Nanos = Nanos(1_000_000);

/// Why a case cannot be compared.
fn not_alike(case: &Value) -> Option<String> {
    let config = &case["config"];
    let conversations = || list(&config["dataset"]["conversations"]);
    let lists = |value: &Value, key: &str| list(&value[key]).next().is_some();
    let has_branches = conversations().any(|one| {
        lists(one, "branches")
            || one["is_root"] == false
            || one["agent_depth"].as_u64().is_some_and(|depth| depth > 0)
            || list(&one["turns"]).any(|turn| lists(turn, "branch_ids") || lists(turn, "join"))
    });
    if has_branches {
        return Some("branches of conversations are refused by name".to_owned());
    }
    if config["dataset"]["sampling"].as_str().is_some_and(|sampling| sampling != "sequential") {
        return Some("conversations drawn at random: no two programs draw alike".to_owned());
    }
    if list(&config["phases"]).count() > 1 && loses_a_conversation(config) && !are_alike(config) {
        return Some("Do better 19: another conversation takes the place of the one that is not lost".to_owned());
    }
    list(&config["phases"]).find_map(|phase| not_alike_in(phase, config))
}

fn not_alike_in(phase: &Value, config: &Value) -> Option<String> {
    let turns = || list(&config["dataset"]["conversations"]).map(|conversation| list(&conversation["turns"]).count());
    let kind = phase["type"].as_str().unwrap_or("concurrency");
    let at_a_rate = ["constant", "poisson", "gamma"].contains(&kind);
    let less_than = |key: &str, all: usize| phase[key].as_u64().is_some_and(|wanted| wanted < all as u64);
    let unknown = phase.as_object().unwrap().keys().find(|member| !PHASE_MEMBERS.contains(&member.as_str()));
    let reason = match kind {
        "poisson" | "gamma" => "arrivals drawn at random: no two programs draw alike",
        "fixed_schedule" if phase["kind"] == "warmup" => "Do better 18: refused",
        "user_centric" if phase["kind"] == "warmup" => {
            "Do better 18: the users are those of the phase, not arrivals at random"
        }
        "user_centric" if has(phase, "rate_ramp") => "Do better 17: refused",
        "fixed_schedule" if less_than("requests", turns().sum()) || less_than("sessions", turns().count()) => {
            "Do better 10: counts cap a recording"
        }
        _ if at_a_rate && has(phase, "prefill_concurrency") && turns().any(|turns| turns > 1) => {
            "Do better 6: a turn that waits for a prefill slot does not hold up the rate"
        }
        _ if phase["cancellation"]["rate"].as_f64().is_some_and(|rate| rate > 0.0 && rate < 100.0) => {
            "requests given up at random: no two programs draw alike"
        }
        _ => return unknown.map(|member| format!("not there yet: {member}")),
    };
    Some(reason.to_owned())
}

/// Whether some phase may end with a conversation that the reference has drawn and never sent.
fn loses_a_conversation(config: &Value) -> bool {
    let has_turns = list(&config["dataset"]["conversations"]).any(|one| list(&one["turns"]).count() > 1);
    list(&config["phases"]).any(|phase| has_turns || has(phase, "duration"))
}

/// Whether it makes no difference which conversation is drawn.
fn are_alike(config: &Value) -> bool {
    let mut turns = list(&config["dataset"]["conversations"]).map(|conversation| &conversation["turns"]);
    let first = turns.next();
    turns.all(|turns| Some(turns) == first)
        && !list(&config["server"]["overrides"]).any(|one| has(one, "conversation_id"))
}

/// What is known of how two timelines name the same things.
#[derive(Default)]
struct Names {
    /// The reference's numbers of requests and of sessions, by ours.
    requests: HashMap<u64, u64>,
    sessions: HashMap<u64, u64>,
    /// By phase, how many conversations further the reference is. It loses those that it draws ahead (Do better 19).
    ahead: HashMap<u16, u64>,
}

impl Names {
    /// Whether an event is the expected one; if so, learns the names in it.
    fn match_up(&mut self, got: &Happened, wanted: &Value, config: &Value) -> bool {
        if nanos(&wanted["t"]).unwrap().0.abs_diff(got.at().0) > TOLERANCE.0 {
            return false;
        }
        let kind = wanted["event"].as_str().unwrap();
        match got {
            Happened::CancelAll { .. } => kind == "cancel_all",
            Happened::Return { number, end, .. } => {
                let is_cancelled = wanted["cancelled"] == true;
                let wanted_end = match has(wanted, "error") {
                    _ if is_cancelled => RequestEnd::Cancelled,
                    true => RequestEnd::Failed,
                    false => RequestEnd::Answered,
                };
                kind == "return" && *end == wanted_end && self.requests.get(number) == wanted["n"].as_u64().as_ref()
            }
            Happened::Dispatch { number, dispatch, .. } => {
                let phase = &config["phases"][usize::from(dispatch.phase.0)];
                let conversations: Vec<&Value> = list(&config["dataset"]["conversations"]).collect();
                let place = conversations.iter().position(|one| one["id"] == wanted["conversation_id"]);
                let all = conversations.len() as u64;
                let Some(place) = place.filter(|_| kind == "dispatch").map(|place| place as u64) else { return false };
                let ahead = (place + all - u64::from(dispatch.conversation)) % all;
                let session = wanted["session"].as_u64().unwrap();
                let is_known = match dispatch.turn {
                    0 => !self.sessions.contains_key(&dispatch.session),
                    _ => self.sessions.get(&dispatch.session) == Some(&session),
                };
                let may_be_ahead = phase["type"] != "fixed_schedule" && ahead <= u64::from(dispatch.phase.0);
                let is_ahead = self.ahead.get(&dispatch.phase.0).map_or(ahead == 0 || may_be_ahead, |n| *n == ahead);
                let is_same = wanted["phase"] == *phase["name"].as_str().unwrap_or("profiling")
                    && wanted["turn_index"] == dispatch.turn
                    && wanted["num_turns"] == dispatch.turns
                    && wanted["url_index"].as_u64().is_none_or(|url| url == u64::from(dispatch.url));
                if !(is_known && is_ahead && is_same) {
                    return false;
                }
                self.ahead.insert(dispatch.phase.0, ahead);
                self.requests.insert(*number, wanted["n"].as_u64().unwrap());
                self.sessions.insert(dispatch.session, session);
                true
            }
        }
    }
}

/// Compares timelines: events at the same instant in any order.
fn compare_timelines(happened: &[Happened], wanted: &[Value], config: &Value) {
    let mut names = Names::default();
    let mut left = happened.to_vec();
    let mut rest = wanted;
    while let Some(first) = rest.first() {
        let mut until = nanos(&first["t"]).unwrap().0;
        let together = rest.iter().take_while(|event| {
            let at = nanos(&event["t"]).unwrap().0;
            let is_near = at <= until + 2 * TOLERANCE.0;
            until = until.max(at);
            is_near
        });
        let (events, later) = rest.split_at(together.count());
        let mut got: Vec<Happened> = left.drain(..events.len().min(left.len())).collect();
        for event in events {
            let found = got.iter().position(|happened| names.match_up(happened, event, config));
            let found = found.unwrap_or_else(|| panic!("wanted {event}\n  got {got:?}"));
            got.remove(found);
        }
        rest = later;
    }
    assert!(left.is_empty(), "more than wanted: {left:?}");
}

/// Everything that the reference reports of a phase, from what we know of it.
fn phase_stats(name: &str, story: &PhaseStory) -> Value {
    let PhaseStory { started, sending_complete, sent, complete, end, counts } = story;
    serde_json::json!({
        "phase": name,
        "start_s": started.as_secs_f64(),
        "sent_end_s": sending_complete.as_secs_f64(),
        "requests_end_s": complete.as_secs_f64(),
        "requests_sent": counts.sent,
        "requests_completed": counts.completed,
        "requests_cancelled": counts.cancelled,
        "request_errors": counts.errors,
        "sent_sessions": counts.sessions_sent,
        "completed_sessions": counts.sessions_completed,
        "cancelled_sessions": counts.sessions_cancelled,
        "total_session_turns": counts.session_turns,
        "final_requests_sent": sent.sent,
        "final_requests_completed": counts.completed,
        "final_requests_cancelled": counts.cancelled,
        "final_request_errors": counts.errors,
        "final_sent_sessions": sent.sessions_sent,
        "final_completed_sessions": counts.sessions_completed,
        "final_cancelled_sessions": counts.sessions_cancelled,
        "timeout_triggered": end.timed_out,
        "grace_period_timeout_triggered": end.grace_expired,
        "was_cancelled": end.stopped,
    })
}

fn compare_stats(run: &Run<'_>, case: &Value) {
    let stats: Vec<&Value> = list(&case["expected"]["phase_stats"]).collect();
    assert_eq!(run.phases.len(), stats.len());
    for ((story, given), wanted) in run.phases.iter().zip(list(&case["config"]["phases"])).zip(stats) {
        let got = phase_stats(given["name"].as_str().unwrap_or("profiling"), story);
        for (member, wanted) in wanted.as_object().unwrap() {
            match (wanted.as_f64(), got[member].as_f64()) {
                (Some(wanted), Some(got)) if member.ends_with("_s") => {
                    assert!((wanted - got).abs() <= TOLERANCE.as_secs_f64(), "{member}: {got}, wanted {wanted}");
                }
                _ => assert_eq!(&got[member], wanted, "{member}"),
            }
        }
    }
}

/// A rate that changes is integrated here, and stepped in the reference: their counts agree, their ticks do not (Do
/// better 1).
fn has_changing_rate(config: &Value) -> bool {
    list(&config["phases"]).any(|phase| has(phase, "rate_ramp") || has(phase, "rate_series"))
}

/// Requests a second of a phase at a time, in seconds.
fn rate_at(phase: &Value, elapsed: f64) -> f64 {
    let points: Vec<(f64, f64)> = list(&phase["rate_series"])
        .map(|point| (point["time_s"].as_f64().unwrap(), point["qps"].as_f64().unwrap()))
        .collect();
    let ramp = phase["rate_ramp"].as_f64().unwrap_or(0.0);
    let target = phase["rate"].as_f64().unwrap_or_else(|| points[0].1);
    if elapsed < ramp {
        let start = target * (0.1 / ramp).min(1.0);
        return start + (target - start) * elapsed / ramp;
    }
    let at = elapsed - ramp;
    let between = points.windows(2).find(|pair| pair[0].0 <= at && at < pair[1].0);
    match (between, points.last()) {
        (Some(pair), _) => pair[0].1 + (pair[1].1 - pair[0].1) * (at - pair[0].0) / (pair[1].0 - pair[0].0),
        (None, Some(last)) if at >= last.0 => last.1,
        _ => target,
    }
}

/// As many as the integral of the rate gives; and as many as the reference within 3% or two requests: of a short ramp
/// it sends up to two fewer than the integral.
fn compare_counts(run: &Run<'_>, case: &Value) {
    let stories = run.phases.iter().zip(list(&case["config"]["phases"]));
    for ((story, given), wanted) in stories.zip(list(&case["expected"]["phase_stats"])) {
        let (got, reference) = (story.counts.sent as f64, wanted["requests_sent"].as_f64().unwrap());
        assert!((got - reference).abs() <= (reference * 0.03).max(2.0), "{got} sent, wanted {reference}");
        if let Some(duration) = given["duration"].as_f64().filter(|_| has(given, "rate") || has(given, "rate_series")) {
            let steps = 100_000;
            let step = duration / f64::from(steps);
            let integral: f64 = (0..steps).map(|at| rate_at(given, (f64::from(at) + 0.5) * step) * step).sum();
            let caps = ["requests", "sessions"].map(|key| given[key].as_f64().unwrap_or(f64::INFINITY));
            // What is due at the very end is not sent.
            let whole = ((integral - 1e-4).floor()).min(caps[0]).min(caps[1]);
            assert!(has(given, "concurrency") || got == whole, "{got} sent, the integral is {integral}");
        }
        assert_eq!(story.end.timed_out, wanted["timeout_triggered"]);
        assert_eq!(story.end.grace_expired, wanted["grace_period_timeout_triggered"]);
    }
}

#[test]
fn golden_phases_send_and_end_as_recorded() {
    TIMELINE.run(not_alike, |case| {
        let config = &case["config"];
        let run = Run::of(config);
        if has_changing_rate(config) {
            return compare_counts(&run, case);
        }
        compare_timelines(&run.happened, case["expected"]["timeline"].as_array().unwrap(), config);
        compare_stats(&run, case);
    });
}

#[test]
fn golden_limits_change_as_recorded() {
    CHANGING_LIMIT.run(
        |_| None,
        |case| {
            let mut limit = Limit::new(case["initial_limit"].as_u64().map(|limit| limit as u32));
            let mut taken = Vec::new();
            let wanted = list(&case["expected_after_each_op[result,limit,debt,available]"]);
            for (op, wanted) in list(&case["ops"]).zip(wanted) {
                let result = match op[0].as_str().unwrap() {
                    "try" => {
                        let slot = limit.take();
                        let found = slot.is_some();
                        taken.extend(slot);
                        Some(found)
                    }
                    "rel" => {
                        limit.give_back(taken.pop().unwrap());
                        None
                    }
                    "set" => {
                        limit.set(op[1].as_u64().map(|limit| limit as u32));
                        None
                    }
                    other => panic!("an operation this test does not know: {other}"),
                };
                let got = serde_json::json!([result, limit.limit(), limit.debt(), limit.free()]);
                assert_eq!(&got, wanted, "after {op}");
            }
        },
    );
}

#[test]
fn golden_users_stand_as_recorded_when_a_phase_starts() {
    USER_GRID.run(
        |_| None,
        |case| {
            let (users, turns) = (case["users"].as_u64().unwrap(), case["session_turns"].as_u64().unwrap());
            let grid = UserGrid::new(users as u32, case["rate"].as_f64().unwrap(), turns);
            let expected = &case["expected"];
            assert!((grid.stagger_s - expected["stagger_s"].as_f64().unwrap()).abs() < 1e-9);
            assert!((grid.turn_gap_s - expected["turn_gap_s"].as_f64().unwrap()).abs() < 1e-9);
            if has(expected, "alternate_step") {
                assert_eq!(grid.alternate_step, expected["alternate_step"].as_u64());
            }
            let row = |user: &GridUser| serde_json::json!([user.id, user.turns.unwrap_or(turns), user.order]);
            let rows: Vec<Value> = grid.users.iter().map(row).collect();
            assert_eq!(&Value::from(rows), &expected["initial"]);
        },
    );
}

#[test]
fn golden_shares_of_failures_end_a_run_as_recorded() {
    FAILURE_THRESHOLD.run(
        |_| None,
        |case| {
            let mut plan = phase(&Value::Null);
            plan.failed_request_threshold = case["threshold"].as_f64();
            plan.concurrency = case["concurrency"].as_u64().map(|limit| limit as u32);
            let (records, failed) = (case["total_records"].as_u64().unwrap(), case["error_records"].as_u64().unwrap());
            // Failures last: before the last record no more of them were there than after it.
            let mut one_by_one = FailureCount::of(&plan);
            let mut is_past = false;
            for record in 0..records {
                is_past = one_by_one.add(record >= records - failed);
            }
            assert_eq!(is_past, case["expected"]["abort"]);
            let past = FailureCount::of(&plan).add_run(records - failed, failed);
            assert_eq!(past.is_some(), case["expected"]["abort"], "as one run");
        },
    );
}
