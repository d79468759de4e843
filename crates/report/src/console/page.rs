//! Where the report is shown: how wide it is and whether it has colours.

/// Width of the report in a file, or on a stream that is no terminal.
pub const FILE_WIDTH: usize = 140;
/// Narrowest layout: below this tables are no use, and a terminal may wrap them itself.
const LEAST_WIDTH: usize = 60;

/// A surface to lay the report out on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    width: usize,
    colours: bool,
    /// A terminal, as wide as it is: what does not fit is left out or put in another way. Elsewhere everything is
    /// there.
    is_screen: bool,
}

impl Page {
    /// Plain text of a given width.
    pub const fn plain(width: usize) -> Self {
        Self { width, colours: false, is_screen: false }
    }

    /// Plain text as the console file holds it.
    pub const fn file() -> Self {
        Self::plain(FILE_WIDTH)
    }

    /// A terminal so many columns wide, with colours unless `NO_COLOR` is set; `None` is no terminal.
    pub fn screen(columns: Option<usize>) -> Self {
        let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        match columns {
            Some(columns) => Self { width: columns.max(LEAST_WIDTH), colours, is_screen: true },
            None => Self::file(),
        }
    }

    /// The same page with colours, or without.
    pub const fn with_colours(self, colours: bool) -> Self {
        Self { colours, ..self }
    }

    pub const fn width(self) -> usize {
        self.width
    }

    /// Whether it is a terminal whose width must do.
    pub(crate) const fn is_screen(self) -> bool {
        self.is_screen
    }

    /// The text in a style, where the page has colours.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.colours && !style.0.is_empty() && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", style.0)
        } else {
            text.to_owned()
        }
    }
}

/// How a piece of text looks: the numbers of an ANSI escape sequence.
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
        assert_eq!((Page::screen(Some(40)).width(), Page::screen(Some(80)).width()), (LEAST_WIDTH, 80));
        assert_eq!(Page::screen(None), Page::file());
    }
}
