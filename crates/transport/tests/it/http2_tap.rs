//! Notes on HTTP/2 frames are the same in whatever pieces the frames come, and no bytes break them.

use aiperf_transport::http2::frames::{HEADER_LEN, flag, kind};
use aiperf_transport::http2::tap::Tap;
use aiperf_types::{MonoNs, Read};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Streams that are registered; frames come for others too.
const REGISTERED: [u32; 3] = [1, 3, 5];

/// What a server sends, in terms of messages.
#[derive(Clone, Debug)]
enum Item {
    /// A header block in fragments: the first is a HEADERS frame, the others are CONTINUATION.
    Head {
        stream: u32,
        fragments: Vec<u16>,
        ends: bool,
    },
    Data {
        stream: u32,
        len: u16,
        padding: Option<u8>,
        ends: bool,
    },
    Reset {
        stream: u32,
    },
    GoAway {
        last: u32,
    },
    /// Frames of no stream: SETTINGS, PING, WINDOW_UPDATE and unknown ones.
    Other {
        kind: u8,
        flags: u8,
        stream: u32,
        len: u8,
    },
}

/// What is known of a stream, with reads by their number.
#[derive(Debug, Default, PartialEq)]
struct Known {
    heads: Vec<u64>,
    /// Bytes of data by read.
    data: Vec<(u64, u64)>,
    end: Option<u64>,
    reset: Option<u64>,
    bytes: u64,
}

impl Known {
    fn add_data(&mut self, read: u64, len: u64) {
        match self.data.last_mut() {
            Some((last, sum)) if *last == read => *sum += len,
            _ if len > 0 => self.data.push((read, len)),
            _ => {}
        }
    }
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let stream = || prop::sample::select(vec![1u32, 3, 5, 7]);
    let item = prop_oneof![
        3 => (stream(), prop::collection::vec(0..40u16, 1..4), any::<bool>())
            .prop_map(|(stream, fragments, ends)| Item::Head { stream, fragments, ends }),
        6 => (stream(), 0..300u16, prop::option::of(any::<u8>()), prop::bool::weighted(0.1))
            .prop_map(|(stream, len, padding, ends)| Item::Data { stream, len, padding, ends }),
        1 => stream().prop_map(|stream| Item::Reset { stream }),
        1 => (0..100u32).prop_map(|last| Item::GoAway { last }),
        2 => (prop::sample::select(vec![4u8, 6, 8, 200]), any::<u8>(), 0..10u32, any::<u8>())
            .prop_map(|(kind, flags, stream, len)| Item::Other { kind, flags, stream, len }),
    ];
    prop::collection::vec(item, 0..20)
}

/// Bytes on their way, cut into reads.
struct Wire {
    bytes: Vec<u8>,
    /// Where each read ends.
    ends: Vec<usize>,
}

impl Wire {
    /// Adds a frame and gives the number of the read that completes it.
    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> u64 {
        self.bytes.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
        self.bytes.extend_from_slice(&[kind, flags]);
        // The reserved bit is set: it must be ignored.
        self.bytes.extend_from_slice(&(stream | 1 << 31).to_be_bytes());
        self.bytes.extend_from_slice(payload);
        let len = self.bytes.len();
        self.ends.partition_point(|&end| end < len) as u64 + 1
    }
}

/// The frames as bytes, and what is to be known of them when reads end where they do.
fn encode(items: &[Item], ends: Vec<usize>) -> (Wire, Vec<Known>, Option<u32>) {
    let mut wire = Wire { bytes: Vec::new(), ends };
    // The last is for streams that are not registered.
    let mut known: Vec<Known> = (0..=REGISTERED.len()).map(|_| Known::default()).collect();
    let place = |stream: u32| REGISTERED.iter().position(|&id| id == stream).unwrap_or(REGISTERED.len());
    let mut gone: Option<u32> = None;
    for item in items {
        let before = wire.bytes.len();
        match item {
            Item::Head { stream, fragments, ends } => {
                let mut read = 0;
                for (at, &len) in fragments.iter().enumerate() {
                    let kind = if at == 0 { kind::HEADERS } else { kind::CONTINUATION };
                    let end_stream = if at == 0 && *ends { flag::END_STREAM } else { 0 };
                    let end_headers = if at + 1 == fragments.len() { flag::END_HEADERS } else { 0 };
                    read = wire.frame(kind, end_stream | end_headers, *stream, &vec![0xaa; usize::from(len)]);
                }
                let known = &mut known[place(*stream)];
                known.heads.push(read);
                known.bytes += (wire.bytes.len() - before) as u64;
                if *ends {
                    known.end.get_or_insert(read);
                }
            }
            Item::Data { stream, len, padding, ends } => {
                let mut payload = Vec::from_iter(*padding);
                payload.resize(payload.len() + usize::from(*len), 0xbb);
                payload.resize(payload.len() + usize::from(padding.unwrap_or_default()), 0);
                let padded = if padding.is_some() { flag::PADDED } else { 0 };
                let end_stream = if *ends { flag::END_STREAM } else { 0 };
                let read = wire.frame(kind::DATA, padded | end_stream, *stream, &payload);
                let known = &mut known[place(*stream)];
                known.bytes += (HEADER_LEN + payload.len()) as u64;
                known.add_data(read, u64::from(*len));
                if *ends {
                    known.end.get_or_insert(read);
                }
            }
            Item::Reset { stream } => {
                let read = wire.frame(kind::RST_STREAM, 0, *stream, &[0, 0, 0, 8]);
                known[place(*stream)].reset.get_or_insert(read);
            }
            Item::GoAway { last } => {
                wire.frame(kind::GOAWAY, 0, 0, &[&last.to_be_bytes()[..], &[0; 4], b"debug"].concat());
                gone = Some(gone.map_or(*last, |known| known.min(*last)));
            }
            Item::Other { kind, flags, stream, len } => {
                wire.frame(*kind, *flags, *stream, &vec![0xcc; usize::from(*len)]);
            }
        }
    }
    known.pop();
    (wire, known, gone)
}

