//! Every API the server speaks beside chat and completions: whole responses, streams, refusals, and the log.

use std::num::NonZeroU32;

use aiperf_sim::{FaultRate, SimConfig};
use serde_json::{Value, json};

use crate::client::{CHAT, Client, Response, chat, header, quick, serve};
use crate::truth::log_of;

const JSON: &str = "application/json";
const FORM: &str = "multipart/form-data; boundary=XX";

fn send(client: &mut Client, start: &str, fields: &[(&str, &str)], body: &[u8]) -> Response {
    let fields: String = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("{start} HTTP/1.1\r\nHost: sim\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
    client.send(&[head.as_bytes(), body].concat());
    client.response().unwrap()
}

fn post(client: &mut Client, path: &str, body: &Value) -> Response {
    send(client, &format!("POST {path}"), &[("Content-Type", JSON)], body.to_string().as_bytes())
}

fn post_form(client: &mut Client, path: &str, body: &str) -> Response {
    send(client, &format!("POST {path}"), &[("Content-Type", FORM)], body.as_bytes())
}

/// A form with these texts and these files.
fn form(texts: &[(&str, &str)], files: &[(&str, &str, &str)]) -> String {
    let texts = texts.iter().map(|(name, text)| {
        format!(
            "--XX\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n\
             {text}\r\n"
        )
    });
    let files = files.iter().map(|(name, file, data)| {
        format!(
            "--XX\r\nContent-Type: application/octet-stream\r\n\
             Content-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"\r\n\r\n{data}\r\n"
        )
    });
    texts.chain(files).collect::<String>() + "--XX--\r\n"
}

/// The name (where it has one) and the data of each event.
fn events(response: &Response) -> Vec<(Option<String>, Value)> {
    assert!(response.complete, "{}", response.text());
    let event = |text: &str| {
        let mut lines = text.lines();
        let first = lines.next().unwrap();
        let (name, data) = match first.strip_prefix("event: ") {
            Some(name) => (Some(name.to_owned()), lines.next().unwrap()),
            None => (None, first),
        };
        (name, serde_json::from_str(data.strip_prefix("data:").unwrap()).unwrap())
    };
    response.text().split_terminator("\n\n").map(event).collect()
}

fn names(events: &[(Option<String>, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_deref().unwrap_or_default()).collect()
}

fn joined(events: &[(Option<String>, Value)], pointer: &str) -> String {
    events.iter().filter_map(|(_, event)| event.pointer(pointer)?.as_str()).collect()
}

fn words(text: &str) -> usize {
    text.split(' ').filter(|word| !word.is_empty()).count()
}

fn with_reasoning() -> SimConfig {
    SimConfig { reasoning_tokens: 2, ..quick() }
}

#[test]
fn a_response_is_streamed_item_by_item() {
    let server = serve(with_reasoning());
    let mut client = Client::connect(server.addr);
    let body = json!({"model": "m", "input": "a b", "instructions": "c", "max_output_tokens": 5, "stream": true,
        "previous_response_id": "resp_1"});
    let response = post(&mut client, "/v1/responses", &body);
    assert_eq!(header(&response.head, "content-type"), Some("text/event-stream; charset=utf-8"));
    let events = events(&response);
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_part.added",
        "response.reasoning_text.delta",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.reasoning_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(names(&events), expected);
    for (number, (name, event)) in events.iter().enumerate() {
        assert_eq!(event["type"], name.as_deref().unwrap());
        assert_eq!(event["sequence_number"], number);
    }
    let deltas: String = events[11..14].iter().map(|(_, event)| event["delta"].as_str().unwrap()).collect();
    assert_eq!(events[14].1["text"], deltas);
    let response = &events[17].1["response"];
    assert_eq!(response["output"][1]["content"][0]["text"], deltas);
    assert_eq!(response["status"], "incomplete");
    assert_eq!(response["previous_response_id"], "resp_1");
    assert_eq!(response["usage"]["input_tokens"], 3);
    assert_eq!(response["usage"]["output_tokens"], 5);
    assert_eq!(response["usage"]["output_tokens_details"]["reasoning_tokens"], 2);
}

#[test]
fn a_response_is_the_same_whole_as_in_events() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    let messages = json!([{"role": "user", "type": "message", "content": [{"type": "input_text", "text": "a b c"}]}]);
    let whole = post(&mut client, "/v1/responses", &json!({"input": messages})).json();
    assert_eq!(whole["object"], "response");
    assert_eq!(whole["status"], "completed");
    assert_eq!(whole["usage"]["input_tokens"], 3);
    assert_eq!(words(whole["output"][0]["content"][0]["text"].as_str().unwrap()), 32);
}

#[test]
fn a_message_is_streamed_block_by_block() {
    let server = serve(with_reasoning());
    let mut client = Client::connect(server.addr);
    let body = json!({"model": "m", "max_tokens": 4, "stream": true, "system": "a",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "b c"}]}]})
    .to_string();
    let fields = [("Content-Type", JSON), ("anthropic-version", "2023-06-01")];
    let events = events(&send(&mut client, "POST /v1/messages", &fields, body.as_bytes()));
    let expected = [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(names(&events), expected);
    assert!(events.iter().all(|(name, event)| event["type"] == name.as_deref().unwrap()));
    assert_eq!(words(&joined(&events, "/delta/thinking")), 2);
    assert_eq!(words(&joined(&events, "/delta/text")), 2);
    assert_eq!(events[0].1["message"]["usage"]["input_tokens"], 3);
    assert_eq!(events[11].1["delta"]["stop_reason"], "max_tokens");
    assert_eq!(events[11].1["usage"]["output_tokens"], 4);
}

