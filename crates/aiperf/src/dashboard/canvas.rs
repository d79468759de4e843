//! The terminal while it is ours: raw mode, the alternate screen, the mouse; and all of it given back, whatever happens.

use super::bounds::{Bounded, bounded};
use super::hold::{Closing, Hold};
use crate::terminal;
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

/// Clicks and the wheel, with places past column 223; but no motion, which nobody asks for.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1000l";
/// Bytes of a frame that go out at once.
const FRAME_BYTES: usize = 1 << 16;

/// How often, and after how long, whoever gives the terminal back looks whether somebody is still at it.
const MOST_TRIES: u32 = 50;
const TRY_AGAIN: Duration = Duration::from_millis(1);

type FullScreenTerminal = Terminal<Bounded<CrosstermBackend<BufWriter<Stdout>>>>;

/// A terminal that shows a dashboard. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Canvas(Arc<Inner>);

struct Inner {
    screen: Mutex<FullScreenTerminal>,
    hold: Hold,
}

impl Canvas {
    /// Takes the terminal; why not, where there is none to take keys from, or others have it.
    pub(crate) fn open() -> io::Result<Self> {
        if !has_the_terminal() {
            return Err(io::Error::other("this process is in the background"));
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
            // Whoever draws may be the one who panics: nothing is waited for.
            of_panics.give_back();
            before(panic);
        }));
        Ok(canvas)
    }

    /// Draws a frame, unless the terminal is not ours. A terminal that is gone is given up.
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

    /// Everything is drawn anew with the next frame.
    pub(crate) fn spoil(&self) {
        self.0.hold.spoil();
    }

    /// Writes what the terminal does not show.
    pub(crate) fn tell(&self, sequence: &str) {
        let _screen = self.0.screen.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_open() {
            let mut out = io::stdout();
            let _ = out.write_all(sequence.as_bytes()).and_then(|()| out.flush());
        }
    }

    /// Columns and rows that are drawn on.
    pub(crate) fn size(&self) -> (u16, u16) {
        bounded(crossterm::terminal::size().unwrap_or((0, 0)))
    }

    pub(crate) fn is_open(&self) -> bool {
        self.0.hold.is_open()
    }

    pub(crate) fn is_spoilt(&self) -> bool {
        self.0.hold.is_spoilt()
    }

    /// It was given back for good: lines stay where they are printed.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.hold.is_closed()
    }

    /// Gives the terminal back: nothing is drawn any more.
    pub(crate) fn close(&self) {
        match self.0.hold.close() {
            Closing::Done => {}
            Closing::Mine => self.leave_between_frames(),
            Closing::Theirs => {
                tries_until(|| self.is_closed());
                // Whoever was at it may never come to it.
                if !self.is_closed() {
                    self.leave();
                }
            }
        }
    }

    /// Gives the terminal back for as long as the process is stopped, and waits for that no longer than told. Whether it
    /// is ours is settled before anything that may take long: who resumes finds it settled.
    pub(crate) fn suspend(&self, patience: Duration) {
        if self.0.hold.suspend() {
            let canvas = self.clone();
            let _ = terminal::within(patience, move || canvas.leave_between_frames());
        }
    }

    /// The process goes on. In the background it leaves the terminal alone.
    pub(crate) fn resume(&self) {
        // A terminal that takes nothing is still being given back.
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

    /// A frame that is being drawn comes first, unless the terminal takes nothing any more.
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

    /// Closes without waiting for anything.
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

/// Forgets what is on the screen. `Terminal::clear` would ask the terminal where its cursor is, and wait for the answer
/// among the keys.
fn cleared(screen: &mut FullScreenTerminal) -> io::Result<()> {
    let area = screen.size()?.into();
    screen.resize(area)
}

/// A process in the background that touches the terminal is stopped.
fn has_the_terminal() -> bool {
    tcgetpgrp(io::stdout()).is_ok_and(|group| group == getpgrp())
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, Print(MOUSE_ON), Hide)
}

/// The modes first: they are what a shell cannot do without, and setting them waits for nobody.
fn leave() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), Print(MOUSE_OFF), Show, LeaveAlternateScreen);
}
