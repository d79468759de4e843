//! Files of every layout, and the requests they give.

use crate::bench::{Bench, Run, quick, serve};
use crate::datasets::recorded::{Recorded, chat_as};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

/// A run on a file with this name and content, with more arguments.
pub(crate) fn of_file(name: &str, content: impl AsRef<[u8]>, args: &[&str]) -> Recorded {
    chat_as(|bench| {
        let path = bench.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        bench.with(&["--input-file", path.to_str().unwrap()]).with(args)
    })
}

fn of_configuration(text: &str) -> Recorded {
    chat_as(|bench| {
        let path = bench.dir.path().join("run.yaml");
        std::fs::write(&path, text).unwrap();
        bench.with(&["--config", path.to_str().unwrap()])
    })
}

fn inputs(run: &Run) -> Value {
    serde_json::from_str(&run.text("inputs.json")).unwrap()
}

/// The fenced blocks of a document, by the words after the fence.
fn fenced(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(words) = line.strip_prefix("```").filter(|words| !words.is_empty()) {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push((words.to_owned(), block.join("\n")));
        }
    }
    found
}

#[test]
fn every_example_of_the_documentation_is_sent() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/datasets.md");
    let mut layouts = Vec::new();
    for (words, block) in fenced(&std::fs::read_to_string(path).unwrap()) {
        let (kind, layout) = words.split_once(' ').unwrap();
        let recorded = match kind {
            "yaml" => of_configuration(&block),
            _ => of_file(&format!("d.{kind}"), &block, &["--custom-dataset-type", layout, "--request-count", "6"]),
        };
        assert!(!recorded.good().requests.is_empty(), "{words}");
        layouts.push(layout.to_owned());
    }
    for layout in ["single_turn", "multi_turn", "random_pool", "raw_payload", "inputs_json", "sagemaker_data_capture"] {
        assert!(layouts.iter().any(|found| found == layout), "{layout} has no example");
    }
}

#[test]
fn the_template_of_files_runs_as_printed() {
    let printed =
        Command::new(env!("CARGO_BIN_EXE_aiperf")).args(["config", "init", "--template", "file"]).output().unwrap();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let sim = serve(quick());
    let bench = Bench::bare();
    let path = bench.dir.path().join("run.yaml");
    std::fs::write(&path, printed.stdout).unwrap();
    let quietly = ["--ui", "none", "--no-server-metrics", "--no-gpu-telemetry", "--tokenizer", "builtin"];
    let run = bench.with(&["--config", path.to_str().unwrap(), "--url", &sim.url()]).with(&quietly).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert_eq!(run.records().len(), 100);
}

#[test]
fn the_layout_of_a_file_is_detected_compressed_or_not() {
    let document =
        r#"{"data": [{"session_id": "a", "payloads": [{"messages": [{"role": "user", "content": "hi"}]}]}]}"#;
    let question =
        json!({"question_id": "q".repeat(32), "category": "math", "messages": [{"role": "user", "content": "hi"}]});
    for (name, content) in [
        ("d.jsonl", "{\"text\": \"hi\"}".to_owned()),
        ("d.jsonl", "\u{feff}{\"turns\": [{\"text\": \"hi\"}]}".to_owned()),
        ("d.jsonl", "{\"type\": \"random_pool\", \"text\": \"hi\"}".to_owned()),
        ("d.jsonl", "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}".to_owned()),
        ("inputs.json", document.to_owned()),
        ("qualitative.jsonl", question.to_string()),
    ] {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(content.as_bytes()).unwrap();
        for content in [content.clone().into_bytes(), gzip.finish().unwrap()] {
            let recorded = of_file(name, &content, &["--request-count", "2"]).good();
            assert_eq!(recorded.texts(), ["hi", "hi"], "{name}");
        }
    }
}

