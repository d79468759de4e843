//! Worker Status: counters and CPU use of each worker, and CPU use of our other threads.

use super::{Pane, scrolled};
use crate::dashboard::model::Model;
use crate::dashboard::pane_id::PaneId;
use crate::dashboard::theme::Theme;
use crate::dashboard::workers::{Health, Worker};
use aiperf_report::{RunIds, bytes_text, thousands};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

pub(super) const PANE: Pane = Pane {
    id: PaneId::Workers,
    key: '4',
    label: "Workers",
    title: "Worker Status",
    note: |_| None,
    head_rows: 0,
    rows: |model| model.workers.workers.len() + model.workers.others().len() + 5,
    draw,
};

const HEADS: [&str; 9] =
    ["Worker ID", "Status", "In-flight", "Completed", "Failed", "CPU", "Memory", "Total Read", "Total Write"];
/// Columns that a narrow pane leaves out, in this order.
const GIVE_WAY: [usize; 4] = [6, 8, 7, 4];
const ABSENT: &str = "N/A";

fn draw(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let workers = &model.workers;
    let health: Vec<Health> = workers.workers.iter().map(|worker| workers.health(worker, model.now)).collect();
    let mut lines = vec![summary(&health, theme), Line::default()];
    let rows: Vec<[String; 9]> = workers
        .workers
        .iter()
        .zip(&health)
        .enumerate()
        .map(|(at, (worker, health))| cells(model, at, worker, *health))
        .collect();
    lines.extend(table(&rows, &health, usize::from(area.width), theme));
    let memory = workers.memory.map(|bytes| format!("  (process: {} of memory)", bytes_text(Some(bytes))));
    lines.extend([
        Line::default(),
        Line::from(vec![
            Span::styled("Other threads", theme.title),
            Span::styled(memory.unwrap_or_default(), theme.dim),
        ]),
    ]);
    lines.extend(workers.others().into_iter().map(|thread| {
        Line::from(vec![
            Span::styled(format!("{:>16}  ", thread.name), theme.accent),
            Span::styled(cpu(thread.cpu), theme.text),
        ])
    }));
    scrolled(&lines, model.view.offsets[PaneId::Workers as usize], area, buffer, theme);
}

fn summary(health: &[Health], theme: &Theme) -> Line<'static> {
    let mut spans = vec![Span::styled("Summary:  ", theme.title)];
    for (at, kind) in Health::ALL.into_iter().enumerate() {
        let number = health.iter().filter(|known| **known == kind).count();
        if at > 0 {
            spans.push(Span::styled(" • ", theme.dim));
        }
        spans.push(Span::styled(format!("{number} {}", kind.name().to_lowercase()), style(kind, theme)));
    }
    Line::from(spans)
}

fn style(health: Health, theme: &Theme) -> Style {
    match health {
        Health::Healthy => theme.primary,
        Health::HighLoad => theme.warning,
        Health::Error => theme.error,
        Health::Idle | Health::Stale => theme.dim,
    }
}

fn cells(model: &Model, at: usize, worker: &Worker, health: Health) -> [String; 9] {
    let now = &worker.now;
    [
        name(model, at),
        health.name().to_owned(),
        thousands(now.in_flight),
        thousands(now.completed),
        thousands(now.failed),
        cpu(model.workers.cpu(now.thread)),
        // Threads share the memory of their process.
        ABSENT.to_owned(),
        bytes_text(Some(now.bytes_received)),
        bytes_text(Some(now.bytes_sent)),
    ]
}

/// The name in the records, once the run has started.
fn name(model: &Model, at: usize) -> String {
    let ids = model.run.as_ref().map(|run| RunIds::new(&run.benchmark_id));
    ids.map_or_else(|| format!("worker_{at}"), |ids| ids.worker_id(at as u16))
}

fn cpu(percent: Option<f64>) -> String {
    percent.map_or_else(|| format!("{ABSENT:>6}"), |percent| format!("{percent:5.1}%"))
}

fn table(rows: &[[String; 9]], health: &[Health], room: usize, theme: &Theme) -> Vec<Line<'static>> {
    let widest = |at: usize| rows.iter().map(|row| row[at].len()).max().unwrap_or(0).max(HEADS[at].len());
    let widths: Vec<usize> = (0..HEADS.len()).map(widest).collect();
    let mut shown: Vec<usize> = (0..HEADS.len()).collect();
    for at in GIVE_WAY {
        if shown.iter().map(|at| widths[*at] + 2).sum::<usize>() > room {
            shown.retain(|known| *known != at);
        }
    }
    let line = |cells: &[&str], styles: &dyn Fn(usize) -> Style| {
        let cell = |at: &usize| Span::styled(format!("{:>width$}  ", cells[*at], width = widths[*at]), styles(*at));
        Line::from(shown.iter().map(cell).collect::<Vec<_>>())
    };
    let head = line(&HEADS, &|_| theme.title);
    let body = rows.iter().zip(health).map(|(row, health)| {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        line(&cells, &|at| match at {
            0 => theme.accent,
            1 => style(*health, theme),
            _ => theme.text,
        })
    });
    std::iter::once(head).chain(body).collect()
}
