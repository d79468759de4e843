//! Responses of a real server, mutated. The parser reads each to an end, and the result does not depend on how the
//! bytes are split into reads.
//!
//! Every test run tries a few thousand. This command tries more, from the seed in `SEED` on:
//! `MUTATIONS=1000000 cargo test --workspace --test it mutated_responses -- --ignored --nocapture`.

use aiperf_dialect::{Api, ResponseParser};
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_transport::body;
use aiperf_transport::framer::Framer;
use aiperf_transport::receive::{Retention, record_read};
use aiperf_types::{EndpointKind, Exchange, MonoNs, Read};
use nix::time::{ClockId, clock_gettime};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Fragments that mean something to a parser of HTTP, of events or of JSON.
const PIECES: &[&[u8]] = &[
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"99999999999999999999",
    b"-1",
    b"null",
    b"\\ud83d",
    b"\\",
    b"\"",
    b"{",
    b"[[[[[[[[",
    b"}",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\0",
    b"\r",
    b"\n",
    b"\r\n\r\n",
    b"\n\n",
    b"data:",
    b"data: [DONE]\n\n",
    b"event: error\n",
    b": comment\n",
    b"0\r\n\r\n",
    b"000000000000000a",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"\"error\":{\"message\":\"x\"},",
    b"\"usage\":{\"prompt_tokens\":7},",
];

/// SplitMix64: the same seed gives the same numbers on every machine.
struct Draws(u64);

impl Draws {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ x >> 31) % limit.max(1) as u64) as usize
    }
}

/// A response as it was received, without its chunk framing.
struct Captured {
    head: Vec<u8>,
    body: Vec<u8>,
}

fn captured() -> Vec<Captured> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/data/real-vllm-0.32");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let split = |path| {
        let bytes: Vec<u8> = std::fs::read(path).unwrap();
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        Captured { head: bytes[..end].to_vec(), body: bytes[end..].to_vec() }
    };
    paths.iter().map(split).collect()
}

fn mutate(bytes: &mut Vec<u8>, draws: &mut Draws) {
    for _ in 0..=draws.below(6) {
        let at = draws.below(bytes.len() + 1);
        let end = at + draws.below((bytes.len() - at).min(64) + 1);
        match draws.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << draws.below(8),
            1 => bytes.insert(at, draws.below(256) as u8),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let copy = bytes[at..end].repeat(1 + draws.below(4));
                bytes.splice(at..at, copy);
            }
            4 => bytes.truncate(at),
            _ => drop(bytes.splice(at..end, PIECES[draws.below(PIECES.len())].iter().copied())),
        }
    }
}

/// A mutated response: all of it, or only its body, so that the framing accepts it.
fn mutated(captured: &Captured, draws: &mut Draws) -> Vec<u8> {
    let is_stream = captured.head.windows(9).any(|nine| nine == b": chunked");
    let only_body = draws.below(2) == 0;
    let (mut body, mut head) = (captured.body.clone(), captured.head.clone());
    if only_body {
        mutate(&mut body, draws);
        let kind = if is_stream { "text/event-stream" } else { "application/json" };
        head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n").into_bytes();
    }
    let mut bytes = head;
    if is_stream || only_body {
        for chunk in body.chunks(1 + draws.below(400)) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
    } else {
        bytes.extend_from_slice(&body);
    }
    if !only_body {
        mutate(&mut bytes, draws);
    }
    bytes
}

/// The exchange that a client gets from bytes in reads of up to `longest` bytes; `None` if they are no complete
/// response.
fn receive(bytes: &[u8], draws: &mut Draws, longest: usize) -> Option<Exchange> {
    let mut framer = Framer::default();
    let mut exchange = Exchange { raw: bytes.to_vec(), ..Exchange::default() };
    while exchange.raw_len < bytes.len() && !framer.is_done() {
        let fresh = (1 + draws.below(longest)).min(bytes.len() - exchange.raw_len);
        let at = MonoNs(2 + exchange.timeline.reads.len() as u64);
        record_read(
            Read { at, lag: 0, len: fresh as u32, ..Default::default() },
            &mut exchange,
            &mut framer,
            &mut Retention::up_to(usize::MAX),
        )
        .ok()?;
    }
    framer.close().ok()?;
    exchange.status.is_some().then_some(exchange)
}

