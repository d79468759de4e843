//! The binary from a new user's view: help, versions, mistyped commands, checked files, completions, and input that
//! could block it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn aiperf(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aiperf")).args(args).env_remove("AIPERF_API_KEY").output().unwrap()
}

fn in_dir(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aiperf")).args(args).current_dir(dir).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_version_is_printed_for_every_spelling() {
    let version = format!("{}\n", env!("CARGO_PKG_VERSION"));
    for args in [&["--version"][..], &["-V"], &["profile", "--version"], &["profile", "-V"], &["sim", "--version"]] {
        let output = aiperf(args);
        assert_eq!((output.status.code(), stdout(&output)), (Some(0), version.clone()), "{args:?}");
    }
}

#[test]
fn every_command_has_its_own_help() {
    let commands = [
        "profile",
        "demo",
        "sim",
        "schedule",
        "compare",
        "config",
        "validate",
        "analyze-trace",
        "synthesize",
        "metrics",
        "completions",
        "man",
    ];
    let top = stdout(&aiperf(&["--help"]));
    for name in commands {
        assert!(top.contains(&format!("\n  {name} ")), "{top}");
        let (by_flag, by_word) = (aiperf(&[name, "--help"]), aiperf(&["help", name]));
        for output in [&by_flag, &by_word] {
            assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(output));
            assert!(stdout(output).contains(&format!("aiperf {name}")), "{name}: {}", stdout(output));
        }
        assert_eq!(by_flag.stdout, by_word.stdout, "{name}");
    }
    assert!(stdout(&aiperf(&["help", "config", "init"])).contains("--template"));
}

#[test]
fn the_manual_page_lists_every_exit_code() {
    let page = stdout(&aiperf(&["man"]));
    let (_, codes) = page.split_once(".SH EXIT STATUS\n").expect("a section of exit codes");
    let codes: Vec<&str> = codes.split(".TP\n").skip(1).filter_map(|entry| entry.lines().next()).collect();
    assert_eq!(codes, ["0", "1", "2", "3", "4", "129, 130, 143", "138\\-152"]);
}

#[test]
fn an_existing_configuration_file_is_overwritten_only_with_force() {
    let dir = TempDir::new().unwrap();
    let init = |more: &[&str]| {
        let args = [&["config", "init", "--template", "minimal", "--output", "c.yaml"], more].concat();
        in_dir(dir.path(), &args)
    };
    let read = || std::fs::read_to_string(dir.path().join("c.yaml")).unwrap();
    std::fs::write(dir.path().join("c.yaml"), "mine").unwrap();
    let refused = init(&[]);
    assert_eq!((refused.status.code(), read().as_str()), (Some(2), "mine"));
    assert!(stderr(&refused).contains("c.yaml is there already") && stderr(&refused).contains("--force"));
    assert_eq!(init(&["--force"]).status.code(), Some(0));
    assert!(read().contains("model"));
    let args = ["config", "init", "--template", "minimal", "--output", "/dev/stdout"];
    assert_eq!(stdout(&in_dir(dir.path(), &args)), read());
}