#[test]
fn a_message_comes_whole_with_its_thinking() {
    let server = serve(with_reasoning());
    let body = json!({"max_tokens": 4, "messages": [{"role": "user", "content": "a"}]});
    let message = post(&mut Client::connect(server.addr), "/v1/messages", &body).json();
    assert_eq!(message["type"], "message");
    assert_eq!(words(message["content"][0]["thinking"].as_str().unwrap()), 2);
    assert_eq!(words(message["content"][1]["text"].as_str().unwrap()), 2);
    assert_eq!(message["usage"]["output_tokens"], 4);
}

#[test]
fn generate_streams_tokens_and_ends_with_the_whole_text() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    let body = json!({"inputs": "a b", "parameters": {"max_new_tokens": 3}});
    let streamed = post(&mut client, "/generate_stream", &body);
    assert!(streamed.text().starts_with("data:{"), "no space after the colon");
    let events = events(&streamed);
    assert_eq!(events.len(), 3);
    assert_eq!(words(&joined(&events, "/token/text")), 3);
    assert_eq!(events[1].1["generated_text"], Value::Null);
    assert_eq!(events[2].1["generated_text"], joined(&events, "/token/text"));
    assert_eq!(events[2].1["details"]["finish_reason"], "length");

    let details = json!({"inputs": "a b", "parameters": {"max_new_tokens": 3, "details": true}});
    let whole = post(&mut client, "/generate", &details).json();
    assert_eq!(words(whole["generated_text"].as_str().unwrap()), 3);
    assert_eq!(whole["details"]["generated_tokens"], 3);
}

#[test]
fn embeddings_take_texts_token_ids_and_conversations() {
    let server = serve(SimConfig { embedding_dim: NonZeroU32::new(4).unwrap(), ..quick() });
    let mut client = Client::connect(server.addr);
    for (body, vectors, tokens) in [
        (json!({"input": "a b"}), 1, 2),
        (json!({"input": ["a", "b c"]}), 2, 3),
        (json!({"input": [1, 2, 3]}), 1, 3),
        (json!({"input": [[1, 2], [3]]}), 2, 3),
        (json!({"messages": [{"role": "user", "content": "a b"}, {"role": "user", "content": "c"}]}), 1, 3),
    ] {
        let response = post(&mut client, "/v1/embeddings", &body).json();
        assert_eq!(response["data"].as_array().unwrap().len(), vectors, "{body}");
        assert_eq!(response["data"][0]["embedding"].as_array().unwrap().len(), 4);
        assert_eq!(response["usage"]["prompt_tokens"], tokens, "{body}");
    }
}

fn is_best_first(ranks: &[Value], score: &str) -> bool {
    ranks.windows(2).all(|pair| pair[0][score].as_f64() >= pair[1][score].as_f64())
}

