//! The crate against figures of scipy, which `scripts/make-statistics` writes.

use aiperf_statistics::kolmogorov::Method;
use aiperf_statistics::{KolmogorovSmirnov, Proportion, Sobol, Welch, fisher, student};
use serde_json::Value;

const TOLERANCE: f64 = 1e-9;

fn cases(name: &str) -> Vec<Value> {
    let golden: Value = serde_json::from_str(include_str!("../../../golden/data/scipy.json")).expect("JSON");
    golden[name].as_array().expect("a list of cases").clone()
}

fn number(case: &Value, name: &str) -> f64 {
    case[name].as_f64().unwrap_or_else(|| panic!("{name} in {case}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// Close relative to what is expected, however small that is.
fn assert_close(found: f64, expected: f64, what: &str) {
    let error = if expected == 0.0 { found.abs() } else { (found / expected - 1.0).abs() };
    assert!(error <= TOLERANCE, "{what}: {found}, not {expected}, off by {error:e}");
}

#[test]
fn golden_student_agrees() {
    for case in cases("t") {
        let freedom = number(&case, "freedom");
        match case.get("p") {
            Some(_) => {
                let found = student::quantile(number(&case, "p"), freedom);
                assert_close(found, number(&case, "quantile"), &case.to_string());
            }
            None => assert_close(student::cdf(number(&case, "t"), freedom), number(&case, "cdf"), &case.to_string()),
        }
    }
}

#[test]
fn golden_welch_agrees() {
    for case in cases("welch") {
        let test = Welch::of_samples(&numbers(&case["first"]), &numbers(&case["second"])).unwrap();
        assert_close(test.t, number(&case, "t"), "t");
        assert_close(test.freedom, number(&case, "freedom"), "freedom");
        assert_close(test.p, number(&case, "p"), "p");
        for level in [0.9, 0.95, 0.99] {
            let (low, high) = test.interval(level);
            let expected = numbers(&case[format!("interval_{level}")]);
            assert_close(low, expected[0], "low end");
            assert_close(high, expected[1], "high end");
        }
    }
}

#[test]
fn fisher_agrees_with_few_requests_and_with_millions() {
    for case in cases("fisher") {
        let side = |name: &str| {
            let counts: Vec<u64> = case[name].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
            Proportion::new(counts[0], counts[1]).unwrap()
        };
        let (found, expected) = (fisher(side("first"), side("second")), number(&case, "p"));
        assert!((found / expected - 1.0).abs() <= number(&case, "tolerance"), "{case}: {found}");
    }
}

/// The samples that the script tests, by its own formula.
fn draw(stream: u64, count: u64, shift: u64) -> Vec<f64> {
    let mut state = stream;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % 10_000 + shift) as f64
        })
        .collect()
}

#[test]
fn golden_kolmogorov_and_smirnov_agree() {
    let mut wrong = Vec::new();
    for case in cases("ks") {
        let sizes = case["sizes"].as_array().unwrap();
        let (first, second) = (sizes[0].as_u64().unwrap(), sizes[1].as_u64().unwrap());
        let (first, second) = (draw(1, first, 0), draw(2, second, case["shift"].as_u64().unwrap()));
        let test = KolmogorovSmirnov::of(&first, &second).unwrap();
        assert_eq!(test.method == Method::Exact, case["exact"] == true, "{case}");
        assert_close(test.statistic, number(&case, "statistic"), &case.to_string());
        let expected = number(&case, "p");
        let error = if expected == 0.0 { test.p } else { (test.p / expected - 1.0).abs() };
        if error > TOLERANCE {
            wrong.push(format!("{case}: {} off by {error:e}", test.p));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn golden_sobol_points_are_the_same() {
    for case in cases("sobol") {
        let dimensions = case["dimensions"].as_u64().unwrap() as usize;
        let points = Sobol::new(dimensions).unwrap().skip(case["skip"].as_u64().unwrap() as usize);
        for (found, expected) in points.zip(case["points"].as_array().unwrap()) {
            assert_eq!(found, numbers(expected), "{dimensions} dimensions");
        }
    }
}
