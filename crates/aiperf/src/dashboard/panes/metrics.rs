//! Real-Time Metrics: the statistics so far, in as many columns as fit.

use super::{Pane, centred, scrolled};
use crate::dashboard::model::Model;
use crate::dashboard::pane_id::PaneId;
use crate::dashboard::theme::Theme;
use aiperf_report::{LIVE_COLUMNS, LiveRow, clock_text};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

pub(super) const PANE: Pane = Pane {
    id: PaneId::Metrics,
    key: '3',
    label: "Metrics",
    title: "Real-Time Metrics",
    note: |model| model.table_at().map(|at| format!("as of {}", clock_text(at.as_secs_f64()))),
    head_rows: 1,
    rows: |model| model.metrics.len(),
    draw,
};

const EMPTY: &str = "No metrics available yet. Please wait...";
const ABSENT: &str = "N/A";
/// Statistics that a narrow pane leaves out, in this order.
const GIVE_WAY: [&str; 6] = ["std", "min", "p90", "max", "p50", "p99"];
/// Labels are cut to this width before statistics are left out.
const LABEL: usize = 16;

fn draw(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    if model.metrics.is_empty() {
        centred(EMPTY, area, buffer, theme);
        return;
    }
    let columns = Columns::fit(&model.metrics, usize::from(area.width));
    let head = columns.line("Metric", LIVE_COLUMNS.map(Some), [theme.title; 2], theme);
    head.render(Rect { height: 1, ..area }, buffer);
    let rows: Vec<Line<'_>> = model
        .metrics
        .iter()
        .map(|row| {
            let numbers = row.numbers.each_ref().map(|number| number.as_deref());
            columns.line(&row.label, numbers, [theme.accent, theme.primary], theme)
        })
        .collect();
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    scrolled(&rows, model.view.offsets[PaneId::Metrics as usize], below, buffer, theme);
}

/// The widths of the columns; `None` for those left out.
struct Columns {
    label: usize,
    numbers: [Option<usize>; 7],
}

impl Columns {
    fn fit(rows: &[LiveRow], room: usize) -> Self {
        let label = rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
        let widest = |at: usize| {
            let cells = rows.iter().map(|row| row.numbers[at].as_deref().map_or(ABSENT.len(), str::len));
            Some(cells.max().unwrap_or(0).max(LIVE_COLUMNS[at].len()))
        };
        let mut numbers = [0, 1, 2, 3, 4, 5, 6].map(widest);
        let least = label.min(LABEL);
        let taken = |numbers: &[Option<usize>; 7]| numbers.iter().flatten().map(|width| width + 2).sum::<usize>();
        for name in GIVE_WAY {
            if least + taken(&numbers) > room
                && let Some(at) = LIVE_COLUMNS.iter().position(|known| *known == name)
            {
                numbers[at] = None;
            }
        }
        let label = label.min(room.saturating_sub(taken(&numbers)));
        Self { label, numbers }
    }

    fn line<'a>(
        &self,
        label: &'a str,
        numbers: [Option<&'a str>; 7],
        [label_style, number_style]: [ratatui::style::Style; 2],
        theme: &Theme,
    ) -> Line<'a> {
        let width = self.label;
        let cut = match label.char_indices().nth(width) {
            Some(_) => label.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
            None => label.to_owned(),
        };
        let mut spans = vec![Span::styled(format!("{cut:>width$}"), label_style)];
        for (number, width) in numbers.into_iter().zip(self.numbers) {
            let Some(width) = width else { continue };
            let style = if number.is_some() { number_style } else { theme.dim };
            spans.push(Span::styled(format!("  {:>width$}", number.unwrap_or(ABSENT)), style));
        }
        Line::from(spans)
    }
}
