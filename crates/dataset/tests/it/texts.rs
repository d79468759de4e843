//! Generated texts: of every corpus, after prefixes, with markers and in templates, each of the wanted length.

use crate::support;

use aiperf_dataset::{Dataset, DatasetError, Making};
use aiperf_plan::additions::{PLACEHOLDER, session_marker};
use aiperf_plan::{
    Additions, CacheBust, Corpus, DatasetPlan, Distribution, Draws, LengthPair, MarkerKind, PairedLengths, Prefixes,
    RandomStyle, SyntheticPlan, TextPlan, Turns, Weighted, Window,
};
use aiperf_tokenize::{Lookup, Tokenizer};
use aiperf_types::Conversation;
use std::collections::BTreeSet;
use support::{local, unigram, wordpiece};

const RANDOM: Corpus = Corpus::Random(RandomStyle::Vllm);
const CORPORA: [Corpus; 4] = [Corpus::Sonnet, Corpus::Coding, RANDOM, Corpus::Random(RandomStyle::Sglang)];

/// The builtin tokenizers and those of the golden data.
fn tokenizers() -> Vec<Tokenizer> {
    let named = |name: &str| Tokenizer::load(name, &Lookup::default()).unwrap();
    vec![
        Tokenizer::builtin(),
        named("cl100k_base"),
        named("p50k_base"),
        local("tiny-model"),
        local("datasets/tiny_hf_tokenizer"),
    ]
}

fn made(plan: &SyntheticPlan, seed: u64, tokenizer: &Tokenizer) -> Result<Dataset, DatasetError> {
    Dataset::of(&DatasetPlan::Synthetic(plan.clone()), Making::new(&Draws::new(Some(seed), ""), tokenizer))
}

fn plan(entries: u32, isl: f64, text: TextPlan) -> SyntheticPlan {
    SyntheticPlan { isl: Some(Distribution::fixed(isl)), text, ..SyntheticPlan::new(entries) }
}

fn of(corpus: Corpus) -> TextPlan {
    TextPlan { corpus, ..TextPlan::default() }
}

fn conversations(dataset: &Dataset) -> Vec<Conversation> {
    (0..dataset.len()).map(|index| dataset.conversation(index).unwrap().into_owned()).collect()
}

fn texts(dataset: &Dataset) -> Vec<String> {
    let all = conversations(dataset);
    all.iter().flat_map(|one| &one.turns).flat_map(|turn| &turn.texts).flat_map(|text| text.contents.clone()).collect()
}

fn exact(tokenizer: &Tokenizer, corpus: Corpus, lengths: impl IntoIterator<Item = usize>) {
    for tokens in lengths {
        let dataset = made(&plan(1, tokens as f64, of(corpus)), tokens as u64, tokenizer).unwrap();
        let text = &texts(&dataset)[0];
        assert_eq!(tokenizer.count(text), tokens, "{corpus:?} {}: {text:?}", tokenizer.name());
    }
}

#[test]
fn every_corpus_is_exact_with_every_tokenizer() {
    for tokenizer in tokenizers() {
        for corpus in CORPORA {
            exact(&tokenizer, corpus, (1..=40).chain((41..=2000).step_by(153)));
        }
    }
}

#[test]
fn every_corpus_is_exact_with_tokenizers_that_do_not_keep_the_text() {
    for tokenizer in [wordpiece(), unigram()] {
        for corpus in CORPORA {
            exact(&tokenizer, corpus, (1..=20).chain([128, 550]));
        }
    }
}

#[test]
#[ignore = "10,000 prompts of each corpus with each tokenizer take minutes"]
fn ten_thousand_prompts_of_every_corpus_are_exact_with_every_tokenizer() {
    for tokenizer in tokenizers() {
        for corpus in CORPORA {
            exact(&tokenizer, corpus, (0..10_000).map(|n| n % 2000 + 1));
        }
    }
}

#[test]
fn corpora_differ_and_so_do_their_prompts() {
    let tokenizer = Tokenizer::builtin();
    let of_corpus = |corpus| texts(&made(&plan(50, 64.0, of(corpus)), 3, &tokenizer).unwrap());
    let all: Vec<Vec<String>> = CORPORA.into_iter().map(of_corpus).collect();
    for texts in &all {
        assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), 50, "{texts:?}");
    }
    // Both random styles take the same run of tokens if it contains no special one.
    let apart: BTreeSet<String> =
        [Corpus::Sonnet, Corpus::Coding, Corpus::Random(RandomStyle::Vllm)].into_iter().flat_map(of_corpus).collect();
    assert_eq!(apart.len(), 3 * 50);
    let code = of_corpus(Corpus::Coding).join("\n");
    assert!(code.contains("def ") || code.contains("fn ") || code.contains("func "), "{code}");
}

