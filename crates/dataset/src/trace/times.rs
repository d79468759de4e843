//! The times of a trace, as they are replayed.

use aiperf_plan::{TimestampWindow, TraceFormat, TracePlan};

use super::rows::Rows;
use super::sessions::Sessions;
use super::synthesis;
use crate::long_delays::LongDelays;
use crate::turn_shape::{LONGEST_MS, turn_shape};

/// The first and the last of some times; NaN means none.
pub(super) fn range(times: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    times.filter(|time| !time.is_nan()).fold(None, |range, time| {
        let (first, last) = range.unwrap_or((time, time));
        Some((time.min(first), time.max(last)))
    })
}

/// The message for a trace whose rows are all left out.
pub(super) fn nothing_left(window: &TimestampWindow, max_isl: Option<u32>, range: Option<(f64, f64)>) -> String {
    let from = window.start_ms.map(|start| format!(" from {start} ms")).unwrap_or_default();
    let to = window.end_ms.map(|end| format!(" to {end} ms")).unwrap_or_default();
    let short = max_isl.map(|most| format!(" of at most {most} input tokens")).unwrap_or_default();
    let (first, last) = range.unwrap_or_default();
    format!(
        "has no rows{short}{from}{to}\n  its timestamps go from {first} ms to {last} ms\n  try: \
         --fixed-schedule-start-offset, --fixed-schedule-end-offset and --synthesis-max-isl that leave some of them"
    )
}

/// Scales times and delays by the plan, before idle time is cut.
pub(super) fn speed_up(rows: &mut Rows, plan: &TracePlan) {
    if plan.ignores_times {
        return rows.forget_times();
    }
    match plan.format {
        TraceFormat::Baseten => rows.times_ms.iter_mut().for_each(|time| *time /= plan.baseten.speedup),
        _ if plan.synthesis.reshapes() => {
            let speedup = plan.synthesis.speedup;
            rows.times_ms.iter_mut().for_each(|time| *time = synthesis::sped_up(*time, speedup));
        }
        _ => {}
    }
}

/// Rows after the first of their session wait for the response to the one before, and then as long as they did when the
/// trace was recorded.
pub(super) fn close_loop(rows: &mut Rows, sessions: &Sessions, speedup: f64) {
    let mut delays = vec![f64::NAN; rows.len()];
    for session in 0..sessions.ends.len() {
        for pair in sessions.rows(session).windows(2) {
            let [before, row] = [pair[0] as usize, pair[1] as usize];
            let gap = rows.times_ms[row].trunc() - rows.times_ms[before].trunc();
            let answered = rows.duration_ms(before).unwrap_or(0.0) / speedup;
            delays[row] = (gap.max(0.0) - answered).max(0.0);
        }
        for row in sessions.rows(session).iter().skip(1).rev() {
            rows.times_ms[*row as usize] = f64::NAN;
        }
    }
    rows.delays_ms = delays;
}

/// Scales and caps delays. Refuses one that is longer than a run can last; returns its row.
pub(super) fn cap_delays(rows: &mut Rows, plan: &TracePlan) -> Result<LongDelays, (u32, String)> {
    let mut long = LongDelays::default();
    for (row, delay) in rows.delays_ms.iter_mut().enumerate() {
        let recorded = *delay;
        let Some(kept) = clamp_delay(Some(recorded * plan.delay_ratio), plan.delay_cap_ms) else { continue };
        if kept > LONGEST_MS {
            return Err((
                row as u32,
                format!(
                    "delay {recorded} becomes {kept:e} at a ratio of {}, and one is at most {LONGEST_MS:e} milliseconds\n  try: a \
                 smaller --session-delay-ratio",
                    plan.delay_ratio
                ),
            ));
        }
        *delay = kept;
        if plan.delay_cap_ms.is_none() {
            long.add(turn_shape(Some(kept), None).delay, row);
        }
    }
    Ok(long)
}

/// A delay after capping; none if it is not a number.
pub(super) fn clamp_delay(delay_ms: Option<f64>, cap_ms: Option<f64>) -> Option<f64> {
    let delay_ms = delay_ms.filter(|delay| delay.is_finite())?;
    Some(cap_ms.map_or(delay_ms, |cap| delay_ms.min(cap)))
}

/// Shortens idle gaps: in the order of time, by whole milliseconds, no gap between two rows stays longer than the cap,
/// rounded up. The first row keeps its time.
pub(super) fn reflow_idle_gaps(
    rows: usize,
    time: impl Fn(usize) -> Option<f64>,
    mut put: impl FnMut(usize, f64),
    cap_ms: f64,
) {
    let cap = cap_ms.ceil();
    let mut order: Vec<u32> = (0..rows as u32).filter(|row| time(*row as usize).is_some()).collect();
    let whole = |row: u32| time(row as usize).unwrap_or_default().trunc();
    order.sort_by(|a, b| whole(*a).total_cmp(&whole(*b)));
    let mut before: Option<(f64, f64)> = None;
    for row in order {
        let recorded = whole(row);
        let moved = before.map_or(recorded, |(last, moved)| moved + (recorded - last).min(cap));
        before = Some((recorded, moved));
        put(row as usize, moved);
    }
}

/// The same for the times of rows.
pub(super) fn reflow_rows(rows: &mut Rows, cap_ms: f64) {
    let recorded = rows.times_ms.clone();
    let time = |row: usize| Some(recorded[row]).filter(|time| !time.is_nan());
    reflow_idle_gaps(recorded.len(), time, |row, moved| rows.times_ms[row] = moved, cap_ms);
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_golden::has;
    use aiperf_golden::kinds::datasets::{CAPPED_DELAYS, CAPPED_GAPS};
    use aiperf_golden::kinds::load::CAPPED_DELAY;
    use serde_json::Value;

    fn gaps(case: &Value) {
        let mut times: Vec<f64> =
            case["timestamps_ms"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
        let recorded = times.clone();
        if let Some(cap) = case["cap_ms"].as_f64() {
            reflow_idle_gaps(recorded.len(), |row| Some(recorded[row]), |row, time| times[row] = time, cap);
        }
        let wanted = if case["out"].is_array() { &case["out"] } else { &case["expected"]["ok"] };
        let wanted: Vec<f64> = wanted.as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
        assert_eq!(times, wanted);
    }

    fn number(value: &Value) -> Option<f64> {
        match value.as_str() {
            Some(text) => text.parse().ok(),
            None => value.as_f64(),
        }
    }

    #[test]
    fn golden_gaps_are_capped_as_recorded() {
        let refused = |case: &Value| {
            let is_refused = has(case, "error") || has(case, "expected.error") || has(case, "expected.error_type");
            is_refused.then(|| "a cap of 0 or less is refused with the flag that has it".into())
        };
        CAPPED_GAPS.run(refused, gaps);
    }

    #[test]
    fn golden_delays_are_capped_as_recorded() {
        CAPPED_DELAY.run(
            |_| None,
            |case| {
                let cap = case["cap_s"].as_f64().map(|cap| cap * 1e3);
                assert_eq!(clamp_delay(number(&case["delay_ms"]), cap), case["expected"].as_f64());
            },
        );
        CAPPED_DELAYS.run(
            |_| None,
            |case| {
                let cap = case["cap_seconds"].as_f64().map(|cap| cap * 1e3);
                for (delay, wanted) in case["delays_ms"].as_array().unwrap().iter().zip(case["out"].as_array().unwrap())
                {
                    assert_eq!(clamp_delay(number(delay), cap), wanted.as_f64(), "{delay}");
                }
            },
        );
    }
}