#[test]
fn rankings_come_best_first_in_the_shape_of_each_server() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    for path in ["/v2/rerank", "/v1/rerank"] {
        let body = json!({"model": "m", "query": "q", "documents": ["a b", {"text": "c"}, "d"], "top_n": 2});
        let response = post(&mut client, path, &body).json();
        let results = response["results"].as_array().unwrap();
        assert_eq!(results.len(), 2);
        assert!(is_best_first(results, "relevance_score"));
        assert!(results[0]["document"]["text"].is_string());
        assert_eq!(response["usage"]["total_tokens"], 7, "the query with each document");
    }
    let ranks = post(&mut client, "/rerank", &json!({"query": "q", "texts": ["a", "b"], "return_text": true})).json();
    let ranks = ranks.as_array().unwrap();
    assert_eq!(ranks.len(), 2);
    assert!(is_best_first(ranks, "score") && ranks[0]["text"].is_string());
    let body = json!({"model": "m", "query": {"text": "q"}, "passages": [{"text": "a"}, {"text": "b"}]});
    let rankings = post(&mut client, "/v1/ranking", &body).json();
    let rankings = rankings["rankings"].as_array().unwrap();
    assert_eq!(rankings.len(), 2);
    assert!(is_best_first(rankings, "logit"));
}