#[test]
fn random_prompts_contain_special_tokens_only_in_the_style_of_sglang() {
    let tokenizer = local("tiny-model");
    let ordinary: BTreeSet<u32> = tokenizer.ordinary_ids().into_iter().collect();
    let has_special = |style| {
        let texts = texts(&made(&plan(40, 200.0, of(Corpus::Random(style))), 1, &tokenizer).unwrap());
        texts.iter().flat_map(|text| tokenizer.encode(text)).any(|id| !ordinary.contains(&id))
    };
    assert!(!has_special(RandomStyle::Vllm));
    assert!(has_special(RandomStyle::Sglang));
}

#[test]
fn pooled_prefixes_are_shared_and_add_to_the_length() {
    for tokenizer in tokenizers() {
        for corpus in CORPORA {
            let prefixes = Prefixes::Pool { size: 3, tokens: 24 };
            let turns = Turns { count: Distribution::fixed(2.0), ..Turns::ONE };
            let text = TextPlan { prefixes, batch_size: 2, ..of(corpus) };
            let dataset = made(&SyntheticPlan { turns, ..plan(30, 16.0, text) }, 5, &tokenizer).unwrap();
            let mut beginnings = BTreeSet::new();
            for conversation in conversations(&dataset) {
                let [first, second] = &conversation.turns[..] else { panic!("two turns") };
                for text in &first.texts[0].contents {
                    assert_eq!(tokenizer.count(text), 24 + 16, "{corpus:?} {text:?}");
                    beginnings.insert(text.chars().take(12).collect::<String>());
                }
                for text in &second.texts[0].contents {
                    assert_eq!(tokenizer.count(text), 16, "{corpus:?} {text:?}");
                }
                assert_eq!((first.texts[0].contents.len(), second.texts[0].contents.len()), (2, 2));
            }
            assert!(beginnings.len() <= 3, "{corpus:?}: {beginnings:?}");
        }
    }
}

#[test]
fn a_system_message_is_shared_and_each_conversation_has_its_own_context() {
    let tokenizer = Tokenizer::builtin();
    let prefixes = Prefixes::Messages { shared_system: Some(40), user_context: Some(30) };
    let dataset = made(&plan(20, 8.0, TextPlan { prefixes, ..TextPlan::default() }), 5, &tokenizer).unwrap();
    let all = conversations(&dataset);
    let systems: BTreeSet<&str> = all.iter().filter_map(|one| one.system_message.as_deref()).collect();
    let contexts: BTreeSet<&str> = all.iter().filter_map(|one| one.user_context_message.as_deref()).collect();
    assert_eq!((systems.len(), contexts.len()), (1, 20));
    assert!(systems.iter().all(|text| tokenizer.count(text) == 40));
    assert!(contexts.iter().all(|text| tokenizer.count(text) == 30));
}

#[test]
fn a_mix_of_lengths_has_its_shares_and_keeps_pairs_together() {
    let pair = |input: f64, output: f64, weight| Weighted {
        item: LengthPair { input: Distribution::fixed(input), output: Distribution::fixed(output) },
        weight,
    };
    let pairs = Some(PairedLengths::Mix(vec![pair(5.0, 50.0, 25.0), pair(9.0, 90.0, 75.0)]));
    let tokenizer = Tokenizer::builtin();
    let dataset = made(&SyntheticPlan { pairs, ..SyntheticPlan::new(2000) }, 5, &tokenizer).unwrap();
    let mut of_nine = 0;
    for conversation in conversations(&dataset) {
        let turn = &conversation.turns[0];
        let input = tokenizer.count(&turn.texts[0].contents[0]);
        assert_eq!(turn.max_tokens.unwrap() as usize, input * 10);
        of_nine += usize::from(input == 9);
    }
    assert!((1440..1560).contains(&of_nine), "{of_nine} of 2000");
}

#[test]
fn windows_are_drawn_from_end_to_end() {
    let pairs =
        Some(PairedLengths::Windows { input: Window { least: 3, most: 6 }, output: Window { least: 10, most: 12 } });
    let tokenizer = Tokenizer::builtin();
    let dataset = made(&SyntheticPlan { pairs, ..SyntheticPlan::new(300) }, 5, &tokenizer).unwrap();
    let all = conversations(&dataset);
    let inputs: BTreeSet<usize> = all.iter().map(|one| tokenizer.count(&one.turns[0].texts[0].contents[0])).collect();
    let outputs: BTreeSet<u32> = all.iter().filter_map(|one| one.turns[0].max_tokens).collect();
    assert_eq!(inputs.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6]);
    assert_eq!(outputs.into_iter().collect::<Vec<_>>(), [10, 11, 12]);
}

