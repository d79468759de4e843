//! Reshaped traces: longer or shorter prefixes and prompts, spread over several prefix trees, sped up.
//!
//! Rows share text by their hash ids. The leading ids of a row that also occur elsewhere are its prefix. All others are
//! its own, and get new numbers. A row is reshaped from its old form, the set of shared ids and the number at which its
//! own ids begin. So rows need not be kept.

use std::collections::HashSet;

use aiperf_plan::Synthesis;

use super::entry::HashId;

/// The ids that occur more than once, and the numbers of new ids.
#[derive(Debug)]
pub(super) struct Reshaping {
    synthesis: Synthesis,
    block_size: u64,
    shared: HashSet<HashId>,
    /// New ids begin after this number.
    before_new: HashId,
    /// How many new ids were made.
    made: u64,
}

/// Counts ids, until all rows are seen.
#[derive(Debug, Default)]
pub(super) struct Counting {
    once: HashSet<HashId>,
    shared: HashSet<HashId>,
}

/// A row in its new form.
#[derive(Debug, PartialEq)]
pub(super) struct Reshaped {
    pub(super) input_length: u64,
    pub(super) hash_ids: Vec<HashId>,
}

impl Counting {
    pub(super) fn add(&mut self, hash_ids: &[HashId]) {
        for id in hash_ids {
            if !self.once.insert(*id) {
                self.shared.insert(*id);
            }
        }
    }

    pub(super) fn done(self, synthesis: Synthesis, block_size: u64) -> Reshaping {
        let largest = self.shared.iter().max().copied().unwrap_or(0);
        let spread = if synthesis.prefix_len > 1.0 { synthesis.prefix_len.trunc() as HashId } else { 1 };
        Reshaping {
            synthesis,
            block_size,
            shared: self.shared,
            before_new: (largest + 1).saturating_mul(spread),
            made: 0,
        }
    }
}

impl Reshaping {
    /// Returns how many new ids the rows before made, and counts those of this row. Called once per row, in order.
    pub(super) fn advance(&mut self, input_length: u64, hash_ids: &[HashId]) -> Result<u64, String> {
        let before = self.made;
        self.made += self.reshape_from(before, input_length, hash_ids)?.1;
        Ok(before)
    }

    /// Reshapes a row, within one of the trees.
    pub(super) fn reshape(
        &self,
        made_before: u64,
        input_length: u64,
        hash_ids: &[HashId],
        tree: u32,
    ) -> Result<Reshaped, String> {
        let (mut row, _) = self.reshape_from(made_before, input_length, hash_ids)?;
        let apart = HashId::from(tree).saturating_mul(self.before_new + HashId::from(self.made) + 1);
        row.hash_ids.iter_mut().for_each(|id| *id = id.saturating_add(apart));
        Ok(row)
    }

    /// The row in the first tree, and how many of its ids are new.
    fn reshape_from(
        &self,
        made_before: u64,
        input_length: u64,
        hash_ids: &[HashId],
    ) -> Result<(Reshaped, u64), String> {
        let Synthesis { prefix_len, prompt_len, max_isl, .. } = self.synthesis;
        let most = max_isl.map_or(u64::MAX, u64::from);
        if hash_ids.is_empty() {
            return Ok((Reshaped { input_length: input_length.min(most), hash_ids: Vec::new() }, 0));
        }
        let mut prefix = hash_ids.iter().take_while(|id| self.shared.contains(id)).count();
        // A partial last block is the row's own, even if another row is equal to its end.
        let full = usize::try_from(input_length / self.block_size).unwrap_or(usize::MAX);
        if prefix == hash_ids.len() && full + 1 == prefix && !input_length.is_multiple_of(self.block_size) {
            prefix = full;
        }
        let prefix_tokens = prefix as u64 * self.block_size;
        let Some(own_tokens) = input_length.checked_sub(prefix_tokens) else {
            return Err(format!(
                "input_length {input_length} is less than the {prefix_tokens} tokens of its shared prefix of {prefix} \
                 blocks\n  try: --isl-block-size with the tokens that a hash id stands for"
            ));
        };
        let mut made = 0;
        let mut new_id = || {
            made += 1;
            self.before_new.saturating_add(HashId::from(made_before + made))
        };
        let mut ids: Vec<HashId> = Vec::new();
        if prefix_len > 1.0 {
            let times = prefix_len.trunc() as HashId;
            ids.extend(
                hash_ids[..prefix]
                    .iter()
                    .flat_map(|id| (0..times).map(move |part| id.saturating_mul(times).saturating_add(part))),
            );
            let more = (prefix as f64 * prefix_len).ceil() as usize;
            ids.extend((ids.len()..more).map(|_| new_id()));
        } else if prefix_len < 1.0 {
            // A row without a shared prefix has nothing to shorten.
            let kept = ((prefix as f64 * prefix_len) as usize).max(prefix.min(1));
            ids.extend_from_slice(&hash_ids[..kept]);
        } else {
            ids.extend_from_slice(&hash_ids[..prefix]);
        }
        let prefix_tokens = ids.len() as u64 * self.block_size;
        let own_tokens = (own_tokens as f64 * prompt_len) as u64;
        ids.extend((0..own_tokens.div_ceil(self.block_size)).map(|_| new_id()));
        if ids.is_empty() {
            return Ok((Reshaped { input_length: input_length.min(most), hash_ids: ids }, made));
        }
        let length = (prefix_tokens + own_tokens).min(most);
        // Blocks beyond the reduced length would have no text.
        ids.truncate(usize::try_from(length.div_ceil(self.block_size)).unwrap_or(usize::MAX));
        Ok((Reshaped { input_length: length, hash_ids: ids }, made))
    }
}

