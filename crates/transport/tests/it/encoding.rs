//! Bodies that come compressed or in a charset of their own, without a socket.

use aiperf_transport::{body, charset, encoding};
use aiperf_types::{Exchange, Failure, MonoNs, Read, Timeline};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;
use std::io::Write;

const LIMIT: usize = 1 << 20;

/// An exchange of this head whose body came in these reads, a nanosecond apart, from 100 on.
fn exchange(head: &str, reads: &[&[u8]]) -> Exchange {
    let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
    let mut raw = head.clone().into_bytes();
    let read = |at: usize, len: usize| Read { at: MonoNs(at as u64), lag: 7, len: len as u32, ..Read::default() };
    let mut timeline = Timeline { reads: vec![read(99, head.len())], ..Timeline::default() };
    for (at, bytes) in reads.iter().enumerate() {
        raw.extend_from_slice(bytes);
        timeline.reads.push(read(100 + at, bytes.len()));
    }
    let chunked = head.contains("chunked");
    Exchange { raw_len: raw.len(), raw, body_at: head.len(), chunked, timeline, ..Exchange::default() }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// How an encoding that cannot be undone is named.
fn why(failure: Failure) -> String {
    match failure {
        Failure::Encoding(why) => why,
        other => panic!("{other:?}"),
    }
}

/// The plain body, and why there is no more of it.
fn decoded(exchange: &Exchange) -> (Vec<u8>, Option<String>) {
    let decoded = encoding::decode(exchange, LIMIT);
    (body::collect(&decoded.exchange), decoded.failure.map(why))
}

#[test]
fn a_body_that_grows_past_its_limit_takes_no_more_room_than_that() {
    const LARGE: usize = 12 << 20;
    let bomb = gzip(&vec![b' '; 2 * LARGE]);
    let bomb = exchange("Content-Encoding: gzip", &[&bomb]);
    let decoded = encoding::decode(&bomb, LARGE);
    assert!(why(decoded.failure.unwrap()).contains("longer than the 12582912 bytes that are kept"));
    let raw = &decoded.exchange.raw;
    assert_eq!((raw.len(), raw.capacity()), (LARGE + bomb.body_at, LARGE + bomb.body_at));
}

#[test]
fn a_flood_of_members_is_not_read_to_its_end() {
    let members = |count: usize| exchange("Content-Encoding: gzip", &[&gzip(b"a").repeat(count)]);
    assert_eq!(decoded(&members(16 << 10)), (vec![b'a'; 16 << 10], None));
    let (text, why) = decoded(&members((16 << 10) + 1));
    assert_eq!((text.len(), why.as_deref()), (16 << 10, Some("the response has more than 16384 'gzip' members")));
}

#[test]
fn what_a_read_completed_carries_its_instant() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut piece = |text: &[u8]| {
        encoder.write_all(text).unwrap();
        encoder.flush().unwrap();
        std::mem::take(encoder.get_mut())
    };
    let pieces = [piece(b"data: a\n\n"), piece(b"data: b\n\n"), piece(b"data: c\n\n")];
    let rest = encoder.finish().unwrap();
    let (half, other_half) = pieces[1].split_at(pieces[1].len() / 2);
    let exchange = exchange("Content-Encoding: gzip", &[&pieces[0], half, other_half, &pieces[2], &rest]);
    let decoded = encoding::decode(&exchange, LIMIT);
    assert!(decoded.failure.is_none());
    let mut spans = Vec::new();
    body::for_each_span(&decoded.exchange, |read, span| spans.push((read.at.0, read.lag, span.to_vec())));
    assert_eq!(spans.first(), Some(&(100, 7, b"data: a\n\n".to_vec())));
    assert_eq!(spans.last(), Some(&(103, 7, b"data: c\n\n".to_vec())));
    let before_the_last: Vec<u8> = spans.iter().filter(|(at, ..)| *at < 103).flat_map(|span| span.2.clone()).collect();
    assert_eq!(before_the_last, b"data: a\n\ndata: b\n\n");
    assert_eq!(exchange.timeline.reads.len(), 6, "the reads as they came stay");
}

#[test]
fn chunk_framing_goes_with_the_encoding() {
    let packed = gzip(b"hello");
    let framed = [format!("{:x}\r\n", packed.len()).as_bytes(), &packed, b"\r\n0\r\n\r\n"].concat();
    let exchange = exchange("Transfer-Encoding: chunked\r\nContent-Encoding: GZip", &[&framed]);
    assert_eq!(decoded(&exchange), (b"hello".to_vec(), None));
    assert!(!encoding::decode(&exchange, LIMIT).exchange.chunked);
}

