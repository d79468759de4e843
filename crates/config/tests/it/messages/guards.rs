//! Harmful input: what breaks a request's head, fills the memory, never ends, or is a secret.

use crate::messages::{Case, FILES, checked_in, files, printed, seen};
use aiperf_config::flags::{self, Flag, Status};
use aiperf_config::{Context, resolve_config, resolve_profile};
use std::collections::BTreeMap;

/// The output for arguments that are too odd for a line of words.
fn printed_for(args: &[&str]) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, text) in FILES {
        std::fs::write(dir.path().join(name), text).expect("a file");
    }
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() };
    let args: Vec<String> = ["-m", "m"].iter().chain(args).map(|arg| arg.to_string()).collect();
    let shown = args.iter().map(|arg| arg.escape_debug().to_string()).collect::<Vec<_>>().join(" ");
    match resolve_profile(&args, &ctx) {
        Ok(resolved) => format!("$ {shown}\n{}", resolved.notes.join("\n")),
        Err(error) => format!("$ {shown}\nerror: {error}"),
    }
}

#[test]
fn what_cannot_stand_in_the_head_of_a_request_is_refused() {
    let all = [
        &["-H", "X-A: one\r\nX-B: two"][..],
        &["-H", "{\"X-A\": \"a\\nb\"}"],
        &["-H", "X-A: a\0b"],
        &["-H", "X-A: a\u{7f}"],
        &["-H", "X A: b"],
        &["-H", ": b"],
        &["-H", "X-\u{e9}: b"],
        &["-H", "Content-Length: 5"],
        &["-H", "transfer-encoding: chunked"],
        &["-H", "Connection: close"],
        &["-H", "Expect: 100-continue"],
        &["-H", "Authorization Bearer hunter2"],
        &["--api-key", "hunter2\n"],
        &["--api-key", ""],
        &["--endpoint", "/v1/chat\r\nX-B: two"],
        &["--endpoint", "/a b"],
        &["--endpoint", "/\u{e9}"],
        &["-u", "http://h:1/a\r\nX-B: two"],
        &["-u", "http://h:1/\u{0}"],
        &["-u", "http://[::1]9101"],
        &["-u", "http://user:hunter2@h:0"],
        &["-u", "https://user:hunter2@h:0"],
        &["--otel-url", "http://"],
        &["--otel-url", "http://h:70000"],
        &["--server-metrics", "http://:9400"],
        &["--server-metrics", "h:99999"],
    ];
    let printed: Vec<String> = all.iter().map(|args| printed_for(args)).collect();
    let shown = printed.join("\n\n");
    for message in printed.iter().map(|text| text.split_once('\n').unwrap_or_default().1) {
        assert!(message.starts_with("error: ") && !message.contains("hunter2"), "{message}");
    }
    seen!(shown);
}

#[test]
fn a_header_that_something_else_decides_is_noted() {
    seen!(
        [
            &["-H", "Host: other", "-H", "accept: */*"][..],
            &["-H", "authorization: Bearer hunter2", "--api-key", "hunter3"],
            &["-u", "http://user:hunter2@h:1", "--api-key", "hunter3"],
            &["-u", "http://user:hunter2@h:1", "-H", "Authorization: x"],
        ]
        .map(printed_for)
        .join("\n\n")
    );
}

