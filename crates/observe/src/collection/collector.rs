//! Collection as a run holds it: started, told of phases, waited for.

use super::calls::OriginOf;
use super::keeper::{Keeper, Kept, Message, Verdict};
use super::reading::{EncodeLine, Reading};
use super::scraper::{self, Command, Scraped};
use crate::discovery::Cluster;
use crate::results::ScrapeError;
use crate::store::Store;
use crate::summarise::ObservedEndpoint;
use aiperf_plan::ServerMetricsPlan;
use aiperf_plan::redact::Redactor;
use aiperf_transport::Fetcher;
use aiperf_types::{LogLevel, RunEvent, WallAnchor};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// How often a wait looks whether somebody wants to stop.
const LOOK_WHETHER_STOPPED: Duration = Duration::from_millis(20);

/// How often the end of the threads is looked for.
const LOOK_WHETHER_FINISHED: Duration = Duration::from_millis(1);

/// Whom collection tells what happens.
pub trait Announce: Send + Sync {
    /// Says something to people.
    fn say(&self, level: LogLevel, text: String);
    fn emit(&self, event: RunEvent);
}

/// What collection needs.
pub struct Setup {
    pub plan: ServerMetricsPlan,
    /// The run's own.
    pub anchor: WallAnchor,
    pub fetcher: Fetcher,
    pub origin: OriginOf,
    pub announce: Arc<dyn Announce>,
    /// What nobody may read, whoever says it.
    pub redactor: Arc<Redactor>,
    /// The cluster that the program runs in.
    pub cluster: Option<Cluster>,
    /// Makes the lines that [`Collector::write_to`] writes; `None`: none are written.
    pub encode: Option<EncodeLine>,
}

/// Collection while it is on.
pub struct Collector {
    channels: Channels,
    scraping: JoinHandle<io::Result<Scraped>>,
    keeping: JoinHandle<Kept>,
    plan: ServerMetricsPlan,
}

/// What the threads hear. When this goes, they end.
struct Channels {
    commands: UnboundedSender<Command>,
    messages: Sender<Message>,
}

impl Drop for Channels {
    fn drop(&mut self) {
        // They hold ends of each other's channels, so that nobody would notice that this one is gone.
        let _ = self.commands.send(Command::Stop);
        let _ = self.messages.send(Message::Finish);
    }
}

/// Why what was collected is not there.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error("pages could not be fetched: {0}")]
    Fetching(#[from] io::Error),
    #[error("a thread of it ended unexpectedly")]
    Panicked,
    #[error("what was fetched was not read within {} s", .0.as_secs_f64())]
    TooSlow(Duration),
}

/// All that was collected.
#[derive(Debug)]
pub struct Collected {
    pub store: Store,
    /// URLs as they may be shown, in the order in which they were found.
    pub configured: Vec<Arc<str>>,
    /// Those of them that answered.
    pub successful: Vec<Arc<str>>,
    pub endpoints: Vec<ObservedEndpoint>,
    pub errors: Vec<ScrapeError>,
    /// Why the file of scrapes is not whole.
    pub file_failure: Option<io::Error>,
}

impl Collector {
    /// Starts to look who answers.
    pub fn start(setup: Setup) -> io::Result<Self> {
        let (commands, obeyed) = unbounded_channel();
        let (messages, inbox) = mpsc::channel();
        let plan = setup.plan.clone();
        let to_scraper = commands.clone();
        let keeper = Keeper {
            inbox,
            results: messages.clone(),
            verdicts: Box::new(move |verdict: Verdict| {
                let _ = to_scraper.send(Command::Verdict(verdict));
            }),
            announce: setup.announce.clone(),
            reading: Reading { encode: setup.encode, redactor: setup.redactor.clone() },
            publish_every: plan.publish_interval,
        };
        let to_keeper = messages.clone();
        let channels = Channels { commands, messages };
        let spawn = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let keeping = spawn("aiperf-series").spawn(move || keeper.run())?;
        let scraping = spawn("aiperf-scrape").spawn(move || scraper::run(setup, to_keeper, obeyed))?;
        Ok(Self { channels, scraping, keeping, plan })
    }

