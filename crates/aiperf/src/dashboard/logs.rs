//! The last lines of the log, and the scroll position.

use aiperf_report::{LogLine, log_time};
use aiperf_types::LogLevel;
use std::collections::VecDeque;

/// Maximum number of lines kept.
pub(crate) const MOST_LINES: usize = 2000;
/// Characters kept of a message.
pub(crate) const LONGEST_MESSAGE: usize = 500;

/// One log line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) time: String,
    pub(crate) level: LogLevel,
    pub(crate) text: String,
}

impl Line {
    /// The text before its message.
    pub(crate) fn head(&self) -> String {
        format!("[{}] {:<8} ", self.time, self.level.name())
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Logs {
    lines: VecDeque<Line>,
    /// Number of lines dropped so far.
    gone: u64,
    /// The number of the lowest visible line; `None` follows the end.
    bottom: Option<u64>,
}

impl Logs {
    pub(crate) fn push(&mut self, line: &LogLine) {
        let end = line.text.char_indices().nth(LONGEST_MESSAGE).map(|(end, _)| end);
        let text = end.map_or_else(|| line.text.clone(), |end| format!("{}…", &line.text[..end]));
        self.lines.push_back(Line { time: log_time(line.at).1, level: line.level, text });
        if self.lines.len() > MOST_LINES {
            self.lines.pop_front();
            self.gone += 1;
        }
    }

    /// Moves the view by so many lines; a negative number moves to earlier lines.
    pub(crate) fn scroll(&mut self, by: i64) {
        let (first, last) = (self.gone, self.last());
        let target = self.bottom().saturating_add_signed(by).clamp(first, last);
        self.bottom = (target < last).then_some(target);
    }

    pub(crate) fn rewind(&mut self) {
        self.scroll(i64::MIN);
    }

    pub(crate) fn follow(&mut self) {
        self.bottom = None;
    }

    pub(crate) fn follows(&self) -> bool {
        self.bottom.is_none()
    }

    fn last(&self) -> u64 {
        self.gone + self.lines.len().saturating_sub(1) as u64
    }

    fn bottom(&self) -> u64 {
        self.bottom.unwrap_or(u64::MAX).clamp(self.gone, self.last())
    }

    /// The lowest visible line and all before it, latest first; and the lines after it.
    pub(crate) fn around_bottom(&self) -> (impl Iterator<Item = &Line>, impl Iterator<Item = &Line>) {
        let at = usize::try_from(self.bottom() - self.gone).unwrap_or(0);
        let shown = (at + 1).min(self.lines.len());
        (self.lines.range(..shown).rev(), self.lines.range(shown..))
    }

    /// The latest whole lines that fit into so many bytes, as text; and whether these are all lines.
    pub(crate) fn latest_text(&self, most: usize) -> (String, bool) {
        let mut room = most;
        let fits = |line: &&Line| {
            let bytes = line.head().len() + line.text.len() + 1;
            room.checked_sub(bytes).inspect(|left| room = *left).is_some()
        };
        let shown = self.lines.iter().rev().take_while(fits).count();
        let first = self.lines.len() - shown;
        let text = self.lines.range(first..).map(|line| format!("{}{}\n", line.head(), line.text)).collect();
        (text, first == 0 && self.gone == 0)
    }
}
