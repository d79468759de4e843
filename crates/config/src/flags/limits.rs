//! Flags: Limits.

use super::flag::{Kind, Takes, To, flags};

flags! { LIMITS_FLAGS:
    FAIL_IF {
        name: "--fail-if",
        kind: Kind::Texts,
        value_name: Some("'METRIC.STAT>NUMBER'"),
        takes: Takes::Many { comma: false, space: false },
        to: To::EnvelopeRule("limits"),
        summary: "Exit with 3 if a statistic of a metric is in this range: >, >=, <, <=; may be repeated",
    }
    JUNIT {
        name: "--junit",
        kind: Kind::Path,
        value_name: Some("FILE"),
        to: To::Envelope("junit"),
    }
}
