//! Metrics in Prometheus' text format.

use aiperf_types::Stats;
use std::fmt::Write;

/// Names and values of the labels that identify the run.
pub(super) type Labels = Vec<(String, String)>;

/// One metric with its current values.
pub(super) struct Shown<'a> {
    pub(super) tag: &'a str,
    pub(super) header: &'a str,
    pub(super) unit: &'a str,
    pub(super) stats: Stats,
    /// The latest value, for a metric that has one, such as a gauge.
    pub(super) current: Option<f64>,
}

/// Quantiles of a summary, and the statistics that they are.
const QUANTILES: [(&str, &str); 9] = [
    ("0.01", "p1"),
    ("0.05", "p5"),
    ("0.1", "p10"),
    ("0.25", "p25"),
    ("0.5", "p50"),
    ("0.75", "p75"),
    ("0.9", "p90"),
    ("0.95", "p95"),
    ("0.99", "p99"),
];

/// A page of metrics. The labels identify the run, and a family of its own has the version.
pub(super) fn text<'a>(metrics: impl IntoIterator<Item = Shown<'a>>, labels: Option<&Labels>, version: &str) -> String {
    let mut out = String::new();
    if let Some(labels) = labels {
        let mut all = labels.clone();
        all.push(("version".to_owned(), version.to_owned()));
        let info = "aiperf_info";
        head(&mut out, info, "AIPerf benchmark information", "gauge");
        let _ = writeln!(out, "{info}{} 1\n", braced(&all));
    }
    let labels = labels.cloned().unwrap_or_default();
    metrics.into_iter().for_each(|metric| push(&mut out, &metric, &labels));
    out
}

fn push(out: &mut String, metric: &Shown<'_>, labels: &Labels) {
    let base = format!("aiperf_{}", sanitised(&metric.tag.to_lowercase()));
    let suffix = suffix(metric.unit);
    let (header, unit, stats) = (metric.header, metric.unit, &metric.stats);
    let quantiles: Vec<(&str, f64)> =
        QUANTILES.iter().filter_map(|(quantile, name)| Some((*quantile, stats.get(name)?))).collect();
    if !quantiles.is_empty() {
        let name = format!("{base}{suffix}");
        head(out, &name, &format!("{header} (in {unit})"), "summary");
        for (quantile, value) in &quantiles {
            let mut labels = labels.clone();
            labels.push(("quantile".to_owned(), (*quantile).to_owned()));
            sample(out, &name, &labels, *value);
        }
        if let Some(sum) = stats.sum {
            sample(out, &format!("{name}_sum"), labels, sum);
        }
        if let Some(count) = stats.count {
            let _ = writeln!(out, "{name}_count{} {count}", braced(labels));
        }
    }
    let gauges = [
        ("avg", "average", stats.avg),
        ("min", "minimum", stats.min),
        ("max", "maximum", stats.max),
        ("std", "standard deviation", stats.std),
        ("current", "current value", metric.current),
    ];
    // A summary contains both already.
    let alone = quantiles.is_empty();
    let more =
        [("count", "observation count", stats.count.map(|count| count as f64)), ("sum", "observation sum", stats.sum)];
    for (name, words, value) in gauges.into_iter().chain(more.into_iter().filter(|_| alone)) {
        if let Some(value) = value {
            let name = format!("{base}_{name}{suffix}");
            head(out, &name, &format!("{header} {words} (in {unit})"), "gauge");
            sample(out, &name, labels, value);
        }
    }
}

fn head(out: &mut String, name: &str, help: &str, kind: &str) {
    let help = help.replace('\\', "\\\\").replace('\n', "\\n");
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn sample(out: &mut String, name: &str, labels: &Labels, value: f64) {
    if value.is_finite() {
        let _ = writeln!(out, "{name}{} {value:?}", braced(labels));
    }
}

fn braced(labels: &Labels) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

/// The suffix that a unit adds to a name.
fn suffix(unit: &str) -> String {
    let words = unit.replace('%', "percent").replace('/', "_per_").replace("tokens_per_sec", "tps").replace("__", "_");
    if words.is_empty() { String::new() } else { format!("_{}", sanitised(&words.to_lowercase())) }
}

/// Replaces characters that a name cannot have; a name never starts with a digit.
fn sanitised(text: &str) -> String {
    let plain: String =
        text.chars().map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '_' }).collect();
    if plain.starts_with(|c: char| c.is_ascii_digit()) { format!("_{plain}") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_golden::kinds::telemetry::PROMETHEUS_PAGE;
    use serde_json::Value;

    /// A line without its value, and the value: this page writes whole numbers as floats.
    fn parts(line: &str) -> (&str, Option<f64>) {
        match line.rsplit_once(' ') {
            Some((name, value)) if !line.starts_with('#') => (name, value.parse().ok()),
            _ => (line, None),
        }
    }

    fn rendered(input: &Value) -> String {
        let label = |(name, value): (&String, &Value)| (name.clone(), value.as_str().unwrap_or_default().to_owned());
        let labels = input["labels"].as_object().map(|given| given.iter().map(label).collect::<Labels>());
        let metrics: Vec<Value> = input["metrics"].as_array().cloned().unwrap_or_default();
        let shown = |metric: &Value| -> (String, String, String, Stats, Option<f64>) {
            let text = |key: &str| metric[key].as_str().unwrap_or_default().to_owned();
            let stats = serde_json::from_value(metric.clone()).unwrap();
            (text("tag"), text("header"), text("unit"), stats, metric["current"].as_f64())
        };
        let metrics: Vec<_> = metrics.iter().map(shown).collect();
        let metrics = metrics.iter().map(|(tag, header, unit, stats, current)| Shown {
            tag,
            header,
            unit,
            stats: *stats,
            current: *current,
        });
        text(metrics, labels.as_ref(), "0.13.0")
    }

    #[test]
    fn golden_pages_are_those_of_the_reference() {
        PROMETHEUS_PAGE.run(
            |_| None,
            |case| {
                let (page, expected) = (rendered(&case["input"]), case["expected"].as_str().unwrap());
                assert!(page.lines().map(parts).eq(expected.lines().map(parts)), "{page}\nis not\n{expected}");
            },
        );
    }

    #[test]
    fn a_value_that_is_not_a_number_has_no_line() {
        let stats = Stats { avg: Some(f64::NAN), max: Some(f64::INFINITY), min: Some(1.5), ..Stats::default() };
        let page = text([Shown { tag: "a", header: "A", unit: "", stats, current: None }], None, "1");
        let samples: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(samples, ["aiperf_a_min 1.5"]);
    }
}
