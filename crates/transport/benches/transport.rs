//! What a worker does to a response: find its end, in reads of several lengths, and a whole exchange over loopback.

use aiperf_transport::framer::Framer;
use aiperf_transport::{
    Cancel, Client, ClientSettings, ConnectSettings, Origin, OutgoingRequest, Outstanding, Protocol, ProxyChoice,
    Redirects, Resolution, Reuse, SocketOptions, StampMode, StreamEnd, clock,
};
use aiperf_types::{Nanos, RequestTag};
use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

const TOKENS: usize = 32;

/// A streamed chat response as vLLM frames it: one event a chunk.
fn response() -> Vec<u8> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
    let event = "data: {\"id\":\"chatcmpl-a61a8da5f6a66d6b\",\"object\":\"chat.completion.chunk\",\"created\":1794702553,\
        \"model\":\"tiny\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" ke\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n";
    let chunk = format!("{:x}\r\n{event}\r\n", event.len());
    let last = "data: [DONE]\n\n";
    format!("{head}{}{:x}\r\n{last}\r\n0\r\n\r\n", chunk.repeat(TOKENS), last.len()).into_bytes()
}

fn framer(c: &mut Criterion) {
    let bytes = response();
    let mut group = c.benchmark_group("framer");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    for (name, step) in [("one read", bytes.len()), ("a read an event", 220), ("reads of 16 bytes", 16)] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut framer = Framer::default();
                let mut end = 0;
                while end < bytes.len() {
                    let fresh = step.min(bytes.len() - end);
                    end += fresh;
                    framer.feed(black_box(&bytes[..end]), fresh).expect("a good response");
                }
                assert!(framer.is_reusable());
            });
        });
    }
    group.finish();
}

/// Answers every request of one connection at once. A request is small enough to come in one piece.
fn serve(mut stream: TcpStream) {
    let (response, mut request) = (response(), [0; 4096]);
    while let Ok(1..) = stream.read(&mut request) {
        if stream.write_all(&response).is_err() {
            return;
        }
    }
}

fn client(port: u16, stamps: StampMode) -> Client {
    let socket = SocketOptions {
        recv_buffer: 1 << 20,
        send_buffer: 1 << 20,
        keep_idle: 60,
        keep_interval: 30,
        keep_count: 1,
        user_timeout_ms: 30_000,
    };
    let settings = ClientSettings {
        stamps,
        connect: ConnectSettings {
            socket,
            resolution: Resolution::default(),
            tls: Arc::default(),
            proxies: ProxyChoice::default(),
            outstanding: Outstanding::up_to(1),
        },
        places: None,
        keepalive: Nanos::MAX,
        kept_limit: 64 << 20,
        budget: None,
        reuse: Reuse::Always,
        protocol: Protocol::Http1,
        detailed: false,
        connect_timeout: None,
        stream_end: StreamEnd::NONE,
    };
    Client::new(settings, vec![Origin::http("127.0.0.1", port)], Default::default())
}

fn exchange(c: &mut Criterion) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(serve));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let body = Bytes::from_static(b"{\"model\":\"tiny\",\"stream\":true,\"messages\":[]}");
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut group = c.benchmark_group("exchange over loopback");
    // The floor: a socket, a write, reads until the response is whole, and nothing else.
    group.bench_function("bare socket", |b| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        let (request, whole) = ([head.as_bytes(), &body[..]].concat(), response().len());
        let mut buffer = vec![0; 64 << 10];
        b.iter(|| {
            stream.write_all(&request).expect("a write");
            let mut came = 0;
            while came < whole {
                came += stream.read(&mut buffer).expect("a read");
            }
        });
    });
    for (name, stamps) in [("kernel stamps", StampMode::Kernel), ("read instants", StampMode::User)] {
        let client = client(port, stamps);
        let send = || async {
            let now = clock::mono_now();
            let out = OutgoingRequest {
                tag: RequestTag::default(),
                intended: now,
                issued: now,
                target: 0,
                head: head.clone().into_bytes(),
                body: body.clone().into(),
                timeout: None,
                cancelled: None,
                ends_session: true,
            };
            client.send(out, &Cancel::default(), &mut Redirects::default()).await
        };
        group.bench_function(name, |b| {
            b.iter(|| {
                let exchange = runtime.block_on(send());
                assert_eq!((exchange.status, exchange.failure), (Some(200), None));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, framer, exchange);
criterion_main!(benches);
