//! The thread that stores pages in the order of arrival, and makes the live snapshot and the file of lines.

use super::kind::{FetchedPage, PageKind, ReadPage};
use super::lines::Lines;
use super::setup::Announce;
use crate::exposition::WarningCause;
use aiperf_transport::clock::mono_now;
use aiperf_transport::sys;
use aiperf_types::{LogLevel, MonoNs, Nanos, WallNs};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A page that the reading thread has not read within this time is read here.
const RELIEF_AFTER: Nanos = Nanos::from_millis(500);

/// Messages to the keeper.
pub(super) enum Message<C> {
    Page(FetchedPage),
    Read(u64, Box<Read<C>>),
    /// A profiling phase began, or none is on any more.
    Profiling(Option<WallNs>),
    /// Lines are written there from now on, including those that waited.
    WriteTo(Box<dyn Write + Send>),
    /// No page follows.
    Finish,
}

/// A page that was read, with a fingerprint that is equal for equal texts.
pub(super) struct Read<C> {
    page: ReadPage<C>,
    fingerprint: u64,
}

/// The keeper's verdict on a page: it could be read, or why not.
pub(super) struct Verdict {
    pub(super) endpoint: usize,
    /// As in its page.
    pub(super) url: Arc<str>,
    pub(super) result: Result<(), String>,
}

/// The result when everything is over.
pub(super) struct CollectedPages<S> {
    pub(super) store: S,
    /// Why the file of lines is incomplete.
    pub(super) file_failure: Option<io::Error>,
}

/// A page for the reading thread.
struct Job {
    page: FetchedPage,
    /// Another thread read it.
    is_done: AtomicBool,
}

struct Waiting<C> {
    number: u64,
    since: MonoNs,
    job: Arc<Job>,
    read: Option<Box<Read<C>>>,
}

pub(super) struct Keeper<K: PageKind> {
    pub(super) kind: Arc<K>,
    pub(super) inbox: Receiver<Message<K::Content>>,
    /// The inbox, where the reading thread puts its results.
    pub(super) results: Sender<Message<K::Content>>,
    pub(super) verdicts: Box<dyn Fn(Verdict) + Send>,
    pub(super) announce: Arc<dyn Announce>,
    /// Whether the content of pages is written, once there is a file.
    pub(super) writes_lines: bool,
    pub(super) publish_every: Nanos,
}

impl<K: PageKind> Keeper<K> {
    /// Stores pages until no more follow.
    pub(super) fn run(self) -> CollectedPages<K::Store> {
        let (jobs, to_read) = channel::<(u64, Arc<Job>)>();
        let kind = self.kind.clone();
        let results = self.results.clone();
        let work = move || read_pages(&to_read, &results, &*kind);
        // Without that thread everything is read here.
        let [.., name] = K::WORDS.threads;
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work).ok();
        let jobs = thread.is_some().then_some(jobs);
        drop(self.results);
        let mut keeping = Keeping::<K> {
            kept: CollectedPages { store: self.kind.store(), file_failure: None },
            waiting: VecDeque::new(),
            reader: K::Reader::default(),
            lines: if self.writes_lines { Lines::waiting() } else { Lines::None },
            kind: self.kind,
            warned: BTreeSet::new(),
            last_page: HashMap::new(),
            profiling: None,
            published: MonoNs(0),
            publish_every: self.publish_every,
            verdicts: self.verdicts,
            announce: self.announce,
        };
        let (mut next, mut finishing) = (0, false);
        while !(finishing && keeping.waiting.is_empty()) {
            // At the end there is nothing to wait for but the processor.
            let patience = if finishing { Nanos::ZERO } else { RELIEF_AFTER };
            let left = keeping.waiting.front().map(|first| first.since.plus(patience).since(mono_now()));
            let message = match left {
                None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(left) => self.inbox.recv_timeout(Duration::from_nanos(left.0)),
            };
            match message {
                Ok(Message::Page(page)) => {
                    let is_urgent = page.is_urgent || jobs.is_none();
                    let job = Arc::new(Job { page, is_done: AtomicBool::new(is_urgent) });
                    let read = is_urgent.then(|| Box::new(read(&*keeping.kind, &mut keeping.reader, &job.page)));
                    if let Some(jobs) = jobs.as_ref().filter(|_| !is_urgent) {
                        let _ = jobs.send((next, job.clone()));
                    }
                    keeping.waiting.push_back(Waiting { number: next, since: mono_now(), job, read });
                    next += 1;
                }
                Ok(Message::Read(number, read)) => keeping.put(number, read),
                Ok(Message::Profiling(start)) => {
                    keeping.profiling = start;
                    // The first page has nothing to publish yet.
                    keeping.published = mono_now();
                }
                Ok(Message::WriteTo(file)) => keeping.write_to(file),
                Ok(Message::Finish) => finishing = true,
                Err(RecvTimeoutError::Timeout) => keeping.relieve(),
                Err(RecvTimeoutError::Disconnected) => {
                    keeping.relieve();
                    finishing = true;
                }
            }
            keeping.keep_in_order();
        }
        keeping.finish_lines();
        keeping.kept
    }
}

