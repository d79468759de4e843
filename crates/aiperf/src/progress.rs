//! The progress bar: requests, rate, errors, time left, in the columns there are.

use aiperf_types::{PhaseId, PhaseKind, PhaseStage, Preparing, Progress, RunEvent};
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Columns of a terminal that does not say how many it has.
const USUAL_COLUMNS: usize = 80;
/// Widest and narrowest bar: a narrower one says less than the words it would take the place of.
const WIDEST_BAR: usize = 24;
const NARROWEST_BAR: usize = 8;

/// Frames a second, at most.
const REFRESH: u8 = 20;

/// A bar on stderr. Each frame is one text, so that no frame mixes two states. Clones are the same bar.
#[derive(Clone)]
pub(crate) struct Bar {
    line: ProgressBar,
    terminal: Term,
    running: Running,
}

/// The phases that run, as they were last heard of.
#[derive(Clone, Debug, Default)]
struct Running(BTreeMap<u16, Arc<Progress>>);

impl Running {
    fn take(&mut self, progress: &Arc<Progress>) {
        self.0.insert(progress.phase.index, progress.clone());
    }

    fn end(&mut self, phase: &PhaseId) {
        self.0.remove(&phase.index);
    }

    /// The one to show: of those in the earliest stage the latest.
    fn shown(&self) -> Option<&Arc<Progress>> {
        self.0.values().rev().min_by_key(|progress| progress.stage)
    }
}

impl Bar {
    pub(crate) fn new() -> Self {
        let terminal = Term::buffered_stderr();
        Self::on(if terminal.is_term() {
            ProgressDrawTarget::term_like_with_hz(Box::new(FromTheLeft(terminal)), REFRESH)
        } else {
            ProgressDrawTarget::hidden()
        })
    }

    fn on(target: ProgressDrawTarget) -> Self {
        let line = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            line.set_style(style);
        }
        Self { line, terminal: Term::stderr(), running: Running::default() }
    }

    /// Runs something that prints, with the bar out of the way.
    pub(crate) fn suspend(&self, print: impl FnOnce()) {
        self.line.suspend(print);
    }

    /// Takes the bar away, for good.
    pub(crate) fn clear(&self) {
        self.line.finish_and_clear();
    }

    /// Shows what an event says of the progress.
    pub(crate) fn update(&mut self, event: &RunEvent) {
        let columns = self.terminal.size_checked().map_or(USUAL_COLUMNS, |(_, columns)| usize::from(columns));
        // The last column stays free: some terminals break the line when it is written to.
        let columns = columns.saturating_sub(1);
        match event {
            RunEvent::Progress(progress) => {
                self.running.take(progress);
                if let Some(shown) = self.running.shown() {
                    self.line.set_message(frame(shown, columns));
                }
            }
            RunEvent::PhaseComplete(moment) => self.running.end(&moment.phase),
            RunEvent::Preparing(preparing) => self.line.set_message(preparing_frame(preparing, columns)),
            _ => {}
        }
    }
}

/// A terminal whose cursor waits where the bar begins. What a terminal echoes, such as the `^C` of whoever wants the run
/// to end, is then on the line of the bar and goes away with it; behind the bar it would begin another line, and the
/// bar would stay.
#[derive(Debug)]
struct FromTheLeft<T>(T);

impl<T: TermLike> TermLike for FromTheLeft<T> {
    fn width(&self) -> u16 {
        // As for frames: the last column stays free.
        self.0.width().saturating_sub(1)
    }

    fn height(&self) -> u16 {
        self.0.height()
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.0.write_line(s)
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.0.write_str(s)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.write_str("\r")?;
        self.0.flush()
    }
}

/// How far a phase is, in words and as a share.
struct Standing {
    name: &'static str,
    /// From the most to the least important.
    words: Vec<String>,
    /// Between 0 and 1.
    done: f64,
}

