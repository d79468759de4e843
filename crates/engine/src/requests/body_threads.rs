//! The threads that build bodies while a run is on: those that stay ahead of the draws, and the one for late bodies.

use crate::inbox::Inbox;
use crate::requests::Requests;
use crate::requests::ahead::{Ahead, BodyBuilder, LateBody};
use aiperf_dataset::courtesy;
use aiperf_transport::sys;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Sleeps of a thread that is as far ahead as it may be: each is twice as long as the one before.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);
const LONGEST_SLEEP: Duration = Duration::from_millis(8);
/// One building thread for so many cores: enough to feed the workers on the others.
const CORES_A_THREAD: usize = 4;

/// The threads that build bodies while a run is on. They end when this is dropped.
pub(crate) struct BodyThreads {
    requests: Arc<Requests>,
    threads: Vec<JoinHandle<()>>,
}

impl BodyThreads {
    /// `None` if every body is ready already.
    pub(crate) fn start(requests: &Arc<Requests>, cores: usize) -> io::Result<Option<Self>> {
        let Some(ahead) = requests.ahead() else { return Ok(None) };
        let asked = ahead.open();
        let mut started = Self { requests: requests.clone(), threads: Vec::new() };
        let late = requests.clone();
        started.spawn("aiperf-late".to_owned(), move || make_late(&late, &asked))?;
        for number in 0..(cores / CORES_A_THREAD).max(1) {
            let requests = requests.clone();
            started.spawn(format!("aiperf-ahead-{number}"), move || stay_ahead(&requests))?;
        }
        Ok(Some(started))
    }

    fn spawn(&mut self, name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(Builder::new().name(name).spawn(work)?);
        Ok(())
    }
}

impl Drop for BodyThreads {
    fn drop(&mut self) {
        self.requests.ahead().into_iter().for_each(Ahead::close);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn stay_ahead(requests: &Requests) {
    // If the kernel refuses, the thread stays at normal priority: reads are slower, the bodies are the same.
    let _ = sys::set_idle_priority();
    courtesy::give_way();
    let Some(ahead) = requests.ahead() else { return };
    let mut sleep = SHORTEST_SLEEP;
    while !ahead.is_closed() {
        if ahead.make_next(requests) {
            sleep = SHORTEST_SLEEP;
            std::thread::yield_now();
        } else {
            std::thread::sleep(sleep);
            sleep = (sleep * 2).min(LONGEST_SLEEP);
        }
    }
}

fn make_late(requests: &Requests, asked: &Inbox<Option<LateBody>>) {
    while let Some(Some(LateBody { draw, conversation, reply })) = asked.take() {
        // It may have become ready since.
        let ready = requests.ahead().and_then(|ahead| ahead.take(draw));
        // If the run was stopped, no request waits any more.
        if !reply.is_closed() {
            let _ = reply.send(ready.unwrap_or_else(|| requests.build(conversation).0));
        }
    }
}
