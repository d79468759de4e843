//! The progress bar below the log lines, for the current stage of a run.
//!
//! - [`stages`]: the current stage and its progress
//! - [`frame`]: the text of a bar, fitted to the terminal
//! - [`lines`]: the same as log lines, if no bar can be drawn

mod frame;
mod lines;
mod stages;

use crate::terminal;
use aiperf_types::RunEvent;
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
pub(crate) use lines::ProgressLines;
use stages::{Stages, Standing};
use std::io;

/// Width of a terminal that does not report one.
const USUAL_COLUMNS: usize = 80;

/// Frames per second, at most.
const REFRESH: u8 = 20;

/// A bar on stderr. Each frame is one write, so that no frame mixes two states. Clones share the bar.
#[derive(Clone)]
pub(crate) struct Bar {
    line: ProgressBar,
    colours: bool,
    stages: Stages,
    /// A stage is redrawn after it advanced by so many percentage points.
    step: f64,
    drawn: Option<Drawn>,
}

/// What the last frame showed.
#[derive(Clone, PartialEq)]
struct Drawn {
    /// The stage and the index of its phase.
    of: (&'static str, u16),
    percent: Option<f64>,
    columns: usize,
}

impl Drawn {
    /// Whether the new frame differs enough from the last one to be drawn.
    fn is_news(&self, other: &Self, step: f64) -> bool {
        if (self.of, self.columns) != (other.of, other.columns) {
            return true;
        }
        match (self.percent, other.percent) {
            (Some(now), Some(before)) => now - before >= step || (now >= 100.0 && before < 100.0),
            _ => true,
        }
    }
}

impl Bar {
    /// A bar that is redrawn after so many percentage points.
    pub(crate) fn new(step: f64) -> Self {
        let terminal = Term::buffered_stderr();
        let target = if terminal.is_term() && !terminal::is_dumb() {
            ProgressDrawTarget::term_like_with_hz(Box::new(FromTheLeft(terminal)), REFRESH)
        } else {
            ProgressDrawTarget::hidden()
        };
        Self::on(target, step, terminal::stderr_has_colours())
    }

    fn on(target: ProgressDrawTarget, step: f64, colours: bool) -> Self {
        let line = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            line.set_style(style);
        }
        Self { line, colours, stages: Stages::default(), step, drawn: None }
    }

    /// Hides the bar while `print` prints.
    pub(crate) fn suspend(&self, print: impl FnOnce()) {
        self.line.suspend(print);
    }

    /// Removes the bar for good.
    pub(crate) fn clear(&self) {
        self.line.finish_and_clear();
    }

    /// Shows the progress that an event reports.
    pub(crate) fn update(&mut self, event: &RunEvent) {
        let columns = terminal::stderr_columns().unwrap_or(USUAL_COLUMNS);
        if self.stages.take(event) {
            // The last column stays empty: some terminals wrap the line after a write to it.
            self.show(columns.saturating_sub(1));
        }
    }

    fn show(&mut self, columns: usize) {
        let Some((phase, standing)) = self.stages.shown() else {
            if self.drawn.take().is_some() {
                self.line.set_message("");
            }
            return;
        };
        let Standing { stage, .. } = &standing;
        let next = Drawn { of: (stage.name, phase), percent: standing.share().map(|share| share * 100.0), columns };
        if self.drawn.as_ref().is_none_or(|drawn| next.is_news(drawn, self.step)) {
            self.line.set_message(frame::frame(&standing, columns, self.colours));
            self.drawn = Some(next);
        }
    }
}

/// A terminal whose cursor rests at the start of the bar. What the terminal echoes, such as `^C`, is then on the line
/// of the bar and is removed with it. Behind the bar, the echo would start a new line, and the bar would stay.
#[derive(Debug)]
struct FromTheLeft<T>(T);

impl<T: TermLike> TermLike for FromTheLeft<T> {
    fn width(&self) -> u16 {
        // As for frames, the last column stays empty.
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

#[cfg(test)]
mod tests {
    use super::stages::tests::{of_forty, progress_event, with_records};
    use super::*;
    use std::sync::{Arc, Mutex};

    /// A terminal of 40 columns that never scrolls: its lines and its cursor.
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

    fn bar_on(paper: &Paper, step: f64) -> Bar {
        Bar::on(ProgressDrawTarget::term_like(Box::new(FromTheLeft(paper.clone()))), step, false)
    }

    /// Updates a bar with an event, on a screen of 40 columns.
    fn update(bar: &mut Bar, event: &RunEvent) {
        if bar.stages.take(event) {
            bar.show(39);
        }
    }

    #[test]
    fn a_bar_is_removed_together_with_the_echo_over_it() {
        let paper = Paper::default();
        let mut bar = bar_on(&paper, 1.0);
        update(&mut bar, &progress_event(of_forty(4000, 20)));
        assert!(paper.seen().starts_with("Profiling: 20/40 "), "{}", paper.seen());
        paper.typed("^C");
        bar.clear();
        assert_eq!(paper.seen(), "");
        update(&mut bar, &progress_event(of_forty(5000, 25)));
        assert_eq!(paper.seen(), "", "a removed bar appeared again");
    }

    #[test]
    fn a_frame_is_drawn_when_the_stage_advanced_enough() {
        let paper = Paper::default();
        let mut bar = bar_on(&paper, 10.0);
        let mut seen = |completed: u64| {
            update(&mut bar, &progress_event(of_forty(1000, completed)));
            paper.seen().split(' ').nth(1).map(str::to_owned)
        };
        assert_eq!(seen(0).as_deref(), Some("0/40"));
        assert_eq!(seen(3).as_deref(), Some("0/40"), "7.5 percentage points are less than 10");
        assert_eq!(seen(4).as_deref(), Some("4/40"));
        assert_eq!(seen(39).as_deref(), Some("39/40"));
        assert_eq!(seen(40).as_deref(), Some("40/40"), "the end is always drawn");
    }

    #[test]
    fn the_bar_of_a_stage_is_removed_at_its_end() {
        let paper = Paper::default();
        let mut bar = bar_on(&paper, 1.0);
        update(&mut bar, &progress_event(of_forty(1000, 40)));
        update(&mut bar, &with_records(0, of_forty(1000, 40)));
        assert!(paper.seen().starts_with("Processing Records: 0/40 "), "{}", paper.seen());
        update(&mut bar, &with_records(40, of_forty(1000, 40)));
        assert_eq!(paper.seen(), "");
    }
}
