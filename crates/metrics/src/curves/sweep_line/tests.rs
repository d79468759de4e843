use super::*;
use crate::curves::curve::Curve;
use crate::curves::order::Sent;
use crate::curves::timing::Timing;

const GAP: u64 = 1_000;

fn sweep() -> SweepLine {
    SweepLine::new(None)
}

/// A request that waits for one gap, sends one content per gap, and ends one gap after the last.
fn timing(start: u64, gaps: u64) -> Timing {
    let generation = start + GAP;
    Timing { start, end: generation + (gaps + 1) * GAP, generation: Some(generation), input: Some(9), output: Some(5) }
}

fn add(sweep: &mut SweepLine, number: u64, start: u64, gaps: u64) {
    let mut pending = Pending::default();
    pending.add(Sent { phase: 0, number, at: start }, timing(start, gaps), &vec![GAP; gaps as usize]);
    sweep.take(&mut pending);
}

fn go_on(sweep: &mut SweepLine) {
    sweep.look_ahead();
    while sweep.go_on() {}
}

fn in_flight(sweep: &SweepLine) -> [Option<f64>; 3] {
    let stats = sweep.whole(0, 1).effective(Curve::Concurrency).unwrap_or_default();
    [stats.avg, stats.min, stats.max]
}

#[test]
fn time_is_swept_up_to_the_last_number_without_a_missing_one_before_it() {
    let mut sweep = sweep();
    add(&mut sweep, 2, 20 * GAP, 3);
    add(&mut sweep, 1, 10 * GAP, 3);
    go_on(&mut sweep);
    assert_eq!(sweep.held(), 2, "the first one may have started at any time");
    add(&mut sweep, 0, 5 * GAP, 3);
    go_on(&mut sweep);
    assert_eq!((sweep.held(), sweep.front), (1, 20 * GAP));
}

#[test]
fn requests_that_wait_for_another_are_not_sorted_until_it_arrives() {
    for slow in 0..3 {
        let mut sweep = sweep();
        for number in (0..20).rev().filter(|number| *number != slow) {
            add(&mut sweep, number, number * 5 * GAP, 3);
        }
        go_on(&mut sweep);
        add(&mut sweep, 20, 100 * GAP, 3);
        go_on(&mut sweep);
        assert!(!sweep.is_sorted, "sorted while number {slow} is missing");
        add(&mut sweep, slow, slow * 5 * GAP, 3);
        go_on(&mut sweep);
        assert!(sweep.is_sorted && sweep.held() == 2 && sweep.late() == 0);
    }
}

#[test]
fn a_request_that_arrives_after_its_time_was_swept_is_counted_and_continues_from_there() {
    let mut sweep = sweep();
    for number in 0..10 {
        add(&mut sweep, number, number * 5 * GAP, 3);
    }
    sweep.sweep_to(30 * GAP);
    assert_eq!(sweep.late(), 0);
    add(&mut sweep, 10, 7 * GAP, 60);
    sweep.end();
    assert_eq!((sweep.late(), sweep.held(), sweep.held_gaps), (1, 0, 0));
    let [mean, min, max] = in_flight(&sweep);
    // One after another; from the thirtieth gap to the sixty-ninth also the late one.
    assert_eq!((min, max), (Some(1.0), Some(2.0)));
    assert!((mean.unwrap_or(0.0) - (50.0 + 39.0) / 69.0).abs() < 1e-12);
}

#[test]
fn a_hand_over_returns_no_more_requests_than_it_took() {
    let mut sweep = sweep();
    for number in 0..100 {
        add(&mut sweep, number, number * 5 * GAP, 3);
    }
    go_on(&mut sweep);
    let spare = sweep.spare.len();
    assert!(spare > 90);
    let mut pending = Pending::default();
    for number in [100, 101] {
        pending.add(Sent { phase: 0, number, at: number * 5 * GAP }, timing(number * 5 * GAP, 0), &[]);
    }
    sweep.take(&mut pending);
    assert_eq!((pending.spare.len(), sweep.spare.len()), (2, spare - 2));
}