/// Ends of reads whose lengths go round.
fn read_ends(total: usize, lens: &[usize]) -> Vec<usize> {
    let ends = lens.iter().cycle().scan(0, |end, len| {
        *end += len;
        Some(*end)
    });
    let mut ends: Vec<usize> = ends.take_while(|&end| end < total).collect();
    ends.push(total);
    ends
}

/// Feeds all reads. Data are taken in steps, now and then; the rest at the end.
fn noted(wire: &Wire, steps: &[u64]) -> (Vec<Known>, Option<u32>) {
    let mut tap = Tap::default();
    REGISTERED.iter().for_each(|&stream| tap.register(stream));
    let mut known: Vec<Known> = REGISTERED.iter().map(|_| Known::default()).collect();
    let mut steps = steps.iter().cycle();
    let mut start = 0;
    for (at, &end) in wire.ends.iter().enumerate() {
        let read = Read { at: MonoNs(at as u64 + 1), lag: 7, len: (end - start) as u32, ..Read::default() };
        tap.note(&wire.bytes[start..end], read);
        start = end;
        for (known, &stream) in known.iter_mut().zip(&REGISTERED) {
            if let Some((arrival, len)) = steps.next().and_then(|&most| tap.take_data(stream, most)) {
                known.add_data(arrival.read, len);
            }
        }
    }
    for (known, &stream) in known.iter_mut().zip(&REGISTERED) {
        while let Some((arrival, len)) = tap.take_data(stream, u64::MAX) {
            assert_eq!((arrival.stamp.at, arrival.stamp.lag), (MonoNs(arrival.read), 7));
            known.add_data(arrival.read, len);
        }
        known.heads.extend(std::iter::from_fn(|| tap.take_head(stream)).map(|arrival| arrival.read));
        known.end = tap.end(stream).map(|arrival| arrival.read);
        known.reset = tap.reset(stream).map(|arrival| arrival.read);
        known.bytes = tap.bytes(stream);
    }
    (known, tap.last_processed())
}

type Case = (Vec<Item>, Vec<usize>, Vec<u64>);

fn case() -> impl Strategy<Value = Case> {
    let lens = prop::collection::vec(prop_oneof![1..4usize, 1..40usize, 1..2000usize], 1..12);
    (items(), lens, prop::collection::vec(0..400u64, 1..6))
}

fn notes_are_those_of_the_frames((items, lens, steps): Case) -> Result<(), TestCaseError> {
    let total = encode(&items, Vec::new()).0.bytes.len();
    let (wire, known, gone) = encode(&items, read_ends(total, &lens));
    prop_assert_eq!(noted(&wire, &steps), (known, gone));
    Ok(())
}

proptest! {
    #[test]
    fn frames_are_noted_alike_in_every_split(case in case()) {
        notes_are_those_of_the_frames(case)?;
    }

    #[test]
    fn no_bytes_break_the_notes(
        bytes in prop::collection::vec(prop_oneof![0..10u8, any::<u8>()], 0..600),
        lens in prop::collection::vec(1..50usize, 1..8),
    ) {
        let ends = read_ends(bytes.len(), &lens);
        noted(&Wire { bytes, ends }, &[3]);
    }
}

#[test]
#[ignore = "takes long: cargo test --release -p aiperf-transport --test http2_tap -- --ignored"]
fn frames_are_noted_alike_in_ten_million_splits() {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(10_000_000));
    runner.run(&case(), notes_are_those_of_the_frames).unwrap();
}
