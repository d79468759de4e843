//! Pages made up: what is written is read back, whatever the convention; nothing that arrives is too much; a bad line
//! costs itself alone.

use aiperf_observe::exposition::{self, WarningCause};
use aiperf_observe::{Family, HistogramSample, MetricKind, Samples, ScalarSample};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

/// How a page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Convention {
    Classic,
    OpenMetrics,
}

fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>().prop_filter("finite", |value| value.is_finite()),
        any::<i32>().prop_map(f64::from),
        Just(0.0),
    ]
}

/// Any text, rich in what has a meaning on a page.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9./]{0,12}",
        prop::collection::vec(
            prop::sample::select(vec!["\\", "\"", "\n", "n", "{", "}", ",", "=", "#", " ", "é", "\r"]),
            0..8
        )
        .prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

fn labels() -> impl Strategy<Value = Vec<(Arc<str>, Arc<str>)>> {
    let names =
        prop::sample::select(vec!["a", "b", "model_name", "quantile", "A", "namespace:x", "dotted.name", "mit é"]);
    let pairs = prop::collection::btree_map(names, text(), 0..4);
    pairs.prop_map(|pairs| pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
}

fn samples(kind: MetricKind) -> BoxedStrategy<Samples> {
    let by_labels = |pairs: Vec<_>| pairs.into_iter().collect::<BTreeMap<_, _>>();
    if kind != MetricKind::Histogram {
        let values = prop::collection::vec((labels(), finite()), 1..5);
        let scalars = move |pairs| by_labels(pairs).into_iter().map(|(labels, value)| ScalarSample { labels, value });
        return values.prop_map(move |pairs| Samples::Scalars(scalars(pairs).collect())).boxed();
    }
    let bound =
        prop_oneof![finite().prop_map(|bound| bound.to_string()), Just("+Inf".to_owned()), Just("1e-05".to_owned())];
    let buckets = prop::collection::vec((bound, finite()), 0..5).prop_map(|pairs| {
        let mut known = HashSet::new();
        let new = pairs.into_iter().filter(|(le, _)| known.insert(le.clone()));
        new.map(|(le, count)| (Arc::from(le), count)).collect::<Vec<(Arc<str>, f64)>>()
    });
    let parts = (buckets, proptest::option::of(finite()), proptest::option::of(finite()));
    let parts = parts.prop_filter("something of it is on the page", |(buckets, sum, count)| {
        !buckets.is_empty() || sum.is_some() || count.is_some()
    });
    let histograms = prop::collection::vec((labels(), parts), 1..4);
    histograms
        .prop_map(|groups| {
            let groups = groups.into_iter().collect::<BTreeMap<_, _>>().into_iter();
            let sample = |(labels, (buckets, sum, count))| HistogramSample { labels, buckets, sum, count };
            Samples::Histograms(groups.map(sample).collect())
        })
        .boxed()
}

fn families() -> impl Strategy<Value = Vec<Family>> {
    let kind =
        prop::sample::select(vec![MetricKind::Gauge, MetricKind::Counter, MetricKind::Histogram, MetricKind::Unknown]);
    let name = prop::sample::select(vec!["latency_seconds", "vllm:running", "_x", "dotted.name", "mit \"é\"\\"]);
    let help = text().prop_map(|text| text.trim().to_owned());
    let family = (kind, name, help)
        .prop_flat_map(|(kind, name, help)| samples(kind).prop_map(move |samples| (kind, name, help.clone(), samples)));
    prop::collection::vec(family, 1..6).prop_map(|families| {
        // A number at the end keeps names apart, with every suffix.
        let numbered = families.into_iter().enumerate().map(|(number, (kind, name, help, samples))| Family {
            name: format!("{name}{number}").into(),
            kind,
            description: help.into(),
            samples,
        });
        numbered.collect()
    })
}

fn needs_no_quotes(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    name.chars().all(is_allowed) && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn escaped(text: &str, quotes: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if quotes { text.replace('"', "\\\"") } else { text }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text, true))
}

fn written_name(name: &str) -> String {
    if needs_no_quotes(name) { name.to_owned() } else { quoted(name) }
}

fn write_sample(
    page: &mut String,
    name: &str,
    labels: &[(Arc<str>, Arc<str>)],
    le: Option<&str>,
    value: f64,
    tail: &str,
) {
    let mut inside: Vec<String> = Vec::new();
    if !needs_no_quotes(name) {
        inside.push(quoted(name));
    }
    inside.extend(labels.iter().map(|(name, value)| format!("{}={}", written_name(name), quoted(value))));
    inside.extend(le.map(|le| format!("le={}", quoted(le))));
    if needs_no_quotes(name) {
        page.push_str(name);
    }
    if !inside.is_empty() {
        write!(page, "{{{}}}", inside.join(",")).unwrap();
    }
    writeln!(page, " {value:?}{tail}").unwrap();
}

