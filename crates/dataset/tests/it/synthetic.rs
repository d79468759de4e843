//! Synthetic datasets: exact lengths, and the same conversations in any order of calls.

use crate::support;

use aiperf_dataset::{Dataset, DatasetError, Making};
use aiperf_plan::{DatasetPlan, Distribution, Draws, SyntheticPlan};
use aiperf_tokenize::{Lookup, Tokenizer};
use proptest::prelude::*;
use support::{genome, local, pairs_only, unigram, wordpiece};

fn fixed(mean: f64) -> Option<Distribution> {
    Some(Distribution::fixed(mean))
}

fn synthetic(plan: &SyntheticPlan, draws: &Draws, tokenizer: &Tokenizer) -> Result<Dataset, DatasetError> {
    Dataset::of(&DatasetPlan::Synthetic(plan.clone()), Making::new(draws, tokenizer))
}

fn plan(entries: u32, isl: f64) -> SyntheticPlan {
    SyntheticPlan { isl: fixed(isl), ..SyntheticPlan::new(entries) }
}

fn seeded(seed: u64) -> Draws {
    Draws::new(Some(seed), "")
}

fn text(dataset: &Dataset, index: usize) -> String {
    dataset.conversation(index).unwrap().turns[0].texts[0].contents[0].clone()
}

fn every_length_is_exact(tokenizer: &Tokenizer, lengths: impl Iterator<Item = usize>) {
    for tokens in lengths {
        let dataset = synthetic(&plan(1, tokens as f64), &seeded(tokens as u64), tokenizer).unwrap();
        let text = text(&dataset, 0);
        assert_eq!(tokenizer.encode(&text).len(), tokens, "{}: {text}", tokenizer.name());
    }
}

#[test]
fn lengths_up_to_2000_are_exact_with_the_builtin_tokenizer() {
    every_length_is_exact(&Tokenizer::builtin(), up_to_2000());
    every_length_is_exact(&Tokenizer::load("cl100k_base", &Lookup::default()).unwrap(), 1..=300);
}

#[test]
fn lengths_up_to_2000_are_exact_with_local_tokenizers() {
    for directory in ["tiny-model", "datasets/tiny_hf_tokenizer"] {
        every_length_is_exact(&local(directory), up_to_2000());
    }
}

/// All short lengths, and some of each size above them.
fn up_to_2000() -> impl Iterator<Item = usize> {
    (1..=300).chain((301..=2000).step_by(7))
}

#[test]
fn lengths_are_exact_with_tokenizers_that_do_not_keep_the_text() {
    for tokenizer in [wordpiece(), unigram(), genome()] {
        every_length_is_exact(&tokenizer, (1..=200).chain([550]));
    }
}

#[test]
fn a_length_that_no_text_has_is_refused() {
    let refused = synthetic(&plan(1, 7.0), &seeded(1), &pairs_only()).unwrap_err();
    assert!(matches!(refused, DatasetError::LengthOutOfReach { tokens: 7, .. }), "{refused}");
}

#[test]
fn a_prompt_of_100_000_tokens_is_exact() {
    every_length_is_exact(&Tokenizer::builtin(), std::iter::once(100_000));
}

#[test]
fn an_input_of_0_tokens_is_refused_with_the_way_out() {
    let refused = synthetic(&plan(1, 0.0), &seeded(1), &Tokenizer::builtin()).unwrap_err();
    assert_eq!(refused, DatasetError::InputTooShort { mean: 0.0 });
    assert!(refused.to_string().contains("try: --isl 1"), "{refused}");
    assert_eq!(synthetic(&plan(0, 5.0), &seeded(1), &Tokenizer::builtin()).unwrap_err(), DatasetError::NoEntries);
    assert!(synthetic(&plan(1, f64::NAN), &seeded(1), &Tokenizer::builtin()).is_err());
}

#[test]
fn without_an_input_length_turns_have_no_text() {
    let plan = SyntheticPlan { osl: fixed(7.0), ..SyntheticPlan::new(2) };
    let dataset = synthetic(&plan, &seeded(1), &Tokenizer::builtin()).unwrap();
    let conversation = dataset.conversation(1).unwrap();
    assert!(conversation.turns[0].texts.is_empty());
    assert_eq!(conversation.turns[0].max_tokens, Some(7));
}

#[test]
fn turns_have_an_output_length_only_if_the_plan_has_one() {
    let plan = |osl| SyntheticPlan { isl: fixed(3.0), osl, ..SyntheticPlan::new(1) };
    let asked = |osl| {
        let dataset = synthetic(&plan(osl), &seeded(1), &Tokenizer::builtin()).unwrap();
        dataset.conversation(0).unwrap().turns[0].max_tokens
    };
    assert_eq!(asked(None), None);
    assert_eq!(asked(fixed(0.0)), None);
    assert_eq!(asked(fixed(64.0)), Some(64));
}

