//! Where events come in and answers come from: what is known of the run, and the clients that are told of it.

use super::about::About;
use super::guard::Guard;
use super::live::Live;
use super::mailbox::Mailbox;
use super::messages::{self, Push, Pusher};
use super::outcome::Outcome;
use aiperf_plan::redact::Redactor;
use aiperf_report::RunIds;
use aiperf_types::{Nanos, RunEvent};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Shared by the thread that hears events and the one that answers. Neither measures anything, so they may wait for each
/// other.
pub(super) struct Hub {
    /// The run that is on, or was the last.
    about: Mutex<Arc<About>>,
    /// Runs that are about to begin.
    coming: Mutex<Vec<About>>,
    /// What the last run came to.
    outcome: Mutex<Outcome>,
    /// Where the files are.
    pub(super) directory: PathBuf,
    pub(super) guard: Guard,
    pub(super) most_websockets: usize,
    /// From the answer to a wish to stop until it stops.
    shutdown_delay: Duration,
    live: Mutex<Live>,
    pusher: Mutex<Pusher>,
    clients: Mutex<Vec<Arc<Mailbox>>>,
    /// Says that somebody wants the API to stop.
    wish: Mutex<Sender<()>>,
    started: Instant,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the user may set.
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
        wish: Sender<()>,
    ) -> Self {
        let live = Live::new(about.planned_phases, RunIds::new(&about.benchmark_id), redactor);
        Self {
            about: Mutex::new(Arc::new(about)),
            coming: Mutex::default(),
            outcome: Mutex::default(),
            directory,
            guard,
            most_websockets: settings.most_websockets,
            shutdown_delay: settings.shutdown_delay,
            live: Mutex::new(live),
            pusher: Mutex::default(),
            clients: Mutex::default(),
            wish: Mutex::new(wish),
            started: Instant::now(),
        }
    }

    /// Takes an event and tells the clients of it.
    pub(super) fn take(&self, event: &RunEvent) {
        let now = Nanos(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX));
        if let RunEvent::RunStarted(run) = event {
            self.begin(&run.benchmark_id);
        }
        let (about, mut live) = (self.about(), locked(&self.live));
        live.take(event, now);
        let pushes = locked(&self.pusher).about(event, &live, &about, &|kind| self.is_wanted(kind));
        drop(live);
        self.push(&pushes);
    }

    /// Another run will begin; whose events come from then on shows its start.
    pub(super) fn expect(&self, about: About) {
        if about.benchmark_id != self.about().benchmark_id {
            locked(&self.coming).push(about);
        }
    }

    /// A run is over and its files are written.
    pub(super) fn finished(&self, outcome: Outcome) {
        *locked(&self.outcome) = outcome;
    }

    /// Knows nothing yet of a run that was expected.
    fn begin(&self, benchmark_id: &str) {
        let mut coming = locked(&self.coming);
        let Some(at) = coming.iter().position(|about| about.benchmark_id == benchmark_id) else { return };
        let about = coming.swap_remove(at);
        locked(&self.live).begin(about.planned_phases, RunIds::new(&about.benchmark_id));
        *locked(&self.pusher) = Pusher::default();
        *locked(&self.about) = Arc::new(about);
    }

    /// The run that is on, or was the last.
    pub(super) fn about(&self) -> Arc<About> {
        locked(&self.about).clone()
    }

    /// All runs are over: clients get what the last one came to.
    pub(super) fn end(&self) {
        let mut live = locked(&self.live);
        live.end(std::mem::take(&mut *locked(&self.outcome)));
        let pushes = locked(&self.pusher).at_the_end(&live, &|kind| self.is_wanted(kind));
        drop(live);
        self.push(&pushes);
    }

    pub(super) fn heartbeat(&self) {
        self.push(&[messages::heartbeat()]);
    }

    /// Tells each client that wants it, by one text that all of them share.
    fn push(&self, pushes: &[Push]) {
        for push in pushes {
            let clients = locked(&self.clients);
            let wanted: Vec<&Arc<Mailbox>> = clients.iter().filter(|client| client.wants(push.kind)).collect();
            if !wanted.is_empty() {
                let text: Utf8Bytes = push.body.to_string().into();
                wanted.into_iter().for_each(|client| client.put(push, &text));
            }
        }
    }

    /// What is known at this moment.
    pub(super) fn live(&self) -> MutexGuard<'_, Live> {
        locked(&self.live)
    }

    fn is_wanted(&self, kind: &str) -> bool {
        locked(&self.clients).iter().any(|client| client.wants(kind))
    }

    /// A mailbox for one more client; `None` where there are as many as may be.
    pub(super) fn join(&self) -> Option<Arc<Mailbox>> {
        let mut clients = locked(&self.clients);
        (clients.len() < self.most_websockets).then(|| {
            let mailbox = Arc::new(Mailbox::default());
            clients.push(mailbox.clone());
            mailbox
        })
    }

    /// Whether every client got the last message of the run.
    pub(super) fn is_flushed(&self) -> bool {
        locked(&self.clients).iter().all(|client| client.is_flushed())
    }

    pub(super) fn leave(&self, mailbox: &Arc<Mailbox>) {
        locked(&self.clients).retain(|client| !Arc::ptr_eq(client, mailbox));
    }

    /// Somebody wants the API to stop: it does when the answer has had time to arrive.
    pub(super) fn wish_to_stop(&self) {
        let (wish, delay) = (locked(&self.wish).clone(), self.shutdown_delay);
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            let _ = wish.send(());
        });
    }
}
