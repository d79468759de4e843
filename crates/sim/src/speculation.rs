//! Speculative decoding as vLLM reports it: one response's steps, drafts and how many of these were accepted.

/// The `metrics` member of a response of so many tokens, when each step drafts `drafts` of them: the first step accepts
/// none, the next one, and so on up to all of them, over and over.
pub(crate) fn metrics(tokens: u32, drafts: u32) -> String {
    let mut histogram = vec![0_u64; drafts as usize + 1];
    let (mut left, mut step) = (tokens, 0);
    while left > 0 {
        let accepted = (step % (drafts + 1)).min(left - 1);
        histogram[accepted as usize] += 1;
        left -= accepted + 1;
        step += 1;
    }
    let accepted = u64::from(tokens - step);
    let drafted = u64::from(step) * u64::from(drafts);
    let per_step = |total: u64| total as f64 / f64::from(step.max(1));
    format!(
        r#"{{"speculative_decoding":{{"mean_acceptance_length":{},"draft_acceptance_rate":{},"acceptance_histogram":{histogram:?},"num_accepted_draft_tokens":{accepted},"num_draft_tokens":{drafted},"num_spec_steps":{step},"num_spec_tokens":{drafts}}}}}"#,
        1.0 + per_step(accepted),
        accepted as f64 / drafted.max(1) as f64,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn steps_and_accepted_drafts_add_up_to_the_tokens() {
        for tokens in 0..40 {
            let metrics: Value = serde_json::from_str(&metrics(tokens, 3)).unwrap();
            let reported = &metrics["speculative_decoding"];
            let steps = reported["num_spec_steps"].as_u64().unwrap();
            let histogram: Vec<u64> = serde_json::from_value(reported["acceptance_histogram"].clone()).unwrap();
            assert_eq!((histogram.len(), histogram.iter().sum::<u64>()), (4, steps));
            let accepted: u64 = (0..).zip(&histogram).map(|(drafts, steps)| drafts * steps).sum();
            assert_eq!(reported["num_accepted_draft_tokens"], accepted);
            assert_eq!(steps + accepted, u64::from(tokens));
        }
    }
}
