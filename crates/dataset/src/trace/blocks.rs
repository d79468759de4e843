//! Texts for hash ids: the same id always gives the same text, so that a server's cache hits where it did when the
//! trace was recorded.
//!
//! A block begins with the tokenizer's separator token, if it has one, and continues with text of a corpus to its
//! length. The separator also keeps the text before a block from changing the block's token count. A partial block is
//! the beginning of the full one.

use aiperf_plan::Corpus;
use aiperf_plan::draw::{Purpose, mix};
use aiperf_tokenize::Tokenizer;

use super::entry::HashId;
use crate::source::Making;
use crate::text::Writer;

/// Texts by length and hash ids.
#[derive(Debug)]
pub(super) struct Blocks {
    writer: Writer,
    tokenizer: Tokenizer,
    separator: String,
    size: u64,
    by_id: Purpose,
    by_row: Purpose,
}

impl Blocks {
    /// `digest` is that of the trace: two traces share no blocks.
    pub(super) fn new(making: Making<'_>, corpus: Corpus, size: u64, digest: [u8; 32]) -> Self {
        let trace: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let separator = making.tokenizer.separator_id().map(|id| making.tokenizer.decode(&[id]));
        Self {
            writer: Writer::of(corpus, making.tokenizer),
            tokenizer: making.tokenizer.clone(),
            separator: separator.filter(|text| making.tokenizer.count(text) == 1).unwrap_or_default(),
            size,
            by_id: making.draws.purpose(&format!("dataset.trace.block:{trace}")),
            by_row: making.draws.purpose(&format!("dataset.trace.row:{trace}")),
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// A text of `tokens` tokens that begins with blocks; the rest is unique to the row.
    pub(super) fn text(&self, tokens: u64, hash_ids: &[HashId], row: u64) -> String {
        let mut text = String::new();
        let mut left = tokens;
        for id in hash_ids {
            let of_block = left.min(self.size);
            self.block(&mut text, *id, of_block);
            left -= of_block;
        }
        if left > 0 {
            text.push_str(&self.writer.write_nearest_after("", left as usize, &mut self.by_row.at(row)).text);
        }
        text
    }

    fn block(&self, text: &mut String, id: HashId, tokens: u64) {
        text.push_str(&self.separator);
        let separators = u64::from(!self.separator.is_empty());
        let (full, wanted) = ((self.size - separators) as usize, tokens.saturating_sub(separators) as usize);
        if wanted == 0 {
            return;
        }
        let draws = || self.by_id.at(id as u64 ^ mix((id >> 64) as u64));
        let block = self.writer.write_nearest_after("", full, &mut draws()).text;
        if wanted == full {
            return text.push_str(&block);
        }
        let ids = self.tokenizer.encode(&block);
        let beginning = self.tokenizer.decode(&ids[..wanted.min(ids.len())]);
        // A beginning that ends within a word may have another count.
        let is_exact = self.tokenizer.count(&beginning) == wanted;
        let beginning =
            if is_exact { beginning } else { self.writer.write_nearest_after("", wanted, &mut draws()).text };
        text.push_str(&beginning);
    }
}

/// Refuses a row with more ids than its length has blocks. A row of 0 tokens counts as one of 1.
pub(super) fn check_row(tokens: Option<u32>, hash_ids: &[HashId], size: u64) -> Result<(), String> {
    check(u64::from(tokens.unwrap_or(0).max(1)), hash_ids.len(), size)
}

fn check(tokens: u64, hash_ids: usize, size: u64) -> Result<(), String> {
    if hash_ids == 0 || (hash_ids as u64 - 1) * size < tokens {
        return Ok(());
    }
    Err(format!(
        "{hash_ids} hash_ids of {size} tokens are more than an input_length of {tokens} has\n  try: --isl-block-size with the \
         tokens that a hash id stands for"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_golden::has;
    use aiperf_golden::kinds::datasets::HASH_BLOCKS;
    use aiperf_plan::Draws;
    use serde_json::Value;

    fn skip(case: &Value) -> Option<String> {
        if case["block_size"].as_u64() == Some(0) {
            return Some("a block size of 0 is refused when the flag is parsed".into());
        }
        let is_negative = |request: &Value| request["input_length"].as_i64().is_some_and(|length| length < 0);
        if case["requests"].as_array().unwrap().iter().any(is_negative) {
            return Some("a length below 0 is refused in its row".into());
        }
        None
    }

    /// Whether the ids fit the length. If an id occurs in two sizes, the reference refuses the second; here the smaller
    /// block is the beginning of the larger.
    fn fits(request: &Value, size: u64) -> bool {
        let ids = request["hash_ids"].as_array().unwrap().len();
        check(request["input_length"].as_u64().unwrap(), ids, size).is_ok()
    }

    fn run(case: &Value) {
        let size = case["block_size"].as_u64().unwrap();
        let (draws, tokenizer) = (Draws::new(Some(7), ""), Tokenizer::builtin());
        let blocks = Blocks::new(Making::new(&draws, &tokenizer), Corpus::Sonnet, size, [7; 32]);
        let mut encoded = Vec::new();
        let results = case["results"].as_array().unwrap();
        for (row, (request, result)) in case["requests"].as_array().unwrap().iter().zip(results).enumerate() {
            if !fits(request, size) {
                assert!(has(result, "error"), "{request}");
                continue;
            }
            let ids: Vec<HashId> =
                request["hash_ids"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap().into()).collect();
            let length = request["input_length"].as_u64().unwrap();
            let tokens = tokenizer.encode(&blocks.text(length, &ids, row as u64));
            assert_eq!(tokens.len() as u64, length);
            if let Some(wanted) = result["separator_positions"].as_array() {
                let separator = tokenizer.separator_id().unwrap();
                let found = tokens.iter().enumerate().filter(|(_, id)| **id == separator).map(|(at, _)| at as u64);
                let wanted: Vec<u64> = wanted.iter().map(|at| at.as_u64().unwrap()).collect();
                assert_eq!(found.collect::<Vec<_>>(), wanted);
            }
            encoded.push(tokens);
        }
        for pair in case["pair_prefix"].as_array().unwrap() {
            let at = |name: &str| &encoded[pair[name].as_u64().unwrap() as usize];
            let shared = at("a").iter().zip(at("b")).take_while(|(a, b)| a == b).count() as u64;
            assert!(shared >= pair["shared_prefix_at_least"].as_u64().unwrap());
        }
    }

    #[test]
    fn golden_blocks_have_their_tokens_and_share_what_they_should() {
        HASH_BLOCKS.run(skip, run);
    }

    #[test]
    fn a_block_that_is_not_full_is_the_beginning_of_the_full_one() {
        let (draws, tokenizer) = (Draws::new(Some(7), ""), Tokenizer::builtin());
        let blocks = Blocks::new(Making::new(&draws, &tokenizer), Corpus::Sonnet, 64, [7; 32]);
        let full = tokenizer.encode(&blocks.text(64, &[9], 0));
        let shared =
            (1..64).filter(|length| full.starts_with(&tokenizer.encode(&blocks.text(*length, &[9], 0)))).count();
        assert!(shared > 55, "{shared} of 63 lengths");
    }
}