#[test]
fn files_that_would_break_a_request_are_refused_by_line() {
    let with = |endpoint: &str| {
        format!(
            "benchmark:\n  model: m\n  endpoint:\n    url: h:1\n{endpoint}  dataset: {{isl: 8}}\n  profiling: {{type: concurrency, requests: 4}}\n"
        )
    };
    let texts = [
        with("    api_key: |\n      hunter2\n"),
        with("    api_key: [hunter2]\n"),
        with("    headers:\n      X-A: |\n        one\n        two\n"),
        with("    headers: {Content-Length: '5'}\n"),
        with("    headers: {Authorization: 5}\n"),
        with("    api_key: '@nope'\n"),
        with("    apiKy: x\n"),
        with("    somethingElse: 1\n"),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let printed = files(&texts);
    assert!(!printed.replace("      hunter2\n", "").replace("[hunter2]\n", "").contains("hunter2"), "{printed}");
    seen!(printed);
}

#[test]
fn what_no_run_can_be_is_refused() {
    seen!(
        [
            &["--isl", "1000000000"][..],
            &["--isl-stddev", "1e300"],
            &["--isl", "100", "--isl-stddev", "9999999"],
            &["--osl", "5000000000"],
            &["--osl", "9223372036854775807"],
            &["--num-dataset-entries", "1000000000"],
            &["--num-dataset-entries", "1000", "--session-turns-mean", "50000"],
            &["--session-turns-mean", "1000000", "--session-turns-stddev", "1"],
            &["--session-turns-mean", "10", "--session-turns-stddev", "1000000"],
            &["--request-count", "1000000000000000000"],
            &["--request-count", "100000000"],
            &["--concurrency", "10000000000"],
            &["--workers-max", "1000000"],
            &["--benchmark-duration", "1e300"],
            &["--benchmark-duration", "1e-9"],
            &["--request-timeout-seconds", "1e-9"],
            &["--request-timeout-seconds", "1e300"],
            &["--slice-duration", "1e-9"],
            &["--stats-interval", "1e-9"],
            &["--artifact-dir", ""],
            &["--concurrency", &format!("1{}", ",2".repeat(2000))],
        ]
        .map(|args| printed_for(args).replace(&",2".repeat(2000), ",2,2..."))
        .join("\n\n")
    );
}

#[test]
fn templates_that_double_each_other_are_stopped() {
    let mut text = String::from("variables:\n  v0: xxxxxxxx\n");
    for n in 1..60 {
        text.push_str(&format!("  v{n}: \"{{{{ v{0} }}}}{{{{ v{0} }}}}\"\n", n - 1));
    }
    text.push_str("benchmark:\n  model: \"{{ v59 }}\"\n");
    for (text, expected) in [
        (text, "templates of a file render to at most"),
        ("benchmark: {model: \"{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}\"}\n".into(), "templates of a file take at most 500000 steps"),
        ("benchmark: {model: \"{{ 'x' * 1000000000000 }}\"}\n".into(), "cannot be rendered"),
        ("benchmark: {model: \"{% set n = namespace(a='xx') %}{% for i in range(60) %}{% set n.a = n.a ~ n.a %}{% endfor %}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{% macro f(a, n) %}{% if n %}{{ f(a ~ a, n - 1) }}{% endif %}{% endmacro %}{{ f('xx', 60) }}\"}\n".into(), "a template makes texts of at most"),
        (format!("benchmark: {{model: \"{{% set a = 'xx' %}}{}{{{{ a|length }}}}\"}}\n", "{% set a = a ~ a %}".repeat(60)), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ 'a' | indent(4000000000, true) }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ ('x' * 90000)|replace('x', 'x' * 90000) }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ ('x' * 90000).replace('x', 'x' * 90000) }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ ([1] * 90000)|join('x' * 90000) }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ '%04000000000d'|format(1) }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ '%018000000000000000000d'|format(1) }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ '{:>4000000000}'.format(1) }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ '%*d'|format(4000000000, 1) }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ ([1] * 100000000)|list|length }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ (['x' * 90000] * 90000)|string|length }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ [1]|batch(4000000000, 0)|length }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ (['x' * 90000] * 90000)|upper|length }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ (['x' * 90000] * 90000)|e|length }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ ((['x' * 90000] * 90000) ~ '')|length }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ '{:{w}}'.format(1, w=4000000000) }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ 'a' | indent(width=4000000000, first=true) }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ ['%04000000000d']|map('format', 1)|list|length }}\"}\n".into(), "a template makes texts of at most"),
        ("benchmark: {model: \"{{ ([1] * 100000000)|chain([1])|list|length }}\"}\n".into(), "a template makes texts of at most"),
    ] {
        let printed = printed(&Case { line: "-f c.yaml", files: &[("c.yaml", &text)], env: &[] });
        assert!(printed.contains(expected), "{}", printed.chars().take(500).collect::<String>());
    }
}

#[test]
fn a_file_with_very_many_keys_is_answered() {
    let keys = |pad: &str| (0..30_000).map(|n| format!("{pad}key{n}: 1\n")).collect::<String>();
    let base = "benchmark:\n  model: m\n  endpoint:\n    url: h:1\n    extra:\n";
    let rest = "  dataset: {isl: 8}\n  profiling: {type: concurrency, requests: 4}\n";
    let known = format!("{base}{}{rest}", keys("      "));
    let printed_of = |text: &str| printed(&Case { line: "-f c.yaml", files: &[("c.yaml", text)], env: &[] });
    assert!(!printed_of(&known).contains("error: "));
    let printed = printed_of(&format!("benchmark:\n  model: m\n{}", keys("  ")));
    assert!(
        printed.contains("has no setting 'key0'") && printed.contains("more problems") && printed.len() < 20_000,
        "{printed}"
    );
}