#[test]
fn an_unknown_command_is_refused_with_a_suggestion() {
    for (args, message) in [
        (&["profil"][..], "aiperf profile; did you mean that?"),
        (&["compl"], "aiperf completions; did you mean that?"),
        (&["Profile"], "aiperf profile; did you mean that?"),
        (&["help", "metric"], "aiperf metrics; did you mean that?"),
        (&["--model", "m"], "aiperf profile --model ..."),
        (&["chat"], "aiperf chat is not there yet"),
        (&["plot"], "aiperf plot is not there yet"),
        (&["kube", "profile"], "aiperf kube is not there yet"),
        (&["completions", "powershell"], "bash, zsh or fish"),
        (&["man", "x"], "man takes no 'x'"),
    ] {
        let output = aiperf(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            stderr(&output).contains(message) && stderr(&output).contains("try: "),
            "{args:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn every_listed_template_is_valid_and_validate_refuses_what_profile_refuses() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("trace.jsonl"), "{\"input_length\": 9, \"timestamp\": 0}\n").unwrap();
    let listed = stdout(&aiperf(&["config", "init", "--list"]));
    let names: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() >= 5, "{listed}");
    for name in names {
        let made = in_dir(dir.path(), &["config", "init", "--template", name, "--output", "c.yaml", "--force"]);
        assert_eq!(made.status.code(), Some(0), "{name}: {}", stderr(&made));
        let output = in_dir(dir.path(), &["validate", "c.yaml"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        assert_eq!(stdout(&output), "Configuration valid: c.yaml\n");
    }
    let refused = aiperf(&["config", "init", "--template", "search"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("the template 'search' is not there yet"), "{}", stderr(&refused));
    let base = "benchmark:\n  model: m\n  endpoint: {url: 'http://127.0.0.1:9'}\n  dataset: {isl: 8}\n";
    for (rest, message) in [
        ("  profiling: {type: concurrency, requests: 4, timing_mode: agentic_replay}\n", "is not there yet"),
        ("  profiling: {type: concurrency, requests: 4}\n  slos: {request_latancy: 5}\n", "no such metric"),
        ("  profiling: {type: concurrency, requests: 4}\n  slos: {time_to_first_token: 5}\n", "needs a streaming run"),
    ] {
        std::fs::write(dir.path().join("c.yaml"), format!("{base}{rest}")).unwrap();
        let profile = in_dir(dir.path(), &["profile", "--config", "c.yaml", "--tokenizer", "builtin"]);
        for output in [in_dir(dir.path(), &["validate", "c.yaml"]), profile] {
            assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
            assert!(stderr(&output).contains(message), "{}", stderr(&output));
        }
    }
}

/// The completions of bash for a command line whose last word is being typed.
fn offered(script: &Path, words: &[&str]) -> Vec<String> {
    let list = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let line = format!(
        "source '{}'; COMP_WORDS=({list}); COMP_CWORD={}; _aiperf; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.len() - 1
    );
    let output = Command::new("bash").args(["--norc", "-c", &line]).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", stderr(&output));
    stdout(&output).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_values_that_are_accepted() {
    let dir = TempDir::new().unwrap();
    let script = dir.path().join("aiperf.bash");
    std::fs::write(&script, aiperf(&["completions", "bash"]).stdout).unwrap();
    let offered = |words: &[&str]| offered(&script, words);
    assert_eq!(offered(&["aiperf", "pro"]), ["profile"]);
    assert_eq!(offered(&["aiperf", "profile", "--convergence-s"]), ["--convergence-stat"]);
    assert_eq!(offered(&["aiperf", "profile", "--concurrency-r"]), ["--concurrency-ramp-duration"]);
    assert_eq!(offered(&["aiperf", "profile", "--ui", "si"]), ["simple"]);
    // As readline splits it, and as it is if `=` is not a word break.
    assert_eq!(offered(&["aiperf", "profile", "--ui", "=", "si"]), ["simple"]);
    assert_eq!(offered(&["aiperf", "profile", "--ui=si"]), ["--ui=simple"]);
    assert!(offered(&["aiperf", "profile", "--ui", "="]).contains(&"none".to_owned()));
    assert_eq!(offered(&["aiperf", "profile", "--endpoint-type", "chat"]), ["chat", "chat_embeddings"]);
    assert_eq!(offered(&["aiperf", "demo", "--concurrency-r"]), ["--concurrency-ramp-duration"]);
    assert_eq!(offered(&["aiperf", "sim", "--tt"]), ["--ttft"]);
    assert_eq!(offered(&["aiperf", "config", "in"]), ["init"]);
    assert_eq!(offered(&["aiperf", "config", "init", "--templ"]), ["--template"]);
    assert_eq!(offered(&["aiperf", "config", "init", "--template", "mini"]), ["minimal"]);
    assert_eq!(offered(&["aiperf", "analyze-trace", "--bl"]), ["--block-size"]);
    assert_eq!(offered(&["aiperf", "synthesize", "ag"]), ["agentic-code"]);
    assert_eq!(offered(&["aiperf", "synthesize", "agentic-code", "--max-i"]), ["--max-isl"]);
    assert_eq!(offered(&["aiperf", "completions", "f"]), ["fish"]);
    assert_eq!(offered(&["aiperf", "metrics", "--j"]), ["--json"]);
    // No flag that is refused.
    assert_eq!(offered(&["aiperf", "profile", "--hf-weka"]), [""; 0]);
    let formats = offered(&["aiperf", "profile", "--custom-dataset-type", ""]);
    let is_offered = |name: &str| formats.iter().any(|format| format == name);
    assert!(["single_turn", "multi_turn", "raw_payload", "mooncake_trace"].into_iter().all(is_offered), "{formats:?}");
    assert!(!["weka_trace", "tracelab", "dag_jsonl"].into_iter().any(is_offered), "{formats:?}");
    assert!(offered(&["aiperf", "profile", "--ui", ""]).contains(&"dashboard".to_owned()));
    assert!(!offered(&["aiperf", "config", "init", "--template", ""]).contains(&"search".to_owned()));
    for name in offered(&["aiperf", "profile", "--"]).iter().filter(|name| *name != "--help") {
        let output = aiperf(&["profile", "-m", "m", "-u", "http://127.0.0.1:0", name, "1"]);
        assert!(!stderr(&output).contains("is not there yet"), "{name}: {}", stderr(&output));
    }
}

#[test]
fn every_shell_reads_its_own_completions() {
    let dir = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = dir.path().join(shell);
        std::fs::write(&script, aiperf(&["completions", shell]).stdout).unwrap();
        // A shell that is not installed cannot check it.
        if let Ok(output) = Command::new(shell).arg("-n").arg(&script).output() {
            assert!(output.status.success(), "{shell}: {}", stderr(&output));
        }
    }
}

/// Answers one connection with a chat response, and returns the head of the request.
fn one_request(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().unwrap();
    let mut read = Vec::new();
    let mut buffer = [0u8; 4096];
    while !read.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let n = stream.read(&mut buffer).unwrap();
        read.extend_from_slice(&buffer[..n]);
    }
    let body = r#"{"choices":[{"message":{"role":"assistant","content":"hi"}}]}"#;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    String::from_utf8_lossy(&read).into_owned()
}

/// A run of one request, to a server that accepts one connection.
const ONE_REQUEST: [&str; 10] =
    ["profile", "--no-server-metrics", "-m", "m", "--tokenizer", "builtin", "--request-count", "1", "--isl", "8"];

fn profile_once(dir: &Path, userinfo: &str, more: &[&str], env: &[(&str, &str)]) -> (String, Output) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{userinfo}{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || one_request(&listener));
    let mut command = Command::new(env!("CARGO_BIN_EXE_aiperf"));
    command
        .args(ONE_REQUEST)
        .args(["--url", &url])
        .args(more)
        .args(["--artifact-dir", "out"])
        .current_dir(dir)
        .env_remove("AIPERF_API_KEY");
    let output = command.envs(env.iter().copied()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    (server.join().unwrap(), output)
}

#[test]
fn credentials_in_a_url_are_sent_as_basic_and_shown_nowhere() {
    let dir = TempDir::new().unwrap();
    let (head, output) = profile_once(dir.path(), "aladdin:opensesame@", &[], &[]);
    assert!(head.contains("\r\nAuthorization: Basic YWxhZGRpbjpvcGVuc2VzYW1l\r\n"), "{head}");
    let mut shown = format!("{}{}", stdout(&output), stderr(&output));
    let mut folders = vec![dir.path().join("out")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                shown.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap()));
            }
        }
    }
    for secret in ["aladdin", "opensesame", "YWxhZGRpbjpvcGVuc2VzYW1l"] {
        assert!(!shown.contains(secret), "{secret} is shown");
    }
    let (head, output) = profile_once(dir.path(), "aladdin:opensesame@", &["--api-key", "k1"], &[]);
    assert!(head.contains("\r\nAuthorization: Bearer k1\r\n") && head.matches("Authorization").count() == 1, "{head}");
    assert!(stderr(&output).contains("the credentials in the URL are not sent"), "{}", stderr(&output));
}

