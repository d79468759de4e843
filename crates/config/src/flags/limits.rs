//! Flags: Limits.

use super::flag::{FlagType, Takes, To, flags};

flags! { LIMITS_FLAGS:
    FAIL_IF {
        name: "--fail-if",
        kind: FlagType::Texts,
        value_name: Some("'METRIC.STAT>NUMBER'"),
        takes: Takes::Many { comma: false, space: false },
        to: To::EnvelopeRule("limits"),
        summary: "Exit with 3 if a statistic of a metric is in this range: >, >=, <, <=; may be repeated",
    }
    UNTIL {
        name: "--until",
        kind: FlagType::Texts,
        value_name: Some("METRIC.STAT:WIDTH%"),
        takes: Takes::Many { comma: false, space: false },
        to: To::EnvelopeRule("until"),
        summary: "End the profiling phase when the 95% confidence interval of a statistic lies within this share of its value; may be repeated",
    }
    JUNIT {
        name: "--junit",
        kind: FlagType::Path,
        value_name: Some("FILE"),
        to: To::Envelope("junit"),
    }
}
