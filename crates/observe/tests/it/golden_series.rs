//! Golden data of single series: the estimator, statistics of scalars and histograms, and the cutting of slices.

use crate::support;

use aiperf_golden::kinds::servers::{ESTIMATES, HISTOGRAM_SERIES, SCALAR_SERIES, SLICE_BOUNDARIES};
use aiperf_observe::estimator::{LearnedBucket, estimate};
use aiperf_observe::timeslices::{Slice, of_length};
use aiperf_observe::{Scrape, Store, TimeRange, Window, Windowing, statistics};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use support::{
    assert_same, estimates_json, histogram_page, instant, is_close, kind, number, quirk, scalar_page, series_json,
    slice_length, text, without_empties,
};

#[test]
fn golden_estimates() {
    ESTIMATES.run(guarded_estimate, |case| {
        let mut buckets: Vec<(f64, &str, i64)> = case["buckets"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(le, count)| (le.parse().unwrap(), le.as_str(), count.as_i64().unwrap()))
            .collect();
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        let learned: Vec<LearnedBucket> = buckets
            .iter()
            .map(|(_, le, _)| {
                let mut learned = LearnedBucket::default();
                for interval in case["learned"][*le].as_array().into_iter().flatten() {
                    learned.add(number(&interval[0]), number(&interval[1]));
                }
                learned
            })
            .collect();
        let bounds: Vec<f64> = buckets.iter().map(|bucket| bucket.0).collect();
        let up_to: Vec<i64> = buckets.iter().map(|bucket| bucket.2).collect();
        let ours = estimate(&bounds, &up_to, sum(&case["sum"]), case["count"].as_i64().unwrap(), &learned);
        assert_same(&ours.map_or(Value::Null, |ours| Value::Object(estimates_json(ours))), &case["expected"]);
    });
}

/// Where the estimator is guarded beyond the reference.
fn guarded_estimate(case: &Value) -> Option<String> {
    let bounds = || case["buckets"].as_object().into_iter().flatten().map(|(le, _)| le.as_str());
    let is_respelled = |le: &str| le != "+Inf" && le.parse().is_ok_and(f64::is_infinite);
    let is_negative = |le: &str| le.parse().is_ok_and(|le: f64| le < 0.0);
    let spelled =
        || bounds().any(is_respelled).then(|| "infinity is infinite, however it is spelled (15.13)".to_owned());
    let zero = sum(&case["sum"]) == 0.0 && bounds().any(is_negative);
    let finite = || bounds().filter_map(|le| le.parse().ok()).filter(|le: &f64| le.is_finite());
    let below = finite().next().is_some() && finite().all(|le| le < 0.0);
    quirk(case)
        .or_else(spelled)
        .or(zero.then(|| "a sum of zero of values of both signs (15.13)".to_owned()))
        .or(below.then(|| "bounds below zero alone (15.13)".to_owned()))
}

/// Where pages spell one bound in several ways.
fn respelled_bounds(case: &Value) -> Option<String> {
    let snapshots = case["snapshots"].as_array().into_iter().flatten();
    let bounds = snapshots.flat_map(|snapshot| snapshot["buckets"].as_object().into_iter().flatten());
    let mut spellings: BTreeMap<u64, &str> = BTreeMap::new();
    let is_respelled = bounds.map(|(le, _)| le).any(|le| {
        let value: f64 = le.parse().unwrap_or(f64::NAN);
        *spellings.entry(value.to_bits()).or_insert(le) != le || (value.is_infinite() && le != "+Inf")
    });
    quirk(case).or(is_respelled.then(|| "bounds are matched by value, however they are spelled (15.13)".to_owned()))
}

/// JSON has no infinity: it is a text where it is one.
fn sum(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(f64::NAN)
}

/// The statistics of the only series of some pages, over the time of a case.
fn shown(case: &Value, pages: impl Iterator<Item = Scrape>) -> (Store, Window) {
    let mut store = Store::new();
    pages.for_each(|page| _ = store.add(page));
    let range = TimeRange { start: instant(&case["start_ns"]), end: instant(&case["end_ns"]) };
    (store, Window::over_time(range, Windowing::AsReference))
}

