//! Tokenizers by every name: built-in ones, those of folders and files, and those of a hub over TLS.

use crate::bench::{Bench, answering, response};
use crate::datasets::recorded::{Recorded, chat_counted};
use aiperf_testkit::fake_hub::{COMMIT, FakeHub, Faults, HubFile};
use aiperf_testkit::tokenizer_json::FRAGILE;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A row of a file, so that the request does not depend on the tokenizer.
const ROW: &str = r#"{"text": "The model answers in tokens."}"#;

fn golden(name: &str) -> PathBuf {
    aiperf_golden::own_path(name)
}

/// A run of one row, with more arguments and environment variables.
fn counted(args: &[&str], env: &[(&str, &str)]) -> Recorded {
    chat_counted(|bench| {
        let rows = bench.dir.path().join("rows.jsonl");
        std::fs::write(&rows, ROW).unwrap();
        let model: &[&str] = if args.contains(&"--model") { &[] } else { &["--model", "m"] };
        let bench =
            bench.with(&["--input-file", rows.to_str().unwrap(), "--request-count", "1"]).with(model).with(args);
        env.iter().fold(bench, |bench, (name, value)| bench.env(name, value))
    })
}

fn input_tokens(recorded: &Recorded) -> u64 {
    recorded.run.records()[0]["metrics"]["input_sequence_length"]["value"].as_u64().unwrap()
}

/// A hub with one tokenizer, and an empty cache.
struct Fixture {
    folder: TempDir,
    hub: FakeHub,
}

impl Fixture {
    fn new(faults: Faults) -> Self {
        let folder = TempDir::new().unwrap();
        let of = |path: &'static str, is_large| {
            let bytes = std::fs::read(golden("tiny-model").join(path)).unwrap();
            HubFile { repo: "org/tiny", path, bytes, is_large }
        };
        let mut files = vec![of("tokenizer.json", true), of("tokenizer_config.json", false), of("config.json", false)];
        files.push(HubFile { repo: "org/bare", path: "README.md", bytes: b"#".to_vec(), is_large: false });
        let hub = FakeHub::start(folder.path(), files, faults);
        Self { folder, hub }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn env(&self) -> Vec<(&str, String)> {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        vec![
            ("HF_ENDPOINT", self.hub.endpoint.clone()),
            ("HF_HUB_CACHE", text(&self.cache())),
            ("SSL_CERT_FILE", text(&self.hub.ca_file)),
            ("HF_HUB_OFFLINE", "0".to_owned()),
        ]
    }

    fn counted(&self, args: &[&str], more: &[(&str, &str)]) -> Recorded {
        let own = self.env();
        let env: Vec<(&str, &str)> =
            own.iter().map(|(name, value)| (*name, value.as_str())).chain(more.iter().copied()).collect();
        counted(args, &env)
    }
}

#[test]
fn every_encoding_of_tiktoken_counts_without_a_file_and_without_a_network() {
    // python: len(tiktoken.get_encoding(name).encode("The model answers in tokens."))
    for name in ["builtin", "o200k_base", "o200k_harmony", "cl100k_base", "p50k_base", "p50k_edit", "r50k_base"] {
        let recorded = counted(&["--tokenizer", name], &[("HF_HOME", "/nowhere")]).good();
        assert_eq!(input_tokens(&recorded), 6, "{name}");
    }
}

#[test]
fn a_folder_and_the_file_in_it_are_the_same_tokenizer() {
    let folder = golden("tiny-model");
    let count = |path: &Path| input_tokens(&counted(&["--tokenizer", path.to_str().unwrap()], &[]).good());
    assert_eq!(count(&folder), count(&folder.join("tokenizer.json")));
    let refused = counted(&["--tokenizer", "./no-such-folder"], &[]).refused();
    assert!(refused.contains("Failed to load tokenizer './no-such-folder'") && refused.contains("try: "), "{refused}");
}

