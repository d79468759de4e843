//! The way of a video: a job is submitted, looked at until it is done, and what it made is fetched where wanted.
//!
//! A step follows from the response to the one before it. The caller owns the clock and the socket.

use crate::api::Api;
use crate::text::json::{self, is_truthy};
use aiperf_types::media_type::is_binary;
use aiperf_types::{Failure, Nanos};
use serde_json::{Map, Value};
use std::fmt::Write;

/// How much of a reply an error message shows, in characters.
const SHOWN: usize = 200;

/// One video on its way.
#[derive(Clone, Debug)]
pub struct VideoJob {
    /// Path of the submission, without a slash at its end, and the query.
    path: String,
    query: String,
    interval: Nanos,
    timeout_seconds: f64,
    download: bool,
    at: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Submitted,
    /// By the path of its job.
    Polled(String),
    Downloaded,
}

/// The response to one step, whole.
#[derive(Clone, Copy, Debug)]
pub struct LegResponse<'a> {
    pub status: u16,
    /// Without parameters; empty when the server named none.
    pub media_type: &'a str,
    pub body: &'a [u8],
}

/// What follows a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VideoStep {
    /// A GET with the header fields of the submission, after a pause.
    Get {
        pause: Nanos,
        from: StepTarget,
        keep: Keep,
        /// The time of a request counts from here on: all looks together have it, and so has the download.
        renews_time: bool,
        /// What comes is counted and not kept.
        drops_body: bool,
    },
    /// The response is the last one. Where its status is none of success, that is the record's error.
    End {
        keep: Keep,
    },
    Fail(Failure),
}

/// Where a step asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepTarget {
    /// A path, with its query, at the server of the submission.
    Path(String),
    /// A URL with its scheme, perhaps at another server: it must not see what is secret.
    Url(String),
}

/// What the record keeps of the response that was given to [`VideoJob::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    Nothing,
    /// Its text is a response.
    Text,
    /// That it came is a response.
    Arrival,
}

impl VideoJob {
    /// A job that is submitted to a path with its query.
    pub fn new(api: &Api, target: &str) -> Self {
        let (path, query) = target.find('?').map_or((target, ""), |at| target.split_at(at));
        let video = api.endpoint.video;
        Self {
            path: path.trim_end_matches('/').to_owned(),
            query: query.to_owned(),
            interval: video.poll_interval,
            timeout_seconds: api.endpoint.timeout_seconds,
            download: video.download,
            at: Stage::Submitted,
        }
    }

    /// Takes the response to the last step.
    pub fn next(&mut self, response: LegResponse<'_>) -> VideoStep {
        let followed = match &self.at {
            Stage::Submitted => self.submitted(response),
            Stage::Polled(path) => self.polled(path.clone(), response),
            Stage::Downloaded => downloaded(response),
        };
        followed.unwrap_or_else(VideoStep::Fail)
    }

    /// How a record names a step that got no response.
    pub fn failed(&self, failure: Failure) -> Failure {
        match (&self.at, failure) {
            // The run did it, not the server.
            (_, failure @ (Failure::CutOff | Failure::Cancelled { .. })) => failure,
            (Stage::Polled(_), Failure::TimedOut) => {
                let message = format!("Video generation timed out after {:?}s", self.timeout_seconds);
                Failure::Step { code: 504, kind: "TimeoutError", message }
            }
            // A step that failed by its response has its name.
            (_, failure @ Failure::Step { .. }) => failure,
            (Stage::Downloaded, failure) => download_error(500, format!("Video download failed: {failure}")),
            (_, failure) => failure,
        }
    }

    fn submitted(&mut self, response: LegResponse<'_>) -> Result<VideoStep, Failure> {
        if !is_success(response.status) {
            return Ok(VideoStep::End { keep: Keep::Text });
        }
        let job = reply(response)?;
        let id = match job.get("id").filter(|id| is_truthy(Some(id))) {
            Some(Value::String(id)) => segment(id),
            Some(id) => segment(&id.to_string()),
            None => String::new(),
        };
        // `.` and `..` lead elsewhere in a path, and that is no job.
        if matches!(id.as_str(), "" | "." | "..") {
            return Err(generation_error("Video submission returned no job id".to_owned()));
        }
        let path = format!("{}/{id}", self.path);
        let from = StepTarget::Path(format!("{path}{}", self.query));
        self.at = Stage::Polled(path);
        Ok(VideoStep::Get { pause: Nanos::ZERO, from, keep: Keep::Text, renews_time: true, drops_body: false })
    }

