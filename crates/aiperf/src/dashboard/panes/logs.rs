//! Application Logs: the last lines, or those at the scroll position.

use super::Pane;
use crate::dashboard::logs::Line as LogLine;
use crate::dashboard::model::Model;
use crate::dashboard::pane_id::PaneId;
use crate::dashboard::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

pub(super) const PANE: Pane = Pane {
    id: PaneId::Logs,
    key: '6',
    label: "Logs",
    title: "Application Logs",
    note: |_| None,
    head_rows: 0,
    rows: |_| 0,
    draw,
};

/// In narrower panes, wrapped lines start below the time, not below the message.
const ROOM_FOR_HEAD: u16 = 90;
const BACK: &str = " ▼ End: back to the latest ";

fn draw(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let rows = usize::from(area.height);
    let (before, after) = model.logs.around_bottom();
    // From the bottom up, until the pane is full.
    let mut blocks: Vec<Vec<Line<'_>>> = Vec::new();
    let mut filled = 0;
    for line in before {
        if filled >= rows {
            break;
        }
        let lines = wrapped(line, area.width, theme);
        filled += lines.len();
        blocks.push(lines);
    }
    let mut lines: Vec<Line<'_>> = blocks.into_iter().rev().flatten().collect();
    lines.drain(..lines.len().saturating_sub(rows));
    for line in after {
        if lines.len() >= rows {
            break;
        }
        lines.extend(wrapped(line, area.width, theme));
    }
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        line.render(Rect { y, height: 1, ..area }, buffer);
    }
    if !model.logs.follows() && area.height > 1 {
        let width = (BACK.chars().count() as u16).min(area.width);
        let place = Rect { x: area.right() - width, y: area.bottom() - 1, width, height: 1 };
        Line::styled(BACK, theme.key).render(place, buffer);
    }
}

fn wrapped(line: &LogLine, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let LogLine { time, level, text } = line;
    let head = line.head();
    let indent = if columns >= ROOM_FOR_HEAD { head.len() } else { 2 };
    let mut lines = aiperf_report::wrap_hanging(&format!("{head}{text}"), usize::from(columns), indent).into_iter();
    let first = lines.next().unwrap_or_default();
    let time_end = (time.len() + 3).min(first.len());
    let name_end = (time_end + level.name().len()).min(first.len());
    // The text before the message is ASCII: one byte per column.
    let parts = (first.get(..time_end), first.get(time_end..name_end), first.get(name_end..));
    let first = match parts {
        (Some(time), Some(name), Some(text)) => Line::from(vec![
            Span::styled(time.to_owned(), theme.dim),
            Span::styled(name.to_owned(), theme.level(*level)),
            Span::styled(text.to_owned(), theme.text),
        ]),
        _ => Line::styled(first, theme.text),
    };
    std::iter::once(first).chain(lines.map(|line| Line::styled(line, theme.text))).collect()
}