#[test]
fn rows_that_cannot_be_sent_are_refused_with_their_line_before_anything_is_sent() {
    let typed = |layout: &'static str| ["--custom-dataset-type", layout];
    for (content, args, parts) in [
        ("{\"text\": \"a\"}\n{\"text\": 5}", &typed("single_turn")[..], &["d.jsonl:2: text must be a text"][..]),
        ("{\"text\": \"a\"}\n{\"txt\": 5}", &typed("random_pool"), &["d.jsonl:2: has no content", "try:"]),
        ("{\"turns\": [{\"text\": \"a\", \"output_length\": 0}]}", &[], &["d.jsonl:1: turns[0]: output_length 0"]),
        ("{\"model\": 1}", &typed("raw_payload"), &["d.jsonl:1: a body of raw_payload has a list of messages"]),
        ("{\"data\": [5]}", &typed("inputs_json"), &["d.jsonl: data[0]", "try:"]),
        ("{\"captureData\": {}}", &typed("sagemaker_data_capture"), &["d.jsonl:1: has no eventMetadata", "try:"]),
        ("{\"question_id\": \"x\"}", &typed("speed_bench_math"), &["d.jsonl:1: question_id has 1 characters"]),
        ("\n \n", &typed("random_pool"), &["d.jsonl: has no rows", "try:"]),
        ("\n \n", &[], &["d.jsonl", "has no rows"]),
        ("", &[], &["d.jsonl is empty"]),
        ("[1]", &[], &["d.jsonl:1: is a list", "try:"]),
        ("{\"foo\": 1}", &[], &["d.jsonl has a first row of no known layout", "layouts: single_turn, multi_turn"]),
        ("{\"type\": \"zzz\", \"text\": \"a\"}", &[], &["type 'zzz', which is not a known layout"]),
        ("{\"text\": \"a\", \"input_length\": 5}", &[], &["may be one of single_turn and mooncake_trace"]),
        ("{\"text\": \"a\"}", &["--isl", "5"], &["--isl shapes synthetic conversations only"]),
        ("{\"text\": \"a\"}", &["--session-turns-mean", "2"], &["--session-turns-mean"]),
        ("{\"text\": \"a\"}", &["--seq-dist", "1,1:100"], &["--seq-dist"]),
        ("{\"text\": \"a\"}", &["--image-source", "assets"], &["--image-source"]),
        ("{\"text\": \"a\"}", &["--image-batch-size", "2"], &["--image-batch-size"]),
        ("{\"text\": \"a\"}", &["--dataset-filter", "a=b"], &["--dataset-filter"]),
        ("{\"text\": \"a\"}", &["--replay-speedup", "2"], &["--replay-speedup"]),
        ("{\"text\": \"a\"}", &["--fixed-schedule"], &["d.jsonl:1: has no timestamp"]),
        ("{\"messages\": []}", &["--fixed-schedule"], &["needs rows with timestamps"]),
        (
            "{\"turns\": [{\"text\": \"a\"}]}",
            &["--uuid-and-strip"],
            &["--uuid-and-strip cannot be used with rows of multi_turn"],
        ),
    ] {
        let message = of_file("d.jsonl", content, args).refused();
        parts
            .iter()
            .for_each(|part| assert!(message.contains(part), "{content} {args:?} should print {part}:\n{message}"));
    }
    let message = chat_as(|bench| bench.with(&["--custom-dataset-type", "single_turn"])).refused();
    assert!(message.contains("--input-file"), "{message}");
}

#[test]
fn conversations_are_drawn_by_the_strategy() {
    let rows: Vec<String> = (0..5).map(|number| format!("{{\"text\": \"{number}\"}}")).collect();
    let drawn = |strategy: &str, seed: &str| {
        let args = ["--dataset-sampling-strategy", strategy, "--request-count", "15", "--random-seed", seed];
        of_file("d.jsonl", rows.join("\n"), &args).good().texts()
    };
    let in_order = ["0", "1", "2", "3", "4"];
    assert_eq!(drawn("sequential", "1"), [in_order; 3].concat());
    let shuffled = drawn("shuffle", "1");
    for round in shuffled.chunks(5) {
        let mut round = round.to_vec();
        round.sort();
        assert_eq!(round, in_order);
    }
    assert_ne!(shuffled[..5], shuffled[5..10], "every round has its own order");
    assert_eq!(drawn("random", "1"), drawn("random", "1"));
    assert_ne!(drawn("random", "1"), drawn("random", "2"));
    let first = of_file("d.jsonl", rows.join("\n"), &["--num-dataset-entries", "2", "--request-count", "4"]).good();
    assert_eq!(first.texts(), ["0", "1", "0", "1"]);
}

#[test]
fn an_image_is_sent_once_and_then_by_its_id() {
    let row = |text: &str| json!({"session_id": "s", "text": text, "images": ["data:image/png;base64,AA=="], "image_uuids": ["u1"]});
    let rows = format!("{}\n{}", row("a"), row("b"));
    let recorded = of_file("d.jsonl", rows, &["--uuid-and-strip", "--request-count", "2"]).good();
    let images: Vec<&Value> = recorded
        .bodies()
        .iter()
        .map(|body| {
            let parts = body["messages"][0]["content"].as_array().unwrap();
            parts.iter().find(|part| part["type"] == "image_url").unwrap()
        })
        .collect();
    assert_eq!(images[0]["image_url"]["url"], "data:image/png;base64,AA==");
    assert!(images[1]["image_url"]["url"].as_str().is_none_or(str::is_empty), "{}", images[1]);
    assert_eq!((&images[0]["uuid"], &images[1]["uuid"]), (&json!("u1"), &json!("u1")));
}

