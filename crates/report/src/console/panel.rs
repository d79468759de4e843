//! Framed notes with a title in their upper border.

use super::page::{Page, Style};
use super::text::{centre, fill, width, wrap_hanging};

/// A framed note.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) border: Style,
    pub(crate) lines: Vec<(String, Style)>,
}

impl Panel {
    /// As narrow as its contents, with the title in the middle and two columns of space on each side.
    pub(crate) fn draw(&self, page: Page) -> String {
        let title = format!(" {} ", self.title);
        let contents = self.lines.iter().map(|(line, _)| width(line)).max().unwrap_or(0);
        let inner = (contents + 4).max(width(&title) + 2).min(page.width().saturating_sub(2));
        let (left, right) = centre(&title, inner.saturating_sub(2), "─");
        self.frame(page, inner, 2, (format!("─{left}"), title, format!("{right}─")))
    }

    /// As wide as the page, with the title at the left and one column of space on each side.
    pub(crate) fn draw_wide(&self, page: Page) -> String {
        let title = format!(" {} ", self.title);
        let inner = page.width().saturating_sub(2);
        let rest = "─".repeat(inner.saturating_sub(1 + width(&title)));
        self.frame(page, inner, 1, ("─".to_owned(), title, rest))
    }

    fn frame(
        &self,
        page: Page,
        inner: usize,
        padding: usize,
        (left, title, right): (String, String, String),
    ) -> String {
        let edge = |text: &str| page.paint(self.border, text);
        let mut out = format!("{}\n", edge(&format!("╭{left}{title}{right}╮")));
        let space = " ".repeat(padding);
        let room = inner.saturating_sub(2 * padding);
        for (text, style) in &self.lines {
            for line in wrap_hanging(text, room, hang(text)) {
                let line = line.as_str();
                let filled = format!("{}{}", page.paint(*style, line), fill(line, room));
                out.push_str(&format!("{}{space}{filled}{space}{}\n", edge("│"), edge("│")));
            }
        }
        out.push_str(&format!("{}\n", edge(&format!("╰{}╯", "─".repeat(inner)))));
        out
    }
}

/// The indent of further lines of an item: below its text, after `- `, `• ` or `1. `.
fn hang(line: &str) -> usize {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let marks = ["- ", "• "].iter().find(|mark| text.starts_with(**mark)).map(|_| 2);
    let number = text.split_once(". ").filter(|(number, _)| number.parse::<u32>().is_ok()).map(|(n, _)| n.len() + 2);
    indent + marks.or(number).unwrap_or(0)
}
