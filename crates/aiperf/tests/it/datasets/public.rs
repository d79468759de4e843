//! Public datasets: rows of a hub, as the server receives them.

use crate::datasets::recorded::{Recorded, chat_as};
use aiperf_plan::{PublicSet, PublicSource};
use aiperf_testkit::fake_hub::{FakeHub, Faults, HubFile};
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

const SHAREGPT_FILE: &str = "ShareGPT_V3_unfiltered_cleaned_split.json";

/// The file of a dataset, its bytes, and a text of the first request.
fn rows(set: PublicSet) -> (&'static str, Vec<u8>, &'static str) {
    use PublicSet as Set;
    let golden = |name: &str| std::fs::read(aiperf_golden::own_path("public").join(name)).unwrap();
    let lines = |rows: &[Value]| rows.iter().map(|row| format!("{row}\n")).collect::<String>().into_bytes();
    let problem = |column: &str| lines(&[json!({column: " "}), json!({column: "What is 2 + 2?", "other": 1})]);
    let two = "What is 2 + 2?";
    match set {
        Set::ShareGpt => {
            let turn = |from: &str, value: &str| json!({"from": from, "value": value});
            let rows = json!([
                {"id": "short", "conversations": [turn("human", "Hi"), turn("gpt", "Hello")]},
                {"id": "good", "conversations": [
                    turn("human", "Tell me how the tides work, please"),
                    turn("gpt", "The moon pulls on the water of the sea"),
                    turn("human", "And what of the sun, does it help?"),
                    turn("gpt", "It does, about half as much as the moon"),
                ]},
            ]);
            (SHAREGPT_FILE, rows.to_string().into_bytes(), "Tell me how the tides work, please")
        }
        Set::SpecBench => {
            ("question.jsonl", lines(&[json!({"turns": [" Name a colour. ", "Another?"]})]), "Name a colour.")
        }
        Set::Aimo | Set::AimoAime | Set::AimoNuminaCot | Set::AimoNumina15 => {
            ("data/train-00000-of-00001.jsonl", problem("problem"), two)
        }
        Set::SpecAlGsm8k => ("main/test.jsonl", problem("question"), two),
        Set::SpecAlMath500 => ("test.jsonl", problem("problem"), two),
        Set::SpecAlHumanEval => ("openai_humaneval/test.jsonl", problem("prompt"), two),
        Set::SpecAlMbpp => ("full/test.jsonl", problem("text"), two),
        Set::SpecAlMtBench => ("question.jsonl", lines(&[json!({"prompt": ["First?", "Second?"]})]), "First?"),
        Set::InstructCoder => ("train.json", json!([{"instruction": two}]).to_string().into_bytes(), two),
        Set::Blazedit5k | Set::Blazedit10k => {
            let rows = lines(&[json!({"code": "x = {1}", "change_request": "Use 2"})]);
            (
                "data/train.jsonl",
                rows,
                "Original file:\\n```python\\nx = {1}\\n```\\n\\nChange request:\\nUse 2\\n\\nPlease",
            )
        }
        Set::MmStar => ("mmstar.parquet", golden("questions.parquet"), "data:image/jpeg;base64,"),
        Set::Mmvu => {
            let row = json!({"question": "Q?", "choices": {"A": "x", "B": ""}, "video": "https://host/v.mp4"});
            ("validation.json", json!([{"question": "No video"}, row]).to_string().into_bytes(), "https://host/v.mp4")
        }
        Set::VisionArena => ("data/train-0.parquet", golden("arena.parquet"), "data:image/jpeg;base64,"),
        Set::LlavaOneVision => {
            let rows = lines(&[json!({"conversations": [{"from": "human", "value": "<image>\nLook"}], "image": null})]);
            ("sharegpt4o/train.jsonl", rows, "\"Look\"")
        }
        Set::LibriSpeech => ("clean/test/0000.parquet", golden("speech.parquet"), "Transcribe this audio."),
        Set::VoxPopuli => ("en/test/0000.parquet", golden("speech.parquet"), "\"format\":\"wav\""),
        Set::GigaSpeech => ("xs/test/0000.parquet", golden("speech.parquet"), "input_audio"),
        Set::Ami => ("ihm/test/0000.parquet", golden("speech.parquet"), "UklGR"),
        Set::SpgiSpeech => ("test/0000.parquet", golden("speech.parquet"), "UklGR"),
        Set::Exgentic | Set::ExgenticV2 => {
            ("data/train-0.jsonl", lines(&[session("s1", "claude_code"), session("s2", "tool_calling")]), "be brief")
        }
    }
}

