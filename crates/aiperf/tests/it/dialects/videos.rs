//! Jobs that are polled until they are done.

use crate::bench::{avg, quick};
use crate::dialects::rows::{Server, run};

#[test]
fn a_video_is_submitted_polled_and_fetched() {
    let server = Server::start(quick());
    let file = server.write("a.jsonl", r#"{"text": "a cat"}"#);
    let args = ["--input-file", &file, "--request-count", "2", "--download-video-content"];
    let run = run(server.bench_of("video_generation", "").with(&args).env("AIPERF_HTTP_VIDEO_POLL_INTERVAL", "0.01"));
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let summary = run.summary();
    assert_eq!(avg(&summary, "request_count"), 2.0);
    assert!(avg(&summary, "video_inference_time") > 0.0, "{summary}");
    let truth = server.stop();
    let of = |end: &dyn Fn(&str) -> bool| truth.iter().filter(|line| end(line["path"].as_str().unwrap())).count();
    assert_eq!(of(&|path| path == "/v1/videos"), 2);
    assert_eq!(of(&|path| path.ends_with("/content")), 2);
    assert!(of(&|path| path.starts_with("/v1/videos/") && !path.ends_with("/content")) >= 2);
}
