//! The page of the report: its width and whether it has colours.

use aiperf_plan::ArtifactPlan;

/// The narrowest layout: below this, tables are useless, and a terminal may wrap them itself.
const LEAST_WIDTH: usize = 40;

/// A surface for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    width: usize,
    colours: bool,
    /// A terminal with its width: what does not fit is left out or arranged differently. Elsewhere nothing is left out.
    is_screen: bool,
}

impl Page {
    /// Plain text of a given width.
    pub const fn plain(width: usize) -> Self {
        Self { width, colours: false, is_screen: false }
    }

    /// Plain text for the console file of a plan, and for any other output that is no terminal.
    pub fn of_file(plan: &ArtifactPlan) -> Self {
        Self::plain(plan.report_width.into())
    }

    /// The same, with the default width.
    pub fn file() -> Self {
        Self::plain(ArtifactPlan::REPORT_WIDTH.into())
    }

    /// A terminal with this many columns.
    pub fn screen(columns: usize) -> Self {
        Self { is_screen: true, ..Self::plain(columns.max(LEAST_WIDTH)) }
    }

    /// The same page with colours, or without.
    pub const fn with_colours(self, colours: bool) -> Self {
        Self { colours, ..self }
    }

    pub const fn width(self) -> usize {
        self.width
    }

    /// Whether it is a terminal with a fixed width.
    pub(crate) const fn is_screen(self) -> bool {
        self.is_screen
    }

    /// The text in a style, if the page has colours.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.colours && !style.0.is_empty() && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", style.0)
        } else {
            text.to_owned()
        }
    }
}

/// The style of a text: the numbers of an ANSI escape sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style(&'static str);

impl Style {
    pub(crate) const PLAIN: Self = Self("");
    pub(crate) const BOLD: Self = Self("1");
    pub(crate) const DIM: Self = Self("2");
    pub(crate) const ITALIC: Self = Self("3");
    pub(crate) const RED: Self = Self("31");
    pub(crate) const GREEN: Self = Self("32");
    pub(crate) const YELLOW: Self = Self("33");
    pub(crate) const CYAN: Self = Self("36");
    pub(crate) const BOLD_RED: Self = Self("1;31");
    pub(crate) const BOLD_GREEN: Self = Self("1;32");
    pub(crate) const BOLD_YELLOW: Self = Self("1;33");
    pub(crate) const DIM_ITALIC: Self = Self("2;3");
    pub(crate) const ITALIC_RED: Self = Self("3;31");
    pub(crate) const ITALIC_YELLOW: Self = Self("3;33");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_page_has_no_escapes() {
        assert_eq!(Page::file().paint(Style::RED, "x"), "x");
        assert_eq!(Page::plain(80).with_colours(true).paint(Style::RED, "x"), "\x1b[31mx\x1b[0m");
    }

    #[test]
    fn a_narrow_terminal_is_laid_out_at_the_least_width() {
        assert_eq!((Page::screen(30).width(), Page::screen(80).width()), (LEAST_WIDTH, 80));
    }
}