#[test]
fn a_key_may_come_from_the_environment_or_a_file() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("key"), "from-a-file\n").expect("a file");
    std::fs::write(dir.path().join("large"), vec![b'x'; 1 << 20]).expect("a file");
    let key = |args: &[&str], env: &[(&str, &str)]| {
        let env: BTreeMap<String, String> = env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
        let args: Vec<String> = ["-m", "m"].iter().chain(args).map(|arg| arg.to_string()).collect();
        resolve_profile(&args, &ctx)
            .map(|resolved| resolved.into_plan().endpoint.api_key)
            .map_err(|error| error.to_string())
    };
    let env = [("AIPERF_API_KEY", "from-the-environment")];
    assert_eq!(key(&[], &env), Ok(Some("from-the-environment".to_owned())));
    assert_eq!(key(&["--api-key", "given"], &env), Ok(Some("given".to_owned())));
    assert_eq!(key(&["--api-key", "@key"], &env), Ok(Some("from-a-file".to_owned())));
    assert_eq!(key(&[], &[("AIPERF_API_KEY", "@key")]), Ok(Some("from-a-file".to_owned())));
    assert_eq!(key(&[], &[("OPENAI_API_KEY", "of another program")]), Ok(None));
    for (args, expected) in
        [("@nope", "--api-key @nope: no such file"), ("@.", "is not a file"), ("@large", "is larger")]
    {
        let error = key(&["--api-key", args], &[]).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    assert!(key(&[], &[("AIPERF_API_KEY", "a\nb")]).unwrap_err().contains("AIPERF_API_KEY contains a line break"));
}

#[test]
fn what_a_run_of_a_sweep_sets_is_never_taken_for_a_default() {
    let base = "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 8}\n";
    let requests = |args: &[&str], text: &str| -> Vec<i64> {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("c.yaml"), text).expect("a file");
        let env = BTreeMap::new();
        let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
        let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
        let tree = resolve_config(&args, &ctx).expect("a configuration");
        tree.variations.iter().map(|run| run.input_config()["phases"][0]["requests"].as_i64().unwrap_or(-1)).collect()
    };
    let file = ["-f", "c.yaml"];
    let scenarios = "  profiling: {type: concurrency, concurrency: 50, duration: 5}\nsweep:\n  type: scenarios\n  runs:\n    - {name: a, benchmark: {phases: [{name: profiling, requests: 7}]}}\n    - {name: b, benchmark: {phases: [{name: profiling, requests: 8}]}}\n";
    assert_eq!(requests(&file, &format!("{base}{scenarios}")), [7, 8]);
    let grid = "  profiling: {type: concurrency, concurrency: 50, duration: 5}\nsweep: {parameters: {phases.profiling.requests: [3, 4]}}\n";
    assert_eq!(requests(&file, &format!("{base}{grid}")), [3, 4]);
    assert_eq!(requests(&["-m", "m", "--variant", "a:request-count=7", "--variant", "b:concurrency=20"], ""), [7, 40]);
    assert_eq!(requests(&["-m", "m", "--concurrency", "20,30"], ""), [40, 60]);
}

#[test]
fn a_search_in_a_file_is_held_to_the_rules_of_flags() {
    let with = |search: &str| {
        format!(
            "benchmark:\n  model: m\n  endpoint: {{url: h:1}}\n  dataset: {{isl: 8}}\n  profiling: {{type: concurrency, requests: 4}}\nsweep:\n  type: adaptive_search\n{search}"
        )
    };
    let space = "  search_space: [{path: concurrency, lo: 1, hi: 9, kind: int}]\n";
    let wanted = "  objectives: [{metric: output_token_throughput, direction: maximize}]\n";
    let texts = [
        with("  max_iterations: 20\n"),
        with(&format!(
            "{wanted}  max_iterations: 20\n  search_space: [{{path: concurrency, lo: 9, hi: 1}}, {{path: rate_series, lo: 1, hi: 2}}, {{path: rate, lo: 0, hi: 2}}]\n"
        )),
        with(&format!("{space}{wanted}  max_iterations: 4\n")),
        with(&format!(
            "{space}{wanted}  max_iterations: 20\n  optuna_acquisition: qehvi\n  optuna_sampler: tpe\n  objective_pooling: pooled\n"
        )),
    ];
    let one = |text: &String| format!("{text}\n{}", checked_in("-f c.yaml", &[("c.yaml", text)]));
    seen!(texts.iter().map(one).collect::<Vec<_>>().join("\n---\n"));
    assert!(files(&[&texts[0]]).contains("error: an adaptive search is not there yet"), "{}", files(&[&texts[0]]));
}

