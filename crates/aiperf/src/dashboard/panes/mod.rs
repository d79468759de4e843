//! The panes: one file each, and their table.

mod gpu;
mod latencies;
mod logs;
mod metrics;
mod progress;
mod server;
mod trends;
mod workers;

use super::model::Model;
use super::pane_id::PaneId;
use super::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

/// One row of the table of panes.
pub(crate) struct Pane {
    pub(crate) id: PaneId,
    /// Toggles between this pane alone and the overview.
    pub(crate) key: char,
    /// In the footer.
    pub(crate) label: &'static str,
    pub(crate) title: &'static str,
    /// Shown next to the title.
    note: fn(&Model) -> Option<String>,
    /// Rows above the scrolling ones.
    head_rows: usize,
    /// The number of scrolling rows that it has content for.
    rows: fn(&Model) -> usize,
    pub(crate) draw: fn(&Model, Rect, &mut Buffer, &Theme),
}

pub(crate) const PANES: &[Pane] =
    &[progress::PANE, metrics::PANE, workers::PANE, gpu::PANE, logs::PANE, trends::PANE, latencies::PANE, server::PANE];

/// Every pane has a row.
const _: () = assert!(PANES.len() == PaneId::COUNT);

impl PaneId {
    fn pane(self) -> Option<&'static Pane> {
        PANES.iter().find(|pane| pane.id == self)
    }

    pub(crate) fn head_rows(self) -> usize {
        self.pane().map_or(0, |pane| pane.head_rows)
    }

    pub(crate) fn rows(self, model: &Model) -> usize {
        self.pane().map_or(0, |pane| (pane.rows)(model))
    }
}

impl Pane {
    pub(crate) fn heading(&self, model: &Model) -> String {
        (self.note)(model).map_or_else(|| self.title.to_owned(), |note| format!("{} · {note}", self.title))
    }

    /// Keys of panes that only some runs have are shown once the pane has content.
    pub(crate) fn in_footer(&self, model: &Model) -> bool {
        !matches!(self.id, PaneId::Latencies | PaneId::Server) || (self.rows)(model) > 0
    }
}

/// Lines from the offset on. The last row shows how many do not fit.
fn scrolled(lines: &[Line<'_>], offset: usize, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let rows = usize::from(area.height);
    // The last page is full.
    let first = offset.min(lines.len().saturating_sub(rows));
    let shown = &lines[first..];
    let cut = shown.len() > rows;
    for (line, y) in shown.iter().zip(area.y..area.bottom()) {
        line.render(Rect { y, height: 1, ..area }, buffer);
    }
    if cut && rows > 1 {
        let last = Rect { y: area.bottom() - 1, height: 1, ..area };
        buffer.set_style(last, theme.panel);
        for x in last.left()..last.right() {
            buffer[(x, last.y)].set_symbol(" ");
        }
        Line::styled(format!("{} more …", shown.len() - rows + 1), theme.dim).right_aligned().render(last, buffer);
    }
}

/// A line in the middle of an empty pane.
fn centred(text: &str, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let row = Rect { y: area.y + area.height / 2, height: 1.min(area.height), ..area };
    Line::styled(text.to_owned(), theme.dim).centered().render(row, buffer);
}
