//! HTTP/2, by a client that shares no code with the server.

use std::future::Future;
use std::net::SocketAddr;

use aiperf_sim::{SimConfig, SimHandle};
use bytes::Bytes;
use h2::client::SendRequest;
use http::{Method, Request};
use serde_json::Value;

use crate::client::{CHAT, COMPLETIONS, Response, chat, quick, serve};
use crate::truth::stamped;

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

async fn connect(address: SocketAddr) -> SendRequest<Bytes> {
    connect_with(address, &h2::client::Builder::new()).await
}

async fn connect_with(address: SocketAddr, builder: &h2::client::Builder) -> SendRequest<Bytes> {
    let socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let (client, connection) = builder.handshake(socket).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The response, its DATA frames, and the error that ended it early.
struct Received {
    response: Response,
    frames: usize,
    error: Option<h2::Error>,
}

async fn ask(client: &SendRequest<Bytes>, method: Method, path: &str, body: String) -> Result<Received, h2::Error> {
    ask_with(client, method, (path, "application/json"), body).await
}

async fn ask_with(
    client: &SendRequest<Bytes>,
    method: Method,
    (path, content_type): (&str, &str),
    body: String,
) -> Result<Received, h2::Error> {
    let request = Request::builder().method(method).uri(format!("http://sim{path}")).header("x-request-id", "h2");
    let request = request.header("content-type", content_type);
    let mut client = client.clone().ready().await?;
    let (received, mut stream) = client.send_request(request.body(()).unwrap(), false)?;
    let mut rest = Bytes::from(body);
    while !rest.is_empty() {
        stream.reserve_capacity(rest.len());
        let capacity = std::future::poll_fn(|context| stream.poll_capacity(context)).await.unwrap()?;
        stream.send_data(rest.split_to(capacity), false)?;
    }
    stream.send_data(Bytes::new(), true)?;
    let received = received.await?;
    let mut response = Response { status: received.status().as_u16(), ..Response::default() };
    let (mut body, mut frames, mut error) = (received.into_body(), 0, None);
    while let Some(data) = body.data().await {
        match data {
            Ok(data) => {
                body.flow_control().release_capacity(data.len()).unwrap();
                response.body.extend_from_slice(&data);
                frames += 1;
            }
            Err(found) => {
                error = Some(found);
                break;
            }
        }
    }
    response.complete = error.is_none();
    Ok(Received { response, frames, error })
}

async fn post(client: &SendRequest<Bytes>, body: &str) -> Result<Received, h2::Error> {
    ask(client, Method::POST, CHAT, chat(body)).await
}

fn faulty(fault: &str) -> SimHandle {
    serve(SimConfig { faults: vec![fault.parse().unwrap()], ..quick() })
}

const STREAM: &str = r#""stream":true,"max_tokens":8"#;

#[test]
fn streams_whole_responses_and_pages_come_over_one_connection() {
    let server = serve(quick());
    run(async {
        let client = connect(server.addr).await;
        let received = post(&client, STREAM).await.unwrap();
        assert_eq!(received.response.pieces().len(), 8);
        assert!(received.frames >= 10, "role, eight tokens, [DONE]: {}", received.frames);
        let received = post(&client, r#""max_tokens":8"#).await.unwrap();
        assert_eq!(received.response.json()["usage"]["completion_tokens"], 8);
        assert_eq!(ask(&client, Method::GET, "/v1/models", String::new()).await.unwrap().response.status, 200);
        assert_eq!(ask(&client, Method::GET, "/none", String::new()).await.unwrap().response.status, 404);
        assert_eq!(ask(&client, Method::POST, CHAT, "{".into()).await.unwrap().response.status, 400);
    });
}

#[test]
fn other_kinds_are_spoken_too() {
    let server = serve(SimConfig { video_time: "0".parse().unwrap(), ..quick() });
    run(async {
        let client = connect(server.addr).await;
        let body = r#"{"input":"a","max_output_tokens":3,"stream":true}"#.to_owned();
        let received = ask(&client, Method::POST, "/v1/responses", body).await.unwrap();
        assert_eq!(received.response.text().matches("event: response.output_text.delta\n").count(), 3);
        assert!(received.frames >= 11, "an event a frame: {}", received.frames);
        let body = r#"{"inputs":"a","parameters":{"max_new_tokens":3}}"#.to_owned();
        let received = ask(&client, Method::POST, "/generate_stream", body).await.unwrap();
        assert!(received.error.is_none() && received.response.text().contains("generated_text"));
        let form = "--B\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\na\r\n--B--\r\n".to_owned();
        let target = ("/v1/videos", "multipart/form-data; boundary=B");
        let job = ask_with(&client, Method::POST, target, form).await.unwrap().response.json();
        let path = format!("/v1/videos/{}", job["id"].as_str().unwrap());
        let polled = ask(&client, Method::GET, &path, String::new()).await.unwrap().response.json();
        assert_eq!(polled["status"], "completed");
        let content = ask(&client, Method::GET, &format!("{path}/content"), String::new()).await.unwrap();
        assert!(content.response.body.len() > 60_000 && content.error.is_none());
    });
}

#[test]
fn many_requests_are_answered_at_once() {
    let server = serve(SimConfig { ttft: "20".parse().unwrap(), itl: "1".parse().unwrap(), ..quick() });
    run(async {
        let client = connect(server.addr).await;
        let all: Vec<_> = (0..100)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move { post(&client, STREAM).await.unwrap() })
            })
            .collect();
        for received in all {
            let received = received.await.unwrap();
            assert!(received.response.complete);
            assert_eq!(received.response.pieces().len(), 8);
        }
    });
}

