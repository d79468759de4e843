//! Rehearsals as users see them, one for each arrival rule.

use super::account::Account;
use super::picture::Picture;
use super::{lines, summary};
use aiperf_campaign::rehearsal::{AssumedServer, AssumedTime, Rehearsal, RehearsalKind, Setup};
use aiperf_config::{Context, resolve_profile};
use aiperf_plan::{
    Arrival, ArrivalLaw, Cancellation, PhasePlan, Plan, Ramp, RampStrategy, RateLevel, RatePlan, RatePoint,
    ScheduleZero, StopWhen,
};
use aiperf_types::{Nanos, PhaseKind, Shape, Shapes, TurnShape};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const SERVER: AssumedServer = AssumedServer {
    ttft: AssumedTime::Fixed(100.0),
    latency: AssumedTime::LogNormal { mean: 1_031.743_407_499_102_7, deviation: 262.019_072_109_201_15 },
};

fn plan(phases: Vec<PhasePlan>) -> Plan {
    let (env, cwd) = (BTreeMap::new(), Path::new("/nowhere"));
    let context = Context { env: &env, stdout_is_terminal: false, cwd, benchmark_id: "0123456789ab".to_owned() };
    let args = ["-m", "m", "--streaming", "--random-seed", "7", "--tokenizer", "builtin"].map(str::to_owned);
    let resolved = resolve_profile(&args, &context).expect("a plan");
    Plan { phases, ..resolved.into_plan() }
}

fn phase(arrival: Arrival, stop: StopWhen) -> PhasePlan {
    PhasePlan { stop: vec![stop], ..PhasePlan::new(PhaseKind::Profiling, arrival) }
}

fn rate(law: ArrivalLaw, rate: f64, ramp: Option<Ramp>) -> Arrival {
    Arrival::Rate { law, rate: RatePlan { ramp, ..RatePlan::fixed(rate) } }
}

fn of_three_turns() -> Shapes {
    let turn = |index| TurnShape { delay: (index > 0).then_some(Nanos(SECOND / 2)), timestamp_ms: None };
    Shapes::listed(vec![Shape { turns: (0..3).map(turn).collect(), branches: Vec::new() }])
}

fn recorded() -> Shapes {
    let at = |ms| TurnShape { delay: None, timestamp_ms: Some(ms) };
    Shapes::listed((0..8).map(|index| Shape { turns: vec![at(f64::from(index) * 250.0)], branches: vec![] }).collect())
}

fn rehearsed(plan: &Plan, shapes: Shapes) -> (Setup, Account) {
    let setup = Setup::of(plan, Arc::new(shapes));
    let mut account = Account::new(plan.phases.len());
    Rehearsal::new(setup.clone(), SERVER).for_each(|moment| account.add(&moment));
    (setup, account)
}

fn summarised(phases: Vec<PhasePlan>, shapes: Shapes) -> String {
    let plan = plan(phases);
    let text = summary::summary(&plan, &SERVER, &rehearsed(&plan, shapes).1);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    text
}

/// The summary after the first paragraph, which is the same for all.
fn summary_of_phases(phases: Vec<PhasePlan>, shapes: Shapes) -> String {
    let text = summarised(phases, shapes);
    text.split_once("\n\n").expect("a paragraph on the server").1.to_owned()
}

#[track_caller]
/// Without the rows of modes, which contain the plan's own words.
fn assert_summary(phases: Vec<PhasePlan>, shapes: Shapes, wanted: &str) {
    let mut is_mode = false;
    let is_kept = |line: &&str| {
        is_mode = line.starts_with("  mode ") || (is_mode && line.starts_with("    "));
        !is_mode
    };
    let got: String =
        summary_of_phases(phases, shapes).lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
    assert!(got == wanted, "got:\n{got}\nwanted:\n{wanted}");
}

fn svg(plan: &Plan, shapes: Shapes) -> String {
    let (setup, account) = rehearsed(plan, shapes);
    let mut picture = Picture::new(plan, &setup, &account);
    Rehearsal::new(setup, SERVER).for_each(|moment| picture.add(&moment));
    picture.svg()
}

