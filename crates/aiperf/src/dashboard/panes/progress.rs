//! Profile Progress: a bar per stage, and the figures of the current phase.

use super::Pane;
use crate::dashboard::layout;
use crate::dashboard::model::Model;
use crate::dashboard::pane_id::PaneId;
use crate::dashboard::phases;
use crate::dashboard::shapes::{bar, percent};
use crate::dashboard::theme::Theme;
use crate::phase_progress::{Phase, State, What, share};
use aiperf_report::{duration_text, remaining_text, thousands};
use aiperf_types::{Grade, PhaseKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

pub(super) const PANE: Pane = Pane {
    id: PaneId::Progress,
    key: '2',
    label: "Progress",
    title: "Profile Progress",
    note: |_| None,
    head_rows: 0,
    rows: needed,
    draw,
};

const WAITING: &str = "Waiting for profile data…";
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Frames of the spinner per second.
const SPINS: u64 = 10;
/// Columns of the longest label.
const LABEL: usize = 16;
/// Columns of the longest stage.
const STAGE: usize = 12;
/// Share of failed requests above which errors are highlighted.
const MANY_ERRORS: f64 = 0.1;

struct Stage {
    name: &'static str,
    share: f64,
    is_over: bool,
}

struct Row {
    label: &'static str,
    text: String,
    mood: Mood,
}

#[derive(Clone, Copy)]
enum Mood {
    Plain,
    Good,
    Doubtful,
    Bad,
}

fn needed(model: &Model) -> usize {
    // As many as in the overview. Their number changes a little during a phase; panes should not jump because of it.
    let room = layout::left_columns(model.view.size.0).saturating_sub(4);
    let lines: usize = rows(model).iter().map(|row| texts(row, room).len()).sum();
    stages(model).len().max(2) + lines.max(9)
}

fn draw(model: &Model, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let stages = stages(model).into_iter().map(|stage| stage_line(&stage, model, area.width, theme));
    let rows = rows(model).into_iter().flat_map(|row| row_lines(&row, area.width, theme));
    for (line, y) in stages.chain(rows).zip(area.y..area.bottom()) {
        line.render(Rect { y, height: 1, ..area }, buffer);
    }
}

/// The warm-up, profiling, and the records of the current one.
fn stages(model: &Model) -> Vec<Stage> {
    let mut stages = Vec::new();
    for kind in [PhaseKind::Warmup, PhaseKind::Profiling] {
        let Some(phase) = model.phases.latest(kind) else { continue };
        let (sending, grace) = match kind {
            PhaseKind::Warmup => ("Warmup", "Warmup Grace"),
            PhaseKind::Profiling => ("Profiling", "Grace Period"),
        };
        stages.push(Stage { name: sending, share: phase.sent_share(), is_over: phase.state > State::Sending });
        if phase.had_grace {
            stages.push(Stage { name: grace, share: phase.returned_share(), is_over: phase.state > State::Grace });
        }
    }
    if let Some(phase) = model.phases.current() {
        stages.push(Stage { name: "Records", share: phase.records_share(), is_over: phase.state == State::Complete });
    }
    stages
}

fn stage_line(stage: &Stage, model: &Model, columns: u16, theme: &Theme) -> Line<'static> {
    let frame = (model.now.0 / (1_000_000_000 / SPINS)) as usize % SPINNER.len();
    let (spinner, style) = if stage.is_over { (" ", theme.primary) } else { (SPINNER[frame], theme.text) };
    let room = usize::from(columns).saturating_sub(STAGE + 8);
    let mut spans = vec![
        Span::styled(format!("{spinner} "), theme.accent),
        Span::styled(format!("{:<STAGE$} ", stage.name), style),
    ];
    spans.extend(bar(stage.share, room, theme.primary, theme));
    spans.push(Span::styled(format!(" {}", percent(stage.share)), theme.accent));
    Line::from(spans)
}

