//! The order in which a phase replays the conversations of a recording.

use aiperf_types::Shapes;

/// When a conversation begins, in milliseconds of the recording; one without a timestamp begins before all others.
pub(crate) fn begins(shapes: &Shapes, conversation: u32) -> f64 {
    shapes.turn(conversation, 0).timestamp_ms.unwrap_or(f64::NEG_INFINITY)
}

/// Every conversation with a turn, by when it begins; of equal ones, as the dataset has them.
pub(crate) fn replay_order(shapes: &Shapes) -> Vec<u32> {
    let mut order: Vec<u32> = (0..shapes.len()).filter(|conversation| shapes.turns(*conversation) > 0).collect();
    order.sort_by(|a, b| begins(shapes, *a).total_cmp(&begins(shapes, *b)));
    order
}