    fn polled(&mut self, path: String, response: LegResponse<'_>) -> Result<VideoStep, Failure> {
        if !is_success(response.status) {
            return Ok(VideoStep::End { keep: Keep::Text });
        }
        let job = reply(response)?;
        match job.get("status").and_then(Value::as_str) {
            Some("completed") if self.download => {
                self.at = Stage::Downloaded;
                let from = match job.get("url").and_then(Value::as_str).filter(|url| !url.is_empty()) {
                    Some(url) => place(url, &path)?,
                    None => StepTarget::Path(format!("{path}/content{}", self.query)),
                };
                Ok(VideoStep::Get { pause: Nanos::ZERO, from, keep: Keep::Text, renews_time: true, drops_body: true })
            }
            Some("completed") => Ok(VideoStep::End { keep: Keep::Text }),
            Some("failed") => Err(generation_error(format!("Video generation failed: {}", reason(&job)))),
            _ => {
                let from = StepTarget::Path(format!("{path}{}", self.query));
                let (pause, keep) = (self.interval, Keep::Nothing);
                Ok(VideoStep::Get { pause, from, keep, renews_time: false, drops_body: false })
            }
        }
    }
}

fn downloaded(response: LegResponse<'_>) -> Result<VideoStep, Failure> {
    if !is_success(response.status) {
        let text = shown(response.body);
        let code = i64::from(response.status);
        return Err(download_error(code, format!("Video download failed with status {code}: {text}")));
    }
    // One without a type may be.
    if !response.media_type.is_empty() && !is_binary(response.media_type) {
        let kind = response.media_type;
        return Err(download_error(500, format!("Video download returned '{kind}', which is no video")));
    }
    Ok(VideoStep::End { keep: Keep::Arrival })
}

/// The object that a server replies with.
fn reply(response: LegResponse<'_>) -> Result<Map<String, Value>, Failure> {
    if response.body.is_empty() {
        return Err(generation_error("Video generation got no response".to_owned()));
    }
    let kind = response.media_type;
    if kind.eq_ignore_ascii_case("text/event-stream") || is_binary(kind) {
        return Err(generation_error(format!("Video generation got an unexpected type of response, '{kind}'")));
    }
    match std::str::from_utf8(response.body).ok().and_then(json::read::<Value>) {
        Some(Value::Object(job)) => Ok(job),
        Some(_) => Ok(Map::new()),
        None => {
            let text = shown(response.body);
            let message = format!("Video generation got invalid JSON (status {}): {text}", response.status);
            Err(generation_error(message))
        }
    }
}

/// Why a server made no video.
fn reason(job: &Map<String, Value>) -> String {
    match job.get("error").filter(|error| is_truthy(Some(error))) {
        None => "Unknown error".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(error) => match error.get("message").filter(|message| is_truthy(Some(message))) {
            Some(Value::String(message)) => message.clone(),
            Some(message) => message.to_string(),
            None => error.to_string(),
        },
    }
}

/// Where a URL of a reply leads that came from a path.
fn place(url: &str, path: &str) -> Result<StepTarget, Failure> {
    let mut safe = String::with_capacity(url.len());
    for byte in url.trim().bytes() {
        push(&mut safe, byte, byte.is_ascii_graphic());
    }
    let lower = safe.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        Ok(StepTarget::Url(safe))
    } else if safe.starts_with('/') && !safe.starts_with("//") {
        Ok(StepTarget::Path(safe))
    } else if is_relative(&safe) {
        let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
        Ok(StepTarget::Path(format!("{folder}{safe}")))
    } else {
        Err(download_error(500, format!("Video download failed: '{url}' is no HTTP URL")))
    }
}

/// Whether it is a path from where one is: it names no scheme and no server, and does not climb.
fn is_relative(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let first = path.split('/').next().unwrap_or_default();
    !first.is_empty() && !first.contains(':') && !path.split('/').any(|part| part == "." || part == "..")
}

