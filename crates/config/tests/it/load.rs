//! Settings of load, and the phases they become or the reason for a refusal.

use aiperf_config::{ConfigError, Context, Resolved, resolve_profile};
use aiperf_plan::{
    Arrival, ArrivalLaw, Cancellation, DatasetPlan, Distribution, PhasePlan, Ramp, RampStrategy, RateLevel, RatePlan,
    RatePoint, Sampling, ScheduleZero, StopWhen, TimestampWindow,
};
use aiperf_types::{Nanos, PhaseKind};
use std::collections::BTreeMap;

const FILES: &[(&str, &str)] = &[
    ("one.jsonl", "{\"text\": \"a\", \"timestamp\": 5}\n{\"text\": \"b\", \"timestamp\": 9}\n"),
    ("turns.jsonl", "{\"turns\": [{\"text\": \"a\"}, {\"text\": \"b\", \"delay\": 10}]}\n"),
    ("bodies.jsonl", "{\"messages\": []}\n"),
    ("series.json", "{\"points\": [{\"time_s\": 0, \"qps\": \"1\"}, {\"time_s\": 60, \"qps\": 9}]}"),
];

fn resolved_with(files: &[(&str, &str)], env: &[(&str, &str)], args: &[&str]) -> Result<Resolved, ConfigError> {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, text) in FILES.iter().chain(files) {
        std::fs::write(dir.path().join(name), text).expect("a file");
    }
    let env: BTreeMap<String, String> = env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() };
    resolve_profile(&args, &ctx)
}

