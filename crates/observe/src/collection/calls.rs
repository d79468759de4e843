//! Calls for pages, and their results.

use super::endpoint::{Fetch, FetchOutcome, Purpose};
use crate::results::ScrapeError;
use aiperf_plan::Cadence;
use aiperf_transport::{Call, FetchError, Fetched};
use aiperf_types::{Failure, Nanos};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a page, as sent and as decoded.
pub(super) const PAGE_LIMIT: usize = 32 << 20;
/// Kinds of errors of an endpoint that are distinguished.
const MOST_ERRORS: usize = 20;

pub(super) fn duration(length: Nanos) -> Duration {
    Duration::from_nanos(length.0)
}

/// The call of a fetch.
pub(super) fn call(fetch: &Fetch, cadence: &Cadence) -> Call {
    let server = fetch.url.server();
    let mut headers =
        vec![("Accept".to_owned(), "*/*".to_owned()), ("Accept-Encoding".to_owned(), "gzip, deflate".to_owned())];
    headers.extend(server.credentials().map(|credentials| ("Authorization".to_owned(), credentials.basic())));
    let timeout = match fetch.purpose {
        Purpose::Probe => cadence.reachability_timeout,
        Purpose::Boundary | Purpose::Fallback => cadence.scrape_timeout,
        // Silence ends it, not its duration.
        Purpose::Tick => Nanos(u64::MAX / 4),
    };
    Call {
        method: "GET",
        origin: server.into(),
        path: fetch.url.path().to_owned(),
        headers,
        body: Default::default(),
        timeout: duration(timeout),
        size_limit: PAGE_LIMIT,
        follows_redirects: true,
    }
}

/// The outcome of a fetch.
pub(super) fn outcome(fetch: &Fetch, shown: &str, result: &Result<Fetched, FetchError>) -> FetchOutcome {
    let media_type = match result {
        Ok(fetched) => Some(fetched.media_type.as_str()),
        Err(FetchError::Failed { media_type, .. }) => media_type.as_deref(),
        Err(_) => None,
    };
    match result {
        Ok(fetched) if fetched.status >= 400 || fetch.purpose == Purpose::Probe && fetched.status != 200 => {
            FetchOutcome::Failed(format!("HTTP {} {}", fetched.status, fetched.reason).trim_end().to_owned())
        }
        _ if media_type.is_some_and(|media_type| media_type.starts_with("application/json")) => {
            FetchOutcome::NotPrometheus(format!(
                "endpoint '{shown}' returned non-Prometheus content-type '{}'; expected text/plain (Prometheus \
                 exposition format)",
                media_type.unwrap_or_default()
            ))
        }
        Ok(_) => FetchOutcome::Page,
        Err(error) => FetchOutcome::Failed(error.to_string()),
    }
}

/// The error's name in Python's libraries.
pub(super) fn kind_of(result: &Result<Fetched, FetchError>) -> &'static str {
    match result {
        Ok(_) => "ClientResponseError",
        Err(FetchError::TimedOut(_) | FetchError::Silent(_)) => "TimeoutError",
        Err(FetchError::Failed { failure: Failure::Connect { .. } | Failure::Resolve { .. }, .. }) => {
            "ClientConnectorError"
        }
        Err(_) => "ClientError",
    }
}

/// Counts an error with equal ones.
pub(crate) fn note_error(errors: &mut Vec<ScrapeError>, url: &Arc<str>, kind: &str, message: &str) {
    let known = errors.iter().position(|error| error.kind == kind && error.message == message);
    // A server may send another text each time.
    let place = known.or_else(|| errors.len().checked_sub(1).filter(|last| *last + 1 >= MOST_ERRORS));
    match place {
        Some(place) => errors[place].count += 1,
        None => errors.push(ScrapeError {
            endpoint_url: url.clone(),
            kind: kind.to_owned(),
            message: message.to_owned(),
            count: 1,
        }),
    }
}