/// Flags that a text names.
fn named(text: &str) -> impl Iterator<Item = &'static Flag> {
    let end = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    text.split(end).filter(|word| word.starts_with("--")).filter_map(|word| Some(flags::find(word)?.0))
}

#[test]
fn no_advice_names_a_flag_that_is_refused_itself() {
    // All messages in snapshots, and the message of every flag in the table.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/messages/snapshots");
    let mut texts: Vec<String> = std::fs::read_dir(folder)
        .expect("the snapshots")
        .map(|entry| std::fs::read_to_string(entry.expect("a snapshot").path()).expect("text"))
        .collect();
    texts.extend(flags::all().map(|flag| printed_for(&[flag.name, "1"])));
    let mut advice = 0;
    for line in texts.iter().flat_map(|text| text.lines()).filter_map(|line| line.trim().strip_prefix("try: ")) {
        advice += 1;
        // Advice may name one refused flag: the one to leave out.
        let advice =
            line.strip_prefix("without ").and_then(|rest| rest.split_once(": ")).map_or(line, |(_, advice)| advice);
        for flag in named(advice) {
            assert!(!matches!(flag.status, Status::NotYet(_)), "{} is advised and refused: {line}", flag.name);
        }
    }
    assert!(advice > 300, "{advice}");
}

#[test]
fn the_runs_of_a_sweep_are_shown_without_their_secrets() {
    let text = "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 8}\n  profiling: {type: concurrency, requests: 4}\nsweep:\n  type: scenarios\n  runs:\n    - {name: a, benchmark: {endpoint: {api_key: hunter2, headers: {Authorization: hunter2}, urls: ['http://u:hunter2@h']}}}\n";
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("c.yaml"), text).expect("a file");
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    let tree = resolve_config(&["-f".to_owned(), "c.yaml".to_owned()], &ctx).expect("a configuration");
    let shown = aiperf_config::expanded(&tree, true);
    assert!(shown.contains("<redacted>") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn secret_extra_inputs_within_lists_are_hidden_and_known() {
    let dir = tempfile::tempdir().expect("a directory");
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    let extra = r#"{"x":[{"api_key":"hunter2"}],"token":["hunter2"]}"#;
    let args = ["-m", "m", "-u", "h:1", "--extra-inputs", extra].map(str::to_owned);
    let plan = resolve_profile(&args, &ctx).expect("a plan").into_plan();
    let shown = plan.input_config["endpoint"]["extra"].to_string();
    assert!(shown.contains("<redacted>") && !shown.contains("hunter2"), "{shown}");
    let redactor = plan.redactor();
    assert_eq!(redactor.hide("bad key hunter2"), "bad key <redacted>");
    let redactor = aiperf_plan::redact::Redactor::default();
    let body = redactor.body(extra.as_bytes());
    assert!(!String::from_utf8_lossy(&body).contains("hunter2"), "{}", String::from_utf8_lossy(&body));
    assert_eq!(aiperf_config::secrets_in_arguments(&args), ["hunter2", "hunter2"]);
}

#[test]
fn secret_variables_are_hidden_wherever_they_are_used() {
    let text = "variables: {db_password: TOPSECRET1, conn: 'mysql://root:TOPSECRET2@h', region: visible-region}\nbenchmark:\n  model: m\n  endpoint: {url: h:1, headers: {X-Note: '{{ conn }}'}, extra: {note: 'a {{ db_password }} {{ region }}'}}\n  dataset: {isl: 8}\n  profiling: {type: concurrency, requests: 4}\nsweep: {type: grid, parameters: {variables.api_key: [TOPSECRET3, TOPSECRET4]}}\n";
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("c.yaml"), text).expect("a file");
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    let campaign = resolve_profile(&["-f".to_owned(), "c.yaml".to_owned()], &ctx).expect("a plan").campaign;
    let redactor = campaign.redactor();
    for secret in ["TOPSECRET1", "TOPSECRET2", "TOPSECRET3", "TOPSECRET4"] {
        assert_eq!(redactor.hide(&format!("bad key {secret}")), "bad key <redacted>");
    }
    let plan = &campaign.listed[0].plan;
    assert_eq!(plan.endpoint.extra["note"], "a TOPSECRET1 visible-region", "it is sent");
    let shown = aiperf_plan::run_config::run_config(plan, &redactor).to_string();
    assert!(shown.contains("a <redacted> visible-region") && !shown.contains("TOPSECRET"), "{shown}");
}

