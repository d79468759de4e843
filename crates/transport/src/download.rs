//! Files fetched to disk: in blocks, and resumed where a connection was cut.
//!
//! A block is one call for a range of bytes, so that however large a file is, no more of it is in memory than a block.
//! From a server that knows no ranges the whole comes at once.

use crate::body;
use crate::fetch::{Call, FetchError, Fetcher, SessionSettings};
use crate::origin::Origin;
use crate::stamp::StampMode;
use aiperf_types::{Exchange, Failure, Nanos};
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::rc::Rc;
use std::time::Duration;
use thiserror::Error;
use tokio::task::LocalSet;

/// What one call asks for.
const BLOCK: u64 = 16 << 20;
/// What a server that knows no ranges may send at once.
const MOST_AT_ONCE: u64 = 2 << 30;
/// A call ends when nothing comes for long, not when much comes.
const NO_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// How often a stop request is looked for.
const LOOK_WHETHER_STOPPED: Duration = Duration::from_millis(20);
const KEEPALIVE: Nanos = Nanos(30_000_000_000);

/// A file to fetch.
#[derive(Clone, Debug)]
pub struct Download {
    pub origin: Origin,
    /// Path and query.
    pub path: String,
    /// A redirect to another server gets none of these that are private.
    pub headers: Vec<(String, String)>,
    pub size_limit: u64,
    pub patience: Patience,
}

/// How long is waited, and how often tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub connect: Duration,
    /// How long nothing may come.
    pub silence: Duration,
    /// Calls in a row that may fetch nothing.
    pub retries: u32,
    /// After the first of them; twice as long after each other.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), silence: seconds(30), retries: 4, pause: Duration::from_millis(500) }
    }
}

/// Why a file is not there whole. What came of it is.
#[derive(Debug, Error)]
pub enum DownloadError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("the server answered {status} {reason}")]
    Status { status: u16, reason: String },
    #[error("the server's answer makes no sense: {0}")]
    Response(String),
    #[error("it is larger than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("{0}")]
    File(#[from] io::Error),
}

impl DownloadError {
    /// Whether the next call may do better.
    fn may_pass(&self) -> bool {
        match self {
            Self::Fetch(error) => error.may_pass(),
            Self::Status { status, .. } => matches!(status, 408 | 425 | 429 | 500..),
            _ => false,
        }
    }
}

/// What one response added.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    from: u64,
    bytes: Vec<u8>,
    /// Of the file.
    total: Option<u64>,
    /// Nothing comes after it.
    is_last: bool,
    validator: Option<String>,
    /// It was cut here.
    failure: Option<Failure>,
}

