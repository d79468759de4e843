//! The thread that fetches: one runtime, one session per endpoint, nothing that takes time.

use super::calls::{PAGE_LIMIT, call, duration, kind_of, note_error, outcome};
use super::endpoint::{Endpoint, Fetch, FetchOutcome, Notice, Purpose};
use super::keeper::Verdict;
use super::kind::{FetchedPage, Words};
use super::running::Running;
use super::setup::{Announce, CollectedEndpoint, Pods, WatchedPage};
use crate::discovery::{Discovered, discover};
use crate::results::ScrapeError;
use crate::scrape::ScrapeTimes;
use aiperf_plan::{Cadence, MetricsEndpoint};
use aiperf_transport::clock::mono_now;
use aiperf_transport::{DeadlineTimer, FetchError, FetchSession, Fetched, Fetcher, SessionSettings, StampMode};
use aiperf_types::{LogLevel, MonoNs, Nanos, PhaseId, PhaseKind, RunEvent, Source, WallAnchor, WallNs};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, LocalSet};

/// Idle connections are closed before servers do it: uvicorn closes them after 5 s.
const KEEPALIVE: Nanos = Nanos::from_millis(4_000);
/// How long a slow page may delay one at a boundary.
const LONGEST_HOLD: Nanos = Nanos::from_millis(1_000);
/// A wait that is long enough to be logged.
const WORTH_A_WORD: Nanos = Nanos::from_millis(300);

/// Commands to the fetching thread.
pub(super) enum Command {
    Event(RunEvent),
    /// A page was read, or could not be.
    Verdict(Verdict),
    /// Answered when the state of every endpoint is known.
    WhenSettled(Sender<()>),
    /// Answered when no page at a boundary is pending.
    WhenUpToDate(Sender<()>),
    /// The run is over: fetch the last pages and end.
    Finish,
    /// The same, without waiting for anything.
    Stop,
}

/// Messages to the keeping thread.
pub(super) enum Delivery {
    Page(FetchedPage),
    /// A profiling phase began, or none is on any more.
    Profiling(Option<WallNs>),
}

/// The result of fetching.
pub(super) struct Scraped {
    pub(super) endpoints: Vec<CollectedEndpoint>,
}

/// What fetching needs.
pub(super) struct Fetching {
    pub(super) words: &'static Words,
    pub(super) looks_elsewhere: bool,
    pub(super) pages: Vec<WatchedPage>,
    pub(super) pods: Option<Pods>,
    pub(super) cadence: Cadence,
    pub(super) anchor: WallAnchor,
    pub(super) fetcher: Fetcher,
    pub(super) announce: Arc<dyn Announce>,
    pub(super) deliver: Box<dyn Fn(Delivery) + Send>,
}

struct Watched {
    endpoint: Endpoint,
    is_guess: bool,
    is_named: bool,
    session: Rc<FetchSession>,
    errors: Vec<ScrapeError>,
    fetches: u64,
    /// The fetch in flight, and when it began.
    task: Option<AbortHandle>,
    started: MonoNs,
    /// Since when a boundary waits for it.
    held_up: Option<MonoNs>,
    /// Why it was unreachable at first.
    unreachable: Option<String>,
    /// A page after the last request did not arrive in time: another would not either.
    is_given_up: bool,
    /// A late page was logged.
    is_late_logged: bool,
}

struct Scraper {
    fetching: Fetching,
    watched: Vec<Watched>,
    running: Running,
    is_start_logged: bool,
    was_profiled: bool,
    /// When the last pages are due.
    final_at: Option<MonoNs>,
    /// The last pages were requested.
    is_final: bool,
    is_finishing: bool,
    settled: Vec<Sender<()>>,
    up_to_date: Vec<Sender<()>>,
    /// Discovery of pods is in progress.
    is_discovering: bool,
}

/// Runs until it gets the command to finish.
pub(super) fn run(mut fetching: Fetching, mut commands: UnboundedReceiver<Command>) -> std::io::Result<Scraped> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let pages = std::mem::take(&mut fetching.pages);
    let mut scraper = Scraper {
        fetching,
        watched: Vec::new(),
        running: Running::default(),
        is_start_logged: false,
        was_profiled: false,
        final_at: None,
        is_final: false,
        is_finishing: false,
        settled: Vec::new(),
        up_to_date: Vec::new(),
        is_discovering: false,
    };
    pages.iter().for_each(|page| scraper.watch(page));
    let scraped = runtime.block_on(LocalSet::new().run_until(scraper.scrape(&mut commands)));
    // A name lookup in progress is not waited for.
    runtime.shutdown_background();
    scraped.map(|()| scraper.scraped())
}

