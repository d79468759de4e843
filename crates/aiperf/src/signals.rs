//! Ctrl-C, SIGTERM and SIGHUP: the first ends the run and writes everything, the second leaves at once. Ctrl-Z: the
//! terminal is given back while the process is stopped.

use crate::dashboard::Canvas;
use crate::exit::Exit;
use crate::new_file::discard_parts;
use crate::progress::Bar;
use crate::terminal;
use aiperf_campaign::Stop;
use aiperf_report::{Page, cancelling_panel, discard_temporaries, force_quit_panel};
use nix::sys::signal::{SigSet, Signal, raise};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What ends a run.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
/// What stops the process until it is told to go on.
const STOPPING: Signal = Signal::SIGTSTP;
/// Columns of a panel, where there are so many.
const WIDEST_PANEL: usize = 80;
/// How long the last words may take when somebody wants the program gone.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// SIGTERM or SIGHUP that comes again so soon is the same wish: `timeout` tells the process and then its group, and of a
/// terminal that closes both the kernel and the shell tell. Ctrl-C is a hand's, and pressed twice it means it.
const ONE_WISH: Duration = Duration::from_secs(1);

/// The wish to end a run, and which signal it came from.
#[derive(Clone, Default)]
pub(crate) struct Signals {
    state: Arc<State>,
    stop: Stop,
}

#[derive(Default)]
struct State {
    first: AtomicI32,
    /// How the command ends, once everything is written: there is nothing to wait for any more.
    end: OnceLock<Exit>,
    on_screen: OnceLock<OnScreen>,
}

/// What stands where the panel about a cancelled run goes.
#[derive(Clone)]
pub(crate) enum OnScreen {
    Bar(Bar),
    Dashboard(Canvas),
}

impl OnScreen {
    fn clear(&self) {
        match self {
            Self::Bar(bar) => bar.clear(),
            Self::Dashboard(canvas) => canvas.close(),
        }
    }

    /// For as long as the process is stopped.
    fn suspend(&self) {
        if let Self::Dashboard(canvas) = self {
            canvas.suspend(LAST_WORDS);
        }
    }

    fn resume(&self) {
        if let Self::Dashboard(canvas) = self {
            canvas.resume();
        }
    }
}

impl State {
    /// Does something to what stands on the screen, and waits for it no longer than last words may take.
    fn with_screen(&self, act: fn(&OnScreen)) {
        if let Some(on_screen) = self.on_screen.get().cloned() {
            let _ = terminal::within(LAST_WORDS, move || act(&on_screen));
        }
    }

    /// Stops the process, as the terminal does at Ctrl-Z, with a screen that a shell can go on with.
    fn suspend(&self) {
        if let Some(on_screen) = self.on_screen.get() {
            on_screen.suspend();
        }
        let stopping = SigSet::from(STOPPING);
        // Back from here is when somebody lets the process go on.
        let _ = stopping.thread_unblock().and_then(|()| raise(STOPPING)).and_then(|()| stopping.thread_block());
        self.with_screen(OnScreen::resume);
    }
}

impl Signals {
    /// Takes the signals that end a run for the whole process. Threads started afterwards leave them alone, so this
    /// comes before any of them. What the parent chose to ignore stays ignored: `nohup`, or a shell that runs it in the
    /// background.
    pub(crate) fn watch() -> Self {
        let signals = Self::default();
        let Some(watched) = take(&[&ENDING[..], &[STOPPING]].concat()) else { return signals };
        let Self { state, stop } = signals.clone();
        // The thread sleeps in the kernel until a signal comes, and ends with the process.
        let started = std::thread::Builder::new().name("aiperf-signals".into()).spawn(move || {
            let mut wished: Option<(Signal, Instant)> = None;
            while let Ok(signal) = watched.wait() {
                if signal == STOPPING {
                    state.suspend();
                    continue;
                }
                let is_told_again = |(last, at): (Signal, Instant)| last == signal && at.elapsed() < ONE_WISH;
                if signal != Signal::SIGINT && wished.is_some_and(is_told_again) {
                    continue;
                }
                wished = Some((signal, Instant::now()));
                let is_first = state.first.swap(signal as i32, Ordering::AcqRel) == 0;
                if let Some(end) = state.end.get().filter(|_| is_first) {
                    // The report may be held up by a pipe. The exit code is that of the files all the same.
                    std::thread::sleep(terminal::PATIENCE);
                    discard_unfinished();
                    std::process::exit(i32::from(end.code()));
                }
                if !is_first {
                    state.with_screen(OnScreen::clear);
                    let _ = terminal::within(LAST_WORDS, || terminal::complain(&force_quit_panel(page())));
                    discard_unfinished();
                    std::process::exit(128 + signal as i32);
                }
                // What is going to happen is said before it happens, in the place of the bar. Nobody may read it: the
                // run ends and the next signal counts all the same.
                state.with_screen(OnScreen::clear);
                let _ = terminal::within(LAST_WORDS, || terminal::complain(&cancelling_panel(page())));
                stop.stop();
            }
        });
        if started.is_err() {
            // Without a thread that waits for them, signals do what they do to any process.
            let _ = watched.thread_unblock();
        }
        signals
    }

    /// What a run is stopped by.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// The first signal takes this away: how far a run is that ends means nothing.
    pub(crate) fn take_away(&self, on_screen: OnScreen) {
        let _ = self.state.on_screen.set(on_screen);
    }

    /// The number of the signal that ended the run.
    pub(crate) fn number(&self) -> Option<u8> {
        u8::try_from(self.state.first.load(Ordering::Acquire)).ok().filter(|&number| number != 0)
    }

    /// All results are written, and this is how the command ends: from now on the first signal ends the process.
    pub(crate) fn run_is_over(&self, end: Exit) {
        let _ = self.state.end.set(end);
    }
}

/// The first signal ends the process, with something done before: for commands that have no results to save. To be
/// called before any thread is started.
pub(crate) fn leave_at_once(first: impl FnOnce() + Send + 'static) {
    let Some(watched) = take(&ENDING) else { return };
    let started = std::thread::Builder::new().name("aiperf-signals".into()).spawn(move || {
        if let Ok(signal) = watched.wait() {
            first();
            std::process::exit(128 + signal as i32);
        }
    });
    if started.is_err() {
        let _ = watched.thread_unblock();
    }
}

/// Removes files that are not whole. One that is being written holds this up no longer than the system takes for one
/// call.
fn discard_unfinished() {
    let _ = terminal::within(LAST_WORDS, || {
        discard_temporaries();
        discard_parts();
    });
}

/// Keeps signals from this thread and those that it starts, for one that waits for them.
fn take(signals: &[Signal]) -> Option<SigSet> {
    let ignored = ignored();
    let watched: SigSet = signals.iter().copied().filter(|signal| ignored & bit(*signal) == 0).collect();
    // A file that may not grow any further (ulimit -f) is an error of that file, not the end of the process.
    let blocked: SigSet = watched.iter().chain([Signal::SIGXFSZ]).collect();
    blocked.thread_block().is_ok().then_some(watched)
}

fn bit(signal: Signal) -> u64 {
    1 << (signal as i32 - 1)
}

/// The signals that this process ignores, a bit each; none where the kernel does not say.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn page() -> Page {
    let columns = console::Term::stderr().size_checked().map_or(WIDEST_PANEL, |(_, columns)| usize::from(columns));
    Page::plain(columns.min(WIDEST_PANEL)).with_colours(terminal::stderr_has_colours())
}