impl Standing {
    fn of(progress: &Progress) -> Self {
        let (name, grace) = match progress.phase.kind {
            PhaseKind::Warmup => ("Warmup", "Warmup Grace Period"),
            PhaseKind::Profiling => ("Profiling", "Profiling Grace Period"),
        };
        let (counts, targets) = (&progress.counts, progress.targets);
        match progress.stage {
            PhaseStage::Processing => return Self::processing(progress),
            PhaseStage::Draining if targets.length.is_some() => return Self::waiting(grace, progress),
            PhaseStage::Draining | PhaseStage::Sending => {}
        }
        let seconds = progress.elapsed.as_secs_f64();
        let rate = if seconds > 0.0 { counts.completed as f64 / seconds } else { 0.0 };
        let sessions = counts.sessions_completed + counts.sessions_cancelled;
        let by_requests = targets.requests.map(|target| share(counts.completed as f64, target as f64));
        let by_sessions = targets.sessions.map(|target| share(sessions as f64, target as f64));
        let by_time = targets.length.map(|length| share(seconds, length.as_secs_f64()));
        // Whichever is furthest will end it.
        let done = [by_requests, by_sessions, by_time].into_iter().flatten().reduce(f64::max);
        let at_this_pace = |done: f64| seconds * (1.0 - done) / done;
        let left = [
            by_requests.filter(|done| *done > 0.0).map(at_this_pace),
            by_sessions.filter(|done| *done > 0.0).map(at_this_pace),
            targets.length.map(|length| (length.as_secs_f64() - seconds).max(0.0)),
        ];
        let left = left.into_iter().flatten().reduce(f64::min).map_or_else(|| "--:--".to_owned(), clock);
        let completed = match (targets.requests, targets.sessions) {
            (Some(target), _) => format!("{}/{target}", counts.completed),
            (None, Some(target)) => format!("{sessions}/{target} sessions"),
            (None, None) => format!("{} requests", counts.completed),
        };
        let mut words =
            vec![completed, format!("{}<{left}", clock(seconds)), errors(counts.errors), format!("{rate:.1} req/s")];
        if counts.missed > 0 {
            words.push(format!("{} missed", counts.missed));
        }
        // Without slots nothing else says how much the server has to do at once.
        if targets.concurrency.is_none() {
            words.push(format!("{} in flight", counts.in_flight()));
        }
        Self { name, words, done: done.unwrap_or(0.0) }
    }

    /// Requests are over: what counts is how many records there are of them.
    fn processing(progress: &Progress) -> Self {
        let (records, all) = (progress.records, progress.counts.completed + progress.counts.cancelled);
        let words = vec![format!("{records}/{all}"), clock(progress.elapsed.as_secs_f64())];
        Self { name: "Processing Records", words, done: share(records as f64, all as f64) }
    }

    /// Sending is over: what counts is what has not come back.
    fn waiting(name: &'static str, progress: &Progress) -> Self {
        let counts = &progress.counts;
        let returned = counts.completed + counts.cancelled;
        let in_flight = counts.sent.saturating_sub(returned);
        let words = vec![
            format!("{returned}/{}", counts.sent),
            format!("{in_flight} in flight"),
            errors(counts.errors),
            clock(progress.elapsed.as_secs_f64()),
        ];
        Self { name, words, done: share(returned as f64, counts.sent as f64) }
    }
}

/// `Profiling: 21/24 | 00:03<00:01 | 0 errors | 6.3 req/s |█████████████████████   |  88%`, without the words that do
/// not fit.
fn frame(progress: &Progress, columns: usize) -> String {
    laid_out(Standing::of(progress), columns)
}

/// `Making prompts: 21/24 |█████████████████████   |  88%`
fn preparing_frame(preparing: &Preparing, columns: usize) -> String {
    let Preparing { stage, done, total } = *preparing;
    let of = total.map_or_else(|| "...".to_owned(), |total| format!("{done}/{total}"));
    let done = total.map_or(0.0, |total| share(done as f64, total as f64));
    laid_out(Standing { name: stage, words: vec![of], done }, columns)
}

fn laid_out(Standing { name, mut words, done }: Standing, columns: usize) -> String {
    let percent = format!("{:>3}%", (done * 100.0) as u64);
    loop {
        let text = format!("{name}: {} |", words.join(" | "));
        let room = columns.saturating_sub(text.chars().count() + 2 + percent.len());
        if room >= NARROWEST_BAR {
            return format!("{text}{}| {percent}", bar(done, room.min(WIDEST_BAR)));
        }
        if words.len() == 1 {
            return format!("{name}: {} {percent}", words[0]).chars().take(columns).collect();
        }
        words.pop();
    }
}

/// Whole and part blocks.
fn bar(done: f64, columns: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (done * 8.0 * columns as f64) as usize;
    let (whole, part) = (eighths / 8, PARTS[eighths % 8]);
    let used = whole + usize::from(!part.is_empty());
    format!("{}{part}{}", "█".repeat(whole), " ".repeat(columns - used))
}

fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { (part / all).clamp(0.0, 1.0) } else { 0.0 }
}

