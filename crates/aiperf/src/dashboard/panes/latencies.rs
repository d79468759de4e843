//! Request Latency: a histogram.

use super::{Pane, centred};
use crate::blocks::blocks;
use crate::dashboard::model::Model;
use crate::dashboard::pane_id::PaneId;
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
    note: |_| None,
    rows: |model| model.latencies.len().min(MOST_ROWS),
    draw,
};

/// More rows would not make the shape clearer.
const MOST_ROWS: usize = 20;
const EMPTY: &str = "No request has come back yet";

fn draw(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    if model.latencies.is_empty() {
        centred(EMPTY, area, buffer, theme);
        return;
    }
    let rows = rows_of(&model.latencies, usize::from(area.height).min(MOST_ROWS));
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

/// Rows of equal ratio from the shortest latency to the longest. There are at most `most`, and none is finer than the
/// buckets. A bucket that spans two rows is divided between them.
fn rows_of(buckets: &[LatencyBucket], most: usize) -> Vec<LatencyBucket> {
    let Some((first, last)) = buckets.first().zip(buckets.last()) else { return Vec::new() };
    // A ratio to zero does not exist.
    let least = if first.from > 0.0 { first.from } else { first.to / 2.0 };
    let rows = buckets.len().min(most).max(1);
    let bound = |row: usize| match row {
        row if row == rows => last.to,
        row => least * (last.to / least).powf(row as f64 / rows as f64),
    };
    let below = |ms: f64| {
        let share = |bucket: &LatencyBucket| match bucket.to - bucket.from {
            width if width > 0.0 => ((ms - bucket.from) / width).clamp(0.0, 1.0),
            _ => f64::from(u8::from(ms >= bucket.to)),
        };
        buckets.iter().map(|bucket| bucket.count as f64 * share(bucket)).sum::<f64>().round() as u64
    };
    // Counts are differences of rounded sums, so that no request is lost or counted twice.
    let mut counted = 0;
    (1..=rows)
        .map(|row| {
            let (from, to) = (bound(row - 1), bound(row));
            let count = below(to).saturating_sub(counted);
            counted += count;
            LatencyBucket { from, to, count }
        })
        .collect()
}

/// Short enough for a label, exact enough to distinguish neighbours.
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

    fn bucket(from: f64, to: f64, count: u64) -> LatencyBucket {
        LatencyBucket { from, to, count }
    }

    #[test]
    fn rows_are_of_equal_ratio_and_no_request_is_lost() {
        // As in a histogram with four buckets per power of two: ratios of 1.25, 1.2, 1.17 and 1.14.
        let parts = (0..24).map(|at| (2f64.powi(at / 4), 1.0 + f64::from(at % 4) / 4.0));
        let buckets: Vec<LatencyBucket> =
            parts.enumerate().map(|(at, (low, by))| bucket(low * by, low * (by + 0.25), at as u64)).collect();
        for most in 1..30 {
            let rows = rows_of(&buckets, most);
            assert_eq!(rows.len(), most.min(24));
            assert_eq!(rows.iter().map(|row| row.count).sum::<u64>(), 276);
            assert_eq!((rows[0].from, rows[rows.len() - 1].to), (1.0, 64.0));
            let ratio = |row: &LatencyBucket| row.to / row.from;
            assert!(rows.iter().all(|row| (ratio(row) / ratio(&rows[0]) - 1.0).abs() < 1e-9), "{rows:?}");
        }
    }

    #[test]
    fn equal_counts_along_the_scale_give_a_flat_shape() {
        let fine: Vec<LatencyBucket> = (0..300)
            .map(|at| bucket(2f64.powf(f64::from(at) / 100.0), 2f64.powf(f64::from(at + 1) / 100.0), 10))
            .collect();
        for row in rows_of(&fine, 7) {
            assert!(row.count.abs_diff(3000 / 7) <= 1, "{row:?}");
        }
    }

    #[test]
    fn latencies_of_zero_are_in_the_first_row() {
        let rows = rows_of(&[bucket(0.0, 2.0, 5), bucket(2.0, 4.0, 6)], 4);
        assert_eq!(rows.iter().map(|row| row.count).collect::<Vec<_>>(), [5, 6]);
        assert_eq!(rows_of(&[bucket(0.0, 0.0, 5)], 4).iter().map(|row| row.count).sum::<u64>(), 5);
    }
}
