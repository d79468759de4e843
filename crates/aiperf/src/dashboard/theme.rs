//! Colours.

use crate::terminal;
use aiperf_types::LogLevel;
use ratatui::style::{Color, Modifier, Style};

/// The colours that a terminal supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    None,
    /// The usual 256 colours.
    Indexed,
    True,
}

impl Colours {
    /// From the environment: `NO_COLOR`, `COLORTERM`, `TERM`.
    pub(crate) fn of(var: impl Fn(&str) -> Option<String>) -> Self {
        let is_true = |value: String| matches!(value.as_str(), "truecolor" | "24bit");
        if !terminal::wants_colours(&var) {
            Self::None
        } else if var("COLORTERM").is_some_and(is_true) {
            Self::True
        } else {
            Self::Indexed
        }
    }
}

/// The style of each element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    pub(crate) text: Style,
    pub(crate) dim: Style,
    pub(crate) background: Style,
    pub(crate) panel: Style,
    pub(crate) border: Style,
    pub(crate) title: Style,
    pub(crate) primary: Style,
    pub(crate) accent: Style,
    pub(crate) warning: Style,
    pub(crate) error: Style,
    pub(crate) key: Style,
}

/// Red, green and blue, and the nearest of the 256 colours.
type Ink = (u8, u8, u8, u8);

const PRIMARY: Ink = (0x76, 0xb9, 0x00, 106);
const SECONDARY: Ink = (0x5a, 0x8a, 0x00, 64);
const ACCENT: Ink = (0x00, 0xd4, 0xff, 45);
const TEXT: Ink = (0xe8, 0xe8, 0xe8, 254);
const DIM: Ink = (0x8a, 0x8a, 0x8a, 245);
const BACKGROUND: Ink = (0x1a, 0x1a, 0x1a, 234);
const PANEL: Ink = (0x25, 0x25, 0x25, 235);
const WARNING: Ink = (0xff, 0xa5, 0x00, 214);
const ERROR: Ink = (0xff, 0x44, 0x44, 203);

impl Theme {
    pub(crate) fn new(colours: Colours) -> Self {
        let ink = |(red, green, blue, index): Ink| match colours {
            Colours::None => None,
            Colours::Indexed => Some(Color::Indexed(index)),
            Colours::True => Some(Color::Rgb(red, green, blue)),
        };
        let fore = |of: Ink| ink(of).map_or(Style::new(), |colour| Style::new().fg(colour));
        let on = |style: Style, of: Ink| ink(of).map_or(style, |colour| style.bg(colour));
        let bold = |style: Style| style.add_modifier(Modifier::BOLD);
        Self {
            text: fore(TEXT),
            dim: if colours == Colours::None { Style::new().add_modifier(Modifier::DIM) } else { fore(DIM) },
            background: on(fore(TEXT), BACKGROUND),
            panel: on(fore(TEXT), PANEL),
            border: fore(SECONDARY),
            title: bold(fore(PRIMARY)),
            primary: fore(PRIMARY),
            accent: fore(ACCENT),
            warning: fore(WARNING),
            error: fore(ERROR),
            key: bold(fore(ACCENT)),
        }
    }

    pub(crate) fn level(&self, level: LogLevel) -> Style {
        match level {
            LogLevel::Trace | LogLevel::Debug => self.dim,
            LogLevel::Info => self.accent,
            LogLevel::Notice => self.accent.add_modifier(Modifier::BOLD),
            LogLevel::Warning => self.warning,
            LogLevel::Success => self.primary,
            LogLevel::Error => self.error,
            LogLevel::Critical => self.error.add_modifier(Modifier::BOLD),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(vars: &[(&str, &str)]) -> Colours {
        Colours::of(|name| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_terminal_decides_which_colours_exist_and_the_user_whether_they_are_used() {
        assert_eq!(of(&[("TERM", "xterm-256color")]), Colours::Indexed);
        assert_eq!(of(&[("COLORTERM", "truecolor")]), Colours::True);
        assert_eq!(of(&[("COLORTERM", "truecolor"), ("NO_COLOR", "1")]), Colours::None);
        assert_eq!(of(&[("COLORTERM", "24bit"), ("NO_COLOR", "")]), Colours::True);
        assert_eq!(of(&[("TERM", "dumb")]), Colours::None);
    }

    #[test]
    fn nothing_is_coloured_without_colours() {
        let theme = Theme::new(Colours::None);
        for style in [theme.text, theme.panel, theme.primary, theme.error, theme.level(LogLevel::Warning)] {
            assert!(style.fg.is_none() && style.bg.is_none());
        }
    }
}