#[test]
fn images_come_whole_or_as_events_and_edits_take_a_form() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    let body = json!({"prompt": "a b", "n": 2, "response_format": "b64_json"});
    let whole = post(&mut client, "/v1/images/generations", &body).json();
    assert_eq!(whole["data"].as_array().unwrap().len(), 2);
    assert!(whole["data"][1]["b64_json"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    assert_eq!(whole["usage"]["input_tokens"], 2);

    let body = json!({"prompt": "a", "stream": true, "partial_images": 2});
    let events = events(&post(&mut client, "/v1/images/generations", &body));
    let partial = "image_generation.partial_image";
    assert_eq!(names(&events), [partial, partial, "image_generation.completed"]);
    assert_eq!(events[1].1["partial_image_index"], 1);
    assert!(events[2].1["b64_json"].is_string());

    let edit = form(&[("prompt", "a"), ("model", "m"), ("n", "1")], &[("image", "image.png", "png")]);
    let edited = post_form(&mut client, "/v1/images/edits", &edit);
    assert_eq!(edited.status, 200, "{}", edited.text());
    assert!(edited.json()["data"][0]["b64_json"].is_string());
    let linked = form(&[("prompt", "a"), ("url", "http://host/x.png")], &[]);
    assert_eq!(post_form(&mut client, "/v1/images/edits", &linked).status, 200);
}

#[test]
fn a_transcription_is_json_or_text() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    let path = "/v1/audio/transcriptions";
    let mut wav = "RIFF....WAVEfmt ....0000".to_owned() + "0000" + "\u{10}\0\0\0";
    wav.extend(std::iter::repeat_n('x', 12 + 40));
    let response = post_form(&mut client, path, &form(&[("model", "m")], &[("file", "audio.wav", &wav)])).json();
    assert_eq!(words(response["text"].as_str().unwrap()), 32);
    assert_eq!(response["usage"], json!({"type": "duration", "seconds": 3}), "40 bytes at 16 a second");
    let text = post_form(&mut client, path, &form(&[("response_format", "text")], &[("file", "a.mp3", "mp3")]));
    assert_eq!(header(&text.head, "content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(words(text.text()), 32);
}

#[test]
fn image_retrieval_gives_boxes_for_each_image() {
    let server = serve(quick());
    let image = json!({"type": "image_url", "url": "data:image/png;base64,AAAA"});
    let response = post(&mut Client::connect(server.addr), "/v1/infer", &json!({"input": [image, image]})).json();
    assert_eq!(response["data"].as_array().unwrap().len(), 2);
    assert!(response["data"][1]["bounding_boxes"]["table"][0]["x_min"].is_number());
}

#[test]
fn solido_streams_where_events_are_accepted() {
    let server = serve(SimConfig { osl: NonZeroU32::new(3).unwrap(), ..quick() });
    let mut client = Client::connect(server.addr);
    let body = json!({"query": ["a b"], "filters": {"tool": "SDE"}, "inference_model": "m"}).to_string();
    let whole = send(&mut client, "POST /rag/api/prompt", &[("Content-Type", JSON)], body.as_bytes()).json();
    assert_eq!(words(whole["content"].as_str().unwrap()), 3);
    assert_eq!(whole["sources"][0]["filters"]["tool"], "SDE");
    let fields = [("Content-Type", JSON), ("Accept", "text/event-stream")];
    let events = events(&send(&mut client, "POST /rag/api/prompt", &fields, body.as_bytes()));
    assert_eq!(words(&joined(&events, "/content")), 3);
    assert!(events[3].1["sources"].is_array());
}

fn submit(client: &mut Client) -> String {
    let job =
        post_form(client, "/v1/videos", &form(&[("prompt", "a b"), ("model", "m"), ("seconds", "8")], &[])).json();
    assert_eq!(job["object"], "video");
    assert_eq!(job["status"], "queued");
    assert_eq!(job["seconds"], "8");
    job["id"].as_str().unwrap().to_owned()
}

/// Asks about a job until it is over.
fn outcome(client: &mut Client, id: &str) -> (Vec<String>, Value) {
    let mut seen = Vec::new();
    loop {
        let job = client.get(&format!("/v1/videos/{id}")).json();
        let status = job["status"].as_str().unwrap().to_owned();
        if seen.last() != Some(&status) {
            seen.push(status.clone());
        }
        if matches!(status.as_str(), "completed" | "failed") {
            return (seen, job);
        }
    }
}

#[test]
fn a_video_job_is_submitted_asked_about_and_fetched() {
    let config = SimConfig { video_time: "200".parse().unwrap(), ..quick() };
    let lines = log_of(config, |client| {
        let id = submit(client);
        assert_eq!(client.get(&format!("/v1/videos/{id}/content")).status, 404, "not made yet");
        let (seen, job) = outcome(client, &id);
        assert_eq!(seen, ["queued", "in_progress", "completed"]);
        assert_eq!(job["progress"], 100);
        assert_eq!(job["inference_time_s"], 0.2);
        assert!(job["peak_memory_mb"].is_number());
        let content = client.get(&format!("/v1/videos/{id}/content"));
        assert_eq!(header(&content.head, "content-type"), Some("video/mp4"));
        assert_eq!(&content.body[4..12], b"ftypisom");
        assert!(content.complete);
        assert_eq!(client.get("/v1/videos/nobody").json(), json!({"detail": "Video not found"}));
    });
    assert_eq!(lines[0]["endpoint"], "video_generation");
    let last_poll = lines.iter().rfind(|line| line["job_status"] == "completed").unwrap();
    assert_eq!(last_poll["job"], lines[0]["job"]);
    assert_eq!(last_poll["method"], "GET");
    assert_eq!(last_poll["path"], format!("/v1/videos/{}", lines[0]["job"].as_str().unwrap()));
    let fetched = lines.iter().find(|line| line["video_bytes"].is_number()).unwrap();
    assert_eq!((&fetched["endpoint"], &fetched["finished"]), (&"video_content".into(), &true.into()));
    assert_eq!(lines.last().unwrap()["status"], 404);
}

#[test]
fn a_video_job_may_fail() {
    let server = serve(SimConfig { video_time: "1".parse().unwrap(), video_failures: 1.0, ..quick() });
    let mut client = Client::connect(server.addr);
    let id = submit(&mut client);
    let (_, job) = outcome(&mut client, &id);
    assert_eq!(job["status"], "failed");
    assert!(job["error"]["message"].is_string());
    assert_eq!(client.get(&format!("/v1/videos/{id}/content")).status, 404);
}

#[test]
fn questions_about_jobs_take_no_place_in_the_batch() {
    let one_at_a_time = std::num::NonZeroUsize::new(1);
    let config = SimConfig { video_time: "0".parse().unwrap(), itl: "60s".parse().unwrap(), ..quick() };
    let server = serve(SimConfig { max_running: one_at_a_time, ..config });
    let mut client = Client::connect(server.addr);
    let id = submit(&mut client);
    let mut other = Client::connect(server.addr);
    other.send(&crate::client::request(CHAT, &chat(r#""stream":true"#), "long"));
    other.read_head();
    other.next_chunk(&mut Vec::new());
    assert_eq!(client.get(&format!("/v1/videos/{id}")).json()["status"], "completed");
}

#[test]
fn a_download_may_be_cut() {
    let fault: FaultRate = "cut=0.5".parse().unwrap();
    let server = serve(SimConfig { faults: vec![fault], video_time: "0".parse().unwrap(), ..quick() });
    let body = form(&[("prompt", "a")], &[]);
    // Which requests meet the fault is a matter of the seed, not of time.
    let mut submissions = (0..50).map(|_| post_form(&mut Client::connect(server.addr), "/v1/videos", &body));
    let job = submissions.find(|response| response.complete).unwrap().json();
    let path = format!("/v1/videos/{}/content", job["id"].as_str().unwrap());
    let fetched: Vec<bool> = (0..50).map(|_| Client::connect(server.addr).get(&path).complete).collect();
    assert!(fetched.contains(&true) && fetched.contains(&false));
}

#[test]
fn scripted_latency_is_that_of_every_kind() {
    let config = SimConfig { ttft: "20".parse().unwrap(), itl: "5".parse().unwrap(), ..quick() };
    let lines = log_of(config, |client| {
        post(client, "/v1/responses", &json!({"input": "a", "max_output_tokens": 3, "stream": true}));
        post(client, "/v1/messages", &json!({"messages": [], "max_tokens": 3, "stream": true}));
        post(client, "/generate_stream", &json!({"inputs": "a", "parameters": {"max_new_tokens": 3}}));
        post(client, "/v1/images/generations", &json!({"prompt": "a", "stream": true, "partial_images": 2}));
        post(client, "/generate", &json!({"inputs": "a", "parameters": {"max_new_tokens": 3}}));
        post(client, "/rerank", &json!({"query": "a", "texts": ["b"]}));
    });
    for (number, line) in lines.iter().enumerate() {
        let arrived = line["received_read_ns"].as_u64().unwrap();
        let content = line["chunks"].as_array().unwrap().iter().filter(|chunk| chunk[2] == 1);
        let after: Vec<u64> = content.map(|chunk| chunk[0].as_u64().unwrap() - arrived).collect();
        let least: &[u64] = match number {
            0..=3 => &[20_000_000, 25_000_000, 30_000_000],
            4 => &[30_000_000],
            _ => &[20_000_000],
        };
        assert_eq!(after.len(), least.len(), "{line}");
        assert!(after.iter().zip(least).all(|(after, least)| after >= least), "{line}");
    }
}

#[test]
fn questions_about_jobs_meet_faults_of_hooks_and_are_no_inference() {
    let fault: FaultRate = "hook-status:503,1=1".parse().unwrap();
    let server = serve(SimConfig { faults: vec![fault], video_time: "0".parse().unwrap(), ..quick() });
    let mut client = Client::connect(server.addr);
    let id = submit(&mut client);
    assert_eq!(client.get(&format!("/v1/videos/{id}")).status, 503);
    assert_eq!(client.get(&format!("/v1/videos/{id}")).json()["status"], "completed");
    let page = client.get("/metrics").text().to_owned();
    let finished: f64 = page
        .lines()
        .filter(|line| line.starts_with("vllm:request_success_total{"))
        .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
        .sum();
    assert_eq!(finished, 1.0, "the submission");
}

#[test]
fn bodies_that_lack_something_are_refused_in_the_words_of_each_server() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    for (path, body, status, pointer) in [
        ("/v1/responses", json!({}), 400, "/error/message"),
        ("/v1/responses", json!({"input": "a", "max_output_tokens": 0}), 400, "/error/message"),
        ("/v1/messages", json!({"messages": []}), 400, "/error/message"),
        ("/v1/messages", json!({"max_tokens": 1}), 400, "/error/type"),
        ("/generate", json!({"inputs": ""}), 422, "/error_type"),
        ("/generate", json!({"inputs": "a", "parameters": {"max_new_tokens": 0}}), 422, "/error"),
        ("/v1/embeddings", json!({}), 400, "/error/message"),
        ("/v2/rerank", json!({"query": "q"}), 400, "/error/message"),
        ("/rerank", json!({"query": "q", "texts": []}), 400, "/error_type"),
        ("/v1/ranking", json!({"query": {"text": "q"}}), 422, "/message"),
        ("/v1/images/generations", json!({}), 422, "/detail/0/msg"),
        ("/v1/images/generations", json!({"prompt": "a", "n": 99}), 400, "/detail"),
        ("/v1/infer", json!({"input": []}), 422, "/message"),
        ("/v1/infer", json!({"input": [{"type": "image_url", "url": "http://x"}]}), 422, "/message"),
        ("/rag/api/prompt", json!({"query": ["a"]}), 422, "/detail/0/loc/1"),
    ] {
        let response = post(&mut client, path, &body);
        assert_eq!(response.status, status, "{path} {body}");
        assert!(response.json().pointer(pointer).is_some_and(Value::is_string), "{path} {}", response.text());
    }
    let missing = post(&mut client, "/generate", &json!({}));
    assert_eq!((missing.status, header(&missing.head, "content-type")), (422, Some("text/plain; charset=utf-8")));
}

#[test]
fn other_content_types_are_refused() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    let chat = chat(r#""max_tokens":1"#);
    for (path, body, status) in
        [(CHAT, chat.as_str(), 400), ("/generate", r#"{"inputs":"a"}"#, 415), ("/v1/infer", r#"{"input":[]}"#, 422)]
    {
        let start = format!("POST {path}");
        assert_eq!(
            send(&mut client, &start, &[("Content-Type", "text/plain")], body.as_bytes()).status,
            status,
            "{path}"
        );
    }
    for path in ["/v1/videos", "/v1/images/edits"] {
        assert_eq!(post(&mut client, path, &json!({"prompt": "a"})).status, 422, "{path}");
    }
    assert_eq!(post(&mut client, "/v1/audio/transcriptions", &json!({})).status, 400);
}

#[test]
fn broken_forms_and_forms_without_their_file_are_refused() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    let texts = [("prompt", "a"), ("model", "m")];
    for (path, file, missing) in [("/v1/images/edits", "image", 422), ("/v1/audio/transcriptions", "file", 400)] {
        let good = form(&texts, &[(file, "a.bin", "data")]);
        assert_eq!(post_form(&mut client, path, &good).status, 200, "{path}");
        for without in
            [form(&texts, &[]), form(&texts, &[(file, "a.bin", "")]), form(&[("prompt", "a"), (file, "b")], &[])]
        {
            assert_eq!(post_form(&mut client, path, &without).status, missing, "{path} {without}");
        }
        for broken in
            [good.replace("--XX--", "--XX"), good.replacen("--XX", "--YY", 1), good.replace("\r\n\r\n", "\n\n")]
        {
            assert_eq!(post_form(&mut client, path, &broken).status, 400, "{path} {broken}");
        }
    }
}

#[test]
fn faults_strike_new_kinds_as_they_strike_chat() {
    let with = |fault: &str| serve(SimConfig { faults: vec![fault.parse().unwrap()], ..quick() });
    let streams = [
        ("/v1/responses", json!({"input": "a", "max_output_tokens": 4, "stream": true})),
        ("/v1/messages", json!({"messages": [], "max_tokens": 4, "stream": true})),
        ("/generate_stream", json!({"inputs": "a", "parameters": {"max_new_tokens": 4}})),
        ("/v1/images/generations", json!({"prompt": "a", "stream": true, "partial_images": 3})),
    ];
    for (path, body) in &streams {
        let cut = post(&mut Client::connect(with("cut=1").addr), path, body);
        assert!(!cut.complete && cut.status == 200, "{path}");
        let failed = post(&mut Client::connect(with("error-event=1").addr), path, body);
        assert!(failed.complete && failed.text().contains("event: error\ndata:"), "{path}");
        let failed = post(&mut Client::connect(with("error-data=1").addr), path, body);
        assert!(failed.complete && !failed.text().contains("event: error"), "{path}");
        let broken = post(&mut Client::connect(with("malformed-json=1").addr), path, body);
        assert!(broken.complete, "{path}");
        let is_broken = |event: &str| {
            let data = event.lines().last().unwrap().strip_prefix("data:").unwrap();
            serde_json::from_str::<Value>(data).is_err()
        };
        assert_eq!(broken.text().split_terminator("\n\n").filter(|event| is_broken(event)).count(), 1, "{path}");
        assert_eq!(post(&mut Client::connect(with("status:503=1").addr), path, body).status, 503);
        let stalled = post(&mut Client::connect(with("stall:1=1").addr), path, body);
        assert!(stalled.complete, "{path}");
    }
    let cut = post(&mut Client::connect(with("cut=1").addr), "/v2/rerank", &json!({"query": "q", "documents": ["a"]}));
    assert!(!cut.complete);
}

#[test]
fn every_kind_has_its_line_in_the_truth_log() {
    let asked = [
        (
            "/v1/responses",
            json!({"input": "a b", "max_output_tokens": 2, "stream": true, "store": true, "previous_response_id": "resp_0"}),
            "responses",
            2,
            2,
        ),
        ("/v1/messages", json!({"messages": [{"role": "user", "content": "a"}], "max_tokens": 3}), "messages", 1, 3),
        ("/generate_stream", json!({"inputs": "a b", "parameters": {"max_new_tokens": 3}}), "generate", 2, 3),
        ("/v1/embeddings", json!({"input": "a b"}), "embeddings", 2, 0),
        ("/v2/rerank", json!({"query": "q", "documents": ["a"]}), "rerank", 2, 0),
        ("/rerank", json!({"query": "q", "texts": ["a"]}), "tei_rerank", 2, 0),
        ("/v1/ranking", json!({"query": {"text": "q"}, "passages": [{"text": "a"}]}), "nim_ranking", 2, 0),
        (
            "/v1/images/generations",
            json!({"prompt": "a", "stream": true, "partial_images": 1}),
            "image_generation",
            1,
            0,
        ),
        (
            "/v1/infer",
            json!({"input": [{"type": "image_url", "url": "data:image/png;base64,AA=="}]}),
            "image_retrieval",
            0,
            0,
        ),
        ("/rag/api/prompt", json!({"query": ["a"], "filters": {}, "inference_model": "m"}), "solido_rag", 1, 32),
    ];
    let lines = log_of(quick(), |client| {
        for (path, body, ..) in &asked {
            let fields = [("X-Request-ID", *path), ("X-Correlation-ID", "c-1"), ("Content-Type", JSON)];
            let response = send(client, &format!("POST {path}"), &fields, body.to_string().as_bytes());
            assert_eq!(response.status, 200, "{path}");
        }
        post_form(client, "/v1/images/edits", &form(&[("prompt", "a")], &[("image", "a.png", "x")]));
        post_form(client, "/v1/audio/transcriptions", &form(&[], &[("file", "a.wav", "x")]));
        post_form(client, "/v1/videos", &form(&[], &[]));
    });
    assert_eq!(lines.len(), asked.len() + 3);
    for ((path, _, endpoint, prompt, output), line) in asked.iter().zip(&lines) {
        assert_eq!(line["x_request_id"], *path);
        assert_eq!(line["correlation_id"], "c-1");
        assert_eq!(line["path"], *path);
        assert_eq!(line["endpoint"], *endpoint);
        assert_eq!((&line["prompt_tokens"], &line["output_tokens"]), (&json!(prompt), &json!(output)), "{path}");
        assert_eq!(line["finished"], true);
        let carried = line["chunks"].as_array().unwrap().iter().filter(|chunk| chunk[2] == 1).count();
        assert!(carried >= 1, "{path}");
    }
    let carried: Vec<_> = lines[0]["chunks"].as_array().unwrap().iter().map(|chunk| chunk[2].clone()).collect();
    assert_eq!(carried, [0, 0, 0, 0, 1, 1, 0, 0, 0, 0], "two deltas among what surrounds them");
    assert_eq!((&lines[0]["store"], &lines[0]["previous_response_id"]), (&json!(true), &json!("resp_0")));
    assert_eq!(lines[asked.len()]["endpoint"], "image_edit");
    assert_eq!(lines[asked.len() + 1]["audio_bytes"], 1);
    let refused = &lines[asked.len() + 2];
    assert_eq!((&refused["status"], &refused["endpoint"]), (&json!(422), &json!("video_generation")));
    assert!(refused.get("prompt_tokens").is_none());
}

#[test]
fn a_burst_server_answers_every_kind() {
    let server = serve(SimConfig { burst: true, osl: NonZeroU32::new(3).unwrap(), ..quick() });
    let mut client = Client::connect(server.addr);
    let streamed = post(&mut client, "/v1/responses", &json!({"input": "a", "stream": true}));
    assert_eq!(words(&joined(&events(&streamed), "/delta")), 3);
    let streamed = post(&mut client, "/v1/messages", &json!({"stream": true}));
    assert_eq!(words(&joined(&events(&streamed), "/delta/text")), 3);
    assert_eq!(events(&post(&mut client, "/generate_stream", &json!({}))).len(), 3);
    assert!(post(&mut client, "/rerank", &json!({})).json().is_array());
    let id = post_form(&mut client, "/v1/videos", "").json()["id"].as_str().unwrap().to_owned();
    assert_eq!(client.get(&format!("/v1/videos/{id}")).json()["status"], "completed");
    assert_eq!(client.get(&format!("/v1/videos/{id}/content")).status, 200);
}