#[test]
fn a_key_may_come_from_a_file_or_the_environment() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("key"), "from-a-file\n").unwrap();
    let (head, _) = profile_once(dir.path(), "", &["--api-key", "@key"], &[]);
    assert!(head.contains("\r\nAuthorization: Bearer from-a-file\r\n"), "{head}");
    let (head, _) = profile_once(dir.path(), "", &[], &[("AIPERF_API_KEY", "of-the-run"), ("OPENAI_API_KEY", "no")]);
    assert!(head.contains("\r\nAuthorization: Bearer of-the-run\r\n"), "{head}");
    let (head, _) = profile_once(dir.path(), "", &[], &[("OPENAI_API_KEY", "no")]);
    assert!(!head.contains("Authorization"), "{head}");
}

#[test]
fn a_header_of_the_user_replaces_ours() {
    let dir = TempDir::new().unwrap();
    let (head, _) = profile_once(dir.path(), "", &["-H", "host: elsewhere"], &[]);
    assert!(head.contains("\r\nhost: elsewhere\r\n") && !head.contains("\r\nHost:"), "{head}");
    for header in ["Content-Length: 0", "Transfer-Encoding: chunked", "Connection: close", "X: a\r\nY: b"] {
        let output = aiperf(&["profile", "-m", "m", "-u", "http://127.0.0.1:9", "-H", header]);
        assert_eq!(output.status.code(), Some(2), "{header}: {}", stderr(&output));
    }
}

