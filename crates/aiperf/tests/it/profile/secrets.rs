//! A secret of the user is in no file and on no screen, even if a server echoes it.

use crate::bench::{Bench, Run, answering, response};
use std::path::Path;

/// Each secret in the forms in which it is given, sent, or echoed.
const SECRETS: &[&str] = &[
    "sk-live-1234567",
    "hdr-secret-77",
    "cookie-secret-55",
    "somebody",
    "p@ss-word-99",
    "p%40ss-word-99",
    "c29tZWJvZHk6cEBzcy13b3JkLTk5",
    "amz+secret/42",
    "amz%2Bsecret%2F42",
    "amz%2bsecret%2f42",
    "extra \"secret\" 11",
    "extra \\\"secret\\\" 11",
    "extra%20%22secret%22%2011",
    "listed-secret-33",
    "pem-first-88",
    "pem-second-88",
];

/// Echoes a request, in turn as an error and as an error inside a stream.
fn echo(number: usize, head: &str, body: &str) -> String {
    let asked = format!("{head}\n{body}");
    let everything = format!("{asked}\n{}\np@ss-word-99 amz+secret/42 extra \"secret\" 11", percent_encoded(&asked));
    let error = serde_json::json!({"error": {"message": everything, "type": "echo", "code": 401}});
    match number % 3 {
        0 => response("401 hdr-secret-77", "application/json", &error.to_string()),
        1 => response("200 OK", "text/event-stream", &format!("data: {error}\n\n")),
        _ => response("400 Bad Request", "text/plain", &everything),
    }
}

fn percent_encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => (byte as char).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn files(dir: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| match path.is_dir() {
        true => files(&path),
        false => {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            vec![(path.display().to_string(), text)]
        }
    };
    entries.flat_map(read).collect()
}

fn assert_no_secret(run: &Run, also: Vec<(String, String)>) {
    let outputs = also.into_iter().chain([("stdout".into(), run.stdout()), ("stderr".into(), run.stderr())]);
    for (place, text) in outputs {
        for secret in SECRETS {
            let around = text.find(secret).map(|at| text[..at].chars().rev().take(60).collect::<Vec<_>>());
            let around: Option<String> = around.map(|chars| chars.into_iter().rev().collect());
            assert!(around.is_none(), "{place} has {secret} after {}", around.unwrap_or_default());
        }
    }
}

#[test]
fn echoed_secrets_are_in_no_file_and_on_no_screen() {
    let url = format!("http://somebody:p%40ss-word-99@{}/?X-Amz-Security-Token=amz%2Bsecret%2F42", answering(echo));
    let run = Bench::of(&url)
        .with(&["--streaming", "--request-count", "9", "--api-key", "sk-live-1234567", "--log-level", "debug"])
        .with(&["-H", "X-Goog-Api-Key: hdr-secret-77", "-H", "Cookie: sid=cookie-secret-55"])
        .with(&[
            "--extra-inputs",
            "{\"api_key\": \"extra \\\"secret\\\" 11\", \"temperature\": 0.5, \
                   \"more\": [{\"api_key\": \"listed-secret-33\"}], \
                   \"private_key\": \"pem-first-88 KEY\\n\\tpem-second-88\\n\"}",
        ])
        .run();
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    assert!(run.text("profile_export.jsonl").contains("<redacted>"));
    assert!(run.text("inputs.json").contains("\"api_key\": \"<redacted>\""));
    assert_eq!(run.summary()["input_config"]["endpoint"]["extra"]["temperature"], 0.5);
    assert_no_secret(&run, files(&run.path("")));
}