#[test]
fn inputs_are_written_per_turn_unless_the_file_has_them() {
    let rows = "{\"session_id\": \"s\", \"turns\": [{\"role\": \"system\", \"text\": \"S\"}, {\"text\": \"a\"}, {\"text\": \"b\"}]}";
    let recorded = of_file("d.jsonl", rows, &["--request-count", "2"]).good();
    let written = inputs(&recorded.run);
    let contents = |body: &Value| {
        body["messages"].as_array().unwrap().iter().map(|one| one["content"].clone()).collect::<Vec<_>>()
    };
    let data = &written["data"][0];
    assert_eq!(data["session_id"], "s");
    let bodies: Vec<_> = data["payloads"].as_array().unwrap().iter().map(contents).collect();
    assert_eq!(bodies, [["S", "a"], ["S", "b"]]);
    // A sent request contains the turns before it.
    assert_eq!(contents(recorded.bodies()[1]), ["S", "a", "yes", "b"]);
    let body = "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}";
    let recorded = of_file("d.jsonl", body, &["--request-count", "1"]).good();
    assert!(!recorded.run.path("inputs.json").exists());
    // A file written by a run is a valid dataset.
    let again = of_file("inputs.json", written.to_string(), &["--request-count", "2"]).good();
    assert_eq!(again.bodies(), data["payloads"].as_array().unwrap().iter().collect::<Vec<_>>());
}

/// Serves one image to every client.
fn image_server(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let _ = stream.write_all(
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len()).as_bytes(),
            );
            let _ = stream.write_all(bytes);
        }
    });
    address
}

#[test]
fn images_by_url_are_inlined_for_an_endpoint_that_fetches_none() {
    let found = "{\"data\": [{\"bounding_boxes\": {}}]}";
    let run = |address: &str| {
        let row = json!({"image": format!("http://{address}/i.png")}).to_string();
        crate::datasets::recorded::answered(found, |bench| {
            let path = bench.dir.path().join("d.jsonl");
            std::fs::write(&path, row).unwrap();
            let args =
                ["--endpoint-type", "image_retrieval", "--request-count", "2", "--input-file", path.to_str().unwrap()];
            bench.with(&["--model", "m"]).with(&args)
        })
    };
    let recorded = run(&image_server(b"\x89PNG\r\n\x1a\nrest")).good();
    for body in recorded.bodies() {
        assert_eq!(body["input"][0]["url"], "data:image/png;base64,iVBORw0KGgpyZXN0");
    }
    let message = run(&image_server(b"<html>")).refused();
    assert!(message.contains("d.jsonl:1: image 'http://") && message.contains("is neither PNG nor JPEG"), "{message}");
}

#[test]
fn records_of_a_configuration_are_sent_and_bad_ones_named() {
    let text = |rows: &str| {
        format!(
            "benchmark:\n  dataset: {{type: file, records: [{rows}]}}\n  profiling: {{type: concurrency, requests: 2}}\n"
        )
    };
    let recorded = of_configuration(&text("{text: a, output_length: 3}, {text: b}")).good();
    assert_eq!(recorded.texts(), ["a", "b"]);
    assert_eq!(recorded.bodies()[0]["max_completion_tokens"], 3);
    let message = of_configuration(&text("{text: a}, {txt: b}")).refused();
    assert!(message.contains("run.yaml: records[1]: has no content"), "{message}");
    let message = of_configuration(&text("")).refused();
    assert!(message.contains("records") && message.contains("is empty"), "{message}");
}

#[test]
fn variables_of_the_references_cache_give_a_note() {
    let recorded = chat_as(|bench| {
        let path = bench.dir.path().join("d.jsonl");
        std::fs::write(&path, "{\"text\": \"a\"}").unwrap();
        bench
            .with(&["--input-file", path.to_str().unwrap(), "--request-count", "1"])
            .env("AIPERF_DATASET_MMAP_CACHE_ENABLED", "true")
            .env("AIPERF_DATASET_PREFORMAT_PAYLOADS", "true")
    })
    .good();
    let message = recorded.run.stderr();
    assert!(
        message.contains("AIPERF_DATASET_MMAP_CACHE_ENABLED has no effect: a dataset is read for each run"),
        "{message}"
    );
    assert!(message.contains("AIPERF_DATASET_PREFORMAT_PAYLOADS has no effect: bodies are encoded"), "{message}");
}

#[test]
fn a_folder_of_pools_and_one_of_captures_are_distinguished() {
    let folder = |files: &[(&str, String)]| {
        chat_as(|bench: Bench| {
            let folder = bench.dir.path().join("data");
            for (name, content) in files {
                std::fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
                std::fs::write(folder.join(name), content).unwrap();
            }
            bench.with(&["--input-file", folder.to_str().unwrap(), "--request-count", "1"])
        })
    };
    let pools = folder(&[("a.jsonl", "{\"text\": \"q\"}".into()), ("b.jsonl", "{\"text\": \"p\"}".into())]).good();
    assert!(pools.texts()[0].contains('q') && pools.texts()[0].contains('p'), "{:?}", pools.texts());
    let body = json!({"messages": [{"role": "user", "content": "captured"}]}).to_string();
    let data = json!({"endpointInput": {"data": body, "encoding": "JSON"}});
    let capture = json!({"captureData": data, "eventMetadata": {"inferenceTime": "2026-01-31T12:00:00Z"}});
    assert_eq!(folder(&[("x/y/c.jsonl", capture.to_string())]).good().texts(), ["captured"]);
    let message = folder(&[("x.bin", "\0\u{1}".into())]).refused();
    assert!(message.contains("is a folder whose files are of no known layout"), "{message}");
}