fn write_page(families: &[Family], convention: Convention) -> String {
    let mut page = String::new();
    let is_open = convention == Convention::OpenMetrics;
    for family in families {
        let name = &*family.name;
        let is_counter = family.kind == MetricKind::Counter;
        let total = format!("{name}_total");
        let declared = written_name(if is_counter && !is_open { &total } else { name });
        let kind = match family.kind {
            MetricKind::Unknown if !is_open => "untyped",
            kind => kind.name(),
        };
        writeln!(page, "# TYPE {declared} {kind}\n# HELP {declared} {}", escaped(&family.description, is_open))
            .unwrap();
        let tail = if is_open { " 1.5 # {trace_id=\"a b\"} 0.5 1.7e9" } else { " 1700000000000" };
        match &family.samples {
            Samples::Scalars(scalars) => {
                for ScalarSample { labels, value } in scalars {
                    let sample_name = if is_counter { &total } else { name };
                    write_sample(&mut page, sample_name, labels, None, *value, if is_counter { tail } else { "" });
                    if is_counter && is_open {
                        write_sample(&mut page, &format!("{name}_created"), labels, None, 1.7e9, "");
                    }
                }
            }
            Samples::Histograms(histograms) => {
                for HistogramSample { labels, buckets, sum, count } in histograms {
                    for (le, value) in buckets {
                        write_sample(&mut page, &format!("{name}_bucket"), labels, Some(le), *value, tail);
                    }
                    for (part, value) in [("sum", sum), ("count", count)] {
                        if let Some(value) = value {
                            write_sample(&mut page, &format!("{name}_{part}"), labels, None, *value, "");
                        }
                    }
                }
            }
        }
    }
    if is_open {
        page.push_str("# EOF\n");
    }
    page
}

/// What every page is, read or not.
fn is_sound(text: &str) -> Result<(), TestCaseError> {
    let Ok(page) = exposition::read(text) else { return Ok(()) };
    let mut names = HashSet::new();
    for family in &page.families {
        prop_assert!(names.insert((family.name.clone(), family.kind)), "twice: {}", family.name);
        let is_sorted = |labels: &[(Arc<str>, Arc<str>)]| labels.is_sorted_by(|(a, _), (b, _)| a < b);
        let mut label_sets = HashSet::new();
        match &family.samples {
            Samples::Scalars(scalars) => {
                prop_assert!(!scalars.is_empty() && family.kind != MetricKind::Histogram);
                for scalar in scalars {
                    prop_assert!(scalar.value.is_finite() && is_sorted(&scalar.labels));
                    prop_assert!(label_sets.insert(scalar.labels.clone()));
                }
            }
            Samples::Histograms(histograms) => {
                prop_assert!(!histograms.is_empty() && family.kind == MetricKind::Histogram);
                for histogram in histograms {
                    prop_assert!(is_sorted(&histogram.labels) && label_sets.insert(histogram.labels.clone()));
                    let mut bounds = HashSet::new();
                    prop_assert!(histogram.buckets.iter().all(|(le, value)| value.is_finite() && bounds.insert(le)));
                    prop_assert!(histogram.sum.iter().chain(&histogram.count).all(|value| value.is_finite()));
                }
            }
        }
    }
    Ok(())
}

/// Bytes that may or may not be text, and lines of pieces that have a meaning.
fn arbitrary() -> impl Strategy<Value = String> {
    let bytes =
        prop::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let pieces = vec![
        "# TYPE ",
        "# HELP ",
        "#",
        "# EOF",
        "g",
        "h",
        "_total",
        "_bucket",
        "_sum",
        "_count",
        "_created",
        "_info",
        "{",
        "}",
        "\"",
        "\\",
        "=",
        ",",
        " ",
        "\n",
        "\n",
        "\t",
        "\r",
        "1",
        "-2.5e3",
        "NaN",
        "+Inf",
        "le",
        "quantile",
        "__name__",
        "__",
        "a=\"1\"",
        "le=\"1\"",
        " gauge\n",
        " counter\n",
        " histogram\n",
        " summary\n",
        " info\n",
        " gaugehistogram\n",
        "é",
        "\u{feff}",
        "\0",
    ];
    let lines = prop::collection::vec(prop::sample::select(pieces), 0..60).prop_map(|pieces| pieces.concat());
    prop_oneof![1 => bytes, 4 => lines]
}

