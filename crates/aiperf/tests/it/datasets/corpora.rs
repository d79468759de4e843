//! The text of prompts, and the number of prompts per request.

use crate::datasets::recorded::{chat, chat_counted};
use serde_json::Value;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/data/tiny-model");

fn few<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["--num-dataset-entries", "6", "--request-count", "6", "--random-seed", "3", "--isl", "40"], args].concat()
}

fn inputs(records: &[Value]) -> Vec<u64> {
    records.iter().map(|one| one["metrics"]["input_sequence_length"]["value"].as_u64().unwrap()).collect()
}

#[test]
fn prompts_of_every_corpus_are_as_long_as_asked() {
    let mut seen = Vec::new();
    for corpus in ["sonnet", "coding", "random", "CODING"] {
        let recorded = chat(&few(&["--prompt-corpus", corpus])).good();
        assert_eq!(inputs(&recorded.run.records()), [40; 6], "{corpus}");
        seen.push(recorded.texts());
    }
    assert_eq!(seen[1], seen[3], "however it is spelled");
    assert!(seen[0] != seen[1] && seen[1] != seen[2]);
}

#[test]
fn a_batch_puts_several_texts_into_one_request() {
    let recorded = chat(&few(&["--prompt-batch-size", "3"])).good();
    for body in recorded.bodies() {
        let parts = body["messages"][0]["content"].as_array().unwrap();
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| part["type"] == "text" && part["text"].is_string()), "{parts:?}");
    }
}

#[test]
fn a_style_without_random_text_gives_a_note() {
    let stderr = chat(&few(&["--random-corpus-style", "sglang"])).good().run.stderr();
    assert!(stderr.contains("--random-corpus-style sglang has no effect"), "{stderr}");
}

#[test]
fn inputs_are_counted_as_the_template_renders_them_and_prompts_leave_room_for_it() {
    let counted = |args: &[&str]| {
        chat_counted(|bench| bench.with(&["--model", "m", "--tokenizer", MODEL]).with(&few(args))).good()
    };
    let bare = counted(&[]);
    assert_eq!(inputs(&bare.run.records()), [40; 6]);
    let rendered = counted(&["--apply-chat-template"]);
    let counts = inputs(&rendered.run.records());
    assert!(counts.iter().all(|count| (39..=41).contains(count)), "{counts:?}");
    let shorter = |index: usize| rendered.texts()[index].len() < bare.texts()[index].len();
    assert!((0..6).all(shorter));
}

#[test]
fn a_tokenizer_without_a_template_gives_a_note() {
    let stdout = chat(&few(&["--apply-chat-template"])).good().run.stdout();
    assert!(stdout.contains("--apply-chat-template has no effect"), "{stdout}");
}
