//! The progress bar below the log lines: one at a time, for the stage that a run is in.
//!
//! - [`stages`]: which stage that is, and how far it is
//! - [`frame`]: the line of it, in the columns there are
//! - [`lines`]: the same as lines, where no bar can be drawn

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

/// Columns of a terminal that does not say how many it has.
const USUAL_COLUMNS: usize = 80;

/// Frames a second, at most.
const REFRESH: u8 = 20;

/// A bar on stderr. Each frame is one text, so that no frame mixes two states. Clones are the same bar.
#[derive(Clone)]
pub(crate) struct Bar {
    line: ProgressBar,
    terminal: Term,
    colours: bool,
    stages: Stages,
    /// Percent points by which a stage must get on before it is drawn anew.
    step: f64,
    drawn: Option<Drawn>,
}

/// What the frame on the screen shows.
#[derive(Clone, PartialEq)]
struct Drawn {
    /// Of which stage of which phase.
    of: (&'static str, u16),
    percent: Option<f64>,
    columns: usize,
}

impl Drawn {
    /// Whether a frame that shows this is worth drawing after one that showed the other.
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
    /// A bar that is drawn anew after so many percent points.
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
        Self { line, terminal: Term::stderr(), colours, stages: Stages::default(), step, drawn: None }
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
        if self.stages.take(event) {
            // The last column stays free: some terminals break the line when it is written to.
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

#[cfg(test)]
mod tests {
    use super::stages::tests::{of_forty, progress_event, with_records};
    use super::*;
    use std::sync::{Arc, Mutex};

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

    fn bar_on(paper: &Paper, step: f64) -> Bar {
        Bar::on(ProgressDrawTarget::term_like(Box::new(FromTheLeft(paper.clone()))), step, false)
    }

    /// Tells a bar something, on a screen of 40 columns.
    fn tell(bar: &mut Bar, event: &RunEvent) {
        if bar.stages.take(event) {
            bar.show(39);
        }
    }

    #[test]
    fn a_bar_goes_away_with_what_was_echoed_over_it() {
        let paper = Paper::default();
        let mut bar = bar_on(&paper, 1.0);
        tell(&mut bar, &progress_event(of_forty(4000, 20)));
        assert!(paper.seen().starts_with("Profiling: 20/40 "), "{}", paper.seen());
        paper.typed("^C");
        bar.clear();
        assert_eq!(paper.seen(), "");
        tell(&mut bar, &progress_event(of_forty(5000, 25)));
        assert_eq!(paper.seen(), "", "a bar that was taken away came back");
    }

    #[test]
    fn a_frame_is_drawn_when_the_stage_got_on_by_enough() {
        let paper = Paper::default();
        let mut bar = bar_on(&paper, 10.0);
        let mut seen = |completed: u64| {
            tell(&mut bar, &progress_event(of_forty(1000, completed)));
            paper.seen().split(' ').nth(1).map(str::to_owned)
        };
        assert_eq!(seen(0).as_deref(), Some("0/40"));
        assert_eq!(seen(3).as_deref(), Some("0/40"), "7.5 percent points are less than 10");
        assert_eq!(seen(4).as_deref(), Some("4/40"));
        assert_eq!(seen(39).as_deref(), Some("39/40"));
        assert_eq!(seen(40).as_deref(), Some("40/40"), "the end is always news");
    }

    #[test]
    fn a_stage_that_is_over_takes_its_bar_with_it() {
        let paper = Paper::default();
        let mut bar = bar_on(&paper, 1.0);
        tell(&mut bar, &progress_event(of_forty(1000, 40)));
        tell(&mut bar, &with_records(0, of_forty(1000, 40)));
        assert!(paper.seen().starts_with("Processing Records: 0/40 "), "{}", paper.seen());
        tell(&mut bar, &with_records(40, of_forty(1000, 40)));
        assert_eq!(paper.seen(), "");
    }
}
