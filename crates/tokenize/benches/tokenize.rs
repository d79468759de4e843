//! Load and count: `cargo bench -p aiperf-tokenize`.

use std::hint::black_box;
use std::time::Instant;

use aiperf_testkit::encoding::tokens_of;
use aiperf_testkit::tokenizer_json::tokenizer_json;
use aiperf_tokenize::{Lookup, Tokenizer};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

const SENTENCE: &str =
    "The patient keeper of the northern light counted every ship that passed before the winter storm. ";

fn text_of(tokenizer: &Tokenizer, tokens: usize) -> String {
    let long = SENTENCE.repeat(tokens);
    tokenizer.decode(&tokenizer.encode(&long)[..tokens])
}

fn tiny_model() -> String {
    aiperf_golden::own_path("tiny-model").display().to_string()
}

/// A `tokenizer.json` of 100,000 tokens, as today's models have.
fn full_size() -> NamedTempFile {
    written(&tokenizer_json(&tokens_of("cl100k_base")[..100_000]))
}

/// The same for the general library: a decoder of another name is enough to leave a file to it.
fn full_size_for_the_library() -> NamedTempFile {
    let mut json = tokenizer_json(&tokens_of("cl100k_base")[..100_000]);
    json["decoder"] = json!({"type": "Sequence", "decoders": [json["decoder"].clone()]});
    written(&json)
}

fn written(json: &Value) -> NamedTempFile {
    let file = NamedTempFile::with_suffix(".json").expect("a temporary file");
    std::fs::write(file.path(), format!("{json:#}")).expect("it is written");
    file
}

fn local(path: &str) -> Tokenizer {
    Tokenizer::load(path, &Lookup::default()).expect("the tokenizer loads")
}

fn load(c: &mut Criterion) {
    // The builtin tables are built once a process, so this first load is the only one there is.
    let begin = Instant::now();
    black_box(Tokenizer::builtin());
    println!("builtin, first load: {:?}", begin.elapsed());
    let begin = Instant::now();
    black_box(Tokenizer::builtin().count(SENTENCE));
    println!("builtin, first count: {:?}", begin.elapsed());

    let (full, library) = (full_size(), full_size_for_the_library());
    let paths = [("tiny-model", tiny_model()), ("100k", path(&full)), ("100k-library", path(&library))];
    let mut group = c.benchmark_group("load");
    group.sample_size(10);
    for (name, path) in paths {
        group.bench_function(name, |b| b.iter(|| local(black_box(&path))));
    }
}

fn path(file: &NamedTempFile) -> String {
    file.path().display().to_string()
}

fn count(c: &mut Criterion) {
    let (full, library) = (full_size(), full_size_for_the_library());
    let tokenizers =
        [("builtin", Tokenizer::builtin()), ("100k", local(&path(&full))), ("100k-library", local(&path(&library)))];
    for (name, tokenizer) in tokenizers {
        for (what, tokens) in [("prompt-550", 550), ("answer-32", 32)] {
            let text = text_of(&tokenizer, tokens);
            c.bench_function(&format!("count/{name}/{what}"), |b| b.iter(|| tokenizer.count(black_box(&text))));
            c.bench_function(&format!("encode/{name}/{what}"), |b| b.iter(|| tokenizer.encode(black_box(&text))));
        }
    }
}

criterion_group!(benches, load, count);
criterion_main!(benches);