fn errors(count: u64) -> String {
    format!("{count} error{}", if count == 1 { "" } else { "s" })
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
    use aiperf_types::{Nanos, PhaseProgress, PhaseTargets};
    use std::sync::Mutex;

    fn progress(targets: PhaseTargets, millis: u64, counts: PhaseProgress) -> Progress {
        let (name, kind) = ("profiling".into(), PhaseKind::Profiling);
        Progress {
            phase: Arc::new(PhaseId { index: 0, profiling_index: Some(0), name, kind }),
            targets,
            elapsed: Nanos::from_millis(millis),
            counts,
            stage: PhaseStage::Sending,
            records: 0,
            backlog: 0,
            workers: Arc::default(),
        }
    }

    fn of_forty(millis: u64, completed: u64) -> Progress {
        let targets = PhaseTargets { requests: Some(40), sessions: None, length: None, concurrency: Some(1) };
        progress(targets, millis, PhaseProgress { completed, errors: 1, ..PhaseProgress::default() })
    }

    /// A terminal of 40 columns that never scrolls: its lines, and where its cursor is.
    #[derive(Clone, Debug, Default)]
    struct Paper(Arc<Mutex<Written>>);

    #[derive(Debug, Default)]
    struct Written {
        lines: Vec<Vec<char>>,
        row: usize,
        column: usize,
    }

    impl Paper {
        fn typed(&self, text: &str) {
            let Written { lines, row, column } = &mut *self.0.lock().expect("a terminal");
            for c in text.chars() {
                if c == '\r' {
                    *column = 0;
                    continue;
                }
                if *column == 40 {
                    (*row, *column) = (*row + 1, 0);
                }
                lines.resize(lines.len().max(*row + 1), vec![' '; 40]);
                lines[*row][*column] = c;
                *column += 1;
            }
        }

        fn seen(&self) -> String {
            let lines: Vec<String> =
                self.0.lock().expect("a terminal").lines.iter().map(|line| line.iter().collect()).collect();
            lines.join("\n").trim_end().to_owned()
        }
    }

    impl TermLike for Paper {
        fn width(&self) -> u16 {
            40
        }

        fn move_cursor_up(&self, n: usize) -> io::Result<()> {
            self.0.lock().expect("a terminal").row -= n;
            Ok(())
        }

        fn move_cursor_down(&self, n: usize) -> io::Result<()> {
            self.0.lock().expect("a terminal").row += n;
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, _: &str) -> io::Result<()> {
            Ok(())
        }

        fn write_str(&self, s: &str) -> io::Result<()> {
            self.typed(s);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            self.typed(&format!("\r{:39}\r", ""));
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_goes_away_with_what_was_echoed_over_it() {
        let paper = Paper::default();
        let bar = Bar::on(ProgressDrawTarget::term_like(Box::new(FromTheLeft(paper.clone()))));
        bar.line.set_message(frame(&of_forty(4000, 20), 39));
        assert!(paper.seen().starts_with("Profiling: 20/40 |"), "{}", paper.seen());
        paper.typed("^C");
        bar.clear();
        assert_eq!(paper.seen(), "");
        bar.line.set_message(frame(&of_forty(5000, 25), 39));
        assert_eq!(paper.seen(), "", "a bar that was taken away came back");
    }

    #[test]
    fn the_bar_says_how_much_is_done_how_fast_and_what_is_left() {
        let text = frame(&of_forty(4000, 20), 120);
        assert_eq!(text, "Profiling: 20/40 | 00:04<00:04 | 1 error | 5.0 req/s |████████████            |  50%");
    }

    #[test]
    fn a_narrow_terminal_shows_less_on_one_line() {
        assert_eq!(
            frame(&of_forty(4000, 20), 79),
            "Profiling: 20/40 | 00:04<00:04 | 1 error | 5.0 req/s |█████████▌         |  50%"
        );
        assert_eq!(frame(&of_forty(4000, 20), 59), "Profiling: 20/40 | 00:04<00:04 | 1 error |█████▌     |  50%");
        assert_eq!(frame(&of_forty(4000, 20), 24), "Profiling: 20/40  50%");
        for columns in 10..200 {
            assert!(frame(&of_forty(3_600_000, 39), columns).chars().count() <= columns);
        }
    }

    #[test]
    fn the_first_frame_has_done_nothing() {
        let first = frame(&of_forty(0, 0), 80);
        assert!(first.ends_with(" |   0%") && !first.contains('█'), "{first}");
        let until_stopped = progress(PhaseTargets::default(), 0, PhaseProgress::default());
        assert!(frame(&until_stopped, 80).ends_with("  0%"));
    }

    #[test]
    fn a_grace_period_shows_what_has_not_come_back() {
        let targets = PhaseTargets {
            requests: None,
            sessions: None,
            length: Some(Nanos::from_millis(1000)),
            concurrency: Some(8),
        };
        let counts = PhaseProgress { sent: 40, completed: 29, cancelled: 1, ..PhaseProgress::default() };
        let grace = Progress { stage: PhaseStage::Draining, ..progress(targets, 1500, counts) };
        assert_eq!(
            frame(&grace, 90),
            "Profiling Grace Period: 30/40 | 10 in flight | 0 errors | 00:01 |██████████████▎    |  75%"
        );
        let sending = progress(targets, 500, counts);
        assert!(frame(&sending, 60).ends_with(" 50%"));
    }

    #[test]
    fn records_that_are_still_computed_are_counted_when_requests_are_over() {
        let counts = PhaseProgress { sent: 40, completed: 38, cancelled: 2, ..PhaseProgress::default() };
        let requests = progress(PhaseTargets { requests: Some(40), ..PhaseTargets::default() }, 9000, counts);
        let processing = Progress { stage: PhaseStage::Processing, records: 10, ..requests };
        assert_eq!(frame(&processing, 60), "Processing Records: 10/40 | 00:09 |██████                  |  25%");
    }

    #[test]
    fn sessions_are_counted_where_they_end_the_phase() {
        let targets = PhaseTargets { sessions: Some(8), concurrency: Some(4), ..PhaseTargets::default() };
        let counts = PhaseProgress { completed: 30, sessions_completed: 2, ..PhaseProgress::default() };
        assert_eq!(
            frame(&progress(targets, 5000, counts), 120),
            "Profiling: 2/8 sessions | 00:05<00:15 | 0 errors | 6.0 req/s |██████                  |  25%"
        );
    }

    #[test]
    fn a_rate_shows_what_it_missed_and_what_is_in_flight() {
        let length = Some(Nanos::from_millis(60_000));
        let counts = PhaseProgress { sent: 70, completed: 60, missed: 5, ..PhaseProgress::default() };
        let open =
            |concurrency| progress(PhaseTargets { length, concurrency, ..PhaseTargets::default() }, 6000, counts);
        assert_eq!(
            frame(&open(None), 120),
            "Profiling: 60 requests | 00:06<00:54 | 0 errors | 10.0 req/s | 5 missed | 10 in flight \
             |██▍                     |  10%"
        );
        assert!(frame(&open(Some(64)), 100).contains("| 5 missed |"));
        for columns in 10..200 {
            assert!(frame(&open(None), columns).chars().count() <= columns, "{columns}");
        }
        assert_eq!(frame(&open(None), 39), "Profiling: 60 requests |▉        |  10%");
    }

    #[test]
    fn whichever_target_is_nearest_says_how_much_is_done() {
        let targets = PhaseTargets {
            requests: Some(1000),
            length: Some(Nanos::from_millis(10_000)),
            concurrency: Some(1),
            ..PhaseTargets::default()
        };
        let counts = PhaseProgress { completed: 100, ..PhaseProgress::default() };
        let text = frame(&progress(targets, 5000, counts), 80);
        assert!(text.contains("100/1000 | 00:05<00:05") && text.ends_with(" 50%"), "{text}");
    }

    #[test]
    fn of_phases_that_overlap_the_latest_that_sends_is_shown() {
        use PhaseStage::{Draining, Processing, Sending};
        let of = |index: u16, stage: PhaseStage| {
            let phase = PhaseId { index, profiling_index: Some(index), name: "x".into(), kind: PhaseKind::Profiling };
            Arc::new(Progress { phase: Arc::new(phase), stage, ..of_forty(1000, 1) })
        };
        let mut running = Running::default();
        let shown = |running: &Running| running.shown().map(|progress| (progress.phase.index, progress.stage));
        running.take(&of(0, Sending));
        running.take(&of(0, Draining));
        assert_eq!(shown(&running), Some((0, Draining)));
        running.take(&of(1, Sending));
        running.take(&of(0, Draining));
        assert_eq!(shown(&running), Some((1, Sending)));
        running.take(&of(1, Draining));
        assert_eq!(shown(&running), Some((1, Draining)));
        running.take(&of(1, Processing));
        assert_eq!(shown(&running), Some((0, Draining)));
        running.end(&of(0, Draining).phase);
        assert_eq!(shown(&running), Some((1, Processing)));
    }

    #[test]
    fn a_long_clock_has_hours() {
        assert_eq!((clock(59.9), clock(3725.0)), ("00:59".into(), "1:02:05".into()));
    }
}
