//! Real-Time GPU Telemetry: the current values of each GPU, and their statistics so far.

use super::{Pane, centred, scrolled};
use crate::dashboard::model::Model;
use crate::dashboard::pane_id::PaneId;
use crate::dashboard::theme::Theme;
use aiperf_report::{LIVE_COLUMNS, gpu_number, literal};
use aiperf_types::{GpuSnapshot, GpuState, GpuValue};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

pub(super) const PANE: Pane = Pane {
    id: PaneId::Gpu,
    key: '5',
    label: "GPU Telemetry",
    title: "Real-Time GPU Telemetry",
    note: |_| None,
    head_rows: 0,
    rows: |model| model.gpus.as_ref().map_or(0, |gpus| rows(gpus)),
    draw,
};

const EMPTY: &str = "No telemetry data available yet. Please wait...";
const ABSENT: &str = "N/A";
/// Statistics in columns, after the name and the current value.
const NUMBERS: [&str; 7] = LIVE_COLUMNS;
const COLUMNS: usize = NUMBERS.len() + 2;
/// Columns that a narrow pane leaves out, in this order.
const GIVE_WAY: [usize; 7] = [8, 6, 7, 5, 3, 4, 2];
/// Rows of a GPU besides its metrics: its name, the column headers, and a blank row.
const AROUND: usize = 3;

/// The last GPU has no blank row.
fn rows(gpus: &GpuSnapshot) -> usize {
    gpus.gpus.iter().map(|gpu| gpu.metrics.len() + AROUND).sum::<usize>().saturating_sub(1)
}

fn draw(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let gpus = model.gpus.iter().flat_map(|snapshot| &snapshot.gpus);
    let tables: Vec<(&GpuState, Vec<[String; COLUMNS]>)> =
        gpus.map(|gpu| (gpu, gpu.metrics.iter().map(cells).collect())).collect();
    if tables.is_empty() {
        return centred(EMPTY, area, buffer, theme);
    }
    // All GPUs have the same columns, so that they can be compared.
    let columns = Columns::fit(tables.iter().flat_map(|(_, rows)| rows), usize::from(area.width));
    let mut lines = Vec::new();
    for (gpu, rows) in &tables {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::styled(literal(&gpu.title), theme.title));
        lines.push(columns.line(&HEADS.map(String::from), [theme.dim; 2], theme));
        lines.extend(rows.iter().map(|row| columns.line(row, [theme.accent, theme.primary], theme)));
    }
    scrolled(&lines, model.view.offsets[PaneId::Gpu as usize], area, buffer, theme);
}

const HEADS: [&str; COLUMNS] = {
    let [avg, min, max, p99, p90, p50, std] = NUMBERS;
    ["Metric", "current", avg, min, max, p99, p90, p50, std]
};

fn cells(value: &GpuValue) -> [String; COLUMNS] {
    let number = |value: Option<f64>| gpu_number(value).unwrap_or_else(|| ABSENT.to_owned());
    let name = literal(&format!("{} ({})", value.name, value.unit));
    let [avg, min, max, p99, p90, p50, std] = NUMBERS.map(|name| number(value.stats.get(name)));
    [name, number(Some(value.current)), avg, min, max, p99, p90, p50, std]
}

/// The widths of the columns; `None` for those left out.
struct Columns([Option<usize>; COLUMNS]);

impl Columns {
    fn fit<'a>(rows: impl Iterator<Item = &'a [String; COLUMNS]>, room: usize) -> Self {
        let mut widths = HEADS.map(str::len);
        for row in rows {
            widths.iter_mut().zip(row).for_each(|(width, cell)| *width = (*width).max(cell.chars().count()));
        }
        let mut widths = widths.map(Some);
        let taken = |widths: &[Option<usize>; COLUMNS]| widths.iter().flatten().map(|width| width + 2).sum::<usize>();
        for at in GIVE_WAY {
            if taken(&widths) > room + 2 {
                widths[at] = None;
            }
        }
        Self(widths)
    }

    fn line(&self, cells: &[String; COLUMNS], [name, number]: [Style; 2], theme: &Theme) -> Line<'static> {
        let shown = cells.iter().zip(self.0).enumerate().filter_map(|(at, (cell, width))| Some((at, cell, width?)));
        let span = |(at, cell, width): (usize, &String, usize)| {
            let style = match at {
                0 => name,
                _ if cell == ABSENT => theme.dim,
                _ => number,
            };
            let gap = if at == 0 { "" } else { "  " };
            Span::styled(format!("{gap}{cell:>width$}"), style)
        };
        Line::from(shown.map(span).collect::<Vec<_>>())
    }
}
