//! Calls around phases, on their own thread: a phase starts only after the call before it has returned.

use aiperf_schedule::Event;
use aiperf_types::{PhaseId, PhaseIndex};
use std::cell::RefCell;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Calls around phases. Phases may overlap: `before` of one may come ahead of `after` of another.
pub trait PhaseHooks: Send {
    /// Called before a phase starts. An error is the reason why it cannot start, and ends the run.
    fn before(&mut self, phase: &PhaseId) -> Result<(), String>;
    /// Called after its last request.
    fn after(&mut self, phase: &PhaseId);
}

enum Call {
    Before(Arc<PhaseId>),
    After(Arc<PhaseId>),
}

/// The conductor's end of the hook thread.
pub(crate) struct HookCalls {
    calls: Sender<Call>,
    done_events: RefCell<UnboundedReceiver<Event>>,
}

impl HookCalls {
    pub(crate) fn before(&self, phase: &Arc<PhaseId>) {
        let _ = self.calls.send(Call::Before(phase.clone()));
    }

    pub(crate) fn after(&self, phase: &Arc<PhaseId>) {
        let _ = self.calls.send(Call::After(phase.clone()));
    }

    /// The results of earlier calls.
    pub(crate) fn poll_done(&self, cx: &mut Context<'_>) -> Poll<Event> {
        match self.done_events.borrow_mut().poll_recv(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(event),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

/// The hook thread, and why it ended the run.
pub struct HookThread {
    thread: JoinHandle<()>,
    failure: Arc<OnceLock<String>>,
}

impl HookThread {
    /// Why a phase could not start, if one could not.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }

    /// Waits until all calls have returned.
    pub fn finish(self) {
        let _ = self.thread.join();
    }
}

/// Starts the thread. It ends when all its callers are gone.
pub(crate) fn start(hooks: Box<dyn PhaseHooks>) -> io::Result<(HookCalls, HookThread)> {
    let (calls, asked) = channel();
    let (done, done_events) = unbounded_channel();
    let failure = Arc::new(OnceLock::new());
    let cause = failure.clone();
    let work = move || serve(hooks, &asked, &done, &cause);
    let thread = std::thread::Builder::new().name("aiperf-hooks".to_owned()).spawn(work)?;
    Ok((HookCalls { calls, done_events: RefCell::new(done_events) }, HookThread { thread, failure }))
}

fn serve(
    mut hooks: Box<dyn PhaseHooks>,
    asked: &Receiver<Call>,
    done: &UnboundedSender<Event>,
    failure: &OnceLock<String>,
) {
    // Phases whose `before` has returned and that are not over.
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
                        Event::HooksDone(asked)
                    }
                    Err(reason) => {
                        // A failed `before` has cleaned up after itself.
                        let _ = failure.set(reason);
                        Event::Stop
                    }
                };
                let _ = done.send(event);
            }
        }
    }
    // The run ended before these phases could start.
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

    /// The logged calls, and their results as events.
    fn done(ask: impl FnOnce(&HookCalls)) -> (Vec<String>, Vec<Event>) {
        let noted = Arc::default();
        let (calls, thread) = start(Box::new(Noted(Arc::clone(&noted)))).unwrap();
        ask(&calls);
        let HookCalls { calls, done_events } = calls;
        drop(calls);
        thread.finish();
        let mut done_events = done_events.into_inner();
        let done_events = std::iter::from_fn(|| done_events.try_recv().ok()).collect();
        (std::mem::take(&mut noted.lock().unwrap()), done_events)
    }

    #[test]
    fn a_phase_is_prepared_while_another_drains_and_each_is_cleaned_up_once() {
        let (one, two) = (phase(0, "one"), phase(1, "two"));
        let (noted, done_events) = done(|calls| {
            calls.before(&one);
            calls.before(&two);
            calls.after(&one);
        });
        assert_eq!(noted, ["before one", "before two", "after one", "after two"]);
        assert_eq!(done_events, [Event::HooksDone(PhaseIndex(0)), Event::HooksDone(PhaseIndex(1))]);
    }

    #[test]
    fn a_draining_phase_is_cleaned_up_if_the_next_one_cannot_start() {
        let (one, bad) = (phase(0, "one"), phase(1, "bad"));
        let (noted, done_events) = done(|calls| {
            calls.before(&one);
            calls.before(&bad);
        });
        assert_eq!(noted, ["before one", "before bad", "after one"]);
        assert_eq!(done_events, [Event::HooksDone(PhaseIndex(0)), Event::Stop]);
    }
}
