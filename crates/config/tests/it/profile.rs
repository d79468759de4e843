//! The plans of `aiperf profile` for its arguments.

use aiperf_config::flags::{self, FlagType, Status};
use aiperf_config::{ConfigError, Context, Resolved, resolve_config, resolve_profile, short_help};
use aiperf_plan::{
    Additions, CacheBust, CacheReset, Cancellation, Corpus, DashboardPlan, DatasetPlan, GpuSource, LocalSource,
    MarkerKind, MarkerPlace, MetricsPlan, PairedLengths, Plan, Prefixes, RandomStyle, ReadinessMode, RuntimePlan,
    UiKind, VideoPlan, Window,
};
use aiperf_types::{EndpointKind, Nanos, PhaseKind, Slo, Thresholds};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn resolve_in(args: &[&str], env: &[(&str, &str)], terminal: bool) -> Result<Resolved, ConfigError> {
    let env: BTreeMap<String, String> = env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
    let ctx = Context {
        env: &env,
        stdout_is_terminal: terminal,
        cwd: Path::new("/home/me"),
        benchmark_id: "0123456789ab".into(),
    };
    resolve_profile(&args, &ctx)
}

fn resolve(args: &[&str]) -> Result<Resolved, ConfigError> {
    resolve_in(args, &[], false)
}

#[test]
fn the_plainest_run_has_every_default() {
    let plan = resolve(&["-m", "m"]).unwrap().into_plan();
    assert_eq!(plan.endpoint.urls[0].as_str(), "http://localhost:8000");
    assert_eq!(plan.phases[0].requests(), Some(10));
    assert_eq!(plan.phases[0].concurrency, Some(1));
    let DatasetPlan::Synthetic(synthetic) = &plan.dataset else { panic!("not synthetic") };
    assert_eq!((synthetic.entries, synthetic.isl.as_ref().unwrap().mean(), synthetic.osl.as_ref()), (100, 550.0, None));
    assert_eq!(plan.artifacts.dir, Path::new("/home/me/artifacts/m-openai-chat-concurrency1"));
    assert_eq!(plan.runtime.ui, UiKind::None);
}

#[test]
fn twice_the_concurrency_is_sent_by_default() {
    assert_eq!(resolve(&["-m", "m", "--concurrency", "40"]).unwrap().into_plan().phases[0].requests(), Some(80));
}

#[test]
fn a_time_limit_comes_with_a_grace_period_and_a_warmup_waits() {
    let plan = resolve(&["-m", "m", "--benchmark-duration", "60", "--warmup-request-count", "5", "--concurrency", "4"])
        .unwrap()
        .into_plan();
    assert_eq!(
        (plan.phases[0].kind, plan.phases[0].grace, plan.phases[0].concurrency),
        (PhaseKind::Warmup, None, Some(4))
    );
    assert_eq!((plan.phases[1].kind, plan.phases[1].grace), (PhaseKind::Profiling, Some(Nanos::from_millis(30_000))));
    assert_eq!(plan.phases[1].duration(), Some(Nanos::from_millis(60_000)));
}

#[test]
fn the_environment_reaches_the_http_settings() {
    let env = [("AIPERF_HTTP_CONNECTION_LIMIT", "7"), ("AIPERF_HTTP_CONECTION_LIMIT", "8")];
    let resolved = resolve_in(&["-m", "m"], &env, false).unwrap();
    assert_eq!(resolved.plan().endpoint.http.connection_limit, Some(7));
    assert!(
        resolved.notes.iter().any(|note| note.contains("did you mean AIPERF_HTTP_CONNECTION_LIMIT")),
        "{:?}",
        resolved.notes
    );
}

#[test]
fn a_section_of_the_environment_may_be_json_and_single_names_win() {
    let env = [("AIPERF_HTTP", "{\"CONNECTION_LIMIT\": 66, \"TCP_KEEPIDLE\": 9}"), ("aiperf_http_tcp_keepidle", "11")];
    let http = resolve_in(&["-m", "m"], &env, false).unwrap().into_plan().endpoint.http;
    assert_eq!((http.connection_limit, http.keep_idle), (Some(66), 11));
}

#[test]
fn objectives_slices_and_limits_reach_the_plan() {
    let plain = resolve(&["-m", "m"]).unwrap().into_plan().metrics;
    assert_eq!(plain, MetricsPlan::default());
    let args = ["-m", "m", "--goodput", "request_latency:250 time_to_first_token:1e2 request_latency:300"];
    let more = ["--slice-duration", "2.5", "--show-trace-timing"];
    let env = [
        ("AIPERF_METRICS_OSL_MISMATCH_PCT_THRESHOLD", "7.5"),
        ("AIPERF_METRICS", "{\"OSL_MISMATCH_MAX_TOKEN_THRESHOLD\": 9, \"USAGE_PCT_DIFF_THRESHOLD\": 0}"),
        ("AIPERF_DEV_MODE", "1"),
        ("AIPERF_DEV_SHOW_INTERNAL_METRICS", "on"),
    ];
    let resolved = resolve_in(&[&args[..], &more].concat(), &env, false).unwrap();
    let slo = |tag: &str, threshold| Slo { tag: tag.to_owned(), threshold };
    let expected = MetricsPlan {
        limits: Vec::new(),
        until: Vec::new(),
        slos: vec![slo("request_latency", 300.0), slo("time_to_first_token", 100.0)],
        slice: Some(Nanos::from_millis(2500)),
        thresholds: Thresholds { usage_diff_pct: 0.0, osl_mismatch_pct: 7.5, osl_mismatch_tokens: 9 },
        show_internal: true,
        show_experimental: false,
        show_trace_timing: true,
    };
    assert_eq!(resolved.plan().metrics, expected);
    assert_eq!(resolved.plan().input_config["slos"]["time_to_first_token"], 100.0);
    assert_eq!(resolved.plan().input_config["artifacts"]["slice_duration"], 2.5);
}

#[test]
fn no_output_contains_secrets() {
    let args = ["-m", "m", "--api-key", "sk-1", "-H", "Authorization: Bearer sk-2", "-u", "http://u:sk-3@h:1"];
    let plan = resolve(&args).unwrap().into_plan();
    assert_eq!(plan.endpoint.headers, [("Authorization".to_owned(), "Bearer sk-2".to_owned())]);
    let shown = format!("{} {}", plan.run.cli_command, plan.input_config);
    assert!(!shown.contains("sk-"), "{shown}");
    let attributes = "team=perf,api_key=sk-4444,my.password=sk-5555";
    let args = ["-m", "m", "--otel-url", "h", "--otel-resource-attributes", attributes, "authorization=sk-6666"];
    let plan = resolve(&args).unwrap().into_plan();
    let sent = plan.otlp.as_ref().unwrap().attributes.clone();
    assert!(sent.contains(&("api_key".to_owned(), "sk-4444".to_owned())), "{sent:?}");
    let shown = format!("{} {}", plan.run.cli_command, plan.input_config);
    assert!(!shown.contains("sk-") && shown.contains("team=perf,api_key=<redacted>"), "{shown}");
    let redactor = plan.redactor();
    assert_eq!(redactor.hide("it said sk-5555 and sk-6666, perf"), "it said <redacted> and <redacted>, perf");
}

