//! Server Metrics: what the servers say of themselves.

use super::{Pane, centred, scrolled};
use crate::dashboard::model::Model;
use crate::dashboard::pane_id::PaneId;
use crate::dashboard::theme::Theme;
use aiperf_report::thousands;
use aiperf_types::ServerSnapshot;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

pub(super) const PANE: Pane = Pane {
    id: PaneId::Server,
    key: '9',
    label: "Server",
    title: "Server Metrics",
    note: |_| None,
    head_rows: 0,
    rows: |model| model.server.as_ref().map_or(0, |server| said(server).count()),
    draw,
};

const EMPTY: &str = "No server has told of itself";

#[derive(Clone, Copy)]
enum Kind {
    Percent,
    Count,
    Rate,
}

/// What is said, by its name in snapshots.
const SAID: &[(&str, &str, Kind)] = &[
    ("num_running", "Requests running", Kind::Count),
    ("num_waiting", "Requests waiting", Kind::Count),
    ("num_preemptions", "Preemptions", Kind::Count),
    ("kv_cache_usage_pct", "KV cache used", Kind::Percent),
    ("cpu_kv_cache_usage_pct", "Host KV cache used", Kind::Percent),
    ("prefix_cache_hit_rate", "Prefix cache hits", Kind::Percent),
    ("external_prefix_cache_hit_rate", "External cache hits", Kind::Percent),
    ("unique_input_tokens_srv", "Input tokens not cached", Kind::Count),
    ("input_token_throughput_srv", "Input tokens", Kind::Rate),
    ("output_token_throughput_srv", "Output tokens", Kind::Rate),
];
const LABEL: usize = 24;

fn said(server: &ServerSnapshot) -> impl Iterator<Item = (&'static str, Kind, f64)> {
    SAID.iter().filter_map(|(name, label, kind)| Some((*label, *kind, server.get(name)?)))
}

fn draw(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let Some(server) = &model.server else { return centred(EMPTY, area, buffer, theme) };
    let text = |kind: Kind, value: f64| match kind {
        _ if !value.is_finite() => "N/A".to_owned(),
        Kind::Percent => format!("{value:.1}%"),
        Kind::Count => thousands(value.max(0.0).round() as u64),
        Kind::Rate => format!("{}/s", thousands(value.max(0.0).round() as u64)),
    };
    let lines: Vec<Line<'_>> = said(server)
        .map(|(label, kind, value)| {
            let label = Span::styled(format!("{label:>LABEL$}: "), theme.dim);
            Line::from(vec![label, Span::styled(text(kind, value), theme.text)])
        })
        .collect();
    scrolled(&lines, model.view.offsets[PaneId::Server as usize], area, buffer, theme);
}
