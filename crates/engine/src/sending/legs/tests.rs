use super::*;
use crate::testing::{client, json, post, serve};
use aiperf_dialect::Api;
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_transport::{Cancel, CancelReason, DeadlineTimer, OutgoingRequest, PlannedCancel, Reuse};
use aiperf_types::{EndpointKind, Nanos};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The most bytes that are kept of a response.
const KEPT: usize = 64 << 10;

fn api(timeout_seconds: f64, interval: Nanos, download: bool) -> Api {
    let urls = vec![BaseUrl::parse("http://here").unwrap()];
    let mut endpoint = EndpointPlan::new(EndpointKind::VideoGeneration, urls);
    endpoint.timeout_seconds = timeout_seconds;
    endpoint.video.poll_interval = interval;
    endpoint.video.download = download;
    Api::new(&endpoint, "m").unwrap()
}

/// Sends a submission and follows its legs to the end.
fn follow(api: Api, port: u16, reuse: Reuse, out: OutgoingRequest, cancel: &Cancel) -> Exchange {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = client(port, reuse, KEPT);
        let mut legs =
            VideoLegs::new(Reading { api: &api, limit: KEPT, captures: false, known: None }, Redirects::default());
        let mut exchange = tokio::select! {
            exchange = client.send(out, cancel, &mut legs) => exchange,
            _ = client.timers().keep_time(DeadlineTimer::new().unwrap()) => unreachable!("time goes on for ever"),
        };
        legs.finish(&mut exchange);
        exchange
    })
}

