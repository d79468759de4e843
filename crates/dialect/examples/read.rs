//! Prints what a dialect parses from a response: `read TYPE [--streaming] < response`, where the response is a body as
//! a server sent it, without framing (`curl --no-buffer`).

use aiperf_dialect::{Api, Data, Delivery, ResponseParser};
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_types::{EndpointKind, MonoNs};
use serde_json::json;
use std::io::Read;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let name = args.next().ok_or("which endpoint type?")?;
    let kind = EndpointKind::parse(&name).ok_or("no such endpoint type")?;
    let streaming = args.next().as_deref() == Some("--streaming");
    let url = BaseUrl::parse("http://localhost")?;
    let endpoint = EndpointPlan { streaming, ..EndpointPlan::new(kind, vec![url]) };
    let api = Api::new(&endpoint, "m")?;
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    let mut parser = ResponseParser::new(&api, MonoNs(1)).capturing(&api);
    let mut vectors = json!(null);
    if streaming {
        parser.feed_stream(&bytes, MonoNs(2));
        parser.end_stream(MonoNs(3));
    } else {
        let text = String::from_utf8_lossy(&bytes);
        if let Some(piece) = (api.dialect.reader)(&api).read(&text, Delivery::Body) {
            vectors = match piece.data {
                Some(Data::Embeddings(vectors)) => vectors.values().collect(),
                Some(Data::Rankings(rankings)) => json!(rankings),
                _ => json!(null),
            };
        }
        parser.feed_body(&bytes, MonoNs(2));
    }
    let parsed = parser.finish();
    let read = json!({
        "text": parsed.output_text,
        "reasoning": parsed.reasoning_text,
        "usage": parsed.usage,
        "contents": parsed.content.len(),
        "data": vectors,
        "error": parsed.error,
    });
    println!("{read}");
    Ok(())
}
