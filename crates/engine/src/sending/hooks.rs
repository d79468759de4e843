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

/// Something to do around phases. They may overlap: one may be asked for before another is over.
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
    // Phases that were made ready and are not over.
    let mut due: Vec<Arc<PhaseId>> = Vec::new();
    while let Ok(call) = asked.recv() {
        match call {
            Call::After(phase) => {
                hooks.after(&phase);
                due.retain(|other| other.index != phase.index);
            }
            Call::Before(phase) => {
                let event = match hooks.before(&phase) {
                    Ok(()) => {
                        let asked = PhaseIndex(phase.index);
                        due.push(phase);
                        Event::HooksAnswered(asked)
                    }
                    Err(reason) => {
                        // What was done before it failed, it has undone.
                        let _ = failure.set(reason);
                        Event::Stop
                    }
                };
                let _ = answer.send(event);
            }
        }
    }
    // The run was ended before their phases could start.
    due.iter().for_each(|phase| hooks.after(phase));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noted;
    use aiperf_types::PhaseKind;

    fn phase(index: u16, name: &str) -> Arc<PhaseId> {
        Arc::new(PhaseId { index, profiling_index: None, name: name.into(), kind: PhaseKind::Profiling })
    }

    /// What was done when these were asked for, and the answers.
    fn done(ask: impl FnOnce(&HookCalls)) -> (Vec<String>, Vec<Event>) {
        let noted = Arc::default();
        let (calls, thread) = start(Box::new(Noted(Arc::clone(&noted)))).unwrap();
        ask(&calls);
        let HookCalls { calls, answers } = calls;
        drop(calls);
        thread.finish();
        let mut answers = answers.into_inner();
        let answers = std::iter::from_fn(|| answers.try_recv().ok()).collect();
        (std::mem::take(&mut noted.lock().unwrap()), answers)
    }

    #[test]
    fn a_phase_is_made_ready_while_another_drains_and_each_is_tidied_up_once() {
        let (one, two) = (phase(0, "one"), phase(1, "two"));
        let (noted, answers) = done(|calls| {
            calls.before(&one);
            calls.before(&two);
            calls.after(&one);
        });
        assert_eq!(noted, ["before one", "before two", "after one", "after two"]);
        assert_eq!(answers, [Event::HooksAnswered(PhaseIndex(0)), Event::HooksAnswered(PhaseIndex(1))]);
    }

    #[test]
    fn a_phase_that_cannot_start_leaves_the_one_that_drains_to_be_tidied_up() {
        let (one, bad) = (phase(0, "one"), phase(1, "bad"));
        let (noted, answers) = done(|calls| {
            calls.before(&one);
            calls.before(&bad);
        });
        assert_eq!(noted, ["before one", "before bad", "after one"]);
        assert_eq!(answers, [Event::HooksAnswered(PhaseIndex(0)), Event::Stop]);
    }
}
