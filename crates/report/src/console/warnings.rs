//! Numbers that should not be trusted, and why.

use super::page::{Page, Style};
use super::panel::Panel;
use super::text::{literal, one_line};
use crate::format::number::{commas, thousands};
use crate::run::RunResult;
use aiperf_types::RequestError;
use serde_json::Value;

/// Server-reported token counts differ from the client's.
pub(crate) fn token_counts(run: &RunResult, page: Page) -> Option<String> {
    let share = share(run, "usage_discrepancy_count")?;
    let limit = run.limits.usage_diff_pct;
    let records = literal(&run.artifacts.names.records_jsonl);
    let text = format!(
        "{share} show a difference exceeding {limit}% between:
  - API-reported usage tokens (from 'usage' field)
  - Client-computed token counts (from tokenization)

Possible Causes:
  - Different tokenization methods (API vs client)
  - API special tokens or preprocessing

Investigation Steps:
  1. Review {records} for per-request usage_*_diff_pct values
  2. Verify client tokenizer matches the model's tokenizer
  3. Use server token counts: --use-server-token-count (disables client tokenization and diff metrics)
  4. Adjust threshold: AIPERF_METRICS_USAGE_PCT_DIFF_THRESHOLD={limit}"
    );
    Some(panel("Token Count Discrepancy Warning", &text, page))
}

const SHORTER: &str = "Why: Server hit EOS token before reaching requested output length.

Fix Options:
  - --extra-inputs ignore_eos:true - Generate until max_tokens (vLLM, TensorRT-LLM)
  - --extra-inputs min_tokens:<N> - Set minimum output length (vLLM, TensorRT-LLM, SGLang)
  - --use-server-token-count - Use server-reported token counts if tokenizer mismatch suspected";

/// The same, although the server was asked to ignore the end of sequence.
const SHORTER_ALL_THE_SAME: &str = "Why: Outputs are shorter than requested although ignore_eos was sent: the server does not know it, or counts tokens in another way.

Fix Options:
  - --extra-inputs min_tokens:<N> - Set minimum output length (vLLM, TensorRT-LLM, SGLang)
  - --tokenizer <name> - Count with the tokenizer of the model being served
  - --use-server-token-count - Use server-reported token counts if tokenizer mismatch suspected";

const RECOUNTED: &str = "Why: The server reports exactly the requested length. Its text, split into tokens again here, has another number of them.

Fix Options:
  - --use-server-token-count - Use server-reported token counts
  - --tokenizer <name> - Count with the tokenizer of the model being served";

const LONGER: &str =
    "Why: Outputs are longer than requested: the server ignores the limit, or counts tokens in another way.

Fix Options:
  - --use-legacy-max-tokens - Send the limit as max_tokens if the server does not know max_completion_tokens
  - --tokenizer <name> - Count with the tokenizer of the model being served
  - --use-server-token-count - Use server-reported token counts if tokenizer mismatch suspected";

const BOTH: &str = "Why: Some outputs are shorter than requested (EOS token), others longer (limit ignored, or counted in another way).

Fix Options:
  - --extra-inputs ignore_eos:true - Generate until max_tokens (vLLM, TensorRT-LLM)
  - --tokenizer <name> - Count with the tokenizer of the model being served
  - --use-server-token-count - Use server-reported token counts if tokenizer mismatch suspected";

/// Outputs do not have the requested length.
pub(crate) fn output_lengths(run: &RunResult, page: Page) -> Option<String> {
    let share = share(run, "osl_mismatch_count")?;
    let (percent, tokens) = (run.limits.osl_mismatch_pct, run.limits.osl_mismatch_tokens);
    let records = literal(&run.artifacts.names.records_jsonl);
    let average = run.metrics.avg("osl_mismatch_diff_pct").map_or("N/A".into(), |average| format!("{average:.1}%"));
    let text = format!(
        "{share} have output length differing from requested by more than the threshold.
Threshold (tokens): min(requested x {percent}%, {tokens})
Average mismatch: {average}

{why}

Diagnostics:
  - Review {records} -> osl_mismatch_diff_pct for per-request values
  - Adjust: AIPERF_METRICS_OSL_MISMATCH_PCT_THRESHOLD={percent}
  - Adjust: AIPERF_METRICS_OSL_MISMATCH_MAX_TOKEN_THRESHOLD={tokens}",
        why = explanation(run),
    );
    Some(panel("Output Sequence Length Mismatch Warning", &text, page))
}

/// The explanation that fits, without advice that the run already follows.
fn explanation(run: &RunResult) -> String {
    let was_sent = |key: &str| !matches!(run.input_config["endpoint"]["extra"][key], Value::Null | Value::Bool(false));
    let text = match direction(run) {
        _ if reports_requested_length(run) => RECOUNTED,
        SHORTER if was_sent("ignore_eos") => SHORTER_ALL_THE_SAME,
        text => text,
    };
    let sent: Vec<String> =
        ["ignore_eos", "min_tokens"].iter().filter(|key| was_sent(key)).map(|key| format!("{key}:")).collect();
    let is_new = |line: &&str| !sent.iter().any(|key| line.contains(key));
    text.lines().filter(is_new).collect::<Vec<_>>().join("\n")
}

