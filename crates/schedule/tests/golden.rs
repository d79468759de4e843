//! Golden timelines: phases against a server of known latency, in virtual time.
#![expect(clippy::unwrap_used, reason = "golden data that cannot be read is a failed test")]

use aiperf_golden::{Area, Shape, Tally, has};
use aiperf_plan::{Arrival, Draws, PhasePlan, Sampling, StopWhen, TimingPlan};
use aiperf_schedule::{Action, Event, FailureCount, PhaseEnd, RequestEnd, Sampler, Schedule, Setup};
use aiperf_types::{MonoNs, Nanos, PhaseIndex, PhaseKind, Shapes};
use serde_json::Value;
use std::sync::Arc;

/// Phases and a server, and what happened when.
const TIMELINE: Shape = |case| case["config"]["phases"].is_array() && case["expected"]["timeline"].is_array();

/// Records of a phase, some of them failed, and whether they end the run.
const THRESHOLD: Shape = |case| case["expected"]["abort"].is_boolean() && case["error_records"].is_u64();

/// What a phase of a case may set.
const PHASE_MEMBERS: &[&str] =
    &["kind", "name", "type", "concurrency", "requests", "sessions", "duration", "grace_period"];

fn area() -> Area {
    Area::of(env!("CARGO_MANIFEST_DIR"), "load")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn not_there_yet(case: &Value) -> Option<String> {
    let config = &case["config"];
    let unknown = |phase: &Value| {
        let members = phase.as_object().unwrap();
        members.keys().find(|member| !PHASE_MEMBERS.contains(&member.as_str())).cloned()
    };
    let other_type = list(&config["phases"]).find(|phase| phase["type"] != "concurrency");
    let has_turns =
        list(&config["dataset"]["conversations"]).any(|conversation| list(&conversation["turns"]).count() > 1);
    other_type
        .map(|phase| format!("phases of type {}", phase["type"]))
        .or_else(|| list(&config["phases"]).find_map(unknown))
        .or_else(|| has_turns.then(|| "conversations of several turns".to_owned()))
        .map(|what| format!("not there yet: {what}"))
}

fn nanos(seconds: &Value) -> Option<Nanos> {
    seconds.as_f64().map(|seconds| Nanos((seconds * 1e9).round() as u64))
}

fn phase(given: &Value) -> PhasePlan {
    let count = |key: &str| given[key].as_u64();
    let stop = [
        count("requests").map(StopWhen::Requests),
        count("sessions").map(StopWhen::Sessions),
        nanos(&given["duration"]).map(StopWhen::Elapsed),
    ];
    let kind = if given["kind"] == "warmup" { PhaseKind::Warmup } else { PhaseKind::Profiling };
    PhasePlan {
        name: given["name"].as_str().unwrap_or("profiling").to_owned(),
        concurrency: count("concurrency").map(|limit| limit as u32),
        stop: stop.into_iter().flatten().collect(),
        grace: nanos(&given["grace_period"]),
        ..PhasePlan::new(kind, Arrival::Concurrency)
    }
}

fn setup(config: &Value) -> Setup {
    let (draws, conversations) = (Draws::new(Some(1), ""), list(&config["dataset"]["conversations"]).count() as u32);
    Setup {
        phases: list(&config["phases"]).map(phase).collect(),
        shapes: Arc::new(Shapes::single(conversations)),
        urls: 1,
        sampler: Sampler::new(Sampling::Sequential, conversations, &draws),
        draws,
        timing: TimingPlan::default(),
        asks_hooks: false,
    }
}

/// A request that is under way.
struct Sent {
    number: u64,
    phase: PhaseIndex,
    session: u64,
    turn: u32,
    back: MonoNs,
    end: RequestEnd,
}

/// What happened, in the words of the golden timelines.
#[derive(Debug, PartialEq)]
enum Happened {
    Dispatch { at: u64, number: u64, phase: String, within: u64, session: u64, conversation: String },
    Return { at: u64, number: u64, cancelled: bool, failed: bool },
    CancelAll { at: u64 },
}

/// A run of the schedule in virtual time, which starts late so that no instant is zero.
struct Run<'a> {
    config: &'a Value,
    schedule: Schedule,
    in_flight: Vec<Sent>,
    sent: u64,
    happened: Vec<Happened>,
    ends: Vec<PhaseEnd>,
    is_over: bool,
}

const START: u64 = 1_000_000_000;

