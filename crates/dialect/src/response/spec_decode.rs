//! Speculative decoding as a server reports it: vLLM's `metrics.speculative_decoding` object.

use crate::response::usage::MOST_TOKENS;
use aiperf_types::SpecDecode;
use serde_json::{Map, Value};

/// What is wrong with a report.
pub type Fault = &'static str;

/// Reads a report; `None` when it has another shape than the one known. One that contradicts itself is ignored.
pub fn read(report: &Map<String, Value>) -> Option<Result<SpecDecode, Fault>> {
    let is_known = ["acceptance_histogram", "num_spec_steps"].iter().all(|key| report.contains_key(*key));
    is_known.then(|| read_known(report))
}

fn read_known(report: &Map<String, Value>) -> Result<SpecDecode, Fault> {
    let count = |key: &str| report.get(key).and_then(plausible);
    let number = |key: &str| report.get(key).and_then(Value::as_f64).filter(|value| value.abs() <= MOST_TOKENS as f64);
    let list = |key: &str| match report.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(list) => counts(list).map(Some).ok_or("a list by step is not one of counts"),
    };
    let optional = |key: &str| match report.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => plausible(value).map(Some).ok_or("num_spec_tokens is not a count"),
    };
    let histogram =
        report.get("acceptance_histogram").and_then(counts).ok_or("acceptance_histogram is not a list of counts")?;
    let (steps, accepted, draft) = match ["num_spec_steps", "num_accepted_draft_tokens", "num_draft_tokens"].map(count)
    {
        [Some(steps), Some(accepted), Some(draft)] => (steps, accepted, draft),
        _ => return Err("a count of steps or tokens is missing"),
    };
    let (Some(length), Some(rate)) = (number("mean_acceptance_length"), number("draft_acceptance_rate")) else {
        return Err("a mean or a rate is missing");
    };
    let spec_tokens = optional("num_spec_tokens")?;
    let (by_step, drafted_by_step) = (list("per_step_accepted")?, list("per_step_drafted")?);
    check_histogram(&histogram, spec_tokens, steps, accepted, draft)?;
    check_steps(by_step.as_deref(), drafted_by_step.as_deref(), steps, accepted, draft)?;
    Ok(SpecDecode {
        mean_acceptance_length: Some(length),
        draft_acceptance_rate: Some(rate),
        acceptance_histogram: (0..).zip(histogram).filter(|(_, steps)| *steps > 0).collect(),
        num_accepted_draft_tokens: Some(accepted),
        num_draft_tokens: Some(draft),
        num_spec_steps: Some(steps),
        num_spec_tokens: spec_tokens,
        completion_tokens: None,
        per_step_accepted: by_step,
        per_step_drafted: drafted_by_step,
    })
}

fn counts(list: &Value) -> Option<Vec<u64>> {
    list.as_array()?.iter().map(plausible).collect()
}

fn plausible(value: &Value) -> Option<u64> {
    value.as_u64().filter(|count| *count <= MOST_TOKENS)
}

/// The sum, if it is a number that fits.
fn sum(mut numbers: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    numbers.try_fold(0_u64, |sum, number| sum.checked_add(number?))
}

fn check_histogram(
    histogram: &[u64],
    spec_tokens: Option<u64>,
    steps: u64,
    accepted: u64,
    draft: u64,
) -> Result<(), Fault> {
    if spec_tokens.is_some_and(|tokens| histogram.len() as u64 != tokens.saturating_add(1)) {
        return Err("acceptance_histogram does not have num_spec_tokens + 1 entries");
    }
    if sum(histogram.iter().copied().map(Some)) != Some(steps) {
        return Err("acceptance_histogram does not add up to num_spec_steps");
    }
    let weighed = sum((0_u64..).zip(histogram).map(|(drafts, steps)| drafts.checked_mul(*steps)));
    if weighed != Some(accepted) {
        return Err("acceptance_histogram does not add up to num_accepted_draft_tokens");
    }
    if accepted > draft {
        return Err("more draft tokens were accepted than drafted");
    }
    Ok(())
}

fn check_steps(
    accepted: Option<&[u64]>,
    drafted: Option<&[u64]>,
    steps: u64,
    all_accepted: u64,
    all_drafted: u64,
) -> Result<(), Fault> {
    for (list, total) in [(accepted, all_accepted), (drafted, all_drafted)] {
        let Some(list) = list else { continue };
        if list.len() as u64 != steps || sum(list.iter().copied().map(Some)) != Some(total) {
            return Err("a list by step does not agree with its totals");
        }
    }
    let mut pairs = accepted.into_iter().flatten().zip(drafted.into_iter().flatten());
    if pairs.any(|(accepted, drafted)| accepted > drafted) {
        return Err("a step accepted more draft tokens than it drafted");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Map<String, Value> {
        let report = json!({
            "mean_acceptance_length": 2.0, "draft_acceptance_rate": 0.5, "acceptance_histogram": [1, 0, 1],
            "num_accepted_draft_tokens": 2, "num_draft_tokens": 4, "num_spec_steps": 2, "num_spec_tokens": 2,
            "per_step_accepted": [0, 2], "per_step_drafted": [2, 2],
        });
        report.as_object().cloned().unwrap_or_default()
    }

    fn with(key: &str, value: Value) -> Option<Result<SpecDecode, Fault>> {
        let mut report = report();
        report.insert(key.to_owned(), value);
        read(&report)
    }

    #[test]
    fn a_report_that_agrees_with_itself_is_read() {
        let found = read(&report()).and_then(Result::ok).unwrap_or_default();
        assert_eq!(found.acceptance_histogram, [(0, 1), (2, 1)].into());
        assert_eq!((found.num_spec_steps, found.num_spec_tokens), (Some(2), Some(2)));
        assert_eq!((found.per_step_accepted, found.per_step_drafted), (Some(vec![0, 2]), Some(vec![2, 2])));
        for key in ["num_spec_tokens", "per_step_accepted", "per_step_drafted"] {
            assert!(with(key, Value::Null).is_some_and(|read| read.is_ok()), "{key} may be absent");
        }
    }

    #[test]
    fn another_shape_is_none_of_ours() {
        assert_eq!(read(json!({"num_drafts": 2}).as_object().unwrap_or(&Map::new())), None);
    }

    #[test]
    fn a_report_that_contradicts_itself_is_refused_with_the_reason() {
        for (key, value) in [
            ("acceptance_histogram", json!([1, 0, 1, 0])),
            ("acceptance_histogram", json!([1, 1, 1])),
            ("acceptance_histogram", json!([1, 1, 0])),
            ("acceptance_histogram", json!([true, 0, 1])),
            ("acceptance_histogram", json!("many")),
            ("acceptance_histogram", json!([0, 18446744073709551615_u64, 18446744073709551615_u64])),
            ("mean_acceptance_length", json!("2")),
            ("draft_acceptance_rate", Value::Null),
            ("num_draft_tokens", json!(1)),
            ("num_draft_tokens", json!(4.5)),
            ("num_spec_tokens", json!("2")),
            ("num_spec_tokens", json!(18446744073709551615_u64)),
            ("num_spec_steps", json!(3)),
            ("num_accepted_draft_tokens", json!(-2)),
            ("per_step_accepted", json!([0, 1])),
            ("per_step_accepted", json!([2])),
            ("per_step_drafted", json!([3, 1])),
            ("per_step_drafted", json!([4, "0"])),
        ] {
            let found = with(key, value.clone());
            assert!(matches!(found, Some(Err(_))), "{key}: {value} gave {found:?}");
        }
    }
}