#[test]
fn a_response_that_is_not_encoded_is_not_copied() {
    for head in ["X: y", "Content-Encoding: identity", "Content-Encoding:", "Content-Encoding: identity, ,"] {
        let exchange = exchange(head, &[b"hello"]);
        assert!(matches!(encoding::decode(&exchange, LIMIT).exchange, std::borrow::Cow::Borrowed(_)), "{head}");
    }
}

#[test]
fn deflate_comes_with_the_frame_of_zlib_and_without() {
    for packed in [zlib(b"hello"), raw_deflate(b"hello")] {
        assert_eq!(decoded(&exchange("Content-Encoding: deflate", &[&packed])), (b"hello".to_vec(), None));
        let cut = &packed[..packed.len() - 1];
        let (_, error) = decoded(&exchange("Content-Encoding: deflate", &[cut]));
        assert_eq!(error.unwrap(), "the response ends within its 'deflate' data");
    }
}

#[test]
fn encodings_are_undone_from_the_last_to_the_first() {
    let packed = zlib(&gzip(b"hello"));
    for head in ["Content-Encoding: gzip, deflate", "Content-Encoding: x-gzip\r\ncontent-encoding: deflate"] {
        assert_eq!(decoded(&exchange(head, &[&packed])), (b"hello".to_vec(), None), "{head}");
    }
    let (_, error) = decoded(&exchange("Content-Encoding: deflate, gzip", &[&packed]));
    assert!(error.is_some());
    let (_, error) = decoded(&exchange("Content-Encoding: gzip, gzip, gzip, gzip, gzip", &[&packed]));
    assert!(error.unwrap().contains("5 times over"));
}

#[test]
fn all_members_of_gzip_are_read_and_what_follows_them_is_not() {
    let packed = [gzip(b"hello "), gzip(b""), gzip(b"there"), b"\0\0".to_vec()].concat();
    for cut in 0..packed.len() {
        let (one, two) = packed.split_at(cut);
        assert_eq!(decoded(&exchange("Content-Encoding: gzip", &[one, two])), (b"hello there".to_vec(), None));
    }
}