fn statistics_json(case: &Value, store: &Store, window: &Window) -> Value {
    let series = store.series().next();
    let bounds: Vec<Arc<str>> =
        series.iter().flat_map(|series| series.bounds()).map(|bound| bound.le.clone()).collect();
    let view = series.and_then(|series| window.view(series));
    let ours = view.and_then(|view| statistics::of_view(&view, slice_length(case)));
    ours.map_or(Value::Null, |ours| {
        let (buckets, slices) = (ours.buckets.as_deref(), ours.timeslices.as_deref());
        Value::Object(series_json(&ours.stats, buckets, &bounds, slices))
    })
}

/// Compares a series. Where slices are shorter than the time between samples, seed 001 asks for other ones (section
/// 14): there only what does not depend on slices is compared.
fn assert_same_series(case: &Value, ours: &Value) {
    let theirs = without_empties(&case["expected"]);
    if case["seed_conflict"] != json!(true) {
        return assert_same(ours, &theirs);
    }
    let without_slices = |series: &Value| {
        let mut series = series.as_object().cloned().unwrap_or_default();
        series.remove("timeslices");
        if let Some(stats) = series.get_mut("stats").and_then(Value::as_object_mut) {
            ["rate_avg", "rate_min", "rate_max", "rate_std"].iter().for_each(|name| _ = stats.remove(*name));
        }
        Value::Object(series)
    };
    assert_same(&without_slices(ours), &without_slices(&theirs));
}

#[test]
fn golden_scalar_series() {
    SCALAR_SERIES.run(quirk, |case| {
        let samples = case["samples"].as_array().unwrap().iter();
        let pages = samples.map(|sample| scalar_page(instant(&sample[0]), kind(&case["type"]), number(&sample[1])));
        let (store, window) = shown(case, pages);
        assert_same_series(case, &statistics_json(case, &store, &window));
    });
}

#[test]
fn golden_histogram_series() {
    HISTOGRAM_SERIES.run(respelled_bounds, |case| {
        let pages = case["snapshots"].as_array().unwrap().iter().map(|snapshot| {
            let buckets = snapshot["buckets"].as_object().into_iter().flatten();
            let buckets = buckets.map(|(le, count)| (Arc::from(le.as_str()), number(count))).collect();
            let at = instant(&snapshot["timestamp_ns"]);
            histogram_page(at, buckets, snapshot["sum"].as_f64(), snapshot["count"].as_f64())
        });
        let (store, window) = shown(case, pages);
        assert_same_series(case, &statistics_json(case, &store, &window));
        let learned = store.series().next().and_then(|series| window.view(series)).map(|view| {
            let learned = statistics::learned(&view);
            let known = view.series().bounds().iter().zip(learned).filter(|(_, learned)| learned.intervals() > 0);
            known.map(|(bound, learned)| (text(&json!(&*bound.le)), learned)).collect::<Vec<_>>()
        });
        assert_same_learned(&learned.unwrap_or_default(), case["learned"].as_object());
    });
}

fn assert_same_learned(ours: &[(Arc<str>, LearnedBucket)], theirs: Option<&Map<String, Value>>) {
    let Some(theirs) = theirs else { return };
    assert_eq!(ours.len(), theirs.len(), "{ours:?}");
    for (le, ours) in ours {
        let theirs = &theirs[&**le];
        assert_eq!(Some(ours.intervals() as u64), theirs["intervals"].as_u64(), "{le}");
        assert!(is_close(ours.observations(), number(&theirs["observation_count"])), "{le}: {ours:?}");
        assert!(is_close(ours.mean().unwrap(), number(&theirs["mean"])), "{le}: {ours:?}");
        assert_eq!(ours.variance().is_some(), theirs["variance"].is_number(), "{le}: {ours:?}");
        if let Some(variance) = theirs["variance"].as_f64() {
            assert!(is_close(ours.variance().unwrap(), variance), "{le}: {ours:?}");
        }
    }
}

#[test]
fn golden_boundaries_of_slices() {
    SLICE_BOUNDARIES.run(quirk, |case| {
        let window = instant(&case["start_ns"]).0..instant(&case["end_ns"]).0;
        let ours = of_length(window, slice_length(case).unwrap());
        let shown = |slice: &Slice| json!([slice.start, slice.end, slice.is_complete]);
        assert_same(&ours.iter().map(shown).collect(), &case["expected"]);
    });
}
