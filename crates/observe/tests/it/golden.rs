//! Golden data: what the reference makes of metrics pages and of units, and pages of a real server. Where section 15
//! asks for more than the reference does, what must come out is computed here by its rules, from simple pages.

use crate::simple_pages;

use aiperf_golden::kinds::servers::{CAPTURED_PAGE, INFERRED_UNIT, METRICS_PAGE};
use aiperf_golden::{Tally, skips_mark};
use aiperf_observe::exposition::WarningCause;
use aiperf_observe::{Family, MetricKind, Samples, exposition, units};
use serde_json::{Map, Value, json};

/// Families as golden files write them.
fn as_json(families: &[Family]) -> Vec<Value> {
    let labels = |labels: &[(std::sync::Arc<str>, std::sync::Arc<str>)]| {
        let members = labels.iter().map(|(name, value)| (name.to_string(), json!(**value)));
        let members: Map<String, Value> = members.collect();
        let mut sample = Map::new();
        if !members.is_empty() {
            sample.insert("labels".to_owned(), members.into());
        }
        sample
    };
    let samples = |samples: &Samples| -> Vec<Value> {
        match samples {
            Samples::Scalars(scalars) => scalars
                .iter()
                .map(|scalar| {
                    let mut sample = labels(&scalar.labels);
                    sample.insert("value".to_owned(), json!(scalar.value));
                    sample.into()
                })
                .collect(),
            Samples::Histograms(histograms) => histograms
                .iter()
                .map(|histogram| {
                    let mut sample = labels(&histogram.labels);
                    let buckets = histogram.buckets.iter().map(|(le, count)| (le.to_string(), json!(count)));
                    sample.insert("buckets".to_owned(), buckets.collect::<Map<_, _>>().into());
                    for (key, value) in [("sum", histogram.sum), ("count", histogram.count)] {
                        value.into_iter().for_each(|value| drop(sample.insert(key.to_owned(), json!(value))));
                    }
                    sample.into()
                })
                .collect(),
        }
    };
    let family = |family: &Family| {
        json!({"name": *family.name, "type": family.kind.name(), "description": *family.description,
               "samples": samples(&family.samples)})
    };
    families.iter().map(family).collect()
}

/// What the reference gives up, or does otherwise, and section 15 or a decision wants done.
fn is_done_better(case: &Value) -> bool {
    case["quirk"] == true
        || matches!(case["expected"]["outcome"].as_str(), Some("incompatible" | "error"))
        || has_a_bad_bound(case)
}

/// 15.18.
fn has_a_bad_bound(case: &Value) -> bool {
    let families = case["expected"]["families"].as_array().into_iter().flatten();
    let samples = families.flat_map(|family| family["samples"].as_array().into_iter().flatten());
    let mut bounds = samples.flat_map(|sample| sample["buckets"].as_object().into_iter().flat_map(|map| map.keys()));
    bounds.any(|le| le.parse::<f64>().map_or(true, f64::is_nan))
}

fn skip_page(case: &Value) -> Option<String> {
    let content_type = case["content_type"].as_str().unwrap_or_default().to_ascii_lowercase();
    if content_type.starts_with("application/json") {
        return Some("3.5: pages of this content type are refused before they are read".to_owned());
    }
    if let Some(reason) = skips_mark(&case["text"]) {
        return Some(reason);
    }
    let is_simple = simple_pages::is_simple(case["text"].as_str().unwrap());
    (is_done_better(case) && !is_simple).then(|| "15.3 to 15.5, 15.18, on a page that is not simple".to_owned())
}

#[test]
fn golden_pages_become_their_families() {
    METRICS_PAGE.run(skip_page, |case| {
        let text = case["text"].as_str().unwrap();
        let read = exposition::read(text).map(|page| as_json(&page.families)).ok();
        let expected = if is_done_better(case) {
            simple_pages::families(text)
        } else {
            let outcome = case["expected"]["outcome"].as_str().unwrap();
            assert!(matches!(outcome, "record" | "empty"), "an unknown outcome: {outcome}");
            Some(case["expected"]["families"].as_array().cloned().unwrap_or_default())
        };
        // As texts, because maps are equal in any order.
        assert_eq!(json!(read).to_string(), json!(expected).to_string());
    });
}