#[test]
fn a_pipe_or_a_device_in_place_of_a_file_is_refused_without_waiting() {
    let dir = TempDir::new().unwrap();
    let pipe = |name: &str| {
        assert!(Command::new("mkfifo").arg(dir.path().join(name)).status().unwrap().success());
    };
    pipe("pipe");
    let usual = ["profile", "-m", "m", "-u", "http://127.0.0.1:9"];
    for more in [
        &["--config", "pipe"][..],
        &["--api-key", "@pipe"],
        &["--api-key", "@/dev/zero"],
        &["--tokenizer", "/dev/zero"],
        &["--tokenizer", "./pipe"],
        &["--endpoint-type", "template", "--extra-inputs", "payload_template:pipe"],
        &["--input-file", "pipe"],
        &["--input-file", "/dev/zero", "--custom-dataset-type", "raw_payload"],
        &["--request-rate-series", "pipe"],
        &["--input-file", "pipe", "--custom-dataset-type", "mooncake_trace", "--fixed-schedule"],
    ] {
        let args: Vec<&str> = usual.iter().chain(more).copied().collect();
        let output = in_dir(dir.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", stderr(&output));
    }
    assert_eq!(in_dir(dir.path(), &["validate", "pipe"]).status.code(), Some(2));
    pipe(".env");
    let output = in_dir(dir.path(), &usual);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(".env is not a file"), "{}", stderr(&output));
}

#[test]
fn a_path_that_is_not_utf8_works_and_other_values_are_refused() {
    let dir = TempDir::new().unwrap();
    let odd = |text: &[u8]| std::ffi::OsString::from_vec(text.to_vec());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || one_request(&listener));
    let mut command = Command::new(env!("CARGO_BIN_EXE_aiperf"));
    command.args(ONE_REQUEST).args(["--url", &url]);
    let output = command.arg("--artifact-dir").arg(odd(b"out-\xff")).current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    server.join().unwrap();
    assert!(dir.path().join(odd(b"out-\xff")).join("profile_export.jsonl").is_file());
    let mut command = Command::new(env!("CARGO_BIN_EXE_aiperf"));
    let output = command.arg("profile").arg("-m").arg(odd(b"m-\xff")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("-m 'm-\u{fffd}' is not UTF-8 text"), "{}", stderr(&output));
}

