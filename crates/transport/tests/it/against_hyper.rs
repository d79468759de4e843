//! The framer held against hyper: the same bytes in the same splits. Where they differ, one is wrong, and a line here
//! names them.

use aiperf_transport::framer::{ChunkDecoder, Framer};
use http_body_util::BodyExt;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// What a client made of a response: status and body, or that it refused it.
type Reading = Result<(u16, Vec<u8>), ()>;

fn ours(pieces: &[Vec<u8>]) -> Reading {
    let mut framer = Framer::default();
    let mut so_far = Vec::new();
    for piece in pieces {
        so_far.extend_from_slice(piece);
        framer.feed(&so_far, piece.len()).map_err(drop)?;
        if framer.is_done() {
            break;
        }
    }
    framer.close().map_err(drop)?;
    let head = framer.head().unwrap();
    let raw = &so_far[head.len..];
    let mut body = Vec::new();
    if matches!(head.status, 204 | 304) {
        return Ok((head.status, body));
    }
    if head.chunked {
        ChunkDecoder::default().feed(raw, |span| body.extend_from_slice(span)).map_err(drop)?;
    } else {
        let length = head.content_length.map_or(raw.len(), |length| length as usize);
        body.extend_from_slice(&raw[..length.min(raw.len())]);
    }
    Ok((head.status, body))
}

/// A connection that takes everything and, once asked something, gives scripted pieces, one a read, then ends.
struct Scripted {
    pieces: VecDeque<Vec<u8>>,
    asked: bool,
    reader: Option<Waker>,
}

impl hyper::rt::Read for Scripted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.asked {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        if let Some(mut piece) = self.pieces.pop_front() {
            let n = piece.len().min(buf.remaining());
            buf.put_slice(&piece[..n]);
            if n < piece.len() {
                self.pieces.push_front(piece.split_off(n));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Scripted {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.asked = true;
        self.reader.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(buf.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn hypers(pieces: &[Vec<u8>]) -> Reading {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let io = Scripted { pieces: pieces.to_vec().into(), asked: false, reader: None };
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.map_err(drop)?;
        let request = hyper::Request::post("/").header("host", "x").body(String::from("{}")).unwrap();
        let exchanged = async {
            let response = sender.send_request(request).await.map_err(drop)?;
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.map_err(drop)?.to_bytes().to_vec();
            Ok((status, body))
        };
        tokio::pin!(connection);
        tokio::pin!(exchanged);
        tokio::select! {
            biased;
            result = &mut exchanged => result,
            _ = &mut connection => (&mut exchanged).await,
        }
    })
}

fn split(bytes: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            return pieces;
        }
        let (piece, after) = rest.split_at((*cut).min(rest.len()));
        pieces.push(piece.to_vec());
        rest = after;
    }
    pieces
}

fn response() -> impl Strategy<Value = Vec<u8>> {
    let status = prop::sample::select(vec!["200 OK", "204 No Content", "500 Oops", "304 Not Modified", "200"]);
    let version = prop::sample::select(vec!["HTTP/1.1", "HTTP/1.0"]);
    let body = prop::collection::vec(any::<u8>(), 0..40);
    let framing = 0..7u8;
    let cut = prop::option::weighted(0.3, 0..200usize);
    let end = prop::sample::select(vec!["\r\n", "\n"]);
    let pad = 1..20usize;
    let lines = (any::<bool>(), end, pad);
    (version, status, body, framing, cut, lines).prop_map(
        |(version, status, body, framing, cut, (interim, end, pad))| {
            let mut out = Vec::new();
            if interim {
                out.extend_from_slice(format!("HTTP/1.1 100 Continue{end}{end}").as_bytes());
            }
            out.extend_from_slice(format!("{version} {status}{end}X-A: caf").as_bytes());
            out.extend_from_slice(b"\xe9\r\n");
            let chunks = |out: &mut Vec<u8>, body: &[u8]| {
                for part in body.chunks(7) {
                    out.extend_from_slice(format!("{:0pad$x};ext=1\r\n", part.len()).as_bytes());
                    out.extend_from_slice(part);
                    out.extend_from_slice(b"\r\n");
                }
                out.extend_from_slice(b"0\r\n\r\n");
            };
            match framing {
                0 | 1 => {
                    out.extend_from_slice(format!("Content-Length: {}\r\n{end}", body.len()).as_bytes());
                    out.extend_from_slice(&body);
                }
                2 | 3 => {
                    out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                    chunks(&mut out, &body);
                }
                4 => {
                    out.extend_from_slice(b"Connection: close\r\n\r\n");
                    out.extend_from_slice(&body);
                }
                5 => {
                    out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                    out.extend_from_slice(b"zz\r\n");
                }
                _ => {
                    out.extend_from_slice(b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd");
                }
            }
            if let Some(cut) = cut {
                out.truncate(cut.max(1));
            }
            out
        },
    )
}

/// A response and where reads of it end.
fn case() -> impl Strategy<Value = (Vec<u8>, Vec<usize>)> {
    let cuts = prop::collection::vec(1usize..30, 1..12);
    (response(), cuts)
}

/// A response with arbitrary bytes in its place, or in places of it.
fn arbitrary() -> impl Strategy<Value = (Vec<u8>, Vec<usize>)> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4);
    let changed = (response(), changes).prop_map(|(mut bytes, changes)| {
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    });
    let bytes = prop_oneof![4 => changed, 1 => prop::collection::vec(any::<u8>(), 1..200)];
    (bytes, prop::collection::vec(1usize..30, 1..12))
}