#[test]
fn what_was_decoded_before_the_data_broke_stays() {
    let text: Vec<u8> = (0..4000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let mut packed = gzip(&text);
    let middle = packed.len() / 2;
    let (cut, error) = decoded(&exchange("Content-Encoding: gzip", &[&packed[..middle]]));
    assert!(cut.len() > 4000 && text.starts_with(&cut), "{}", cut.len());
    assert_eq!(error.unwrap(), "the response ends within its 'gzip' data");
    let last = packed.len() - 1;
    packed[last] ^= 1;
    let (all, error) = decoded(&exchange("Content-Encoding: gzip", &[&packed]));
    assert_eq!(all, text);
    assert!(error.is_some(), "the length of the member is wrong");
}

#[test]
fn a_body_that_grows_past_the_limit_ends_there() {
    for (name, packed) in [("gzip", gzip(&vec![0; 9 << 20])), ("deflate", zlib(&vec![0; 9 << 20]))] {
        let (kept, error) = decoded(&exchange(&format!("Content-Encoding: {name}"), &[&packed]));
        assert_eq!(kept.len(), LIMIT);
        assert_eq!(error.unwrap(), "decoded, the response is longer than the 1048576 bytes that are kept");
    }
    let twice = gzip(&gzip(&vec![0; 99 << 20]));
    let (kept, error) = decoded(&exchange("Content-Encoding: gzip, gzip", &[&twice]));
    assert!(kept.len() == LIMIT && error.is_some());
}

#[test]
fn an_encoding_that_is_not_read_is_named() {
    for name in ["br", "zstd", "compress", "\u{1b}[2J"] {
        let (kept, error) = decoded(&exchange(&format!("Content-Encoding: gzip, {name}"), &[b"hello"]));
        assert!(kept.is_empty());
        assert!(error.as_ref().unwrap().contains("the server sent Content-Encoding"), "{error:?}");
    }
}

#[test]
fn an_empty_body_needs_no_encoding() {
    for name in ["gzip", "deflate"] {
        assert_eq!(decoded(&exchange(&format!("Content-Encoding: {name}"), &[])), (Vec::new(), None));
    }
}

#[test]
fn text_is_read_in_the_charset_it_declares() {
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    for (declared, bytes, wanted) in [
        ("; charset=latin-1", b"caf\xe9 \x80".to_vec(), Ok("caf\u{e9} \u{80}")),
        ("; charset=\"ISO-8859-1\"", b"caf\xe9".to_vec(), Ok("caf\u{e9}")),
        ("; a=b; Charset = iso8859_1", b"caf\xe9".to_vec(), Ok("caf\u{e9}")),
        ("; charset=windows-1252", b"\x80".to_vec(), Ok("\u{20ac}")),
        ("; charset=shift_jis", b"\x93\xfa\x96\x7b".to_vec(), Ok("\u{65e5}\u{672c}")),
        ("; charset=utf-16", utf_16("\u{feff}h\u{e9}"), Ok("h\u{e9}")),
        ("; charset=utf-16", b"\xfe\xff\0h".to_vec(), Ok("h")),
        ("; charset=utf-16le", utf_16("h\u{e9}"), Ok("h\u{e9}")),
        ("; charset=utf-16", b"h\0\0\xd8".to_vec(), Err("Text")),
        ("; charset=us-ascii", b"caf\xe9".to_vec(), Err("Text")),
        ("; charset=utf8", b"caf\xe9".to_vec(), Err("Text")),
        ("", b"caf\xe9".to_vec(), Err("Text")),
        ("; charset=", b"caf\xc3\xa9".to_vec(), Ok("caf\u{e9}")),
        ("; charset=klingon", b"caf\xe9".to_vec(), Err("UnknownCharset")),
        ("; charset=klingon", b"caf\xc3\xa9".to_vec(), Ok("caf\u{e9}")),
    ] {
        let exchange = exchange(&format!("Content-Type: application/json{declared}"), &[&bytes]);
        match (charset::text(&exchange, &bytes), wanted) {
            (Ok(text), Ok(wanted)) => assert_eq!(String::from_utf8_lossy(&text), wanted, "{declared}"),
            (Err(error), Err(kind)) => assert!(format!("{error:?}").starts_with(kind), "{declared}"),
            (other, wanted) => panic!("{declared}: {other:?}, not {wanted:?}"),
        }
    }
}

#[test]
fn what_is_no_text_stays_as_it_is() {
    let exchange = exchange("Content-Type: image/png; charset=utf-16", &[b"\x89PNG"]);
    assert_eq!(&*charset::text(&exchange, b"\x89PNG").unwrap(), b"\x89PNG");
}

/// The bytes in pieces of these lengths, again and again.
fn pieces<'a>(bytes: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*length).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

proptest! {
    #[test]
    fn any_split_of_an_encoded_body_gives_the_same_text(
        text in prop::collection::vec(any::<u8>(), 0..2000),
        repeats in 1..40usize,
        coding in 0..4usize,
        lengths in prop::collection::vec(1..50usize, 1..20),
    ) {
        let text = text.repeat(repeats);
        let (name, packed) = match coding {
            0 => ("gzip", gzip(&text)),
            1 => ("deflate", zlib(&text)),
            2 => ("deflate", raw_deflate(&text)),
            _ => ("deflate, gzip", gzip(&zlib(&text))),
        };
        // Nothing distinguishes a stream without a frame, whose first byte looks like the beginning of one, from one
        // that has it.
        prop_assume!(coding != 2 || packed[0] & 0xf != 8);
        let exchange = exchange(&format!("Content-Encoding: {name}"), &pieces(&packed, &lengths));
        prop_assert_eq!(decoded(&exchange), (text, None));
    }

    #[test]
    fn bytes_that_are_no_gzip_never_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..300),
        begins_well in any::<bool>(),
        name in prop::sample::select(vec!["gzip", "deflate", "gzip, deflate", "deflate, gzip"]),
        lengths in prop::collection::vec(1..50usize, 1..20),
    ) {
        if begins_well {
            bytes.splice(..0, [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
        }
        let head = format!("Content-Encoding: {name}");
        let whole = decoded(&exchange(&head, &[&bytes]));
        let split = decoded(&exchange(&head, &pieces(&bytes, &lengths)));
        prop_assert_eq!(whole.1.is_some(), split.1.is_some());
        prop_assert!(whole.0.starts_with(&split.0) || split.0.starts_with(&whole.0));
    }

    #[test]
    fn damage_to_gzip_never_panics(
        text in prop::collection::vec(any::<u8>(), 0..2000),
        at in any::<prop::sample::Index>(),
        flip in 1..=255u8,
        lengths in prop::collection::vec(1..50usize, 1..20),
    ) {
        let mut packed = gzip(&text);
        let at = at.index(packed.len());
        packed[at] ^= flip;
        decoded(&exchange("Content-Encoding: gzip", &pieces(&packed, &lengths)));
    }
}