#[test]
fn the_exported_configuration_names_the_directory_of_the_run() {
    for (given, dir) in [
        ("./out", "/home/me/out"),
        ("a/./out//", "/home/me/a/out"),
        (".", "/home/me"),
        ("../out", "/home/me/../out"),
        ("/b/./out", "/b/out"),
    ] {
        let plan = resolve(&["-m", "m", "--artifact-dir", given]).unwrap().into_plan();
        let shown = plan.input_config["artifacts"]["dir"].as_str().unwrap();
        assert_eq!(std::path::Path::new(shown), std::path::Path::new(dir), "{given}");
        assert_eq!(shown.trim_end_matches('/'), dir);
    }
    let plan = resolve(&["-m", "m", "--artifact-dir", "out"]).unwrap().into_plan();
    assert_eq!(plan.input_config["artifacts"]["dir"], "/home/me/out");
    assert_eq!(plan.run.cli_command, "aiperf profile -m m --artifact-dir out");
}

/// A value that a flag accepts.
fn sample(flag: &flags::Flag) -> Vec<String> {
    let number = |range: flags::Range| {
        let low = range.low.map_or(1.0, |(low, with)| if with { low } else { low + 0.5 });
        let n = if range.holds(2.0) { 2.0 } else { low };
        if n.fract() == 0.0 { format!("{}", n as i64) } else { n.to_string() }
    };
    let value = match flag.kind {
        FlagType::Bool => return vec![flag.name.to_owned()],
        FlagType::Int | FlagType::Float | FlagType::IntOrList | FlagType::FloatOrList => number(flag.range()),
        FlagType::Choice(choices) | FlagType::Literal(choices) | FlagType::Choices(choices) => choices[0].to_owned(),
        FlagType::IntChoice(choices) => choices[0].to_string(),
        FlagType::Ints | FlagType::Floats => "16".to_owned(),
        FlagType::Pairs | FlagType::Headers | FlagType::Tags => "key:value".to_owned(),
        FlagType::Goodput => "request_latency:100".to_owned(),
        FlagType::Urls => "localhost:9".to_owned(),
        FlagType::ExistingPath => "/".to_owned(),
        FlagType::Texts if ["--server-metrics", "--gpu-telemetry"].contains(&flag.name) => "node:8001".to_owned(),
        FlagType::Text if flag.name == "--otel-url" => "node:4318".to_owned(),
        FlagType::Texts if flag.name == "--stream" => "timing".to_owned(),
        FlagType::Texts if flag.name == "--otel-resource-attributes" => "team=perf".to_owned(),
        FlagType::Text if flag.name == "--session-header" => "X-Session".to_owned(),
        FlagType::Text | FlagType::Texts | FlagType::Path => "/text".to_owned(),
    };
    vec![flag.name.to_owned(), value]
}

#[test]
fn no_flag_is_ignored() {
    let (mut acts, mut idle, mut later) = (0, 0, 0);
    for flag in flags::all() {
        let mut args = vec!["-m".to_owned(), "m".to_owned()];
        args.extend(sample(flag));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let result = resolve(&args);
        match flag.status {
            Status::Acts => acts += 1,
            Status::NoEffect(reason) => {
                idle += 1;
                let notes = result.unwrap_or_else(|error| panic!("{}: {error}", flag.name)).notes;
                assert!(
                    notes.iter().any(|note| note.contains(flag.name) && note.contains(reason)),
                    "{}: {notes:?}",
                    flag.name
                );
            }
            Status::NotYet(reason) => {
                later += 1;
                let error = result.map(|resolved| resolved.into_plan().run.cli_command).unwrap_err();
                assert_eq!(error.exit_code(), 2);
                // Some flags are refused earlier: by a rule, or for what they need.
                let text = error.to_string();
                assert!(text.contains(flag.name) || text.contains(reason), "{}: {text}", flag.name);
            }
        }
    }
    println!("{acts} act, {idle} have no effect, {later} are not there yet");
}

#[test]
fn gpus_of_this_machine_are_read_by_the_named_collector() {
    let plan = |args: &[&str]| resolve(&[&["-m", "m"], args].concat()).unwrap().into_plan();
    let source = |item: &str| plan(&["--gpu-telemetry", item]).gpu_telemetry.unwrap().source;
    assert_eq!(source("PyNVML"), GpuSource::Local(LocalSource::Nvml));
    assert_eq!(source("amdsmi"), GpuSource::Local(LocalSource::Amd));
    let opens = |args: &[&str]| plan(args).runtime.dashboard.opens_gpus;
    assert!(opens(&["--gpu-telemetry", "pynvml", "Dashboard"]));
    assert!(!opens(&["--gpu-telemetry", "pynvml"]) && !opens(&["--no-gpu-telemetry"]));
}

#[test]
fn gpus_are_sampled_at_the_default_exporters_and_at_the_given_ones() {
    let plan = |args: &[&str]| resolve(&[&["-m", "m"], args].concat()).unwrap().into_plan();
    let exporters = |args: &[&str]| -> Vec<(String, bool)> {
        let telemetry = plan(args).gpu_telemetry.unwrap();
        telemetry.source.exporters().iter().map(|exporter| (exporter.url.shown(), exporter.is_guess)).collect()
    };
    let usual = |port: u16, is_guess| (format!("http://localhost:{port}/metrics"), is_guess);
    assert_eq!(exporters(&[]), [usual(9400, true), usual(9401, true)]);
    assert!(!plan(&[]).gpu_telemetry.unwrap().is_requested);
    let named = ["--gpu-telemetry", "node:9400/", "localhost:9401", "node:9400/metrics"];
    let node = ("http://node:9400/metrics".to_owned(), false);
    assert_eq!(exporters(&named), [usual(9400, true), usual(9401, false), node]);
    assert!(plan(&["--gpu-telemetry"]).gpu_telemetry.unwrap().is_requested);
    let off = plan(&["--no-gpu-telemetry"]);
    assert_eq!((off.gpu_telemetry, &off.input_config["gpu_telemetry"]["enabled"]), (None, &false.into()));
}