#[test]
fn a_later_phase_continues_where_an_earlier_one_ended() {
    let [mut early, mut late] = [sweep(), sweep()];
    for number in 0..10 {
        add(&mut early, number, number * 5 * GAP, 3);
        add(&mut late, number, 1000 * GAP + number * 5 * GAP, 8);
    }
    early.end();
    late.end();
    for (mut one, other) in [(early.clone(), late.clone()), (late, early)] {
        one.append(other);
        assert_eq!((one.late(), one.swept()), (0, (50 + 55) * GAP));
        let stats = one.whole(1055 * GAP - one.swept(), 1).effective(Curve::Concurrency).unwrap_or_default();
        assert!((stats.avg.unwrap_or(0.0) - 150.0 / 1055.0).abs() < 1e-12, "{:?}", stats.avg);
    }
}

#[test]
fn the_slices_of_a_later_phase_are_those_of_the_run() {
    let slice = Nanos(40 * GAP);
    let sweeps = || [(); 3].map(|()| SweepLine::new(Some(slice)));
    let [mut early, mut late, mut whole] = sweeps();
    for number in 0..10 {
        let (first, second) = (number * 5 * GAP, 105 * GAP + number * 5 * GAP);
        add(&mut early, number, first, 3);
        add(&mut late, number, second, 3);
        add(&mut whole, number, first, 3);
        add(&mut whole, number + 10, second, 3);
    }
    late.align_slices(WallNs(0));
    late.end();
    early.append(late);
    whole.end();
    let last = 155 * GAP;
    for start in (0..last).step_by(slice.0 as usize) {
        let window = Window { start: WallNs(start), end: WallNs((start + slice.0).min(last)) };
        let stats = |sweep: &SweepLine| {
            let stats = sweep.stats(&window)?;
            Some([Curve::Concurrency, Curve::DecodeThroughput, Curve::TokensInFlight].map(|curve| {
                let stats = stats.effective(curve).unwrap_or_default();
                [stats.avg, stats.min, stats.max, stats.p50, stats.p99].map(|value| value.map(|value| value as f32))
            }))
        };
        assert_eq!(stats(&early), stats(&whole), "{start}");
        assert!(stats(&whole).is_some());
    }
}

#[test]
fn tokens_are_produced_evenly_until_a_request_has_gaps() {
    let decoding = |sweep: &SweepLine| sweep.whole(0, 1).effective(Curve::DecodeThroughput).unwrap_or_default();
    let (mut even, mut mixed, mut at_once) = (sweep(), sweep(), sweep());
    for number in 0..10 {
        add(&mut even, number, number * 5 * GAP, 0);
        add(&mut mixed, number, number * 5 * GAP, 0);
        add(&mut at_once, number, number * 5 * GAP, 0);
    }
    // Some are done when the first one with gaps arrives, and one has content.
    mixed.sweep_to(41 * GAP + GAP / 2);
    add(&mut mixed, 10, 60 * GAP, 3);
    add(&mut at_once, 10, 60 * GAP, 3);
    [&mut even, &mut mixed, &mut at_once].into_iter().for_each(SweepLine::end);
    assert!(decoding(&even).min == Some(0.0) && decoding(&even).avg > Some(0.0));
    assert_eq!(decoding(&mixed), decoding(&at_once));
    assert_eq!(mixed.late(), 0);
    let mut merged = sweep();
    add(&mut merged, 0, 100 * GAP, 3);
    merged.append(even);
    assert!(decoding(&merged).p50 == Some(0.0) && decoding(&merged).max == decoding(&mixed).max);
}

#[test]
fn a_number_that_never_arrives_does_not_block_the_rest_for_ever() {
    for gaps in [0, 20] {
        let mut sweep = SweepLine { most_waiting: 100_000, ..sweep() };
        let mut most = 0;
        for number in (0..40_000).filter(|number| *number != 7) {
            add(&mut sweep, number, number * GAP, gaps);
            while sweep.go_on() {}
            most = most.max(sweep.size());
        }
        // A few thousand changes arrive before the next check, and some requests are kept for their memory.
        assert!(most < 4_000_000, "{most} bytes with {gaps} gaps a request");
        add(&mut sweep, 7, 7 * GAP, gaps);
        sweep.end();
        assert_eq!((sweep.late(), sweep.held()), (1, 0));
    }
}