#[test]
fn raw_files_contain_no_secret() {
    let echoed = |number: usize, head: &str, body: &str| {
        let asked = format!("{head}\n{body}\n{}", percent_encoded(&format!("{head}\n{body}")));
        let chunk = serde_json::json!({
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {"content": asked}}],
            "key": "sk-live-1234567",
        });
        let reply = match number % 3 {
            0 => response("200 OK", "text/event-stream", &format!(": sk-live-1234567\n\ndata: {chunk}\n\n")),
            1 => response("200 OK", "application/json", &chunk.to_string().replace("delta", "message")),
            _ => response("200 OK", "image/png", &asked),
        };
        reply.replacen("\r\n", "\r\nSet-Cookie: a=hdr-secret-77\r\nX-Echo: sk-live-1234567\r\n", 1)
    };
    let address = answering(echoed);
    let url = format!("http://somebody:p%40ss-word-99@{address}/?X-Amz-Security-Token=amz%2Bsecret%2F42");
    let run = Bench::of(&url)
        .with(&["--streaming", "--request-count", "9", "--api-key", "sk-live-1234567", "--export-http-trace"])
        .with(&["-H", "X-Goog-Api-Key: hdr-secret-77", "-H", "Cookie: sid=cookie-secret-55"])
        .with(&["--extra-inputs", "{\"api_key\": \"extra \\\"secret\\\" 11\", \"note\": \"my sk-live-1234567\"}"])
        .with(&["--export-level", "raw", "--export-outputs-json"])
        .run();
    assert!(run.text("profile_export_raw.jsonl").contains("\"note\":\"my <redacted>\""));
    assert!(run.text("outputs.json").contains("<redacted>"));
    assert_no_secret(&run, files(&run.path("")));
}

#[test]
fn a_refusal_does_not_print_the_secrets_that_it_refuses() {
    let urls = [
        "http://somebody:p%40ss-word-99@h:99999",
        "ftp://somebody:p%40ss-word-99@h",
        "http://somebody:p%40ss-word-99@",
    ];
    for url in urls {
        let run = Bench::bare().with(&["--model", "m", "--url", url, "--api-key", "sk-live-1234567"]).run();
        assert_eq!(run.code(), Some(2));
        assert_no_secret(&run, Vec::new());
    }
    for (flag, value) in [
        ("--extra-inputs", "api_key:sk-live-1234567"),
        ("--extra-inputs", "api_key sk-live-1234567"),
        ("--extra-inputs", "{\"api_key\": \"sk-live-1234567\""),
        ("-H", "Authorization Bearer sk-live-1234567"),
    ] {
        let run = Bench::bare().with(&["--model", "m", "--url", "h:1", flag, value, "--isl", "nonsense"]).run();
        assert_eq!(run.code(), Some(2));
        assert_no_secret(&run, Vec::new());
    }
    for setting in [
        "api_key: [sk-live-1234567]",
        "headers: sk-live-1234567",
        "headers: {Authorization: [sk-live-1234567]}",
        "extra: api_key=sk-live-1234567",
        "url: 'http://somebody:sk-live-1234567@h:99999'",
        "url: 'h:99999?apikey=sk-live-1234567'",
    ] {
        let bench = Bench::bare().with(&["--config", "bench.yaml"]);
        let file = format!("benchmark:\n  models: [m]\n  endpoint:\n    {setting}\n");
        std::fs::write(bench.dir.path().join("bench.yaml"), file).unwrap();
        let run = bench.run();
        assert_eq!(run.code(), Some(2), "{setting}");
        assert_no_secret(&run, Vec::new());
    }
}

#[test]
fn secrets_of_a_file_are_hidden_like_those_of_flags() {
    let bench = Bench::bare().with(&["--config", "bench.yaml", "--ui", "none"]).env("EXTRA", "extra \"secret\" 11");
    let url = format!("http://somebody:p%40ss-word-99@{}/?X-Amz-Security-Token=amz%2Bsecret%2F42", answering(echo));
    let file = format!(
        "benchmark:
  models: [m]
  endpoint:
    url: '{url}'
    streaming: true
    api_key: sk-live-1234567
    headers: {{X-Goog-Api-Key: hdr-secret-77, Cookie: sid=cookie-secret-55}}
    extra: {{api_key: '${{EXTRA}}', nested: {{accessToken: hdr-secret-77}}}}
  tokenizer: {{name: builtin}}
  datasets: [{{name: main, type: synthetic, entries: 3, prompts: {{isl: 16}}}}]
  phases: [{{name: profiling, type: concurrency, concurrency: 1, requests: 6}}]
"
    );
    std::fs::write(bench.dir.path().join("bench.yaml"), &file).unwrap();
    let show = std::process::Command::new(env!("CARGO_BIN_EXE_aiperf"))
        .args(["config", "show", "--config", "bench.yaml"])
        .env("EXTRA", "extra \"secret\" 11")
        .current_dir(bench.dir.path())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&show.stdout).into_owned();
    assert!(show.status.success() && shown.contains("<redacted>"), "{}", String::from_utf8_lossy(&show.stderr));
    let run = bench.run();
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    assert!(run.text("inputs.json").contains("\"accessToken\": \"<redacted>\""));
    let files = files(&run.path("")).into_iter().chain([("config show".to_owned(), shown)]);
    assert_no_secret(&run, files.collect());
}