#[test]
fn every_flag_that_acts_changes_the_plan_or_needs_another_flag() {
    // Flags whose sample value is the default, that need another flag, or that only silence a note.
    let same = [
        ("--model-names", "the sample adds a second model, which is refused"),
        ("--endpoint-type", "the first choice needs an input file"),
        ("--request-content-type", "the first choice is the default"),
        ("--input-file", "needs a file"),
        ("--custom-dataset-type", "needs a file"),
        ("--inter-turn-delay-cap-seconds", "needs a file"),
        ("--ignore-trace-delays", "needs a trace"),
        ("--trace-session-sample-ratio", "needs a trace"),
        ("--max-idle-gap-cap-seconds", "needs a trace"),
        ("--replay-speedup", "needs a trace"),
        ("--open-loop-replay", "needs a trace"),
        ("--open-loop-strict", "needs a trace"),
        ("--omit-kv-hints", "needs a trace"),
        ("--force-min-tokens", "needs a trace"),
        ("--trace-idle-gap-cap-seconds", "needs a trace"),
        ("--synthesis-speedup-ratio", "needs a trace"),
        ("--synthesis-prefix-len-multiplier", "needs a trace"),
        ("--synthesis-prefix-root-multiplier", "needs a trace"),
        ("--synthesis-prompt-len-multiplier", "needs a trace"),
        ("--synthesis-output-len-multiplier", "needs a trace"),
        ("--synthesis-max-isl", "needs a trace"),
        ("--synthesis-max-osl", "needs a trace"),
        ("--prompt-input-tokens-block-size", "needs a trace"),
        ("--uuid-and-strip", "needs a file"),
        ("--cache-bust", "the first choice is none"),
        ("--system-prompt-file", "needs a file"),
        ("--seq-dist", "has a form of its own"),
        ("--random-range-ratio", "needs lengths"),
        ("--random-corpus-style", "the first choice is the default"),
        ("--rankings-passages-mean", "needs a type that ranks"),
        ("--rankings-passages-stddev", "needs a mean"),
        ("--rankings-passages-prompt-token-mean", "needs a type that ranks"),
        ("--rankings-passages-prompt-token-stddev", "needs a mean"),
        ("--rankings-query-prompt-token-mean", "needs a type that ranks"),
        ("--rankings-query-prompt-token-stddev", "needs a mean"),
        ("--model-selection-strategy", "the first choice is the default"),
        ("--hf-subset", "needs a public dataset"),
        ("--dataset-filter", "needs a public dataset"),
        ("--url-strategy", "there is one"),
        ("--transport", "the first choice is the default"),
        ("--wait-for-model-mode", "needs a timeout"),
        ("--wait-for-model-interval", "needs a timeout"),
        ("--request-cancellation-delay", "needs a rate"),
        ("--connection-reuse-strategy", "the first choice is the default"),
        ("--per-chunk-usage", "needs streamed chat counted by the server"),
        ("--benchmark-grace-period", "needs a duration"),
        ("--no-server-metrics", "silences a note"),
        ("--prompt-output-tokens-stddev", "needs a mean"),
        ("--warmup-grace-period", "needs a warmup"),
        ("--ui-type", "the first choice needs a terminal"),
        ("--timestamps", "the first choice is the default"),
        ("--worker-priority", "the first choice is the default"),
        ("--config", "needs a file"),
        ("--api-host", "needs a port, and a name of this machine"),
        ("--no-fixed-schedule", "only suppresses a schedule of its own that a trace brings"),
        ("--fixed-schedule", "needs a file"),
        ("--fixed-schedule-auto-offset", "needs a file"),
        ("--fixed-schedule-start-offset", "needs a file"),
        ("--fixed-schedule-end-offset", "needs a file"),
        ("--request-rate-series", "needs a file"),
        ("--arrival-pattern", "the first choice is what runs without a rate"),
        ("--warmup-arrival-pattern", "the first choice is what runs without a rate"),
        ("--user-centric-rate", "needs users"),
        ("--num-users", "needs their rate"),
        ("--audio-format", "the first choice is the default"),
        ("--audio-depths", "the sample is the default"),
        ("--audio-sample-rates", "the sample is the default"),
        ("--video-synth-type", "the first choice is the default"),
    ];
    let (width, height) = (["--video-width", "64"], ["--video-height", "48"]);
    let size = [&width[..], &height].concat();
    let sound = [&size[..], &["--video-format", "mp4", "--video-audio-num-channels", "1"]].concat();
    // What other flags need.
    let beside: &[(&str, &[&str])] = &[
        ("--prefill-concurrency", &["--streaming", "--concurrency", "4"]),
        ("--arrival-smoothness", &["--request-rate", "5"]),
        ("--concurrency-ramp-duration", &["--concurrency", "4"]),
        ("--prefill-concurrency-ramp-duration", &["--streaming", "--concurrency", "4", "--prefill-concurrency", "2"]),
        ("--request-rate-ramp-duration", &["--request-rate", "5"]),
        ("--warmup-concurrency", &["--warmup-request-count", "2"]),
        ("--warmup-prefill-concurrency", &["--streaming", "--warmup-request-count", "2", "--warmup-concurrency", "4"]),
        ("--warmup-request-rate", &["--warmup-request-count", "2"]),
        ("--warmup-concurrency-ramp-duration", &["--warmup-request-count", "2", "--concurrency", "4"]),
        (
            "--warmup-prefill-concurrency-ramp-duration",
            &["--streaming", "--warmup-request-count", "2", "--concurrency", "4", "--prefill-concurrency", "2"],
        ),
        ("--warmup-request-rate-ramp-duration", &["--warmup-request-count", "2", "--request-rate", "5"]),
        ("--network-latency-ping-interval", &["--network-latency-automatic"]),
        ("--stream", &["--otel-url", "node"]),
        ("--otel-resource-attributes", &["--otel-url", "node"]),
        ("--gen-ai-provider", &["--otel-url", "node"]),
        ("--audio-length-stddev", &["--audio-length-mean", "3"]),
        ("--audio-num-channels", &["--audio-batch-size", "1"]),
        ("--image-width-stddev", &["--image-width-mean", "30"]),
        ("--image-height-stddev", &["--image-height-mean", "30"]),
        ("--image-format", &["--image-batch-size", "1"]),
        ("--video-width", &height),
        ("--video-height", &width),
        ("--video-batch-size", &size),
        ("--video-duration", &size),
        ("--video-fps", &size),
        ("--video-format", &size),
        ("--video-codec", &size),
        ("--video-audio-num-channels", &size),
        ("--video-audio-sample-rate", &sound),
        ("--video-audio-codec", &sound),
        ("--video-audio-depth", &sound),
    ];
    for flag in flags::all().filter(|flag| flag.status == Status::Acts) {
        if same.iter().any(|(name, _)| *name == flag.name) || is_about_several_runs(flag) {
            continue;
        }
        let sample = sample(flag);
        let beside = beside.iter().find(|(name, _)| *name == flag.name).map_or(&[][..], |(_, beside)| beside);
        let before = [&["-m", "m"], beside].concat();
        // If a needed flag is not enough alone, the plain run is the base.
        let base = resolve(&before).or_else(|_| resolve(&["-m", "m"])).unwrap().into_plan();
        let base = serde_json::to_value(&base).unwrap();
        let args: Vec<&str> = before.into_iter().chain(sample.iter().map(String::as_str)).collect();
        let plan = resolve(&args).unwrap_or_else(|error| panic!("{}: {error}", flag.name)).into_plan();
        let mut changed = serde_json::to_value(&plan).unwrap();
        let received = Plan::from_machine(&plan.to_machine().unwrap()).unwrap();
        assert_eq!(
            serde_json::to_value(&received).unwrap(),
            changed,
            "{}: another machine gets another plan",
            flag.name
        );
        changed["run"]["cli_command"] = base["run"]["cli_command"].clone();
        assert_ne!(changed, base, "{} changes nothing", flag.name);
    }
}

