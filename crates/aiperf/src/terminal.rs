//! Writes to the terminal, or to whatever stands in its place. A reader that went away, a full disk or a pipe that
//! nobody empties decides nothing about the program: what cannot be written is lost, and nobody waits for it who has
//! something else to do.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// Writes to stdout; why not, where it cannot be written. A reader that has seen enough is no failure.
pub(crate) fn try_print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes to stdout what is also written elsewhere, or of no use to anybody who does not see it.
pub(crate) fn print(text: &str) {
    let _ = try_print(text);
}

/// How long somebody may take to read what is said by a program that has nothing else to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// Writes to stderr, in one piece. Where nobody reads it, it waits for a second, once.
pub(crate) fn complain(text: &str) {
    static IS_READ: AtomicBool = AtomicBool::new(true);
    if IS_READ.load(Relaxed) {
        let text = text.to_owned();
        let write = move || drop(std::io::stderr().write_all(text.as_bytes()));
        IS_READ.store(within(PATIENCE, write), Relaxed);
    }
}

/// The terminal that knows no more than lines of text.
const DUMB: &str = "dumb";

/// Whether stderr is a terminal whose owner wants colours.
pub(crate) fn stderr_has_colours() -> bool {
    std::io::stderr().is_terminal() && wants_colours(variable)
}

/// Whether stdout is a terminal whose owner wants colours.
pub(crate) fn stdout_has_colours() -> bool {
    std::io::stdout().is_terminal() && wants_colours(variable)
}

/// What the environment says of colours.
pub(crate) fn wants_colours(variable: impl Fn(&str) -> Option<String>) -> bool {
    variable("NO_COLOR").is_none_or(|value| value.is_empty()) && variable("TERM").is_none_or(|name| name != DUMB)
}

/// Whether the terminal says that it knows no more than lines of text: no colours, and nothing that is drawn over.
pub(crate) fn is_dumb() -> bool {
    variable("TERM").is_some_and(|name| name == DUMB)
}

/// A variable of the environment, whatever bytes it is made of.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Does something that may be held up for ever, on a thread of its own, and waits for it for a while; whether it was
/// done. Where there can be no more threads, it is done here: a message about that should be seen.
pub(crate) fn within(patience: Duration, work: impl FnOnce() + Send + 'static) -> bool {
    within_by(patience, work, |work| std::thread::Builder::new().name("aiperf-write".into()).spawn(work).map(drop))
}

type Work = Box<dyn FnOnce() + Send>;

fn within_by(
    patience: Duration,
    work: impl FnOnce() + Send + 'static,
    start: impl FnOnce(Work) -> std::io::Result<()>,
) -> bool {
    let (done, is_done) = mpsc::channel();
    let shared = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let of_thread = shared.clone();
    let started = start(Box::new(move || {
        if let Some(work) = take(&of_thread) {
            work();
        }
        let _ = done.send(());
    }));
    match started {
        Ok(()) => is_done.recv_timeout(patience).is_ok(),
        Err(_) => {
            if let Some(work) = take(&shared) {
                work();
            }
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gets_no_thread_is_done_here() {
        let is_done = Arc::new(AtomicBool::new(false));
        let mark = |done: &Arc<AtomicBool>| {
            let done = done.clone();
            move || done.store(true, Relaxed)
        };
        let no_thread = |_| Err(std::io::ErrorKind::WouldBlock.into());
        assert!(within_by(Duration::ZERO, mark(&is_done), no_thread) && is_done.swap(false, Relaxed));
        assert!(within(Duration::from_secs(600), mark(&is_done)) && is_done.load(Relaxed));
    }
}
