//! ShareGPT: conversations with an assistant. Each pair of a question and its answer is a turn, which requests as many
//! tokens as the answer has.

use super::kind::{Found, RowReader, With, text_turn};
use super::row::{Fault, Row, list, member, text};
use crate::columns::Cell;

pub(super) struct ShareGpt;

/// The fewest tokens of a question or an answer.
const SHORTEST: usize = 4;
const LONGEST_PROMPT: usize = 1024;
/// The most tokens of question and answer together.
const LONGEST: usize = 2048;

const NO_PAIR: &str = "rows without a question and its answer";
const LENGTHS: &str = "rows with a turn that is too short or too long (4 to 1024 tokens asked, at least 4 answered, \
                       2048 together)";

impl RowReader for ShareGpt {
    fn columns(&self) -> Option<Vec<&'static str>> {
        Some(vec!["conversations", "conversation"])
    }

    fn read(&self, row: Row, with: With<'_>) -> Result<Found, Fault> {
        let messages = row.get("conversations").or_else(|| row.get("conversation")).and_then(list);
        let pairs = pairs(messages.unwrap_or_default());
        if pairs.is_empty() {
            return Ok(Found::dropped(NO_PAIR));
        }
        let mut turns = Vec::with_capacity(pairs.len());
        for (question, answer) in pairs {
            let (asked, answered) = (with.tokenizer.count(&question), with.tokenizer.count(&answer));
            if !is_valid(asked, answered, false) {
                return Ok(Found::dropped(LENGTHS));
            }
            let mut turn = text_turn(question);
            turn.max_tokens = u32::try_from(answered).ok();
            turns.push(turn);
        }
        Ok(Found::turns(turns))
    }
}

/// Every human question that is directly followed by an answer of the model; other speakers in between do not count. If
/// neither name occurs, the first two texts are a pair.
pub(super) fn pairs(messages: &[Cell]) -> Vec<(String, String)> {
    let text_of = |message: &Cell| member(message, "value").and_then(text).filter(|text| !text.is_empty());
    let by = |message: &Cell, name: &str| {
        let by = member(message, "from").or_else(|| member(message, "role")).and_then(text).unwrap_or_default();
        by.eq_ignore_ascii_case(name)
    };
    let messages: Vec<&Cell> = messages.iter().filter(|message| matches!(message, Cell::Object(_))).collect();
    let speaking: Vec<&Cell> =
        messages.iter().copied().filter(|message| by(message, "human") || by(message, "gpt")).collect();
    if speaking.is_empty() {
        let pair = messages.get(..2).and_then(|two| Some((text_of(two[0])?, text_of(two[1])?)));
        return pair.into_iter().collect();
    }
    let is_pair = |two: &&[&Cell]| by(two[0], "human") && by(two[1], "gpt");
    speaking.windows(2).filter(is_pair).filter_map(|two| Some((text_of(two[0])?, text_of(two[1])?))).collect()
}

/// Whether a turn of these lengths is worth sending.
pub(super) fn is_valid(asked: usize, answered: usize, any_answer: bool) -> bool {
    (SHORTEST..=LONGEST_PROMPT).contains(&asked) && (any_answer || answered >= SHORTEST) && asked + answered <= LONGEST
}
