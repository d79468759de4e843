//! Which rows of a file or trace are used.

use super::super::subject;
use super::counted_by;
use crate::error::Problem;
use crate::flags::NUM_DATASET_ENTRIES;
use crate::resolve::Tree;
use crate::sections::dataset::Dataset;
use crate::tree::Origin;
use aiperf_plan::TimestampWindow;

/// Maximum number of conversations; other flags count requests.
pub(super) fn entries(tree: &Tree, dataset: &Dataset) -> Option<u64> {
    let node = tree.node.find("benchmark.datasets.0.entries");
    let is_asked =
        counted_by(tree, NUM_DATASET_ENTRIES) || node.is_some_and(|node| matches!(node.origin, Origin::File { .. }));
    dataset.entries.filter(|_| is_asked).and_then(|entries| u64::try_from(entries).ok())
}

/// Which timestamps are used: those between the offsets of the fixed schedule. The others are dropped when the file is
/// read, so all phases have the same rows.
pub(super) fn window(tree: &Tree, problems: &mut Vec<Problem>) -> TimestampWindow {
    let phases = tree.benchmark.phases.iter().flat_map(|phases| phases.0.iter()).enumerate();
    let mut windows = phases
        .filter(|(_, phase)| phase.phase_type().replays())
        .map(|(index, phase)| (index, (phase.start_offset, phase.end_offset)));
    let Some((_, (start, end))) = windows.next() else { return TimestampWindow::default() };
    if let Some((index, _)) = windows.find(|(_, window)| *window != (start, end)) {
        let at = format!("benchmark.phases.{index}");
        let place = tree.node.find(&at).map_or_else(String::new, |node| tree.places.prefix(&node.origin));
        problems.push(
            Problem::new(format!("{place}{at} has different offsets than the fixed schedule before it"))
                .because("start_offset and end_offset select the rows that are read, for all phases")
                .hint("the same start_offset and end_offset in each, or a file for each run")
                .at(at),
        );
    }
    TimestampWindow { start_ms: start.map(|ms| ms as f64), end_ms: end.map(|ms| ms as f64) }
}

/// Refuses numbers of contents if requests are not drawn from a pool.
pub(super) fn not_drawn(tree: &Tree, of: &str, problems: &mut Vec<Problem>) {
    for key in ["prompt_batch_size", "image_batch_size", "audio_batch_size", "video_batch_size"] {
        let at = format!("benchmark.datasets.0.{key}");
        if tree.node.find(&at).is_some() {
            problems.push(
                Problem::new(format!("{} needs a pool of rows", subject(tree, &at)))
                    .because(format!("a request of {of} is the content of its row"))
                    .hint("--custom-dataset-type random_pool, or leave it out")
                    .at(at),
            );
        }
    }
}
