//! The two steps for every streamed chunk on a record thread: cutting it out of the stream, and parsing its JSON.

use aiperf_dialect::{Api, Delivery, ResponseParser, sse::Splitter};
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_types::{EndpointKind, MonoNs};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const CHUNK: &str = "data: {\"id\":\"chatcmpl-a61a8da5f6a66d6b\",\"object\":\"chat.completion.chunk\",\"created\":1794702553,\
\"model\":\"tiny\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" ke\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n";

const RESPONSES_DELTA: &str = "event: response.output_text.delta\ndata: {\"content_index\":0,\"delta\":\" ke\",\
\"item_id\":\"msg_aa0b522826d068bb\",\"logprobs\":[],\"output_index\":0,\"sequence_number\":4,\
\"type\":\"response.output_text.delta\"}\n\n";

const MESSAGES_DELTA: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\
\"delta\":{\"type\":\"text_delta\",\"text\":\" ke\"},\"index\":0}\n\n";

/// A plan's endpoint with nothing special about it.
fn endpoint(kind: EndpointKind) -> EndpointPlan {
    EndpointPlan::new(kind, vec![BaseUrl::parse("http://localhost:8000").expect("a URL")])
}

fn parse(c: &mut Criterion) {
    let chat = Api::new(&endpoint(EndpointKind::Chat), "tiny").expect("an endpoint");
    let json = CHUNK.trim().strip_prefix("data: ").expect("a data field");
    let mut group = c.benchmark_group("chunk");
    group.throughput(Throughput::Elements(1));
    group.bench_function("json", |b| {
        let mut reader = (chat.dialect.reader)(&chat);
        b.iter(|| reader.read(black_box(json), Delivery::Event).is_some())
    });
    group.bench_function("sse framing", |b| {
        let mut splitter = Splitter::default();
        b.iter(|| splitter.feed(black_box(CHUNK.as_bytes()), MonoNs(1), |message, _| !message.is_empty()));
    });
    group.throughput(Throughput::Elements(32));
    group.bench_function("answer of 32", |b| {
        b.iter(|| {
            let mut parser = ResponseParser::new(&chat, MonoNs(1));
            for i in 0..32 {
                parser.feed_stream(black_box(CHUNK.as_bytes()), MonoNs(2 + i));
            }
            parser.finish()
        });
    });
    group.finish();
}

/// Deltas of the other APIs that stream text: by their JSON, and with everything done to them.
fn deltas(c: &mut Criterion) {
    let mut group = c.benchmark_group("delta");
    for (kind, event) in [(EndpointKind::Responses, RESPONSES_DELTA), (EndpointKind::Messages, MESSAGES_DELTA)] {
        let api = Api::new(&endpoint(kind), "tiny").expect("an endpoint");
        let json = event.trim().split_once("data: ").expect("a data field").1;
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("{} json", kind.name()), |b| {
            let mut reader = (api.dialect.reader)(&api);
            b.iter(|| reader.read(black_box(json), Delivery::Event).is_some())
        });
        group.throughput(Throughput::Elements(32));
        group.bench_function(format!("{} answer of 32", kind.name()), |b| {
            b.iter(|| {
                let mut parser = ResponseParser::new(&api, MonoNs(1));
                for i in 0..32 {
                    parser.feed_stream(black_box(event.as_bytes()), MonoNs(2 + i));
                }
                parser.finish()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, parse, deltas);
criterion_main!(benches);
