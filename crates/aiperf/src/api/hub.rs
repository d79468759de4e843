//! The state of the run and the connected clients. Events come in here; responses and messages are made from here.

use super::about::About;
use super::final_results::FinalResults;
use super::guard::Guard;
use super::live::Live;
use super::mailbox::Mailbox;
use super::messages::{self, Push, Pusher};
use aiperf_plan::redact::Redactor;
use aiperf_report::RunIds;
use aiperf_types::{Nanos, RunEvent};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Shared by the thread that receives events and the one that responds. Neither measures anything, so they may wait for
/// each other. One lock guards all that changes. A mailbox has its own lock, which is only taken after this one.
pub(super) struct Hub {
    state: Mutex<State>,
    /// The artifact directory.
    pub(super) directory: PathBuf,
    pub(super) guard: Guard,
    pub(super) most_websockets: usize,
    /// Time from the response to a stop request until the API stops.
    shutdown_delay: Duration,
    /// Sends stop requests of clients to the main thread.
    stop_requests: Sender<()>,
    started: Instant,
}

/// The state of the run at this moment, and the clients that get messages about it.
pub(super) struct State {
    /// The current run, or the last one.
    pub(super) about: Arc<About>,
    /// Runs that have not started yet.
    coming: Vec<About>,
    pub(super) live: Live,
    /// The result of the last run.
    outcome: FinalResults,
    pusher: Pusher,
    clients: Vec<Arc<Mailbox>>,
}

/// What the user can set.
pub(super) struct Settings {
    pub(super) most_websockets: usize,
    pub(super) shutdown_delay: Duration,
}

impl Hub {
    pub(super) fn new(
        about: About,
        directory: PathBuf,
        guard: Guard,
        redactor: Arc<Redactor>,
        settings: &Settings,
        stop_requests: Sender<()>,
    ) -> Self {
        let live = Live::new(about.planned_phases, RunIds::new(&about.benchmark_id), redactor);
        let state = State {
            about: Arc::new(about),
            coming: Vec::new(),
            live,
            outcome: FinalResults::default(),
            pusher: Pusher::default(),
            clients: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
            directory,
            guard,
            most_websockets: settings.most_websockets,
            shutdown_delay: settings.shutdown_delay,
            stop_requests,
            started: Instant::now(),
        }
    }

    /// The state at this moment. Both threads wait while the caller holds it: drop it before the next call of the hub.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an event and sends messages about it to the clients.
    pub(super) fn take(&self, event: &RunEvent) {
        let now = Nanos(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX));
        self.state().take(event, now);
    }

    /// Registers a run that will start. Its start event switches to it.
    pub(super) fn expect(&self, about: About) {
        let mut state = self.state();
        if about.benchmark_id != state.about.benchmark_id {
            state.coming.push(about);
        }
    }

    /// A run is over, and its files are written.
    pub(super) fn finished(&self, outcome: FinalResults) {
        self.state().outcome = outcome;
    }

    /// All runs are over: clients get the result of the last one.
    pub(super) fn end(&self) {
        self.state().end();
    }

    /// The current run, or the last one.
    pub(super) fn about(&self) -> Arc<About> {
        self.state().about.clone()
    }

    pub(super) fn heartbeat(&self) {
        self.state().push(&[messages::heartbeat()]);
    }

    /// A mailbox for one more client; `None` if the limit is reached.
    pub(super) fn join(&self) -> Option<Arc<Mailbox>> {
        let mut state = self.state();
        (state.clients.len() < self.most_websockets).then(|| {
            let mailbox = Arc::new(Mailbox::default());
            state.clients.push(mailbox.clone());
            mailbox
        })
    }

    /// Whether every client got the last message of the run.
    pub(super) fn is_flushed(&self) -> bool {
        self.state().clients.iter().all(|client| client.is_flushed())
    }

    pub(super) fn leave(&self, mailbox: &Arc<Mailbox>) {
        self.state().clients.retain(|client| !Arc::ptr_eq(client, mailbox));
    }

    /// A client requests the API to stop. It stops after the response has had time to arrive.
    pub(super) fn request_stop(&self) {
        let (stop_requests, delay) = (self.stop_requests.clone(), self.shutdown_delay);
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            let _ = stop_requests.send(());
        });
    }
}

impl State {
    fn take(&mut self, event: &RunEvent, now: Nanos) {
        if let RunEvent::RunStarted(run) = event {
            self.begin(&run.benchmark_id);
        }
        let Self { about, live, pusher, clients, .. } = self;
        live.take(event, now);
        let pushes = pusher.about(event, live, about, &|kind| is_wanted(clients, kind));
        self.push(&pushes);
    }

    /// Switches to a registered run, of which nothing is known yet.
    fn begin(&mut self, benchmark_id: &str) {
        let Some(at) = self.coming.iter().position(|about| about.benchmark_id == benchmark_id) else { return };
        let about = self.coming.swap_remove(at);
        self.live.begin(about.planned_phases, RunIds::new(&about.benchmark_id));
        self.pusher = Pusher::default();
        self.about = Arc::new(about);
    }

    fn end(&mut self) {
        let Self { live, outcome, pusher, clients, .. } = self;
        live.end(std::mem::take(outcome));
        let pushes = pusher.at_the_end(live, &|kind| is_wanted(clients, kind));
        self.push(&pushes);
    }

    /// Sends messages to each client that subscribed to them; all of them share one text.
    fn push(&self, pushes: &[Push]) {
        for push in pushes {
            let wanted: Vec<&Arc<Mailbox>> = self.clients.iter().filter(|client| client.wants(push.kind)).collect();
            if !wanted.is_empty() {
                let text: Utf8Bytes = push.body.to_string().into();
                wanted.into_iter().for_each(|client| client.put(push, &text));
            }
        }
    }
}

fn is_wanted(clients: &[Arc<Mailbox>], kind: &str) -> bool {
    clients.iter().any(|client| client.wants(kind))
}
