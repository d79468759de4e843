//! Load and count: `cargo bench -p aiperf-tokenize`.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use aiperf_tokenize::{Lookup, Tokenizer};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

const SENTENCE: &str =
    "The patient keeper of the northern light counted every ship that passed before the winter storm. ";

fn text_of(tokenizer: &Tokenizer, tokens: usize) -> String {
    let long = SENTENCE.repeat(tokens);
    tokenizer.decode(&tokenizer.encode(&long)[..tokens])
}

fn tiny_model() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-model").display().to_string()
}

fn load(c: &mut Criterion) {
    // The builtin tables are built once a process, so this first load is the only one there is.
    let begin = Instant::now();
    black_box(Tokenizer::builtin());
    println!("builtin, first load: {:?}", begin.elapsed());
    let begin = Instant::now();
    black_box(Tokenizer::builtin().count(SENTENCE));
    println!("builtin, first count: {:?}", begin.elapsed());

    let directory = tiny_model();
    c.bench_function("load/tiny-model", |b| {
        b.iter_batched(Lookup::default, |lookup| Tokenizer::load(&directory, &lookup), BatchSize::PerIteration);
    });
}

fn count(c: &mut Criterion) {
    let local = Tokenizer::load(&tiny_model(), &Lookup::default()).expect("the golden tokenizer loads");
    for (name, tokenizer) in [("builtin", Tokenizer::builtin()), ("tiny-model", local)] {
        for (what, tokens) in [("prompt-550", 550), ("answer-32", 32)] {
            let text = text_of(&tokenizer, tokens);
            c.bench_function(&format!("count/{name}/{what}"), |b| b.iter(|| tokenizer.count(black_box(&text))));
            c.bench_function(&format!("encode/{name}/{what}"), |b| b.iter(|| tokenizer.encode(black_box(&text))));
        }
    }
}

criterion_group!(benches, load, count);
criterion_main!(benches);
