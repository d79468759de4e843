//! The collection of a run: it is started, follows the phases, and is waited for.

use super::keeper::{CollectedPages, Keeper, Message, Verdict};
use super::kind::PageKind;
use super::scraper::{self, Command, Delivery, Scraped};
use super::setup::{Announce, CollectedEndpoint, Pods, WatchedPage};
use aiperf_plan::Cadence;
use aiperf_transport::Fetcher;
use aiperf_types::{RunEvent, WallAnchor};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// How often a wait checks for a stop request.
const LOOK_WHETHER_STOPPED: Duration = Duration::from_millis(20);

/// How often the end of the threads is checked.
const LOOK_WHETHER_FINISHED: Duration = Duration::from_millis(1);

/// What collection needs.
pub struct Setup<K> {
    pub kind: K,
    pub pages: Vec<WatchedPage>,
    /// `None`: no discovery.
    pub pods: Option<Pods>,
    pub cadence: Cadence,
    /// The run's anchor.
    pub anchor: WallAnchor,
    pub fetcher: Fetcher,
    pub announce: Arc<dyn Announce>,
    /// The content of pages is written to the file of [`Collector::write_to`].
    pub writes_lines: bool,
}

/// Collection while it is on.
pub struct Collector<K: PageKind> {
    channels: Channels<K::Content>,
    scraping: JoinHandle<io::Result<Scraped>>,
    keeping: JoinHandle<CollectedPages<K::Store>>,
    cadence: Cadence,
}

/// The channels to the threads. When it is dropped, they end.
struct Channels<C> {
    commands: UnboundedSender<Command>,
    messages: Sender<Message<C>>,
}

impl<C> Drop for Channels<C> {
    fn drop(&mut self) {
        // The threads hold ends of each other's channels, so neither would notice that this one is gone.
        let _ = self.commands.send(Command::Stop);
        let _ = self.messages.send(Message::Finish);
    }
}

/// Why there is no result.
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
pub struct Collected<S> {
    pub store: S,
    /// In the order of discovery.
    pub endpoints: Vec<CollectedEndpoint>,
    /// Why the file of scrapes is incomplete.
    pub file_failure: Option<io::Error>,
}

impl<K: PageKind> Collector<K> {
    /// Starts checking which endpoints respond.
    pub fn start(setup: Setup<K>) -> io::Result<Self> {
        let (commands, obeyed) = unbounded_channel();
        let (messages, inbox) = mpsc::channel();
        let Setup { kind, pages, pods, cadence, anchor, fetcher, announce, writes_lines } = setup;
        let to_scraper = commands.clone();
        let keeper = Keeper {
            kind: Arc::new(kind),
            inbox,
            results: messages.clone(),
            verdicts: Box::new(move |verdict: Verdict| {
                let _ = to_scraper.send(Command::Verdict(verdict));
            }),
            announce: announce.clone(),
            writes_lines,
            publish_every: cadence.publish_interval,
        };
        let to_keeper = messages.clone();
        let deliver = move |delivery| {
            let _ = to_keeper.send(match delivery {
                Delivery::Page(page) => Message::Page(page),
                Delivery::Profiling(start) => Message::Profiling(start),
            });
        };
        let fetching = scraper::Fetching {
            words: K::WORDS,
            looks_elsewhere: K::LOOKS_ELSEWHERE,
            pages,
            pods,
            cadence,
            anchor,
            fetcher,
            announce,
            deliver: Box::new(deliver),
        };
        let channels = Channels { commands, messages };
        let spawn = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let [fetcher, keeping, _] = K::WORDS.threads;
        let keeping = spawn(keeping).spawn(move || keeper.run())?;
        let scraping = spawn(fetcher).spawn(move || scraper::run(fetching, obeyed))?;
        Ok(Self { channels, scraping, keeping, cadence })
    }

    /// Writes every scrape as a line, including earlier ones.
    pub fn write_to(&self, file: Box<dyn Write + Send>) {
        let _ = self.channels.messages.send(Message::WriteTo(file));
    }

    /// The receiver of the run's events.
    pub fn listener(&self) -> impl Fn(&RunEvent) + Send + Sync + use<K> {
        let commands = self.channels.commands.clone();
        move |event| forward(&commands, event)
    }

    /// The same for callers that need no page of a stopped run: the first end of a phase after the stop ends it.
    pub fn listener_until<F>(&self, is_stopped: F) -> impl Fn(&RunEvent) + Send + Sync + use<K, F>
    where
        F: Fn() -> bool + Send + Sync,
    {
        let commands = self.channels.commands.clone();
        move |event| match event {
            RunEvent::RequestsDone(_) if is_stopped() => {
                let _ = commands.send(Command::Stop);
            }
            event => forward(&commands, event),
        }
    }

    /// Waits until it is known which endpoints respond, and their first pages have arrived.
    pub fn wait_until_settled(&self, is_stopped: impl Fn() -> bool) {
        let longest = Duration::from_nanos(self.cadence.settle_limit.0);
        wait(&self.channels.commands, Command::WhenSettled, longest, is_stopped);
    }

    /// For callers that must wait for the pages at a boundary before the next phase.
    pub fn boundary(&self) -> Boundary {
        Boundary {
            commands: self.channels.commands.clone(),
            longest: Duration::from_nanos(self.cadence.scrape_timeout.0),
        }
    }

    /// Waits for the last pages and returns everything. After a stop request it waits for no page, and only for a
    /// limited time for pages being read.
    pub fn finish(self, is_stopped: impl Fn() -> bool) -> Result<Collected<K::Store>, CollectError> {
        let Self { channels, scraping, keeping, cadence } = self;
        let _ = channels.commands.send(Command::Finish);
        while !scraping.is_finished() {
            if is_stopped() {
                let _ = channels.commands.send(Command::Stop);
            }
            std::thread::sleep(LOOK_WHETHER_FINISHED);
        }
        let scraped = scraping.join().map_err(|_| CollectError::Panicked)??;
        let _ = channels.messages.send(Message::Finish);
        let longest = Duration::from_nanos(cadence.cancel_wait.0);
        let mut until = None;
        while !keeping.is_finished() {
            if is_stopped() && Instant::now() >= *until.get_or_insert(Instant::now() + longest) {
                return Err(CollectError::TooSlow(longest));
            }
            std::thread::sleep(LOOK_WHETHER_FINISHED);
        }
        let CollectedPages { store, file_failure } = keeping.join().map_err(|_| CollectError::Panicked)?;
        Ok(Collected { store, endpoints: scraped.endpoints, file_failure })
    }
}

/// Waits at boundaries of phases.
#[derive(Clone)]
pub struct Boundary {
    commands: UnboundedSender<Command>,
    longest: Duration,
}

impl Boundary {
    /// Waits until the pages of the phase that ended have arrived: none of them shows the next phase.
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
    let (sender, done) = mpsc::channel();
    let _ = commands.send(ask(sender));
    let until = Instant::now() + longest;
    loop {
        match done.recv_timeout(LOOK_WHETHER_STOPPED) {
            Err(RecvTimeoutError::Timeout) if !is_stopped() && Instant::now() < until => {}
            _ => return,
        }
    }
}

fn forward(commands: &UnboundedSender<Command>, event: &RunEvent) {
    if matches!(event, RunEvent::PhaseStarted(_) | RunEvent::RequestsDone(_)) {
        // The thread is gone once collection has ended.
        let _ = commands.send(Command::Event(event.clone()));
    }
}