/// Secrets inside of objects and lists.
const INNER: &[&str] =
    &["nested-secret-11", "listed-secret-22", "row-secret-33", "header-secret-44", "coded-secret-55"];

#[test]
fn objects_and_lists_under_names_of_secrets_are_in_no_file_and_on_no_screen() {
    let rows = concat!(
        r#"{"text":"hi","extra":{"credentials":{"user":"row-secret-33"},"max_tokens":4,"#,
        r#""prompt_cache_key":"row-key-1","token":[17,42]}}"#,
        "\n"
    );
    let echo = |number: usize, head: &str, body: &str| {
        let error = serde_json::json!({"error": {"message": format!("{head}\n{body}"), "type": "echo", "code": 401}});
        match number % 2 {
            0 => response("401 Unauthorized", "application/json", &error.to_string()),
            _ => response("400 Bad Request", "text/plain", body),
        }
    };
    let bench = Bench::of(&format!("http://{}/?code=coded-secret-55", answering(echo)));
    let bench = ["--isl", "16", "--osl", "8"].into_iter().fold(bench, Bench::without);
    std::fs::write(bench.dir.path().join("rows.jsonl"), rows).unwrap();
    let run = bench
        .with(&["--input-file", "rows.jsonl", "--custom-dataset-type", "single_turn", "--request-count", "6"])
        .with(&["-H", "X-User-Key: header-secret-44", "-H", "X-JWT: header-secret-44", "-H", "Idempotency-Key: once-1"])
        .with(&["--extra-inputs", r#"{"auth": {"user": "nested-secret-11", "on": true}, "top_k": 5}"#])
        .with(&["--extra-inputs", r#"api_keys:["listed-secret-22"]"#, "--export-level", "raw", "--log-level", "debug"])
        .run();
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    let files = files(&run.path(""));
    for (place, text) in files.iter().chain(&[("stdout".into(), run.stdout()), ("stderr".into(), run.stderr())]) {
        for secret in INNER {
            assert!(!text.contains(secret), "{place} has {secret}");
        }
    }
    let inputs = run.text("inputs.json");
    assert!(inputs.contains("\"credentials\": \"<redacted>\""), "{inputs}");
    for kept in ["\"max_tokens\": 4", "row-key-1", "17"] {
        assert!(inputs.contains(kept), "{kept}: {inputs}");
    }
    let summary = run.summary();
    let extra = &summary["input_config"]["endpoint"]["extra"];
    assert_eq!(
        (&extra["auth"], &extra["api_keys"], &extra["top_k"]),
        (&"<redacted>".into(), &"<redacted>".into(), &5.into())
    );
    assert_eq!(summary["input_config"]["endpoint"]["headers"]["Idempotency-Key"], "once-1");
    let command = summary["run_info"]["cli_command"].as_str().unwrap();
    assert!(command.contains(r#"--extra-inputs '{"auth":"<redacted>","top_k":5}'"#), "{command}");
    assert!(command.contains("--extra-inputs 'api_keys:<redacted>'"), "{command}");
}

/// Files of rows whose secrets are `row-secret-1` and so on.
const ROWS_WITH_SECRETS: &[(&str, &str)] = &[
    (
        "multi_turn",
        r#"{"turns":[{"text":"say Authorization: Bearer of-a-prompt","extra":{"api_key":"row-secret-1"}},{"text":"b"}]}
{"turns":[{"text":"c","extra":{"headers":{"Authorization":"Bearer row-secret-2"}}},{"text":"d"}]}
{"turns":[{"text":"e","extra":{"pair":{"name":"Authorization","value":"Bearer row-secret-3"}}},{"text":"f"}]}
{"turns":[{"text":"g","extra":{"note":"Authorization: Bearer row-secret-4","env":["SLACK_TOKEN=row-secret-5"]}}]}
"#,
    ),
    (
        "raw_payload",
        r#"{"messages":[{"role":"user","content":"a"}],"auth":"Basic row-secret-1","x":{"github_token":"row-secret-2"}}
{"messages":[{"role":"user","content":"b"}],"headers":{"X-Session":"row-secret-3"},"cookie":"sid=row-secret-4"}
{"messages":[{"role":"user","content":"c"}],"x":[{"value":"Bearer row-secret-5","key":"Authorization"}]}
"#,
    ),
    (
        "mooncake_trace",
        r#"{"timestamp":0,"text_input":"a","output_length":4,"extra":{"api_key":"row-secret-1","b":"API_KEY=row-secret-2"}}
{"timestamp":1,"text_input":"b","output_length":4,"extra":{"auth":"Bearer row-secret-3"}}
{"timestamp":2,"text_input":"c","output_length":4,"extra":{"password_2":"row-secret-4"}}
{"timestamp":3,"text_input":"d","output_length":4,"extra":{"creds":{"x":"row-secret-5"}}}
"#,
    ),
];

#[test]
fn secrets_of_every_row_and_turn_are_hidden_in_every_response() {
    let echo = |number: usize, _: &str, _: &str| {
        let text = (1..=5).fold("tokens".to_owned(), |text, secret| format!("{text} row-secret-{secret}"));
        let reply = serde_json::json!({
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        });
        match number % 3 {
            1 => {
                response("401 Unauthorized", "application/json", &format!(r#"{{"error":{{"message":"bad {text}"}}}}"#))
            }
            _ => response("200 OK", "application/json", &reply.to_string()),
        }
    };
    for (format, rows) in ROWS_WITH_SECRETS {
        let bench = Bench::of(&format!("http://{}", answering(echo)));
        let bench = ["--isl", "16", "--osl", "8"].into_iter().fold(bench, Bench::without);
        std::fs::write(bench.dir.path().join("rows.jsonl"), rows).unwrap();
        let run = bench
            .with(&["--input-file", "rows.jsonl", "--custom-dataset-type", format, "--request-count", "7"])
            .with(&["--no-fixed-schedule", "--export-level", "raw", "--export-outputs-json", "--log-level", "debug"])
            .run();
        assert!(run.text("outputs.json").contains("tokens <redacted>"), "{format}: {}", run.stderr());
        assert!(run.text("profile_export.jsonl").contains("bad tokens <redacted>"), "{format}");
        let files = files(&run.path(""));
        for (place, text) in files.iter().chain(&[("stdout".into(), run.stdout()), ("stderr".into(), run.stderr())]) {
            assert!(!text.contains("row-secret"), "{format}: {place}: {text}");
        }
        if *format == "multi_turn" {
            assert!(run.text("inputs.json").contains("say Authorization: Bearer of-a-prompt"), "prompts stay");
        }
    }
}

/// What `aiperf config show` prints for a file.
fn shown(bench: &Bench, file: &str) -> String {
    std::fs::write(bench.dir.path().join("bench.yaml"), file).unwrap();
    let show = std::process::Command::new(env!("CARGO_BIN_EXE_aiperf"))
        .args(["config", "show", "--config", "bench.yaml"])
        .current_dir(bench.dir.path())
        .output()
        .unwrap();
    assert!(show.status.success(), "{}", String::from_utf8_lossy(&show.stderr));
    String::from_utf8_lossy(&show.stdout).into_owned()
}

#[test]
fn variables_with_names_of_secrets_are_not_shown() {
    let bench = Bench::bare();
    let file = "variables: {api_key: sk-live-1234567, auth: {user: hdr-secret-77}, size: 16}
benchmark:
  models: [m]
  endpoint: {url: 'http://h:1', headers: {X-Team-Key: cookie-secret-55, Idempotency-Key: once-1}}
  datasets: [{name: main, type: synthetic, entries: 3, prompts: {isl: '{{ size }}'}}]
  phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 6}]
";
    let shown = shown(&bench, file);
    assert!(shown.contains("api_key: \"<redacted>\"") && shown.contains("auth: \"<redacted>\""), "{shown}");
    assert!(shown.contains("size: 16") && shown.contains("Idempotency-Key: once-1"), "{shown}");
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn every_default_of_a_secret_variable_is_hidden() {
    let file = "benchmark:
  models: ['${SERVICE_API_KEY:sk-one-12345}']
  endpoint: {url: 'http://h:1', headers: {X-A: '${SERVICE_API_KEY:sk-two-12345}'}}
  datasets: [{name: main, type: synthetic, entries: 3, prompts: {isl: 16}}]
  phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 6}]
";
    let shown = shown(&Bench::bare(), file);
    assert!(!shown.contains("sk-"), "{shown}");
    assert_eq!(shown.matches("<redacted>").count(), 2, "{shown}");
}
