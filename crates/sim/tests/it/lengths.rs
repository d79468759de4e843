//! What is in a response: how many tokens, in how many events, and their `usage`.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use aiperf_sim::SimConfig;
use serde_json::json;

use crate::client::{CHAT, COMPLETIONS, Client, chat, quick, request, serve};

#[test]
fn a_stream_has_the_tokens_asked_for() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    for limit in [1, 2, 64] {
        let response = client.post(CHAT, &chat(&format!(r#""stream":true,"max_tokens":{limit}"#)));
        assert_eq!(response.pieces().len(), limit);
        assert_eq!(response.data().last(), Some(&"[DONE]"));
        assert!(response.complete);
        let finish: Vec<_> =
            response.events().iter().map(|event| event["choices"][0]["finish_reason"].clone()).collect();
        assert_eq!(finish.last(), Some(&json!("length")));
        assert!(finish[..limit].iter().all(|reason| reason.is_null()));
    }
}

#[test]
fn usage_is_streamed_only_when_asked_for() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    let usages = |members: &str, client: &mut Client| -> Vec<_> {
        let events = client.post(CHAT, &chat(members)).events();
        events.iter().map(|event| event["usage"].clone()).filter(|usage| !usage.is_null()).collect()
    };
    assert!(usages(r#""stream":true,"max_tokens":3"#, &mut client).is_empty());
    let at_end = usages(r#""stream":true,"max_tokens":3,"stream_options":{"include_usage":true}"#, &mut client);
    assert_eq!(at_end.len(), 1);
    assert_eq!(at_end[0]["prompt_tokens"], 3);
    assert_eq!(at_end[0]["completion_tokens"], 3);
    assert_eq!(at_end[0]["total_tokens"], 6);
    let options = r#""stream_options":{"include_usage":true,"continuous_usage_stats":true}"#;
    let all = usages(&format!(r#""stream":true,"max_tokens":3,{options}"#), &mut client);
    let counts: Vec<_> = all.iter().map(|usage| usage["completion_tokens"].as_u64().unwrap()).collect();
    assert_eq!(counts, [0, 1, 2, 3, 3]);
}

#[test]
fn a_whole_response_always_reports_its_usage() {
    let server = serve(quick());
    let response = Client::connect(server.addr).post(CHAT, &chat(r#""max_tokens":5"#)).json();
    assert_eq!(response["usage"]["completion_tokens"], 5);
    assert_eq!(response["choices"][0]["message"]["content"].as_str().unwrap().split_whitespace().count(), 5);
}

#[test]
fn without_a_limit_the_model_stops_at_the_configured_length() {
    let server = serve(SimConfig { osl: NonZeroU32::new(7).unwrap(), ..quick() });
    let response = Client::connect(server.addr).post(CHAT, &chat(r#""stream":true"#));
    assert_eq!(response.pieces().len(), 7);
    let events = response.events();
    let last = events.last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert_eq!(last["choices"][0]["delta"]["content"], "");
}

#[test]
fn an_early_stop_is_held_off_by_ignore_eos() {
    let server = serve(SimConfig { eos: Some("4".parse().unwrap()), ..quick() });
    let mut client = Client::connect(server.addr);
    let early = client.post(CHAT, &chat(r#""stream":true,"max_tokens":9"#));
    assert_eq!(early.pieces().len(), 4);
    let held = client.post(CHAT, &chat(r#""stream":true,"max_tokens":9,"ignore_eos":true"#));
    assert_eq!(held.pieces().len(), 9);
}

#[test]
fn an_event_may_carry_several_tokens() {
    let server = serve(SimConfig { tokens_per_chunk: NonZeroU32::new(4).unwrap(), ..quick() });
    let response = Client::connect(server.addr).post(CHAT, &chat(r#""stream":true,"max_tokens":10"#));
    let sizes: Vec<_> = response.pieces().iter().map(|text| text.split_whitespace().count()).collect();
    assert_eq!(sizes, [4, 4, 2]);
}

#[test]
fn the_end_of_a_stream_may_be_a_write_of_its_own() {
    let end_delay = Duration::from_millis(50);
    let server = serve(SimConfig { end_delay, ..quick() });
    let mut client = Client::connect(server.addr);
    let begun = Instant::now();
    let response = client.post(CHAT, &chat(r#""stream":true,"max_tokens":3"#));
    assert!(begun.elapsed() >= end_delay);
    assert_eq!((response.pieces().len(), response.data().last()), (3, Some(&"[DONE]")));
    let whole = client.post(CHAT, &chat(r#""max_tokens":3"#));
    assert_eq!(whole.status, 200, "a whole response has no end of its own");
}

#[test]
fn reasoning_comes_first_and_is_counted() {
    let tokens_per_chunk = NonZeroU32::new(2).unwrap();
    let server = serve(SimConfig { reasoning_tokens: 3, tokens_per_chunk, ..quick() });
    let mut client = Client::connect(server.addr);
    let response = client.post(CHAT, &chat(r#""stream":true,"max_tokens":6,"stream_options":{"include_usage":true}"#));
    let events = response.events();
    let kinds: Vec<_> = events[1..events.len() - 1]
        .iter()
        .map(|event| event["choices"][0]["delta"].as_object().unwrap().keys().next().unwrap().clone())
        .collect();
    assert_eq!(kinds, ["reasoning_content", "reasoning_content", "content", "content"]);
    let usage = &events.last().unwrap()["usage"];
    assert_eq!(usage["completion_tokens"], 6);
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 3);

    let whole = client.post(CHAT, &chat(r#""max_tokens":6"#)).json();
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["reasoning_content"].as_str().unwrap().split_whitespace().count(), 3);
    assert_eq!(message["content"].as_str().unwrap().split_whitespace().count(), 3);
}

#[test]
fn embeddings_are_as_long_as_configured() {
    let server = serve(SimConfig { embedding_dim: NonZeroU32::new(5).unwrap(), ..quick() });
    let response = Client::connect(server.addr).post("/v1/embeddings", r#"{"model":"m","input":["a b","c"]}"#).json();
    assert_eq!(response["data"].as_array().unwrap().len(), 2);
    assert_eq!(response["data"][1]["embedding"].as_array().unwrap().len(), 5);
    assert_eq!(response["usage"]["prompt_tokens"], 3);
}

#[test]
fn requests_sent_ahead_are_answered_in_order() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    let mut bytes = Vec::new();
    for limit in [3, 1, 2] {
        let body = format!(r#"{{"prompt":"a","stream":true,"max_tokens":{limit}}}"#);
        bytes.extend(request(COMPLETIONS, &body, "ahead"));
    }
    // In two pieces, cut inside the second request.
    let cut = bytes.len() / 2;
    client.send(&bytes[..cut]);
    std::thread::sleep(std::time::Duration::from_millis(5));
    client.send(&bytes[cut..]);
    for limit in [3, 1, 2] {
        assert_eq!(client.response().unwrap().pieces().len(), limit);
    }
}

#[test]
fn a_client_that_wants_the_connection_closed_gets_it_closed() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    client.send(b"GET /health HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n");
    let response = client.response().unwrap();
    assert_eq!(response.status, 200);
    assert!(response.head.contains("connection: close"));
    assert!(client.response().is_err());
}

#[test]
fn unknown_paths_and_methods_are_refused() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    assert_eq!(client.get("/nowhere").status, 404);
    assert_eq!(client.get(CHAT).status, 405);
    assert_eq!(client.post("/health", "{}").status, 405);
}

#[test]
fn several_threads_serve_one_port() {
    let server = serve(SimConfig { threads: 3.try_into().unwrap(), ..quick() });
    let mut clients: Vec<_> = (0..12).map(|_| Client::connect(server.addr)).collect();
    for client in &mut clients {
        assert_eq!(client.post(CHAT, &chat(r#""stream":true,"max_tokens":4"#)).pieces().len(), 4);
    }
    let page = clients[0].get("/metrics");
    assert!(page.text().contains("vllm:generation_tokens_total{engine=\"0\",model_name=\"sim\"} 48.0"));
}
