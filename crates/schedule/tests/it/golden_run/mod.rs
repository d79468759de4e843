//! A case's phases against its server, in virtual time.

use aiperf_golden::has;
use aiperf_plan::{
    Arrival, ArrivalLaw, Cancellation, Draws, PhasePlan, Ramp, RateLevel, RatePlan, RatePoint, ScheduleZero, StopWhen,
};
use aiperf_schedule::{Action, Dispatch, Event, PhaseEnd, RequestEnd, Schedule, Setup};
use aiperf_types::{MonoNs, Nanos, PhaseIndex, PhaseKind, PhaseProgress, Shape, Shapes, TurnShape};
use serde_json::Value;
use std::collections::BTreeMap;

pub(crate) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub(crate) fn nanos(seconds: &Value) -> Option<Nanos> {
    seconds.as_f64().map(|seconds| Nanos((seconds * 1e9).round() as u64))
}

fn arrival(given: &Value) -> Arrival {
    let ramp = nanos(&given["rate_ramp"]).map(Ramp::linear);
    let point =
        |point: &Value| RatePoint { seconds: point["time_s"].as_f64().unwrap(), rate: point["qps"].as_f64().unwrap() };
    let level = || match given["rate_series"].as_array() {
        Some(points) => RateLevel::Series(points.iter().map(point).collect()),
        None => RateLevel::Fixed(given["rate"].as_f64().unwrap()),
    };
    let rate = |law| Arrival::Rate { law, rate: RatePlan { level: level(), ramp } };
    match given["type"].as_str().unwrap_or("concurrency") {
        "concurrency" => Arrival::Concurrency,
        "constant" => rate(ArrivalLaw::Constant),
        "poisson" => rate(ArrivalLaw::Poisson),
        "gamma" => rate(ArrivalLaw::Gamma { smoothness: given["smoothness"].as_f64().unwrap_or(1.0) }),
        "user_centric" => Arrival::UserCentric {
            users: given["users"].as_u64().unwrap() as u32,
            rate: given["rate"].as_f64().unwrap(),
        },
        "fixed_schedule" => {
            let from_first = given["auto_offset"].as_bool().unwrap_or(true);
            let start = given["start_offset"].as_f64().unwrap_or(0.0);
            Arrival::FixedSchedule { zero: if from_first { ScheduleZero::First } else { ScheduleZero::At(start) } }
        }
        other => panic!("a type this test does not know: {other}"),
    }
}

pub(crate) fn phase(given: &Value) -> PhasePlan {
    let count = |key: &str| given[key].as_u64();
    let limit = |key: &str| count(key).map(|limit| limit as u32);
    let ramp = |key: &str| nanos(&given[key]).map(Ramp::linear);
    let kind = if given["kind"] == "warmup" { PhaseKind::Warmup } else { PhaseKind::Profiling };
    let stop = [
        count("requests").map(StopWhen::Requests),
        count("sessions").map(StopWhen::Sessions),
        nanos(&given["duration"]).map(StopWhen::Elapsed),
    ];
    // What is in flight gets no time where none is given, but in a warm-up as much as it takes.
    let no_grace = || (kind == PhaseKind::Profiling && given["grace_period"].is_null()).then_some(Nanos::ZERO);
    let cancellation = given["cancellation"]["rate"].as_f64().map(|rate_percent| Cancellation {
        rate_percent,
        delay: nanos(&given["cancellation"]["delay"]).unwrap_or_default(),
    });
    PhasePlan {
        name: given["name"].as_str().unwrap_or("profiling").to_owned(),
        concurrency: limit("concurrency"),
        concurrency_ramp: ramp("concurrency_ramp"),
        prefill_concurrency: limit("prefill_concurrency"),
        prefill_ramp: ramp("prefill_ramp"),
        stop: stop.into_iter().flatten().collect(),
        grace: nanos(&given["grace_period"]).or_else(no_grace),
        seamless: given["seamless"] == true,
        failed_request_threshold: given["failed_request_threshold"].as_f64(),
        cancellation,
        ..PhasePlan::new(kind, arrival(given))
    }
}

fn shape(conversation: &Value) -> Shape {
    let turn = |turn: &Value| TurnShape {
        delay: turn["delay_ms"].as_f64().map(|ms| Nanos((ms * 1e6).round() as u64)),
        timestamp_ms: turn["timestamp_ms"].as_f64(),
    };
    Shape { turns: list(&conversation["turns"]).map(turn).collect(), branches: Vec::new() }
}

fn setup(config: &Value) -> Setup {
    let shapes = Shapes::listed(list(&config["dataset"]["conversations"]).map(shape).collect());
    let phases = list(&config["phases"]).map(phase).collect();
    let urls = config["num_urls"].as_u64().unwrap_or(1) as u32;
    Setup { urls, ..Setup::new(phases, shapes, Draws::new(Some(1), "")) }
}

/// What happened, in the words of the golden timelines. A request is named by its number within the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Happened {
    Dispatch { at: Nanos, number: u64, dispatch: Dispatch },
    Return { at: Nanos, number: u64, end: RequestEnd },
    CancelAll { at: Nanos },
}

impl Happened {
    pub(crate) fn at(&self) -> Nanos {
        match self {
            Self::Dispatch { at, .. } | Self::Return { at, .. } | Self::CancelAll { at } => *at,
        }
    }
}

/// What became of a phase, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PhaseStory {
    pub(crate) started: Nanos,
    pub(crate) sending_complete: Nanos,
    pub(crate) sent: PhaseProgress,
    pub(crate) complete: Nanos,
    pub(crate) end: PhaseEnd,
    pub(crate) counts: PhaseProgress,
}

