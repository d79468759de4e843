//! The response of a receiver to an export, by the rules of OTLP over HTTP.

use super::messages::{ExportMetricsServiceResponse, Status};
use aiperf_plan::redact::Redactor;
use aiperf_transport::{FetchError, Fetched};
use aiperf_types::{Nanos, WallNs, acts_on_terminal};
use chrono::NaiveDateTime;
use prost::Message;

/// The result of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportResult {
    Taken(Receipt),
    /// Not now: the same export may succeed later, after a delay that the receiver may name.
    Later {
        why: String,
        after: Option<Nanos>,
    },
    /// Never.
    Refused {
        why: String,
    },
}

/// How much of an export was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receipt {
    Whole,
    Part(Rejected),
    /// Its report is not an OTLP message.
    Unreadable,
}

/// What a receiver rejected of an accepted export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    pub points: i64,
    pub why: String,
}

/// Statuses after which the same export may be sent again.
const RETRYABLE: [u16; 4] = [429, 502, 503, 504];
/// Characters of a receiver's message to show.
const LONGEST: usize = 200;
const PROTOBUF: &str = "application/x-protobuf";

impl ExportResult {
    /// Interprets an exchange with the receiver; `now` is for dates in it. A receiver may echo secrets.
    pub fn of(called: Result<Fetched, FetchError>, now: WallNs, redactor: &Redactor) -> Self {
        match called {
            Ok(fetched) if (200..300).contains(&fetched.status) => Self::Taken(receipt(&fetched, redactor)),
            Ok(fetched) => {
                let why =
                    format!("it returned {} {}{}", fetched.status, fetched.reason, error_message(&fetched, redactor));
                match RETRYABLE.contains(&fetched.status) {
                    true => Self::Later { why, after: fetched.header("retry-after").and_then(|text| wait(text, now)) },
                    false => Self::Refused { why },
                }
            }
            Err(FetchError::Stopped) => {
                Self::Later { why: "it had not responded when the run was over".to_owned(), after: None }
            }
            Err(error) => Self::Later { why: error.to_string(), after: None },
        }
    }
}

fn receipt(fetched: &Fetched, redactor: &Redactor) -> Receipt {
    if fetched.media_type != PROTOBUF {
        return Receipt::Whole;
    }
    let Ok(response) = ExportMetricsServiceResponse::decode(fetched.body.as_slice()) else {
        return Receipt::Unreadable;
    };
    let partial = response.partial_success.unwrap_or_default();
    if partial.rejected_data_points == 0 && partial.error_message.is_empty() {
        return Receipt::Whole;
    }
    Receipt::Part(Rejected { points: partial.rejected_data_points, why: beginning(&partial.error_message, redactor) })
}

/// The error message of a response, after a colon.
fn error_message(fetched: &Fetched, redactor: &Redactor) -> String {
    let text = match fetched.media_type == PROTOBUF {
        true => Status::decode(fetched.body.as_slice()).map(|status| status.message).unwrap_or_default(),
        false => String::from_utf8_lossy(&fetched.body).into_owned(),
    };
    let text = beginning(&text, redactor);
    if text.is_empty() { text } else { format!(": {text}") }
}

/// Secrets are hidden first: a truncated secret would not be recognised.
fn beginning(text: &str, redactor: &Redactor) -> String {
    let line: String =
        redactor.hide(text.trim()).chars().map(|c| if acts_on_terminal(c) { ' ' } else { c }).take(LONGEST).collect();
    line.trim_end().to_owned()
}

/// How long `Retry-After` asks to wait: seconds, or a date.
fn wait(text: &str, now: WallNs) -> Option<Nanos> {
    let text = text.trim();
    let until = match text.parse::<u64>() {
        Ok(seconds) => return Some(Nanos(seconds.min(86_400) * 1_000_000_000)),
        Err(_) => date(text)?,
    };
    Some(Nanos(until.saturating_mul(1_000_000_000).saturating_sub(now.0).min(86_400_000_000_000)))
}

