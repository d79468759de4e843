//! The work of a record thread on a finished exchange: everything from raw bytes to the input of the metrics.

use aiperf_dataset::{Dataset, Making};
use aiperf_engine::Requests;
use aiperf_engine::record::Reader;
use aiperf_plan::{DatasetPlan, Distribution, Plan, SyntheticPlan};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Exchange, MonoNs, PhaseId, PhaseKind, Read, RequestTag, Timeline, WallAnchor};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;

const TOKENS: usize = 32;
/// Time between two tokens, in nanoseconds.
const GAP: u64 = 10_000_000;

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

fn plan() -> Plan {
    let mut plan = aiperf_testkit::plan::plan("http://127.0.0.1:8000");
    let isl = Some(Distribution::fixed(550.0));
    plan.dataset = DatasetPlan::Synthetic(SyntheticPlan { isl, ..SyntheticPlan::new(1) });
    plan
}

fn reader(tokenizer: Option<Tokenizer>) -> Reader {
    let plan = Arc::new(plan());
    let dataset = Dataset::of(&plan.dataset, Making::new(&plan.draws(), &Tokenizer::builtin())).expect("a dataset");
    let requests = Arc::new(Requests::new(plan.clone(), Arc::new(dataset), "0.0.0").expect("requests"));
    let phase = PhaseId { index: 0, profiling_index: Some(0), name: "profiling".into(), kind: PhaseKind::Profiling };
    let anchor = WallAnchor::default();
    let tokenizers = tokenizer.map(Into::into);
    Reader { plan, requests, tokenizers, anchor, phases: vec![Arc::new(phase)] }
}

/// A streamed response with one event per chunk and per read; the last event has the usage.
fn exchange(reader: &Reader) -> Exchange {
    let start = MonoNs(1_000_000_000);
    let mut raw = HEAD.as_bytes().to_vec();
    let mut reads = vec![Read { at: MonoNs(start.0 + GAP), lag: 1000, len: raw.len() as u32, ..Default::default() }];
    let mut arrive = |event: &str| {
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        let at = MonoNs(start.0 + GAP * (reads.len() as u64 + 1));
        reads.push(Read { at, lag: 1000, len: chunk.len() as u32, ..Default::default() });
        raw.extend_from_slice(chunk.as_bytes());
    };
    for i in 0..TOKENS {
        arrive(&format!(
            "data: {{\"id\":\"chatcmpl-a61a8da5f6a66d6b\",\"object\":\"chat.completion.chunk\",\"created\":1794702553,\
             \"model\":\"tiny\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word{i}\"}},\"logprobs\":null,\
             \"finish_reason\":null}}]}}\n\n"
        ));
    }
    arrive(
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":550,\"completion_tokens\":32,\"total_tokens\":582}}\n\n",
    );
    arrive("data: [DONE]\n\n");
    let end = reads.last().map_or(start, |read| read.at);
    let timeline = Timeline {
        intended: start,
        issued: start,
        start,
        send_start: start,
        send_end: MonoNs(start.0 + 10_000),
        writes: 1,
        head: reads[0].at,
        body_start: reads[1].at,
        body_reads: reads.len() as u32 - 1,
        bytes_received: raw.len() as u64,
        reads,
        end,
        ..Timeline::default()
    };
    Exchange {
        tag: RequestTag::default(),
        timeline,
        status: Some(200),
        raw_len: raw.len(),
        raw,
        head_at: 0,
        body_at: HEAD.len(),
        chunked: true,
        failure: None,
        request_head: Vec::new(),
        request_body: reader.requests.request(0).expect("a request").encoded.body.clone(),
        parsed: None,
    }
}

fn record(c: &mut Criterion) {
    let mut group = c.benchmark_group("record of 32 tokens");
    group.throughput(Throughput::Elements(1));
    for (name, tokenizer) in [("tokens counted here", Some(Tokenizer::builtin())), ("the server's counts", None)] {
        let reader = reader(tokenizer);
        let exchange = exchange(&reader);
        let record = reader.read(&exchange, 0);
        assert_eq!((record.measured.error, record.measured.content.len()), (None, TOKENS));
        group.bench_function(name, |b| b.iter(|| reader.read(black_box(&exchange), 0)));
    }
    group.finish();
}

criterion_group!(benches, record);
criterion_main!(benches);
