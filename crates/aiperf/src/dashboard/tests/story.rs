//! The events of a run, and the screen at each moment.

use crate::dashboard::draw;
use crate::dashboard::model::Model;
use crate::dashboard::theme::{Colours, Theme};
use crate::dashboard::threads::ThreadUse;
use aiperf_report::LogLine;
use aiperf_types::{
    GpuSnapshot, GpuState, GpuValue, Grade, LatencyBucket, LogLevel, MetricSnapshot, MetricsSnapshot, MonoNs, Nanos,
    PhaseId, PhaseKind, PhaseMoment, PhaseProgress, PhaseStage, PhaseStarted, PhaseTargets, Preparing, Progress,
    Reason, RunEvent, ServerSnapshot, Stats, Verdict, WallNs, WorkerProgress,
};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;

pub(super) fn model(columns: u16, rows: u16) -> Model {
    Model::new(Nanos(5 * SECOND), (columns, rows))
}

pub(super) fn phase(index: u16, kind: PhaseKind) -> Arc<PhaseId> {
    let profiling_index = (kind == PhaseKind::Profiling).then_some(0);
    Arc::new(PhaseId { index, profiling_index, name: kind.name().into(), kind })
}

pub(super) fn of_requests(requests: u64) -> PhaseTargets {
    PhaseTargets { requests: Some(requests), concurrency: Some(8), ..PhaseTargets::default() }
}

pub(super) fn started(phase: &Arc<PhaseId>, targets: PhaseTargets, at: u64) -> RunEvent {
    let (phase, at) = (phase.clone(), MonoNs(at * SECOND));
    RunEvent::PhaseStarted(Arc::new(PhaseStarted { phase, at, targets, load: "".into(), target: "".into() }))
}

/// Progress of a phase so many milliseconds after its start.
pub(super) fn progress(
    phase: &Arc<PhaseId>,
    targets: PhaseTargets,
    millis: u64,
    stage: PhaseStage,
    counts: PhaseProgress,
    records: u64,
) -> RunEvent {
    let worker = |thread, share: u64| WorkerProgress {
        thread,
        in_flight: counts.in_flight() / 2,
        completed: counts.completed * share / 4,
        failed: counts.errors * share / 4,
        bytes_sent: counts.completed * 2300 * share,
        bytes_received: counts.completed * 61_000 * share,
    };
    RunEvent::Progress(Arc::new(Progress {
        phase: phase.clone(),
        targets,
        elapsed: Nanos::from_millis(millis),
        counts,
        stage,
        records,
        workers: Arc::new([worker(101, 3), worker(102, 1)]),
    }))
}

pub(super) fn counts(sent: u64, completed: u64, errors: u64) -> PhaseProgress {
    PhaseProgress { sent, completed, errors, ..PhaseProgress::default() }
}

pub(super) fn moment(phase: &Arc<PhaseId>, at: u64, counts: PhaseProgress) -> PhaseMoment {
    PhaseMoment { phase: phase.clone(), at: MonoNs(at * SECOND), counts }
}

pub(super) fn line(level: LogLevel, millis: u64, text: &str) -> LogLine {
    LogLine { at: WallNs(millis * 1_000_000), level, text: text.into() }
}