/// The result of a command line; words are split at spaces.
fn line(line: &str) -> Resolved {
    tried(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn tried(line: &str) -> Result<Resolved, ConfigError> {
    let words: Vec<&str> = ["-m", "m", "-u", "h:1", "--streaming"].into_iter().chain(line.split_whitespace()).collect();
    resolved_with(&[], &[], &words)
}

fn refusal(text: &str) -> String {
    let error = tried(text).expect_err(text);
    assert_eq!(error.exit_code(), 2, "{text}");
    error.to_string()
}

/// A file with these lines as its dataset and phases.
fn document(dataset: &str, phases: &str) -> String {
    format!(
        "benchmark:\n  model: m\n  endpoint: {{url: h:1, streaming: true}}\n  dataset: {dataset}\n  phases:\n{phases}"
    )
}

fn file(dataset: &str, phases: &str) -> Result<Resolved, ConfigError> {
    resolved_with(&[("c.yaml", &document(dataset, phases))], &[], &["-f", "c.yaml"])
}

fn profiling(arrival: Arrival) -> PhasePlan {
    PhasePlan::new(PhaseKind::Profiling, arrival)
}

fn rate(law: ArrivalLaw, rate: f64) -> Arrival {
    Arrival::Rate { law, rate: RatePlan::fixed(rate) }
}

fn seconds(seconds: u64) -> Nanos {
    Nanos::from_millis(seconds * 1000)
}

#[test]
fn flags_become_one_phase() {
    let ten = vec![StopWhen::Requests(10)];
    let poisson = profiling(rate(ArrivalLaw::Poisson, 5.0));
    let slow = Ramp::linear(seconds(3));
    let points = vec![RatePoint { seconds: 0.0, rate: 1.0 }, RatePoint { seconds: 60.0, rate: 9.0 }];
    let series = |ramp| Arrival::Rate {
        law: ArrivalLaw::Constant,
        rate: RatePlan { level: RateLevel::Series(points.clone()), ramp },
    };
    for (args, expected) in [
        ("", PhasePlan { concurrency: Some(1), stop: ten.clone(), ..profiling(Arrival::Concurrency) }),
        ("--request-rate 5", PhasePlan { stop: ten.clone(), ..poisson.clone() }),
        (
            "--request-rate 5 --concurrency 8 --benchmark-duration 60",
            PhasePlan {
                concurrency: Some(8),
                stop: vec![StopWhen::Elapsed(seconds(60))],
                grace: Some(seconds(30)),
                ..poisson.clone()
            },
        ),
        (
            "--request-rate 5 --benchmark-duration 60 --benchmark-grace-period inf",
            PhasePlan { stop: vec![StopWhen::Elapsed(seconds(60))], grace: None, ..poisson.clone() },
        ),
        (
            "--request-rate 5 --arrival-pattern constant",
            PhasePlan { stop: ten.clone(), ..profiling(rate(ArrivalLaw::Constant, 5.0)) },
        ),
        (
            "--request-rate 5 --arrival-smoothness 2.5",
            PhasePlan { stop: ten.clone(), ..profiling(rate(ArrivalLaw::Gamma { smoothness: 2.5 }, 5.0)) },
        ),
        (
            "--request-rate 5 --arrival-pattern gamma",
            PhasePlan { stop: ten.clone(), ..profiling(rate(ArrivalLaw::Gamma { smoothness: 1.0 }, 5.0)) },
        ),
        (
            "--request-rate-series series.json --arrival-pattern constant",
            PhasePlan { stop: ten.clone(), ..profiling(series(None)) },
        ),
        (
            "--request-rate-series series.json --arrival-pattern constant --request-rate-ramp-duration 3",
            PhasePlan { stop: ten.clone(), ..profiling(series(Some(slow))) },
        ),
        (
            "--concurrency 8 --prefill-concurrency 4 --concurrency-ramp-duration 3 --prefill-concurrency-ramp-duration 3 --request-count 7",
            PhasePlan {
                concurrency: Some(8),
                concurrency_ramp: Some(slow),
                prefill_concurrency: Some(4),
                prefill_ramp: Some(slow),
                stop: vec![StopWhen::Requests(7)],
                ..profiling(Arrival::Concurrency)
            },
        ),
        (
            "--user-centric-rate 2 --num-users 20 --session-turns-mean 3",
            PhasePlan {
                stop: vec![StopWhen::Requests(40)],
                ..profiling(Arrival::UserCentric { users: 20, rate: 2.0 })
            },
        ),
        (
            "--concurrency 2 --num-sessions 5 --request-cancellation-rate 10 --failed-request-threshold 0.5",
            PhasePlan {
                concurrency: Some(2),
                stop: vec![StopWhen::Sessions(5)],
                failed_request_threshold: Some(0.5),
                cancellation: Some(Cancellation { rate_percent: 10.0, delay: Nanos::ZERO }),
                ..profiling(Arrival::Concurrency)
            },
        ),
    ] {
        assert_eq!(line(args).into_plan().phases, [expected], "{args}");
    }
}

#[test]
fn a_warmup_is_like_profiling_except_for_its_own_flags() {
    let phases = line("--request-rate 5 --concurrency 4 --request-rate-ramp-duration 2 --warmup-request-count 3 --warmup-arrival-pattern constant --warmup-request-rate 1").into_plan().phases;
    let [warmup, profiling] = &phases[..] else { panic!("{phases:?}") };
    let ramp = Some(Ramp::linear(seconds(2)));
    let climbing = |law, level| Arrival::Rate { law, rate: RatePlan { level: RateLevel::Fixed(level), ramp } };
    assert_eq!(warmup.arrival, climbing(ArrivalLaw::Constant, 1.0));
    assert_eq!(profiling.arrival, climbing(ArrivalLaw::Poisson, 5.0));
    assert_eq!((warmup.concurrency, &warmup.stop[..], warmup.grace), (Some(4), &[StopWhen::Requests(3)][..], None));
    let timed = line("--request-rate 5 --warmup-duration 3").into_plan().phases;
    assert_eq!((timed[0].concurrency, timed[0].grace), (None, None));
    let timed = line("--warmup-duration 3 --warmup-grace-period 1").into_plan().phases;
    assert_eq!((timed[0].concurrency, timed[0].grace), (Some(1), Some(seconds(1))));
}

#[test]
fn a_file_may_have_any_list_of_phases() {
    let phases = "    - {name: warm, kind: warmup, type: constant, rate: 2, duration: 5, seamless: false}
    - {name: a, kind: profiling, type: poisson, rate: 5, rate_ramp: 10s, duration: 1m}
    - {name: again, kind: warmup, type: concurrency, requests: 3, seamless: true}
    - {name: b, kind: profiling, type: gamma, smoothness: 4, rate: 5, rate_ramp: {duration: 2, strategy: exponential}, duration: inf, requests: 7, seamless: true, grace_period: 3}
    - {name: c, kind: profiling, type: concurrency, concurrency: 9, concurrency_ramp: {duration: 1 min, strategy: poisson}, sessions: 4, cancellation: {rate: 5, delay: 0.5}}
    - {name: d, kind: profiling, type: constant, rate_series: [{time_s: 1, qps: 2}, {time_s: 3, qps: 4}], duration: 2h, grace_period: inf}
    - {name: e, kind: profiling, type: poisson, rate_series: {path: series.json}, requests: 5}
    - {name: f, kind: profiling, type: poisson, rate_series: series.json, requests: 5}
";
    let resolved = file("{isl: 8}", phases).expect("a plan");
    let plan = &resolved.plan().phases;
    let names: Vec<&str> = plan.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["warm", "a", "again", "b", "c", "d", "e", "f"]);
    let seamless: Vec<bool> = plan.iter().map(|phase| phase.seamless).collect();
    assert_eq!(seamless, [false, false, false, true, false, false, false, false]);
    assert!(resolved.notes.iter().any(|note| note.contains("phases.2.seamless")), "{:?}", resolved.notes);
    let grace: Vec<Option<Nanos>> = plan.iter().map(|phase| phase.grace).collect();
    assert_eq!(grace, [None, Some(Nanos::ZERO), None, Some(seconds(3)), None, None, None, None]);
    let ramp_of = |phase: &PhasePlan| match &phase.arrival {
        Arrival::Rate { rate, .. } => rate.ramp,
        other => panic!("{other:?}"),
    };
    assert_eq!(ramp_of(&plan[1]), Some(Ramp::linear(seconds(10))));
    assert_eq!(ramp_of(&plan[3]), Some(Ramp { duration: seconds(2), strategy: RampStrategy::Exponential }));
    assert_eq!(plan[3].stop, [StopWhen::Requests(7)]);
    assert_eq!(plan[4].concurrency_ramp, Some(Ramp { duration: seconds(60), strategy: RampStrategy::Poisson }));
    assert_eq!(plan[4].concurrency, Some(9));
    let cancels: Vec<bool> = plan.iter().map(|phase| phase.cancellation.is_some()).collect();
    assert_eq!(cancels, [false, true, false, true, true, true, true, true]);
    for (index, last) in [(5, 4.0), (6, 9.0), (7, 9.0)] {
        let Arrival::Rate { rate: RatePlan { level: RateLevel::Series(points), .. }, .. } = &plan[index].arrival else {
            panic!("{:?}", plan[index])
        };
        assert_eq!(points.last().map(|point| point.rate), Some(last));
    }
}

#[test]
fn a_fixed_schedule_ends_by_itself_or_at_a_limit_of_the_user() {
    let of = |more: &str| line(&format!("--fixed-schedule --input-file one.jsonl {more}")).into_plan();
    let plan = of("");
    assert_eq!(plan.phases, [profiling(Arrival::FixedSchedule { zero: ScheduleZero::First })]);
    assert_eq!(plan.input_config["phases"][0]["requests"], 2);
    let cut = of("--request-count 1 --benchmark-duration 3 --benchmark-grace-period 0");
    assert_eq!(cut.phases[0].stop, [StopWhen::Requests(1), StopWhen::Elapsed(seconds(3))]);
    let window = |plan: &aiperf_plan::Plan| match &plan.dataset {
        DatasetPlan::File(file) => file.window,
        other => panic!("{other:?}"),
    };
    assert_eq!(window(&cut), TimestampWindow::default());
    let from = of("--fixed-schedule-start-offset 6 --fixed-schedule-end-offset 9");
    assert_eq!(window(&from), TimestampWindow { start_ms: Some(6.0), end_ms: Some(9.0) });
    assert_eq!(from.phases[0].arrival, Arrival::FixedSchedule { zero: ScheduleZero::At(6.0) });
    let phase = "    - {name: profiling, type: fixed_schedule, auto_offset: false}\n";
    let plan = file("{type: file, path: one.jsonl}", phase).expect("a plan").into_plan();
    assert_eq!(plan.phases[0].arrival, Arrival::FixedSchedule { zero: ScheduleZero::At(0.0) });
}

#[test]
fn conversations_have_the_requested_turns_delays_and_order() {
    let plan = line("--num-sessions 5 --session-turns-mean 4 --session-turns-stddev 1 --session-turn-delay-mean 100 --session-turn-delay-stddev 10 --session-delay-ratio 0.5 --dataset-sampling-strategy shuffle").into_plan();
    assert_eq!(plan.sampling, Sampling::Shuffle);
    let DatasetPlan::Synthetic(made) = plan.dataset else { panic!() };
    assert_eq!(made.entries, 5);
    assert_eq!(made.turns.count, Distribution::normal(4.0, 1.0));
    assert_eq!((made.turns.delay_ms, made.turns.delay_ratio), (Distribution::normal(100.0, 10.0), 0.5));
    let plan = line("--request-count 40 --session-turns-mean 4").into_plan();
    assert_eq!(plan.dataset.entries(), Some(40));
    let phase = "    - {name: profiling, type: user_centric, users: 2, rate: 1, sessions: 4}\n";
    let warmup = "    - {name: warmup, type: user_centric, users: 2, rate: 1, duration: 5}\n";
    let phases = format!("{warmup}{phase}");
    let plan = file("{type: file, path: turns.jsonl, turn_delay_ratio: 0.25}", &phases).expect("a plan").into_plan();
    assert_eq!(plan.phases[0].arrival, Arrival::UserCentric { users: 2, rate: 1.0 });
    let DatasetPlan::File(read) = plan.dataset else { panic!() };
    assert_eq!((read.format.name(), read.delay_ratio), ("multi_turn", 0.25));
}

#[test]
fn delays_of_conversations_are_capped_by_flag_and_by_key() {
    let cap = |resolved: Resolved| match resolved.into_plan().dataset {
        DatasetPlan::File(read) => read.delay_cap_ms,
        _ => panic!("a file"),
    };
    assert_eq!(cap(line("--input-file turns.jsonl --inter-turn-delay-cap-seconds 1.5")), Some(1500.0));
    assert_eq!(cap(line("--input-file turns.jsonl --inter-turn-delay-cap-seconds 0")), Some(0.0));
    assert_eq!(cap(line("--input-file turns.jsonl")), None);
    let phase = "    - {name: profiling, type: concurrency, sessions: 4}\n";
    let keyed = file("{type: file, path: turns.jsonl, inter_turn_delay_cap_seconds: 2}", phase);
    assert_eq!(cap(keyed.expect("a plan")), Some(2000.0));
}

#[test]
fn the_number_of_prompts_limits_very_many_turns() {
    let resolved = line("--request-count 100000000 --session-turns-mean 100 --isl 100");
    assert_eq!(resolved.plan().dataset.entries(), Some(400_000));
    assert!(resolved.notes.iter().any(|note| note.contains("prompts are made")), "{:?}", resolved.notes);
}

#[test]
fn the_environment_sets_the_timing_of_the_schedule() {
    let env = [("AIPERF_TIMING_MAX_CATCHUP_SECONDS", "0.01"), ("AIPERF_SERVICE_WARMUP_PROGRESS_LOG_INTERVAL", "5")];
    let timing = resolved_with(&[], &env, &["-m", "m", "-u", "h:1"]).expect("a plan").into_plan().timing;
    assert_eq!((timing.max_catchup, timing.warmup_log_interval), (Some(Nanos::from_millis(10)), Some(seconds(5))));
    assert_eq!(line("").into_plan().timing, aiperf_plan::TimingPlan::default());
}

#[test]
fn settings_without_effect_are_noted() {
    for (args, expected) in [
        ("--arrival-pattern constant", "--arrival-pattern constant has no effect"),
        ("--concurrency-ramp-duration 5", "--concurrency-ramp-duration 5 has no effect: the concurrency is 1"),
        (
            "--request-rate 5 --concurrency-ramp-duration 5",
            "--concurrency-ramp-duration 5 has no effect: there is no concurrency to ramp to",
        ),
        ("--prefill-concurrency 4", "--prefill-concurrency 4 has no effect: the concurrency is 1"),
        ("--prefill-concurrency-ramp-duration 5", "--prefill-concurrency-ramp-duration 5 has no effect"),
        ("--warmup-request-count 2 --warmup-arrival-pattern gamma", "--warmup-arrival-pattern gamma has no effect"),
        ("--fixed-schedule --no-fixed-schedule --input-file one.jsonl", "--no-fixed-schedule has no effect"),
        ("--session-turn-delay-mean 5", "--session-turn-delay-mean 5 has no effect"),
        ("--session-turns-mean 3 --endpoint-type nim_rankings", "--session-turns-mean 3 has no effect"),
    ] {
        let notes = line(args).notes;
        assert!(notes.iter().any(|note| note.starts_with(expected)), "{args}: {notes:?}");
    }
    assert!(line("--arrival-pattern concurrency-burst --concurrency 4").notes.is_empty());
}

#[test]
fn failures_of_a_warmup_do_not_end_the_run() {
    let phases = "    - {name: warm, kind: warmup, type: concurrency, requests: 3, failed_request_threshold: 0.5}
    - {name: main, kind: profiling, type: concurrency, requests: 3, failed_request_threshold: 0.5}\n";
    let resolved = file("{type: synthetic}", phases).expect("a plan");
    let thresholds: Vec<Option<f64>> =
        resolved.plan().phases.iter().map(|phase| phase.failed_request_threshold).collect();
    assert_eq!(thresholds, [None, Some(0.5)]);
    let is_noted = |note: &String| note.contains("phases.0.failed_request_threshold") && note.contains("has no effect");
    assert!(resolved.notes.iter().any(is_noted), "{:?}", resolved.notes);
}

#[test]
fn flags_that_exclude_each_other_are_refused_before_anything_is_sent() {
    for (args, expected) in [
        ("--request-rate 5 --arrival-pattern concurrency_burst", &["--arrival-pattern", "--request-rate"][..]),
        ("--request-rate-series series.json --arrival-pattern concurrency-burst", &["--request-rate-series"]),
        (
            "--warmup-request-count 2 --warmup-request-rate 5 --warmup-arrival-pattern concurrency_burst",
            &["--warmup-arrival-pattern", "--warmup-request-rate"],
        ),
        (
            "--warmup-request-count 2 --warmup-request-rate 5 --arrival-pattern concurrency_burst",
            &["--arrival-pattern", "--warmup-request-rate"],
        ),
        (
            "--warmup-request-count 2 --request-rate 5 --arrival-pattern poisson --warmup-arrival-pattern concurrency_burst",
            &["--warmup-arrival-pattern", "--request-rate"],
        ),
        (
            "--user-centric-rate 1 --num-users 2 --session-turns-mean 2 --request-rate-ramp-duration 5",
            &["--request-rate-ramp-duration 5", "user-centric"],
        ),
        ("--fixed-schedule", &["fixed_schedule", "--input-file"]),
        (
            "--fixed-schedule --input-file one.jsonl --user-centric-rate 5 --num-users 2",
            &["--fixed-schedule and --user-centric-rate exclude each other\n  each sets when requests are sent"],
        ),
        (
            "--fixed-schedule --input-file one.jsonl --request-rate 5",
            &["--fixed-schedule and --request-rate exclude each other"],
        ),
        ("--fixed-schedule --input-file bodies.jsonl", &["timestamps", "bodies.jsonl"]),
        (
            "--fixed-schedule --input-file one.jsonl --dataset-sampling-strategy shuffle",
            &["--dataset-sampling-strategy shuffle"],
        ),
        ("--user-centric-rate 1 --num-users 2 --input-file one.jsonl", &["one.jsonl", "multi_turn"]),
        (
            "--user-centric-rate 1 --num-users 2 --input-file one.jsonl --custom-dataset-type single_turn",
            &["one.jsonl", "rows of single_turn", "multi_turn"],
        ),
        ("--input-file one.jsonl --inter-turn-delay-cap-seconds 5", &["--inter-turn-delay-cap-seconds", "multi_turn"]),
        ("--input-file bodies.jsonl --inter-turn-delay-cap-seconds 5", &["--inter-turn-delay-cap-seconds"]),
        ("--session-turns-mean 2 --inter-turn-delay-cap-seconds 5", &["--inter-turn-delay-cap-seconds"]),
        ("--input-file turns.jsonl --inter-turn-delay-cap-seconds -1", &["--inter-turn-delay-cap-seconds"]),
        ("--user-centric-rate 1 --num-users 2", &["--session-turns-mean 2"]),
        ("--user-centric-rate 1 --session-turns-mean 2", &["users", "--num-users"]),
        (
            "--user-centric-rate 1 --session-turns-mean 2 --num-users 9 --num-sessions 3",
            &["--num-sessions 3", "--num-users 9"],
        ),
        ("--request-rate 5 --arrival-pattern poisson --arrival-smoothness 2", &["--arrival-smoothness", "gamma"]),
        ("--arrival-smoothness 2", &["--arrival-smoothness", "gamma"]),
        ("--concurrency 2 --prefill-concurrency 4", &["--prefill-concurrency 4", "--concurrency 2"]),
        ("--benchmark-duration inf", &["--benchmark-duration", "never ends"]),
        ("--request-rate 1e8", &["--request-rate", "at most 10000000"]),
        ("--request-rate 1e-12", &["--request-rate", "at least 0.000000001"]),
        ("--request-rate 1 --arrival-smoothness 1e-9", &["--arrival-smoothness", "at least 0.001"]),
        ("--concurrency 5000000000", &["--concurrency 5000000000", "at most 1000000"]),
        ("--user-centric-rate 1 --session-turns-mean 2 --num-users 5000000000", &["--num-users 5000000000"]),
        (
            "--user-centric-rate 1e-6 --session-turns-mean 2 --num-users 10000",
            &["--user-centric-rate", "--num-users 10000"],
        ),
        (
            "--concurrency 4 --concurrency-ramp-duration 1e300",
            &["--concurrency-ramp-duration", "at most 1000000000 seconds"],
        ),
        ("--concurrency 4 --concurrency-ramp-duration inf", &["--concurrency-ramp-duration"]),
        ("--session-turns-mean 1000000000", &["--session-turns-mean 1000000000", "100000 turns"]),
        ("--session-turns-mean 2 --session-turn-delay-mean 1e300", &["--session-turn-delay-mean"]),
        ("--session-turns-mean 2 --session-turn-delay-mean 1 --session-delay-ratio 1e300", &["--session-delay-ratio"]),
    ] {
        let error = refusal(args);
        for part in expected {
            assert!(error.contains(part), "{args}\n{error}");
        }
    }
}

#[test]
fn prefills_are_limited_only_if_their_end_is_visible() {
    let error =
        resolved_with(&[], &[], &["-m", "m", "-u", "h:1", "--prefill-concurrency", "1"]).expect_err("no stream");
    assert!(error.to_string().contains("--prefill-concurrency 1 needs streaming"), "{error}");
}

#[test]
fn impossible_phases_of_a_file_are_refused_by_location() {
    let phase = |text: &str| format!("    - {{name: profiling, {text}}}\n");
    let warmup = |text: &str| {
        format!("    - {{name: warmup, {text}}}\n    - {{name: profiling, type: concurrency, requests: 1}}\n")
    };
    let other = |text: &str| format!("    - {{name: profiling, type: concurrency, requests: 1}}\n    - {{{text}}}\n");
    for (phases, expected) in [
        (phase("type: concurrency"), "one of requests, duration and sessions must end it"),
        (
            phase("type: concurrency, requests: 1, concurrency: 1, prefill_concurrency: 2"),
            "prefill_concurrency 2 is larger",
        ),
        (phase("type: concurrency, requests: 1, grace_period: 5"), "grace_period 5 needs a duration"),
        (other("name: CON, kind: profiling, type: concurrency, requests: 1"), "reserved file name"),
        (other("name: lpt9, kind: profiling, type: concurrency, requests: 1"), "reserved file name"),
        (phase("kind: warmup, type: concurrency, requests: 1"), "cannot be of kind warmup"),
        (other("name: Profiling, kind: profiling, type: concurrency, requests: 1"), "is also the name of phase 0"),
        ("    - {name: warmup, type: concurrency, requests: 1}\n".to_owned(), "there is no profiling phase"),
        (phase("type: concurrency, requests: 1, seamless: true"), "cannot be on the first phase"),
        (phase("type: poisson, requests: 1"), "needs a rate"),
        (phase("type: poisson, requests: 1, rate: 1, rate_series: series.json"), "exclude each other"),
        (phase("type: user_centric, users: 1, requests: 1, rate: 1, rate_series: series.json"), "does not belong to"),
        (phase("type: user_centric, users: 9, requests: 1, rate: 1"), "is less than"),
        (phase("type: user_centric, users: 1, requests: 9, rate: 1, rate_ramp: 5"), "rate_ramp 5 cannot be used"),
        (phase("type: user_centric, users: 1, requests: 9, rate: 1"), "needs conversations of several turns"),
        (phase("type: fixed_schedule, auto_offset: true, start_offset: 4"), "exclude each other"),
        (phase("type: fixed_schedule, start_offset: 4, end_offset: 3"), "is after"),
        (phase("type: fixed_schedule"), "needs a file with timestamps"),
        (
            phase("type: concurrency, requests: 1, trajectory_start_min_ratio: 0.8, trajectory_start_max_ratio: 0.1"),
            "trajectory_start_max_ratio is not there yet",
        ),
        (warmup("type: user_centric, users: 5, rate: 1, requests: 4"), "is less than"),
        (warmup("type: fixed_schedule"), "type fixed_schedule cannot be used for a warmup"),
        (phase("type: concurrency, requests: 1, concurrency_ramp: {strategy: linear}"), "needs a duration"),
        (phase("type: concurrency, requests: 1, concurrency_ramp: inf"), "never reaches its value"),
        (
            phase("type: concurrency, requests: 1, concurrency_ramp: {duration: 5, strategy: quadratic}"),
            "is not one of its choices",
        ),
        (phase("type: poisson, requests: 1, rate_series: [{time_s: 0, qps: 1}, {time_s: 0, qps: 2}]"), "in point 1"),
        (
            phase("type: poisson, requests: 1, rate_series: [{time_s: 0, qps: 1}, {time_s: 1, qps: 1e9}]"),
            "qps 1000000000 in point 1",
        ),
        (phase("type: poisson, requests: 1, rate_series: {path: nope.json}"), "nope.json: no such file"),
        (phase("type: concurrency, requests: 1, adaptive_scale: true, duration: 5"), "adaptive_scale"),
        (phase("type: concurrency, requests: 1, timing_mode: agentic_replay"), "timing_mode is not there yet"),
    ] {
        let error = file("{isl: 8}", &phases).expect_err(&phases);
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(expected), "{phases}\n{error}");
    }
    let two = "    - {name: a, kind: profiling, type: fixed_schedule, end_offset: 5}\n    - {name: b, kind: profiling, type: fixed_schedule}\n";
    let error = file("{type: file, path: one.jsonl}", two).expect_err("two pieces of one file").to_string();
    assert!(error.contains("c.yaml:7:") && error.contains("different offsets"), "{error}");
}

