//! Golden ramps and rate series: what a limit or a rate is, and when.

use aiperf_golden::kinds::load::{RAMP, RATE_SERIES};
use aiperf_plan::{Draws, Ramp, RampStrategy, RateLevel, RatePlan, RatePoint};
use aiperf_schedule::{LimitSteps, RateCurve};
use aiperf_types::Nanos;
use serde_json::Value;

fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

fn set_calls(case: &Value) -> Vec<(f64, f64)> {
    let pair = |call: &Value| (call[0].as_f64().unwrap(), call[1].as_f64().unwrap());
    case["expected_set_calls"].as_array().unwrap().iter().map(pair).collect()
}

fn ramp(case: &Value) -> Ramp {
    let mode = case["mode"].as_str().unwrap();
    let strategy = if mode.contains("exponential") { RampStrategy::Exponential } else { RampStrategy::Linear };
    Ramp { duration: nanos(case["duration_s"].as_f64().unwrap()), strategy }
}

#[test]
fn golden_ramps_take_their_values_when_recorded() {
    let skip = |case: &Value| {
        let number = |key: &str| case[key].as_f64();
        let starts_above = number("update_interval_s").is_some_and(|step| Some(step) > number("duration_s"));
        let is_random = case["mode"].as_str().is_some_and(|mode| mode.contains("poisson"));
        let is_other_power = number("exponent").is_some_and(|exponent| exponent != 2.0);
        let reasons = [
            (starts_above, "a rate never starts above its target (Do better 16)"),
            (is_random, "random steps have no recorded instants"),
            (is_other_power, "an exponential ramp is a square"),
        ];
        reasons.into_iter().find(|(is_so, _)| *is_so).map(|(_, reason)| reason.to_owned())
    };
    RAMP.run(skip, |case| {
        let purpose = Draws::new(Some(1), "").purpose("ramp");
        let target = case["target"].as_f64().unwrap();
        if case["mode"].as_str().unwrap().starts_with("stepped") {
            let from = case["start"].as_u64().unwrap() as u32;
            let steps: Vec<_> = LimitSteps::between(from, target as u32, &ramp(case), &purpose).collect();
            let wanted = set_calls(case);
            assert_eq!(steps.len(), wanted.len());
            for ((at, limit), (seconds, value)) in steps.into_iter().zip(wanted) {
                assert_eq!(f64::from(limit), value);
                assert!((at.as_secs_f64() - seconds).abs() < 1e-6, "{at:?} instead of {seconds}");
            }
        } else {
            let plan = RatePlan { ramp: Some(ramp(case)), ..RatePlan::fixed(target) };
            let curve = RateCurve::new(&plan, nanos(case["update_interval_s"].as_f64().unwrap()), &purpose);
            for (seconds, value) in set_calls(case) {
                let rate = curve.rate_at(nanos(seconds));
                assert!((rate - value).abs() < 1e-6 * value.max(1.0), "{rate} instead of {value} at {seconds}");
            }
        }
    });
}

#[test]
fn golden_series_have_their_rate_at_each_time() {
    RATE_SERIES.run(
        |_| None,
        |case| {
            let number = |value: &Value| value.as_f64().unwrap();
            let point = |point: &Value| RatePoint { seconds: number(&point["time_s"]), rate: number(&point["qps"]) };
            let points = case["points"].as_array().unwrap().iter().map(point).collect();
            let plan = RatePlan { level: RateLevel::Series(points), ramp: None };
            let curve = RateCurve::new(&plan, Nanos::ZERO, &Draws::new(Some(1), "").purpose("ramp"));
            // Before its start a series is as at its start.
            let rate = curve.rate_at(nanos(number(&case["t"]).max(0.0)));
            assert!((rate - number(&case["expected"])).abs() < 1e-9, "{rate}");
        },
    );
}
