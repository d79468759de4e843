//! Text as coding agents send it: code, logs, queries, diffs and dialogue, from templates, without end.
//!
//! A template has placeholders such as `%noun%`, for each of which a word is drawn. Placeholders with a digit, as
//! `%noun1%`, get the same word within a snippet. A capital, or all capitals, set the case: `%Noun1%`, `%NOUN1%`.

mod words;

use rand::{Rng, RngExt};
use std::sync::LazyLock;

/// A kind of snippet: its weight and its templates.
struct SnippetKind {
    weight: u32,
    templates: &'static str,
}

const KINDS: &[SnippetKind] = &[
    SnippetKind { weight: 45, templates: include_str!("snippets/python.txt") },
    SnippetKind { weight: 45, templates: include_str!("snippets/go.txt") },
    SnippetKind { weight: 45, templates: include_str!("snippets/rust.txt") },
    SnippetKind { weight: 45, templates: include_str!("snippets/typescript.txt") },
    SnippetKind { weight: 30, templates: include_str!("snippets/ml_training.txt") },
    SnippetKind { weight: 25, templates: include_str!("snippets/ml_inference.txt") },
    SnippetKind { weight: 15, templates: include_str!("snippets/ml_config.txt") },
    SnippetKind { weight: 130, templates: include_str!("snippets/bash.txt") },
    SnippetKind { weight: 20, templates: include_str!("snippets/training_log.txt") },
    SnippetKind { weight: 80, templates: include_str!("snippets/json.txt") },
    SnippetKind { weight: 45, templates: include_str!("snippets/traceback.txt") },
    SnippetKind { weight: 20, templates: include_str!("snippets/cuda.txt") },
    SnippetKind { weight: 20, templates: include_str!("snippets/sql.txt") },
    SnippetKind { weight: 35, templates: include_str!("snippets/prompt.txt") },
    SnippetKind { weight: 25, templates: include_str!("snippets/tool_use.txt") },
    SnippetKind { weight: 90, templates: include_str!("snippets/conversation.txt") },
    SnippetKind { weight: 15, templates: include_str!("snippets/diff.txt") },
    SnippetKind { weight: 15, templates: include_str!("snippets/ci.txt") },
    SnippetKind { weight: 15, templates: include_str!("snippets/config.txt") },
    SnippetKind { weight: 15, templates: include_str!("snippets/markdown.txt") },
    SnippetKind { weight: 15, templates: include_str!("snippets/tests.txt") },
];

/// Separates two templates of a file, and two snippets of a text.
const BETWEEN_TEMPLATES: &str = "\n----\n";
const BETWEEN_SNIPPETS: &str = "\n\n";

/// The most numbered placeholders of a template.
const DIGITS: usize = 10;

static TEMPLATES: LazyLock<Vec<(u32, Vec<&'static str>)>> = LazyLock::new(|| {
    let mut below = 0;
    let of = |kind: &SnippetKind| {
        below += kind.weight;
        (below, kind.templates.trim_end().split(BETWEEN_TEMPLATES).collect())
    };
    KINDS.iter().map(of).collect()
});

/// Snippets one after another, of at least `bytes` bytes. The first snippet of a text is cut at a word, so that texts
/// begin differently.
pub(super) fn text(bytes: usize, begins: bool, rng: &mut impl Rng) -> String {
    let mut text = String::with_capacity(bytes + 2048);
    if begins {
        let whole = snippet(rng);
        let at = rng.random_range(0..whole.len() as u32) as usize;
        let word = whole[at..].find(|c: char| c.is_ascii_alphanumeric()).map_or(0, |word| at + word);
        text.push_str(&whole[word..]);
    }
    while text.len() < bytes {
        text.push_str(BETWEEN_SNIPPETS);
        text.push_str(&snippet(rng));
    }
    text
}

/// One snippet, in ASCII.
fn snippet(rng: &mut impl Rng) -> String {
    let all = TEMPLATES.last().map_or(1, |(below, _)| *below);
    let drawn = rng.random_range(0..all);
    let kind = TEMPLATES.partition_point(|(below, _)| *below <= drawn);
    let templates = &TEMPLATES[kind].1;
    fill_in(templates[rng.random_range(0..templates.len() as u32) as usize], rng)
}

/// Fills in the placeholders of a template.
fn fill_in(template: &str, rng: &mut impl Rng) -> String {
    let mut text = String::with_capacity(2 * template.len());
    let mut known: [Option<String>; DIGITS] = Default::default();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        let Some((place, behind)) = after.split_once('%').filter(|(place, _)| is_place(place)) else {
            text.push('%');
            rest = after;
            continue;
        };
        let name = place.trim_end_matches(|c: char| c.is_ascii_digit());
        let lower = name.to_ascii_lowercase();
        let digit = place[name.len()..].parse::<usize>().ok().filter(|digit| *digit < DIGITS);
        let word = match digit {
            Some(digit) => known[digit].get_or_insert_with(|| words::draw(&lower, rng)).clone(),
            None => words::draw(&lower, rng),
        };
        if name.len() > 1 && name.bytes().all(|b| b.is_ascii_uppercase()) {
            text.push_str(&word.to_ascii_uppercase());
        } else if name.starts_with(|c: char| c.is_ascii_uppercase()) {
            text.push_str(&word[..1].to_ascii_uppercase());
            text.push_str(&word[1..]);
        } else {
            text.push_str(&word);
        }
        rest = behind;
    }
    text.push_str(rest);
    text
}

fn is_place(text: &str) -> bool {
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
    words::is_known(&name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn every_placeholder_of_every_template_is_known() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for kind in KINDS {
            for template in kind.templates.trim_end().split(BETWEEN_TEMPLATES) {
                assert!(template.is_ascii() && template.len() > 60, "{template}");
                let text = fill_in(template, &mut rng);
                let left = text.match_indices('%').filter(|(at, _)| {
                    let place: String = text[at + 1..].chars().take_while(char::is_ascii_alphanumeric).collect();
                    place.len() > 2 && text[at + 1 + place.len()..].starts_with('%')
                });
                assert_eq!(left.count(), 0, "{text}");
            }
        }
    }

    #[test]
    fn texts_are_as_long_as_asked_and_do_not_begin_alike() {
        let beginnings: std::collections::BTreeSet<String> = (0..500)
            .map(|seed| {
                let text = text(4000, true, &mut ChaCha8Rng::seed_from_u64(seed));
                assert!(text.len() >= 4000 && text.is_ascii());
                text[..150].to_owned()
            })
            .collect();
        assert!(beginnings.len() > 495, "{}", beginnings.len());
    }

    #[test]
    fn a_placeholder_with_a_digit_is_the_same_word_throughout() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let text = fill_in("%noun1% %Noun1% %NOUN1% 5% of %", &mut rng);
        let words: Vec<&str> = text.split(' ').collect();
        assert!(words[0].eq_ignore_ascii_case(words[1]) && words[0].to_uppercase() == words[2], "{text}");
        assert!(text.ends_with("5% of %"), "{text}");
    }
}
