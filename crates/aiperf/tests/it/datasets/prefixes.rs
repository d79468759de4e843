//! Text before prompts: pools, system messages, contexts.

use crate::datasets::recorded::{Recorded, chat, chat_as};
use aiperf_tokenize::Tokenizer;
use serde_json::Value;
use std::collections::BTreeSet;

fn few<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["--num-dataset-entries", "20", "--request-count", "20", "--random-seed", "3", "--isl", "16"], args].concat()
}

fn contents(recorded: &Recorded, index: usize) -> Vec<String> {
    let text = |body: &&Value| body["messages"][index]["content"].as_str().unwrap().to_owned();
    recorded.bodies().iter().map(text).collect()
}

#[test]
fn prompts_begin_with_prefixes_of_a_pool_in_addition_to_their_length() {
    let recorded = chat(&few(&["--num-prefix-prompts", "3", "--prefix-prompt-length", "24"])).good();
    let tokenizer = Tokenizer::builtin();
    let texts = recorded.texts();
    assert!(texts.iter().all(|text| tokenizer.count(text) == 40));
    let beginnings: BTreeSet<String> = texts.iter().map(|text| text.chars().take(40).collect()).collect();
    assert_eq!(beginnings.len(), 3, "{beginnings:?}");
    assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), 20, "the text after the prefix differs");
}

#[test]
fn an_incomplete_or_empty_pool_has_no_effect() {
    let stderr = chat(&few(&["--prefix-prompt-pool-size", "3"])).good().run.stderr();
    assert!(stderr.contains("--prefix-prompt-pool-size 3 has no effect"), "{stderr}");
    let none = chat(&few(&["--prefix-prompt-pool-size", "0", "--prefix-prompt-length", "8"])).good();
    assert!(none.texts().iter().all(|text| Tokenizer::builtin().count(text) == 16));
}

#[test]
fn a_shared_system_prompt_and_contexts_are_messages_before_the_first() {
    let lengths = ["--shared-system-prompt-length", "30", "--user-context-prompt-length", "20"];
    let recorded = chat(&few(&lengths)).good();
    let tokenizer = Tokenizer::builtin();
    let (systems, contexts) = (contents(&recorded, 0), contents(&recorded, 1));
    assert!(recorded.bodies().iter().all(|body| body["messages"][0]["role"] == "system"));
    assert!(systems.iter().all(|text| *text == systems[0] && tokenizer.count(text) == 30));
    assert!(contexts.iter().all(|text| tokenizer.count(text) == 20));
    assert_eq!(contexts.iter().collect::<BTreeSet<_>>().len(), 20);
    assert!(contents(&recorded, 2).iter().all(|text| tokenizer.count(text) == 16));
}

#[test]
fn a_system_prompt_is_sent_unchanged_and_before_that_of_rows() {
    let recorded = chat(&few(&["--system-prompt", " Be brief. "])).good();
    assert!(contents(&recorded, 0).iter().all(|text| text == " Be brief. "));
    let recorded = chat_as(|bench| {
        let (rows, prompt) = (bench.dir.path().join("rows.jsonl"), bench.dir.path().join("prompt.txt"));
        let row = r#"{"turns": [{"role": "system", "text": "Be kind."}, {"text": "Who are you?"}]}"#;
        std::fs::write(&rows, row).unwrap();
        std::fs::write(&prompt, "Be brief.\nVery.").unwrap();
        bench.with(&["--input-file", rows.to_str().unwrap(), "--request-count", "1"]).with(&[
            "--custom-dataset-type",
            "multi_turn",
            "--system-prompt-file",
            prompt.to_str().unwrap(),
        ])
    })
    .good();
    assert_eq!(contents(&recorded, 0), ["Be brief.\nVery.\n\nBe kind."]);
    assert_eq!(contents(&recorded, 1), ["Who are you?"]);
}

#[test]
fn invalid_prompts_are_refused_by_name() {
    for (args, named) in [
        (&["--system-prompt", " "][..], "--system-prompt"),
        (&["--system-prompt", "a", "--system-prompt-file", "b"], "exclude each other"),
        (&["--system-prompt-file", "nowhere.txt"], "--system-prompt-file"),
        (&["--system-prompt-file", "/dev/zero"], "--system-prompt-file /dev/zero: is not a file"),
        (&["--system-prompt", "a", "--shared-system-prompt-length", "9"], "exclude each other"),
        (&["--system-prompt", "a", "--endpoint-type", "completions"], "--system-prompt"),
        (&["--num-prefix-prompts", "3", "--user-context-prompt-length", "9"], "exclude each other"),
        (&["--num-prefix-prompts", "300000000", "--prefix-prompt-length", "9"], "--num-prefix-prompts"),
        (&["--prompt-batch-size", "0"], "--prompt-batch-size"),
    ] {
        let message = chat(args).refused();
        assert!(message.contains(named), "{args:?}: {message}");
    }
}

#[test]
fn a_system_prompt_behind_a_link_is_refused() {
    let message = chat_as(|bench| {
        let (folder, link) = (bench.dir.path().join("folder"), bench.dir.path().join("link"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("prompt.txt"), "a").unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        bench.with(&["--system-prompt-file", link.join("prompt.txt").to_str().unwrap()])
    })
    .refused();
    assert!(message.contains("symbolic link"), "{message}");
}

#[test]
fn whole_bodies_take_neither_a_system_prompt_nor_a_marker() {
    for args in [["--system-prompt", "a"], ["--cache-bust", "first_turn_prefix"]] {
        let message = chat_as(|bench| {
            let rows = bench.dir.path().join("rows.jsonl");
            std::fs::write(&rows, r#"{"messages": [{"role": "user", "content": "a"}]}"#).unwrap();
            bench.with(&["--input-file", rows.to_str().unwrap()]).with(&args)
        })
        .refused();
        assert!(message.contains(args[0]) && message.contains("whole bodies"), "{message}");
    }
}
