//! The progress bar: requests, rate, errors, time left.

use aiperf_types::{PhaseKind, Preparing, Progress, RunEvent};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on stderr.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let template = "{prefix}: {msg} |{bar:24}| {percent:>3}%";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        }
        Self(bar)
    }

    /// Runs something that prints, with the bar out of the way.
    pub(crate) fn suspend(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    /// Takes the bar away.
    pub(crate) fn clear(self) {
        self.0.finish_and_clear();
    }

    /// Shows what an event says of the progress.
    pub(crate) fn update(&mut self, event: &RunEvent) {
        let progress = match event {
            RunEvent::Progress(progress) => progress,
            RunEvent::Preparing(preparing) => return self.show_preparing(preparing),
            _ => return,
        };
        let (name, draining) = match progress.phase.kind {
            PhaseKind::Warmup => ("Warmup", "Warmup Grace Period"),
            PhaseKind::Profiling => ("Profiling", "Profiling Grace Period"),
        };
        let targets = progress.targets;
        self.0.set_prefix(if progress.draining && targets.length.is_some() { draining } else { name });
        self.0.set_message(describe(progress));
        let (position, length) = match (targets.requests, targets.length) {
            (Some(requests), _) => (progress.counts.completed, requests),
            (None, Some(length)) => (progress.elapsed.min(length).0, length.0),
            (None, None) => (0, 1),
        };
        self.0.set_length(length);
        self.0.set_position(position);
    }

    fn show_preparing(&self, preparing: &Preparing) {
        self.0.set_prefix(preparing.stage);
        self.0.set_message(match preparing.total {
            Some(total) => format!("{}/{total}", preparing.done),
            None => "...".to_owned(),
        });
        self.0.set_length(preparing.total.unwrap_or(1));
        self.0.set_position(preparing.done);
    }
}

/// `21/24 | 6.3 req/s | 0 errors | 00:03<00:01`
fn describe(progress: &Progress) -> String {
    let counts = &progress.counts;
    let seconds = progress.elapsed.as_secs_f64();
    let rate = if seconds > 0.0 { counts.completed as f64 / seconds } else { 0.0 };
    let done = match progress.targets.requests {
        Some(expected) => format!("{}/{expected}", counts.completed),
        None => counts.completed.to_string(),
    };
    let by_count =
        progress.targets.requests.filter(|_| rate > 0.0).map(|n| n.saturating_sub(counts.completed) as f64 / rate);
    let by_time = progress.targets.length.map(|length| (length.as_secs_f64() - seconds).max(0.0));
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
    use aiperf_types::{Nanos, PhaseId, PhaseProgress, PhaseTargets};
    use std::sync::Arc;

    #[test]
    fn the_bar_says_how_much_is_done_how_fast_and_what_is_left() {
        let (name, kind) = ("profiling".into(), PhaseKind::Profiling);
        let progress = Progress {
            phase: Arc::new(PhaseId { index: 0, profiling_index: Some(0), name, kind }),
            targets: PhaseTargets { requests: Some(40), length: None, concurrency: Some(1) },
            elapsed: Nanos::from_millis(4000),
            counts: PhaseProgress { completed: 20, errors: 1, ..PhaseProgress::default() },
            draining: false,
            records: 0,
            backlog: 0,
        };
        assert_eq!(describe(&progress), "20/40 | 5.0 req/s | 1 error | 00:04<00:04");
    }

    #[test]
    fn a_long_clock_has_hours() {
        assert_eq!((clock(59.9), clock(3725.0)), ("00:59".into(), "1:02:05".into()));
    }
}
