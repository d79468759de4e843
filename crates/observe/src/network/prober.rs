//! The probing of a run: it is started, follows the phases, and is waited for.

use super::probing;
use super::setup::{Command, ProbeSetup, Probed};
use aiperf_types::RunEvent;
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// How often the end of the thread is checked.
const LOOK_WHETHER_FINISHED: Duration = Duration::from_millis(1);

/// Probing while it is on.
pub struct Prober {
    commands: Commands,
    thread: JoinHandle<io::Result<Probed>>,
}

/// The channel to the thread. When it is dropped, the thread ends.
struct Commands(UnboundedSender<Command>);

impl Drop for Commands {
    fn drop(&mut self) {
        // The run's event listeners hold an end of the channel, so the thread would not notice that this one is gone.
        let _ = self.0.send(Command::Stop);
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum ProbeThreadError {
    #[error("servers could not be probed: {0}")]
    Failed(#[from] io::Error),
    #[error("its thread ended unexpectedly")]
    Panicked,
}

impl Prober {
    /// Starts the thread. It probes no server before a phase has started.
    pub fn start(setup: ProbeSetup) -> io::Result<Self> {
        let (commands, obeyed) = unbounded_channel();
        let commands = Commands(commands);
        let thread =
            std::thread::Builder::new().name("aiperf-probe".to_owned()).spawn(move || probing::run(setup, obeyed))?;
        Ok(Self { commands, thread })
    }

    /// The receiver of the run's events.
    pub fn listener(&self) -> impl Fn(&RunEvent) + Send + Sync + use<> {
        let commands = self.commands.0.clone();
        move |event| {
            let command = match event {
                RunEvent::PhaseStarted(_) => Command::PhaseStarted,
                RunEvent::RequestsDone(_) => Command::PhaseDone,
                _ => return,
            };
            // The thread is gone once probing has ended.
            let _ = commands.send(command);
        }
    }

    /// Makes up for missing samples, and returns everything. After a stop request it probes no server.
    pub fn finish(self, is_stopped: impl Fn() -> bool) -> Result<Probed, ProbeThreadError> {
        let Self { commands, thread } = self;
        let _ = commands.0.send(if is_stopped() { Command::Stop } else { Command::Finish });
        while !thread.is_finished() {
            if is_stopped() {
                let _ = commands.0.send(Command::Stop);
            }
            std::thread::sleep(LOOK_WHETHER_FINISHED);
        }
        Ok(thread.join().map_err(|_| ProbeThreadError::Panicked)??)
    }
}