#[test]
fn lengths_with_a_deviation_have_the_mean_and_deviation_of_the_plan() {
    let spread = Some(Distribution::normal(64.0, 12.0));
    let plan = SyntheticPlan { isl: spread.clone(), osl: spread, ..SyntheticPlan::new(2000) };
    let tokenizer = Tokenizer::builtin();
    let dataset = synthetic(&plan, &seeded(5), &tokenizer).unwrap();
    let inputs: Vec<f64> = (0..2000).map(|index| tokenizer.count(&text(&dataset, index)) as f64).collect();
    let outputs: Vec<f64> =
        (0..2000).map(|index| f64::from(dataset.conversation(index).unwrap().turns[0].max_tokens.unwrap())).collect();
    assert_ne!(inputs, outputs);
    for drawn in [inputs, outputs] {
        let mean = drawn.iter().sum::<f64>() / 2000.0;
        let deviation = (drawn.iter().map(|length| (length - mean).powi(2)).sum::<f64>() / 1999.0).sqrt();
        assert!((mean - 64.5).abs() < 1.0, "{mean}");
        assert!((deviation - 12.0).abs() < 0.8, "{deviation}");
    }
}

#[test]
fn sessions_are_counted_with_a_seed_and_have_uuids_without() {
    let tokenizer = Tokenizer::builtin();
    let counted = synthetic(&plan(3, 4.0), &seeded(0), &tokenizer).unwrap();
    assert_eq!(counted.conversation(2).unwrap().session_id, "session_000002");
    let unseeded = synthetic(&plan(2, 4.0), &Draws::new(None, "abc"), &tokenizer).unwrap();
    let id = unseeded.conversation(0).unwrap().session_id.clone();
    let groups: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(groups, [8, 4, 4, 4, 12], "{id}");
    assert_eq!(&id[14..15], "4", "{id}");
    assert!("89ab".contains(&id[19..20]), "{id}");
    assert_ne!(id, unseeded.conversation(1).unwrap().session_id);
}

#[test]
fn no_two_prompts_begin_alike() {
    let dataset = synthetic(&plan(5000, 64.0), &seeded(3), &Tokenizer::builtin()).unwrap();
    let beginnings: std::collections::BTreeSet<String> =
        (0..5000).map(|index| text(&dataset, index).chars().take(80).collect()).collect();
    assert_eq!(beginnings.len(), 5000);
}

#[test]
fn a_dataset_too_large_for_memory_gives_the_same_conversations() {
    let tokenizer = Tokenizer::builtin();
    let small = synthetic(&plan(5, 40.0), &seeded(9), &tokenizer).unwrap();
    let large = synthetic(&plan(4_000_000, 40.0), &seeded(9), &tokenizer).unwrap();
    assert_eq!(large.len(), 4_000_000);
    for index in [4, 0, 2, 2] {
        assert_eq!(large.conversation(index).unwrap(), small.conversation(index).unwrap());
    }
    assert_eq!(tokenizer.count(&text(&large, 3_999_999)), 40);
}

#[test]
fn the_order_of_calls_makes_no_difference() {
    let tokenizer = Tokenizer::builtin();
    let plan = SyntheticPlan { isl: Some(Distribution::normal(30.0, 9.0)), ..SyntheticPlan::new(4_000_000) };
    let make = || synthetic(&plan, &seeded(21), &tokenizer).unwrap();
    let (forward, backward, threaded) = (make(), make(), make());
    let straight: Vec<_> = (0..200).map(|index| forward.conversation(index).unwrap().into_owned()).collect();
    let mut reversed: Vec<_> = (0..200).rev().map(|index| backward.conversation(index).unwrap().into_owned()).collect();
    reversed.reverse();
    assert_eq!(straight, reversed);
    std::thread::scope(|scope| {
        for part in 0..4 {
            let (threaded, straight) = (&threaded, &straight);
            scope.spawn(move || {
                for index in (part..200).step_by(4) {
                    assert_eq!(*threaded.conversation(index).unwrap(), straight[index]);
                }
            });
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_seed_gives_exact_lengths_and_the_same_dataset_again(seed: u64, isl in 1_u32..400, entries in 1_u32..8) {
        let tokenizer = Tokenizer::builtin();
        let plan = plan(entries, f64::from(isl));
        let dataset = synthetic(&plan, &seeded(seed), &tokenizer).unwrap();
        let again = synthetic(&plan, &seeded(seed), &tokenizer).unwrap();
        for index in 0..dataset.len() {
            prop_assert_eq!(tokenizer.encode(&text(&dataset, index)).len(), isl as usize);
            prop_assert_eq!(dataset.conversation(index).unwrap(), again.conversation(index).unwrap());
        }
    }
}