#[test]
fn a_bad_value_is_reported_once_with_its_location() {
    let phase = |text: &str| format!("    - {{name: profiling, {text}}}\n");
    let named = |name: &str| format!("    - {{name: {name}, kind: profiling, type: concurrency, requests: 1}}\n");
    for (phases, expected) in [
        (
            phase("type: concurrency, requests: 1, cancellation: {rate: 101}"),
            "cancellation.rate 101 must be at least 0 and at most 100",
        ),
        (
            phase("type: poisson, rate: 1, requests: 1, rate_ramp: {duration: 0}"),
            "rate_ramp.duration 0 must be more than 0",
        ),
        (phase("type: concurrency, requests: 1, kind: bogus"), "kind bogus is not one of its choices"),
        (
            "    - {name: a, type: concurrency, requests: 1, kind: bogus}\n".to_owned(),
            "kind bogus is not one of its choices",
        ),
        (
            phase("type: poisson, requests: 1, rate_series: [{time_s: 0, qps: 0}, {time_s: 1, qps: 1}]"),
            "qps 0 must be more than 0",
        ),
        (
            phase("type: poisson, requests: 1, rate_series: [{time_s: 0, qps: 1}, {time_s: 1}]"),
            "needs a finite time_s and qps",
        ),
        (
            phase("type: poisson, requests: 1, rate_series: [{time_s: 0, qps: 1}, {time_s: 1, qps: .inf}]"),
            "needs a finite time_s and qps",
        ),
        (
            phase("type: poisson, requests: 1, rate_series: {path: series.json, points: []}"),
            "rate_series has both path and points, which exclude each other",
        ),
        (
            phase("type: concurrency, requests: 18446744073709551615"),
            "requests 1.8446744073709552e19 must be at most 1000000000000",
        ),
        (
            phase("type: concurrency, requests: '18446744073709551615'"),
            "requests 18446744073709551615 must be at most 1000000000000",
        ),
        (phase("type: concurrency, requests: 1, concurrency: 1e30"), "concurrency 1e30 must be at most 1000000"),
        (
            phase("type: concurrency, requests: 1, concurrency: 2, prefill_concurrency: 5"),
            "phase 'profiling': prefill_concurrency 5 is larger than concurrency 2",
        ),
        (
            named(&"a".repeat(101)),
            "benchmark.phases.0.name has 101 characters\n  each phase has a folder with its name",
        ),
    ] {
        let error = file("{isl: 8}", &phases).expect_err(&phases);
        assert_eq!(error.exit_code(), 2);
        assert_eq!(error.problems().len(), 1, "{phases}\n{error}");
        let text = error.to_string();
        assert!(text.starts_with("c.yaml:6:") && text.contains(expected), "{phases}\n{text}");
    }
    assert!(file("{isl: 8}", &named(&"a".repeat(100))).is_ok());
    let users = phase("type: user_centric, users: 9, requests: 1, rate: 1");
    let error = file("{isl: 8, turns: 2}", &users).expect_err("too few requests").to_string();
    assert!(error.starts_with("c.yaml:6:") && error.contains("requests 1 is less than users 9"), "{error}");
    let error = file("{isl: 8}", "    []\n").expect_err("no phase").to_string();
    assert!(error.starts_with("c.yaml:5:3: there is no phase\n"), "{error}");
}