/// A run that starts late, so that no instant is zero.
const START: MonoNs = MonoNs(1_000_000_000);

/// What the server has still to send, in order.
#[derive(Clone, Copy, Debug)]
struct DueEvent {
    number: u64,
    dispatch: Dispatch,
    /// `None` is the first content.
    end: Option<RequestEnd>,
}

pub(crate) struct Run<'a> {
    config: &'a Value,
    schedule: Schedule,
    due_events: BTreeMap<(MonoNs, u64), DueEvent>,
    asked: u64,
    sent: u64,
    pub(crate) happened: Vec<Happened>,
    pub(crate) phases: Vec<PhaseStory>,
    is_over: bool,
}

impl<'a> Run<'a> {
    /// Runs a case to its end.
    pub(crate) fn of(config: &'a Value) -> Self {
        let phases = vec![PhaseStory::default(); list(&config["phases"]).count()];
        let (schedule, due_events) = (Schedule::new(setup(config)), BTreeMap::new());
        let mut run =
            Self { config, schedule, due_events, asked: 0, sent: 0, happened: Vec::new(), phases, is_over: false };
        run.drive();
        run
    }

    fn drive(&mut self) {
        let mut now = START;
        while !self.is_over {
            let next = self.due_events.first_entry().filter(|entry| entry.key().0 <= now).map(|entry| entry.remove());
            let event = next.map(|DueEvent { number, dispatch, end }| {
                let (session, turn) = (dispatch.session, dispatch.turn);
                let Some(end) = end else { return Event::FirstContent { session, turn } };
                self.happened.push(Happened::Return { at: now.since(START), number, end });
                Event::Returned { session, turn, end, at: now }
            });
            let mut actions = Vec::new();
            let deadline = self.schedule.poll(now, event, &mut actions);
            actions.into_iter().for_each(|action| self.act(now, action));
            let next = self.due_events.keys().next().map(|(at, _)| *at).into_iter().chain(deadline).min();
            now = now.max(next.unwrap_or(now));
            assert!(self.is_over || next.is_some(), "the run waits for nothing");
        }
    }

    fn add_due(&mut self, at: MonoNs, due: DueEvent) {
        self.due_events.insert((at, self.asked), due);
        self.asked += 1;
    }

    fn send(&mut self, now: MonoNs, dispatch: Dispatch) {
        let number = self.sent;
        self.sent += 1;
        self.happened.push(Happened::Dispatch { at: now.since(START), number, dispatch });
        let server = &self.config["server"];
        let id = &self.config["dataset"]["conversations"][dispatch.conversation as usize]["id"];
        let is_turn = |rule: &Value| rule["turn_index"].is_null() || rule["turn_index"] == dispatch.turn;
        let matches = |rule: &&Value| rule["n"] == number || rule["conversation_id"] == *id && is_turn(rule);
        let rule = list(&server["overrides"]).find(matches).unwrap_or(&Value::Null);
        let cycle: Vec<&Value> = list(&server["latency_cycle_s"]).collect();
        let in_cycle = (!cycle.is_empty()).then(|| cycle[number as usize % cycle.len()]).and_then(nanos);
        let given = |key: &str| nanos(&rule[key]).or(nanos(&server["default"][key]));
        let mut latency = in_cycle.or(given("latency_s")).unwrap();
        let mut has_failed = has(rule, "error") || has(&server["default"], "error");
        if let Some(given_up) = dispatch.cancel_after.filter(|after| *after < latency) {
            (latency, has_failed) = (given_up, true);
        }
        let first = given("ttft_s").filter(|first| !has_failed && dispatch.awaits_first_content && *first <= latency);
        if let Some(first) = first {
            self.add_due(now.plus(first), DueEvent { number, dispatch, end: None });
        }
        let end = if has_failed { RequestEnd::Failed } else { RequestEnd::Answered };
        self.add_due(now.plus(latency), DueEvent { number, dispatch, end: Some(end) });
    }

    fn act(&mut self, now: MonoNs, action: Action) {
        let at = now.since(START);
        let index = |phase: PhaseIndex| usize::from(phase.0);
        match action {
            Action::AskHooks(_) | Action::TooManyFailed { .. } => {
                unreachable!("nothing is to be done before these phases, and nothing is recorded")
            }
            Action::Start(phase) => self.phases[index(phase)].started = at,
            Action::Send(dispatch) => self.send(now, dispatch),
            Action::SendingComplete(phase, counts) => {
                let story = &mut self.phases[index(phase)];
                (story.sending_complete, story.sent) = (at, counts);
            }
            Action::Cancel(phase) => {
                self.happened.push(Happened::CancelAll { at });
                let is_cancelled = |due: &DueEvent| due.dispatch.phase == phase;
                let mut cancelled: Vec<DueEvent> =
                    self.due_events.values().copied().filter(|due| is_cancelled(due) && due.end.is_some()).collect();
                self.due_events.retain(|_, due| !is_cancelled(due));
                cancelled.sort_by_key(|due| due.number);
                for due in cancelled {
                    self.add_due(now, DueEvent { end: Some(RequestEnd::Cancelled), ..due });
                }
            }
            Action::Complete(phase, end, counts) => {
                let story = &mut self.phases[index(phase)];
                (story.complete, story.end, story.counts) = (at, end, counts);
            }
            Action::Finished => self.is_over = true,
        }
    }
}
