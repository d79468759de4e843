//! The effects of keys and the mouse.

use super::layout;
use super::model::{Click, Model};
use super::pane_id::PaneId;
use super::panes::PANES;
use aiperf_types::Nanos;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

/// The side effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// What Ctrl-C does outside of the dashboard.
    Interrupt,
    /// What Ctrl-Z does outside of the dashboard.
    Suspend,
    Copy {
        text: String,
        /// Whether `text` is the whole log, or only its latest part.
        is_all: bool,
    },
    Picture,
    /// Redraw everything.
    Repaint,
}

/// Two clicks within this time are a double click.
const DOUBLE: Nanos = Nanos(500_000_000);
/// Lines per step of the wheel.
const WHEEL: i64 = 3;

/// More rows than any pane has.
const MOST_MOVED: i64 = 1 << 32;

/// Keys of the footer and of the help, besides those of panes: key, label, whether the footer has it.
pub(crate) const KEYS: &[(&str, &str, bool)] = &[
    ("esc", "Restore View", true),
    ("c", "Copy Logs", true),
    ("?", "Keys", true),
    ("ctrl+c", "Quit", true),
    ("l", "Hide or show logs", false),
    ("↑ ↓ PgUp PgDn Home End", "Scroll", false),
    ("ctrl+s", "Screenshot", false),
    ("ctrl+l", "Draw anew", false),
    ("ctrl+z", "Suspend", false),
    ("double click", "Maximise a pane", false),
];

/// Bytes of the log that are copied. Terminals accept about 100 KB at once, and the encoding adds a third.
pub(crate) const MOST_COPIED: usize = 64 << 10;

const NO_GPU: &str = "There is no GPU telemetry to show";

impl Model {
    pub(crate) fn press(&mut self, key: KeyEvent) -> Effect {
        self.is_stale = true;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Effect::Interrupt,
                KeyCode::Char('z') => Effect::Suspend,
                KeyCode::Char('s') => Effect::Picture,
                KeyCode::Char('l') => Effect::Repaint,
                _ => Effect::None,
            };
        }
        if std::mem::take(&mut self.view.shows_keys) && matches!(key.code, KeyCode::Esc | KeyCode::Char('?')) {
            return Effect::None;
        }
        match key.code {
            KeyCode::Char('1') => self.overview(),
            KeyCode::Esc => {
                self.overview();
                self.view.hides_logs = false;
                self.logs.follow();
            }
            KeyCode::Char('5') if self.gpus.is_none() && self.view.maximised != Some(PaneId::Gpu) => self.toast(NO_GPU),
            KeyCode::Char('l') => self.view.hides_logs ^= true,
            KeyCode::Char('c') => {
                let (text, is_all) = self.logs.latest_text(MOST_COPIED);
                return Effect::Copy { text, is_all };
            }
            KeyCode::Char('?') => self.view.shows_keys = true,
            KeyCode::Char(key) => {
                if let Some(pane) = PANES.iter().find(|pane| pane.key == key) {
                    self.toggle(pane.id);
                }
            }
            KeyCode::Up => self.scroll(self.scrolled(), -1),
            KeyCode::Down => self.scroll(self.scrolled(), 1),
            KeyCode::PageUp => self.scroll(self.scrolled(), -self.page()),
            KeyCode::PageDown => self.scroll(self.scrolled(), self.page()),
            KeyCode::Home => self.scroll(self.scrolled(), i64::MIN),
            KeyCode::End => self.scroll(self.scrolled(), i64::MAX),
            _ => {}
        }
        Effect::None
    }

    pub(crate) fn mouse(&mut self, mouse: MouseEvent) {
        let position = Position::new(mouse.column, mouse.row);
        let Some(pane) = layout::of(self).at(position) else { return };
        match mouse.kind {
            MouseEventKind::ScrollUp => self.scroll(pane, -WHEEL),
            MouseEventKind::ScrollDown => self.scroll(pane, WHEEL),
            MouseEventKind::Down(MouseButton::Left) => {
                let before = self.view.click.take();
                match before {
                    Some(click) if click.pane == pane && self.now.0 - click.at.0 <= DOUBLE.0 => self.toggle(pane),
                    _ => self.view.click = Some(Click { pane, at: self.now }),
                }
            }
            _ => return,
        }
        self.is_stale = true;
    }

    /// The pane that keys scroll: the maximised one, or the log.
    fn scrolled(&self) -> PaneId {
        self.view.maximised.unwrap_or(PaneId::Logs)
    }

    /// All visible rows but one, so that one row stays visible.
    fn page(&self) -> i64 {
        self.rows_shown(self.scrolled()).saturating_sub(1).max(1) as i64
    }

    /// Rows of a pane that scroll and are visible at once.
    fn rows_shown(&self, pane: PaneId) -> usize {
        let layout = layout::of(self);
        let rows = layout.panes.iter().find(|(shown, _)| *shown == pane).map_or(0, |(_, area)| area.height);
        usize::from(rows).saturating_sub(2 + pane.head_rows())
    }

    fn scroll(&mut self, pane: PaneId, by: i64) {
        if pane == PaneId::Logs {
            match by {
                i64::MIN => self.logs.rewind(),
                i64::MAX => self.logs.follow(),
                by => self.logs.scroll(by),
            }
            return;
        }
        // The last page is full: scrolling stops there.
        let last = pane.rows(self).saturating_sub(self.rows_shown(pane));
        let offset = &mut self.view.offsets[pane as usize];
        *offset =
            usize::try_from((*offset).min(last) as i64 + by.clamp(-MOST_MOVED, MOST_MOVED)).unwrap_or(0).min(last);
    }
}
