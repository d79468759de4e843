//! The cost of the turns of a session for the worker that sends them: reading the reply as it arrives, taking it, and
//! assembling the next request.

use aiperf_dialect::{Api, ResponseParser, Session};
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_types::{Conversation, EndpointKind, Media, MonoNs, Reply, Turn};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;

const CHUNK: &str = "data: {\"id\":\"chatcmpl-a61a8da5f6a66d6b\",\"object\":\"chat.completion.chunk\",\"created\":1794702553,\
\"model\":\"tiny\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" ke\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n";

fn chat() -> Arc<Api> {
    let mut endpoint =
        EndpointPlan::new(EndpointKind::Chat, vec![BaseUrl::parse("http://localhost:8000").expect("a URL")]);
    endpoint.streaming = true;
    Arc::new(Api::new(&endpoint, "tiny").expect("an endpoint"))
}

fn replies(c: &mut Criterion) {
    let chat = chat();
    let stream = CHUNK.repeat(32);
    c.bench_function("reply of 32 chunks in one read", |b| {
        b.iter(|| {
            let mut parser = ResponseParser::new(&chat, MonoNs(1)).capturing(&chat);
            parser.feed_stream(black_box(stream.as_bytes()), MonoNs(2));
            parser.finish()
        });
    });
    c.bench_function("the same without the reply", |b| {
        b.iter(|| {
            let mut parser = ResponseParser::new(&chat, MonoNs(1));
            parser.feed_stream(black_box(stream.as_bytes()), MonoNs(2));
            parser.finish()
        });
    });
}

fn text_turn(role: &str, words: usize) -> Turn {
    let text = Media { contents: vec!["word ".repeat(words)], ..Media::default() };
    Turn { role: Some(role.into()), texts: vec![text], max_tokens: Some(32), ..Turn::default() }
}

/// A session before a turn, all turns before it sent and answered.
fn before(api: &Arc<Api>, turn: usize) -> Session {
    let turns = (0..=turn).map(|_| text_turn("user", 16)).collect();
    let conversation = Arc::new(Conversation { turns, ..Conversation::default() });
    let mut session = Session::new(api.clone(), conversation);
    for turn in 0..turn {
        session.ask(turn).expect("a request");
        session.take(Reply { turn: Some(text_turn("assistant", 32)), response_id: None }).expect("an answer");
    }
    session
}

fn turns(c: &mut Criterion) {
    let api = chat();
    for turn in [1, 9, 99] {
        let session = before(&api, turn);
        c.bench_function(&format!("request of turn {}", turn + 1), |b| {
            b.iter_batched_ref(|| session.clone(), |session| session.ask(turn), BatchSize::SmallInput);
        });
    }
}

criterion_group!(benches, replies, turns);
criterion_main!(benches);
