//! Ctrl-C, SIGTERM and other signals that ask to end: the first one stops the run and writes the results, the second one
//! exits immediately.
//! Ctrl-Z: the terminal is restored while the process is stopped.

use crate::dashboard::Canvas;
use crate::exit::Exit;
use crate::progress::Bar;
use crate::terminal;
use aiperf_campaign::Stop;
use aiperf_report::{Page, cancelling_panel, discard_temporaries, force_quit_panel};
use nix::sys::signal::{SigSet, Signal, raise};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Signals that end a run. Batch schedulers send SIGUSR1, SIGUSR2 or SIGXCPU some time before they kill a job.
const ENDING: [Signal; 7] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGXCPU,
];
/// The signal that stops the process until SIGCONT.
const STOPPING: Signal = Signal::SIGTSTP;
/// Maximum width of a panel.
const WIDEST_PANEL: usize = 80;
/// How long the last messages may take after a signal.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// The same signal within this time is the same stop request: `timeout` signals the process and then its group, and when
/// a terminal closes, both the kernel and the shell send SIGHUP. Ctrl-C has no such rule: a user who presses it twice
/// means it. SIGXCPU always is the same request: the kernel repeats it for every second of CPU time above the limit.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// The stop request of a run, and the signal that caused it.
#[derive(Clone, Default)]
pub(crate) struct Signals {
    state: Arc<State>,
    stop: Stop,
}

#[derive(Default)]
struct State {
    first: AtomicI32,
    /// The exit code, once everything is written. From then on there is nothing to wait for.
    end: OnceLock<Exit>,
    on_screen: OnceLock<OnScreen>,
}

/// What the panel about a cancelled run replaces on the screen.
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

    /// While the process is stopped.
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
    /// Changes the screen, and waits no longer than `LAST_WORDS` for it.
    fn with_screen(&self, act: fn(&OnScreen)) {
        if let Some(on_screen) = self.on_screen.get().cloned() {
            let _ = terminal::within(LAST_WORDS, move || act(&on_screen));
        }
    }

    /// Stops the process as the terminal does at Ctrl-Z, after the screen is restored for the shell.
    fn suspend(&self) {
        if let Some(on_screen) = self.on_screen.get() {
            on_screen.suspend();
        }
        let stopping = SigSet::from(STOPPING);
        // This returns when the process is continued.
        let _ = stopping.thread_unblock().and_then(|()| raise(STOPPING)).and_then(|()| stopping.thread_block());
        self.with_screen(OnScreen::resume);
    }
}

impl Signals {
    /// Handles the signals that end a run, for the whole process. Threads that start later block them, so call this
    /// before any thread starts. Signals that the parent ignores stay ignored: `nohup`, or a shell that runs the
    /// process in the background.
    pub(crate) fn watch() -> Self {
        let signals = Self::default();
        let Some(watched) = take(&[&ENDING[..], &[STOPPING]].concat()) else { return signals };
        let Self { state, stop } = signals.clone();
        // The thread sleeps in the kernel until a signal arrives, and ends with the process.
        let started = std::thread::Builder::new().name("aiperf-signals".into()).spawn(move || {
            let mut stopped_by: Option<(Signal, Instant)> = None;
            while let Ok(signal) = watched.wait() {
                if signal == STOPPING {
                    state.suspend();
                    continue;
                }
                let is_repeated = |(last, at): (Signal, Instant)| {
                    signal == Signal::SIGXCPU || (last == signal && at.elapsed() < ONE_REQUEST)
                };
                if signal != Signal::SIGINT && stopped_by.is_some_and(is_repeated) {
                    continue;
                }
                stopped_by = Some((signal, Instant::now()));
                let is_first = state.first.swap(signal as i32, Ordering::AcqRel) == 0;
                if let Some(end) = state.end.get().filter(|_| is_first) {
                    // A pipe may block the report. The exit code is still that of the files.
                    std::thread::sleep(terminal::PATIENCE);
                    discard_unfinished();
                    std::process::exit(i32::from(end.code()));
                }
                if !is_first {
                    state.with_screen(OnScreen::clear);
                    let _ = terminal::complain_within(LAST_WORDS, &force_quit_panel(page()));
                    discard_unfinished();
                    std::process::exit(128 + signal as i32);
                }
                // The panel is shown before the run stops, in place of the bar. A terminal that blocks does not matter:
                // the run stops and the next signal counts anyway.
                state.with_screen(OnScreen::clear);
                let _ = terminal::complain_within(LAST_WORDS, &cancelling_panel(page()));
                stop.stop();
            }
        });
        if started.is_err() {
            // Without a thread that waits for them, signals have their default effect.
            let _ = watched.thread_unblock();
        }
        signals
    }

    /// The stop request for a run.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Registers what the first signal removes from the screen: the progress of a run that stops is meaningless.
    pub(crate) fn take_away(&self, on_screen: OnScreen) {
        let _ = self.state.on_screen.set(on_screen);
    }

    /// The number of the signal that ended the run.
    pub(crate) fn number(&self) -> Option<u8> {
        u8::try_from(self.state.first.load(Ordering::Acquire)).ok().filter(|&number| number != 0)
    }

    /// All results are written, with this exit code. From now on the first signal exits.
    pub(crate) fn run_is_over(&self, end: Exit) {
        let _ = self.state.end.set(end);
    }
}

/// Makes the first signal exit, after `first` has run: for commands without results to save. Call this before any
/// thread starts.
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

/// Removes unfinished files. A file that is being written delays this by one system call at most.
fn discard_unfinished() {
    let _ = terminal::within(LAST_WORDS, discard_temporaries);
}

/// Blocks signals in this thread and those it starts, so that one thread can wait for them.
fn take(signals: &[Signal]) -> Option<SigSet> {
    let ignored = ignored();
    let watched: SigSet = signals.iter().copied().filter(|signal| ignored & bit(*signal) == 0).collect();
    // A file at its size limit (ulimit -f) is an error of that file, not the end of the process.
    let blocked: SigSet = watched.iter().chain([Signal::SIGXFSZ]).collect();
    blocked.thread_block().is_ok().then_some(watched)
}

fn bit(signal: Signal) -> u64 {
    1 << (signal as i32 - 1)
}

/// The signals that this process ignores, one bit each; 0 if the kernel does not report them.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn page() -> Page {
    let columns = terminal::stderr_columns().map_or(WIDEST_PANEL, |columns| columns.min(WIDEST_PANEL));
    Page::plain(columns).with_colours(terminal::stderr_has_colours())
}
