//! Metrics of tokens: input, output, and whether the output had the requested length.

use crate::facts::{Fact, Facts};
use crate::registry::flags::Flags;
use crate::registry::metric::Compute::{Derived, Floats, Fold, Ints, Total};
use crate::registry::metric::Short::{Bare, WithUnit};
use crate::registry::metric::{self, ConsoleGroup, Metric};
use crate::registry::rules::Rules;
use crate::registry::scope::Scope;
use crate::registry::unit::Unit;

use super::requests::request_latency;
use super::{NS_PER_SEC, int};

pub(super) const METRICS: &[Metric] = &[
    Metric::new("output_sequence_length", "Output Sequence Length", Unit::Tokens, Ints(output_sequence_length))
        .short("OSL", WithUnit)
        .flags(&[Flags::OUTPUT_LENGTH_ONLY, Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Default)
        .order(600)
        .facts(&[Fact::Output, Fact::Reasoning])
        .formula("(output or 0) + (reasoning or 0); 0 for embeddings and rankings")
        .absent("both null"),
    Metric::new("input_sequence_length", "Input Sequence Length", Unit::Tokens, Ints(input_sequence_length))
        .short("ISL", WithUnit)
        .flags(&[Flags::LARGER_IS_BETTER, Flags::TOKENIZES_INPUT_ONLY])
        .group(ConsoleGroup::Default)
        .order(700)
        .facts(&[Fact::Input])
        .formula("token_counts.input")
        .absent("input is null"),
    Metric::new("output_token_count", "Output Token Count", Unit::Tokens, Ints(output_token_count))
        .short("Output Tokens", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .facts(&[Fact::Output])
        .formula("token_counts.output")
        .absent("output is null or 0"),
    Metric::new("reasoning_token_count", "Reasoning Token Count", Unit::Tokens, Ints(reasoning_token_count))
        .short("Reasoning Tokens", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER, Flags::SUPPORTS_REASONING])
        .facts(&[Fact::Reasoning])
        .formula("token_counts.reasoning")
        .absent("reasoning is null (0 is kept)"),
    Metric::new("e2e_output_token_throughput", "E2E Output Token Throughput", Unit::TokensPerSecPerUser, Floats(e2e_output_token_throughput))
        .short("E2E Output TPS/User", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Default)
        .order(510)
        .needs(&["output_sequence_length", "request_latency"])
        .formula("output_sequence_length / (request_latency in seconds)")
        .absent("request_latency == 0"),
    Metric::new("thinking_efficiency", "Thinking Efficiency", Unit::Ratio, Floats(thinking_efficiency))
        .without_unit()
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::SUPPORTS_REASONING, Flags::EXPERIMENTAL])
        .group(ConsoleGroup::Default)
        .needs(&["output_token_count", "reasoning_token_count"])
        .formula("reasoning_token_count / output_token_count")
        .absent("output 0"),
    Metric::new("requested_osl", "Requested OSL", Unit::Tokens, Ints(requested_osl))
        .short("Req OSL", WithUnit)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::INTERNAL])
        .facts(&[Fact::RequestedOsl])
        .formula("requested max output tokens of the turn")
        .absent("not set"),
    Metric::new("osl_mismatch_diff_pct", "OSL Mismatch Diff %", Unit::Percent, Floats(osl_mismatch_diff_pct))
        .short("OSL Diff", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::DISABLE_ON_ACCURACY])
        .needs(&["output_sequence_length", "requested_osl"])
        .formula("(output_sequence_length - requested_osl) / requested_osl * 100 (signed)")
        .absent("requested_osl == 0 or missing; accuracy mode"),
    Metric::new("osl_mismatch_count", "OSL Mismatch Count", Unit::Requests, Fold(metric::Fold::Sum, osl_mismatch_count))
        .short("OSL Mismatches", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::NO_INDIVIDUAL_RECORDS, Flags::DISABLE_ON_ACCURACY])
        .needs(&["osl_mismatch_diff_pct", "output_sequence_length", "requested_osl"])
        .formula("sum of 1 if |OSL - requested| > min(requested * pct/100, max_tokens) else 0 (pct default 5, max_tokens default 50; strict >)")
        .absent("no record has osl_mismatch_diff_pct; accuracy mode"),
    Metric::new("total_output_tokens", "Total Output Tokens", Unit::Tokens, Total("output_token_count"))
        .short("Total Output", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .needs(&["output_token_count"])
        .formula("sum over records of output_token_count")
        .absent("no record has output_token_count"),
    Metric::new("total_reasoning_tokens", "Total Reasoning Tokens", Unit::Tokens, Total("reasoning_token_count"))
        .short("Total Reasoning", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .needs(&["reasoning_token_count"])
        .formula("sum over records of reasoning_token_count")
        .absent("no record has reasoning_token_count"),
    Metric::new("total_osl", "Total Output Sequence Length", Unit::Tokens, Total("output_sequence_length"))
        .short("Total OSL", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .needs(&["output_sequence_length"])
        .formula("sum over records of output_sequence_length")
        .absent("no record has output_sequence_length"),
    Metric::new("total_isl", "Total Input Sequence Length", Unit::Tokens, Total("input_sequence_length"))
        .short("Total ISL", Bare)
        .flags(&[Flags::LARGER_IS_BETTER, Flags::TOKENIZES_INPUT_ONLY])
        .needs(&["input_sequence_length"])
        .formula("sum over records of input_sequence_length")
        .absent("no record has input_sequence_length"),
    Metric::new("output_token_throughput", "Output Token Throughput", Unit::TokensPerSec, Derived(output_token_throughput))
        .short("Output TPS", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Default)
        .order(800)
        .needs(&["benchmark_duration", "total_osl"])
        .formula("total_osl / duration_s"),
    Metric::new("input_token_throughput", "Input Token Throughput", Unit::TokensPerSec, Derived(input_token_throughput))
        .short("Input TPS", Bare)
        .flags(&[Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Default)
        .order(805)
        .needs(&["benchmark_duration", "total_isl"])
        .formula("total_isl / duration_s"),
    Metric::new("total_token_throughput", "Total Token Throughput", Unit::TokensPerSec, Derived(total_token_throughput))
        .short("Total TPS", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .needs(&["benchmark_duration", "total_isl", "total_osl"])
        .formula("(total_isl + total_osl) / duration_s"),
    Metric::new("overall_thinking_efficiency", "Overall Thinking Efficiency", Unit::Ratio, Derived(overall_thinking_efficiency))
        .short("Overall Eff.", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::SUPPORTS_REASONING, Flags::EXPERIMENTAL])
        .group(ConsoleGroup::Default)
        .needs(&["total_output_tokens", "total_reasoning_tokens"])
        .formula("total_reasoning_tokens / total_output_tokens")
        .absent("output 0"),
];

pub(super) fn output_sequence_length(f: &Facts, _: &Rules) -> Option<i64> {
    output_tokens(f)
}

/// Tokens of the output, reasoning included.
pub(super) fn output_tokens(f: &Facts) -> Option<i64> {
    match (f.get(Fact::Output), f.get(Fact::Reasoning)) {
        (None, None) => None,
        (output, reasoning) => int(Some(output.unwrap_or(0).saturating_add(reasoning.unwrap_or(0)))),
    }
}

pub(super) fn input_sequence_length(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::Input))
}

fn output_token_count(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::Output).filter(|&tokens| tokens > 0))
}