#[test]
fn only_requested_summaries_are_written() {
    let dir = TempDir::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || one_request(&listener));
    let file = format!(
        "benchmark:\n  model: m\n  endpoint: {{url: '{url}'}}\n  dataset: {{isl: 8}}\n  tokenizer: {{name: builtin}}\n  artifacts: {{dir: out, summary: [json]}}\n  profiling: {{type: concurrency, requests: 1}}\n"
    );
    std::fs::write(dir.path().join("c.yaml"), file).unwrap();
    let output = in_dir(dir.path(), &["profile", "--no-server-metrics", "--config", "c.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    server.join().unwrap();
    assert!(dir.path().join("out/profile_export_aiperf.json").is_file());
    assert!(!dir.path().join("out/profile_export_aiperf.csv").exists());
    assert!(!stdout(&output).contains("profile_export_aiperf.csv"), "{}", stdout(&output));
}

#[test]
fn ten_requests_need_ten_connections_whatever_the_concurrency() {
    let args = ["profile", "-m", "m", "-u", "http://127.0.0.1:9", "--tokenizer", "builtin", "--isl", "8"];
    let limited = |more: &[&str]| {
        let words: Vec<&str> = args.iter().chain(more).copied().collect();
        let line = format!("ulimit -n 256; exec '{}' {}", env!("CARGO_BIN_EXE_aiperf"), words.join(" "));
        let dir = TempDir::new().unwrap();
        Command::new("bash").args(["-c", &line]).current_dir(dir.path()).output().unwrap()
    };
    let few = limited(&["--concurrency", "100000", "--request-count", "10", "--request-timeout-seconds", "1"]);
    assert_eq!(few.status.code(), Some(1), "only the connections fail: {}", stderr(&few));
    let many = limited(&["--concurrency", "100000", "--request-count", "1000"]);
    assert_eq!(many.status.code(), Some(2), "{}", stderr(&many));
    let message = stderr(&many);
    let advised = message.split("--concurrency ").nth(1).and_then(|rest| rest.split(',').next()).unwrap().to_owned();
    let advised = limited(&["--concurrency", &advised, "--request-count", "1000", "--request-timeout-seconds", "1"]);
    assert_eq!(advised.status.code(), Some(1), "{}", stderr(&advised));
}

#[test]
fn a_checked_file_that_is_missing_is_named_whatever_its_kind() {
    let dir = TempDir::new().unwrap();
    for name in ["nope.yaml", "nope.jsonl"] {
        let output = in_dir(dir.path(), &["validate", name]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(&format!("{name}: no such file")), "{}", stderr(&output));
    }
}

#[test]
fn errors_of_a_checked_file_contain_no_secrets() {
    let dir = TempDir::new().unwrap();
    let file = "benchmark:\n  model: m\n  endpoint: {url: h:1, api_key: hunter2hunter2}\n  dataset: {isl: 8}\n  \
                profiling: {type: concurrency, requests: 4}\n  slos: {hunter2hunter2: 5}\n";
    std::fs::write(dir.path().join("c.yaml"), file).unwrap();
    let output = in_dir(dir.path(), &["validate", "c.yaml"]);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.starts_with("error: ") && message.contains("<redacted>") && !message.contains("hunter2"),
        "{message}"
    );
}