const BAD_LINES: &[&str] = &[
    "%%%",
    "9 9",
    "x",
    "x y",
    "x{",
    "x{a=\"1\"",
    "x{a=1} 1",
    "x{a=\"1\",a=\"2\"} 1",
    "x{a=\"1\"} 1 later",
    "x{__a=\"1\"} 1",
    "x 0x10",
    "# TYPE x weird",
    "# TYPE x",
    "# TYPE",
    "# HELP 9 text",
    "<html>",
    "[{\"x\": 1}]",
    "\u{fffd}",
];

fn convention() -> impl Strategy<Value = Convention> {
    prop::sample::select(vec![Convention::Classic, Convention::OpenMetrics])
}

fn page_and_bad_line() -> impl Strategy<Value = (String, &'static str, prop::sample::Index)> {
    let page = (families(), convention()).prop_map(|(families, convention)| write_page(&families, convention));
    (page, prop::sample::select(BAD_LINES), any::<prop::sample::Index>())
}

fn a_bad_line_costs_itself(
    (page, bad_line, place): (String, &'static str, prop::sample::Index),
) -> Result<(), TestCaseError> {
    let mut lines: Vec<&str> = page.split_inclusive('\n').collect();
    let bad = format!("{bad_line}\n");
    lines.insert(place.index(lines.len() + 1), &bad);
    let (sound, spoiled) = (exposition::read(&page).unwrap(), exposition::read(&lines.concat()).unwrap());
    prop_assert_eq!(spoiled.families, sound.families);
    let causes: Vec<WarningCause> = spoiled.warnings.into_iter().map(|warning| warning.cause).collect();
    prop_assert_eq!(causes, [WarningCause::BadLine]);
    Ok(())
}

fn what_is_written_is_read((families, convention): (Vec<Family>, Convention)) -> Result<(), TestCaseError> {
    let page = write_page(&families, convention);
    let read = exposition::read(&page).unwrap();
    prop_assert_eq!(&read.families, &families, "{}", page);
    prop_assert!(read.warnings.is_empty(), "{:?}", read.warnings);
    Ok(())
}

/// Without the order of families, samples and buckets.
fn in_no_order(mut families: Vec<Family>) -> Vec<Family> {
    families.sort_by(|a, b| (&a.name, a.kind).cmp(&(&b.name, b.kind)));
    for family in &mut families {
        match &mut family.samples {
            Samples::Scalars(scalars) => scalars.sort_by(|a, b| a.labels.cmp(&b.labels)),
            Samples::Histograms(histograms) => {
                histograms.sort_by(|a, b| a.labels.cmp(&b.labels));
                histograms.iter_mut().for_each(|histogram| histogram.buckets.sort_by(|a, b| a.0.cmp(&b.0)));
            }
        }
    }
    families
}

/// A page's families, and its lines in any order.
fn shuffled() -> impl Strategy<Value = (Vec<Family>, Vec<String>)> {
    (families(), convention()).prop_flat_map(|(families, convention)| {
        let lines: Vec<String> = write_page(&families, convention).split_inclusive('\n').map(str::to_owned).collect();
        (Just(families), Just(lines).prop_shuffle())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn a_page_is_read_back_as_it_was_meant_in_both_conventions(families in families(), convention in convention()) {
        what_is_written_is_read((families, convention))?;
    }

    #[test]
    fn a_bad_line_costs_itself_alone_wherever_it_is(case in page_and_bad_line()) {
        a_bad_line_costs_itself(case)?;
    }

    #[test]
    fn lines_in_any_order_are_put_together_as_the_same_families((families, lines) in shuffled()) {
        let read = exposition::read(&lines.concat()).unwrap();
        prop_assert_eq!(in_no_order(read.families), in_no_order(families), "{}", lines.concat());
    }

    #[test]
    fn nothing_that_arrives_is_read_as_an_unsound_page(text in arbitrary()) {
        is_sound(&text)?;
    }

    #[test]
    fn a_reader_that_has_read_other_pages_reads_the_same(pages in prop::collection::vec(arbitrary(), 1..6)) {
        let mut reader = exposition::Reader::default();
        for page in &pages {
            prop_assert_eq!(reader.read(page), exposition::read(page));
        }
    }
}

#[test]
#[ignore = "takes long: cargo test --release -p aiperf-observe --test exposition -- --ignored"]
fn nothing_of_ten_million_texts_is_read_as_an_unsound_page() {
    TestRunner::new(ProptestConfig::with_cases(10_000_000)).run(&arbitrary(), |text| is_sound(&text)).unwrap();
}
