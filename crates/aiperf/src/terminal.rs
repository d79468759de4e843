//! Writes to the terminal, or to what replaces it. A closed pipe, a full disk or a reader that does not read never
//! changes what the program does: text that cannot be written is lost, and no thread with other work waits for it.

use aiperf_report::Page;
use console::Term;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

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

/// The same, but it waits for the reader no longer than [`PATIENCE`].
pub(crate) fn print_patiently(text: String) {
    let _ = write_within(PATIENCE, move || print(&text), std::io::stdout());
}

/// How long a write may wait for a reader when the program has nothing else to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// How long a write may take although its reader reads: a busy machine may not run the writing thread for seconds.
const LONGEST_WRITE: Duration = Duration::from_secs(60);

/// Writes to stderr in one write. Without a reader it waits for a second, once.
pub(crate) fn complain(text: &str) {
    static IS_READ: AtomicBool = AtomicBool::new(true);
    if IS_READ.load(Relaxed) {
        IS_READ.store(complain_within(PATIENCE, text), Relaxed);
    }
}

/// Writes to stderr in one write, and waits for a reader no longer than `patience`; returns whether it was written.
pub(crate) fn complain_within(patience: Duration, text: &str) -> bool {
    let text = text.to_owned();
    write_within(patience, move || drop(std::io::stderr().write_all(text.as_bytes())), std::io::stderr())
}

/// Whether a write to `to` would not block now. A closed reader does not block a write either.
fn accepts_text(to: impl AsFd) -> bool {
    poll(&mut [PollFd::new(to.as_fd(), PollFlags::POLLOUT)], PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
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

/// The page of stdout if it is no terminal: `page`, with the width that `COLUMNS` asks for if that of `page` is the
/// default.
pub(crate) fn piped_page(page: Page) -> Page {
    asked_columns(variable).filter(|_| page == Page::file()).map_or(page, Page::plain)
}

fn asked_columns(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    variable("COLUMNS")?.parse().ok().filter(|columns| PIPED_COLUMNS.contains(columns))
}

/// Widths that `COLUMNS` may ask for: those of AIPERF_UI_CONSOLE_EXPORT_WIDTH.
const PIPED_COLUMNS: std::ops::RangeInclusive<usize> = 40..=10_000;

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
    wait_for(&begin(work, on_a_thread), patience)
}

/// The same for a write to `to`. While `to` accepts text, only the lack of a core delays the write: it waits longer then.
fn write_within(patience: Duration, write: impl FnOnce() + Send + 'static, to: impl AsFd) -> bool {
    wait_while(&begin(write, on_a_thread), patience, || accepts_text(&to))
}

type Work = Box<dyn FnOnce() + Send>;

fn on_a_thread(work: Work) -> std::io::Result<()> {
    std::thread::Builder::new().name("aiperf-write".into()).spawn(work).map(drop)
}

/// Starts `work`; the channel reports its end.
fn begin<W: FnOnce() + Send + 'static>(work: W, start: impl FnOnce(Work) -> std::io::Result<()>) -> mpsc::Receiver<()> {
    let (done, is_done) = mpsc::channel();
    let shared = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<W>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (of_thread, done_by_thread) = (shared.clone(), done.clone());
    let started = start(Box::new(move || {
        if let Some(work) = take(&of_thread) {
            work();
        }
        let _ = done_by_thread.send(());
    }));
    if started.is_err() {
        if let Some(work) = take(&shared) {
            work();
        }
        let _ = done.send(());
    }
    is_done
}

fn wait_for(is_done: &mpsc::Receiver<()>, patience: Duration) -> bool {
    is_done.recv_timeout(patience).is_ok()
}

fn wait_while(is_done: &mpsc::Receiver<()>, patience: Duration, accepts: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if wait_for(is_done, patience) {
            return true;
        }
        if begun.elapsed() > LONGEST_WRITE || !accepts() {
            // The write may have ended since the wait did.
            return is_done.try_recv().is_ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mark, and the work that sets it.
    fn mark() -> (Arc<AtomicBool>, impl FnOnce() + Send + 'static) {
        let is_done = Arc::new(AtomicBool::new(false));
        let of_work = is_done.clone();
        (is_done, move || of_work.store(true, Relaxed))
    }

    #[test]
    fn without_a_thread_the_work_runs_here() {
        let (is_done, work) = mark();
        assert!(wait_for(&begin(work, |_| Err(std::io::ErrorKind::WouldBlock.into())), Duration::ZERO));
        assert!(is_done.load(Relaxed));
        let (is_done, work) = mark();
        assert!(within(Duration::from_secs(600), work) && is_done.load(Relaxed));
    }

    #[test]
    fn a_write_that_has_no_core_is_waited_for_while_its_reader_reads() {
        let late = |work: Work| {
            on_a_thread(Box::new(|| {
                std::thread::sleep(Duration::from_millis(200));
                work();
            }))
        };
        let (is_done, work) = mark();
        assert!(wait_while(&begin(work, late), Duration::from_millis(1), || true) && is_done.load(Relaxed));
        let (is_done, work) = mark();
        assert!(!wait_while(&begin(work, late), Duration::from_millis(1), || false) && !is_done.load(Relaxed));
    }

    #[test]
    fn columns_are_a_width_if_a_page_can_have_it() {
        let of = |text: &str| asked_columns(|_| Some(text.to_owned()));
        assert_eq!((of("100"), of("39"), of("0"), of("wide"), of("")), (Some(100), None, None, None, None));
        assert_eq!(asked_columns(|_| None), None);
        assert_eq!(piped_page(Page::plain(77)), Page::plain(77), "a width that was set elsewhere");
    }

    #[test]
    fn only_a_full_pipe_accepts_no_text() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        assert!(accepts_text(&writer));
        nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK)).unwrap();
        while writer.write(&[0; 4096]).is_ok() {}
        assert!(!accepts_text(&writer));
        drop(reader);
        assert!(accepts_text(&writer), "a write to it fails at once");
    }
}