/// Everything that is parsed from a response except its instants.
fn read(exchange: &Exchange) -> String {
    let mut out = format!("{:?} {}", exchange.status, body::reason(exchange));
    for &kind in EndpointKind::ALL {
        let url = BaseUrl::parse("http://localhost:8000").unwrap();
        let api = Api::new(&EndpointPlan::new(kind, vec![url]), "m").unwrap();
        let mut parser = ResponseParser::new(&api, MonoNs(1));
        if body::is_event_stream(exchange) {
            let mut on = true;
            body::for_each_span(exchange, |read, span| on = on && parser.feed_stream(span, read));
            if on {
                parser.end_stream(MonoNs(1 << 40));
            }
        } else {
            parser.feed_body(&body::collect(exchange), Read { at: MonoNs(1 << 40), ..Read::default() });
        }
        let parsed = parser.finish();
        let texts = (parsed.output_text, parsed.reasoning_text, parsed.usage, parsed.error);
        let counts = (parsed.content.len(), parsed.responses, parsed.unreadable, parsed.unreadable_usage);
        write!(out, " {texts:?} {counts:?}").unwrap();
    }
    out
}

/// CPU time of this thread, because other threads may use its core meanwhile.
fn cpu_now() -> Duration {
    Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap())
}

struct Tally {
    whole: u64,
    bytes: u64,
    slowest: Duration,
}

fn run(seeds: std::ops::Range<u64>) -> Tally {
    let responses = captured();
    let mut tally = Tally { whole: 0, bytes: 0, slowest: Duration::ZERO };
    for seed in seeds {
        let mut draws = Draws(seed.wrapping_mul(0xD134_2543_DE82_EF95));
        let bytes = mutated(&responses[draws.below(responses.len())], &mut draws);
        let started = cpu_now();
        let at_once = receive(&bytes, &mut draws, usize::MAX).map(|exchange| read(&exchange));
        let in_pieces = receive(&bytes, &mut draws, 40).map(|exchange| read(&exchange));
        tally.slowest = tally.slowest.max(cpu_now() - started);
        tally.bytes += bytes.len() as u64;
        tally.whole += u64::from(at_once.is_some());
        assert_eq!(at_once, in_pieces, "seed {seed}: {}", String::from_utf8_lossy(&bytes));
    }
    tally
}

#[test]
fn mutated_responses_are_read_to_an_end_and_the_same_in_any_splits() {
    let tally = run(0..3000);
    assert!(tally.whole > 1000, "{} responses were complete: too few for the test", tally.whole);
}

#[test]
#[ignore = "takes minutes"]
fn a_million_mutated_responses_are_read_to_an_end() {
    let number = |name: &str, otherwise: u64| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (seed, count) = (number("SEED", 1 << 32), number("MUTATIONS", 1_000_000));
    let started = Instant::now();
    let halves = [seed..seed + count / 2, seed + count / 2..seed + count];
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let threads: Vec<_> = halves.into_iter().map(|half| scope.spawn(|| run(half))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let slowest = tallies.iter().map(|tally| tally.slowest).max().unwrap_or_default();
    let sum = |part: fn(&Tally) -> u64| tallies.iter().map(part).sum::<u64>();
    // A few kilobytes take a millisecond. If they take a hundred, the time is not linear in their size.
    println!(
        "{count} mutated responses from seed {seed}, {} of them whole, {} MB, in {:.0} s; the slowest took {:?}",
        sum(|tally| tally.whole),
        sum(|tally| tally.bytes) / 1_000_000,
        started.elapsed().as_secs_f64(),
        slowest,
    );
}
