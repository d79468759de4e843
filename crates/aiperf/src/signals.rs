//! Ctrl-C and SIGTERM: the first ends the run and writes everything, the second leaves at once.

use aiperf_campaign::Stop;
use aiperf_report::{Page, cancelling_panel, force_quit_panel};
use nix::sys::signal::{SigSet, Signal};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Which signal ended the run, if one did.
#[derive(Clone, Default)]
pub(crate) struct Signals(Arc<AtomicI32>);

impl Signals {
    /// Takes SIGINT and SIGTERM for the whole process. Threads started afterwards leave them alone.
    pub(crate) fn watch(stop: Stop) -> Self {
        let signals = Self::default();
        let mut set = SigSet::empty();
        set.add(Signal::SIGINT);
        set.add(Signal::SIGTERM);
        if set.thread_block().is_err() {
            return signals;
        }
        let seen = signals.0.clone();
        // The thread sleeps in the kernel until a signal comes, and ends with the process.
        let _ = std::thread::Builder::new().name("aiperf-signals".into()).spawn(move || {
            while let Ok(signal) = set.wait() {
                if seen.swap(signal as i32, Ordering::AcqRel) != 0 {
                    eprint!("{}", force_quit_panel(page()));
                    std::process::exit(128 + signal as i32);
                }
                eprint!("{}", cancelling_panel(page()));
                stop.stop();
            }
        });
        signals
    }

    /// The number of the signal that ended the run.
    pub(crate) fn number(&self) -> Option<u8> {
        u8::try_from(self.0.load(Ordering::Acquire)).ok().filter(|&number| number != 0)
    }
}

fn page() -> Page {
    Page::plain(80).with_colours(true)
}