/// A request with its gaps; without them if it was cut off.
type Taken = (Sent, Option<(Timing, Vec<u64>)>);

/// Requests of uneven length, by phase in the order of sending. The second phase starts while the first still has
/// requests in flight. Every ninth request was cut off.
fn overlapping() -> Vec<Taken> {
    let mut state = 11_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut requests = Vec::new();
    let mut at = 0;
    for phase in 0..2 {
        for number in 0..400 {
            at += draw(3 * GAP);
            let (start, gaps) = (at + draw(GAP), if draw(10) == 0 { 200 } else { draw(8) });
            let is_cut_off = draw(9) == 0;
            let timing = timing(start, gaps);
            let span = (!is_cut_off).then(|| (timing, vec![GAP; gaps as usize]));
            requests.push((Sent { phase, number, at }, span));
        }
    }
    requests
}

fn hand_over(sweep: &mut SweepLine, (sent, span): &Taken) {
    let mut pending = Pending::default();
    match span {
        Some((timing, gaps)) => pending.add(*sent, *timing, gaps),
        None => pending.pass_over(*sent),
    }
    sweep.take(&mut pending);
}

#[test]
fn curves_do_not_depend_on_the_order_of_arrival_or_on_requests_that_were_cut_off() {
    let curves = |sweep: &SweepLine| {
        [Curve::Concurrency, Curve::DecodeThroughput, Curve::TokensInFlight].map(|curve| {
            let stats = sweep.whole(0, 1).effective(curve).unwrap_or_default();
            [stats.avg, stats.std, stats.min, stats.max, stats.p50, stats.p99].map(|value| value.map(|v| v as f32))
        })
    };
    let requests = overlapping();
    let mut at_once = sweep();
    requests.iter().for_each(|request| hand_over(&mut at_once, request));
    at_once.end();

    let ended = |request: &Taken| request.1.as_ref().map_or(request.0.at, |span| span.0.end);
    let mut by_end = requests.clone();
    by_end.sort_by_key(ended);
    let mut scattered = requests.clone();
    scattered.sort_by_key(|(sent, _)| (sent.number * 7919 + u64::from(sent.phase) * 31) % 1009);
    let reversed: Vec<_> = requests.iter().rev().cloned().collect();
    for (name, order) in [("ended", by_end), ("scattered", scattered), ("reversed", reversed), ("sent", requests)] {
        let mut sweep = sweep();
        let mut left = [400_u64; 2];
        for request in &order {
            hand_over(&mut sweep, request);
            left[usize::from(request.0.phase)] -= 1;
            // Like the engine: once a phase sends no more records.
            (0..2).filter(|phase| left[*phase] == 0).for_each(|phase| sweep.close_phase(phase as u16, 400));
            go_on(&mut sweep);
        }
        assert!(sweep.held() < 60, "{name}: {} were not swept", sweep.held());
        sweep.end();
        assert_eq!((sweep.late(), curves(&sweep)), (0, curves(&at_once)), "{name}");
    }
}

#[test]
fn a_number_that_was_never_sent_does_not_block_once_its_phase_has_ended() {
    let mut sweep = sweep();
    for number in (0..20).filter(|number| *number != 3) {
        add(&mut sweep, number, number * 5 * GAP, 3);
    }
    go_on(&mut sweep);
    assert_eq!((sweep.held(), sweep.front), (18, 10 * GAP), "waits for number 3");
    sweep.close_phase(0, 19);
    go_on(&mut sweep);
    // The last one, and the one that ends when the last one starts.
    assert_eq!((sweep.held(), sweep.front, sweep.late()), (2, 95 * GAP, 0));
}
