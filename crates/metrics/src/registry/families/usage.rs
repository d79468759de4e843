//! Metrics of usage: the server's token counts, and how far they are from our own.

use crate::facts::{Fact, Facts};
use crate::registry::flags::Flags;
use crate::registry::metric::Compute::{Derived, Floats, Fold, Ints, Total};
use crate::registry::metric::Short::{Bare, WithUnit};
use crate::registry::metric::{self, ConsoleGroup, Metric};
use crate::registry::rules::Rules;
use crate::registry::scope::Scope;
use crate::registry::unit::Unit;

use super::int;
use super::tokens::{input_sequence_length, output_sequence_length, reasoning_token_count};

pub(super) const METRICS: &[Metric] = &[
    Metric::new("usage_prompt_tokens", "Usage Prompt Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::UsagePrompt))))
        .short("Usage Prompt", Bare)
        .flags(&[Flags::LARGER_IS_BETTER, Flags::TOKENIZES_INPUT_ONLY])
        .group(ConsoleGroup::Usage)
        .order(1000)
        .facts(&[Fact::UsagePrompt])
        .formula("usage field prompt_tokens over the responses")
        .absent("field absent or null"),
    Metric::new("usage_prompt_cache_read_tokens", "Usage Prompt Cache Read Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::UsageCacheRead))))
        .short("Usage Prompt Cache Read", Bare)
        .flags(&[Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Usage)
        .order(1010)
        .facts(&[Fact::UsageCacheRead])
        .formula("usage field prompt_cache_read_tokens over the responses")
        .absent("field absent or null"),
    Metric::new("usage_prompt_cache_write_tokens", "Usage Prompt Cache Write Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::UsageCacheWrite))))
        .short("Usage Prompt Cache Write", Bare)
        .group(ConsoleGroup::Usage)
        .order(1015)
        .facts(&[Fact::UsageCacheWrite])
        .formula("usage field prompt_cache_write_tokens over the responses")
        .absent("field absent or null"),
    Metric::new("usage_prompt_cache_miss_tokens", "Usage Prompt Cache Miss Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::UsageCacheMiss))))
        .short("Usage Prompt Cache Miss", Bare)
        .group(ConsoleGroup::Usage)
        .order(1017)
        .facts(&[Fact::UsageCacheMiss])
        .formula("usage field prompt_cache_miss_tokens over the responses")
        .absent("field absent or null"),
    Metric::new("usage_prompt_audio_tokens", "Usage Prompt Audio Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::UsagePromptAudio))))
        .short("Usage Prompt Audio", Bare)
        .flags(&[Flags::LARGER_IS_BETTER, Flags::SUPPORTS_AUDIO_ONLY])
        .group(ConsoleGroup::Usage)
        .order(1020)
        .facts(&[Fact::UsagePromptAudio])
        .formula("usage field prompt_audio_tokens over the responses")
        .absent("field absent or null"),
    Metric::new("usage_tool_use_prompt_tokens", "Usage Tool Use Prompt Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::UsageToolUse))))
        .short("Usage Tool Prompt", Bare)
        .group(ConsoleGroup::Usage)
        .order(1030)
        .facts(&[Fact::UsageToolUse])
        .formula("usage field tool_use_prompt_tokens over the responses")
        .absent("field absent or null"),
    Metric::new("usage_prompt_audio_seconds", "Usage Prompt Audio Seconds", Unit::Sec, Floats(|f, _| f.float(Fact::UsageAudioSeconds)))
        .short("Usage Prompt Audio Sec", WithUnit)
        .flags(&[Flags::LARGER_IS_BETTER, Flags::SUPPORTS_AUDIO_ONLY])
        .group(ConsoleGroup::Usage)
        .order(1040)
        .facts(&[Fact::UsageAudioSeconds])
        .formula("usage field prompt_audio_seconds over the responses")
        .absent("field absent or null"),
    Metric::new("usage_completion_tokens", "Usage Completion Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::UsageCompletion))))
        .short("Usage Completion", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Usage)
        .order(1100)
        .facts(&[Fact::UsageCompletion])
        .formula("usage field completion_tokens over the responses")
        .absent("field absent or null"),
    Metric::new("usage_reasoning_tokens", "Usage Reasoning Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::UsageReasoning))))
        .short("Usage Reasoning", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Usage)
        .order(1110)
        .facts(&[Fact::UsageReasoning])
        .formula("usage field reasoning_tokens over the responses")
        .absent("field absent or null"),
    Metric::new("usage_completion_audio_tokens", "Usage Completion Audio Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::UsageCompletionAudio))))
        .short("Usage Completion Audio", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER, Flags::SUPPORTS_AUDIO_ONLY])
        .group(ConsoleGroup::Usage)
        .order(1120)
        .facts(&[Fact::UsageCompletionAudio])
        .formula("usage field completion_audio_tokens over the responses")
        .absent("field absent or null"),
    Metric::new("usage_accepted_prediction_tokens", "Usage Accepted Prediction Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::UsageAccepted))))
        .short("Usage Accepted Pred", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Usage)
        .order(1130)
        .facts(&[Fact::UsageAccepted])
        .formula("usage field accepted_prediction_tokens over the responses")
        .absent("field absent or null"),
    Metric::new("usage_rejected_prediction_tokens", "Usage Rejected Prediction Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::UsageRejected))))
        .short("Usage Rejected Pred", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY])
        .group(ConsoleGroup::Usage)
        .order(1140)
        .facts(&[Fact::UsageRejected])
        .formula("usage field rejected_prediction_tokens over the responses")
        .absent("field absent or null"),
    Metric::new("usage_total_tokens", "Usage Total Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::UsageTotal))))
        .short("Usage Total", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Usage)
        .order(1200)
        .facts(&[Fact::UsageTotal])
        .formula("usage field total_tokens over the responses")
        .absent("field absent or null"),
    Metric::new("total_usage_prompt_tokens", "Total Usage Prompt Tokens", Unit::Tokens, Total("usage_prompt_tokens"))
        .short("Total Usage Prompt", Bare)
        .flags(&[Flags::LARGER_IS_BETTER, Flags::TOKENIZES_INPUT_ONLY])
        .group(ConsoleGroup::Usage)
        .order(2000)
        .needs(&["usage_prompt_tokens"])
        .formula("sum over records of usage_prompt_tokens")
        .absent("no record has usage_prompt_tokens"),
    Metric::new("total_usage_prompt_cache_read_tokens", "Total Usage Prompt Cache Read Tokens", Unit::Tokens, Total("usage_prompt_cache_read_tokens"))
        .short("Total Usage Prompt Cache Read", Bare)
        .flags(&[Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Usage)
        .order(2010)
        .needs(&["usage_prompt_cache_read_tokens"])
        .formula("sum over records of usage_prompt_cache_read_tokens")
        .absent("no record has usage_prompt_cache_read_tokens"),
    Metric::new("overall_usage_prompt_cache_read_pct", "Overall Usage Prompt Cache Read %", Unit::Percent, Derived(overall_usage_prompt_cache_read_pct))
        .short("Overall Cache Read %", Bare)
        .flags(&[Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Usage)
        .order(2012)
        .needs(&["total_usage_prompt_cache_read_tokens", "total_usage_prompt_tokens"])
        .formula("total_usage_prompt_cache_read_tokens / total_usage_prompt_tokens * 100")
        .absent("total prompt tokens == 0 or either total missing"),
    Metric::new("total_usage_prompt_cache_write_tokens", "Total Usage Prompt Cache Write Tokens", Unit::Tokens, Total("usage_prompt_cache_write_tokens"))
        .short("Total Usage Prompt Cache Write", Bare)
        .group(ConsoleGroup::Usage)
        .order(2015)
        .needs(&["usage_prompt_cache_write_tokens"])
        .formula("sum over records of usage_prompt_cache_write_tokens")
        .absent("no record has usage_prompt_cache_write_tokens"),
    Metric::new("total_usage_prompt_cache_miss_tokens", "Total Usage Prompt Cache Miss Tokens", Unit::Tokens, Total("usage_prompt_cache_miss_tokens"))
        .short("Total Usage Prompt Cache Miss", Bare)
        .group(ConsoleGroup::Usage)
        .order(2017)
        .needs(&["usage_prompt_cache_miss_tokens"])
        .formula("sum over records of usage_prompt_cache_miss_tokens")
        .absent("no record has usage_prompt_cache_miss_tokens"),
    Metric::new("total_usage_prompt_audio_tokens", "Total Usage Prompt Audio Tokens", Unit::Tokens, Total("usage_prompt_audio_tokens"))
        .short("Total Usage Prompt Audio", Bare)
        .flags(&[Flags::LARGER_IS_BETTER, Flags::SUPPORTS_AUDIO_ONLY])
        .group(ConsoleGroup::Usage)
        .order(2020)
        .needs(&["usage_prompt_audio_tokens"])
        .formula("sum over records of usage_prompt_audio_tokens")
        .absent("no record has usage_prompt_audio_tokens"),
    Metric::new("total_usage_tool_use_prompt_tokens", "Total Usage Tool Use Prompt Tokens", Unit::Tokens, Total("usage_tool_use_prompt_tokens"))
        .short("Total Usage Tool Prompt", Bare)
        .group(ConsoleGroup::Usage)
        .order(2030)
        .needs(&["usage_tool_use_prompt_tokens"])
        .formula("sum over records of usage_tool_use_prompt_tokens")
        .absent("no record has usage_tool_use_prompt_tokens"),
    Metric::new("total_usage_prompt_audio_seconds", "Total Usage Prompt Audio Seconds", Unit::Sec, Total("usage_prompt_audio_seconds"))
        .short("Total Usage Prompt Audio Sec", WithUnit)
        .flags(&[Flags::LARGER_IS_BETTER, Flags::SUPPORTS_AUDIO_ONLY])
        .group(ConsoleGroup::Usage)
        .order(2040)
        .needs(&["usage_prompt_audio_seconds"])
        .formula("sum over records of usage_prompt_audio_seconds")
        .absent("no record has usage_prompt_audio_seconds"),
    Metric::new("total_usage_completion_tokens", "Total Usage Completion Tokens", Unit::Tokens, Total("usage_completion_tokens"))
        .short("Total Usage Completion", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Usage)
        .order(2100)
        .needs(&["usage_completion_tokens"])
        .formula("sum over records of usage_completion_tokens")
        .absent("no record has usage_completion_tokens"),
    Metric::new("total_usage_reasoning_tokens", "Total Usage Reasoning Tokens", Unit::Tokens, Total("usage_reasoning_tokens"))
        .short("Total Usage Reasoning", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Usage)
        .order(2110)
        .needs(&["usage_reasoning_tokens"])
        .formula("sum over records of usage_reasoning_tokens")
        .absent("no record has usage_reasoning_tokens"),
    Metric::new("total_usage_completion_audio_tokens", "Total Usage Completion Audio Tokens", Unit::Tokens, Total("usage_completion_audio_tokens"))
        .short("Total Usage Comp Audio", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER, Flags::SUPPORTS_AUDIO_ONLY])
        .group(ConsoleGroup::Usage)
        .order(2120)
        .needs(&["usage_completion_audio_tokens"])
        .formula("sum over records of usage_completion_audio_tokens")
        .absent("no record has usage_completion_audio_tokens"),
    Metric::new("total_usage_accepted_prediction_tokens", "Total Usage Accepted Prediction Tokens", Unit::Tokens, Total("usage_accepted_prediction_tokens"))
        .short("Total Usage Accepted Pred", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Usage)
        .order(2130)
        .needs(&["usage_accepted_prediction_tokens"])
        .formula("sum over records of usage_accepted_prediction_tokens")
        .absent("no record has usage_accepted_prediction_tokens"),
    Metric::new("total_usage_rejected_prediction_tokens", "Total Usage Rejected Prediction Tokens", Unit::Tokens, Total("usage_rejected_prediction_tokens"))
        .short("Total Usage Rejected Pred", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY])
        .group(ConsoleGroup::Usage)
        .order(2140)
        .needs(&["usage_rejected_prediction_tokens"])
        .formula("sum over records of usage_rejected_prediction_tokens")
        .absent("no record has usage_rejected_prediction_tokens"),
    Metric::new("total_usage_total_tokens", "Total Usage Total Tokens", Unit::Tokens, Total("usage_total_tokens"))
        .short("Total Usage Total", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Usage)
        .order(2200)
        .needs(&["usage_total_tokens"])
        .formula("sum over records of usage_total_tokens")
        .absent("no record has usage_total_tokens"),
    Metric::new("usage_completion_tokens_diff_pct", "Usage Completion Diff %", Unit::Percent, Floats(usage_completion_tokens_diff_pct))
        .short("Completion Diff", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::USAGE_DIFF_ONLY])
        .needs(&["output_sequence_length", "usage_completion_tokens"])
        .facts(&[Fact::UsageCompletion])
        .formula("|usage_completion_tokens - output_sequence_length| / output_sequence_length * 100")
        .absent("output_sequence_length is 0; server token counts in use"),
    Metric::new("usage_discrepancy_count", "Usage Discrepancy Count", Unit::Requests, Fold(metric::Fold::Sum, usage_discrepancy_count))
        .short("Discrepancies", Bare)
        .flags(&[Flags::NO_INDIVIDUAL_RECORDS, Flags::USAGE_DIFF_ONLY])
        .uses(&["usage_completion_tokens_diff_pct", "usage_prompt_tokens_diff_pct", "usage_reasoning_tokens_diff_pct"])
        .formula("sum of 1 if any of the prompt, completion and reasoning diff percentages that the record has is > threshold (default 10, strict >) else 0")
        .absent("record has none of the three diffs; server token counts in use"),
    Metric::new("usage_prompt_tokens_diff_pct", "Usage Prompt Diff %", Unit::Percent, Floats(usage_prompt_tokens_diff_pct))
        .short("Prompt Diff", Bare)
        .flags(&[Flags::TOKENIZES_INPUT_ONLY, Flags::USAGE_DIFF_ONLY])
        .needs(&["input_sequence_length", "usage_prompt_tokens"])
        .facts(&[Fact::UsagePrompt])
        .formula("|usage_prompt_tokens - input_sequence_length| / input_sequence_length * 100")
        .absent("input_sequence_length is 0; server token counts in use"),
    Metric::new("usage_reasoning_tokens_diff_pct", "Usage Reasoning Diff %", Unit::Percent, Floats(usage_reasoning_tokens_diff_pct))
        .short("Reasoning Diff", Bare)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::SUPPORTS_REASONING, Flags::USAGE_DIFF_ONLY])
        .needs(&["reasoning_token_count", "usage_reasoning_tokens"])
        .facts(&[Fact::UsageReasoning])
        .formula("|usage_reasoning_tokens - reasoning_token_count| / reasoning_token_count * 100")
        .absent("reasoning count == 0; server token counts in use"),
];

fn overall_usage_prompt_cache_read_pct(scope: &Scope<'_>) -> Option<f64> {
    let prompt = scope.value("total_usage_prompt_tokens").filter(|&prompt| prompt > 0.0)?;
    Some(scope.value("total_usage_prompt_cache_read_tokens")? / prompt * 100.0)
}

fn difference_pct(reported: Option<u64>, counted: Option<i64>) -> Option<f64> {
    let counted = counted.filter(|&counted| counted > 0)? as f64;
    Some(((reported? as f64 - counted) / counted).abs() * 100.0)
}

fn usage_prompt_tokens_diff_pct(f: &Facts, rules: &Rules) -> Option<f64> {
    difference_pct(f.get(Fact::UsagePrompt), input_sequence_length(f, rules))
}

fn usage_completion_tokens_diff_pct(f: &Facts, rules: &Rules) -> Option<f64> {
    difference_pct(f.get(Fact::UsageCompletion), output_sequence_length(f, rules))
}

fn usage_reasoning_tokens_diff_pct(f: &Facts, rules: &Rules) -> Option<f64> {
    difference_pct(f.get(Fact::UsageReasoning), reasoning_token_count(f, rules))
}

fn usage_discrepancy_count(f: &Facts, rules: &Rules) -> Option<i64> {
    let differences = [
        usage_prompt_tokens_diff_pct(f, rules),
        usage_completion_tokens_diff_pct(f, rules),
        usage_reasoning_tokens_diff_pct(f, rules),
    ];
    let largest = differences.into_iter().flatten().reduce(f64::max)?;
    Some(i64::from(largest > rules.thresholds.usage_diff_pct))
}