#[test]
fn a_deviation_below_one_is_kept() {
    let isl = Some(Distribution::normal(20.0, 0.5));
    let tokenizer = Tokenizer::builtin();
    let dataset = made(&SyntheticPlan { isl, ..SyntheticPlan::new(400) }, 5, &tokenizer).unwrap();
    let lengths: BTreeSet<usize> = texts(&dataset).iter().map(|text| tokenizer.count(text)).collect();
    assert!(lengths.len() > 2 && lengths.iter().all(|length| (18..=23).contains(length)), "{lengths:?}");
}

#[test]
fn prompts_leave_room_for_a_marker_and_a_template() {
    let (tokenizer, draws) = (local("tiny-model"), Draws::new(Some(5), ""));
    let cost = tokenizer.template_cost();
    for bust in CacheBust::ALL {
        let additions = Additions { system_prompt: None, cache_bust: Some(bust) };
        let making = Making { additions: &additions, chat_template: true, ..Making::new(&draws, &tokenizer) };
        let turns = Turns { count: Distribution::fixed(2.0), ..Turns::ONE };
        let plan = SyntheticPlan { turns, ..plan(4, 100.0, TextPlan::default()) };
        let dataset = Dataset::of(&DatasetPlan::Synthetic(plan), making).unwrap();
        let marker = bust.mean_cost(CacheBust::SAMPLES, |text| tokenizer.count(text));
        // A mean is no whole number: conversations reserve the whole numbers below and above it.
        let (least, most) = (marker.floor() as usize, marker.ceil() as usize);
        for conversation in conversations(&dataset) {
            let of_turn = |turn: usize| &conversation.turns[turn].texts[0].contents[0];
            let bare = of_turn(0).replace(&bust.with_gap(PLACEHOLDER), "");
            assert_ne!(&bare, of_turn(0));
            let added = cost.fixed + cost.per_message + tokenizer.special_tokens_per_prompt();
            let left = 100 - added - tokenizer.count(&bare);
            assert!((least..=most).contains(&left), "{}: {left} of {marker}", bust.target());
            assert_eq!(tokenizer.count(of_turn(1)), 100 - cost.per_message);
        }
    }
}

#[test]
fn prompts_with_their_markers_have_the_wanted_length_on_average() {
    let (tokenizer, draws) = (Tokenizer::builtin(), Draws::new(Some(5), ""));
    for bust in CacheBust::ALL.into_iter().filter(|bust| bust.marker != MarkerKind::Warmup) {
        let additions = Additions { system_prompt: None, cache_bust: Some(bust) };
        let making = Making { additions: &additions, ..Making::new(&draws, &tokenizer) };
        let plan = plan(400, 60.0, TextPlan::default());
        let dataset = Dataset::of(&DatasetPlan::Synthetic(plan), making).unwrap();
        let sent = conversations(&dataset).into_iter().enumerate().map(|(index, conversation)| {
            let marker = session_marker("0123456789ab", index as u64, index as u64, &conversation.session_id);
            tokenizer.count(&conversation.turns[0].texts[0].contents[0].replace(PLACEHOLDER, &marker))
        });
        let mean = sent.sum::<usize>() as f64 / 400.0;
        // The tokens of a marker have a deviation of 1.3; their mean over 400 markers has one of 0.06.
        assert!((mean - 60.0).abs() < 0.35, "{}: {mean}", bust.target());
    }
}

#[test]
fn the_same_seed_gives_the_same_texts_on_any_number_of_threads() {
    let tokenizer = Tokenizer::builtin();
    for corpus in CORPORA {
        let text = TextPlan { prefixes: Prefixes::Pool { size: 4, tokens: 8 }, batch_size: 2, ..of(corpus) };
        let plan = SyntheticPlan { isl: Some(Distribution::normal(30.0, 9.0)), ..plan(48, 0.0, text) };
        let straight = conversations(&made(&plan, 7, &tokenizer).unwrap());
        // Too many to keep: each is made on the calling thread.
        let plan = SyntheticPlan { entries: 4_000_000, ..plan };
        for threads in [1, 2, 8] {
            let asked = made(&plan, 7, &tokenizer).unwrap();
            std::thread::scope(|scope| {
                for part in 0..threads {
                    let (asked, straight) = (&asked, &straight);
                    scope.spawn(move || {
                        for index in (part..48).step_by(threads) {
                            assert_eq!(*asked.conversation(index).unwrap(), straight[index], "{threads} threads");
                        }
                    });
                }
            });
        }
    }
}
