//! Compares responses parsed while they arrive with responses parsed when they are complete.

use aiperf_dialect::Api;
use aiperf_engine::reading::{LiveReading, Reading};
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_transport::Watch;
use aiperf_transport::framer::Framer;
use aiperf_transport::receive::{Retention, record_read};
use aiperf_types::{EndpointKind, Exchange, Failure, MonoNs, Parsed, Read, Reply, Timeline};
use proptest::prelude::*;
use std::cell::Cell;

fn api() -> Api {
    let mut endpoint = EndpointPlan::new(EndpointKind::Chat, vec![BaseUrl::parse("http://here").unwrap()]);
    endpoint.streaming = true;
    Api::new(&endpoint, "m").unwrap()
}

fn reading(api: &Api, captures: bool) -> Reading<'_> {
    Reading { api, limit: 1 << 20, captures, known: None }
}

fn begun() -> Exchange {
    Exchange {
        timeline: Timeline { start: MonoNs(1), leg_start: MonoNs(1), ..Timeline::default() },
        ..Exchange::default()
    }
}

/// Adds bytes that arrived at an instant.
fn receive(exchange: &mut Exchange, framer: &mut Framer, bytes: &[u8], at: u64) -> Option<()> {
    exchange.raw.truncate(exchange.raw_len);
    exchange.raw.extend_from_slice(bytes);
    let read = Read { at: MonoNs(at), lag: 0, len: bytes.len() as u32, ..Default::default() };
    record_read(read, exchange, framer, &mut Retention::up_to(usize::MAX)).ok()
}

/// How a response arrives.
#[derive(Clone, Debug)]
struct Arrival {
    is_stream: bool,
    is_chunked: bool,
    is_deflated: bool,
    charset: &'static str,
    status: u16,
    body: Vec<u8>,
    /// The lengths of the chunks and of the reads, used in turn.
    chunks: Vec<usize>,
    reads: Vec<usize>,
    /// Whether each read, in turn, has the same instant as the one before.
    is_same: Vec<bool>,
}

impl Arrival {
    fn bytes(&self) -> Vec<u8> {
        let mut body = self.body.clone();
        if self.is_deflated {
            // The last deflate block, stored without compression.
            let len = body.len() as u16;
            body = [&[1][..], &len.to_le_bytes(), &(!len).to_le_bytes(), &body].concat();
        }
        let kind = if self.is_stream { "text/event-stream" } else { "application/json" };
        let mut out = format!("HTTP/1.1 {} X\r\nContent-Type: {kind}{}\r\n", self.status, self.charset).into_bytes();
        if self.is_deflated {
            out.extend_from_slice(b"Content-Encoding: deflate\r\n");
        }
        if !self.is_chunked {
            out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            out.extend_from_slice(&body);
            return out;
        }
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
        let (mut rest, mut lengths) = (&body[..], self.chunks.iter().cycle());
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(rest.len().min(*lengths.next().unwrap()));
            out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            out.extend_from_slice(chunk);
            out.extend_from_slice(b"\r\n");
            rest = after;
        }
        out.extend_from_slice(b"0\r\n\r\n");
        out
    }
}

fn event() -> impl Strategy<Value = String> {
    let text = "[a-z \u{e9}\\\\\"]{0,5}";
    let chunk = |text: String| {
        let quoted = serde_json::Value::String(text).to_string();
        format!("data: {{\"id\":\"x\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{quoted}}}}}]}}\n\n")
    };
    prop_oneof![
        8 => text.prop_map(chunk),
        1 => Just("data: {\"choices\":[],\"usage\":{\"completion_tokens\":3}}\r\n\r\n".to_owned()),
        1 => Just("data: [DONE]\n\n".to_owned()),
        1 => Just(": still here\n\n".to_owned()),
        1 => Just("data: {broken\n\n".to_owned()),
        1 => Just("event: error\ndata: no\n\n".to_owned()),
        1 => Just("data: {\"error\":{\"message\":\"no\",\"code\":7}}\n\n".to_owned()),
    ]
}

