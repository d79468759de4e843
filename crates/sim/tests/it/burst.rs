//! Responses made beforehand.

use std::num::NonZeroU32;

use aiperf_sim::SimConfig;

use crate::client::{CHAT, COMPLETIONS, Client, chat, quick, request, serve};

#[test]
fn a_burst_response_is_a_whole_stream_of_the_configured_length() {
    let server = serve(SimConfig { burst: true, ..quick() });
    let mut client = Client::connect(server.addr);
    for path in [CHAT, COMPLETIONS] {
        let response = client.post(path, &chat(r#""stream":true,"max_tokens":5"#));
        assert_eq!(response.pieces().len(), 32);
        assert!(response.complete);
        assert_eq!(response.data().last(), Some(&"[DONE]"));
        let events = response.events();
        assert_eq!(events[events.len() - 2]["choices"][0]["finish_reason"], "length");
        assert_eq!(events[events.len() - 1]["usage"]["completion_tokens"], 32);
    }
    let whole = client.post(CHAT, &chat(r#""max_tokens":5"#)).json();
    assert_eq!(whole["usage"]["completion_tokens"], 32);
    assert_eq!(client.post("/v1/embeddings", r#"{"input":"a"}"#).json()["object"], "list");
}

#[test]
fn pages_are_served_between_bursts_and_count_them() {
    let server = serve(SimConfig { burst: true, osl: NonZeroU32::new(4).unwrap(), ..quick() });
    let mut client = Client::connect(server.addr);
    let ask = request(CHAT, &chat(r#""stream":true"#), "b");
    // Three at once and in odd pieces.
    let bytes = [ask.as_slice(), &ask, &ask].concat();
    for piece in bytes.chunks(bytes.len() / 5) {
        client.send(piece);
    }
    for _ in 0..3 {
        assert_eq!(client.response().unwrap().pieces().len(), 4);
    }
    assert_eq!(client.get("/health").status, 200);
    assert_eq!(client.get("/v1/models").json()["data"][0]["id"], "sim");
    let page = client.get("/metrics");
    assert!(page.text().contains("vllm:generation_tokens_total{engine=\"0\",model_name=\"sim\"} 12.0"));
    assert!(page.text().contains("vllm:request_generation_tokens_count{engine=\"0\",model_name=\"sim\"} 3.0"));
    assert_eq!(client.get("/nowhere").status, 404);
}
