//! Fits any text to an exact number of tokens: cuts, extends and counts until it has them.

use super::prose;
use crate::courtesy;
use aiperf_tokenize::Tokenizer;

/// Corrections to try before the text is extended by trial.
const ROUNDS: usize = 64;
/// Every so many rounds, half of the text is dropped: its end may be a token that nothing can follow.
const PATIENCE: usize = 8;
/// Endings to try; each of them counts the whole text again.
const TRIALS: usize = 1024;

/// A text that begins with `after` and has `tokens` tokens. The rest comes from `more`, which gets the number of
/// missing tokens. The error is the nearest text found.
pub(super) fn fit(
    tokenizer: &Tokenizer,
    after: &str,
    tokens: usize,
    mut more: impl FnMut(usize, bool) -> String,
) -> Result<String, String> {
    let mut text = after.to_owned();
    let mut nearest = (usize::MAX, String::new());
    for round in 1..=ROUNDS {
        courtesy::step();
        let ids = tokenizer.encode(&text);
        let distance = ids.len().abs_diff(tokens);
        if distance == 0 {
            return Ok(text);
        }
        if distance < nearest.0 {
            nearest = (distance, text.clone());
        }
        if round % PATIENCE == 0 {
            let half = after.len() + (text.len() - after.len()) / 2;
            text.truncate(boundary(&text, half).max(after.len()));
        } else if ids.len() > tokens {
            let cut = tokenizer.decode(&ids[..tokens]);
            text = if cut.starts_with(after) { cut } else { longest(tokenizer, text, after.len(), tokens) };
        } else {
            let begins = text.is_empty();
            text.push_str(&more(tokens - ids.len(), begins));
        }
    }
    let mut text = longest(tokenizer, text, after.len(), tokens);
    let count = tokenizer.count(&text);
    if count <= tokens && extend_by_trial(tokenizer, &mut text, count, tokens) { Ok(text) } else { Err(nearest.1) }
}

/// The longest beginning of a text with at most `tokens` tokens, but at least `least` bytes. Longer beginnings have
/// more tokens, with rare exceptions.
fn longest(tokenizer: &Tokenizer, mut text: String, least: usize, tokens: usize) -> String {
    let (mut fits, mut passes) = (least, text.len() + 1);
    while passes - fits > 1 {
        let middle = boundary(&text, fits + (passes - fits) / 2);
        if middle <= fits {
            passes = fits + (passes - fits) / 2;
        } else if tokenizer.count(&text[..middle]) <= tokens {
            fits = middle;
        } else {
            passes = middle;
        }
    }
    text.truncate(fits);
    text
}

/// Appends endings that bring the count nearer to `tokens` without exceeding it.
pub(super) fn extend_by_trial(tokenizer: &Tokenizer, text: &mut String, mut count: usize, tokens: usize) -> bool {
    let endings = prose::fillers().map(|piece| {
        let mut text = String::new();
        piece.write(&mut text);
        text
    });
    let marks = (' '..='~').flat_map(|mark| [mark.to_string(), format!(" {mark}")]);
    let endings: Vec<String> = endings.chain(marks).collect();
    let mut tries = endings.iter().cycle().take(TRIALS);
    while count < tokens {
        let Some(ending) = tries.next() else { return false };
        let length = text.len();
        text.push_str(ending);
        let with_ending = tokenizer.count(text);
        if (count + 1..=tokens).contains(&with_ending) {
            count = with_ending;
        } else {
            text.truncate(length);
        }
    }
    true
}

/// The last character boundary at or before a position.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&place| text.is_char_boundary(place)).unwrap_or(0)
}