impl Fetcher {
    /// Fetches what a file lacks, unless the user stops it. What is there is kept, and reported to `progress` with the
    /// length of the whole, where that is known. The caller has to check the whole: what was there may be of another
    /// file.
    pub fn download(
        &self,
        wanted: &Download,
        file: &mut File,
        progress: impl Fn(u64, Option<u64>),
        is_stopped: impl Fn() -> bool,
    ) -> Result<(), DownloadError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(FetchError::Setup)?;
        let session = Rc::new(self.session(SessionSettings {
            stamps: StampMode::User,
            keepalive: KEEPALIVE,
            size_limit: usize::try_from(wanted.size_limit.min(MOST_AT_ONCE)).unwrap_or(usize::MAX),
            connect_timeout: Some(wanted.patience.connect),
            silence: Some(wanted.patience.silence),
        }));
        let ask = async |call: Call| {
            let session = session.clone();
            // A task of its own: silence is when that one is not woken.
            let mut calling = tokio::task::spawn_local(async move { session.exchange(&call).await });
            loop {
                match tokio::time::timeout(LOOK_WHETHER_STOPPED, &mut calling).await {
                    Ok(Ok(outcome)) => return outcome,
                    Ok(Err(error)) => return Err(FetchError::Setup(io::Error::other(error))),
                    Err(_) if is_stopped() => {
                        calling.abort();
                        return Err(FetchError::Stopped);
                    }
                    Err(_) => {}
                }
            }
        };
        LocalSet::new().block_on(&runtime, async {
            let mut at = file.seek(SeekFrom::End(0))?;
            let mut validator: Option<String> = None;
            let mut failed = 0;
            let mut is_anew = false;
            loop {
                let response = ask(wanted.call(at, validator.as_deref())).await.map_err(DownloadError::from);
                let error = match response.and_then(|response| part(&response, at)) {
                    Ok(None) if !is_anew => {
                        // What is there is of another file.
                        (at, validator, is_anew) = (0, None, true);
                        file.set_len(0)?;
                        continue;
                    }
                    Ok(None) => return Err(DownloadError::Response("a range that it does not have".to_owned())),
                    Ok(Some(part)) => {
                        if part.from == 0 && at > 0 {
                            file.set_len(0)?;
                        }
                        let end = part.from.saturating_add(part.bytes.len() as u64);
                        if part.total.unwrap_or(end).max(end) > wanted.size_limit {
                            return Err(DownloadError::TooLarge { limit: wanted.size_limit });
                        }
                        file.seek(SeekFrom::Start(part.from))?;
                        file.write_all(&part.bytes)?;
                        at = end;
                        progress(at, part.total);
                        if !part.bytes.is_empty() {
                            failed = 0;
                        }
                        validator = part.validator;
                        match part.failure {
                            None if part.is_last => return Ok(()),
                            None if part.bytes.is_empty() => {
                                DownloadError::Response("a range without a byte".to_owned())
                            }
                            None => continue,
                            Some(failure) => FetchError::Failed { failure, media_type: None }.into(),
                        }
                    }
                    Err(error) => error,
                };
                if !error.may_pass() || failed >= wanted.patience.retries {
                    return Err(error);
                }
                let pause = wanted.patience.pause * 2_u32.saturating_pow(failed.min(8));
                failed += 1;
                let waited = tokio::time::Instant::now() + pause;
                while tokio::time::Instant::now() < waited {
                    if is_stopped() {
                        return Err(FetchError::Stopped.into());
                    }
                    tokio::time::sleep_until(waited.min(tokio::time::Instant::now() + LOOK_WHETHER_STOPPED)).await;
                }
            }
        })
    }
}

impl Download {
    /// The call for the block that begins at a byte.
    fn call(&self, at: u64, validator: Option<&str>) -> Call {
        let mut headers = self.headers.clone();
        // A part of a compressed file would be a part of something else.
        headers.push(("Accept-Encoding".to_owned(), "identity".to_owned()));
        headers.push(("Range".to_owned(), format!("bytes={at}-{}", at + BLOCK - 1)));
        if let Some(validator) = validator.filter(|_| at > 0) {
            headers.push(("If-Range".to_owned(), validator.to_owned()));
        }
        Call {
            method: "GET",
            origin: self.origin.clone(),
            path: self.path.clone(),
            headers,
            body: Bytes::new(),
            timeout: NO_LIMIT,
            size_limit: usize::MAX,
            follows_redirects: true,
        }
    }
}