/// A snapshot at a second of the run, with so many records.
pub(super) fn metrics(kind: PhaseKind, at: u64, records: u64) -> RunEvent {
    let spread = |tag: &'static str, unit, middle: f64| {
        // The mean differs from second to second.
        let sum = middle * (records as f64 + 4.0 * (records as f64 / 9.0).sin());
        let middle = sum / records as f64;
        let stats = Stats {
            avg: Some(middle),
            min: Some(middle * 0.8),
            max: Some(middle * 1.6),
            p50: Some(middle * 0.98),
            p90: Some(middle * 1.2),
            p99: Some(middle * 1.5),
            std: Some(middle * 0.1),
            sum: Some(sum),
            count: Some(records),
            ..Stats::default()
        };
        MetricSnapshot { tag: tag.into(), header: tag.into(), unit, stats }
    };
    let single = |tag: &'static str, unit, value| MetricSnapshot {
        tag: tag.into(),
        header: tag.into(),
        unit,
        stats: Stats::of(value),
    };
    let bucket = |at: i32, count| {
        let from = 100.0 * 1.25f64.powi(at);
        LatencyBucket { from, to: from * 1.25, count }
    };
    let metrics = vec![
        spread("request_latency", "ms", 764.84),
        spread("time_to_first_token", "ms", 318.07),
        spread("time_to_second_token", "ms", 36.97),
        spread("inter_token_latency", "ms", 23.51),
        spread("output_token_throughput_per_user", "tokens/sec/user", 42.53),
        spread("output_sequence_length", "tokens", 1200.0),
        spread("input_sequence_length", "tokens", 16.0),
        single("output_token_throughput", "tokens/sec", 1577.57),
        single("request_throughput", "requests/sec", 3.88),
        single("request_count", "requests", records as f64),
        spread("usage_prompt_tokens", "tokens", 9.3),
    ];
    RunEvent::Metrics(Arc::new(MetricsSnapshot {
        kind,
        at: MonoNs(at * SECOND),
        elapsed: Nanos(at.saturating_sub(if kind == PhaseKind::Profiling { 5 } else { 1 }) * SECOND),
        records,
        failed: 0,
        metrics,
        verdict: Verdict::default(),
        latencies: [3, 12, 40, 31, 9, 0, 2].into_iter().enumerate().map(|(at, n)| bucket(at as i32, n)).collect(),
    }))
}

pub(super) fn server() -> RunEvent {
    let values = vec![
        ("num_running", 7.0),
        ("num_waiting", 1.0),
        ("kv_cache_usage_pct", 41.25),
        ("prefix_cache_hit_rate", 87.5),
        ("output_token_throughput_srv", 15_421.4),
    ];
    RunEvent::ServerMetrics(Arc::new(ServerSnapshot { values, ..ServerSnapshot::default() }))
}

/// Two GPUs of this machine.
pub(super) fn gpus() -> RunEvent {
    let gpu = |index: u64| {
        let value = |name: &str, unit: &str, current: f64| GpuValue {
            tag: format!("{name}_{index}").into(),
            header: name.into(),
            name: name.into(),
            unit: unit.into(),
            current,
            stats: Stats {
                min: Some(current * 0.5),
                max: Some(current * 1.5),
                p50: Some(current * 0.9),
                p90: Some(current * 1.2),
                p99: Some(current * 1.4),
                std: Some(current * 0.1),
                count: Some(90),
                ..Stats::of(current * 0.8)
            },
        };
        GpuState {
            title: format!("localhost | GPU {index} | NVIDIA H100 80GB HBM3").into(),
            metrics: vec![
                value("NVIDIA GPU Power Usage", "W", 612.5 + index as f64),
                value("NVIDIA Energy Consumption", "MJ", 2_841_331.25),
                value("NVIDIA GPU Utilization", "%", 98.0),
                value("NVIDIA GPU Memory Used", "GB", 71.31),
                value("NVIDIA GPU Temperature", "°C", 61.0),
            ],
        }
    };
    RunEvent::GpuMetrics(Arc::new(GpuSnapshot { gpus: (0..2).map(gpu).collect() }))
}

pub(super) fn key(model: &mut Model, key: char) {
    model.press(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE));
}

/// During the preparation: only the log has content.
pub(super) fn waiting(columns: u16, rows: u16) -> Model {
    let mut model = model(columns, rows);
    model.log(&line(LogLevel::Info, 30_034_532, "[OK] Tokenizer Qwen/Qwen3-0.6B detected"));
    model.log(&line(LogLevel::Notice, 30_034_548, "Live API at http://127.0.0.1:8080"));
    model.take(&RunEvent::Preparing(Arc::new(Preparing { stage: "Making prompts", done: 21, total: Some(48) })));
    model
}

pub(super) fn warming_up(columns: u16, rows: u16) -> Model {
    let mut model = waiting(columns, rows);
    let (warmup, targets) = (phase(0, PhaseKind::Warmup), of_requests(16));
    model.take(&started(&warmup, targets, 1));
    model.log(&line(
        LogLevel::Notice,
        30_035_000,
        "Phase warmup (warmup) started | phase_index=0 | target: 16 requests | concurrency 8",
    ));
    for second in 1..=3 {
        let counts = counts(second * 4 + 4, second * 4, 0);
        model.take(&progress(&warmup, targets, second * 1000, PhaseStage::Sending, counts, second * 4));
    }
    model.take(&metrics(PhaseKind::Warmup, 4, 12));
    model
}

