//! What is done around phases, by a thread of its own: a phase starts only when what comes before it is done.

use aiperf_schedule::Event;
use aiperf_types::{PhaseId, PhaseIndex};
use std::cell::RefCell;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Something to do around phases.
pub trait PhaseHooks: Send {
    /// Before a phase starts; the reason why it cannot ends the run.
    fn before(&mut self, phase: &PhaseId) -> Result<(), String>;
    /// After its last request.
    fn after(&mut self, phase: &PhaseId);
}

enum Call {
    Before(Arc<PhaseId>),
    After(Arc<PhaseId>),
}

/// The conductor's end of the thread that calls.
pub(crate) struct HookCalls {
    calls: Sender<Call>,
    answers: RefCell<UnboundedReceiver<Event>>,
}

impl HookCalls {
    pub(crate) fn before(&self, phase: &Arc<PhaseId>) {
        let _ = self.calls.send(Call::Before(phase.clone()));
    }

    pub(crate) fn after(&self, phase: &Arc<PhaseId>) {
        let _ = self.calls.send(Call::After(phase.clone()));
    }

    /// What became of what was asked for.
    pub(crate) fn poll_answer(&self, cx: &mut Context<'_>) -> Poll<Event> {
        match self.answers.borrow_mut().poll_recv(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(event),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

/// The thread, and why it ended the run.
pub struct HookThread {
    thread: JoinHandle<()>,
    failure: Arc<OnceLock<String>>,
}

impl HookThread {
    /// Why a phase could not start, if one could not.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }

    /// Waits until all that was asked for is done.
    pub fn finish(self) {
        let _ = self.thread.join();
    }
}

/// Starts the thread. It ends when nobody can ask it any more.
pub(crate) fn start(hooks: Box<dyn PhaseHooks>) -> io::Result<(HookCalls, HookThread)> {
    let (calls, asked) = channel();
    let (answer, answers) = unbounded_channel();
    let failure = Arc::new(OnceLock::new());
    let told = failure.clone();
    let work = move || serve(hooks, &asked, &answer, &told);
    let thread = std::thread::Builder::new().name("aiperf-hooks".to_owned()).spawn(work)?;
    Ok((HookCalls { calls, answers: RefCell::new(answers) }, HookThread { thread, failure }))
}

fn serve(
    mut hooks: Box<dyn PhaseHooks>,
    asked: &Receiver<Call>,
    answer: &UnboundedSender<Event>,
    failure: &OnceLock<String>,
) {
    let mut due = None;
    while let Ok(call) = asked.recv() {
        match call {
            Call::After(phase) => {
                hooks.after(&phase);
                due = None;
            }
            Call::Before(phase) => {
                let event = match hooks.before(&phase) {
                    Ok(()) => {
                        let asked = PhaseIndex(phase.index);
                        due = Some(phase);
                        Event::HooksAnswered(asked)
                    }
                    Err(reason) => {
                        // What was done before it failed, it has undone.
                        due = None;
                        let _ = failure.set(reason);
                        Event::Stop
                    }
                };
                let _ = answer.send(event);
            }
        }
    }
    // The run was ended before its phase could start.
    if let Some(phase) = due {
        hooks.after(&phase);
    }
}
