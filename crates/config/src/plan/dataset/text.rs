//! The text of generated conversations: lengths, corpus and prefixes.

use super::first_set;
use crate::error::Problem;
use crate::parse::range_ratio;
use crate::resolve::Tree;
use crate::rules::PROMPT_TOKENS;
use crate::sections::dataset::{self as section, Dataset, LengthPair as Pair, Prompts};
use crate::sections::distribution::Distribution;
use crate::tree::Origin;
use aiperf_plan::dataset::Shape;
use aiperf_plan::{Corpus, Distribution as Drawn, LengthPair, PairedLengths, Prefixes, TextPlan, Weighted, Window};

/// The corpus of prompts.
pub(super) fn corpus(prompts: &Prompts) -> Corpus {
    match prompts.corpus {
        None | Some(section::Corpus::Sonnet) => Corpus::Sonnet,
        Some(section::Corpus::Coding) => Corpus::Coding,
        Some(section::Corpus::Random) => Corpus::Random(prompts.random_corpus_style()),
    }
}

pub(super) fn text(tree: &Tree, dataset: &Dataset, prompts: &Prompts, notes: &mut Vec<String>) -> TextPlan {
    let at = "benchmark.datasets.0.prompts.random_corpus_style";
    let corpus = corpus(prompts);
    let has_use = matches!(corpus, Corpus::Random(_)) || prompts.random_range_ratio.is_some();
    if !has_use && is_set(tree, at) {
        let what = first_set(tree, at);
        notes.push(format!("{what} has no effect: neither prompts nor their lengths are random"));
    }
    let batch_size = u32::try_from(prompts.batch_size()).unwrap_or(u32::MAX).max(1);
    TextPlan { corpus, batch_size, prefixes: prefixes(tree, dataset, notes) }
}

/// The prefixes of conversations. A length of 0 means none.
fn prefixes(tree: &Tree, dataset: &Dataset, notes: &mut Vec<String>) -> Prefixes {
    let Some(prefix) = &dataset.prefix_prompts else { return Prefixes::None };
    let number = |value: Option<i64>| value.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    let (size, length) = (number(prefix.pool_size), number(prefix.length));
    for (is_alone, key, lacks) in [
        (size.is_some() && length.is_none(), "pool_size", "sets the length of its prefixes"),
        (length.is_some() && size.is_none(), "length", "sets the number of prefixes"),
    ] {
        if is_alone {
            let what = first_set(tree, &format!("benchmark.datasets.0.prefix_prompts.{key}"));
            notes.push(format!("{what} has no effect: nothing {lacks}"));
        }
    }
    if let (Some(size), Some(tokens)) = (size, length) {
        return Prefixes::Pool { size, tokens };
    }
    let (shared_system, user_context) = (number(prefix.shared_system_length), number(prefix.user_context_length));
    match (shared_system, user_context) {
        (None, None) => Prefixes::None,
        _ => Prefixes::Messages { shared_system, user_context },
    }
}

/// Input and output lengths that are drawn together, if any.
pub(super) fn pairs(
    tree: &Tree,
    prompts: &Prompts,
    text: &TextPlan,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<PairedLengths> {
    if let Some(pairs) = &prompts.sequence_distribution {
        for key in ["isl", "osl"] {
            let at = format!("benchmark.datasets.0.prompts.{key}");
            if is_set(tree, &at) {
                let what = first_set(tree, &at);
                let by = first_set(tree, "benchmark.datasets.0.prompts.sequence_distribution");
                let by = by.split_whitespace().next().unwrap_or("sequence_distribution");
                notes.push(format!("{what} has no effect: {by} sets the lengths of prompts and responses"));
            }
        }
        let pairs = PairedLengths::Mix(pairs.iter().filter_map(pair).collect());
        // NaN is no length either.
        if !matches!(pairs.input_largest(), tokens if tokens <= PROMPT_TOKENS) {
            let at = "benchmark.datasets.0.prompts.sequence_distribution";
            problems.push(
                Problem::new(format!("{} has an input that is too long for a prompt", first_set(tree, at)))
                    .because(format!("a mean and {} deviations are at most {PROMPT_TOKENS} tokens", Drawn::FAR))
                    .at(at),
            );
        }
        return Some(pairs);
    }
    // A bad ratio was already reported.
    let (input, output) = range_ratio(prompts.random_range_ratio.as_ref()?, prompts.random_corpus_style()).ok()?;
    let mean = |length: &Option<Distribution>| length.as_ref().map(|length| length.expected() as u64);
    let (isl, osl, style) = (mean(&prompts.isl)?, mean(&prompts.osl)?, prompts.random_corpus_style());
    let input = Window::of_input(style, isl, input);
    let before = match text.prefixes {
        Prefixes::Pool { tokens, .. } => u64::from(tokens),
        Prefixes::None | Prefixes::Messages { .. } => 0,
    };
    if input.least + before < 1 {
        let at = "benchmark.datasets.0.prompts.random_range_ratio";
        let what = first_set(tree, at);
        problems.push(
            Problem::new(format!("{what} makes prompts of {isl} tokens as short as {} tokens", input.least))
                .because("a prompt needs at least one token")
                .hint("a smaller ratio, or longer prompts")
                .at(at),
        );
    }
    Some(PairedLengths::Windows { input, output: Window::of_output(style, osl, output) })
}

fn pair(pair: &Pair) -> Option<Weighted<LengthPair>> {
    let length = |length: &Option<Distribution>, stddev: Option<f64>| {
        let length = length.as_ref()?.drawn();
        Some(match stddev.filter(|stddev| *stddev > 0.0) {
            Some(stddev) => Drawn { shape: Shape::Normal { mean: length.mean(), stddev }, ..length },
            None => length,
        })
    };
    let item = LengthPair { input: length(&pair.isl, pair.isl_stddev)?, output: length(&pair.osl, pair.osl_stddev)? };
    Some(Weighted { item, weight: pair.probability? })
}

/// Whether the user set a value, or one below it.
pub(super) fn is_set(tree: &Tree, path: &str) -> bool {
    fn any(node: &crate::tree::Node) -> bool {
        let is_leaf = node.entries().is_empty() && node.items().is_empty();
        (is_leaf && node.origin != Origin::Rule)
            || node.entries().iter().any(|(_, child)| any(child))
            || node.items().iter().any(any)
    }
    tree.node.find(path).is_some_and(any)
}