/// A job that is done after so many polls.
fn jobs(looks: usize, last: &'static str) -> u16 {
    let seen = AtomicUsize::new(0);
    serve(move |_, request| match request.split(' ').next() {
        Some("POST") => json(r#"{"id":"v1","status":"queued"}"#),
        _ if request.contains("/content") => video(200 << 10),
        _ if seen.fetch_add(1, Relaxed) + 1 < looks => json(r#"{"id":"v1","status":"in_progress"}"#),
        _ => json(last),
    })
}

fn video(len: usize) -> Vec<u8> {
    let mut response =
        format!("HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: {len}\r\n\r\n").into_bytes();
    response.resize(response.len() + len, 7);
    response
}

const SOON: Nanos = Nanos(1_000_000);
const NEVER: Nanos = Nanos(3_600_000_000_000);
const DONE: &str = r#"{"id":"v1","status":"completed","inference_time_s":2.5,"peak_memory_mb":9}"#;

#[test]
fn a_job_is_submitted_and_polled_until_it_is_done() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let (log, seen) = (heads.clone(), AtomicUsize::new(0));
    let port = serve(move |connection, request| {
        log.lock().unwrap().push((connection, request.to_owned()));
        match seen.fetch_add(1, Relaxed) {
            0 => json(r#"{"id":"v1","status":"queued"}"#),
            1 => json(r#"{"id":"v1","status":"in_progress"}"#),
            _ => json(DONE),
        }
    });
    for reuse in [Reuse::Always, Reuse::WithinSession] {
        let exchange = follow(api(0.0, SOON, false), port, reuse, post("/v1/videos?k=1"), &Cancel::default());
        assert_eq!((exchange.failure.clone(), exchange.status), (None, Some(200)));
        let parsed = exchange.parsed.as_ref().unwrap();
        assert_eq!(parsed.responses, 2, "those of the submission and of the last poll");
        assert_eq!(parsed.content.last().map(|mark| mark.at), Some(exchange.timeline.end));
        let facts = parsed.video.unwrap();
        assert_eq!((facts.inference_seconds, facts.peak_memory_mb), (Some(2.5), Some(9.0)));
    }
    let heads = heads.lock().unwrap();
    let [_, (_, first), (_, second), ..] = heads.as_slice() else { panic!("{heads:?}") };
    assert!(
        first.starts_with("GET /v1/videos/v1?k=1 HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer k\r\n\r\n"),
        "{first}"
    );
    assert_eq!(first, second);
    assert!(heads.iter().all(|(connection, _)| *connection < 2), "one connection each: {heads:?}");
}

#[test]
fn every_leg_is_accounted_for_and_none_includes_a_pause() {
    let exchange = follow(
        api(0.0, Nanos(20_000_000), false),
        jobs(3, DONE),
        Reuse::Always,
        post("/v1/videos"),
        &Cancel::default(),
    );
    let legs = &exchange.timeline.earlier_legs;
    let asked: Vec<_> = legs.iter().map(|leg| leg.request.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(
        (asked, legs.iter().map(|leg| leg.status).collect::<Vec<_>>()),
        (vec!["POST".into(), "GET".into(), "GET".into()] as Vec<String>, vec![Some(200); 3])
    );
    assert!(legs.iter().all(|leg| leg.bytes_sent > 0 && leg.bytes_received > 0));
    assert!(exchange.timeline.leg_start.since(legs[2].end).0 >= 20_000_000);
    assert!(legs[2].start.since(legs[1].end).0 >= 20_000_000);
    assert!(exchange.timeline.send_start >= exchange.timeline.leg_start);
}

#[test]
fn a_download_is_counted_and_not_kept_and_ends_the_request() {
    let exchange = follow(api(0.0, SOON, true), jobs(1, DONE), Reuse::Always, post("/v1/videos"), &Cancel::default());
    assert_eq!(exchange.failure, None, "longer than the kept bytes");
    let parsed = exchange.parsed.as_ref().unwrap();
    assert_eq!((parsed.responses, parsed.content.len()), (3, 3));
    assert_eq!(parsed.content[2].at, exchange.timeline.end);
    assert!(exchange.timeline.bytes_received > 200 << 10 && exchange.raw_len < 200);
}

#[test]
fn each_step_may_be_redirected() {
    let port = serve(|_, request| match request.split(' ').nth(1).unwrap() {
        "/v1/videos" => b"HTTP/1.1 307 T\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/there" => json(r#"{"id":"v1"}"#),
        "/v1/videos/v1" => b"HTTP/1.1 302 F\r\nLocation: /jobs/v1\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/jobs/v1" => json(DONE),
        "/v1/videos/v1/content" => b"HTTP/1.1 302 F\r\nLocation: /files/v1\r\nContent-Length: 0\r\n\r\n".to_vec(),
        _ => video(200 << 10),
    });
    let exchange = follow(api(0.0, SOON, true), port, Reuse::Always, post("/v1/videos"), &Cancel::default());
    assert_eq!((exchange.failure.clone(), exchange.timeline.earlier_legs.len()), (None, 5));
    assert_eq!(exchange.parsed.as_ref().unwrap().responses, 3);
}

#[test]
fn a_failed_job_or_a_refused_submission_is_the_error() {
    let failed = jobs(1, r#"{"id":"v1","status":"failed","error":{"message":"no"}}"#);
    let exchange = follow(api(0.0, SOON, false), failed, Reuse::Always, post("/v1/videos"), &Cancel::default());
    let expected =
        Failure::Step { code: 500, kind: "VideoGenerationError", message: "Video generation failed: no".into() };
    assert_eq!((exchange.failure, exchange.parsed.is_none()), (Some(expected), true));
    let refusing = serve(|_, _| b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_vec());
    let exchange = follow(api(0.0, SOON, false), refusing, Reuse::Always, post("/v1/videos"), &Cancel::default());
    assert_eq!((exchange.failure, exchange.status, exchange.parsed.is_none()), (None, Some(503), true));
}

/// A server that is silent to all requests of a kind.
fn silent_to(part: &'static str) -> u16 {
    serve(move |_, request| match request.split(' ').next() {
        _ if request.contains(part) => Vec::new(),
        Some("POST") => json(r#"{"id":"v1","status":"queued"}"#),
        _ => json(DONE),
    })
}

#[test]
fn a_leg_that_hangs_ends_at_the_timeout_of_its_step() {
    let hanging = |part, seconds| {
        let out = OutgoingRequest { timeout: Some(Nanos::from_secs_f64(seconds)), ..post("/v1/videos") };
        follow(api(seconds, SOON, true), silent_to(part), Reuse::Always, out, &Cancel::default()).failure.unwrap()
    };
    assert_eq!(hanging("POST", 0.05), Failure::TimedOut);
    let message = "Video generation timed out after 0.05s".into();
    assert_eq!(hanging("v1/videos/v1 ", 0.05), Failure::Step { code: 504, kind: "TimeoutError", message });
    let message = "Video download failed: timed out".into();
    assert_eq!(hanging("content", 0.05), Failure::Step { code: 500, kind: "VideoDownloadError", message });
}

#[test]
fn a_job_that_is_never_done_fails_at_its_timeout() {
    let out = OutgoingRequest { timeout: Some(Nanos::from_secs_f64(0.1)), ..post("/v1/videos") };
    let exchange = follow(api(0.1, SOON, false), jobs(usize::MAX, ""), Reuse::Always, out, &Cancel::default());
    let message = "Video generation timed out after 0.1s".into();
    assert_eq!(exchange.failure, Some(Failure::Step { code: 504, kind: "TimeoutError", message }));
}

#[test]
fn the_timeout_of_a_job_may_fall_between_two_polls() {
    let out = OutgoingRequest { timeout: Some(Nanos::from_secs_f64(0.05)), ..post("/v1/videos") };
    let exchange = follow(api(0.05, NEVER, false), jobs(usize::MAX, ""), Reuse::Always, out, &Cancel::default());
    let message = "Video generation timed out after 0.05s".into();
    assert_eq!(exchange.failure, Some(Failure::Step { code: 504, kind: "TimeoutError", message }));
}

#[test]
fn a_request_can_be_stopped_in_every_leg_and_between_two() {
    let (pausing, polling) = (jobs(usize::MAX, ""), jobs(usize::MAX, ""));
    let cases = [
        (silent_to("POST"), SOON),
        (silent_to("v1/videos/v1 "), SOON),
        (silent_to("content"), SOON),
        (pausing, NEVER),
        (polling, SOON),
    ];
    for (port, interval) in cases {
        let cancel = Cancel::default();
        let stop = cancel.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let exchange = runtime.block_on(async {
            let client = client(port, Reuse::Always, KEPT);
            let api = api(0.0, interval, true);
            let mut legs =
                VideoLegs::new(Reading { api: &api, limit: KEPT, captures: false, known: None }, Redirects::default());
            let stopping = async {
                tokio::time::sleep(std::time::Duration::from_millis(30)).await;
                stop.cancel(CancelReason::Stopped);
                std::future::pending::<()>().await;
            };
            let mut exchange = tokio::select! {
                exchange = client.send(post("/v1/videos"), &cancel, &mut legs) => exchange,
                () = stopping => unreachable!("it never ends"),
                _ = client.timers().keep_time(DeadlineTimer::new().unwrap()) => unreachable!("time goes on for ever"),
            };
            legs.finish(&mut exchange);
            exchange
        });
        assert!(exchange.was_cut_off(), "{:?}", exchange.failure);
        assert!(exchange.parsed.is_none());
    }
}

#[test]
fn a_planned_cancellation_counts_from_the_submission() {
    let after = Nanos(30_000_000);
    let cancelled = Some(PlannedCancel { after, send_timeout: NEVER });
    let out = OutgoingRequest { cancelled, ..post("/v1/videos") };
    let exchange = follow(api(0.0, SOON, false), jobs(usize::MAX, ""), Reuse::Always, out, &Cancel::default());
    assert_eq!(exchange.failure, Some(Failure::Cancelled { after }));
    assert!(!exchange.timeline.earlier_legs.is_empty());
}