fn both_agree((bytes, cuts): (Vec<u8>, Vec<usize>)) -> Result<(), TestCaseError> {
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // hyper refuses chunks in HTTP/1.0, which has none; we read them, since servers do send them and the bytes are
    // plain.
    let old_chunks = text.contains("HTTP/1.0") && text.contains("chunked");
    // hyper does not look at the lengths of a response that has no body; we refuse one that contradicts itself.
    let bodiless = text.contains(" 204 ") || text.contains(" 304 ");
    if old_chunks || (bodiless && text.contains("Content-Length: 4")) {
        return Ok(());
    }
    let pieces = split(&bytes, &cuts);
    prop_assert_eq!(ours(&pieces), hypers(&pieces), "{}", text);
    Ok(())
}

/// Of bytes that are no response the two may think differently; but where both read one, it is the same, and how the
/// bytes were split changes nothing.
fn neither_is_misled((bytes, cuts): (Vec<u8>, Vec<usize>)) -> Result<(), TestCaseError> {
    let pieces = split(&bytes, &cuts);
    let read = ours(&pieces);
    prop_assert_eq!(&read, &ours(std::slice::from_ref(&bytes)), "split or whole: {}", bytes.escape_ascii());
    if let (Ok(ours), Ok(hypers)) = (read, hypers(&pieces)) {
        prop_assert_eq!(ours, hypers, "{}", bytes.escape_ascii());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn both_read_the_same_bytes_the_same_way(case in case()) {
        both_agree(case)?;
    }

    #[test]
    fn arbitrary_bytes_mislead_neither(case in arbitrary()) {
        neither_is_misled(case)?;
    }
}

#[test]
#[ignore = "takes long: cargo test --release -p aiperf-transport --test against_hyper -- --ignored"]
fn both_read_the_same_in_ten_million_splits() {
    TestRunner::new(ProptestConfig::with_cases(10_000_000)).run(&case(), both_agree).unwrap();
}

#[test]
#[ignore = "takes long: cargo test --release -p aiperf-transport --test against_hyper -- --ignored"]
fn arbitrary_bytes_mislead_neither_in_ten_million_splits() {
    TestRunner::new(ProptestConfig::with_cases(10_000_000)).run(&arbitrary(), neither_is_misled).unwrap();
}
