//! Writes to the terminal, or to what replaces it. A closed pipe, a full disk or a reader that does not read never
//! changes what the program does: text that cannot be written is lost, and no thread with other work waits for it.

use aiperf_report::Page;
use console::Term;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// Writes to stdout; returns an error if that fails. A reader that closed the pipe is not an error.
pub(crate) fn try_print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes text to stdout that is also written elsewhere, or is useless if it is not seen.
pub(crate) fn print(text: &str) {
    let _ = try_print(text);
}

/// How long a write may wait for a reader when the program has nothing else to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// Writes to stderr in one write. Without a reader it waits for a second, once.
pub(crate) fn complain(text: &str) {
    static IS_READ: AtomicBool = AtomicBool::new(true);
    if IS_READ.load(Relaxed) {
        let text = text.to_owned();
        let write = move || drop(std::io::stderr().write_all(text.as_bytes()));
        IS_READ.store(within(PATIENCE, write), Relaxed);
    }
}

/// The terminal type that supports only lines of text.
const DUMB: &str = "dumb";

/// Whether stderr is a terminal with colours enabled.
pub(crate) fn stderr_has_colours() -> bool {
    std::io::stderr().is_terminal() && wants_colours(variable)
}

/// Whether stdout is a terminal with colours enabled.
pub(crate) fn stdout_has_colours() -> bool {
    std::io::stdout().is_terminal() && wants_colours(variable)
}

/// The width of stderr, if it is a terminal.
pub(crate) fn stderr_columns() -> Option<usize> {
    columns(&Term::stderr())
}

/// The width of stdout, if it is a terminal.
pub(crate) fn stdout_columns() -> Option<usize> {
    columns(&Term::stdout())
}

fn columns(terminal: &Term) -> Option<usize> {
    terminal.size_checked().map(|(_, columns)| usize::from(columns))
}

/// The page of stdout, if it is a terminal.
pub(crate) fn stdout_page() -> Option<Page> {
    stdout_columns().map(|columns| Page::screen(columns).with_colours(stdout_has_colours()))
}

/// Whether the environment allows colours.
pub(crate) fn wants_colours(variable: impl Fn(&str) -> Option<String>) -> bool {
    variable("NO_COLOR").is_none_or(|value| value.is_empty()) && variable("TERM").is_none_or(|name| name != DUMB)
}

/// Whether the terminal supports only lines of text: no colours, and no cursor movement.
pub(crate) fn is_dumb() -> bool {
    variable("TERM").is_some_and(|name| name == DUMB)
}

/// An environment variable; invalid UTF-8 is replaced.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Runs `work`, which may block forever, on its own thread, and waits for it for a while; returns whether it finished.
/// If no thread can start, it runs here, so that a message about that is seen.
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
    fn without_a_thread_the_work_runs_here() {
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
