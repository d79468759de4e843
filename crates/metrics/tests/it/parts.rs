//! Merged parts of a run that were sent are the run.

use crate::load::Load;
use crate::properties::{LIMITS, accumulate, assert_same, record, traits};
use aiperf_metrics::metric::Compute;
use aiperf_metrics::{Accumulator, Context, Limits, Metrics, Records, RunTraits, Summary, SweepLine, registry};
use aiperf_types::{BinaryForm, EndpointKind, Measured, Nanos};
use proptest::collection::vec;
use proptest::prelude::*;

const FORM: BinaryForm = BinaryForm { name: "records", version: 1 };
const PARTS: usize = 4;
/// Sums of floats depend on the order of their terms, in the last bits.
const ROUNDING: f64 = 1e-9;
/// For percentiles of curves in histograms.
const HISTOGRAM: f64 = 1.0 / 1024.0;

fn sent(records: &Records) -> Records {
    FORM.read(&FORM.write(records).unwrap()).unwrap()
}

/// For integers every sum, and so every mean, deviation and percentile, is the same to the last bit.
fn is_of_integers(tag: &str) -> bool {
    registry::find(tag).is_some_and(|metric| {
        matches!(metric.compute, Compute::Ints(_) | Compute::Fold(..) | Compute::Gaps | Compute::Pass(_))
    })
}

fn assert_equal(whole: &Summary, merged: &Summary, curves: f64) {
    assert_same(whole, merged, curves);
    for (one, other) in whole.results.iter().zip(&merged.results).filter(|(one, _)| is_of_integers(&one.tag)) {
        assert_eq!(one.stats, other.stats, "{}", one.tag);
    }
    assert_eq!(whole.exactness, merged.exactness);
    assert_eq!(whole.spec_decode_histogram, merged.spec_decode_histogram);
    assert_eq!((whole.records, whole.failed), (merged.records, merged.failed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merged_parts_that_were_sent_are_the_whole(
        traits in traits(),
        records in vec((record(), 0..PARTS), 1..80),
        slice in 1..1500_u64,
        limits in 0..LIMITS.len(),
        is_reversed in any::<bool>(),
    ) {
        let length = Nanos::from_millis(slice);
        let metrics = Metrics::for_run(traits).with_slices(length);
        let (limits, stretches) = LIMITS[limits];
        let sweep = || SweepLine::with_limit(Some(length), stretches);
        let mut whole = accumulate(&metrics, limits, records.iter().map(|(m, _)| m));
        whole.finish_sweep(sweep());
        let part = |number: usize| {
            let own = records.iter().filter(|(_, part)| *part == number).map(|(m, _)| m);
            sent(&accumulate(&metrics, Limits::NONE, own).into_records())
        };
        let mut parts: Vec<Records> = (0..PARTS).map(part).collect();
        if is_reversed {
            parts.reverse();
        }
        // One sweep over several parts.
        let swept = Records::sweep(&parts, sweep());
        let merged = sent(&parts.into_iter().reduce(Records::merge).unwrap());
        let merged = Accumulator::of_records(merged, swept, limits);
        let curves = if stretches == u64::MAX { ROUNDING } else { HISTOGRAM };
        let context = Context::default();
        assert_equal(&whole.summarise(&metrics, context), &merged.summarise(&metrics, context), curves);
        prop_assert_eq!(whole.errors(), merged.errors());
        let [whole, merged] = [&whole, &merged].map(|records| records.slices(&metrics, length, context));
        prop_assert_eq!(whole.len(), merged.len());
        for (one, other) in whole.iter().zip(&merged) {
            prop_assert_eq!((one.index, one.start, one.end), (other.index, other.start, other.end));
            assert_equal(&one.summary, &other.summary, curves);
        }
    }

    #[test]
    fn damaged_bytes_of_a_part_do_no_harm(
        records in vec(record(), 1..20),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
        let mut bytes = FORM.write(&accumulate(&metrics, Limits::NONE, &records).into_records()).unwrap();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(received) = FORM.read::<Records>(&bytes) {
            prop_assert!(received.len() <= 1024);
            let _ = received.first_start();
        }
    }
}

/// More records than fit into a block, over such a long time that many blocks are swept one after another.
#[test]
fn parts_of_many_records_are_swept_as_the_whole() {
    let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
    let mut load = Load::new(7, 50, 12, 1_000_000, 40);
    let mut next = || {
        let mut m = Measured::default();
        load.next_into(&mut m);
        m
    };
    let records: Vec<Measured> = (0..9000).map(|_| next()).collect();
    for stretches in [u64::MAX, 5000] {
        let mut whole = accumulate(&metrics, Limits::default(), &records);
        whole.finish_sweep(SweepLine::with_limit(None, stretches));
        let part = |number| {
            let own = records.iter().enumerate().filter(|(at, _)| at / 700 % 3 == number).map(|(_, m)| m);
            sent(&accumulate(&metrics, Limits::NONE, own).into_records())
        };
        let parts = [part(0), part(1), part(2)];
        let swept = Records::sweep(&parts, SweepLine::with_limit(None, stretches));
        assert_eq!(swept.held(), 0);
        let merged = parts.into_iter().reduce(Records::merge).unwrap();
        let merged = Accumulator::of_records(merged, swept, Limits::default());
        let [whole, merged] = [&whole, &merged].map(|records| records.summarise(&metrics, Context::default()));
        assert_eq!(whole.exactness.curves_binned, stretches == 5000);
        assert_equal(&whole, &merged, if stretches == u64::MAX { ROUNDING } else { HISTOGRAM });
    }
}