/// The result of a task of this thread.
enum Done {
    Fetched(Box<FetchDone>),
    Discovered(Discovered),
}

/// A finished fetch.
struct FetchDone {
    endpoint: usize,
    fetch: Fetch,
    result: Result<Fetched, FetchError>,
}

impl Scraper {
    fn watch(&mut self, WatchedPage { endpoint, is_guess }: &WatchedPage) {
        if self.watched.iter().any(|watched| watched.endpoint.url() == &endpoint.url) {
            return;
        }
        let Fetching { cadence, fetcher, looks_elsewhere, .. } = &self.fetching;
        let settings = SessionSettings {
            stamps: StampMode::Kernel,
            keepalive: KEEPALIVE,
            size_limit: PAGE_LIMIT,
            connect_timeout: Some(duration(cadence.reachability_timeout)),
            silence: Some(duration(cadence.read_timeout)),
        };
        let is_named = endpoint.is_named;
        let endpoint = Endpoint::new(endpoint, cadence.interval);
        self.watched.push(Watched {
            endpoint: if *looks_elsewhere { endpoint } else { endpoint.only_there() },
            is_guess: *is_guess,
            is_named,
            session: Rc::new(fetcher.session(settings)),
            errors: Vec::new(),
            fetches: 0,
            task: None,
            started: MonoNs(0),
            held_up: None,
            unreachable: None,
            is_given_up: false,
            is_late_logged: false,
        });
    }

    /// Discovers pods in parallel with everything else.
    fn discover(&mut self, done: &UnboundedSender<Done>) {
        let Some(Pods { plan, cluster }) = self.fetching.pods.take() else { return };
        self.is_discovering = true;
        let (fetcher, done) = (self.fetching.fetcher.clone(), done.clone());
        tokio::task::spawn_local(async move {
            let _ = done.send(Done::Discovered(discover(&plan, cluster.as_ref(), &fetcher).await));
        });
    }

    fn discovered(&mut self, Discovered { urls, notices }: Discovered) {
        self.is_discovering = false;
        notices.into_iter().for_each(|(level, text)| self.fetching.announce.say(level, text));
        for url in urls {
            let endpoint = MetricsEndpoint { url, fallback: None, is_named: false };
            self.watch(&WatchedPage { endpoint, is_guess: false });
        }
    }