/// Whether the server's counts are all the requested length, if that was the same for every request.
fn reports_requested_length(run: &RunResult) -> bool {
    let requested = || {
        let (length, difference) =
            (run.metrics.avg("output_sequence_length")?, run.metrics.avg("osl_mismatch_diff_pct")?);
        Some((length / (1.0 + difference / 100.0)).round())
    };
    let reported = run.metrics.get("usage_completion_tokens").map(|metric| &metric.stats);
    reported.is_some_and(|stats| stats.min.is_some() && stats.min == stats.max && stats.min == requested())
}

/// The explanation that fits: by whether outputs beyond the limit are too short, too long or both.
fn direction(run: &RunResult) -> &'static str {
    let Some(difference) = run.metrics.get("osl_mismatch_diff_pct").map(|metric| &metric.stats) else {
        return SHORTER;
    };
    let limit = run.limits.osl_mismatch_pct;
    let is_short = difference.min.is_some_and(|least| least < -limit);
    let is_long = difference.max.is_some_and(|most| most > limit);
    match (is_short, is_long) {
        (true, true) => BOTH,
        (true, false) => SHORTER,
        (false, true) => LONGER,
        (false, false) if difference.avg.is_some_and(|average| average > 0.0) => LONGER,
        (false, false) => SHORTER,
    }
}

/// Share of failed requests, in percent, from which the results represent only the lucky ones.
const FAILED_PERCENT: u64 = 1;
/// Reasons that a panel names, and columns of each.
const REASONS: usize = 3;
const REASON_WIDTH: usize = 100;

/// Many requests failed, and the most frequent reasons.
pub(crate) fn failures(run: &RunResult, page: Page) -> Option<String> {
    let (failed, total) = (run.metrics.failed, run.metrics.records);
    if failed * 100 <= total * FAILED_PERCENT {
        return None;
    }
    let percent = |part: u64, of: u64| 100.0 * part as f64 / of as f64;
    let reasons = reasons(&run.commonest_errors());
    let reason = |(text, count): &(String, u64)| {
        let text = one_line(text, REASON_WIDTH);
        format!("  - {} ({:.1}%): {text}", thousands(*count), percent(*count, failed))
    };
    let mut lines = vec![
        format!("{} of {} requests ({:.1}%) failed.", thousands(failed), thousands(total), percent(failed, total)),
        "Latencies and throughputs are those of the requests that succeeded.".to_owned(),
        String::new(),
        "Commonest Reasons:".to_owned(),
    ];
    lines.extend(reasons.iter().take(REASONS).map(reason));
    if reasons.len() > REASONS {
        lines.push(format!("  - {} other reasons: see the error summary", reasons.len() - REASONS));
    }
    Some(panel("Failed Requests Warning", &lines.join("\n"), page))
}

/// Errors that differ only in their numbers are one reason; the most frequent is first.
fn reasons(errors: &[&(RequestError, u64)]) -> Vec<(String, u64)> {
    struct Reason<'a> {
        name: String,
        folded: String,
        first: &'a RequestError,
        kinds: usize,
        count: u64,
    }
    let mut reasons: Vec<Reason<'_>> = Vec::new();
    for (error, count) in errors {
        let (name, folded) = (error.name(), without_numbers(&error.message));
        match reasons.iter_mut().find(|reason| reason.name == name && reason.folded == folded) {
            Some(known) => (known.kinds, known.count) = (known.kinds + 1, known.count + count),
            None => reasons.push(Reason { name, folded, first: error, kinds: 1, count: *count }),
        }
    }
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.count));
    let text = |reason: Reason<'_>| match reason.kinds {
        1 => (reason.first.described(), reason.count),
        _ => (RequestError { message: reason.folded, ..reason.first.clone() }.described(), reason.count),
    };
    reasons.into_iter().map(text).collect()
}

/// Replaces each number with a letter.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut was_digit = false;
    for letter in text.chars() {
        match letter.is_ascii_digit() {
            true if was_digit => {}
            true => out.push('N'),
            false => out.push(letter),
        }
        was_digit = letter.is_ascii_digit();
    }
    out
}

/// The run's doubts about its own numbers.
pub(crate) fn doubts(run: &RunResult, page: Page) -> Option<String> {
    let lines: Vec<String> = run.doubts().iter().map(|doubt| format!("- {doubt}")).collect();
    (!lines.is_empty()).then(|| panel("Measurement Warning", &lines.join("\n"), page))
}

/// How many requests a counter counted, in words; `None` when it is zero or absent.
fn share(run: &RunResult, counter: &str) -> Option<String> {
    let count = run.metrics.avg(counter).filter(|count| *count > 0.0)?;
    let total = run.metrics.avg("request_count").filter(|total| *total > 0.0)?;
    let whole = |value: f64| commas(&format!("{value:.0}"));
    Some(format!("{} of {} requests ({:.1}%)", whole(count), whole(total), 100.0 * count / total))
}

fn panel(title: &str, text: &str, page: Page) -> String {
    let style = |line: &str| if line.ends_with(':') && !line.starts_with(' ') { Style::BOLD } else { Style::PLAIN };
    let lines = text.lines().map(|line| (line.to_owned(), style(line))).collect();
    format!("\n{}", Panel { title: title.into(), border: Style::YELLOW, lines }.draw(page))
}
