//! How closely sessions match the configuration.

use super::column::Column;
use super::config::AgenticConfig;
use super::facts::Facts;
use super::lognormal::Lognormal;
use super::session::End;
use crate::trace_tools::numbers::rounded;
use serde_json::{Value, json};

pub(super) fn quality(config: &AgenticConfig, facts: &Facts) -> Value {
    let prefix = (config.global_tokens + config.group_tokens) as f64;
    let first = |spread: &Lognormal| Some((prefix + spread.mean, prefix + spread.median));
    let of = |spread: &Lognormal| Some((spread.mean, spread.median));
    let turns = config.turns.and_then(|turns| of(&turns.spread));
    json!({
        "config_summary": summary(config, prefix),
        "observed_vs_target": {
            "initial_context": metric(first(&config.own_tokens), &facts.initial_context),
            "generation_length": metric(of(&config.output), &facts.output),
            "new_tokens_per_turn": metric(of(&config.new_tokens), &facts.new_tokens),
            "inter_turn_delay_ms": metric(None, &facts.delay_ms),
            "turns_per_session": metric(turns, &facts.turn_count),
        },
        "session_stats": facts.turn_count.stats(),
        "session_end_stats": ends(facts),
    })
}

fn summary(config: &AgenticConfig, prefix: f64) -> Value {
    let mut out = json!({
        "initial_context_mean": prefix + config.own_tokens.mean,
        "initial_context_median": prefix + config.own_tokens.median,
        "layer1_tokens": config.global_tokens,
        "layer1_5_tokens": config.group_tokens,
        "layer2_mean": config.own_tokens.mean,
        "layer2_median": config.own_tokens.median,
        "num_groups": config.groups,
        "zipf_alpha": config.zipf_alpha,
        "new_tokens_per_turn_mean": config.new_tokens.mean,
        "new_tokens_per_turn_median": config.new_tokens.median,
        "generation_length_mean": config.output.mean,
        "generation_length_median": config.output.median,
        "max_prompt_tokens": config.max_prompt,
        "block_size": config.block_size,
        "inter_turn_delay_agentic_fraction": config.agentic_fraction,
        "inter_turn_delay_agentic_mean_ms": config.agentic_delay.mean,
        "inter_turn_delay_human_mean_ms": config.human_delay.mean,
        "turn_mode_enabled": u8::from(config.turns.is_some()),
    });
    if let Some(reset) = &config.reset {
        out["reset_base_probability"] = json!(reset.base);
        out["reset_context_scaling"] = json!(reset.scaling);
    }
    if let Some(turns) = &config.turns {
        out["turns_mean"] = json!(turns.spread.mean as u64);
        out["turns_median"] = json!(turns.spread.median as u64);
        out["turns_min"] = json!(turns.min);
        out["turns_max"] = json!(turns.max);
        out["turns_allow_truncation"] = json!(u8::from(turns.attempts.is_none()));
        if let Some(attempts) = turns.attempts {
            out["turns_max_session_attempts"] = json!(attempts);
        }
    }
    out
}

fn metric(target: Option<(f64, f64)>, column: &Column) -> Value {
    let observed = column.stats();
    let (mean, median) = target.unzip();
    let off = |target: Option<f64>, name: &str| {
        let observed = observed[name].as_f64().unwrap_or(0.0);
        target.map(|target| rounded((observed - target).abs() / target * 100.0, 2))
    };
    let (off_mean, off_median) = (off(mean, "mean"), off(median, "median"));
    json!({
        "target_mean": mean, "target_median": median, "observed": observed, "pct_error_mean": off_mean,
        "pct_error_median": off_median,
    })
}

fn ends(facts: &Facts) -> Value {
    let share = |count: u64| rounded(count as f64 / facts.sessions.max(1) as f64, 4);
    let (retired, reset) = (facts.ended(End::ForcedRetire), facts.ended(End::ProbabilisticReset));
    let (target, split) = (facts.ended(End::TargetTurns), facts.ended(End::RestartSplit));
    json!({
        "total_sessions": facts.sessions,
        "forced_retires": retired,
        "probabilistic_resets": reset,
        "target_turn_completions": target,
        "restart_splits": split,
        "retire_fraction": share(retired),
        "reset_fraction": share(reset),
        "target_turn_fraction": share(target),
        "restart_split_fraction": share(split),
        "final_context_utilization": facts.fill.stats(),
    })
}
