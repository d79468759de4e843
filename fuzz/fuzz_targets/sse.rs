//! A stream of server-sent events gives the same messages and the same answer however it is cut into reads.
#![no_main]

use aiperf_dialect::sse::{Splitter, data, error_event, fields};
use aiperf_dialect::{ResponseParser, Api};
use aiperf_fuzz::cut;
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_types::{EndpointKind, MonoNs};
use libfuzzer_sys::fuzz_target;

fn messages(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let (mut splitter, mut out) = (Splitter::default(), Vec::new());
    let mut keep = |message: &[u8], _: MonoNs| {
        out.push(message.to_vec());
        true
    };
    for piece in pieces {
        splitter.feed(piece, MonoNs(1), &mut keep);
    }
    splitter.finish(MonoNs(2), keep);
    out
}

/// What does not depend on when bytes were read.
fn read(pieces: &[&[u8]]) -> (Option<String>, Option<String>, usize, u32, bool) {
    let url = BaseUrl::parse("http://localhost").expect("a URL");
    let api = Api::new(&EndpointPlan::new(EndpointKind::Chat, vec![url]), "m").expect("an endpoint");
    let mut parser = ResponseParser::new(&api, MonoNs(1));
    let mut at = 1;
    let on = pieces.iter().all(|piece| {
        at += 1;
        parser.feed_stream(piece, MonoNs(at))
    });
    if on {
        parser.end_stream(MonoNs(at + 1));
    }
    let parsed = parser.finish();
    let failed = parsed.error.is_some();
    (parsed.output_text, parsed.reasoning_text, parsed.content.len(), parsed.responses, failed)
}

fuzz_target!(|input: &[u8]| {
    let Some((whole, pieces)) = cut(input) else { return };
    let all = messages(&[whole]);
    assert_eq!(all, messages(&pieces));
    for message in &all {
        fields(message);
        data(message);
        error_event(message);
    }
    assert_eq!(read(&[whole]), read(&pieces));
});