/// What a response adds to a file whose first bytes are there; `None` where it does not go on after those.
fn part(response: &Exchange, at: u64) -> Result<Option<Part>, DownloadError> {
    let failure = response.failure.clone();
    let Some(status) = response.status else {
        let failure = failure.unwrap_or(Failure::Disconnected);
        return Err(FetchError::Failed { failure, media_type: None }.into());
    };
    let header = |name: &str| body::header(response, name).map(|value| value.into_owned());
    if let Some(encoding) = header("content-encoding").filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return Err(DownloadError::Response(format!("encoded as {encoding}, which was not asked for")));
    }
    // A weak tag does not identify bytes.
    let validator = header("etag").filter(|tag| tag.starts_with('"'));
    let range = header("content-range");
    match status {
        200 => {
            let bytes = body::collect(response);
            let total = header("content-length").and_then(|length| length.parse().ok());
            Ok(Some(Part { from: 0, bytes, total, is_last: failure.is_none(), validator, failure }))
        }
        206 => {
            let range = range.unwrap_or_default();
            let (from, total) = content_range(&range)
                .and_then(|(from, total)| Some((from.filter(|from| *from == at)?, total)))
                .ok_or_else(|| DownloadError::Response(format!("bytes from {at} on are not '{range}'")))?;
            let bytes = body::collect(response);
            let end = from.saturating_add(bytes.len() as u64);
            let is_last = total.map_or((bytes.len() as u64) < BLOCK, |total| end >= total);
            Ok(Some(Part { from, bytes, total, is_last, validator, failure }))
        }
        416 => {
            let total = range.as_deref().and_then(content_range).and_then(|(_, total)| total);
            let is_there = total == Some(at);
            let part = Part { from: at, bytes: Vec::new(), total, is_last: true, validator, failure: None };
            Ok(is_there.then_some(part))
        }
        _ => Err(DownloadError::Status { status, reason: body::reason(response).into_owned() }),
    }
}

/// Where a range begins, and how long the whole is: `bytes 5-9/10`, `bytes */10`, `bytes 5-9/*`.
fn content_range(text: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes")?.trim_start().split_once('/')?;
    let total = if total == "*" { None } else { Some(total.trim().parse().ok()?) };
    let from = if range == "*" { None } else { Some(range.split_once('-')?.0.trim().parse().ok()?) };
    Some((from, total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn response(status: u16, head: &str, body: &str) -> Exchange {
        let head = format!("HTTP/1.1 {status} X\r\n{head}\r\n");
        let raw = format!("{head}{body}").into_bytes();
        let mut exchange = Exchange { status: Some(status), body_at: head.len(), ..Exchange::default() };
        exchange.timeline.reads.push(aiperf_types::Read { len: raw.len() as u32, ..Default::default() });
        (exchange.raw_len, exchange.raw) = (raw.len(), raw);
        exchange
    }

    #[test]
    fn a_range_goes_on_where_the_file_ends() {
        let middle = part(&response(206, "Content-Range: bytes 5-7/10\r\nETag: \"x\"\r\n", "abc"), 5).unwrap().unwrap();
        assert_eq!((middle.from, &middle.bytes[..], middle.total, middle.is_last), (5, &b"abc"[..], Some(10), false));
        assert_eq!(middle.validator.as_deref(), Some("\"x\""));
        let last =
            part(&response(206, "Content-Range: bytes 5-9/10\r\nETag: W/\"x\"\r\n", "abcde"), 5).unwrap().unwrap();
        assert!(last.is_last && last.validator.is_none());
        for other in ["bytes 4-9/10", "bytes */10", "5-9/10", "bytes x-9/10", ""] {
            assert!(part(&response(206, &format!("Content-Range: {other}\r\n"), "x"), 5).is_err(), "{other}");
        }
    }

    #[test]
    fn the_whole_file_takes_the_place_of_what_is_there() {
        let whole = part(&response(200, "Content-Length: 3\r\n", "abc"), 5).unwrap().unwrap();
        assert_eq!((whole.from, whole.is_last), (0, true));
    }

    #[test]
    fn a_range_that_is_not_there_is_the_end_of_the_file_or_another_file() {
        assert!(part(&response(416, "Content-Range: bytes */5\r\n", ""), 5).unwrap().unwrap().is_last);
        assert_eq!(part(&response(416, "Content-Range: bytes */4\r\n", ""), 5).unwrap(), None);
        assert_eq!(part(&response(416, "", ""), 5).unwrap(), None);
    }

    #[test]
    fn an_encoded_response_is_no_part_of_a_file() {
        assert!(part(&response(200, "Content-Encoding: gzip\r\n", "x"), 0).is_err());
    }

    proptest! {
        #[test]
        fn no_range_is_too_strange(text in "(bytes )?[0-9*/ -]{0,20}", at: u64) {
            let _ = content_range(&text);
            let _ = part(&response(206, &format!("Content-Range: {text}\r\n"), "x"), at);
        }
    }
}
