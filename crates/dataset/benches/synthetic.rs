//! Time to make a dataset: `cargo bench -p aiperf-dataset`.

use std::hint::black_box;
use std::time::Instant;

use aiperf_dataset::{Dataset, DatasetError, Making};
use aiperf_plan::{DatasetPlan, Distribution, Draws, SyntheticPlan};
use aiperf_tokenize::Tokenizer;
use criterion::{Criterion, criterion_group, criterion_main};

fn synthetic(plan: &SyntheticPlan, draws: &Draws, tokenizer: &Tokenizer) -> Result<Dataset, DatasetError> {
    Dataset::of(&DatasetPlan::Synthetic(plan.clone()), Making::new(draws, tokenizer))
}

fn plan(entries: u32, isl: f64) -> SyntheticPlan {
    SyntheticPlan { isl: Some(Distribution::fixed(isl)), ..SyntheticPlan::new(entries) }
}

fn prompts(c: &mut Criterion) {
    let tokenizer = Tokenizer::builtin();
    let draws = Draws::new(Some(1), "");
    for (entries, isl) in [(1000, 64.0), (100, 550.0), (1, 100_000.0)] {
        let plan = plan(entries, isl);
        let begin = Instant::now();
        black_box(synthetic(&plan, &draws, &tokenizer)).expect("the plan is sound");
        println!("{entries} of {isl} tokens, the first time: {:?}", begin.elapsed());
        c.bench_function(&format!("synthetic/{entries}x{isl}"), |b| {
            b.iter(|| synthetic(black_box(&plan), &draws, &tokenizer));
        });
    }
}

criterion_group!(benches, prompts);
criterion_main!(benches);
