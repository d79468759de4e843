//! Content encodings of responses.

use std::io::{Read, Write};

use aiperf_sim::SimConfig;
use flate2::read::{GzDecoder, ZlibDecoder};

use crate::client::{CHAT, Client, Response, chat, header, quick, request, serve};

fn decoded(encoding: &str, body: &[u8]) -> String {
    let mut text = String::new();
    match encoding {
        "gzip" => GzDecoder::new(body).read_to_string(&mut text).unwrap(),
        _ => ZlibDecoder::new(body).read_to_string(&mut text).unwrap(),
    };
    text
}

#[test]
fn whole_responses_and_streams_are_encoded() {
    for encoding in ["gzip", "deflate"] {
        let server = serve(SimConfig { encoding: Some(encoding.parse().unwrap()), ..quick() });
        let mut client = Client::connect(server.addr);
        let response = client.post(CHAT, &chat(r#""max_tokens":3"#));
        assert_eq!(header(&response.head, "content-encoding"), Some(encoding));
        let value: serde_json::Value = serde_json::from_str(&decoded(encoding, &response.body)).unwrap();
        assert_eq!(value["usage"]["completion_tokens"], 3);

        let response = client.post(CHAT, &chat(r#""stream":true,"max_tokens":3"#));
        assert_eq!(header(&response.head, "content-encoding"), Some(encoding));
        let plain = Response { body: decoded(encoding, &response.body).into_bytes(), ..response };
        assert_eq!(plain.pieces().len(), 3);
        assert!(plain.text().ends_with("data: [DONE]\n\n"));
        assert_eq!(client.get("/health").status, 200, "the connection lives on");
    }
}

#[test]
fn each_chunk_of_an_encoded_stream_gives_back_its_event() {
    let server = serve(SimConfig { encoding: Some("deflate".parse().unwrap()), ..quick() });
    let mut client = Client::connect(server.addr);
    client.send(&request(CHAT, &chat(r#""stream":true,"max_tokens":4"#), "e"));
    let chunks = client.chunks();
    let mut decoder = flate2::write::ZlibDecoder::new(Vec::new());
    for chunk in &chunks {
        decoder.write_all(chunk).unwrap();
        decoder.flush().unwrap();
        let event = String::from_utf8(std::mem::take(decoder.get_mut())).unwrap();
        assert!(event.starts_with("data: ") && event.ends_with("\n\n"), "{event:?}");
        assert_eq!(event.matches("data: ").count(), 1, "{event:?}");
    }
    assert_eq!(chunks.len(), 6, "role, four tokens, [DONE]");
}