fn rows(model: &Model) -> Vec<Row> {
    let Some(phase) = model.phases.current() else {
        return vec![Row { label: "Status", text: WAITING.to_owned(), mood: Mood::Plain }];
    };
    let mut rows = Vec::new();
    let mut add = |label, text: String, mood| rows.push(Row { label, text, mood });
    let status_mood = if phase.state == State::Complete { Mood::Good } else { Mood::Plain };
    add("Status", phases::status(phase).to_owned(), status_mood);
    if model.phases.has_several(phase.id.kind) {
        add("Phase", phase.id.name.to_string(), Mood::Plain);
    }
    add("Progress", progress(phase), Mood::Plain);
    if phase.state < State::Processing {
        add("Live Concurrency", format!("{} requests in flight", thousands(phase.counts.in_flight())), Mood::Plain);
    }
    let (text, mood) = errors(phase);
    add("Errors", text, mood);
    if let Some(verdict) = model.verdict().filter(|verdict| !verdict.is_trustworthy()) {
        let mood = if verdict.grade == Grade::ClientBound { Mood::Bad } else { Mood::Doubtful };
        // One line, so that the rows after it stay visible. The closing panel has the reasons.
        add("Verdict so far", verdict.grade.name().to_owned(), mood);
    }
    if phase.counts.missed > 0 {
        add(
            "Missed",
            format!("{} of {}", thousands(phase.counts.missed), thousands(phase.counts.offered)),
            Mood::Doubtful,
        );
    }
    let rate = |rate: Option<f64>, of| rate.map_or_else(|| "--".to_owned(), |rate| format!("{rate:.1} {of}/s"));
    add("Request Rate", rate(phase.request_rate(), "requests"), Mood::Plain);
    add("Processing Rate", rate(phase.record_rate(), "records"), Mood::Plain);
    add("Elapsed", duration_text(Some(phase.elapsed.as_secs_f64())), Mood::Plain);
    match phase.state {
        State::Sending => add("ETA", remaining_text(phase.seconds_left()), Mood::Plain),
        State::Grace => {
            let waiting = thousands(phase.counts.in_flight());
            add("Grace Period", format!("waiting for {waiting} requests"), Mood::Doubtful);
        }
        State::Processing => add("Records ETA", remaining_text(phase.seconds_left()), Mood::Plain),
        State::Complete => {}
    }
    rows
}

fn progress(phase: &Phase) -> String {
    let whole = |done: u64, of: u64, what: &str| {
        format!("{} / {} {what} ({:.1}%)", thousands(done), thousands(of), 100.0 * share(done as f64, of as f64))
    };
    match (phase.state, phase.goal()) {
        (State::Grace, _) => whole(phase.returned(), phase.counts.sent, "requests returned"),
        (State::Processing, _) => whole(phase.records, phase.returned(), "records"),
        (_, Some(goal)) => match goal.what {
            What::Requests => whole(goal.done as u64, goal.of as u64, "requests"),
            What::Sessions => whole(goal.done as u64, goal.of as u64, "user sessions"),
            What::Seconds => format!("{:.1} / {:.1} seconds ({:.1}%)", goal.done, goal.of, 100.0 * goal.share()),
        },
        (_, None) => format!("{} requests", thousands(phase.counts.completed)),
    }
}

fn errors(phase: &Phase) -> (String, Mood) {
    let failed = phase.counts.errors;
    // A failure may be known before its record.
    let of = phase.records.max(failed);
    let part = share(failed as f64, of as f64);
    let mood = match failed {
        0 => Mood::Good,
        _ if part <= MANY_ERRORS => Mood::Doubtful,
        _ => Mood::Bad,
    };
    (format!("{} / {} ({:.1}%)", thousands(failed), thousands(of), 100.0 * part), mood)
}

/// A row, wrapped if it does not fit.
fn row_lines(row: &Row, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let style: Style = match row.mood {
        Mood::Plain => theme.text,
        Mood::Good => theme.primary,
        Mood::Doubtful => theme.warning,
        Mood::Bad => theme.error.add_modifier(Modifier::BOLD),
    };
    let line = |(at, text): (usize, String)| {
        let label = if at == 0 { format!("{:>LABEL$}: ", row.label) } else { format!("{:LABEL$}  ", "") };
        Line::from(vec![Span::styled(label, theme.dim), Span::styled(text, style)])
    };
    texts(row, columns).into_iter().enumerate().map(line).collect()
}

fn texts(row: &Row, columns: u16) -> Vec<String> {
    let room = usize::from(columns).saturating_sub(LABEL + 2);
    aiperf_report::wrap_hanging(&row.text, room.max(1), 0)
}