/// Whether a flag is about several runs and not about one of them.
fn is_about_several_runs(flag: &flags::Flag) -> bool {
    matches!(flag.to, flags::To::Envelope(_) | flags::To::EnvelopeRule(_)) && flag.name != "--random-seed"
}

#[test]
fn every_flag_about_several_runs_changes_them() {
    let trials = ["--num-profile-runs", "4"];
    let settling = ["--num-profile-runs", "4", "--convergence-metric", "request_latency"];
    let list = ["--concurrency", "1,2"];
    let lists = ["--concurrency", "1,2", "--request-rate", "3,4"];
    let ramp = ["--search-recipe", "concurrency-ramp"];
    let under = ["--search-recipe", "max-concurrency-under-sla", "--search-style", "grid", "--streaming"];
    let limited = [&under[..], &["--e2e-sla-ms", "90"]].concat();
    let otherwise = [&under[..], &["--ttft-sla-ms", "90"]].concat();
    let prefill = ["--search-recipe", "prefill-ttft-curve", "--streaming"];
    let decode = ["--search-recipe", "decode-itl-curve", "--streaming"];
    let pareto = ["--search-recipe", "pareto-sweep", "--streaming"];
    // A flag, its value, and the flags it needs.
    let given: &[(&str, &[&str], &[&str])] = &[
        ("--num-profile-runs", &["--num-profile-runs", "3"], &[]),
        ("--profile-run-cooldown-seconds", &["--profile-run-cooldown-seconds", "1"], &trials),
        ("--confidence-level", &["--confidence-level", "0.9"], &trials),
        ("--profile-run-disable-warmup-after-first", &["--no-profile-run-disable-warmup-after-first"], &trials),
        ("--set-consistent-seed", &["--no-set-consistent-seed"], &trials),
        ("--vary-seed-per-trial", &["--vary-seed-per-trial"], &trials),
        ("--convergence-metric", &["--convergence-metric", "request_latency"], &trials),
        ("--convergence-stat", &["--convergence-stat", "p99"], &settling),
        ("--convergence-threshold", &["--convergence-threshold", "0.2"], &settling),
        ("--convergence-mode", &["--convergence-mode", "cv"], &settling),
        ("--convergence-min-runs", &["--convergence-min-runs", "2"], &settling),
        ("--resume", &["--resume"], &trials),
        ("--parameter-sweep-cooldown-seconds", &["--parameter-sweep-cooldown-seconds", "1"], &list),
        ("--parameter-sweep-same-seed", &["--parameter-sweep-same-seed"], &list),
        ("--parameter-sweep-mode", &["--parameter-sweep-mode", "independent"], &list),
        ("--sweep-type", &["--sweep-type", "zip"], &lists),
        ("--no-sweep-table", &["--no-sweep-table"], &list),
        ("--variant", &["--variant", "a: concurrency=1", "--variant", "b: concurrency=2"], &[]),
        ("--search-sla", &["--search-sla", "request_latency:p99:lt:5"], &list),
        ("--fail-if", &["--fail-if", "request_latency.p99>5"], &[]),
        ("--until", &["--until", "request_latency.p99:5%"], &["--request-count", "10000"]),
        ("--junit", &["--junit", "junit.xml"], &[]),
        ("--search-recipe", &ramp, &[]),
        ("--search-style", &["--search-style", "grid"], &[&limited[..2], &limited[5..], &["--streaming"]].concat()),
        ("--ttft-sla-ms", &["--ttft-sla-ms", "5"], &limited),
        ("--itl-sla-ms", &["--itl-sla-ms", "5"], &limited),
        ("--tpot-sla-ms", &["--tpot-sla-ms", "5"], &limited),
        ("--e2e-sla-ms", &["--e2e-sla-ms", "5"], &otherwise),
        ("--error-rate-sla", &["--error-rate-sla", "0.1"], &limited),
        ("--degradation-threshold", &["--degradation-threshold", "0.5"], &ramp),
        ("--degradation-metric-tag", &["--degradation-metric-tag", "time_to_first_token"], &ramp),
        ("--degradation-stat", &["--degradation-stat", "p50"], &ramp),
        ("--isl-osl-pairs", &["--isl-osl-pairs", "128/64,256/64"], &pareto),
        ("--isl-min", &["--isl-min", "300"], &prefill),
        ("--isl-max", &["--isl-max", "3000"], &prefill),
        ("--isl-steps", &["--isl-steps", "3"], &prefill),
        ("--concurrency-min", &["--concurrency-min", "3"], &ramp),
        ("--concurrency-max", &["--concurrency-max", "30"], &ramp),
        ("--concurrency-steps", &["--concurrency-steps", "3"], &ramp),
        ("--osl-min", &["--osl-min", "100"], &decode),
        ("--osl-max", &["--osl-max", "400"], &decode),
        ("--osl-steps", &["--osl-steps", "3"], &decode),
    ];
    let planned = |args: &[&str]| {
        let mut campaign = resolve(&[&["-m", "m"], args].concat())?.campaign;
        campaign.base.run.cli_command.clear();
        campaign.listed.iter_mut().for_each(|cell| Arc::make_mut(cell).plan.run.cli_command.clear());
        Ok::<_, aiperf_config::ConfigError>(format!("{campaign:?}"))
    };
    for flag in flags::all().filter(|flag| flag.status == Status::Acts && is_about_several_runs(flag)) {
        let (name, args, beside) = given.iter().find(|(name, ..)| *name == flag.name).unwrap_or_else(|| {
            panic!("{} is in no row", flag.name);
        });
        let changed = planned(&[beside, *args].concat()).unwrap_or_else(|error| panic!("{name}: {error}"));
        // If a needed flag is not enough alone, the plain run is the base.
        let base = planned(beside).or_else(|_| planned(&[])).unwrap();
        assert_ne!(changed, base, "{name} changes nothing");
    }
}