/// In the middle of profiling, with failures or without.
pub(super) fn profiling(columns: u16, rows: u16, errors: u64) -> Model {
    profiling_until(of_requests(480), columns, rows, errors)
}

fn profiling_until(targets: PhaseTargets, columns: u16, rows: u16, errors: u64) -> Model {
    let mut model = warming_up(columns, rows);
    let warmup = phase(0, PhaseKind::Warmup);
    model.take(&RunEvent::SendingComplete(moment(&warmup, 5, counts(16, 16, 0))));
    model.take(&RunEvent::RequestsDone(moment(&warmup, 5, counts(16, 16, 0))));
    model.take(&RunEvent::PhaseComplete(moment(&warmup, 5, counts(16, 16, 0))));
    let profiling = phase(1, PhaseKind::Profiling);
    model.take(&started(&profiling, targets, 5));
    let text = "Phase profiling (profiling) started | phase_index=1 | profiling_index=0 | target: 480 requests | concurrency 8";
    model.log(&line(LogLevel::Notice, 30_039_000, text));
    for second in 1..=30 {
        // Faster in the middle.
        let completed = second * 4 + (second * second / 4).min(100);
        let counts = counts(completed + 7, completed, if second > 20 { errors } else { 0 });
        model.take(&progress(&profiling, targets, second * 1000, PhaseStage::Sending, counts, completed - 3));
        model.take(&metrics(PhaseKind::Profiling, 5 + second, completed - 3));
    }
    model.take(&server());
    model.take(&gpus());
    if errors > 0 {
        let text = "request 91 failed: HTTP 503 from http://localhost:8000/v1/chat/completions: overloaded";
        model.log(&line(LogLevel::Warning, 30_058_126, text));
    }
    let threads =
        [(101, "aiperf-w0", 61.5), (102, "aiperf-w1", 12.0), (103, "aiperf-record", 3.0), (100, "aiperf", 0.0)];
    let threads = threads.map(|(id, name, cpu)| ThreadUse { id, name: name.into(), cpu: Some(cpu) });
    model.threads(threads.to_vec(), Some(61_000_000));
    model
}

/// In the middle of profiling, while this client waits for a core.
pub(super) fn doubtful(columns: u16, rows: u16) -> Model {
    let mut model = profiling(columns, rows, 0);
    let RunEvent::Metrics(snapshot) = metrics(PhaseKind::Profiling, 36, 240) else { unreachable!() };
    let text = "a worker waited for a core for 4.2% of the run".to_owned();
    let reason =
        Reason { code: "core_wait".into(), grade: Grade::Doubtful, value: 0.042, limit: 0.01, text, fix: "".into() };
    let verdict = Verdict { grade: Grade::Doubtful, reasons: vec![reason] };
    model.take(&RunEvent::Metrics(Arc::new(MetricsSnapshot { verdict, ..(*snapshot).clone() })));
    model
}

/// The time of the phase ended before its requests.
pub(super) fn in_grace(columns: u16, rows: u16) -> Model {
    let targets = PhaseTargets { length: Some(Nanos(55 * SECOND)), ..of_requests(480) };
    let mut model = profiling_until(targets, columns, rows, 0);
    let profiling = phase(1, PhaseKind::Profiling);
    model.take(&RunEvent::SendingComplete(moment(&profiling, 60, counts(480, 472, 0))));
    let counts = counts(480, 475, 0);
    model.take(&progress(&profiling, targets, 56_000, PhaseStage::Draining, counts, 470));
    model
}

pub(super) fn processing(columns: u16, rows: u16) -> Model {
    let mut model = in_grace(columns, rows);
    let profiling = phase(1, PhaseKind::Profiling);
    model.take(&RunEvent::RequestsDone(moment(&profiling, 62, counts(480, 480, 0))));
    let counts = counts(480, 480, 0);
    model.take(&progress(&profiling, of_requests(480), 58_000, PhaseStage::Processing, counts, 476));
    model
}

/// The text that a terminal of its size shows, without colours.
pub(super) fn shown(model: &Model) -> String {
    let (columns, rows) = model.view.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    let theme = Theme::new(Colours::None);
    terminal.draw(|frame| draw::screen(model, frame.area(), frame.buffer_mut(), &theme)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..rows).map(|y| line(y).trim_end().to_owned() + "\n").collect()
}