#[test]
fn no_refused_text_acts_on_the_terminal() {
    for args in [
        &["profile", "-m", "m", "\u{1b}[2J"][..],
        &["profile", "-m", "m", "--url", "http://\u{1b}[2J"],
        &["profile", "-m", "m", "--header", "\u{1b}[2J: x"],
        &["profile", "-m", "m", "--config", "\u{1b}[2J.yaml"],
        &["validate", "\u{1b}[2J.yaml"],
        &["config", "init", "--template", "\u{1b}[2J"],
        &["sim", "--\u{1b}[2J"],
        &["config", "\u{1b}[2J"],
        &["\u{1b}[2J"],
    ] {
        let output = aiperf(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(!output.stderr.contains(&0x1b) && stderr(&output).contains("[2J"), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn errors_in_arguments_have_one_form() {
    for args in [&["sim", "--nope"][..], &["config", "nope"], &["completions"], &["metrics", "x"], &["validate"]] {
        let output = aiperf(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let message = stderr(&output);
        assert!(message.starts_with("error: ") && message.ends_with('\n') && !message.contains('\x1b'), "{message:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        // A pipe without a reader does not block it.
        let (_unread, mut full) = std::io::pipe().unwrap();
        full.write_all(&[b'.'; 1 << 16]).unwrap();
        let mut command = Command::new("timeout");
        command.args(["60", env!("CARGO_BIN_EXE_aiperf")]).args(args).stderr(full);
        assert_eq!(command.status().unwrap().code(), Some(2), "{args:?}");
    }
}

#[test]
fn prompts_that_do_not_fit_into_memory_are_refused_before_they_are_made() {
    let dir = TempDir::new().unwrap();
    let usual = "profile -m m -u http://127.0.0.1:9 --tokenizer builtin --num-dataset-entries 3000000";
    let line = format!("ulimit -v 1000000; exec '{}' {usual} --isl 10000000", env!("CARGO_BIN_EXE_aiperf"));
    let output = Command::new("bash").args(["-c", &line]).current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let dataset = "prompts of 10000000 tokens are too many";
    assert!(stderr(&output).contains(dataset), "{}", stderr(&output));
    let line = line.replace("3000000", "3");
    let output = Command::new("bash").args(["-c", &line]).current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("the prompts of this run need some 0.9 GB of memory"), "{}", stderr(&output));
    assert!(!dir.path().join("artifacts").exists());
}

const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/data/tiny-model");

/// A tokenizer whose chat template is in one of its files.
fn with_chat_template(dir: &Path, file: &str, template: &str) -> Output {
    for name in ["tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(Path::new(TINY).join(name), dir.join(name)).unwrap();
    }
    let content = match file {
        "tokenizer_config.json" => format!("{{\"chat_template\": {}}}", serde_json::Value::from(template)),
        _ => template.to_owned(),
    };
    std::fs::write(dir.join(file), content).unwrap();
    let args = ["profile", "--model", "m", "--tokenizer", ".", "--apply-chat-template", "--isl", "8"];
    let url = ["--url", "127.0.0.1:9", "--request-count", "2", "--ui", "none"];
    in_dir(dir, &[&args[..], &url].concat())
}

#[test]
fn a_chat_template_that_cannot_be_applied_is_refused_with_its_file_and_line() {
    let counted = "{% for i in range(99999) %}";
    let config = "tokenizer_config.json";
    let jinja = "chat_template.jinja";
    for (file, template, message) in [
        (config, "first\n{% if %}".to_owned(), "line 2: "),
        (jinja, "first\n{% if %}".to_owned(), "line 2: "),
        (jinja, "a\nb\n{{ raise_exception('only with tools') }}".to_owned(), "line 3: only with tools"),
        (
            jinja,
            "{% if messages|length %}\n{{ messages|nofilter }}{% endif %}".to_owned(),
            "line 2: filter nofilter is unknown",
        ),
        (
            jinja,
            format!("{{% set ns = namespace(x=1) %}}{counted}{{% set ns.x = [ns.x] %}}{{% endfor %}}\n{{{{ ns.x }}}}"),
            "line 1: values in a template are nested at most",
        ),
        (
            config,
            "{% set ns = namespace(s='xxxx') %}\n{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"
                .to_owned(),
            "line 2: a template makes texts of at most",
        ),
        (jinja, format!("{counted}{counted}{{% endfor %}}{{% endfor %}}"), "line 1: "),
        (jinja, format!("{{{{ {}1 }}}}", "not ".repeat(99_999)), "line 1: there are more than 300 operators"),
    ] {
        let dir = TempDir::new().unwrap();
        let output = with_chat_template(dir.path(), file, &template);
        let shown = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{file}: {shown}");
        let wanted = format!("{file}: the chat template cannot be applied: {message}");
        assert!(shown.contains(&wanted) && shown.contains("\n  try: "), "{wanted}\n{shown}");
    }
}

#[test]
fn a_tokenizer_with_bad_rules_is_refused_with_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokenizer.json");
    for rules in [
        r#", "precompiled_charsmap": "AAEAAA==""#,
        r#", "precompiled_charsmap": "////fw==""#,
        r#", "precompiled_charsmap": "/wAAAAA=""#,
        r#", "precompiled_charsmap": "AAAAEA==""#,
        r#", "precompiled_charsmap": "/////w==""#,
        r#", "precompiled_charsmap": 7"#,
        "",
    ] {
        let step = format!(r#"{{"type": "Precompiled"{rules}}}"#);
        let nested = format!(r#"{{"type": "Sequence", "normalizers": [{step}]}}"#);
        for normalizer in [step, nested] {
            let json = format!(
                r#"{{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
                "normalizer": {normalizer}, "pre_tokenizer": {{"type": "Whitespace"}}, "post_processor": null,
                "decoder": null, "model": {{"type": "WordLevel", "vocab": {{"u": 0, "a": 1}}, "unk_token": "u"}}}}"#
            );
            std::fs::write(&file, json).unwrap();
            let args =
                ["profile", "-m", "m", "-u", "http://127.0.0.1:9", "--isl", "8", "--tokenizer", "./", "--ui", "none"];
            let output = in_dir(dir.path(), &args);
            let shown = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{normalizer}: {shown}");
            assert!(shown.contains("tokenizer.json: not a tokenizer this program can use"), "{normalizer}: {shown}");
            assert!(!shown.contains("panicked"), "{normalizer}: {shown}");
        }
    }
}

#[test]
fn a_tokenizer_that_breaks_down_while_prompts_are_made_is_refused_with_its_file() {
    let dir = tempfile::tempdir().unwrap();
    // The library panics on a token of nothing but `a`.
    let json = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
        "decoder": {"type": "Strip", "content": "a", "start": 9999999, "stop": 9999999},
        "model": {"type": "WordLevel", "vocab": {"u": 0, "a": 1}, "unk_token": "u"}}"#;
    std::fs::write(dir.path().join("tokenizer.json"), json).unwrap();
    let args = ["profile", "-m", "m", "-u", "http://127.0.0.1:9", "--isl", "30", "--prompt-corpus", "random"];
    let output = in_dir(dir.path(), &[&args[..], &["--tokenizer", "./", "--ui", "none"]].concat());
    let shown = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert!(shown.contains("tokenizer.json: not a tokenizer this program can use: its steps do not work"), "{shown}");
    assert!(shown.contains("try: --tokenizer builtin") && !shown.contains("panicked"), "{shown}");
}

#[test]
fn no_template_of_a_file_or_a_body_kills_the_process() {
    let deep = "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}";
    let base =
        "  endpoint: {url: 'http://127.0.0.1:9'}\n  dataset: {isl: 8}\n  profiling: {type: concurrency, requests: 4}\n";
    let dir = TempDir::new().unwrap();
    for (model, message) in [
        (deep.to_owned(), "nested at most"),
        ("{% set x = [x] %}".repeat(5_000).replacen("[x]", "1", 1) + "{{ x }}", "nested at most"),
        (format!("{{{{ {}1 }}}}", "1+".repeat(99_999)), "operators"),
        (format!("{{{{ {}1 }}}}", "not ".repeat(99_999)), "operators"),
        (
            "{% for i in range(9000) %}{% for j in range(500) %}{% if range(90000)[89999] %}{% endif %}{% endfor %}{% endfor %}"
                .to_owned(),
            "a template makes texts of at most",
        ),
    ] {
        for text in [
            format!("benchmark:\n  model: \"{model}\"\n{base}"),
            format!("variables:\n  v: \"{model}\"\nbenchmark:\n  model: \"{{{{ v }}}}\"\n{base}"),
        ] {
            std::fs::write(dir.path().join("c.yaml"), text).unwrap();
            let output = in_dir(dir.path(), &["validate", "c.yaml"]);
            let shown: String = stderr(&output).chars().rev().take(600).collect::<Vec<_>>().into_iter().rev().collect();
            assert_eq!(output.status.code(), Some(2), "{shown}");
            assert!(stderr(&output).contains(message), "{message}: {shown}");
        }
    }
    // Literals that are never printed are never allocated.
    let unused =
        format!("{{% if false %}}{{{{ ('x' * 90000000){} }}}}{{% endif %}}m", " ~ ('x' * 90000000)".repeat(90));
    let text = format!("variables:\n  v: \"{unused}\"\nbenchmark:\n  model: \"{{{{ v }}}}\"\n{base}");
    std::fs::write(dir.path().join("c.yaml"), text).unwrap();
    let output = in_dir(dir.path(), &["validate", "c.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output).chars().take(600).collect::<String>());
    let nested = format!("benchmark: {}{}\n", "[".repeat(99_000), "]".repeat(99_000));
    std::fs::write(dir.path().join("c.yaml"), nested).unwrap();
    assert_eq!(in_dir(dir.path(), &["validate", "c.yaml"]).status.code(), Some(2));
    std::fs::write(dir.path().join("body.jinja"), deep).unwrap();
    let args = ["profile", "--model", "m", "--tokenizer", "builtin", "--endpoint-type", "template", "--isl", "8"];
    let rest = ["--url", "127.0.0.1:9/x", "--extra-inputs", "payload_template:body.jinja", "--ui", "none"];
    let output = in_dir(dir.path(), &[&args[..], &rest].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("nested at most"), "{}", stderr(&output));
}
