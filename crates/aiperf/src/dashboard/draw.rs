//! Draws a model to a screen.

use super::keys::KEYS;
use super::layout::{self, LEAST};
use super::model::Model;
use super::pane_id::PaneId;
use super::panes::PANES;
use super::phases;
use super::shapes::{bar, percent};
use super::theme::Theme;
use crate::phase_progress::share;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Paragraph, Widget, Wrap};

const NAME: &str = "NVIDIA AIPerf";
/// Maximum width of the bar in the header.
const HEADER_BAR: usize = 32;

/// Draws everything.
pub(crate) fn screen(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    buffer.set_style(area, theme.background);
    let layout = layout::of(model);
    if layout.panes.is_empty() {
        too_small(area, buffer);
        return;
    }
    header(model, layout.header, buffer, theme);
    for (id, area) in &layout.panes {
        pane(model, *id, *area, buffer, theme);
    }
    footer(model, layout.footer, buffer, theme);
    if model.view.shows_keys {
        keys(area, buffer, theme);
    }
    if let Some(toast) = &model.view.toast {
        toasted(&toast.text, area, buffer, theme);
    }
}

fn too_small(area: Rect, buffer: &mut Buffer) {
    let (columns, rows) = LEAST;
    let text = format!("the dashboard needs {columns} x {rows}, this is {} x {}", area.width, area.height);
    Paragraph::new(text).wrap(Wrap { trim: true }).render(area, buffer);
}

/// Stage, name, and progress of the stage.
fn header(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let (stage, share) = match (model.phases.current(), &model.preparing) {
        (Some(phase), _) => (phases::stage(phase).to_owned(), Some(phase.state_share())),
        (None, Some(preparing)) => {
            let share = preparing.total.map(|total| share(preparing.done as f64, total as f64));
            (preparing.stage.to_owned(), share)
        }
        (None, None) => (String::new(), None),
    };
    Line::styled(format!(" {stage}"), theme.title).render(area, buffer);
    Line::styled(NAME, theme.text).alignment(Alignment::Center).render(area, buffer);
    let taken = (area.width as usize + NAME.len()) / 2;
    let room = (area.width as usize).saturating_sub(taken + 8).min(HEADER_BAR);
    if let Some(share) = share {
        let mut spans = bar(share, room, theme.primary, theme).to_vec();
        spans.push(Span::styled(format!(" {} ", percent(share)), theme.accent));
        Line::from(spans).alignment(Alignment::Right).render(area, buffer);
    }
}

fn pane(model: &Model, id: PaneId, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let Some(pane) = PANES.iter().find(|pane| pane.id == id) else { return };
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.border)
        .style(theme.panel)
        .title_top(Line::styled(format!(" {} ", pane.heading(model)), theme.title).alignment(Alignment::Center));
    let inner = block.inner(area);
    block.render(area, buffer);
    // One empty column on both sides.
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    (pane.draw)(model, inner, buffer, theme);
}

/// As many keys as fit, and always the key for help.
fn footer(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let panes = PANES.iter().filter(|pane| pane.in_footer(model)).map(|pane| (pane.key.to_string(), pane.label));
    let others = KEYS.iter().filter(|(.., in_footer)| *in_footer).map(|(key, label, _)| ((*key).to_owned(), *label));
    let all: Vec<(String, &str)> = std::iter::once(("1".to_owned(), "Overview")).chain(panes).chain(others).collect();
    let columns = |keys: &[(String, &str)]| -> usize {
        keys.iter().map(|(key, label)| key.chars().count() + label.len() + 3).sum::<usize>() + 1
    };
    // The help lists all of them.
    let mut shown = all;
    for label in ["Server", "Latency", "Trends", "Quit", "Copy Logs", "Restore View", "GPU Telemetry", "Overview"] {
        if columns(&shown) > area.width as usize {
            shown.retain(|(_, known)| *known != label);
        }
    }
    let mut spans = Vec::new();
    for (key, label) in shown {
        spans.extend([Span::styled(format!(" {key}"), theme.key), Span::styled(format!(" {label} "), theme.text)]);
    }
    Line::from(spans).render(area, buffer);
}

fn keys(area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let panes = PANES.iter().map(|pane| (pane.key.to_string(), pane.title));
    let others = KEYS.iter().map(|(key, label, _)| ((*key).to_owned(), *label));
    let all = std::iter::once(("1".to_owned(), "Overview")).chain(panes).chain(others);
    let lines: Vec<Line<'_>> = all
        .map(|(key, label)| {
            Line::from(vec![Span::styled(format!("{key:>24}  "), theme.key), Span::styled(label, theme.text)])
        })
        .collect();
    over(lines, " Keys ", (54, area.height.saturating_sub(2)), BoxPosition::Centre, area, buffer, theme);
}

fn toasted(text: &str, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let width = area.width.saturating_sub(2).min(70);
    let lines = aiperf_report::wrap_hanging(text, usize::from(width.saturating_sub(4)), 0);
    let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0) as u16 + 4;
    let lines = lines.into_iter().map(|line| Line::styled(line, theme.text)).collect();
    over(lines, "", (widest.min(width), area.height), BoxPosition::Corner, area, buffer, theme);
}

#[derive(Clone, Copy)]
enum BoxPosition {
    Centre,
    /// At the lower right, above the footer.
    Corner,
}

/// A box over the panes, no larger than given.
fn over(
    lines: Vec<Line<'_>>,
    title: &str,
    (width, height): (u16, u16),
    place: BoxPosition,
    area: Rect,
    buffer: &mut Buffer,
    theme: &Theme,
) {
    let (width, height) = (width.min(area.width), (lines.len() as u16 + 2).min(height));
    let (x, y) = match place {
        BoxPosition::Centre => ((area.width - width) / 2, (area.height.saturating_sub(height)) / 2),
        BoxPosition::Corner => (area.width.saturating_sub(width + 1), area.height.saturating_sub(height + 1)),
    };
    let area = Rect::new(x, y, width, height);
    Clear.render(area, buffer);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.accent)
        .style(theme.panel)
        .title_top(Line::styled(title.to_owned(), theme.title).alignment(Alignment::Center));
    let inner = block.inner(area);
    block.render(area, buffer);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    Paragraph::new(lines).render(inner, buffer);
}