/// Seconds since 1970 of an HTTP date: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(text: &str) -> Option<u64> {
    let (_, date) = text.split_once(", ")?;
    let at = NaiveDateTime::parse_from_str(date, "%d %b %Y %H:%M:%S GMT").ok()?;
    at.and_utc().timestamp().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::messages::ExportMetricsPartialSuccess;
    use aiperf_transport::FetchTimes;

    const SECRET: &str = "sk-SUPERSECRETTOKEN0123456789";

    #[test]
    fn a_secret_at_the_edge_of_the_shown_text_is_hidden_and_not_cut() {
        for padding in LONGEST - SECRET.len() - 8..LONGEST + 8 {
            let body = format!("{} {SECRET} said the receiver", "x".repeat(padding));
            let ExportResult::Refused { why } = answered(400, &[], "text/plain", body.into_bytes()) else { panic!() };
            assert!(!why.contains("sk-SUPER"), "{why}");
        }
    }

    fn answered(status: u16, headers: &[(&str, &str)], media_type: &str, body: Vec<u8>) -> ExportResult {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let fetched = Fetched {
            status,
            reason: "Reason".to_owned(),
            media_type: media_type.to_owned(),
            charset: None,
            headers,
            body,
            times: FetchTimes::default(),
        };
        ExportResult::of(Ok(fetched), WallNs(784_111_770_000_000_000), &Redactor::new([SECRET.to_owned()]))
    }

    #[test]
    fn the_rules_of_otlp_decide_what_may_be_sent_again() {
        for status in [429, 502, 503, 504] {
            assert!(matches!(answered(status, &[], "", vec![]), ExportResult::Later { after: None, .. }), "{status}");
        }
        for status in [301, 400, 401, 404, 413, 500, 501] {
            assert!(matches!(answered(status, &[], "", vec![]), ExportResult::Refused { .. }), "{status}");
        }
        let lost = ExportResult::of(
            Err(FetchError::TimedOut(std::time::Duration::from_secs(10))),
            WallNs(0),
            &Redactor::default(),
        );
        assert_eq!(lost, ExportResult::Later { why: "timed out after 10 s".to_owned(), after: None });
    }

    #[test]
    fn a_receiver_names_a_delay_in_seconds_or_by_a_date() {
        let after = |text: &str| match answered(429, &[("Retry-After", text)], "", vec![]) {
            ExportResult::Later { after, .. } => after.map(|after| after.as_secs_f64()),
            other => panic!("{other:?}"),
        };
        assert_eq!(after("3"), Some(3.0));
        assert_eq!(after("Sun, 06 Nov 1994 08:49:37 GMT"), Some(7.0));
        assert_eq!(after("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0.0));
        for text in ["soon", "", "-1", "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", ", "] {
            assert_eq!(after(text), None, "{text}");
        }
    }

    #[test]
    fn the_rejected_part_of_an_export_is_reported() {
        let partial =
            ExportMetricsPartialSuccess { rejected_data_points: 7, error_message: "no histograms".to_owned() };
        let body = ExportMetricsServiceResponse { partial_success: Some(partial) }.encode_to_vec();
        let rejected = Rejected { points: 7, why: "no histograms".to_owned() };
        assert_eq!(answered(200, &[], PROTOBUF, body), ExportResult::Taken(Receipt::Part(rejected)));
        for (kind, body) in [(PROTOBUF, vec![]), ("application/json", b"{}".to_vec())] {
            assert_eq!(answered(200, &[], kind, body), ExportResult::Taken(Receipt::Whole), "{kind}");
        }
        for body in [&b"{}"[..], b"\x0a\x7fcut", b"<html>"] {
            assert_eq!(
                answered(200, &[], PROTOBUF, body.to_vec()),
                ExportResult::Taken(Receipt::Unreadable),
                "{body:?}"
            );
        }
    }

    #[test]
    fn a_refusal_contains_the_message_of_the_receiver() {
        let status = Status { message: "bad\ndata".to_owned() }.encode_to_vec();
        let why = |result| match result {
            ExportResult::Refused { why } => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(answered(400, &[], PROTOBUF, status)), "it returned 400 Reason: bad data");
        let page = "x".repeat(1000).into_bytes();
        assert_eq!(why(answered(404, &[], "text/plain", page)).len(), "it returned 404 Reason: ".len() + LONGEST);
    }

    proptest::proptest! {
        #[test]
        fn any_response_is_handled(
            status in 100_u16..600,
            text in ".{0,40}",
            body in proptest::collection::vec(proptest::num::u8::ANY, 0..64),
            protobuf in proptest::bool::ANY,
        ) {
            answered(status, &[("Retry-After", &text)], if protobuf { PROTOBUF } else { "" }, body);
        }
    }
}