#[test]
fn text_and_its_additions_reach_the_plan() {
    let plan = |args: &[&str]| resolve(&[&["-m", "m"], args].concat()).unwrap().into_plan();
    let text = |args: &[&str]| match plan(args).dataset {
        DatasetPlan::Synthetic(plan) => (plan.text, plan.pairs),
        other => panic!("{other:?}"),
    };
    let pool = ["--num-prefix-prompts", "3", "--prefix-prompt-length", "20"];
    assert_eq!(text(&pool).0.prefixes, Prefixes::Pool { size: 3, tokens: 20 });
    let messages = Prefixes::Messages { shared_system: Some(7), user_context: None };
    assert_eq!(text(&["--shared-system-prompt-length", "7"]).0.prefixes, messages);
    let random = ["--prompt-corpus", "random", "--random-corpus-style", "sglang", "-b", "4"];
    let (random, _) = text(&random);
    assert_eq!((random.corpus, random.batch_size), (Corpus::Random(RandomStyle::Sglang), 4));
    let ratio = ["--isl", "100", "--osl", "10", "--random-range-ratio", "0.25"];
    let (input, output) = (Window { least: 75, most: 125 }, Window { least: 7, most: 13 });
    assert_eq!(text(&ratio).1, Some(PairedLengths::Windows { input, output }));
    let Some(PairedLengths::Mix(mix)) = text(&["--seq-dist", "5|1,6:30;7,8:70"]).1 else { panic!("a mix") };
    assert_eq!((mix.len(), mix[0].item.input.mean(), mix[1].weight), (2, 5.0, 70.0));
    assert!(!mix[0].item.input.is_fixed() && mix[0].item.output.is_fixed());
    let busted = plan(&["--cache-bust", "system-suffix", "--system-prompt", "Be brief.", "--apply-chat-template"]);
    let cache_bust = Some(CacheBust { place: MarkerPlace::System, marker: MarkerKind::Suffix });
    assert_eq!(busted.additions, Additions { system_prompt: Some("Be brief.".into()), cache_bust });
    assert!(busted.tokenizer.apply_chat_template);
}

#[test]
fn a_flag_about_a_call_switches_the_call_on() {
    let endpoint = |args: &[&str]| resolve(&[&["-m", "m"], args].concat()).unwrap().into_plan().endpoint;
    let plain = endpoint(&[]);
    assert_eq!((plain.cache_reset, plain.server_profiler, plain.readiness), (None, None, None));
    let reset = endpoint(&["--reset-kv-cache"]).cache_reset.unwrap();
    let seconds = |seconds: u64| Nanos::from_millis(seconds * 1000);
    assert_eq!((reset.path.as_str(), reset.timeout, reset.max_retry), (CacheReset::PATH, seconds(30), seconds(60)));
    assert_eq!(endpoint(&["--reset-kv-cache-path", "/r"]).cache_reset.unwrap().path, "/r");
    let profiler = endpoint(&["--server-profiler-timeout-seconds", "2"]).server_profiler.unwrap();
    let paths = (profiler.start_path.as_str(), profiler.stop_path.as_str());
    assert_eq!((paths, profiler.timeout), (("/start_profile", "/stop_profile"), seconds(2)));
    let readiness = endpoint(&["--wait-for-model-timeout", "9", "--wait-for-model-mode", "both"]).readiness.unwrap();
    assert_eq!((readiness.timeout, readiness.mode, readiness.interval), (seconds(9), ReadinessMode::Both, seconds(5)));
}

#[test]
fn requests_are_cancelled_in_profiling_phases_only() {
    let args = ["-m", "m", "--warmup-request-count", "2", "--request-cancellation-rate", "12.5"];
    let plan = resolve(&args).unwrap().into_plan();
    let cancellation = Cancellation { rate_percent: 12.5, delay: Nanos::ZERO };
    let of = |at: usize| plan.phases[at].cancellation;
    assert_eq!((of(0), of(1)), (None, Some(cancellation)));
}

#[test]
fn a_file_sets_the_cancellation_of_each_phase() {
    let dir = tempfile::tempdir().unwrap();
    let phase = |name: &str, kind: &str, rest: &str| {
        format!("    - {{name: {name}, kind: {kind}, type: concurrency, requests: 1{rest}}}\n")
    };
    let text = [
        "benchmark:\n  model: m\n  endpoint: {url: h, reset_kv_cache: {max_retry_seconds: 7}}\n".to_owned(),
        "  dataset: {isl: 8}\n  phases:\n".to_owned(),
        phase("warmup", "warmup", ", cancellation: {rate: 50}"),
        phase("a", "profiling", ""),
        phase("b", "profiling", ", cancellation: {rate: 20, delay: 0.5}"),
        phase("c", "profiling", ", cancellation: {rate: 0}"),
    ];
    std::fs::write(dir.path().join("c.yaml"), text.concat()).unwrap();
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    let resolved = resolve_profile(&["-f".to_owned(), "c.yaml".to_owned()], &ctx).unwrap();
    let given = Some(Cancellation { rate_percent: 20.0, delay: Nanos::from_millis(500) });
    let of: Vec<_> = resolved.plan().phases.iter().map(|phase| phase.cancellation).collect();
    assert_eq!(of, [None, given, given, None]);
    assert!(resolved.notes.iter().any(|note| note.ends_with("no request of a warmup is cancelled")));
    assert_eq!(resolved.plan().endpoint.cache_reset.as_ref().unwrap().max_retry, Nanos::from_millis(7000));
}

#[test]
fn credentials_of_a_netrc_file_are_sent_if_there_are_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("netrc");
    std::fs::write(&file, "machine h login me password hunter22").unwrap();
    let env = [("AIPERF_HTTP_TRUST_ENV", "1"), ("NETRC", file.to_str().unwrap())];
    let sent = |args: &[&str]| {
        let plan = resolve_in(&[&["-m", "m"], args].concat(), &env, false).unwrap().into_plan();
        plan.endpoint.urls[0].credentials().map(|credentials| credentials.basic())
    };
    assert_eq!(sent(&["-u", "h:1"]).as_deref(), Some("Basic bWU6aHVudGVyMjI="));
    assert_eq!(sent(&["-u", "u:p@h:1"]).as_deref(), Some("Basic dTpw"));
    assert_eq!(sent(&["-u", "other"]), None);
    assert_eq!(sent(&["-u", "h:1", "--api-key", "k"]), None);
    assert_eq!(sent(&["-u", "h:1", "-H", "authorization: x"]), None);
}

