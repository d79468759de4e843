//! The progress bar: requests, rate, errors, time left. It looks at the board; the run does not know it is there.

use crate::log::Log;
use aiperf_campaign::Board;
use aiperf_types::{PhaseKind, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A bar on stderr while a run is on.
pub(crate) struct Bar {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// Shows the progress of a run until [`Bar::finish`].
    pub(crate) fn show(board: Board, log: Arc<Log>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ended = over.clone();
        let draw = move || {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let template = "{prefix}: {msg} |{bar:24}| {percent:>3}%";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
            }
            log.set_bar(Some(bar.clone()));
            while !ended.load(Ordering::Acquire) {
                update(&bar, &board.look());
                std::thread::sleep(LOOK_EVERY);
            }
            log.set_bar(None);
            bar.finish_and_clear();
        };
        let thread = std::thread::Builder::new().name("aiperf-progress".into()).spawn(draw).ok();
        Self { over, thread }
    }

    /// Takes the bar away.
    pub(crate) fn finish(mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn update(bar: &ProgressBar, progress: &Progress) {
    let Some(kind) = progress.kind else { return };
    let (name, draining) = match kind {
        PhaseKind::Warmup => ("Warmup", "Warmup Grace Period"),
        PhaseKind::Profiling => ("Profiling", "Profiling Grace Period"),
    };
    bar.set_prefix(if progress.draining && progress.length_ns.is_some() { draining } else { name });
    bar.set_message(describe(progress));
    let (position, length) = match (progress.expected, progress.length_ns) {
        (Some(expected), _) => (progress.counts.completed, expected),
        (None, Some(length)) => (progress.elapsed_ns.min(length), length),
        (None, None) => (0, 1),
    };
    bar.set_length(length);
    bar.set_position(position);
}

/// `21/24 | 6.3 req/s | 0 errors | 00:03<00:01`
fn describe(progress: &Progress) -> String {
    let counts = &progress.counts;
    let seconds = progress.elapsed_ns as f64 / 1e9;
    let rate = if seconds > 0.0 { counts.completed as f64 / seconds } else { 0.0 };
    let done = match progress.expected {
        Some(expected) => format!("{}/{expected}", counts.completed),
        None => counts.completed.to_string(),
    };
    let by_count = progress.expected.filter(|_| rate > 0.0).map(|n| n.saturating_sub(counts.completed) as f64 / rate);
    let by_time = progress.length_ns.map(|length| (length as f64 / 1e9 - seconds).max(0.0));
    let left = match (by_count, by_time) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let left = left.map_or_else(|| "--:--".to_owned(), clock);
    let plural = if counts.errors == 1 { "" } else { "s" };
    format!("{done} | {rate:.1} req/s | {} error{plural} | {}<{left}", counts.errors, clock(seconds))
}

/// `MM:SS`, with hours from one hour on.
fn clock(seconds: f64) -> String {
    let whole = seconds as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes:02}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::PhaseProgress;

    #[test]
    fn the_bar_says_how_much_is_done_how_fast_and_what_is_left() {
        let counts = PhaseProgress { completed: 20, errors: 1, ..PhaseProgress::default() };
        let progress = Progress { expected: Some(40), elapsed_ns: 4_000_000_000, counts, ..Progress::default() };
        assert_eq!(describe(&progress), "20/40 | 5.0 req/s | 1 error | 00:04<00:04");
    }

    #[test]
    fn a_long_clock_has_hours() {
        assert_eq!((clock(59.9), clock(3725.0)), ("00:59".into(), "1:02:05".into()));
    }
}
