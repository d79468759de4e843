//! Metrics of service level objectives: requests that met all of them.

use crate::facts::{Fact, Facts};
use crate::registry::flags::Flags;
use crate::registry::metric::Compute::{Derived, Fold};
use crate::registry::metric::Short::Bare;
use crate::registry::metric::{self, ConsoleGroup, Metric};
use crate::registry::rules::Rules;
use crate::registry::scope::Scope;
use crate::registry::unit::Unit;

pub(super) const METRICS: &[Metric] = &[
    Metric::new(
        "good_request_count",
        "Good Request Count",
        Unit::Requests,
        Fold(metric::Fold::Sum, good_request_count),
    )
    .without_unit()
    .flags(&[Flags::GOODPUT])
    .facts(&[Fact::Status])
    .formula("sum over valid records of 1 if every SLO passes else 0")
    .absent("no SLO configured"),
    Metric::new("good_request_fraction", "Good Request Fraction", Unit::Ratio, Derived(good_request_fraction))
        .short("GoodReqFrac", Bare)
        .flags(&[Flags::LARGER_IS_BETTER, Flags::GOODPUT])
        .uses(&["error_request_count", "good_request_count", "request_count"])
        .formula("good_request_count / (request_count + error_request_count); 0.0 when denominator is 0")
        .absent("no SLO configured"),
    Metric::new("goodput", "Goodput", Unit::RequestsPerSec, Derived(goodput))
        .short("Goodput", Bare)
        .flags(&[Flags::GOODPUT])
        .group(ConsoleGroup::Default)
        .order(1000)
        .needs(&["benchmark_duration", "good_request_count"])
        .formula("good_request_count / duration_s")
        .absent("no SLO configured"),
];

/// `None` if a metric of an objective has no value: such a request is not good, and was not judged.
fn good_request_count(f: &Facts, rules: &Rules) -> Option<i64> {
    let mut good = true;
    for objective in &rules.objectives {
        good &= objective.is_met(objective.value(f, rules)?);
    }
    Some(i64::from(good))
}

/// Zero, not absent, if no request could be judged: none of them was good.
fn good_requests(scope: &Scope<'_>) -> f64 {
    scope.value("good_request_count").unwrap_or(0.0)
}

fn good_request_fraction(scope: &Scope<'_>) -> Option<f64> {
    let count = |tag| scope.value(tag).unwrap_or(0.0);
    let attempted = count("request_count") + count("error_request_count");
    Some(if attempted > 0.0 { good_requests(scope) / attempted } else { 0.0 })
}

fn goodput(scope: &Scope<'_>) -> Option<f64> {
    Some(good_requests(scope) / scope.seconds()?)
}