/// All elements; panics if the text is not well-formed.
fn elements(svg: &str) -> Vec<&str> {
    let (mut open, mut all) = (Vec::new(), Vec::new());
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag that ends");
        assert!(!text.contains('>'), "{text}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        all.push(name);
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    all
}

#[test]
fn a_summary_starts_with_the_assumed_server() {
    let text = summarised(vec![phase(Arrival::Concurrency, StopWhen::Requests(1))], Shapes::single(1));
    assert!(text.starts_with(
        "Nothing was sent. Assumed of the server: first token after 100 ms, end of the\nresponse after 1031.7 ms (log-normal, deviation \
         262 ms).\n\n"
    ));
}

#[test]
fn a_phase_is_described_in_the_words_of_the_plan() {
    let phase = PhasePlan { concurrency: Some(4), ..phase(Arrival::Concurrency, StopWhen::Requests(1)) };
    let row = format!("  mode          {}\n", phase.load_in_words());
    let text = summarised(vec![phase], Shapes::single(1));
    assert!(text.contains(&row), "{text}");
}

#[test]
fn a_seamless_phase_overlaps_only_where_something_is_in_flight() {
    let first = PhasePlan { concurrency: Some(3), ..phase(Arrival::Concurrency, StopWhen::Requests(3)) };
    let first = PhasePlan { name: "first".to_owned(), ..first };
    let second = PhasePlan { seamless: true, ..phase(Arrival::Concurrency, StopWhen::Requests(1)) };
    let text = summarised(vec![first.clone(), second.clone()], Shapes::single(1));
    assert!(text.contains("  starts        at 0.000 s, while 3 requests of earlier phases are in flight\n"), "{text}");
    let slow = PhasePlan { stop: vec![StopWhen::Elapsed(Nanos(9 * SECOND))], ..first };
    let slow = PhasePlan { arrival: rate(ArrivalLaw::Constant, 0.2, None), ..slow };
    let text = summarised(vec![slow, second], Shapes::single(1));
    assert!(!text.contains("  starts "), "{text}");
}

#[test]
fn the_summary_of_a_closed_loop() {
    let plan = PhasePlan {
        concurrency: Some(4),
        concurrency_ramp: Some(Ramp::linear(Nanos(3 * SECOND))),
        grace: Some(Nanos(SECOND / 5)),
        ..phase(Arrival::Concurrency, StopWhen::Elapsed(Nanos(10 * SECOND)))
    };
    assert_summary(
        vec![plan],
        of_three_turns(),
        "\
profiling
  requests      27 in 10 sessions, 6 of them completed
  dispatches    from 0.000 s to 9.602 s
  rate          2.7 requests/s while sending
  at most       4 live sessions, 4 requests in flight, 4 without a first token
  ends          at 10.200 s, when its grace period is over: 4 requests cancelled
",
    );
}

#[test]
fn the_summary_of_a_rate_with_a_cap() {
    let law = ArrivalLaw::Gamma { smoothness: 2.5 };
    let ramp = Ramp { duration: Nanos(5 * SECOND), strategy: RampStrategy::Exponential };
    let plan = PhasePlan {
        concurrency: Some(8),
        prefill_concurrency: Some(2),
        cancellation: Some(Cancellation { rate_percent: 12.5, delay: Nanos(SECOND / 4) }),
        ..phase(rate(law, 20.0, Some(ramp)), StopWhen::Requests(1200))
    };
    assert_summary(
        vec![plan],
        Shapes::single(10),
        "\
profiling
  requests      1,200 in 1,200 sessions; 157 given up on purpose
  dispatches    from 1.630 s to 151.365 s
  offered       2,974, of which 1,774 missed a slot
  rate          7.93 requests/s while sending
  at most       8 live sessions, 8 requests in flight, 2 without a first token
  ends          at 152.441 s: its request count is reached at 151.365 s, then
                what is in flight is awaited
",
    );
}

#[test]
fn the_summary_of_a_series() {
    let points = [(0.0, 2.0), (10.0, 12.5), (30.0, 4.0)].map(|(seconds, rate)| RatePoint { seconds, rate });
    let rate = RatePlan { level: RateLevel::Series(points.to_vec()), ramp: None };
    let arrival = Arrival::Rate { law: ArrivalLaw::Constant, rate };
    assert_summary(
        vec![phase(arrival, StopWhen::Elapsed(Nanos(40 * SECOND)))],
        Shapes::single(10),
        "\
profiling
  requests      277 in 277 sessions
  dispatches    from 0.447 s to 39.875 s
  offered       277, of which 0 missed a slot
  rate          6.92 requests/s while sending
  at most       15 live sessions, 15 requests in flight, 2 without a first token
  ends          at 41.020 s: its time is up at 40.000 s, then what is in flight
                is awaited
",
    );
}

#[test]
fn the_summary_of_users() {
    let arrival = Arrival::UserCentric { users: 6, rate: 3.0 };
    assert_summary(
        vec![phase(arrival, StopWhen::Sessions(20))],
        of_three_turns(),
        "\
profiling
  requests      52 in 20 sessions, 20 of them completed
  dispatches    from 0.000 s to 18.667 s
  offered       52, of which 0 missed a slot
  rate          2.79 requests/s while sending
  at most       6 live sessions, 5 requests in flight, 1 without a first token
  ends          at 19.531 s: its session count is reached at 18.667 s, then what
                is in flight is awaited
",
    );
}

#[test]
fn the_summary_of_a_trace() {
    let plan = PhasePlan::new(PhaseKind::Profiling, Arrival::FixedSchedule { zero: ScheduleZero::First });
    assert_summary(
        vec![plan],
        recorded(),
        "\
profiling
  requests      8 in 8 sessions
  dispatches    from 0.000 s to 1.750 s
  offered       8, of which 0 missed a slot
  rate          4.57 requests/s while sending
  at most       6 live sessions, 6 requests in flight, 1 without a first token
  ends          at 2.850 s: nothing is left to send at 1.750 s, then what is in
                flight is awaited
",
    );
}

#[test]
fn the_summary_of_several_phases() {
    let warmup = PhasePlan::new(PhaseKind::Warmup, Arrival::Concurrency);
    let warmup = PhasePlan { concurrency: Some(2), stop: vec![StopWhen::Requests(4)], ..warmup };
    let first = phase(rate(ArrivalLaw::Poisson, 10.0, None), StopWhen::Requests(20));
    let second =
        PhasePlan { name: "storm".to_owned(), seamless: true, ..phase(Arrival::Concurrency, StopWhen::Requests(50)) };
    assert_summary(
        vec![warmup, first, second],
        Shapes::single(10),
        "\
warmup
  requests      4 in 4 sessions
  dispatches    from 0.000 s to 1.620 s
  rate          2.47 requests/s while sending
  at most       2 live sessions, 2 requests in flight, 2 without a first token
  ends          at 2.615 s: its request count is reached at 1.620 s, then what
                is in flight is awaited

profiling
  requests      20 in 20 sessions
  dispatches    from 2.623 s to 4.121 s
  offered       20, of which 0 missed a slot
  rate          13.27 requests/s while sending
  at most       15 live sessions, 15 requests in flight, 5 without a first token
  ends          at 5.155 s: its request count is reached at 4.121 s, then what
                is in flight is awaited

storm (profiling)
  starts        at 4.121 s, while 13 requests of earlier phases are in flight
  requests      50 in 50 sessions
  dispatches    from 4.121 s to 56.275 s
  rate          0.9587 requests/s while sending
  at most       1 live session, 1 request in flight, 1 without a first token
  ends          at 57.459 s: its request count is reached at 56.275 s, then what
                is in flight is awaited
",
    );
}

#[test]
fn a_picture_is_well_formed_and_names_its_phases() {
    let warmup = PhasePlan::new(PhaseKind::Warmup, Arrival::Concurrency);
    let warmup = PhasePlan { concurrency: Some(2), stop: vec![StopWhen::Requests(9)], ..warmup };
    let few = PhasePlan {
        name: "a<b>&\"c".to_owned(),
        ..phase(rate(ArrivalLaw::Poisson, 10.0, None), StopWhen::Requests(90))
    };
    let svg = svg(&plan(vec![warmup, few]), Shapes::single(10));
    let elements = elements(&svg);
    assert_eq!(elements[0], "svg");
    assert!(!elements.contains(&"script"));
    assert!(svg.contains(">warmup</text>") && svg.contains(">a&lt;b&gt;&amp;&quot;c</text>"), "{svg}");
    // One tick per arrival, and one curve for the rate.
    let ticks = svg.lines().find(|line| line.contains("class=\"tick\"")).expect("ticks");
    assert_eq!(ticks.matches('M').count(), 99);
    assert_eq!(elements.iter().filter(|name| **name == "polyline").count(), 1);
    assert_eq!(legend(&svg), ["arrivals", "wanted rate", "in flight", "waiting for first token", "sending ends"]);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

/// The labels of the legend.
fn legend(svg: &str) -> Vec<&str> {
    let entries = svg.lines().filter(|line| line.starts_with("<text") && line.contains("y=\"16\""));
    entries.filter_map(|line| line.split(['<', '>']).nth(2)).collect()
}

/// The positions of the upper edges of a shape.
fn edges(svg: &str, class: &str) -> Vec<f64> {
    let shapes = svg.lines().filter(|line| line.starts_with(&format!("<path class=\"{class}\" d=\"M56.0 ")));
    let places = shapes.flat_map(|line| line.split('L').skip(1));
    places.filter_map(|place| place.split([' ', 'H', 'Z', '"']).nth(1)?.parse().ok()).collect()
}

#[test]
fn a_constant_rate_is_flat() {
    let plan = plan(vec![phase(rate(ArrivalLaw::Constant, 10.0, None), StopWhen::Elapsed(Nanos(4 * SECOND)))]);
    let svg = svg(&plan, Shapes::single(10));
    let area = svg.lines().find(|line| line.starts_with("<path class=\"area\" d=\"M")).expect("rates");
    // Up, along one edge, and down.
    assert_eq!((area.matches('L').count(), area.matches('H').count()), (2, 1), "{area}");
    let wanted = svg.lines().find(|line| line.contains("class=\"wanted\" points")).expect("the wanted rate");
    let height = |place: &str| place.split(['H', ',', ' ']).nth(1).expect("a height").to_owned();
    assert_eq!(
        height(area.split('L').nth(1).expect("an edge")),
        height(wanted.split("points=\"").nth(1).expect("points"))
    );
}

#[test]
fn missed_requests_are_drawn_and_counted() {
    let capped = PhasePlan {
        concurrency: Some(6),
        ..phase(rate(ArrivalLaw::Constant, 20.0, None), StopWhen::Elapsed(Nanos(4 * SECOND)))
    };
    let plan = plan(vec![capped]);
    let (_, account) = rehearsed(&plan, Shapes::single(10));
    let missed = account.phases()[0].counts.missed;
    assert!(missed > 10, "{missed}");
    let svg = svg(&plan, Shapes::single(10));
    elements(&svg);
    assert!(legend(&svg).contains(&format!("missed: {missed}").as_str()), "{:?}", legend(&svg));
    let ticks = svg.lines().find(|line| line.contains("class=\"missed-tick\"")).expect("ticks of missed requests");
    assert_eq!(ticks.matches('M').count() as u64, missed);
    // Together with the sent requests, they make up the requested rate: one edge.
    let area = svg.lines().find(|line| line.starts_with("<path class=\"missed\" d=\"M")).expect("missed requests");
    let top: f64 =
        area.split('L').nth(1).and_then(|edge| edge.split([' ', 'H']).nth(1)?.parse().ok()).expect("an edge");
    assert!(edges(&svg, "area").iter().all(|edge| *edge >= top), "{svg}");
}

#[test]
fn a_picture_of_many_phases_with_long_names_is_well_formed() {
    let named = |index: usize| PhasePlan {
        name: format!("{index} {}", "a very long name ".repeat(9)),
        concurrency: Some(2),
        ..phase(Arrival::Concurrency, StopWhen::Requests(5))
    };
    let svg = svg(&plan((0..20).map(named).collect()), Shapes::single(10));
    elements(&svg);
    let names: Vec<&str> = svg.lines().filter(|line| line.contains("class=\"name\"")).collect();
    assert!(names.len() >= 10 && names.iter().all(|line| line.contains('\u{2026}')), "{names:?}");
    assert!(svg.len() < 64_000, "{}", svg.len());
}

#[test]
fn many_arrivals_are_a_density_and_the_picture_stays_small() {
    let plan = plan(vec![phase(rate(ArrivalLaw::Poisson, 500.0, None), StopWhen::Requests(5000))]);
    let svg = svg(&plan, Shapes::single(10));
    elements(&svg);
    assert!(!svg.contains("class=\"tick\""));
    assert!(svg.len() < 64_000, "{}", svg.len());
}

#[test]
fn a_picture_of_one_instant_is_well_formed() {
    let plan = plan(vec![phase(Arrival::Concurrency, StopWhen::Requests(1))]);
    elements(&svg(&plan, Shapes::single(1)));
}

#[test]
fn the_line_of_a_dispatch_has_all_fields() {
    let plan = plan(vec![PhasePlan::new(PhaseKind::Profiling, Arrival::FixedSchedule { zero: ScheduleZero::First })]);
    let setup = Setup::of(&plan, Arc::new(recorded()));
    let mut out = Vec::new();
    for moment in Rehearsal::new(setup, SERVER) {
        if let RehearsalKind::Sent(dispatch, intended) = moment.what {
            lines::write(&mut out, "odd \"name\"", moment.at, intended, &dispatch).expect("a write to memory succeeds");
        }
    }
    let text = String::from_utf8(out).expect("text");
    let last: serde_json::Value = serde_json::from_str(text.lines().last().expect("lines")).expect("JSON");
    let wanted = serde_json::json!({
        "t_s": 1.75, "intended_s": 1.75, "phase": "odd \"name\"", "number": 7, "session": 7, "conversation": 7,
        "turn": 0, "turns": 1, "url": 0, "cancel_after_ms": null, "scheduled_send_ms": 1750.0,
    });
    assert_eq!(last, wanted);
}
