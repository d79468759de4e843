//! The positions of panes.

use super::model::Model;
use super::pane_id::PaneId;
use ratatui::layout::{Position, Rect};

/// The smallest terminal that the dashboard supports.
pub(crate) const LEAST: (u16, u16) = (60, 15);

/// Maximum rows of the log, and the rows that it must leave to the others.
const MOST_LOGS: u16 = 16;
const LEAST_LOGS: u16 = 3;
const LEAST_MAIN: u16 = 16;
/// Columns that fit most rows of the progress pane.
const PROGRESS_COLUMNS: u16 = 48;
/// Minimum rows of a pane below another one.
const LEAST_TRENDS: u16 = 7;
const LEAST_LATENCIES: u16 = 8;
/// Columns of a third column, and the columns that it must leave to the metrics.
const THIRD_COLUMNS: u16 = 40;
const METRICS_COLUMNS: u16 = 90;

/// The areas of a screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) header: Rect,
    pub(crate) panes: Vec<(PaneId, Rect)>,
    pub(crate) footer: Rect,
}

impl Layout {
    pub(crate) fn at(&self, position: Position) -> Option<PaneId> {
        self.panes.iter().find(|(_, area)| area.contains(position)).map(|(pane, _)| *pane)
    }
}

/// The layout of a model; no panes if the terminal is too small.
pub(crate) fn of(model: &Model) -> Layout {
    let (columns, rows) = model.view.size;
    if columns < LEAST.0 || rows < LEAST.1 {
        return Layout::default();
    }
    let area = Rect::new(0, 0, columns, rows);
    let header = Rect { height: 1, ..area };
    let footer = Rect { y: rows - 1, height: 1, ..area };
    let body = Rect { y: 1, height: rows - 2, ..area };
    let panes = match model.view.maximised {
        Some(pane) => vec![(pane, body)],
        None => overview(model, body),
    };
    Layout { header, panes, footer }
}

fn overview(model: &Model, body: Rect) -> Vec<(PaneId, Rect)> {
    let most = (body.height * 2 / 5).min(MOST_LOGS).min(body.height.saturating_sub(LEAST_MAIN));
    let logs = if model.view.hides_logs { 0 } else { most.max(LEAST_LOGS) };
    let (main, below) = cut_rows(body, body.height - logs);
    let (left, right) = cut_columns(main, left_columns(main.width));
    let mut panes = Vec::new();

    let progress = PaneId::Progress.rows(model) as u16 + 2;
    if left.height >= progress + LEAST_TRENDS {
        let (top, bottom) = cut_rows(left, progress);
        panes.extend([(PaneId::Progress, top), (PaneId::Trends, bottom)]);
    } else {
        panes.push((PaneId::Progress, left));
    }

    // A pane without content takes no space from the others.
    let more: Vec<PaneId> =
        [PaneId::Latencies, PaneId::Server].into_iter().filter(|pane| pane.rows(model) > 0).collect();
    if !more.is_empty() && right.width >= METRICS_COLUMNS + THIRD_COLUMNS {
        let (middle, third) = cut_columns(right, right.width - THIRD_COLUMNS.max(right.width / 3));
        panes.push((PaneId::Metrics, middle));
        let mut rest = third;
        for (at, pane) in more.iter().enumerate() {
            let (top, bottom) = cut_rows(rest, rest.height / (more.len() - at) as u16);
            panes.push((*pane, top));
            rest = bottom;
        }
    } else {
        let metrics = PaneId::Metrics.rows(model) as u16 + 3;
        let is_roomy = metrics > 3 && right.height >= metrics + LEAST_LATENCIES;
        match more.first().filter(|_| is_roomy) {
            Some(pane) => {
                let (top, bottom) = cut_rows(right, metrics);
                panes.extend([(PaneId::Metrics, top), (*pane, bottom)]);
            }
            None => panes.push((PaneId::Metrics, right)),
        }
    }
    if logs > 0 {
        panes.push((PaneId::Logs, below));
    }
    panes
}

/// Columns of the left part of the overview: a third, except on narrow screens.
pub(crate) fn left_columns(columns: u16) -> u16 {
    (columns / 3).max(PROGRESS_COLUMNS).min(columns / 2)
}

fn cut_rows(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    (Rect { height, ..area }, Rect { y: area.y + height, height: area.height - height, ..area })
}

fn cut_columns(area: Rect, width: u16) -> (Rect, Rect) {
    let width = width.min(area.width);
    (Rect { width, ..area }, Rect { x: area.x + width, width: area.width - width, ..area })
}
