//! The HTTP/1.1 framer reads a response in the same way however it is cut into reads, and where it says that a body
//! ended, removing the chunk framing ends there too.
#![no_main]

use aiperf_fuzz::cut;
use aiperf_transport::framer::{ChunkDecoder, Framer};
use libfuzzer_sys::fuzz_target;

/// Status, whether the connection may be used again, and the body; nothing more is told of a refusal, since the same
/// fault may be seen earlier in shorter reads.
#[derive(Debug, PartialEq)]
struct Response {
    status: u16,
    reusable: bool,
    body: Vec<u8>,
}

fn read(pieces: &[&[u8]]) -> Option<Response> {
    let mut framer = Framer::default();
    let mut so_far = Vec::new();
    for piece in pieces {
        so_far.extend_from_slice(piece);
        framer.feed(&so_far, piece.len()).ok()?;
    }
    framer.close().ok()?;
    let head = framer.head().expect("a response that ended has a head");
    assert!(head.start < head.len && head.len <= so_far.len());
    let (raw, mut body) = (&so_far[head.len..], Vec::new());
    let bodiless = matches!(head.status, 204 | 304);
    if head.chunked && !bodiless {
        let mut decoder = ChunkDecoder::default();
        let used = decoder.feed(raw, |span| body.extend_from_slice(span)).expect("the framer took these chunks");
        assert!(decoder.is_done());
        assert!(!framer.is_reusable() || used == raw.len());
    } else if !bodiless {
        let length = head.content_length.map_or(raw.len(), |length| length as usize);
        body.extend_from_slice(&raw[..length]);
        assert!(!framer.is_reusable() || length == raw.len());
    }
    Some(Response { status: head.status, reusable: framer.is_reusable(), body })
}

fuzz_target!(|input: &[u8]| {
    let Some((whole, pieces)) = cut(input) else { return };
    if !whole.is_empty() {
        assert_eq!(read(&[whole]), read(&pieces));
    }
});
