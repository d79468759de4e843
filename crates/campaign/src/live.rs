//! Statistics that are told while a run is on.

use crate::tell::Teller;
use aiperf_engine::{Board, Watch};
use aiperf_metrics::Metrics;
use aiperf_plan::LogLevel;
use aiperf_report::{LiveBlock, live_block, stats_of};
use aiperf_types::PhaseKind;
use std::time::Duration;

/// Tells the metrics so far every now and then, until the run is over; nothing while there is nothing new.
pub(crate) fn tell(every: Duration, watch: &Watch, board: &Board, metrics: &Metrics, teller: &dyn Teller) {
    let mut previous: Option<(u64, f64)> = None;
    while watch.wait(every) {
        let progress = board.look();
        if progress.kind != Some(PhaseKind::Profiling) {
            continue;
        }
        let Some(live) = watch.look() else { continue };
        let (records, elapsed) = (live.records(), progress.elapsed_ns as f64 / 1e9);
        if records == previous.map_or(0, |(records, _)| records) {
            continue;
        }
        let block = LiveBlock { records, failed: live.failed(), elapsed, previous, ..LiveBlock::default() };
        let summary = live.summary(metrics);
        for line in live_block(&block, stats_of(&summary)).lines() {
            teller.tell(LogLevel::Info, line);
        }
        previous = Some((records, elapsed));
    }
}
