//! Time to make a dataset: `cargo bench -p aiperf-dataset`.

use std::hint::black_box;
use std::time::Instant;

use aiperf_dataset::Dataset;
use aiperf_plan::{Draws, Length, SyntheticPlan, Turns};
use aiperf_tokenize::Tokenizer;
use criterion::{Criterion, criterion_group, criterion_main};

fn plan(entries: u32, isl: f64) -> SyntheticPlan {
    SyntheticPlan { entries, isl: Some(Length { mean: isl, stddev: 0.0 }), osl: None, turns: Turns::ONE }
}

fn synthetic(c: &mut Criterion) {
    let tokenizer = Tokenizer::builtin();
    let draws = Draws::new(Some(1), "");
    for (entries, isl) in [(1000, 64.0), (100, 550.0), (1, 100_000.0)] {
        let plan = plan(entries, isl);
        let begin = Instant::now();
        black_box(Dataset::synthetic(&plan, &draws, &tokenizer)).expect("the plan is sound");
        println!("{entries} of {isl} tokens, the first time: {:?}", begin.elapsed());
        c.bench_function(&format!("synthetic/{entries}x{isl}"), |b| {
            b.iter(|| Dataset::synthetic(black_box(&plan), &draws, &tokenizer));
        });
    }
}

criterion_group!(benches, synthetic);
criterion_main!(benches);
