//! Server Metrics: values that the servers report.

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
    rows: |model| model.server.as_ref().map_or(0, |server| shown(server).count()),
    draw,
};

const EMPTY: &str = "No server metrics so far";

#[derive(Clone, Copy)]
enum Format {
    Percent,
    Count,
    Rate,
}

/// The shown values: name in snapshots, label, format.
const SHOWN: &[(&str, &str, Format)] = &[
    ("num_running", "Requests running", Format::Count),
    ("num_waiting", "Requests waiting", Format::Count),
    ("num_preemptions", "Preemptions", Format::Count),
    ("kv_cache_usage_pct", "KV cache used", Format::Percent),
    ("cpu_kv_cache_usage_pct", "Host KV cache used", Format::Percent),
    ("prefix_cache_hit_rate", "Prefix cache hits", Format::Percent),
    ("external_prefix_cache_hit_rate", "External cache hits", Format::Percent),
    ("unique_input_tokens_srv", "Input tokens not cached", Format::Count),
    ("input_token_throughput_srv", "Input tokens", Format::Rate),
    ("output_token_throughput_srv", "Output tokens", Format::Rate),
];
const LABEL: usize = 24;

fn shown(server: &ServerSnapshot) -> impl Iterator<Item = (&'static str, Format, f64)> {
    SHOWN.iter().filter_map(|(name, label, format)| Some((*label, *format, server.get(name)?)))
}

fn draw(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let Some(server) = &model.server else { return centred(EMPTY, area, buffer, theme) };
    let text = |format: Format, value: f64| match format {
        _ if !value.is_finite() => "N/A".to_owned(),
        Format::Percent => format!("{value:.1}%"),
        Format::Count => thousands(value.max(0.0).round() as u64),
        Format::Rate => format!("{}/s", thousands(value.max(0.0).round() as u64)),
    };
    let lines: Vec<Line<'_>> = shown(server)
        .map(|(label, format, value)| {
            let label = Span::styled(format!("{label:>LABEL$}: "), theme.dim);
            Line::from(vec![label, Span::styled(text(format, value), theme.text)])
        })
        .collect();
    scrolled(&lines, model.view.offsets[PaneId::Server as usize], area, buffer, theme);
}