#[test]
fn switching_off_what_is_off_anyway_is_no_request() {
    assert!(resolve(&["-m", "m", "--no-auto-plot", "--export-http-trace=false"]).is_ok());
    assert!(resolve(&["-m", "m", "--auto-plot"]).is_err());
}

#[test]
fn a_terminal_gets_the_dashboard_by_default() {
    for (args, ui) in [
        (&[][..], UiKind::Dashboard),
        (&["--ui", "dashboard"], UiKind::Dashboard),
        (&["--ui", "simple"], UiKind::Simple),
        (&["--ui", "none"], UiKind::None),
        (&["-v"], UiKind::Simple),
        (&["-vv", "--ui", "dashboard"], UiKind::Simple),
    ] {
        let resolved = resolve_in(&[&["-m", "m"], args].concat(), &[("TERM", "xterm")], true).unwrap();
        assert_eq!(resolved.plan().runtime.ui, ui, "{args:?}");
    }
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_gets_lines() {
    for (env, reason) in [(&[][..], "is not set"), (&[("TERM", "")], "is not set"), (&[("TERM", "dumb")], "is dumb")] {
        let usual = resolve_in(&["-m", "m"], env, true).unwrap();
        assert_eq!(usual.plan().runtime.ui, UiKind::Simple, "{env:?}");
        assert!(usual.notes.iter().all(|note| !note.contains("dashboard")), "{:?}", usual.notes);
        let asked = resolve_in(&["-m", "m", "--ui", "dashboard"], env, true).unwrap();
        assert_eq!(asked.plan().runtime.ui, UiKind::Simple, "{env:?}");
        let note = format!(
            "--ui dashboard requires a terminal that can position the cursor; TERM {reason}, falling back to --ui simple"
        );
        assert!(asked.notes.contains(&note), "{:?}", asked.notes);
    }
}

#[test]
fn a_dashboard_without_a_terminal_is_shown_as_lines_with_one_note() {
    let resolved = resolve(&["-m", "m", "--ui", "dashboard"]).unwrap();
    assert_eq!(resolved.plan().runtime.ui, UiKind::Simple);
    let expected = "--ui dashboard requires an interactive terminal; stdout is not a TTY, falling back to --ui simple";
    assert_eq!(resolved.notes.iter().filter(|note| *note == expected).count(), 1, "{:?}", resolved.notes);
    assert_eq!(resolve(&["-m", "m"]).unwrap().into_plan().runtime.ui, UiKind::None);
}

#[test]
fn several_runs_have_no_dashboard() {
    let args = ["-m", "m", "--concurrency", "1,2", "--ui", "dashboard"];
    let error = resolve_in(&args, &[("TERM", "xterm")], true).unwrap_err();
    assert!(error.to_string().contains("--ui dashboard cannot be used with several runs"), "{error}");
    assert_eq!(error.exit_code(), 2);
    // In a pipe it would be shown as lines, but the message names what the user asked for.
    let piped = resolve(&args).unwrap_err().to_string();
    assert_eq!(piped, error.to_string());
    assert!(piped.ends_with("try: --ui simple, or --ui none"), "{piped}");
}

#[test]
fn a_run_in_a_pipe_reports_progress_unless_it_is_silent() {
    let every = |args: &[&str], terminal: bool| {
        let args = [&["-m", "m"], args].concat();
        resolve_in(&args, &[("TERM", "xterm")], terminal).unwrap().into_plan().runtime.progress_every
    };
    assert_eq!(every(&[], false), Some(Nanos::from_millis(10_000)));
    assert_eq!(every(&["--ui", "simple"], false), Some(Nanos::from_millis(10_000)));
    assert_eq!(every(&["--ui", "none"], false), None);
    assert_eq!(every(&[], true), None);
}

#[test]
fn the_wait_for_a_server_that_never_accepts_ends_unless_it_is_zero() {
    let timeout = |args: &[&str]| resolve(&[&["-m", "m"], args].concat()).unwrap().plan().endpoint.unreachable_timeout;
    assert_eq!(timeout(&[]), Some(Nanos::from_millis(10_000)));
    assert_eq!(timeout(&["--unreachable-timeout", "0.3"]), Some(Nanos::from_millis(300)));
    assert_eq!(timeout(&["--unreachable-timeout", "0"]), None);
}

#[test]
fn statistics_have_the_requested_interval_and_the_dashboard_always_has_some() {
    let every = |args: &[&str], env: &[(&str, &str)], terminal: bool| {
        let plan = resolve_in(&[&["-m", "m"], args].concat(), &[env, &[("TERM", "xterm")]].concat(), terminal)
            .unwrap()
            .into_plan();
        plan.runtime.stats_interval.map(|time| time.as_secs_f64())
    };
    let on = ("AIPERF_UI_REALTIME_METRICS_ENABLED", "true");
    let seven = ("AIPERF_UI_REALTIME_METRICS_INTERVAL", "7");
    assert_eq!(every(&[], &[], false), None);
    assert_eq!(every(&[], &[on], false), Some(30.0));
    assert_eq!(every(&[], &[seven], false), Some(7.0));
    assert_eq!(every(&["--stats-interval", "2"], &[seven], false), Some(2.0));
    assert_eq!(every(&["--stats-interval", "0"], &[on], false), None);
    assert_eq!(every(&[], &[], true), Some(5.0));
    assert_eq!(every(&[], &[on], true), Some(5.0));
    assert_eq!(every(&[], &[seven], true), Some(7.0));
    assert_eq!(every(&["--stats-interval", "2"], &[seven], true), Some(2.0));
    assert_eq!(every(&["--stats-interval", "0"], &[], true), Some(5.0));
    assert_eq!(every(&["--ui", "simple"], &[], true), None);
}

#[test]
fn the_environment_sets_the_display_and_the_flush_interval() {
    let plan = resolve(&["-m", "m"]).unwrap().into_plan();
    assert_eq!(plan.artifacts.report_width, 140);
    assert_eq!(plan.runtime.bar_step_percent, 1.0);
    assert_eq!(plan.runtime.dashboard, DashboardPlan::default());
    assert_eq!(plan.runtime.flush_every, RuntimePlan::FLUSH_EVERY);
    let env = [
        ("AIPERF_UI_CONSOLE_EXPORT_WIDTH", "200"),
        ("AIPERF_UI_MIN_UPDATE_PERCENT", "2.5"),
        ("AIPERF_UI_LOG_REFRESH_INTERVAL", "0.5"),
        ("AIPERF_UI_SPINNER_REFRESH_RATE", "0.25"),
        ("AIPERF_METRICS_EXPORT_FLUSH_INTERVAL", "3"),
    ];
    let plan = resolve_in(&["-m", "m"], &env, false).unwrap().into_plan();
    assert_eq!(plan.artifacts.report_width, 200);
    assert_eq!(plan.runtime.bar_step_percent, 2.5);
    let (log_refresh, spinner_refresh) = (Nanos::from_millis(500), Nanos::from_millis(250));
    assert_eq!(plan.runtime.dashboard, DashboardPlan { log_refresh, spinner_refresh, opens_gpus: false });
    assert_eq!(plan.runtime.flush_every, Nanos::from_millis(3000));
    for (name, value) in [("AIPERF_UI_CONSOLE_EXPORT_WIDTH", "39"), ("AIPERF_METRICS_EXPORT_FLUSH_INTERVAL", "0.01")] {
        assert_eq!(resolve_in(&["-m", "m"], &[(name, value)], false).unwrap_err().exit_code(), 2);
    }
}

#[test]
fn short_help_lists_every_spelling_of_a_flag_that_acts_and_every_recipe() {
    let help = short_help();
    for flag in flags::all().filter(|flag| flag.status == flags::Status::Acts) {
        for spelling in std::iter::once(flag.name).chain(flag.aliases.iter().copied()).chain(flag.negation) {
            let ends = |rest: &str| rest.starts_with([' ', ',', ')', ';', '\n']);
            assert!(help.match_indices(spelling).any(|(at, _)| ends(&help[at + spelling.len()..])), "{spelling}");
        }
    }
    for name in ["--synthetic-input-tokens-mean", "--output-tokens-mean", "--conversation-num", "--num-dataset-entries"]
    {
        assert!(help.contains(name), "{name}");
    }
    assert!(help.contains("max-concurrency-under-sla (with --search-style grid), concurrency-ramp"), "{help}");
    assert!(help.contains("not there yet: max-throughput-ttft-sla"), "{help}");
}

#[test]
fn help_is_not_stopped_by_a_bad_variable() {
    let error = resolve_in(&["--help"], &[("AIPERF_HTTP_CONNECTION_LIMIT", "many")], false).unwrap_err();
    assert_eq!(error.exit_code(), 0);
    let error = resolve_in(&["-m", "m"], &[("AIPERF_HTTP_CONNECTION_LIMIT", "many")], false).unwrap_err();
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn seeds_of_trials_differ_only_when_asked() {
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: Path::new("/"), benchmark_id: String::new() };
    let seeds = |more: &[&str]| {
        let args: Vec<String> =
            ["-m", "m", "--num-profile-runs", "3"].iter().chain(more).map(|arg| arg.to_string()).collect();
        let tree = resolve_config(&args, &ctx).unwrap();
        (0..3).map(|trial| tree.run_seed(0, trial).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(seeds(&[]), [42, 42, 42]);
    let varied = seeds(&["--vary-seed-per-trial"]);
    assert!(varied[0] != varied[1] && varied[1] != varied[2]);
}

/// A plan made in a folder with these files.
fn plan_in(files: &[(&str, &str)], env: &[(&str, &str)], args: &[&str]) -> Plan {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).expect("a file");
    }
    let env: BTreeMap<String, String> = env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let args: Vec<String> = ["-m", "m"].iter().chain(args).map(|arg| arg.to_string()).collect();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    resolve_profile(&args, &ctx).unwrap_or_else(|error| panic!("{args:?}: {error}")).into_plan()
}

#[test]
fn every_endpoint_type_makes_a_plan_with_the_data_it_needs() {
    let files = [("d.jsonl", "{\"text\": \"a\"}\n"), ("b.jsonl", "{\"messages\": []}\n")];
    for kind in EndpointKind::ALL {
        let more: &[&str] = match kind {
            EndpointKind::ImageEdit | EndpointKind::ImageRetrieval | EndpointKind::AudioTranscription => {
                &["--input-file", "d.jsonl"]
            }
            EndpointKind::Raw => &["--input-file", "b.jsonl"],
            EndpointKind::Template => &["--extra-inputs", "payload_template:nv-embedqa"],
            _ => &[],
        };
        let plan = plan_in(&files, &[], &[&["--endpoint-type", kind.name()], more].concat());
        assert_eq!((plan.endpoint.kind, plan.endpoint.body), (*kind, kind.traits().body));
        let is_ranking = kind.name().contains("rankings");
        assert_eq!(matches!(plan.dataset, DatasetPlan::Rankings(_)), is_ranking, "{}", kind.name());
    }
}

#[test]
fn a_template_is_read_when_the_plan_is_made() {
    let file = ("t.j2", "{\"q\": {{ text|tojson }}}");
    let of = |extra: &[&str]| {
        let args = [&["--endpoint-type", "template", "--extra-inputs"], extra].concat();
        plan_in(&[file], &[], &args).endpoint
    };
    let read = of(&["payload_template:t.j2", "response_field:a.b", "n:2"]);
    assert_eq!(read.template.as_deref(), Some(file.1));
    assert_eq!(read.template_name(), "--extra-inputs payload_template:t.j2");
    assert_eq!(read.response_field.as_deref(), Some("a.b"));
    assert_eq!(serde_json::to_string(&read.extra).unwrap(), r#"{"n":2}"#);
    let named = of(&["payload_template:nv-embedqa,response_field:text"]);
    assert_eq!(named.template.unwrap(), r#"{"text": {{ texts|tojson }}}"#);
    assert_eq!(named.response_field, None);
    let inline = of(&[r#"payload_template:{"a": [{{ text|tojson }}, 1], "b": "}"},n:[1,{"x":"y,z"}],m:1e-3,o:-1"#]);
    assert_eq!(inline.template.unwrap(), r#"{"a": [{{ text|tojson }}, 1], "b": "}"}"#);
    assert_eq!(serde_json::to_string(&inline.extra).unwrap(), r#"{"n":[1,{"x":"y,z"}],"m":0.001,"o":-1}"#);
}

#[test]
fn a_template_is_text_even_if_it_looks_like_json() {
    let of = |text: &str, extra: &str| {
        plan_in(&[("t.j2", text)], &[], &["--endpoint-type", "template", "--extra-inputs", extra]).endpoint
    };
    assert_eq!(of("", "payload_template:{}").template.as_deref(), Some("{}"));
    let word = of("hello", "payload_template:t.j2");
    assert_eq!(word.template.as_deref(), Some("hello"));
    assert_eq!(word.template_name(), "--extra-inputs payload_template t.j2");
}

#[test]
fn a_template_of_a_file_makes_its_type_and_leaves_the_extras() {
    let yaml = "benchmark:
  model: m
  endpoint: {url: h, template: {body: t.j2}, extra: {response_field: x}}
  dataset: {isl: 8}
  profiling: {type: concurrency, requests: 4}
";
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("c.yaml"), yaml).unwrap();
    std::fs::write(dir.path().join("t.j2"), "{}").unwrap();
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    let endpoint = resolve_profile(&["-f".to_owned(), "c.yaml".to_owned()], &ctx).unwrap().into_plan().endpoint;
    assert_eq!((endpoint.kind, endpoint.template.unwrap().as_str()), (EndpointKind::Template, "{}"));
    assert_eq!((endpoint.response_field, &endpoint.extra["response_field"]), (None, &serde_json::json!("x")));
}

#[test]
fn the_response_field_of_raw_bodies_is_not_sent() {
    let args = ["--endpoint-type", "raw", "--input-file", "b.jsonl", "--extra-inputs", "response_field:choices[0].x"];
    let endpoint = plan_in(&[("b.jsonl", "{\"messages\": []}\n")], &[], &args).endpoint;
    assert_eq!((endpoint.response_field.as_deref(), endpoint.extra.len()), (Some("choices[0].x"), 0));
    let member = [&args[..5], &["response_field:text"]].concat();
    let endpoint = plan_in(&[("b.jsonl", "{\"messages\": []}\n")], &[], &member).endpoint;
    assert_eq!(endpoint.response_field.as_deref(), Some("text"));
}

#[test]
fn files_of_requests_are_planned_by_their_rows() {
    let files = [("d.jsonl", "\u{feff}\n{\"text\": \"a\"}\n"), ("b.jsonl", "{\"messages\": []}\n")];
    let of = |args: &[&str]| match plan_in(&files, &[], args).dataset {
        DatasetPlan::File(plan) => (plan.format.name(), plan.entries, plan.osl.map(|osl| osl.mean())),
        other => panic!("{other:?}"),
    };
    assert_eq!(of(&["--input-file", "d.jsonl"]), ("single_turn", None, None));
    assert_eq!(of(&["--input-file", "b.jsonl"]), ("raw_payload", None, None));
    assert_eq!(of(&["--input-file", "d.jsonl", "--custom-dataset-type", "Raw-Payload"]), ("raw_payload", None, None));
    assert_eq!(of(&["--input-file", "d.jsonl", "--request-count", "5"]), ("single_turn", None, None));
    assert_eq!(
        of(&["--input-file", "d.jsonl", "--num-prompts", "5", "--osl", "9"]),
        ("single_turn", Some(5), Some(9.0))
    );
    assert_eq!(plan_in(&files, &[], &["--input-file", "d.jsonl"]).phases[0].requests(), Some(10));
}

#[test]
fn rankings_have_the_requested_lengths() {
    let of = |args: &[&str]| match plan_in(&[], &[], &[&["--endpoint-type", "nim_rankings"], args].concat()).dataset {
        DatasetPlan::Rankings(plan) => {
            [plan.passages, plan.passage_tokens, plan.query_tokens].map(|length| length.mean())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(of(&[]), [10.0, 128.0, 32.0]);
    assert_eq!(of(&["--rankings-passages-mean", "3", "--rankings-query-prompt-token-mean", "7"]), [3.0, 128.0, 7.0]);
}

#[test]
fn the_environment_sets_the_form_of_content_and_the_poll_of_videos() {
    let env = [("AIPERF_ENDPOINT_FORCE_CONTENT_PARTS", "true"), ("AIPERF_HTTP_VIDEO_POLL_INTERVAL", "0.5")];
    let args = ["--endpoint-type", "video_generation", "--download-video-content", "--session-header", "X-Mine"];
    let endpoint = plan_in(&[], &env, &args).endpoint;
    assert!(endpoint.force_content_parts && endpoint.video.download);
    assert_eq!(endpoint.video.poll_interval, Nanos::from_millis(500));
    assert_eq!(endpoint.session_header.as_deref(), Some("X-Mine"));
    let usual = resolve(&["-m", "m"]).unwrap().into_plan().endpoint;
    assert_eq!((usual.force_content_parts, usual.video, usual.session_header), (false, VideoPlan::default(), None));
}

#[test]
fn an_empty_item_of_a_list_is_refused_by_its_position() {
    for (args, expected) in [
        (&["--url", "h:1,,h:2"][..], "--url: item 2 of 3 is empty"),
        (&["--url", "h:1,"], "--url: item 2 of 2 is empty"),
        (&["--server-metrics-formats", "json,,csv"], "--server-metrics-formats: item 2 of 3 is empty"),
        (&["--audio-depths", ",16"], "--audio-depths: item 1 of 2 is empty"),
        (
            &["--streaming", "--search-recipe", "pareto-sweep", "--isl-osl-pairs", "1/2,,3/4"],
            "an empty item: number 2 of 3",
        ),
    ] {
        let error = resolve(&[&["-m", "m"], args].concat()).unwrap_err().to_string();
        assert!(error.contains(expected), "{args:?}: {error}");
    }
}

#[test]
fn an_empty_item_of_a_list_of_sweep_values_is_left_out_and_noted() {
    for (args, expected) in [
        (&["--concurrency", "1,,2"][..], "--concurrency: item 2 of 3 is empty and is skipped"),
        (&["--request-rate", "1,2,"], "--request-rate: item 3 of 3 is empty and is skipped"),
        (&["--variant", "a:isl=5,,osl=6", "--variant", "b:isl=6"], "--variant: item 2 of 3 is empty and is skipped"),
    ] {
        let notes = resolve(&[&["-m", "m"], args].concat()).unwrap().notes;
        assert!(notes.iter().any(|note| note == expected), "{args:?}: {notes:?}");
    }
    let notes = resolve(&["-m", "m", "--concurrency", "1,2"]).unwrap().notes;
    assert!(!notes.iter().any(|note| note.contains("left out")), "{notes:?}");
}

#[test]
fn a_recipe_with_fewer_requests_than_its_concurrency_is_noted() {
    let recipe = ["-m", "m", "--streaming", "--search-recipe", "max-concurrency-under-sla", "--search-style", "grid"];
    let notes = |more: &[&str]| resolve(&[&recipe[..], &["--ttft-sla-ms", "200"], more].concat()).unwrap().notes;
    let is_short = |note: &String| note.starts_with("10 requests are fewer than a concurrency of 1000: ");
    assert!(notes(&["--request-count", "10"]).iter().any(is_short), "{:?}", notes(&["--request-count", "10"]));
    assert!(!notes(&["--request-count", "2000"]).iter().any(|note| note.contains("are fewer than a concurrency")));
}

#[test]
fn no_run_of_a_sweep_has_the_folder_of_the_records_of_a_lone_run() {
    let sweep = |name: &str| {
        let first = format!("{name}:request-count=7");
        resolve(&["-m", "m", "--variant", &first, "--variant", "b:request-count=8"])
    };
    let error = sweep("records").unwrap_err().to_string();
    assert!(error.contains("a run of the sweep cannot have the folder records"), "{error}");
    sweep("a").unwrap();
}