/// A job's id as one part of a path: whatever the server calls it, it names nothing else.
fn segment(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for byte in id.bytes() {
        push(&mut out, byte, byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte));
    }
    out
}

fn push(out: &mut String, byte: u8, is_plain: bool) {
    if is_plain {
        out.push(char::from(byte));
    } else {
        let _ = write!(out, "%{byte:02X}");
    }
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(body).chars().take(SHOWN).collect()
}

fn generation_error(message: String) -> Failure {
    Failure::Step { code: 500, kind: "VideoGenerationError", message }
}

fn download_error(code: i64, message: String) -> Failure {
    Failure::Step { code, kind: "VideoDownloadError", message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::endpoint;
    use aiperf_types::EndpointKind;
    use proptest::prelude::*;

    fn job(timeout_seconds: f64, download: bool) -> VideoJob {
        let mut endpoint = endpoint(EndpointKind::VideoGeneration);
        endpoint.timeout_seconds = timeout_seconds;
        endpoint.video.download = download;
        VideoJob::new(&Api::new(&endpoint, "m").unwrap(), "/v1/videos/?k=v")
    }

    fn answered(body: &str) -> LegResponse<'_> {
        LegResponse { status: 200, media_type: "application/json", body: body.as_bytes() }
    }

    /// A look at a job; the first has a time of its own.
    fn look(pause: Nanos, path: &str, keep: Keep) -> VideoStep {
        let renews_time = pause == Nanos::ZERO;
        VideoStep::Get { pause, from: StepTarget::Path(path.into()), keep, renews_time, drops_body: false }
    }

    fn error(step: VideoStep) -> (i64, &'static str, String) {
        match step {
            VideoStep::Fail(Failure::Step { code, kind, message }) => (code, kind, message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_job_is_looked_at_once_at_once_and_then_after_every_interval() {
        let mut job = job(0.0, false);
        let poll = "/v1/videos/v1?k=v";
        assert_eq!(job.next(answered(r#"{"id":"v1","status":"queued"}"#)), look(Nanos(0), poll, Keep::Text));
        for _ in 2..5 {
            let running = answered(r#"{"id":"v1","status":"in_progress"}"#);
            assert_eq!(job.next(running), look(Nanos(100_000_000), poll, Keep::Nothing));
        }
        assert_eq!(job.next(answered(r#"{"status":"completed"}"#)), VideoStep::End { keep: Keep::Text });
    }

    #[test]
    fn what_was_made_is_fetched_by_the_url_of_the_reply_or_beside_the_job() {
        let path = |path: &str| StepTarget::Path(path.into());
        for (reply, from) in [
            (r#"{"status":"completed","url":null}"#, path("/v1/videos/v1/content?k=v")),
            (r#"{"status":"completed","url":"/files/a b"}"#, path("/files/a%20b")),
            (r#"{"status":"completed","url":"dl/v.mp4?a=b"}"#, path("/v1/videos/dl/v.mp4?a=b")),
            (r#"{"status":"completed","url":"HTTP://x/c"}"#, StepTarget::Url("HTTP://x/c".into())),
        ] {
            let mut job = job(0.0, true);
            job.next(answered(r#"{"id":"v1"}"#));
            let (pause, keep) = (Nanos::ZERO, Keep::Text);
            let fetch = VideoStep::Get { pause, from, keep, renews_time: true, drops_body: true };
            assert_eq!(job.next(answered(reply)), fetch);
            let bytes = LegResponse { media_type: "video/mp4", ..answered("....") };
            assert_eq!(job.next(bytes), VideoStep::End { keep: Keep::Arrival });
        }
    }

    #[test]
    fn dots_are_no_job_id() {
        for id in [".", ".."] {
            let (code, kind, message) = error(job(0.0, false).next(answered(&format!(r#"{{"id":"{id}"}}"#))));
            assert_eq!((code, kind), (500, "VideoGenerationError"));
            assert!(message.contains("no job id"), "{message}");
        }
    }

    #[test]
    fn a_failed_fetch_is_an_error_of_its_own() {
        let fetching = || {
            let mut job = job(0.0, true);
            job.next(answered(r#"{"id":"v1"}"#));
            job.next(answered(r#"{"status":"completed"}"#));
            job
        };
        let gone = error(fetching().next(LegResponse { status: 404, ..answered("gone") }));
        assert_eq!(gone, (404, "VideoDownloadError", "Video download failed with status 404: gone".into()));
        let text = error(fetching().next(answered("{}")));
        assert_eq!((text.0, text.1), (500, "VideoDownloadError"));
        let lost = fetching().failed(Failure::Disconnected);
        assert!(matches!(lost, Failure::Step { code: 500, kind: "VideoDownloadError", .. }), "{lost:?}");
        assert_eq!(fetching().failed(Failure::CutOff), Failure::CutOff);
        assert_eq!(job(0.0, true).failed(Failure::Disconnected), Failure::Disconnected);
        let mut elsewhere = job(0.0, true);
        elsewhere.next(answered(r#"{"id":"v1"}"#));
        assert_eq!(error(elsewhere.next(answered(r#"{"status":"completed","url":"s3://b"}"#))).1, "VideoDownloadError");
    }

    #[test]
    fn a_job_that_takes_longer_than_a_request_may_has_an_error_of_its_own() {
        let mut job = job(1.5, false);
        assert_eq!(job.failed(Failure::TimedOut), Failure::TimedOut, "it was not submitted");
        job.next(answered(r#"{"id":7}"#));
        job.next(answered(r#"{"status":"in_progress"}"#));
        let message = "Video generation timed out after 1.5s".into();
        assert_eq!(job.failed(Failure::TimedOut), Failure::Step { code: 504, kind: "TimeoutError", message });
    }

    #[test]
    fn the_refusal_of_a_server_is_quoted() {
        for (reply, message) in [
            (r#"{"status":"failed","error":{"message":"no"}}"#, "no"),
            (r#"{"status":"failed","error":"nope"}"#, "nope"),
            (r#"{"status":"failed","error":{"code":1}}"#, r#"{"code":1}"#),
            (r#"{"status":"failed"}"#, "Unknown error"),
        ] {
            let mut job = job(0.0, false);
            job.next(answered(r#"{"id":"v1"}"#));
            let wanted = (500, "VideoGenerationError", format!("Video generation failed: {message}"));
            assert_eq!(error(job.next(answered(reply))), wanted);
        }
    }

    #[test]
    fn a_submission_without_a_job_is_an_error() {
        let long = "x".repeat(300);
        for (reply, part) in [
            (answered(""), "no response"),
            (answered("{}"), "no job id"),
            (answered("[1]"), "no job id"),
            (answered(r#"{"id":""}"#), "no job id"),
            (answered(&long), "invalid JSON (status 200): xxx"),
            (LegResponse { media_type: "text/event-stream", ..answered("{}") }, "unexpected type"),
        ] {
            let (code, kind, message) = error(job(0.0, false).next(reply));
            assert_eq!((code, kind), (500, "VideoGenerationError"));
            assert!(message.contains(part) && message.chars().count() < 300, "{message}");
        }
    }

    #[test]
    fn a_refused_step_is_the_records_error() {
        let refused = LegResponse { status: 503, ..answered("busy") };
        assert_eq!(job(0.0, false).next(refused), VideoStep::End { keep: Keep::Text });
        let mut polled = job(0.0, false);
        polled.next(answered(r#"{"id":"v1"}"#));
        assert_eq!(polled.next(refused), VideoStep::End { keep: Keep::Text });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_reply_leads_out_of_its_request_line(
            id in any::<String>(),
            url in any::<String>(),
            bodies in prop::collection::vec((200u16..210, any::<Vec<u8>>()), 0..4),
        ) {
            let mut job = job(1.0, true);
            let replies = [serde_json::json!({"id": id}), serde_json::json!({"status": "completed", "url": url})];
            let replies = replies.map(|reply| (200, reply.to_string().into_bytes()));
            for (status, body) in replies.into_iter().chain(bodies) {
                let response = LegResponse { status, body: &body, ..answered("") };
                if let VideoStep::Get { from: StepTarget::Path(text) | StepTarget::Url(text), .. } = job.next(response) {
                    prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{}", text);
                }
            }
        }
    }
}
