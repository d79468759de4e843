//! Pages for a browser: each is one self-contained file that draws itself from its data.

use super::AgenticPlan;
use super::blocks::Blocks;
use super::column::Column;
use super::facts::Facts;
use super::session::{Session, Turn};
use crate::trace_tools::numbers::rounded;
use serde_json::{Value, json};

const STYLE: &str = include_str!("page.css");
const REPORT: &str = include_str!("report.html");
const CACHE_EXPLORER: &str = include_str!("cache_explorer.html");
const SIMULATION: &str = include_str!("simulation.html");

const BINS: usize = 40;

fn page(template: &str, plan: &AgenticPlan, mut data: Value) -> String {
    data["name"] = json!(plan.name);
    data["seed"] = json!(plan.seed);
    data["block_size"] = json!(plan.config.block_size);
    // Nothing in the data may end the script that contains it.
    let data = data.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    template.replacen("/*STYLE*/", STYLE, 1).replacen("/*DATA*/", &data, 1)
}

/// Compares the data set with the configuration.
pub(super) fn report(plan: &AgenticPlan, quality: &Value, facts: &Facts) -> String {
    let histograms = json!([
        histogram("Initial context", "tokens", &facts.initial_context, 1.0, Bins::Even),
        histogram("New tokens per turn", "tokens", &facts.new_tokens, 1.0, Bins::Growing),
        histogram("Output length", "tokens", &facts.output, 1.0, Bins::Growing),
        histogram("Delay between turns", "s", &facts.delay_ms, 1e-3, Bins::Growing),
        histogram("Turns per session", "turns", &facts.turn_count, 1.0, Bins::Whole),
        histogram("Context used at the end", "%", &facts.fill, 100.0, Bins::Even),
        histogram("Estimated session duration", "min", &facts.minutes, 1.0, Bins::Growing),
    ]);
    page(REPORT, plan, json!({"quality": quality, "groups": facts.groups, "histograms": histograms}))
}

/// The widths of the bins of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bins {
    /// All the same.
    Even,
    /// All the same, and each contains as many whole numbers as the others.
    Whole,
    /// Each wider than the one before by the same factor.
    Growing,
}

fn histogram(title: &str, unit: &str, column: &Column, unit_size: f64, bins: Bins) -> Value {
    let values: Vec<(f64, u64)> =
        column.sorted().into_iter().map(|(value, count)| (value * unit_size, count)).collect();
    let is_log = bins == Bins::Growing;
    let scale = |value: f64| if is_log { value.max(1e-3).ln() } else { value };
    let end = |value: Option<&(f64, u64)>, without: f64| value.map_or(without, |(value, _)| scale(*value));
    let (low, high) = (end(values.first(), 0.0), end(values.last(), 1.0));
    let (width, count) = match bins {
        Bins::Whole => {
            let numbers = (high - low).floor() + 1.0;
            let width = (numbers / BINS as f64).ceil();
            (width, (numbers / width).ceil() as usize)
        }
        Bins::Even | Bins::Growing => (((high - low) / BINS as f64).max(1e-9), BINS),
    };
    let mut counts = vec![0_u64; count];
    for (value, times) in &values {
        let bin = ((scale(*value) - low) / width) as usize;
        counts[bin.min(count - 1)] += times;
    }
    let edge = |at: usize| {
        let edge = low + width * at as f64;
        rounded(if is_log { edge.exp() } else { edge }, 3)
    };
    let edges: Vec<f64> = (0..=count).map(edge).collect();
    json!({"title": title, "unit": unit, "log": is_log, "edges": edges, "counts": counts, "total": column.count()})
}

/// Which blocks of which turns occurred before.
pub(super) fn cache_explorer(plan: &AgenticPlan, structure: &Value) -> String {
    page(CACHE_EXPLORER, plan, json!({"sessions": structure["sessions"], "all": plan.sessions}))
}

/// A server and its cache, simulated by the page with the reader's settings.
pub(super) fn simulation(plan: &AgenticPlan, blocks: Blocks, facts: &Facts) -> String {
    let turn = |turn: &Turn| json!([turn.new, turn.output, turn.delay_ms.round()]);
    let session = |session: &Session| {
        let turns: Vec<Value> = session.turns.iter().map(turn).collect();
        json!({"g": session.group, "i": session.index, "t": turns})
    };
    let sessions: Vec<Value> = facts.kept.iter().map(session).collect();
    let data = json!({
        "l1": blocks.global, "l15": blocks.group, "sessions": sessions, "all": facts.sessions,
        "max_prompt": plan.config.max_prompt,
    });
    page(SIMULATION, plan, data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_in_a_bin_and_whole_numbers_are_spread_evenly() {
        let mut column = Column::default();
        (1..=90).for_each(|value| column.add(f64::from(value)));
        for (bins, wanted) in [(Bins::Even, 40), (Bins::Growing, 40), (Bins::Whole, 30)] {
            let found = histogram("t", "u", &column, 1.0, bins);
            let counts: Vec<u64> = serde_json::from_value(found["counts"].clone()).unwrap();
            assert_eq!((counts.len(), counts.iter().sum::<u64>()), (wanted, 90), "{bins:?}");
            assert_eq!(bins == Bins::Whole, counts.iter().all(|count| *count == counts[0]), "{bins:?}");
            assert_eq!(found["edges"].as_array().unwrap().len(), wanted + 1);
        }
        assert_eq!(histogram("t", "u", &Column::default(), 1.0, Bins::Whole)["total"], 0);
    }

    #[test]
    fn nothing_in_a_name_ends_the_script_of_a_page() {
        let plan = AgenticPlan {
            config: super::super::AgenticConfig::default(),
            name: "</script><b>".into(),
            sessions: 1,
            seed: 1,
        };
        assert_eq!(page("/*DATA*/", &plan, json!({})).matches('<').count(), 0);
    }
}