    /// Has every scrape written as a line, those before included.
    pub fn write_to(&self, file: Box<dyn Write + Send>) {
        let _ = self.channels.messages.send(Message::WriteTo(file));
    }

    /// What takes the run's events.
    pub fn listener(&self) -> impl Fn(&RunEvent) + Send + Sync + use<> {
        let commands = self.channels.commands.clone();
        move |event| forward(&commands, event)
    }

    /// Waits until it is known who answers, and their first pages are there.
    pub fn wait_until_settled(&self, is_stopped: impl Fn() -> bool) {
        // The slowest of them is given up by its own timeout.
        let longest = Duration::from_nanos(self.plan.reachability_timeout.0 * 3);
        wait(&self.channels.commands, Command::WhenSettled, longest, is_stopped);
    }

    /// For whoever must wait for the pages at a boundary before the next phase.
    pub fn boundary(&self) -> Boundary {
        Boundary { commands: self.channels.commands.clone(), longest: Duration::from_nanos(self.plan.scrape_timeout.0) }
    }

    /// Waits for the last pages and gives everything. Once somebody wants to stop it waits for none, and only so long
    /// for what is being read.
    pub fn finish(self, is_stopped: impl Fn() -> bool) -> Result<Collected, CollectError> {
        let Self { channels, scraping, keeping, plan } = self;
        let _ = channels.commands.send(Command::Finish);
        while !scraping.is_finished() {
            if is_stopped() {
                let _ = channels.commands.send(Command::Stop);
            }
            std::thread::sleep(LOOK_WHETHER_FINISHED);
        }
        let scraped = scraping.join().map_err(|_| CollectError::Panicked)??;
        let _ = channels.messages.send(Message::Finish);
        let longest = Duration::from_nanos(plan.cancel_wait.0);
        let mut until = None;
        while !keeping.is_finished() {
            if is_stopped() && Instant::now() >= *until.get_or_insert(Instant::now() + longest) {
                return Err(CollectError::TooSlow(longest));
            }
            std::thread::sleep(LOOK_WHETHER_FINISHED);
        }
        let Kept { store, file_failure } = keeping.join().map_err(|_| CollectError::Panicked)?;
        let shown = |fetches: &scraper::Fetches| -> Arc<str> { fetches.url.shown().into() };
        let endpoints = scraped.endpoints.iter().map(|fetches| ObservedEndpoint {
            url: shown(fetches),
            display_name: fetches.url.display_name().into(),
            errors: fetches.errors.iter().map(|error| error.count).sum(),
        });
        Ok(Collected {
            store,
            configured: scraped.endpoints.iter().map(shown).collect(),
            successful: scraped.endpoints.iter().filter(|fetches| fetches.was_reached).map(shown).collect(),
            endpoints: endpoints.collect(),
            errors: scraped.endpoints.iter().flat_map(|fetches| fetches.errors.clone()).collect(),
            file_failure,
        })
    }
}

/// Waits at boundaries of phases.
#[derive(Clone)]
pub struct Boundary {
    commands: UnboundedSender<Command>,
    longest: Duration,
}

impl Boundary {
    /// Waits until the pages of the phase that ended are there: what the next one does is on none of them.
    pub fn wait(&self, is_stopped: impl Fn() -> bool) {
        wait(&self.commands, Command::WhenUpToDate, self.longest, is_stopped);
    }
}

fn wait(
    commands: &UnboundedSender<Command>,
    ask: impl FnOnce(Sender<()>) -> Command,
    longest: Duration,
    is_stopped: impl Fn() -> bool,
) {
    let (sender, answer) = mpsc::channel();
    let _ = commands.send(ask(sender));
    let until = Instant::now() + longest;
    loop {
        match answer.recv_timeout(LOOK_WHETHER_STOPPED) {
            Err(RecvTimeoutError::Timeout) if !is_stopped() && Instant::now() < until => {}
            _ => return,
        }
    }
}

fn forward(commands: &UnboundedSender<Command>, event: &RunEvent) {
    if matches!(event, RunEvent::PhaseStarted(_) | RunEvent::RequestsDone(_)) {
        // Nobody listens any more once collection is over.
        let _ = commands.send(Command::Event(event.clone()));
    }
}
