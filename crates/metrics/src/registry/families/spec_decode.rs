//! Metrics of speculative decoding, from data that a server attaches to its responses.

use crate::facts::{Fact, Facts};
use crate::registry::flags::Flags;
use crate::registry::metric::Compute::{Derived, Floats, Ints, Total};
use crate::registry::metric::Short::Bare;
use crate::registry::metric::{ConsoleGroup, Metric};
use crate::registry::rules::Rules;
use crate::registry::scope::Scope;
use crate::registry::unit::Unit;

use super::int;

pub(super) const METRICS: &[Metric] = &[
    Metric::new(
        "spec_decode_acceptance_length",
        "Acceptance Length",
        Unit::Ratio,
        Floats(|f, _| f.float(Fact::SpecLength)),
    )
    .short("Acceptance Length", Bare)
    .flags(&[Flags::LARGER_IS_BETTER])
    .group(ConsoleGroup::SpecDecode)
    .order(5000)
    .facts(&[Fact::SpecLength])
    .formula("mean_acceptance_length of the request")
    .absent("no spec-decode record"),
    Metric::new(
        "spec_decode_token_weighted_acceptance_length",
        "Token-Weighted Acceptance Length",
        Unit::Ratio,
        Derived(spec_decode_token_weighted_acceptance_length),
    )
    .short("Token-Wtd Accept Len", Bare)
    .flags(&[Flags::LARGER_IS_BETTER])
    .group(ConsoleGroup::SpecDecode)
    .order(5010)
    .needs(&["total_accepted_draft_tokens", "total_spec_decode_steps"])
    .formula("1 + total_accepted_draft_tokens / total_spec_decode_steps")
    .absent("steps 0"),
    Metric::new(
        "spec_decode_draft_acceptance_rate",
        "Draft Acceptance Rate",
        Unit::Percent,
        Floats(|f, _| f.float(Fact::SpecRate).map(|rate| rate * 100.0)),
    )
    .short("Draft Accept Rate", Bare)
    .flags(&[Flags::LARGER_IS_BETTER])
    .group(ConsoleGroup::SpecDecode)
    .order(5020)
    .facts(&[Fact::SpecRate])
    .formula("draft_acceptance_rate * 100")
    .absent("no spec-decode record"),
    Metric::new(
        "spec_decode_overall_draft_acceptance_rate",
        "Overall Draft Acceptance Rate",
        Unit::Percent,
        Derived(spec_decode_overall_draft_acceptance_rate),
    )
    .short("Overall Draft Accept Rate", Bare)
    .flags(&[Flags::LARGER_IS_BETTER])
    .group(ConsoleGroup::SpecDecode)
    .order(5025)
    .needs(&["total_accepted_draft_tokens", "total_draft_tokens"])
    .formula("total_accepted_draft_tokens / total_draft_tokens * 100")
    .absent("draft 0"),
    Metric::new(
        "spec_decode_accepted_per_verified",
        "Accepted per Verified",
        Unit::Ratio,
        Floats(spec_decode_accepted_per_verified),
    )
    .short("Accepted / Verified", Bare)
    .flags(&[Flags::LARGER_IS_BETTER])
    .group(ConsoleGroup::SpecDecode)
    .order(5030)
    .facts(&[Fact::SpecAccepted, Fact::SpecDraft, Fact::SpecSteps])
    .formula("(accepted + steps) / (draft + steps)")
    .absent("denominator 0 or no record"),
    Metric::new("spec_decode_steps", "Spec Decode Steps", Unit::Count, Ints(|f, _| int(f.get(Fact::SpecSteps))))
        .short("Spec Decode Steps", Bare)
        .group(ConsoleGroup::SpecDecode)
        .order(5040)
        .facts(&[Fact::SpecSteps])
        .formula("num_spec_steps")
        .absent("no record"),
    Metric::new(
        "spec_decode_accepted_draft_tokens",
        "Accepted Draft Tokens",
        Unit::Tokens,
        Ints(|f, _| int(f.get(Fact::SpecAccepted))),
    )
    .short("Accepted Draft", Bare)
    .order(5050)
    .facts(&[Fact::SpecAccepted])
    .formula("num_accepted_draft_tokens")
    .absent("no record"),
    Metric::new("spec_decode_draft_tokens", "Draft Tokens", Unit::Tokens, Ints(|f, _| int(f.get(Fact::SpecDraft))))
        .short("Draft Tokens", Bare)
        .order(5060)
        .facts(&[Fact::SpecDraft])
        .formula("num_draft_tokens")
        .absent("no record"),
    Metric::new("total_spec_decode_steps", "Total Spec Decode Steps", Unit::Count, Total("spec_decode_steps"))
        .short("Total Spec Decode Steps", Bare)
        .order(5140)
        .needs(&["spec_decode_steps"])
        .formula("sum of spec_decode_steps")
        .absent("the server reported none"),
    Metric::new(
        "total_accepted_draft_tokens",
        "Total Accepted Draft Tokens",
        Unit::Tokens,
        Total("spec_decode_accepted_draft_tokens"),
    )
    .short("Total Accepted Draft", Bare)
    .order(5150)
    .needs(&["spec_decode_accepted_draft_tokens"])
    .formula("sum of spec_decode_accepted_draft_tokens")
    .absent("the server reported none"),
    Metric::new("total_draft_tokens", "Total Draft Tokens", Unit::Tokens, Total("spec_decode_draft_tokens"))
        .short("Total Draft", Bare)
        .order(5160)
        .needs(&["spec_decode_draft_tokens"])
        .formula("sum of spec_decode_draft_tokens")
        .absent("the server reported none"),
];

fn spec_decode_accepted_per_verified(f: &Facts, _: &Rules) -> Option<f64> {
    let steps = f.get(Fact::SpecSteps)?;
    let verified = f.get(Fact::SpecDraft)? + steps;
    (verified > 0).then_some((f.get(Fact::SpecAccepted)? + steps) as f64 / verified as f64)
}

fn spec_decode_token_weighted_acceptance_length(scope: &Scope<'_>) -> Option<f64> {
    let steps = scope.value("total_spec_decode_steps").filter(|&steps| steps > 0.0)?;
    Some(1.0 + scope.value("total_accepted_draft_tokens")? / steps)
}

fn spec_decode_overall_draft_acceptance_rate(scope: &Scope<'_>) -> Option<f64> {
    let drafted = scope.value("total_draft_tokens").filter(|&drafted| drafted > 0.0)?;
    Some(scope.value("total_accepted_draft_tokens")? / drafted * 100.0)
}