fn read<K: PageKind>(kind: &K, reader: &mut K::Reader, page: &FetchedPage) -> Read<K::Content> {
    let mut hasher = DefaultHasher::new();
    hasher.write(page.text.as_bytes());
    Read { page: kind.read(reader, page), fingerprint: hasher.finish() }
}

/// The reading thread, at the lowest priority.
fn read_pages<K: PageKind>(jobs: &Receiver<(u64, Arc<Job>)>, results: &Sender<Message<K::Content>>, kind: &K) {
    // At normal priority it reads as well.
    let _ = sys::set_idle_priority();
    let mut reader = K::Reader::default();
    while let Ok((number, job)) = jobs.recv() {
        if job.is_done.load(Relaxed) {
            continue;
        }
        let read = Box::new(read(kind, &mut reader, &job.page));
        if results.send(Message::Read(number, read)).is_err() {
            return;
        }
    }
}

struct Keeping<K: PageKind> {
    kept: CollectedPages<K::Store>,
    /// In the order of arrival.
    waiting: VecDeque<Waiting<K::Content>>,
    reader: K::Reader,
    kind: Arc<K>,
    /// Warnings about an endpoint that were logged, and are not repeated.
    warned: BTreeSet<(usize, WarningCause)>,
    /// Length and fingerprint of the previous page, by endpoint and URL.
    last_page: HashMap<(usize, Arc<str>), (usize, u64)>,
    /// Start of the profiling phase that is on.
    profiling: Option<WallNs>,
    published: MonoNs,
    publish_every: Nanos,
    verdicts: Box<dyn Fn(Verdict) + Send>,
    announce: Arc<dyn Announce>,
    lines: Lines,
}

impl<K: PageKind> Keeping<K> {
    /// The reading thread has read a page; ignored if it was too late.
    fn put(&mut self, number: u64, read: Box<Read<K::Content>>) {
        if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.number == number) {
            waiting.read.get_or_insert(read);
        }
    }

    /// Reads the first page that waits.
    fn relieve(&mut self) {
        if let Some(waiting) = self.waiting.front_mut().filter(|waiting| waiting.read.is_none()) {
            waiting.job.is_done.store(true, Relaxed);
            waiting.read = Some(Box::new(read(&*self.kind, &mut self.reader, &waiting.job.page)));
        }
    }

    /// Stores every page up to the first that is not read yet.
    fn keep_in_order(&mut self) {
        while self.waiting.front().is_some_and(|first| first.read.is_some()) {
            let Some(Waiting { job, read: Some(read), .. }) = self.waiting.pop_front() else { return };
            self.keep(&job.page, *read);
        }
    }

    fn keep(&mut self, page: &FetchedPage, read: Read<K::Content>) {
        let Read { page: ReadPage { content, warnings, line }, fingerprint } = read;
        let subject = K::WORDS.subject;
        for warning in warnings {
            if self.warned.insert((page.endpoint, warning.cause)) {
                let text = format!("{subject} of {}: {}", page.url, warning.text);
                self.announce.say(warning.level, text);
            }
        }
        let identity = (page.text.len(), fingerprint);
        let before = self.last_page.insert((page.endpoint, page.url.clone()), identity);
        let verdict = match content {
            Err(reason) => Err(reason),
            Ok(None) => Ok(()),
            Ok(Some(content)) => {
                for warning in K::keep(&mut self.kept.store, page, content, before == Some(identity)) {
                    self.announce.say(LogLevel::Warning, format!("{subject} of {}: {warning}", page.url));
                }
                self.write(&line);
                Ok(())
            }
        };
        (self.verdicts)(Verdict { endpoint: page.endpoint, url: page.url.clone(), result: verdict });
        self.publish();
    }

    fn write_to(&mut self, file: Box<dyn Write + Send>) {
        let opened = self.lines.open(file);
        self.keep_failure(opened);
    }

    fn write(&mut self, line: &[u8]) {
        let written = self.lines.write(line);
        self.keep_failure(written);
    }

    fn finish_lines(&mut self) {
        let written = self.lines.finish();
        self.keep_failure(written);
    }

    fn keep_failure(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.kept.file_failure = Some(error);
        }
    }

    fn publish(&mut self) {
        let now = mono_now();
        if self.published.taken().is_none_or(|published| now.since(published) >= self.publish_every) {
            self.published = now;
            K::live(&mut self.kept.store, self.profiling).into_iter().for_each(|event| self.announce.emit(event));
        }
    }
}