/// A timestamp after the speedup, in whole milliseconds.
pub(super) fn sped_up(timestamp_ms: f64, speedup: f64) -> f64 {
    (timestamp_ms / speedup).trunc()
}

/// The number of output tokens to request.
pub(super) fn output_length(tokens: u32, synthesis: &Synthesis) -> u32 {
    let wanted = (f64::from(tokens.max(1)) * synthesis.output_len).round_ties_even();
    (wanted as u32).min(synthesis.max_osl.unwrap_or(u32::MAX)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_golden::has;
    use aiperf_golden::kinds::datasets::RESHAPED_TRACE;
    use aiperf_testkit::plan::synthesis;
    use serde_json::{Value, json};

    fn ids(row: &Value) -> Vec<HashId> {
        row["hash_ids"].as_array().into_iter().flatten().map(|id| HashId::from(id.as_i64().unwrap())).collect()
    }

    fn of(case: &Value) -> Result<Vec<Value>, String> {
        let synthesis = synthesis(&case["params"]);
        let block_size = case["params"]["block_size"].as_u64().unwrap_or(512);
        let rows = case["rows"].as_array().unwrap();
        let mut counting = Counting::default();
        rows.iter().for_each(|row| counting.add(&ids(row)));
        let mut reshaping = counting.done(synthesis, block_size);
        let length = |row: &Value| row["input_length"].as_u64().unwrap_or(block_size);
        let befores: Vec<u64> =
            rows.iter().map(|row| reshaping.advance(length(row), &ids(row))).collect::<Result<_, _>>()?;
        let mut out = rows.clone();
        for ((row, before), out) in rows.iter().zip(befores).zip(&mut out) {
            if let Some(time) = row["timestamp"].as_f64() {
                out["timestamp"] = json!(sped_up(time, synthesis.speedup) as i64);
            }
            if let Some(tokens) = row["output_length"].as_u64() {
                out["output_length"] = output_length(tokens as u32, &synthesis).into();
            }
            if has(row, "input_length") {
                let made = reshaping.reshape(before, length(row), &ids(row), 0)?;
                out["input_length"] = made.input_length.into();
                if made.hash_ids.is_empty() {
                    out.as_object_mut().unwrap().remove("hash_ids");
                } else {
                    out["hash_ids"] = made.hash_ids.iter().map(|id| *id as i64).collect();
                }
            }
        }
        Ok(out)
    }

    fn skip(case: &Value) -> Option<String> {
        if case["params"]["renormalize_hash_ids"] == true {
            return Some("no setting changes the ids".into());
        }
        let block_size = case["params"]["block_size"].as_u64().unwrap_or(512);
        let has_too_many =
            |row: &Value| ids(row).len() as u64 > row["input_length"].as_u64().unwrap_or(0).div_ceil(block_size);
        if case["out"].as_array().is_some_and(|rows| rows.iter().any(has_too_many)) {
            return Some("blocks beyond a reduced length are dropped here".into());
        }
        let mut counting = Counting::default();
        case["rows"].as_array().unwrap().iter().for_each(|row| counting.add(&ids(row)));
        let shares_nothing = |row: &Value| ids(row).first().is_some_and(|id| !counting.shared.contains(id));
        let shortens = case["params"]["prefix_len_multiplier"].as_f64().is_some_and(|factor| factor < 1.0);
        (shortens && case["rows"].as_array().unwrap().iter().any(shares_nothing))
            .then(|| "a row without a shared prefix gets no prefix block here".into())
    }

    #[test]
    fn golden_traces_are_reshaped_as_recorded() {
        RESHAPED_TRACE.run(skip, |case| match of(case) {
            Ok(rows) => assert_eq!(Value::Array(rows), case["out"]),
            Err(fault) => assert_eq!(case["ok"], false, "{fault}"),
        });
    }
}
