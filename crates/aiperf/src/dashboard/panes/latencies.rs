//! Request Latency: how many requests took how long.

use super::{Pane, PaneId, centred};
use crate::blocks::blocks;
use crate::dashboard::model::Model;
use crate::dashboard::theme::Theme;
use aiperf_report::thousands;
use aiperf_types::LatencyBucket;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

pub(super) const PANE: Pane = Pane {
    id: PaneId::Latencies,
    key: '8',
    label: "Latency",
    title: "Request Latency",
    head_rows: 0,
    rows: |model| model.latencies.len(),
    draw,
};

const EMPTY: &str = "No request has come back yet";

fn draw(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    if model.latencies.is_empty() {
        centred(EMPTY, area, buffer, theme);
        return;
    }
    let rows = joined(&model.latencies, usize::from(area.height));
    let bounds: Vec<String> = rows.iter().map(|row| format!("{} - {} ms", number(row.from), number(row.to))).collect();
    let counts: Vec<String> = rows.iter().map(|row| thousands(row.count)).collect();
    let widest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
    let (label, total) = (widest(&bounds), widest(&counts));
    let most = rows.iter().map(|row| row.count).max().unwrap_or(0).max(1) as f64;
    let room = usize::from(area.width).saturating_sub(label + total + 2);
    for (((row, bounds), counted), y) in rows.iter().zip(bounds).zip(counts).zip(area.y..area.bottom()) {
        let bar = blocks(row.count as f64 / most, room);
        let line = Line::from(vec![
            Span::styled(format!("{bounds:>label$} "), theme.dim),
            Span::styled(format!("{counted:>total$} "), theme.text),
            Span::styled(bar, theme.primary),
        ]);
        line.render(Rect { y, height: 1, ..area }, buffer);
    }
}

/// Neighbours together, so that no more than so many are left.
fn joined(buckets: &[LatencyBucket], most: usize) -> Vec<LatencyBucket> {
    let size = buckets.len().div_ceil(most.max(1)).max(1);
    let join = |group: &[LatencyBucket]| {
        let (first, last) = (group.first()?, group.last()?);
        Some(LatencyBucket { from: first.from, to: last.to, count: group.iter().map(|bucket| bucket.count).sum() })
    };
    buckets.chunks(size).filter_map(join).collect()
}

/// Short enough for a label, exact enough to tell neighbours apart.
fn number(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.2}"),
        ms if ms < 100.0 => format!("{ms:.1}"),
        ms => format!("{ms:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_request_is_lost_when_buckets_are_joined() {
        let buckets: Vec<LatencyBucket> =
            (0..23).map(|at| LatencyBucket { from: f64::from(at), to: f64::from(at + 1), count: at as u64 }).collect();
        for rows in 1..30 {
            let joined = joined(&buckets, rows);
            assert!(joined.len() <= rows);
            assert_eq!(joined.iter().map(|bucket| bucket.count).sum::<u64>(), 253);
            assert_eq!((joined[0].from, joined[joined.len() - 1].to), (0.0, 23.0));
        }
    }
}