    async fn scrape(&mut self, commands: &mut UnboundedReceiver<Command>) -> std::io::Result<()> {
        let (done, mut finished) = unbounded_channel();
        let mut timer = DeadlineTimer::new()?;
        self.discover(&done);
        while !self.is_over() {
            let now = mono_now();
            self.start_due(now, &done);
            // The last page may arrive before it is known to be the last.
            if self.is_over() {
                break;
            }
            self.notify_waiters();
            timer.set(self.next_deadline())?;
            let fired = std::future::poll_fn(|cx| timer.poll_fired(cx));
            tokio::select! {
                biased;
                Some(done) = finished.recv() => match done {
                    Done::Fetched(done) => self.finished(*done),
                    Done::Discovered(discovered) => self.discovered(discovered),
                },
                command = commands.recv() => match command {
                    None | Some(Command::Stop) => break,
                    Some(command) => self.obey(command),
                },
                fired = fired => fired?,
            }
        }
        // Waiting threads learn that nothing follows.
        (self.settled, self.up_to_date) = (Vec::new(), Vec::new());
        Ok(())
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Event(event) => self.follow(&event),
            Command::Verdict(Verdict { endpoint, url, result }) => {
                let watched = &mut self.watched[endpoint].endpoint;
                let notices = match result {
                    Ok(()) => watched.note_read(mono_now(), &url),
                    Err(reason) => watched.note_unreadable(&url, reason),
                };
                self.log(endpoint, notices);
            }
            Command::WhenSettled(waiter) => self.settled.push(waiter),
            Command::WhenUpToDate(waiter) => self.up_to_date.push(waiter),
            Command::Finish => {
                self.is_finishing = true;
                self.log_wait();
                if self.was_profiled && self.final_at.is_none() {
                    let subject = self.fetching.words.subject;
                    let text =
                        format!("{subject}: no final scrape, as another phase followed the last profiling phase");
                    self.fetching.announce.say(LogLevel::Info, text);
                }
            }
            // Ends the loop.
            Command::Stop => {}
        }
    }

    /// Shows users what the run waits for.
    fn log_wait(&self) {
        let is_slow =
            |watched: &&Watched| !watched.endpoint.is_up_to_date() && mono_now().since(watched.started) > WORTH_A_WORD;
        let Words { wait_limit, flush, .. } = self.fetching.words;
        for watched in self.watched.iter().filter(is_slow) {
            let (url, limit) = (watched.endpoint.url().shown(), self.fetching.cadence.scrape_timeout.as_secs_f64());
            let text = format!("Waiting up to {limit:.1}s for the page of {url} ({wait_limit})");
            self.fetching.announce.say(LogLevel::Info, text);
        }
        let left = self.final_at.unwrap_or_default().since(mono_now());
        if left > WORTH_A_WORD && self.watched.iter().any(|watched| watched.endpoint.is_alive()) {
            let seconds = left.as_secs_f64();
            let text = format!("Waiting {seconds:.1}s for the servers to count the last requests ({flush})");
            self.fetching.announce.say(LogLevel::Info, text);
        }
    }

    /// A phase began or ended.
    fn follow(&mut self, event: &RunEvent) {
        match event {
            RunEvent::PhaseStarted(started) => {
                self.running.start(&started.phase);
                self.final_at = None;
                self.watched.iter_mut().for_each(|watched| watched.endpoint.forget_boundaries());
                if started.phase.kind == PhaseKind::Profiling {
                    (self.fetching.deliver)(Delivery::Profiling(Some(self.fetching.anchor.wall(started.at))));
                }
                self.want_boundary(&started.phase);
            }
            RunEvent::RequestsDone(done) => {
                self.running.end(&done.phase);
                // It gets its own page even while another phase is on: its totals reach until now.
                self.want_boundary(&done.phase);
                if !self.running.is_profiling() {
                    (self.fetching.deliver)(Delivery::Profiling(None));
                }
                self.was_profiled |= done.phase.kind == PhaseKind::Profiling;
                if self.running.is_measured() {
                    self.final_at = Some(done.at.plus(self.fetching.cadence.flush));
                }
            }
            _ => {}
        }
    }

    fn want_boundary(&mut self, phase: &Arc<PhaseId>) {
        for watched in &mut self.watched {
            watched.endpoint.want_boundary(Some(phase.clone()));
        }
    }

    fn start_due(&mut self, now: MonoNs, done: &UnboundedSender<Done>) {
        self.retire_twins();
        let is_due = self.final_at.is_some_and(|at| now >= at);
        let phase = self.running.current();
        // If nothing is waited for, the page at the end of the phase is the last.
        let is_last_to_come = self.is_finishing && is_due && !std::mem::replace(&mut self.is_final, true);
        if is_last_to_come && self.fetching.cadence.flush > Nanos::ZERO {
            for watched in self.watched.iter_mut().filter(|watched| !watched.is_given_up) {
                watched.endpoint.want_boundary(phase.cloned());
            }
        }
        for (number, watched) in self.watched.iter_mut().enumerate() {
            // After the last pages no other is needed.
            if self.is_final && watched.endpoint.is_up_to_date() {
                continue;
            }
            watched.let_go_of_slow_page(now);
            let Some(fetch) = watched.endpoint.poll(now, phase) else { continue };
            watched.fetches += 1;
            let (session, done) = (watched.session.clone(), done.clone());
            let call = call(&fetch, &self.fetching.cadence);
            let task = tokio::task::spawn_local(async move {
                let result = session.fetch(&call).await;
                let _ = done.send(Done::Fetched(Box::new(FetchDone { endpoint: number, fetch, result })));
            });
            watched.task = Some(task.abort_handle());
            watched.started = now;
        }
    }

    /// Of two endpoints with the same page, the later one is retired.
    fn retire_twins(&mut self) {
        for number in 1..self.watched.len() {
            let (before, rest) = self.watched.split_at_mut(number);
            let is_twin =
                |other: &Watched| !other.endpoint.is_redundant() && other.endpoint.url() == rest[0].endpoint.url();
            if !rest[0].endpoint.is_redundant() && before.iter().any(is_twin) {
                rest[0].endpoint.retire();
            }
        }
    }

    fn finished(&mut self, FetchDone { endpoint: number, fetch, result }: FetchDone) {
        let now = mono_now();
        let shown: Arc<str> = fetch.url.shown().into();
        let outcome = outcome(&fetch, &shown, &result);
        let watched = &mut self.watched[number];
        if let FetchOutcome::Failed(reason) = &outcome
            && matches!(fetch.purpose, Purpose::Tick | Purpose::Boundary)
        {
            note_error(&mut watched.errors, &shown, kind_of(&result), reason);
            let is_late = matches!(result, Err(FetchError::TimedOut(_) | FetchError::Silent(_)));
            watched.is_given_up |= is_late && self.final_at.is_some();
            let Words { subject, last_failed, .. } = self.fetching.words;
            let text = if self.is_final || watched.is_given_up {
                format!("the last scrape failed ({reason}): {last_failed}")
            } else {
                format!("a scrape {reason}")
            };
            // The number of late pages is logged at the end.
            let is_news = is_late && !std::mem::replace(&mut watched.is_late_logged, true);
            if self.is_final || watched.is_given_up || is_news {
                self.fetching.announce.say(LogLevel::Warning, format!("{subject} of {shown}: {text}"));
            }
        }
        let page = match (&outcome, result) {
            (FetchOutcome::Page, Ok(fetched)) => Some(self.page(number, shown, &fetch, fetched)),
            _ => None,
        };
        let notices = self.watched[number].endpoint.note(now, outcome);
        self.log(number, notices);
        if let Some(page) = page {
            (self.fetching.deliver)(Delivery::Page(page));
        }
    }

    fn page(&self, endpoint: usize, url: Arc<str>, fetch: &Fetch, fetched: Fetched) -> FetchedPage {
        let times = fetched.times;
        let sent = self.fetching.anchor.wall(times.start);
        let first_byte = times.first_byte.taken().map(|at| self.fetching.anchor.wall(at));
        let times = ScrapeTimes {
            sent,
            first_byte,
            latency: times.end.since(times.start),
            at: first_byte.unwrap_or(self.fetching.anchor.wall(times.end)),
        };
        let is_urgent = matches!(fetch.purpose, Purpose::Probe | Purpose::Fallback);
        FetchedPage {
            endpoint,
            url,
            text: fetched.into_text(),
            times,
            phase: fetch.phase.clone(),
            is_urgent,
            is_between_boundaries: fetch.purpose == Purpose::Tick,
        }
    }

    fn log(&mut self, number: usize, notices: Vec<Notice>) {
        let address: Arc<str> = self.watched[number].endpoint.url().shown().into();
        let Words { subject, off, .. } = self.fetching.words;
        for notice in notices {
            let at = mono_now();
            let source = |detail: Option<&str>| Source {
                kind: *subject,
                address: address.clone(),
                detail: detail.map(Arc::from),
            };
            let watched = &mut self.watched[number];
            match notice {
                // It was only a guess.
                Notice::Unreachable(reason) | Notice::Disabled(reason)
                    if watched.is_guess && !watched.endpoint.has_been_read() =>
                {
                    watched.endpoint.retire();
                    let text = format!("{subject}: nothing at {address} ({reason})");
                    self.fetching.announce.say(LogLevel::Debug, text);
                }
                Notice::Found => {
                    if self.is_start_logged {
                        self.fetching.announce.say(LogLevel::Info, format!("{subject}: {address} responds now"));
                    }
                    self.fetching.announce.emit(RunEvent::SourceFound { at, source: source(None) });
                }
                // Those of the start are logged together.
                Notice::Unreachable(reason) if self.is_start_logged => {
                    self.fetching.announce.emit(RunEvent::SourceLost { at, source: source(Some(&reason)) });
                }
                Notice::Unreachable(reason) => watched.unreachable = Some(reason),
                Notice::Moved { from, to } => {
                    let text = format!("{subject}: {from} is no Prometheus page, {to} is");
                    self.fetching.announce.say(LogLevel::Info, text);
                }
                Notice::Disabled(reason) => {
                    let text = format!(
                        "Disabling {subject} collection for {address}: {reason}. To suppress this warning, pass {off}."
                    );
                    note_error(&mut watched.errors, &address, "IncompatibleMetricsEndpointError", &reason);
                    self.fetching.announce.say(LogLevel::Warning, text);
                }
            }
        }
    }

    /// Wakes waiters whose condition holds.
    fn notify_waiters(&mut self) {
        if !self.is_discovering && self.watched.iter().all(|watched| watched.endpoint.is_settled()) {
            if !std::mem::replace(&mut self.is_start_logged, true) {
                self.log_start();
            }
            self.settled.drain(..).for_each(|waiter| {
                let _ = waiter.send(());
            });
        }
        if self.watched.iter().all(|watched| watched.endpoint.is_up_to_date()) {
            self.up_to_date.drain(..).for_each(|waiter| {
                let _ = waiter.send(());
            });
        }
    }

    /// Logs which endpoints respond, in one line, and which do not, in another.
    fn log_start(&self) {
        let watched = self.watched.iter().filter(|watched| !watched.endpoint.is_redundant());
        let (found, missing): (Vec<&Watched>, Vec<&Watched>) =
            watched.filter(|watched| !watched.endpoint.is_off()).partition(|watched| watched.endpoint.is_alive());
        let named = |watched: &&Watched| {
            let reason = watched.unreachable.as_deref().unwrap_or("no response");
            format!("{}: {reason}", watched.endpoint.url().shown())
        };
        // A server need not have a page, unless the user gave its URL.
        let is_promised = missing.iter().any(|watched| watched.is_named);
        let missing: Vec<String> = missing.iter().map(named).collect();
        if found.is_empty() && missing.is_empty() {
            // Each of them was disabled, with its own message.
            return;
        }
        let Words { title, sources, none_reached, .. } = self.fetching.words;
        if found.is_empty() {
            let level = if is_promised { LogLevel::Warning } else { LogLevel::Info };
            self.fetching.announce.say(level, none_reached(&missing.join("; ")));
            return;
        }
        let all = found.len() + missing.len();
        let text = format!("{title}: enabled - {}/{all} {sources} reachable", found.len());
        self.fetching.announce.say(LogLevel::Info, text);
        if !missing.is_empty() {
            let text = format!("{title}: unreachable, and tried again now and then: {}", missing.join("; "));
            self.fetching.announce.say(LogLevel::Warning, text);
        }
    }

    fn next_deadline(&self) -> Option<MonoNs> {
        let held_up = self.watched.iter().filter_map(|watched| Some(watched.held_up?.plus(LONGEST_HOLD)));
        let ticks = self.watched.iter().filter_map(|watched| watched.endpoint.next_deadline());
        let last = self.final_at.filter(|_| self.is_finishing);
        // Once the last pages were requested, nothing else is due.
        held_up.chain(ticks.chain(last).filter(|_| !self.is_final)).min()
    }

    /// Whether the run is over, and the last pages have arrived or no endpoint is left.
    fn is_over(&self) -> bool {
        let none_alive = || self.watched.iter().all(|watched| !watched.endpoint.is_alive());
        let all = || self.watched.iter().all(|watched| watched.endpoint.is_up_to_date());
        self.is_finishing && (self.final_at.is_none() || none_alive() || self.is_final && all())
    }

    fn scraped(self) -> Scraped {
        let (subject, announce) = (self.fetching.words.subject, &self.fetching.announce);
        let collected = |watched: Watched| {
            let failed: u64 = watched.errors.iter().map(|error| error.count).sum();
            let url = watched.endpoint.url().clone();
            if let Some(last) = watched.errors.last().filter(|_| !watched.endpoint.is_off()) {
                let (shown, fetches) = (url.shown(), watched.fetches);
                let text = format!("{subject} of {shown}: {failed} of {fetches} scrapes failed ({})", last.message);
                announce.say(LogLevel::Warning, text);
            }
            let was_reached = watched.endpoint.was_reached();
            CollectedEndpoint { url, is_guess: watched.is_guess, was_reached, errors: watched.errors }
        };
        let watched = self.watched.into_iter().filter(|watched| !watched.endpoint.is_redundant());
        Scraped { endpoints: watched.map(collected).collect() }
    }
}

impl Watched {
    /// Gives up a page that is so slow that it delays one at a boundary.
    fn let_go_of_slow_page(&mut self, now: MonoNs) {
        if !self.endpoint.is_held_up() {
            self.held_up = None;
            return;
        }
        let since = *self.held_up.get_or_insert(now);
        if now.since(since) >= LONGEST_HOLD
            && let Some(task) = self.task.take()
        {
            task.abort();
            self.endpoint.abandon();
            self.held_up = None;
        }
    }
}
