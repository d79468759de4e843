//! The terminal while the dashboard has it: raw mode, alternate screen, mouse. It is restored in every case.

use super::bounds::{Bounded, bounded};
use super::hold::{Closing, Hold};
use crate::terminal;
use aiperf_types::guard::is_guarded;
use crossterm::cursor::{Hide, Show};
use crossterm::execute;
use crossterm::style::Print;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use nix::unistd::{getpgrp, tcgetpgrp};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::io::{self, BufWriter, Stdout, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Clicks and the wheel, with positions past column 223. Motion is not needed.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1000l";
/// Bytes of a frame that are written at once.
const FRAME_BYTES: usize = 1 << 16;

/// How often, and at which interval, a thread that restores the terminal checks whether another thread still uses it.
const MOST_TRIES: u32 = 50;
const TRY_AGAIN: Duration = Duration::from_millis(1);

type FullScreenTerminal = Terminal<Bounded<CrosstermBackend<BufWriter<Stdout>>>>;

/// A terminal that shows a dashboard. Clones share it.
#[derive(Clone)]
pub(crate) struct Canvas(Arc<Inner>);

struct Inner {
    screen: Mutex<FullScreenTerminal>,
    hold: Hold,
}

impl Canvas {
    /// Takes the terminal. An error if there is none to read keys from, or another process group has it.
    pub(crate) fn open() -> io::Result<Self> {
        if !has_the_terminal() {
            return Err(io::Error::other(
                "this process is in the background\n  try: run it in the foreground; below timeout, timeout --foreground",
            ));
        }
        let writer = BufWriter::with_capacity(FRAME_BYTES, io::stdout());
        let screen = Terminal::new(Bounded(CrosstermBackend::new(writer)))?;
        let canvas = Self(Arc::new(Inner { screen: Mutex::new(screen), hold: Hold::new() }));
        if let Err(error) = enter() {
            leave();
            return Err(error);
        }
        let of_panics = canvas.clone();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // The thread that draws may be the one that panics, so this waits for nothing.
            if !is_guarded() {
                of_panics.give_back();
            }
            before(panic);
        }));
        Ok(canvas)
    }

    /// Draws a frame, unless the terminal is not ours. A terminal that fails is closed.
    pub(crate) fn draw(&self, frame: impl FnOnce(Rect, &mut Buffer)) {
        let mut screen = self.0.screen.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_open() {
            return;
        }
        let drawn = if self.0.hold.mend() { cleared(&mut screen) } else { Ok(()) };
        let drawn = drawn.and_then(|()| screen.draw(|drawn| frame(drawn.area(), drawn.buffer_mut())).map(|_| ()));
        if drawn.is_err() {
            self.give_back();
        }
    }

    /// The next frame redraws everything.
    pub(crate) fn spoil(&self) {
        self.0.hold.spoil();
    }

    /// Writes a control sequence that shows nothing.
    pub(crate) fn write_sequence(&self, sequence: &str) {
        let _screen = self.0.screen.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_open() {
            let mut out = io::stdout();
            let _ = out.write_all(sequence.as_bytes()).and_then(|()| out.flush());
        }
    }

    /// Columns and rows of the drawn area.
    pub(crate) fn size(&self) -> (u16, u16) {
        bounded(crossterm::terminal::size().unwrap_or((0, 0)))
    }

    pub(crate) fn is_open(&self) -> bool {
        self.0.hold.is_open()
    }

    pub(crate) fn is_spoilt(&self) -> bool {
        self.0.hold.is_spoilt()
    }

    /// Restored for good: from now on, printed lines stay.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.hold.is_closed()
    }

    /// Restores the terminal; nothing is drawn any more.
    pub(crate) fn close(&self) {
        match self.0.hold.close() {
            Closing::Done => {}
            Closing::Mine => self.leave_between_frames(),
            Closing::Theirs => {
                tries_until(|| self.is_closed());
                // That thread may be blocked.
                if !self.is_closed() {
                    self.leave();
                }
            }
        }
    }

    /// Restores the terminal while the process is stopped, and waits for that no longer than `patience`. The state
    /// changes before anything that may block, so `resume` sees it.
    pub(crate) fn suspend(&self, patience: Duration) {
        if self.0.hold.suspend() {
            let canvas = self.clone();
            let _ = terminal::within(patience, move || canvas.leave_between_frames());
        }
    }

    /// The process continues. In the background it does not touch the terminal.
    pub(crate) fn resume(&self) {
        // A terminal that blocks is still being restored.
        while self.0.hold.is_suspending() {
            std::thread::sleep(TRY_AGAIN);
        }
        let _screen = self.0.screen.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.0.hold.is_suspended() {
            return;
        }
        if !has_the_terminal() {
            let _ = self.0.hold.close();
            return;
        }
        if enter().is_err() {
            let _ = self.0.hold.close();
        }
        if !self.0.hold.reopen() {
            leave();
        }
    }

    /// Waits for a frame that is being drawn, unless the terminal blocks.
    fn leave_between_frames(&self) {
        let mut screen = None;
        tries_until(|| {
            screen = self.0.screen.try_lock().ok();
            screen.is_some()
        });
        self.leave();
    }

    fn leave(&self) {
        leave();
        self.0.hold.gave_back();
    }

    /// Closes without waiting.
    fn give_back(&self) {
        if self.0.hold.close() == Closing::Mine {
            self.leave();
        }
    }
}

fn tries_until(mut is_done: impl FnMut() -> bool) {
    for _ in 0..MOST_TRIES {
        if is_done() {
            return;
        }
        std::thread::sleep(TRY_AGAIN);
    }
}

/// Forgets the content of the screen. `Terminal::clear` would ask the terminal for its cursor position and wait for the
/// response among the keys.
fn cleared(screen: &mut FullScreenTerminal) -> io::Result<()> {
    let area = screen.size()?.into();
    screen.resize(area)
}

/// A background process that touches the terminal is stopped by the kernel.
fn has_the_terminal() -> bool {
    tcgetpgrp(io::stdout()).is_ok_and(|group| group == getpgrp())
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, Print(MOUSE_ON), Hide)
}

/// The modes come first: a shell needs them most, and setting them never blocks.
fn leave() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), Print(MOUSE_OFF), Show, LeaveAlternateScreen);
}