#[test]
fn secret_variables_of_the_environment_are_hidden_wherever_they_are_used() {
    let config = |timeout: &str| {
        format!(
            "benchmark:\n  model: m\n  endpoint: {{url: h:1, timeout: {timeout}, headers: {{X-Bar: '${{MY_SECRET_TOKEN}}'}}, extra: {{plain: 'a ${{DB_PASSWORD}} ${{REGION}}'}}}}\n  dataset: {{isl: 8}}\n  profiling: {{type: concurrency, requests: 4}}\n"
        )
    };
    let dir = tempfile::tempdir().expect("a directory");
    let variables = [
        ("MY_SECRET_TOKEN", "TOPSECRET1"),
        ("DB_PASSWORD", "0012345678"),
        ("REGION", "visible-region"),
        ("ON", "true"),
    ];
    let env: BTreeMap<String, String> =
        variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    let args = ["-f".to_owned(), "c.yaml".to_owned()];
    std::fs::write(dir.path().join("c.yaml"), config("30")).expect("a file");
    let plan = resolve_profile(&args, &ctx).expect("a plan").into_plan();
    let redactor = plan.redactor();
    assert_eq!(redactor.hide("bad TOPSECRET1 0012345678 visible-region"), "bad <redacted> <redacted> visible-region");
    assert_eq!(plan.endpoint.extra["plain"], "a 0012345678 visible-region", "it is sent");
    let shown = aiperf_plan::run_config::run_config(&plan, &redactor).to_string();
    assert!(shown.contains("a <redacted> visible-region") && !shown.contains("TOPSECRET"), "{shown}");
    let resolved = aiperf_config::show_resolved(&args, &ctx).expect("a configuration");
    assert!(!resolved.contains("TOPSECRET") && !resolved.contains("0012345678"), "{resolved}");
    std::fs::write(dir.path().join("c.yaml"), config("'${MY_SECRET_TOKEN}'")).expect("a file");
    let refused = resolve_profile(&args, &ctx).expect_err("a text is no number").to_string();
    assert!(refused.contains("timeout <redacted> must be a number"), "{refused}");
}

#[test]
fn templates_that_stay_small_do_what_they_always_did() {
    let text = "variables: {a: [x, y], s: a-b}\nbenchmark:\n  model: \"{{ a | join('-') }}-{{ s.replace('-', '_') }}-{{ s | replace('a', 'c') }}{% for i in a %}{{ loop.index + 1 }}{% endfor %}{{ '%03d'|format(7) }}{{ '{:>2}'.format(300000000) }}{% if a %} call me{% endif %}{{ [1, 3]|sort(reverse=true)|join }}{{ [{'k': 5}]|map(attribute='k')|first }}{{ '<'|e }}\"\n  endpoint: {url: h:1}\n  dataset: {isl: 8}\n  profiling: {type: concurrency, requests: 4}\n";
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("c.yaml"), text).expect("a file");
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    let resolved = resolve_profile(&["-f".to_owned(), "c.yaml".to_owned()], &ctx).expect("a plan");
    assert_eq!(resolved.into_plan().models, ["x-y-a_b-c-b23007300000000 call me315&lt;"]);
}

#[test]
fn secrets_of_a_template_are_hidden_and_known() {
    let dir = tempfile::tempdir().expect("a directory");
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    let template = r#"payload_template:{"api_key":"TOPSECRET1","q":{{ text|tojson }}}"#;
    let args = ["-m", "m", "-u", "h:1", "--endpoint-type", "template", "--extra-inputs", template].map(str::to_owned);
    let plan = resolve_profile(&args, &ctx).expect("a plan").into_plan();
    let shown = plan.input_config["endpoint"]["template"]["body"].as_str().expect("a template");
    assert_eq!(shown, r#"{"api_key":"<redacted>","q":{{ text|tojson }}}"#);
    let resolved = aiperf_config::show_resolved(&args, &ctx).expect("a configuration");
    assert!(resolved.contains("<redacted>") && !resolved.contains("TOPSECRET1"), "{resolved}");
    assert_eq!(plan.redactor().hide("bad key TOPSECRET1"), "bad key <redacted>");
}

#[test]
fn the_name_of_sessions_takes_no_other_fields_place() {
    let dir = tempfile::tempdir().expect("a directory");
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    let resolve =
        |name: &str| resolve_profile(&["-m", "m", "-u", "h:1", "--session-header", name].map(str::to_owned), &ctx);
    for name in
        ["Host", "Content-Length", "content-type", "Accept", "Authorization", "X-Request-ID", "Cookie", "User-Agent"]
    {
        let error = resolve(name).expect_err(name).to_string();
        assert!(error.contains(name) && error.contains("try: a name of its own"), "{error}");
    }
    assert!(resolve("X-Session-ID").is_ok() && resolve("X-Correlation-ID").is_ok());
}
