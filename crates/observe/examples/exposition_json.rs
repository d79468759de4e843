//! Reads metrics pages, each a JSON string on its own line, and prints one JSON object per page: what the page
//! declares, and the families that are kept. `scripts/check-exposition` compares it with another reader.

use aiperf_observe::exposition::line::SUFFIXES;
use aiperf_observe::exposition::{self, Document, Label, Part};
use aiperf_observe::{Family, Samples, scrape::Labels};
use serde_json::{Map, Value, json};
use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let page: String = serde_json::from_str(&line?)?;
        let mut out_map = Map::new();
        let document = exposition::document::parse(&page);
        out_map.insert("declared".to_owned(), declared(&document));
        out_map.insert("bad_lines".to_owned(), json!(document.bad_lines.as_ref().map_or(0, |bad| bad.count)));
        match exposition::read(&page) {
            Ok(page) => {
                out_map.insert("kept".to_owned(), page.families.iter().map(kept).collect());
                let warnings = page.warnings.iter().map(|warning| json!([warning.level.name(), warning.text]));
                out_map.insert("warnings".to_owned(), warnings.collect());
            }
            Err(incompatible) => drop(out_map.insert("incompatible".to_owned(), json!(incompatible.reason))),
        }
        writeln!(out, "{}", Value::from(out_map))?;
    }
    out.flush()
}

/// JSON has no NaN.
fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(value.to_string()) }
}

fn declared(document: &Document<'_>) -> Value {
    let suffix = |part: Part| SUFFIXES.iter().find(|(_, other)| *other == part).map_or("", |(suffix, _)| suffix);
    let pairs = |labels: &[Label<'_>]| -> Map<String, Value> {
        labels.iter().map(|(name, value)| (name.to_string(), json!(value))).collect()
    };
    let families = document.families.iter().map(|family| {
        let samples = family.samples.iter().map(|sample| {
            let name = format!("{}{}", family.name, suffix(sample.part));
            json!([name, pairs(document.labels(sample)), number(sample.value)])
        });
        let kind = format!("{:?}", family.kind).to_lowercase();
        json!({"name": family.name, "type": kind, "help": family.help, "samples": samples.collect::<Vec<_>>()})
    });
    families.collect()
}

fn kept(family: &Family) -> Value {
    let pairs = |labels: &Labels| -> Map<String, Value> {
        labels.iter().map(|(name, value)| (name.to_string(), json!(**value))).collect()
    };
    let samples: Vec<Value> = match &family.samples {
        Samples::Scalars(scalars) => {
            scalars.iter().map(|sample| json!({"labels": pairs(&sample.labels), "value": sample.value})).collect()
        }
        Samples::Histograms(histograms) => {
            let buckets = |buckets: &[(std::sync::Arc<str>, f64)]| -> Vec<Value> {
                buckets.iter().map(|(le, count)| json!([**le, count])).collect()
            };
            let sample = histograms.iter().map(|sample| {
                json!({"labels": pairs(&sample.labels), "buckets": buckets(&sample.buckets), "sum": sample.sum,
                       "count": sample.count})
            });
            sample.collect()
        }
    };
    json!({"name": *family.name, "type": family.kind.name(), "help": *family.description, "samples": samples})
}