pub(super) fn reasoning_token_count(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::Reasoning))
}

fn e2e_output_token_throughput(f: &Facts, rules: &Rules) -> Option<f64> {
    let latency = request_latency(f, rules).filter(|&latency| latency > 0)?;
    Some(output_sequence_length(f, rules)? as f64 / (latency as f64 / NS_PER_SEC))
}

fn thinking_efficiency(f: &Facts, rules: &Rules) -> Option<f64> {
    Some(reasoning_token_count(f, rules)? as f64 / output_token_count(f, rules)? as f64)
}

fn requested_osl(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::RequestedOsl))
}

fn osl_mismatch(f: &Facts, rules: &Rules) -> Option<(i64, i64)> {
    let requested = requested_osl(f, rules).filter(|&requested| requested > 0)?;
    Some((output_sequence_length(f, rules)? - requested, requested))
}

fn osl_mismatch_diff_pct(f: &Facts, rules: &Rules) -> Option<f64> {
    osl_mismatch(f, rules).map(|(difference, requested)| difference as f64 / requested as f64 * 100.0)
}

fn osl_mismatch_count(f: &Facts, rules: &Rules) -> Option<i64> {
    let (difference, requested) = osl_mismatch(f, rules)?;
    let limits = &rules.thresholds;
    let allowed = (requested as f64 * (limits.osl_mismatch_pct / 100.0)).min(limits.osl_mismatch_tokens as f64);
    Some(i64::from(difference.unsigned_abs() as f64 > allowed))
}

fn output_token_throughput(scope: &Scope<'_>) -> Option<f64> {
    Some(scope.value("total_osl")? / scope.seconds()?)
}

fn input_token_throughput(scope: &Scope<'_>) -> Option<f64> {
    Some(scope.value("total_isl")? / scope.seconds()?)
}

fn total_token_throughput(scope: &Scope<'_>) -> Option<f64> {
    Some((scope.value("total_isl")? + scope.value("total_osl")?) / scope.seconds()?)
}

fn overall_thinking_efficiency(scope: &Scope<'_>) -> Option<f64> {
    let output = scope.value("total_output_tokens").filter(|&output| output > 0.0)?;
    Some(scope.value("total_reasoning_tokens")? / output)
}
