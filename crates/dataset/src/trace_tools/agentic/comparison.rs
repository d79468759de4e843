//! Compares the sessions with the configuration, as text.

use super::config::AgenticConfig;
use super::facts::{DECODE, Facts, PREFILL};
use serde_json::Value;

/// The 5% and 99% quantiles of the standard normal distribution.
const P05: f64 = -1.644_853_626_951_472_7;
const P99: f64 = 2.326_347_874_040_841;

pub(super) fn comparison(config: &AgenticConfig, quality: &Value, facts: &Facts) -> String {
    let metrics = &quality["observed_vs_target"];
    let ends = &quality["session_end_stats"];
    let rule = "-".repeat(76);
    let count = |value: &Value| grouped(value.as_f64().unwrap_or(0.0), 0);
    let mut out = format!(
        "Agentic Code Session Profile: Target vs Synthesized Dataset\n{}\n\n{} sessions | {} turns | block_size={}\n\n",
        "=".repeat(60),
        count(&ends["total_sessions"]),
        count(&metrics["generation_length"]["observed"]["count"]),
        config.block_size
    );
    out.push_str(&format!("{:40} {:>12} {:>12} {:>8}\n{rule}\n", "", "Target", "Dataset", "Error"));
    for (title, name) in [
        ("Initial Context (tokens)", "initial_context"),
        ("New Tokens Per Turn", "new_tokens_per_turn"),
        ("Generation Length (tokens)", "generation_length"),
    ] {
        let metric = &metrics[name];
        out.push_str(&format!("{title}\n"));
        for what in ["mean", "median"] {
            let (target, observed) = (&metric[format!("target_{what}")], &metric["observed"][what]);
            let off = metric[format!("pct_error_{what}")].as_f64();
            out.push_str(&row(what, target.as_f64(), observed.as_f64(), off));
        }
        if name == "generation_length" {
            let least = config.least_output() as f64;
            for (what, deviations) in [("p05", P05), ("p99", P99)] {
                let target = config.output.at(deviations).max(least);
                out.push_str(&row(what, Some(target), metric["observed"][what].as_f64(), None));
            }
        }
        out.push('\n');
    }
    let most = grouped(config.max_prompt as f64, 0);
    out.push_str(&format!(
        "Prompt\n  {:38}{most:>12}{most:>12}\n\nAdditional Dataset Statistics\n{rule}\n",
        "max_prompt_tokens"
    ));
    let plain = |out: &mut String, title: &str, of: &Value, names: &[&str], digits: usize, unit: &str| {
        out.push_str(&format!("{title}\n"));
        for name in names {
            let value = grouped(of[*name].as_f64().unwrap_or(0.0), digits);
            out.push_str(&format!("  {name:38}{:>12}{value:>12}{unit}\n", "-"));
        }
    };
    let all = ["mean", "median", "p05", "p25", "p75", "p95", "p99"];
    plain(&mut out, "Turns Per Session", &quality["session_stats"], &all, 1, "");
    out.push('\n');
    let delays = &metrics["inter_turn_delay_ms"]["observed"];
    plain(&mut out, "Inter-Turn Delay (ms)", delays, &["mean", "median", "p05", "p95"], 0, "");
    out.push_str(&format!(
        "  ({:.0}% agentic ~{}s, {:.0}% human ~{}s)\n\n",
        config.agentic_fraction * 100.0,
        grouped(config.agentic_delay.mean / 1e3, 0),
        (1.0 - config.agentic_fraction) * 100.0,
        grouped(config.human_delay.mean / 1e3, 0)
    ));
    let (prefill, decode) = (grouped(PREFILL, 0), grouped(DECODE, 0));
    let title = format!("Session Duration (estimated @ {prefill} prefill tok/s, {decode} decode tok/s)");
    plain(&mut out, &title, &facts.minutes.stats(), &["mean", "median"], 1, " min");
    out.push_str("\nSession Endings\n");
    let endings = [
        ("forced retires (hit context limit)", "forced_retires"),
        ("probabilistic resets", "probabilistic_resets"),
        ("turns as many as asked for", "target_turn_completions"),
        ("restart splits", "restart_splits"),
    ];
    for (label, name) in endings.iter().filter(|(_, name)| config.turns.is_some() || *name != "target_turn_completions")
    {
        out.push_str(&format!("  {label:38}{:>12}{:>12}\n", "-", ends[*name].as_u64().unwrap_or(0)));
    }
    out
}

fn row(label: &str, target: Option<f64>, observed: Option<f64>, off: Option<f64>) -> String {
    let shown = |value: Option<f64>, digits| value.map_or("-".to_owned(), |value| grouped(value, digits));
    let sign = if observed >= target || off == Some(0.0) { '+' } else { '-' };
    let off = off.map_or(String::new(), |off| format!("  {sign}{off:.1}%"));
    format!("  {label:38}{:>12}{:>12}{off}\n", shown(target, 0), shown(observed, 1))
}

/// A number with commas between thousands.
pub(super) fn grouped(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) && !out.ends_with('-') {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_thousands() {
        for (value, digits, wanted) in
            [(1_234_567.0, 0, "1,234,567"), (-123.0, 0, "-123"), (999.96, 1, "1,000.0"), (0.0, 1, "0.0")]
        {
            assert_eq!(grouped(value, digits), wanted);
        }
    }
}