fn arrival() -> impl Strategy<Value = Arrival> {
    let body = prop_oneof![
        6 => (prop::collection::vec(event(), 0..12), 0..3usize).prop_map(|(events, cut)| {
            let text = events.concat();
            // A stream may end within an event.
            let end = text.len().saturating_sub(cut * 5);
            text.as_bytes()[..end].to_vec()
        }),
        2 => Just(br#"{"choices":[{"message":{"content":"hello"}}],"usage":{"prompt_tokens":2}}"#.to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    let lengths = || prop::collection::vec(1..40usize, 1..8);
    let charset = prop::sample::select(vec!["", "; charset=utf-8", "; charset=latin-1", "; charset=none"]);
    let status = prop::sample::select(vec![200, 200, 200, 201, 404]);
    let kinds = (any::<bool>(), any::<bool>(), any::<bool>(), charset, status);
    let is_same = prop::collection::vec(any::<bool>(), 1..8);
    (kinds, body, lengths(), lengths(), is_same).prop_map(|(kinds, body, chunks, reads, is_same)| {
        let (is_stream, is_chunked, is_deflated, charset, status) = kinds;
        Arrival { is_stream, is_chunked, is_deflated, charset, status, body, chunks, reads, is_same }
    })
}

/// Everything that was parsed, as text.
fn shown(parsed: &Parsed) -> String {
    format!("{parsed:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn a_response_parsed_while_it_arrives_gives_the_same(arrival in arrival(), captures in any::<bool>()) {
        let (api, mut exchange, mut framer) = (api(), begun(), Framer::default());
        let first_content = Cell::new(None);
        let mut live = LiveReading::new(reading(&api, captures)).on_first_content(|at| assert!(first_content.replace(Some(at)).is_none()));
        let bytes = arrival.bytes();
        let (mut rest, mut lengths, mut is_same) = (&bytes[..], arrival.reads.iter().cycle(), arrival.is_same.iter().cycle());
        let mut at = 2;
        while !rest.is_empty() {
            let (read, after) = rest.split_at(rest.len().min(*lengths.next().unwrap()));
            at += u64::from(!is_same.next().unwrap());
            prop_assert!(receive(&mut exchange, &mut framer, read, at).is_some());
            live.read(&exchange);
            rest = after;
        }
        prop_assert!(framer.is_done());
        exchange.timeline.end = MonoNs(at);
        let reply = live.finish(&mut exchange);
        prop_assert_eq!(reply.is_some(), captures);
        let parsed = exchange.parsed.take();
        prop_assert_eq!(parsed.is_some(), arrival.status < 300);
        if let Some(parsed) = parsed {
            prop_assert_eq!(first_content.get(), parsed.content.first().map(|mark| mark.at));
            let mut whole = reading(&api, captures).read(&exchange);
            let wanted = whole.reply.take().unwrap_or_default();
            prop_assert_eq!(reply.unwrap_or_default().turn, wanted.turn);
            prop_assert_eq!(shown(&parsed), shown(&whole));
        }
    }
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const CHUNK: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";

#[test]
fn the_response_of_an_earlier_leg_is_forgotten() {
    let (api, mut exchange, mut framer) = (api(), begun(), Framer::default());
    let mut live = LiveReading::new(reading(&api, false));
    receive(&mut exchange, &mut framer, format!("{HEAD}{CHUNK}{CHUNK}").as_bytes(), 2).unwrap();
    live.read(&exchange);
    let mut exchange =
        Exchange { timeline: Timeline { leg_start: MonoNs(5), ..begun().timeline }, ..Exchange::default() };
    receive(&mut exchange, &mut Framer::default(), format!("{HEAD}{CHUNK}").as_bytes(), 6).unwrap();
    live.read(&exchange);
    exchange.timeline.end = MonoNs(7);
    live.finish(&mut exchange);
    let parsed = exchange.parsed.unwrap();
    assert_eq!((parsed.output_text.as_deref(), parsed.content.len()), (Some("a"), 1));
}

/// What remains if the connection ends after these bytes: for the record, and for the next turn.
fn cut_off_after(bytes: &str) -> (Option<Box<Parsed>>, Reply) {
    let (api, mut exchange, mut framer) = (api(), begun(), Framer::default());
    let mut live = LiveReading::new(reading(&api, true));
    receive(&mut exchange, &mut framer, bytes.as_bytes(), 2).unwrap();
    live.read(&exchange);
    exchange.failure = Some(Failure::Disconnected);
    let reply = live.finish(&mut exchange);
    (exchange.parsed, *reply.unwrap())
}

#[test]
fn text_before_a_failure_is_a_reply_and_not_in_the_record() {
    let named = CHUNK.replace("{\"choices", "{\"id\":\"r1\",\"choices");
    let (parsed, reply) = cut_off_after(&format!("{HEAD}{named}{CHUNK}data: {{\"cho"));
    assert!(parsed.is_none());
    let turn = reply.turn.unwrap();
    assert_eq!((turn.texts[0].contents.concat().as_str(), reply.response_id), ("aa", None));
}

#[test]
fn a_response_that_fails_before_any_text_leaves_nothing() {
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{\"choices\":[";
    for bytes in [HEAD, whole, "HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\nno", "HTTP/1.1"] {
        let (parsed, reply) = cut_off_after(bytes);
        assert!(parsed.is_none() && reply == Reply::default(), "{bytes:?}");
    }
}

#[test]
fn a_reply_is_captured_if_it_is_asked_for() {
    let reply = |captures| {
        let (api, mut exchange, mut framer) = (api(), begun(), Framer::default());
        let mut live = LiveReading::new(reading(&api, captures));
        receive(&mut exchange, &mut framer, format!("{HEAD}{CHUNK}{CHUNK}").as_bytes(), 2).unwrap();
        live.read(&exchange);
        exchange.timeline.end = MonoNs(3);
        let reply = live.finish(&mut exchange);
        assert!(exchange.parsed.unwrap().reply.is_none());
        reply
    };
    assert_eq!(reply(false), None);
    let turn = reply(true).unwrap().turn.unwrap();
    assert_eq!((turn.role.as_deref(), turn.texts[0].contents.concat().as_str()), (Some("assistant"), "aa"));
}
