//! When events may have arrived, by the reads that brought them.

use super::*;

/// Feeds the reads of a stream that was sent at instant 1000, each with its bytes.
fn reads(reads: &[(Read, String)]) -> Parsed {
    let mut parser = ResponseParser::new(&chat(), MonoNs(1000));
    reads.iter().for_each(|(read, bytes)| assert!(parser.feed_stream(bytes.as_bytes(), read)));
    parser.finish()
}

/// A stamped read at an instant, of a socket that was empty this long before.
fn read(at: u64, width: u32) -> Read {
    Read { at: MonoNs(at), width, ..Read::default() }
}

fn widths(parsed: &Parsed) -> (u64, u64) {
    (parsed.first_uncertainty.width.0, parsed.last_uncertainty.width.0)
}

#[test]
fn events_with_a_read_of_their_own_are_exact() {
    let parsed = reads(&[(read(2000, 900), chunk("a", "")), (read(3000, 900), chunk("b", ""))]);
    assert_eq!((parsed.merged, widths(&parsed)), (0, (0, 0)));
}

#[test]
fn of_events_in_one_read_all_but_the_last_are_uncertain() {
    let three = chunk("a", "") + &chunk("b", "") + &chunk("c", "");
    let parsed = reads(&[(Read { is_late: true, ..read(2000, 700) }, three), (read(3000, 900), chunk("d", ""))]);
    assert_eq!((parsed.merged, parsed.merged_late, widths(&parsed)), (2, 2, (700, 0)));
    assert_eq!((parsed.merged_width_sum, parsed.merged_width_max), (1400, 700));
    assert!(parsed.first_uncertainty.is_late);
}

#[test]
fn a_part_of_the_next_event_makes_the_one_before_uncertain() {
    let second = chunk("b", "");
    let (part, rest) = second.split_at(9);
    let parsed = reads(&[(read(2000, 700), chunk("a", "") + part), (read(3000, 900), rest.to_owned())]);
    assert_eq!((parsed.merged, widths(&parsed)), (1, (700, 0)));
}

#[test]
fn an_end_marker_in_the_read_of_the_last_content_makes_it_uncertain() {
    let last = chunk("b", "") + "data: [DONE]\n\n";
    let parsed = reads(&[(read(2000, 700), chunk("a", "")), (read(3000, 900), last)]);
    assert_eq!((parsed.merged, widths(&parsed)), (0, (0, 900)), "most streams end in this way: they are not merged");
}

#[test]
fn a_read_that_is_full_shared_or_without_a_stamp_is_not_exact() {
    let alone = |read: Read| reads(&[(read, chunk("a", ""))]);
    let full = alone(Read { is_full: true, ..read(2000, 700) });
    let shared = alone(Read { is_shared: true, ..read(2000, 700) });
    let unstamped = alone(Read { lag: Read::NO_STAMP, ..read(2000, 700) });
    for parsed in [&full, &shared, &unstamped] {
        assert_eq!(widths(parsed), (700, 700));
    }
    assert_eq!([full.merged, shared.merged, unstamped.merged], [1, 1, 0]);
    let followed = alone(Read { is_followed: true, ..read(2000, 700) });
    assert_eq!((widths(&followed), followed.merged), ((700, 700), 0), "the end of the response is no event");
    assert!(unstamped.first_uncertainty.is_unstamped && !full.first_uncertainty.is_unstamped);
}

#[test]
fn nothing_arrives_before_its_request_is_sent() {
    let both = || chunk("a", "") + &chunk("b", "");
    assert_eq!(widths(&reads(&[(read(2000, 5000), both())])).0, 1000);
    assert_eq!(widths(&reads(&[(read(9_000_000_000, u32::MAX), both())])).0, 8_999_999_000, "longer than it can say");
}