#[test]
fn responses_that_the_tokenizer_cannot_count_keep_their_times_and_cost_no_other_record() {
    let url = answering(|number, _, _| {
        let text = ["a", "Zed", "a a", "b"][number % 4];
        let choice = serde_json::json!({ "index": 0, "message": { "role": "assistant", "content": text } });
        response("200 OK", "application/json", &serde_json::json!({ "choices": [choice] }).to_string())
    });
    let bench = Bench::bare();
    std::fs::write(bench.dir.path().join("tokenizer.json"), FRAGILE).unwrap();
    std::fs::write(bench.dir.path().join("rows.jsonl"), r#"{"text": "a a a"}"#).unwrap();
    let run = bench
        .with(&["--model", "m", "--url", &url, "--tokenizer", "./", "--input-file", "rows.jsonl", "--ui", "none"])
        .with(&["--request-count", "20", "--concurrency", "1", "--no-server-metrics", "--no-gpu-telemetry"])
        .run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert!(!run.stderr().contains("panicked"), "{}", run.stderr());
    let records = run.records();
    assert_eq!(records.len(), 20);
    let counts: Vec<Option<u64>> =
        records.iter().map(|record| record["metrics"]["output_sequence_length"]["value"].as_u64()).collect();
    let of = |count: Option<u64>| counts.iter().filter(|other| **other == count).count();
    assert_eq!((of(Some(1)), of(Some(2)), of(None)), (5, 5, 10), "{counts:?}");
    assert!(records.iter().all(|record| record["metrics"]["request_latency"]["value"].as_f64() > Some(0.0)));
    let summary = run.summary();
    assert_eq!((&summary["measurement"]["uncountable"], &summary["is_complete"]), (&10.into(), &true.into()));
    let doubts = summary["measurement"]["doubts"].to_string();
    assert!(doubts.contains("the tokens of 10 responses were not counted because their tokenizer fails"), "{doubts}");
}

#[test]
fn a_name_of_the_hub_is_fetched_once_and_then_used_offline() {
    let fixture = Fixture::new(Faults { cuts: vec![700], ..Faults::default() });
    let first = fixture.counted(&["--tokenizer", "org/tiny"], &[("HF_TOKEN", "hf_secret")]).good();
    let stdout = first.run.stdout();
    assert!(
        stdout.contains("Fetching tokenizer.json (") && stdout.contains("[OK] Tokenizer org/tiny detected"),
        "{stdout}"
    );
    assert!(stdout.contains("1 tokenizer(s) validated | 0 resolved |"), "{stdout}");
    let snapshot = fixture.cache().join("models--org--tiny/snapshots").join(COMMIT);
    assert!(snapshot.join("tokenizer.json").is_file() && !snapshot.join("config.json").exists());
    let local = counted(&["--tokenizer", golden("tiny-model").to_str().unwrap()], &[]).good();
    assert_eq!(input_tokens(&first), input_tokens(&local));
    let asked = fixture.hub.requests();
    assert!(asked.iter().any(|head| head.contains("Bearer hf_secret")));
    assert!(fixture.hub.elsewhere().iter().all(|head| !head.contains("hf_secret")));
    let again = fixture.counted(&["--tokenizer", "tiny"], &[("HF_HUB_OFFLINE", "1")]).good();
    assert_eq!(input_tokens(&again), input_tokens(&first));
    assert_eq!(fixture.hub.requests().len(), asked.len(), "cached files are not requested");
}

#[test]
fn a_short_name_is_the_most_downloaded_model_that_ends_with_it() {
    let fixture = Fixture::new(Faults::default());
    let recorded = fixture.counted(&["--tokenizer", "tiny"], &[]).good();
    let stdout = recorded.run.stdout();
    assert!(stdout.contains("[OK] Tokenizer org/tiny detected for tiny"), "{stdout}");
    assert!(stdout.contains("1 tokenizer(s) validated | 1 resolved |"), "{stdout}");
    let vague = fixture.counted(&["--tokenizer", "tin"], &[]).refused();
    for part in ["Ambiguous Tokenizer Name", "org/tiny (1.2M downloads)", "try: org/tiny"] {
        assert!(vague.contains(part), "{part}: {vague}");
    }
}

#[test]
fn the_named_revision_is_fetched() {
    let fixture = Fixture::new(Faults::default());
    fixture.counted(&["--tokenizer", "org/tiny", "--tokenizer-revision", COMMIT], &[]).good();
    let refs = fixture.cache().join("models--org--tiny/refs");
    assert!(!refs.exists(), "a commit needs no name");
    let other = fixture.counted(&["--tokenizer", "org/tiny", "--tokenizer-revision", "v9"], &[]).refused();
    assert!(other.contains("Invalid Git Revision") && other.contains("no revision 'v9'"), "{other}");
}

#[test]
fn a_tokenizer_that_cannot_be_fetched_is_refused_with_a_suggestion_and_nothing_is_sent() {
    for (refusal, title, words) in [
        (("401 Unauthorized", "GatedRepo"), "Gated Repository", "accept them at"),
        (("404 Not Found", "RepoNotFound"), "Repository Not Found", "full id"),
        (("403 Forbidden", ""), "HuggingFace Hub Error", "returned 403"),
    ] {
        let fixture = Fixture::new(Faults { refusal: Some(refusal), ..Faults::default() });
        let error = fixture.counted(&["--tokenizer", "org/tiny"], &[]).refused();
        for part in ["Failed to load tokenizer 'org/tiny'", title, words, "--use-server-token-count"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    let fixture = Fixture::new(Faults::default());
    let bare = fixture.counted(&["--tokenizer", "org/bare"], &[]).refused();
    assert!(bare.contains("Missing Tokenizer Files") && bare.contains("org/bare"), "{bare}");
    let offline = fixture.counted(&["--tokenizer", "org/tiny"], &[("HF_HUB_OFFLINE", "true")]).refused();
    assert!(offline.contains("Offline - Files Not Cached") && offline.contains("unset HF_HUB_OFFLINE"), "{offline}");
    let silent = Fixture::new(Faults { is_silent: true, ..Faults::default() });
    let late = silent.counted(&["--tokenizer", "org/tiny"], &[("AIPERF_TOKENIZER_PRELOAD_TIMEOUT", "1")]).refused();
    assert!(late.contains("Network Timeout"), "{late}");
}

#[test]
fn a_model_without_a_tokenizer_is_counted_with_builtin_and_a_warning() {
    let fixture = Fixture::new(Faults { refusal: Some(("401 Unauthorized", "GatedRepo")), ..Faults::default() });
    let recorded = fixture.counted(&["--model", "org/gated"], &[]);
    assert_eq!(recorded.run.code(), Some(0), "{}", recorded.run.stderr());
    let stdout = recorded.run.stdout();
    assert!(stdout.contains("No tokenizer for model 'org/gated'") && stdout.contains("Gated Repository"), "{stdout}");
    assert_eq!(input_tokens(&recorded), 6);
}

#[test]
fn a_signal_stops_a_fetch() {
    let fixture = Fixture::new(Faults { is_silent: true, ..Faults::default() });
    let bench =
        Bench::bare().with(&["--model", "m", "--url", "127.0.0.1:1", "--tokenizer", "org/tiny", "--ui", "none"]);
    let running = fixture.env().iter().fold(bench, |bench, (name, value)| bench.env(name, value)).start();
    while fixture.hub.requests().is_empty() {
        std::thread::yield_now();
    }
    running.signal("INT");
    let run = running.finish_soon();
    assert!(run.stderr().contains("nothing was sent"), "{}", run.stderr());
    assert!(!fixture.cache().join("models--org--tiny/snapshots").exists());
}

#[test]
fn every_example_of_the_documentation_runs() {
    let page = include_str!("../../../../../docs/tokenizers.md");
    let block = page.split("```bash\n").nth(1).unwrap().split("\n```").next().unwrap();
    let fixture = Fixture::new(Faults::default());
    let sim = crate::bench::serve(crate::bench::quick());
    assert_eq!(block.lines().count(), 4);
    for line in block.lines() {
        let line = line.replace("localhost:8000", sim.url().trim_start_matches("http://"));
        let args: Vec<&str> = line.split_whitespace().skip(2).collect();
        let bench = Bench::bare().with(&args).with(&["--ui", "none", "--no-server-metrics", "--no-gpu-telemetry"]);
        let bench = fixture.env().iter().fold(bench, |bench, (name, value)| bench.env(name, value));
        std::os::unix::fs::symlink(golden("tiny-model"), bench.dir.path().join("tiny-model")).unwrap();
        let run = bench.run();
        assert_eq!(run.code(), Some(0), "{line}\n{}", run.stderr());
        assert_eq!(run.summary()["request_count"]["avg"], 4.0, "{line}");
    }
}
