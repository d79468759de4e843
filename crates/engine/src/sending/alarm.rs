//! A panic on a worker, which ends the run.

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Reports a panic. The runtime catches the panic of a task, and the schedule would wait for ever for the request of
/// that task.
#[derive(Clone)]
pub(crate) struct Alarm(UnboundedSender<()>);

impl Alarm {
    /// An alarm, and the receiver that learns when it is raised.
    pub(crate) fn new() -> (Self, UnboundedReceiver<()>) {
        let (sender, receiver) = unbounded_channel();
        (Self(sender), receiver)
    }

    pub(crate) fn raise(&self) {
        let _ = self.0.send(());
    }
}