/// A session of two calls, one second apart, and a span that is not a call.
fn session(id: &str, harness: &str) -> Value {
    let call = |start: &str, end: &str, text: &str| {
        let messages = json!([{"role": "user", "parts": [{"type": "text", "content": text}]}]).to_string();
        json!({"type": "llm_call", "start_time": start, "end_time": end, "status": {"code": 1}, "attributes": {
            "gen_ai.input.messages": messages, "gen_ai.system_instructions": "be brief",
            "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 7, "gen_ai.request.temperature": 0.5}})
    };
    json!({"harness": harness, "session_id": id, "models": ["azure/Kimi-K2.5"], "benchmark": "swebench", "spans": [
        call("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "one"),
        {"type": "tool"},
        call("2026-01-01T00:00:01.020Z", "2026-01-01T00:00:02Z", "two"),
    ]})
}

/// A hub, and empty caches.
struct Fixture {
    folder: TempDir,
    hub: FakeHub,
}

impl Fixture {
    fn new(files: Vec<HubFile>, faults: Faults) -> Self {
        let folder = TempDir::new().unwrap();
        let hub = FakeHub::start(folder.path(), files, faults);
        Self { folder, hub }
    }

    /// With the rows of every dataset.
    fn of_all() -> Self {
        let file = |set: &PublicSet| {
            let (path, bytes, _) = rows(*set);
            let repo = match set.source() {
                PublicSource::Hub(hub) => hub.repo,
                PublicSource::Url { .. } => "anon8231489123/ShareGPT_Vicuna_unfiltered",
            };
            HubFile { repo, path, bytes, is_large: path.ends_with(".parquet") }
        };
        Self::new(PublicSet::ALL.iter().map(file).collect(), Faults::default())
    }

    fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Recorded {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        chat_as(|bench| {
            let beside = bench.dir.path().join(".cache/aiperf/datasets");
            std::fs::create_dir_all(&beside).unwrap();
            std::fs::write(beside.join("spec_bench.jsonl"), rows(PublicSet::SpecBench).1).unwrap();
            let bench = bench
                .with(args)
                .env("HF_ENDPOINT", &self.hub.endpoint)
                .env("HF_HUB_CACHE", &text(self.folder.path().join("hub")))
                .env("XDG_CACHE_HOME", &text(self.folder.path().join("cache")))
                .env("SSL_CERT_FILE", &text(self.hub.ca_file.clone()))
                .env("HF_HUB_OFFLINE", "0");
            env.iter().fold(bench, |bench, (name, value)| bench.env(name, value))
        })
    }
}

#[test]
fn every_public_dataset_is_sent_and_results_name_its_source() {
    let fixture = Fixture::of_all();
    for set in PublicSet::ALL {
        let name = set.name();
        let recorded = fixture.run(&["--public-dataset", name, "--request-count", "1"], &[]).good();
        let body = recorded.requests[0].body.to_string();
        let wanted = rows(*set).2;
        assert!(body.contains(wanted), "{name}: {body}");
        let metadata = &recorded.run.summary()["metadata"]["dataset"];
        assert_eq!((&metadata["source_type"], &metadata["loader"]), (&json!("public_dataset"), &json!(name)));
        if let PublicSource::Hub(hub) = set.source() {
            assert_eq!((&metadata["hf_dataset_name"], &metadata["hf_split"]), (&json!(hub.repo), &json!(hub.split)));
            assert_eq!(metadata.get("hf_subset"), hub.subset.map(Value::from).as_ref(), "{name}");
        }
        assert_eq!(metadata.get("num_dataset_entries"), None);
    }
}

#[test]
fn conversations_of_several_turns_carry_their_history_and_ask_for_the_length_of_the_recorded_response() {
    let fixture = Fixture::of_all();
    let recorded = fixture.run(&["--public-dataset", "sharegpt", "--num-conversations", "1"], &[]).good();
    let bodies = recorded.bodies();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[1]["messages"].as_array().unwrap().len(), 3);
    // tiktoken: len(get_encoding("o200k_base").encode("The moon pulls on the water of the sea"))
    let asked = bodies[0]["max_completion_tokens"].as_u64().or(bodies[0]["max_tokens"].as_u64());
    assert_eq!(asked, Some(9));
    let output = recorded.run.stdout() + &recorded.run.stderr();
    assert!(output.contains("too short or too long"), "{output}");
}

#[test]
fn a_fetched_dataset_is_used_without_a_network() {
    let fixture = Fixture::of_all();
    for set in ["spec_al_gsm8k", "sharegpt"] {
        let args = ["--public-dataset", set, "--request-count", "1"];
        let first = fixture.run(&args, &[]).good();
        let asked = fixture.hub.requests().len();
        let again = fixture.run(&args, &[("HF_HUB_OFFLINE", "1")]).good();
        assert_eq!(first.bodies(), again.bodies());
        assert_eq!(fixture.hub.requests().len(), asked, "{set}");
    }
}

#[test]
fn a_dataset_that_cannot_be_fetched_is_refused_with_the_path_to_put_it() {
    let fixture = Fixture::of_all();
    let offline = fixture.run(&["--public-dataset", "spec_al_gsm8k"], &[("HF_HUB_OFFLINE", "1")]).refused();
    assert!(offline.contains("hf download --repo-type dataset openai/gsm8k"), "{offline}");
    assert!(offline.contains(fixture.folder.path().join("hub").to_str().unwrap()), "{offline}");
    let file = fixture.run(&["--public-dataset", "sharegpt"], &[("HF_HUB_OFFLINE", "1")]).refused();
    assert!(file.contains("put it at") && file.contains(SHAREGPT_FILE), "{file}");
    let gated = Fixture::new(Vec::new(), Faults { refusal: Some(("403 Forbidden", "GatedRepo")), ..Faults::default() });
    let refused = gated.run(&["--public-dataset", "gigaspeech"], &[]).refused();
    assert!(refused.contains("speechcolab/gigaspeech") && refused.contains("HF_TOKEN"), "{refused}");
    let silent = Fixture::new(Vec::new(), Faults { is_silent: true, ..Faults::default() });
    let limit = [("AIPERF_DATASET_PUBLIC_DATASET_TIMEOUT", "1")];
    let late = silent.run(&["--public-dataset", "aimo"], &limit).refused();
    assert!(late.contains("AI-MO/NuminaMath-TIR"), "{late}");
}

#[test]
fn only_the_needed_part_of_a_large_dataset_is_fetched() {
    let row = |text: &str| json!({"conversation": [{"role": "user", "content": text}]});
    let file = |path, rows: &[Value]| {
        let bytes = rows.iter().map(|row| format!("{row}\n")).collect::<String>().into_bytes();
        HubFile { repo: "lmarena-ai/VisionArena-Chat", path, bytes, is_large: false }
    };
    let files = vec![file("data/train-0.jsonl", &[row("a"), row("b")]), file("data/train-1.jsonl", &[row("c")])];
    let fixture = Fixture::new(files, Faults::default());
    let texts = |args: &[&str]| {
        let args = [&["--public-dataset", "vision_arena"], args].concat();
        fixture.run(&args, &[]).good().texts()
    };
    assert_eq!(texts(&["--request-count", "2"]), ["a", "b"]);
    assert!(!fixture.hub.requests().iter().any(|head| head.contains("train-1")));
    assert_eq!(texts(&["--request-count", "3"]), ["a", "b", "c"]);
    assert_eq!(texts(&["--request-count", "3", "--num-dataset-entries", "1"]), ["a", "a", "a"]);
}

#[test]
fn recorded_sessions_are_sent_turn_by_turn_or_by_timestamp() {
    let fixture = Fixture::of_all();
    let run = |args: &[&str]| fixture.run(&[&["--public-dataset", "exgentic_v2"], args].concat(), &[]).good();
    let one = run(&["--request-count", "2", "--dataset-filter", "harness=tool_calling"]);
    assert_eq!(one.texts(), ["one", "two"]);
    assert!(
        one.heads().iter().all(|head| head.to_lowercase().contains("x-dynamo-session-id: s2")),
        "{:?}",
        one.heads()
    );
    assert_eq!(one.bodies()[0]["temperature"], 0.5);
    assert_eq!(one.bodies()[1]["messages"].as_array().unwrap().len(), 2);
    let records = run(&["--num-dataset-entries", "1", "--fixed-schedule"]);
    assert_eq!(records.texts(), ["one", "two"]);
    let none =
        fixture.run(&["--public-dataset", "exgentic_v2", "--dataset-filter", "harness=openai_solo"], &[]).refused();
    assert!(none.contains("claude_code/Kimi-K2.5"), "{none}");
}

#[test]
fn options_that_a_dataset_does_not_support_are_refused_by_name() {
    let fixture = Fixture::of_all();
    for (args, message) in [
        (vec!["--public-dataset", "weka_hf", "--hf-weka-dataset", "a/b"], "Weka"),
        (vec!["--public-dataset", "weka_hf"], "--public-dataset weka_hf is not there yet"),
        (vec!["--public-dataset", "semianalysis_cc_traces_weka"], "Weka traces are not replayed"),
        (vec!["--public-dataset", "sharegpt", "--hf-subset", "x"], "without subsets"),
        (vec!["--public-dataset", "aimo", "--dataset-filter", "a=b"], "--dataset-filter"),
        (vec!["--public-dataset", "exgentic", "--dataset-filter", "benchmark=swebench"], "exgentic_v2"),
        (vec!["--public-dataset", "aimo", "--fixed-schedule"], "timestamps"),
        (vec!["--public-dataset", "exgentic", "--benchmark-duration", "1"], "needs a number of sessions"),
        (vec!["--public-dataset", "spec_al_gsm8k", "--hf-subset", "socratic"], "split 'test'"),
        (vec!["--public-dataset", "aimo", "--inter-turn-delay-cap-seconds", "1"], "have none"),
    ] {
        let refused = fixture.run(&args, &[]).refused();
        assert!(refused.contains(message), "{args:?}: {refused}");
    }
}

#[test]
fn a_configuration_file_selects_a_dataset_and_its_rows() {
    let fixture = Fixture::of_all();
    let recorded = chat_as(|bench| {
        let text = "benchmark:\n  dataset: {type: public, dataset: spec_bench, osl: 5}\n  profiling: {type: concurrency, \
                    requests: 2}\n";
        let file = bench.dir.path().join("run.yaml");
        std::fs::write(&file, text).unwrap();
        let seeded = bench.dir.path().join(".cache/aiperf/datasets");
        std::fs::create_dir_all(&seeded).unwrap();
        std::fs::write(seeded.join("spec_bench.jsonl"), rows(PublicSet::SpecBench).1).unwrap();
        bench.with(&["--config", file.to_str().unwrap()])
    })
    .good();
    assert_eq!(recorded.texts(), ["Name a colour.", "Name a colour."]);
    assert_eq!(fixture.hub.requests().len(), 0);
}

#[test]
fn every_example_of_the_documentation_runs() {
    let fixture = Fixture::of_all();
    let page = include_str!("../../../../../docs/public-datasets.md");
    let examples: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("aiperf profile ")).collect();
    assert!(examples.len() >= 4, "{examples:?}");
    for example in examples {
        // The server, the model and the tokenizer are those of the test.
        let named = ["--url", "--model", "--tokenizer"];
        let words: Vec<&str> = example.split_whitespace().collect();
        let mut args = Vec::new();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if named.contains(&word) {
                words.next();
            } else {
                args.push(word);
            }
        }
        let recorded = fixture.run(&args, &[]).good();
        assert!(!recorded.requests.is_empty(), "{example}");
    }
    for set in PublicSet::ALL {
        assert!(page.contains(&format!("| `{}` |", set.name())), "{} is not in the table", set.name());
    }
}