/// What 15.14 adds where the reference knows no unit.
fn unit_by_15_14(name: &str, description: &str) -> Option<&'static str> {
    let words: [(&str, &[&str]); 4] = [
        ("microseconds", &["microsecond", "microseconds", "us", "µs"]),
        ("watt", &["watt", "watts"]),
        ("joule", &["joule", "joules"]),
        ("percent", &["percent"]),
    ];
    let description = description.to_lowercase();
    // The words that follow `in` or an opening parenthesis.
    let after = |mark: &str| -> Vec<String> {
        let rests = description.match_indices(mark).map(|(at, _)| description[at + mark.len()..].trim_start());
        rests.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric()).collect()).collect()
    };
    let named = [after("in "), after("(")].concat();
    let is_named = |words: &[&str]| named.iter().any(|word| words.contains(&word.as_str()));
    let described = words.iter().find(|(_, words)| is_named(words)).map(|(unit, _)| *unit);
    let is_named = ["_us", "_microseconds"].iter().any(|suffix| name.to_lowercase().ends_with(suffix));
    described.or(is_named.then_some("microseconds"))
}

/// Whether a description names a longer word than a unit, as `in wattage`.
fn is_longer_word(description: &str, unit: &str) -> bool {
    let text = description.to_lowercase();
    let rest = text.split_once(&format!("in {unit}")).map(|(_, rest)| rest.strip_prefix('s').unwrap_or(rest));
    !unit.contains('/') && rest.is_some_and(|rest| rest.starts_with(char::is_alphabetic))
}

#[test]
fn golden_units_are_inferred() {
    INFERRED_UNIT.run(
        |_| None,
        |case| {
            let (name, description) =
                (case["name"].as_str().unwrap(), case["description"].as_str().unwrap_or_default());
            // The reference takes a longer word for the unit that it begins with.
            let theirs = case["unit"].as_str().filter(|unit| !is_longer_word(description, unit));
            let expected = theirs.or_else(|| unit_by_15_14(name, description));
            assert_eq!(units::infer(name, description), expected, "{description:?}");
        },
    );
}

#[test]
fn golden_pages_of_a_real_server_give_every_family_they_declare() {
    let mut tally = Tally::of(CAPTURED_PAGE);
    for page in CAPTURED_PAGE.whole_files() {
        tally.run(page.name(), || {
            let response = &page.text;
            let (_, body) = response.split_once("\r\n\r\n").or_else(|| response.split_once("\n\n")).unwrap();
            let declared = body.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
            let declared = declared.filter(|(name, _)| !name.ends_with("_created"));
            let (summaries, expected): (Vec<_>, Vec<_>) = declared.partition(|(_, kind)| *kind == "summary");
            let named = expected.into_iter().map(|(name, kind)| match name.strip_suffix("_total") {
                Some(short) if kind == "counter" => (short, kind),
                _ => (name, kind),
            });
            let expected: Vec<(&str, &str)> = named.collect();
            let page = exposition::read(body).unwrap();
            let found: Vec<(&str, &str)> =
                page.families.iter().map(|family| (&*family.name, family.kind.name())).collect();
            assert!(expected.len() > 50, "{} families", expected.len());
            assert_eq!(found, expected);
            let causes: Vec<WarningCause> = page.warnings.iter().map(|warning| warning.cause.clone()).collect();
            let wanted = summaries.iter().map(|(name, _)| WarningCause::Summary((*name).into()));
            assert_eq!(causes, wanted.collect::<Vec<_>>());

            let lines = |is_counted: &dyn Fn(&str) -> bool| {
                body.lines().filter(|line| !line.starts_with('#') && is_counted(line)).count()
            };
            let sample_name = |line: &str| line.split(['{', ' ']).next().unwrap_or_default().to_owned();
            let of_histograms = page.families.iter().filter(|family| family.kind == MetricKind::Histogram);
            let histograms = of_histograms.map(|family| match &family.samples {
                Samples::Histograms(histograms) => histograms.as_slice(),
                Samples::Scalars(_) => &[],
            });
            let buckets: usize = histograms.flatten().map(|histogram| histogram.buckets.len()).sum();
            assert_eq!(buckets, lines(&|line| sample_name(line).ends_with("_bucket")));
        });
    }
    tally.finish();
}
