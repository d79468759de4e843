//! The test of Kolmogorov and Smirnov against golden data: the last of several runs against all before it.

use aiperf_golden::kinds::orchestration::TWO_SAMPLE_TEST;
use aiperf_statistics::KolmogorovSmirnov;
use serde_json::Value;

#[test]
fn golden_p_is_that_of_the_last_run_against_all_before_it() {
    let skip = |case: &Value| case["ks_p_value"].is_null().then(|| "nothing was tested".to_owned());
    TWO_SAMPLE_TEST.run(skip, |case| {
        let runs: Vec<Vec<f64>> = serde_json::from_value(case["input"]["runs"].clone()).expect("runs of numbers");
        let (last, earlier) = runs.split_last().expect("several runs");
        let test = KolmogorovSmirnov::of(&earlier.concat(), last).expect("values on both sides");
        let expected = case["ks_p_value"].as_f64().expect("a number");
        assert!((test.p / expected - 1.0).abs() < 1e-9, "{}, not {expected}", test.p);
    });
}