#[test]
fn windows_are_kept_to_both_ways() {
    let server = serve(quick());
    run(async {
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(50).initial_connection_window_size(70_000);
        let client = connect_with(server.addr, &builder).await;
        let received = post(&client, STREAM).await.unwrap();
        assert_eq!(received.response.pieces().len(), 8);
        let received = post(&client, r#""max_tokens":2000"#).await.unwrap();
        assert_eq!(received.response.json()["usage"]["completion_tokens"], 2000);
        let prompt = format!(r#"{{"prompt":"{}","max_tokens":1}}"#, "word ".repeat(200_000));
        let received = ask(&client, Method::POST, COMPLETIONS, prompt).await.unwrap();
        assert_eq!(received.response.json()["usage"]["prompt_tokens"], 200_000);
    });
}

#[test]
fn faults_end_a_stream_the_connection_or_what_comes_after() {
    run(async {
        let server = faulty("reset-midway=1");
        let client = connect(server.addr).await;
        for body in [STREAM, r#""max_tokens":8"#] {
            let received = post(&client, body).await.unwrap();
            assert!(received.error.unwrap().is_reset(), "the stream alone");
        }
        assert_eq!(ask(&client, Method::GET, "/health", String::new()).await.unwrap().response.status, 200);

        let server = faulty("reset=1");
        let client = connect(server.addr).await;
        assert!(post(&client, STREAM).await.err().unwrap().is_reset());

        let server = faulty("cut=1");
        let client = connect(server.addr).await;
        assert!(post(&client, STREAM).await.unwrap().error.is_some());
        assert!(ask(&client, Method::GET, "/health", String::new()).await.is_err());

        let server = faulty("goaway=1");
        let client = connect(server.addr).await;
        assert_eq!(post(&client, STREAM).await.unwrap().response.pieces().len(), 8);
        assert!(post(&client, STREAM).await.is_err());

        let server = faulty("status:503=1");
        let client = connect(server.addr).await;
        assert_eq!(post(&client, STREAM).await.unwrap().response.status, 503);
    });
}

/// The truth log of a streamed and a whole response.
fn truth_of_two_streams() -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.jsonl");
    let server = serve(SimConfig { truth_log: Some(path.clone()), ..quick() });
    run(async {
        let client = connect(server.addr).await;
        post(&client, STREAM).await.unwrap();
        post(&client, r#""max_tokens":8"#).await.unwrap();
    });
    server.stop().unwrap();
    let log = std::fs::read_to_string(path).unwrap();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_truth_log_has_a_line_for_every_stream() {
    let lines = stamped(truth_of_two_streams);
    assert_eq!(lines.len(), 2);
    for (line, (stream, chunks)) in lines.iter().zip([(1, 10), (3, 1)]) {
        assert_eq!((line["protocol"].as_str(), line["stream"].as_u64()), (Some("h2"), Some(stream)));
        assert_eq!(line["finished"], true);
        let mut latest = line["received_read_ns"].as_u64().unwrap();
        let found = line["chunks"].as_array().unwrap();
        assert_eq!(found.len(), chunks);
        for bracket in found {
            let (before, after) = (bracket[0].as_u64().unwrap(), bracket[1].as_u64().unwrap());
            assert!(latest <= before && before <= after);
            latest = after;
        }
    }
}

#[test]
fn a_burst_server_speaks_it_too() {
    let server = serve(SimConfig { burst: true, ..quick() });
    run(async {
        let client = connect(server.addr).await;
        for _ in 0..3 {
            assert_eq!(post(&client, STREAM).await.unwrap().response.pieces().len(), 32);
            assert_eq!(post(&client, "\"n\":1").await.unwrap().response.json()["usage"]["completion_tokens"], 32);
        }
    });
}

#[test]
fn metrics_pages_come_late_slowly_compressed_or_not_at_all() {
    let faults = ["delay:30ms=1", "trickle:50ms=2", "huge:500000=3", "gzip=4", "reset=5"];
    let metrics_faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    let server = serve(SimConfig { metrics_faults, ..quick() });
    run(async {
        let client = connect(server.addr).await;
        let get = |method| ask(&client, method, "/metrics", String::new());
        let head = get(Method::HEAD).await.unwrap().response;
        assert_eq!((head.status, head.body.len()), (200, 0));
        for page in 1..=3 {
            let received = get(Method::GET).await.unwrap();
            assert!(received.response.complete, "page {page}");
            assert!(received.response.text().contains("vllm:num_requests_running"), "page {page}");
            assert_eq!(received.response.body.len() > 500_000, page == 3, "page {page}");
        }
        assert!(get(Method::GET).await.unwrap().response.body.starts_with(&[0x1f, 0x8b]));
        let reset = get(Method::GET).await;
        assert!(reset.is_err_and(|error| error.is_reset()));
        assert_eq!(post(&client, STREAM).await.unwrap().response.pieces().len(), 8, "the connection lives on");
    });
}