#[test]
fn a_series_may_begin_with_a_byte_order_mark() {
    let text = "\u{feff}[{\"time_s\": 0, \"qps\": 1}, {\"time_s\": 1, \"qps\": 2}]";
    let args = ["-m", "m", "-u", "h:1", "--request-rate-series", "x.json"];
    assert!(resolved_with(&[("x.json", text)], &[], &args).is_ok());
}

#[test]
fn an_error_in_a_series_names_the_file_and_the_point() {
    for (text, expected) in [
        ("", "is empty"),
        ("{", "is not JSON"),
        ("5", "must be a list"),
        ("{\"points\": 5}", "must be a list"),
        ("{\"points\": [], \"more\": 1}", "must be a list"),
        ("[]", "has no point"),
        ("[{\"time_s\": 0, \"qps\": 1}]", "has one point"),
        ("[{\"time_s\": 0, \"qps\": 1}, 5]", "point 1 is not an object"),
        ("[{\"time_s\": 0, \"qps\": 1}, {\"time_s\": 1}]", "point 1 has no qps"),
        ("[{\"time_s\": 0, \"qps\": 1, \"x\": 1}]", "point 0 has an unknown key 'x'"),
        ("[{\"time_s\": 0, \"qps\": 0}]", "point 0 has qps 0, which must be more than 0"),
        ("[{\"time_s\": -1, \"qps\": 1}]", "point 0 has time_s -1, which must be at least 0"),
        ("[{\"time_s\": \"nan\", \"qps\": 1}]", "point 0 has time_s \"nan\", which is not a finite number"),
        ("[{\"time_s\": 0, \"qps\": NaN}]", "is not JSON"),
        ("[{\"time_s\": 2, \"qps\": 1}, {\"time_s\": 2, \"qps\": 1}]", "point 1 has time_s 2 after 2"),
    ] {
        let by_flag = ["-m", "m", "-u", "h:1", "--request-rate-series", "x.json"];
        let by_key = document("{isl: 8}", "    - {name: profiling, type: poisson, requests: 1, rate_series: x.json}\n");
        for (args, start) in [(&by_flag[..], "--request-rate-series x.json: "), (&["-f", "c.yaml"], "c.yaml:6:")] {
            let error = resolved_with(&[("x.json", text), ("c.yaml", &by_key)], &[], args).expect_err(text).to_string();
            assert!(
                error.starts_with(start) && error.contains("x.json: ") && error.contains(expected),
                "{text}\n{error}"
            );
        }
    }
    assert!(refusal("--request-rate-series nope.json").starts_with("--request-rate-series nope.json: no such file"));
    assert!(refusal("--request-rate-series .").contains("is not a file"));
}