impl Run<'_> {
    fn conversation(&self, index: u32) -> String {
        let conversations: Vec<&Value> = list(&self.config["dataset"]["conversations"]).collect();
        conversations[index as usize]["id"].as_str().unwrap().to_owned()
    }

    /// How long the server takes for a request, and whether it fails it.
    fn answer(&self, number: u64, conversation: &str) -> (Nanos, RequestEnd) {
        let server = &self.config["server"];
        let matches = |rule: &&Value| rule["n"] == number || rule["conversation_id"] == conversation;
        let rule = list(&server["overrides"]).find(matches).unwrap_or(&Value::Null);
        let cycle: Vec<&Value> = list(&server["latency_cycle_s"]).collect();
        let in_cycle = (!cycle.is_empty()).then(|| cycle[number as usize % cycle.len()]).and_then(nanos);
        let latency = in_cycle.or(nanos(&rule["latency_s"])).or(nanos(&server["default"]["latency_s"])).unwrap();
        let failed = has(rule, "error") || has(&server["default"], "error");
        (latency, if failed { RequestEnd::Failed } else { RequestEnd::Answered })
    }

    fn act(&mut self, now: MonoNs, action: Action) {
        let at = now.0 - START;
        match action {
            Action::AskHooks(_) | Action::TooManyFailed { .. } => {
                unreachable!("nothing is to be done before these phases, and nothing is recorded")
            }
            Action::Send(dispatch) => {
                let conversation = self.conversation(dispatch.conversation);
                let (latency, end) = self.answer(self.sent, &conversation);
                let back = now.plus(latency);
                self.in_flight.push(Sent {
                    number: self.sent,
                    phase: dispatch.phase,
                    session: dispatch.session,
                    turn: dispatch.turn,
                    back,
                    end,
                });
                let name = &self.config["phases"][dispatch.phase.0 as usize]["name"];
                self.happened.push(Happened::Dispatch {
                    at,
                    number: self.sent,
                    phase: name.as_str().unwrap_or("profiling").to_owned(),
                    within: dispatch.number,
                    session: dispatch.session,
                    conversation,
                });
                self.sent += 1;
            }
            Action::Cancel(phase) => {
                self.happened.push(Happened::CancelAll { at });
                for sent in self.in_flight.iter_mut().filter(|sent| sent.phase == phase) {
                    (sent.back, sent.end) = (now, RequestEnd::Cancelled);
                }
            }
            Action::Complete(_, end, _) => self.ends.push(end),
            Action::Finished => self.is_over = true,
            Action::Start(_) | Action::SendingComplete(..) => {}
        }
    }

    /// The request that comes back next, once its time has come.
    fn next_back(&mut self, now: MonoNs) -> Option<Sent> {
        let next = (0..self.in_flight.len()).min_by_key(|at| (self.in_flight[*at].back, self.in_flight[*at].number))?;
        (self.in_flight[next].back <= now).then(|| self.in_flight.remove(next))
    }

    fn drive(&mut self) {
        let mut now = MonoNs(START);
        while !self.is_over {
            let event = self.next_back(now).map(|sent| {
                let (cancelled, failed) = (sent.end == RequestEnd::Cancelled, sent.end == RequestEnd::Failed);
                self.happened.push(Happened::Return { at: now.0 - START, number: sent.number, cancelled, failed });
                Event::Returned { session: sent.session, turn: sent.turn, end: sent.end }
            });
            let mut actions = Vec::new();
            let deadline = self.schedule.poll(now, event, &mut actions);
            actions.into_iter().for_each(|action| self.act(now, action));
            let next = self.in_flight.iter().map(|sent| sent.back).chain(deadline).min();
            now = now.max(next.unwrap_or(now));
            assert!(self.is_over || next.is_some(), "the run waits for nothing");
        }
    }
}

fn expected(event: &Value) -> Happened {
    let at = nanos(&event["t"]).unwrap().0;
    let count = |key: &str| event[key].as_u64().unwrap();
    let text = |key: &str| event[key].as_str().unwrap().to_owned();
    match event["event"].as_str().unwrap() {
        "dispatch" => Happened::Dispatch {
            at,
            number: count("n"),
            phase: text("phase"),
            within: count("id"),
            session: count("session"),
            conversation: text("conversation_id"),
        },
        "return" => {
            let cancelled = event["cancelled"] == true;
            Happened::Return { at, number: count("n"), cancelled, failed: has(event, "error") }
        }
        "cancel_all" => Happened::CancelAll { at },
        other => panic!("an event this test does not know: {other}"),
    }
}

#[test]
fn golden_phases_send_and_end_as_recorded() {
    let mut tally = Tally::new("timelines");
    tally.run_files(&area().files_of(TIMELINE), TIMELINE, not_there_yet, |case| {
        let config = &case["config"];
        let schedule = Schedule::new(setup(config));
        let (in_flight, happened, ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut run = Run { config, schedule, in_flight, sent: 0, happened, ends, is_over: false };
        run.drive();
        let wanted: Vec<Happened> = list(&case["expected"]["timeline"]).map(expected).collect();
        for (got, wanted) in run.happened.iter().zip(&wanted) {
            assert_eq!(got, wanted);
        }
        assert_eq!(run.happened.len(), wanted.len());
        let stats: Vec<&Value> = list(&case["expected"]["phase_stats"]).collect();
        assert_eq!(run.ends.len(), stats.len());
        for (end, stats) in run.ends.iter().zip(stats) {
            assert_eq!(end.timed_out, stats["timeout_triggered"]);
            assert_eq!(end.grace_expired, stats["grace_period_timeout_triggered"]);
            assert_eq!(end.stopped, stats["was_cancelled"]);
        }
    });
    tally.finish();
}

#[test]
fn golden_shares_of_failures_end_a_run_as_recorded() {
    let mut tally = Tally::new("failed request thresholds");
    tally.run_files(
        &area().files_of(THRESHOLD),
        THRESHOLD,
        |_| None,
        |case| {
            let mut plan = phase(&Value::Null);
            plan.failed_request_threshold = case["threshold"].as_f64();
            plan.concurrency = case["concurrency"].as_u64().map(|limit| limit as u32);
            let mut count = FailureCount::of(&plan);
            let (records, failed) = (case["total_records"].as_u64().unwrap(), case["error_records"].as_u64().unwrap());
            // Failures last: before the last record no more of them were there than after it.
            let mut is_past = false;
            for record in 0..records {
                is_past = count.add(record >= records - failed);
            }
            assert_eq!(is_past, case["expected"]["abort"]);
        },
    );
    tally.finish();
}

#[test]
fn golden_files_that_nothing_here_reads_are_named() {
    area().tell_unread("schedule: load", &[TIMELINE, THRESHOLD]);
}
