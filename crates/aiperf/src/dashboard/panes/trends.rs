//! Trends: request rate, time to first token and inter-token latency per second; requests in flight and errors.

use super::Pane;
use crate::blocks::blocks;
use crate::dashboard::model::Model;
use crate::dashboard::pane_id::PaneId;
use crate::dashboard::theme::Theme;
use crate::dashboard::trends::{Curve, Trends};
use crate::phase_progress::share;
use aiperf_report::{clock_text, thousands};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Sparkline, Widget};

pub(super) const PANE: Pane = Pane {
    id: PaneId::Trends,
    key: '7',
    label: "Trends",
    title: "Trends",
    note: |_| None,
    head_rows: 0,
    rows: |_| 5,
    draw,
};

const LABEL: usize = 12;
const VALUE: usize = 10;
/// Sparklines take whole numbers: values are scaled to thousandths.
const SCALE: f64 = 1000.0;
/// Seconds between two labels of the time axis: more than the width of a label.
const LABEL_EVERY: u64 = 10;
/// Maximum rows of one curve with its label.
const TALLEST: u16 = 8;

fn draw(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let trends = &model.trends;
    let curves = [
        ("Req/sec", "", Curve::RequestRate, theme.primary),
        ("TTFT", " ms", Curve::FirstToken, theme.accent),
        ("ITL", " ms", Curve::BetweenTokens, theme.warning),
    ];
    let gauges = gauges(model);
    let has_axis = model.view.maximised == Some(PaneId::Trends);
    let left = area.height.saturating_sub(gauges.len() as u16 + u16::from(has_axis));
    let each = (left / curves.len() as u16).min(TALLEST);
    let mut y = area.y;
    for (name, unit, curve, style) in curves {
        let place = Rect { y, height: each.max(1), ..area }.intersection(area);
        draw_curve(name, unit, (trends, curve), style, place, buffer, theme);
        y += each.max(1);
    }
    if has_axis && each > 1 {
        Line::styled(axis(trends, usize::from(area.width)), theme.dim).render(Rect { y, height: 1, ..area }, buffer);
        y += 1;
    }
    for (label, part, text) in gauges {
        if y >= area.bottom() {
            break;
        }
        let style = if label == "Errors" && part > 0.0 { theme.error } else { theme.primary };
        gauge(label, part, &text, style, Rect { y, height: 1, ..area }, buffer, theme);
        y += 1;
    }
}

/// With one row, label, latest value and curve are next to each other; with more, the curve is below.
fn draw_curve(
    name: &str,
    unit: &str,
    (trends, curve): (&Trends, Curve),
    style: Style,
    area: Rect,
    buffer: &mut Buffer,
    theme: &Theme,
) {
    let number = |value: Option<f64>| value.map_or_else(|| "--".to_owned(), |value| format!("{value:.1}{unit}"));
    let value = number(trends.latest(curve));
    let mut head =
        vec![Span::styled(format!("{name:<LABEL$}"), theme.dim), Span::styled(format!("{value:>VALUE$}"), theme.text)];
    let place = if area.height > 1 {
        let largest = trends.largest(curve);
        if largest.is_some() {
            head.push(Span::styled(format!("   max {}", number(largest)), theme.dim));
        }
        Rect { y: area.y + 1, height: area.height - 1, ..area }
    } else {
        let taken = (LABEL + VALUE + 1) as u16;
        Rect { x: area.x + taken.min(area.width), width: area.width.saturating_sub(taken), ..area }
    };
    Line::from(head).render(Rect { height: 1, ..area }, buffer);
    let samples = trends.last(curve, usize::from(place.width)).map(|value| value.map(|value| (value * SCALE) as u64));
    Sparkline::default().data(samples.collect::<Vec<_>>()).style(style).absent_value_symbol(" ").render(place, buffer);
}

/// The time axis below the curves; each label is under its column.
fn axis(trends: &Trends, columns: usize) -> String {
    let seconds = trends.seconds(columns);
    let mut text = String::new();
    for second in seconds.clone().filter(|second| second % LABEL_EVERY == 0) {
        let at = (second - seconds.start) as usize;
        text.push_str(&" ".repeat(at.saturating_sub(text.chars().count())));
        text.push_str(&format!("╵{}", clock_text(second as f64)));
    }
    text
}

/// Label, share and text of each gauge.
fn gauges(model: &Model) -> Vec<(&'static str, f64, String)> {
    let Some(phase) = model.phases.current() else { return Vec::new() };
    let in_flight = phase.counts.in_flight();
    let slots = phase.targets.concurrency.map(u64::from);
    let of_slots = slots.map_or(thousands(in_flight), |slots| format!("{}/{}", thousands(in_flight), thousands(slots)));
    let failed = phase.counts.errors;
    let failing = share(failed as f64, phase.records.max(failed) as f64);
    vec![
        ("In flight", slots.map_or(0.0, |slots| share(in_flight as f64, slots as f64)), of_slots),
        ("Errors", failing, format!("{:.1}%", 100.0 * failing)),
    ]
}

fn gauge(label: &str, part: f64, text: &str, style: Style, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let room = usize::from(area.width).saturating_sub(LABEL + VALUE + 1);
    let filled = blocks(part, room);
    let rest = "░".repeat(room.saturating_sub(filled.chars().count()));
    let spans = vec![
        Span::styled(format!("{label:<LABEL$}"), theme.dim),
        Span::styled(format!("{text:>VALUE$} "), theme.text),
        Span::styled(filled, style),
        Span::styled(rest, theme.border),
    ];
    Line::from(spans).render(area, buffer);
}
