//! GPUs of this machine while a run is on: a thread reads all of them at once, at the instants at which pages of
//! exporters are fetched. Only that thread waits for a driver.

use super::LocalGpus;
use crate::collection::Announce;
use crate::collection::calls::note_error;
use crate::collection::endpoint::after;
use crate::collection::lines::Lines;
use crate::gpu::pages::EncodeGpus;
use crate::gpu::reading::{GpuKey, GpuReading, GpuScrape};
use crate::gpu::store::GpuStore;
use crate::gpu::table::Table;
use crate::results::ScrapeError;
use aiperf_transport::clock::mono_now;
use aiperf_types::{LogLevel, MonoNs, Nanos, RunEvent, Source, SourceKind, WallAnchor};
use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const SUBJECT: SourceKind = SourceKind::GpuTelemetry;
const THREAD: &str = "aiperf-gpus";
/// How often a wait checks for a stop request.
const LOOK_WHETHER_STOPPED: Duration = Duration::from_millis(20);
/// How often the end of the thread is checked.
const LOOK_WHETHER_FINISHED: Duration = Duration::from_millis(1);

/// What reading needs.
pub struct LocalSetup {
    pub gpus: Box<dyn LocalGpus>,
    /// Their common name.
    pub source: Arc<str>,
    /// Between readings.
    pub interval: Nanos,
    /// The longest time of a reading that a caller waits for.
    pub patience: Nanos,
    /// Between two snapshots for live consumers; `None` without any.
    pub live_every: Option<Nanos>,
    /// The run's own.
    pub anchor: WallAnchor,
    pub encode: EncodeGpus,
    pub announce: Arc<dyn Announce>,
}

/// Reading while it is on.
pub struct LocalCollector {
    commands: Sender<Command>,
    thread: JoinHandle<()>,
    kept: Arc<Mutex<Kept>>,
    patience: Duration,
    source: Arc<str>,
    announce: Arc<dyn Announce>,
}

/// All that was read.
#[derive(Debug, Default)]
pub struct LocalCollected {
    pub store: GpuStore,
    pub errors: Vec<ScrapeError>,
    /// Why the file of readings is incomplete.
    pub file_failure: Option<io::Error>,
}

type Kept = LocalCollected;

enum Command {
    /// A phase began or ended.
    Read,
    WriteTo(Box<dyn Write + Send>),
    /// Answered when the requests before it are done.
    WhenRead(Sender<()>),
    Stop,
}

impl LocalCollector {
    /// Starts, with a first reading.
    pub fn start(setup: LocalSetup) -> io::Result<Self> {
        let (commands, obeyed) = mpsc::channel();
        let store = if setup.live_every.is_some() { GpuStore::watched() } else { GpuStore::default() };
        let kept = Arc::new(Mutex::new(Kept { store, ..Kept::default() }));
        let (source, announce, patience) = (setup.source.clone(), setup.announce.clone(), setup.patience);
        let reading = Reading {
            seen: HashSet::new(),
            silent: HashSet::new(),
            kept: kept.clone(),
            table: Arc::default(),
            lines: Lines::waiting(),
            published: MonoNs(0),
            setup,
        };
        let thread = std::thread::Builder::new().name(THREAD.to_owned()).spawn(move || reading.run(&obeyed))?;
        Ok(Self { commands, thread, kept, patience: Duration::from_nanos(patience.0), source, announce })
    }

    /// Writes every reading as lines, including earlier ones.
    pub fn write_to(&self, file: Box<dyn Write + Send>) {
        let _ = self.commands.send(Command::WriteTo(file));
    }

    /// The receiver of the run's events. In a stopped run, nothing more is read once a phase ends.
    pub fn listener_until<F>(&self, is_stopped: F) -> impl Fn(&RunEvent) + Send + Sync + use<F>
    where
        F: Fn() -> bool + Send + Sync,
    {
        let commands = self.commands.clone();
        move |event| {
            let command = match event {
                RunEvent::RequestsDone(_) if is_stopped() => Command::Stop,
                RunEvent::PhaseStarted(_) | RunEvent::RequestsDone(_) => Command::Read,
                _ => return,
            };
            // The thread is gone once reading has ended.
            let _ = commands.send(command);
        }
    }

    /// Waits until the first reading is done.
    pub fn wait_until_read(&self, is_stopped: impl Fn() -> bool) {
        let (sender, done) = mpsc::channel();
        let _ = self.commands.send(Command::WhenRead(sender));
        let until = Instant::now() + self.patience;
        while let Err(RecvTimeoutError::Timeout) = done.recv_timeout(LOOK_WHETHER_STOPPED) {
            if is_stopped() || Instant::now() >= until {
                return;
            }
        }
    }

    /// Waits for the last requested reading, and returns everything. A driver that hangs is abandoned.
    pub fn finish(self) -> LocalCollected {
        let _ = self.commands.send(Command::Stop);
        let until = Instant::now() + self.patience;
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(LOOK_WHETHER_FINISHED);
        }
        let mut collected = std::mem::take(&mut *locked(&self.kept));
        let failure = match self.thread.is_finished() {
            true => self.thread.join().is_err().then(|| "reading ended unexpectedly".to_owned()),
            false => Some(format!("a reading did not end within {} s", self.patience.as_secs_f64())),
        };
        if let Some(failure) = failure {
            note_error(&mut collected.errors, &self.source, "TimeoutError", &failure);
            let text = format!("{SUBJECT} of {}: {failure}: what came after the one before is missing", self.source);
            self.announce.say(LogLevel::Warning, text);
        }
        collected
    }
}

struct Reading {
    setup: LocalSetup,
    table: Arc<Table>,
    kept: Arc<Mutex<Kept>>,
    /// GPUs with a reading so far.
    seen: HashSet<GpuKey>,
    /// Those of them whose silence was logged.
    silent: HashSet<GpuKey>,
    lines: Lines,
    published: MonoNs,
}

impl Reading {
    fn run(mut self, commands: &Receiver<Command>) {
        self.log_start();
        self.read(false);
        let mut next = mono_now().plus(self.setup.interval);
        loop {
            match commands.recv_timeout(Duration::from_nanos(next.since(mono_now()).0)) {
                Ok(Command::Read) => self.read(false),
                Ok(Command::WriteTo(file)) => self.write_to(file),
                Ok(Command::WhenRead(waiter)) => drop(waiter.send(())),
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    let written = self.lines.finish();
                    return self.keep_failure(written);
                }
                Err(RecvTimeoutError::Timeout) => {
                    // Instants missed because of a slow driver are skipped.
                    next = after(next, self.setup.interval, mono_now());
                    self.read(true);
                }
            }
        }
    }

    fn log_start(&self) {
        let LocalSetup { gpus, source, announce, .. } = &self.setup;
        let models: Vec<Arc<str>> = gpus.gpus().iter().map(|gpu| gpu.model.clone()).collect();
        let named = models.join(", ");
        announce.say(LogLevel::Info, format!("{SUBJECT}: enabled - {} GPU(s) of this machine: {named}", models.len()));
        let source = Source { kind: SUBJECT, address: source.clone(), detail: None };
        announce.emit(RunEvent::SourceFound { at: mono_now(), source });
    }

    /// All GPUs with one stamp.
    fn read(&mut self, is_between_boundaries: bool) {
        let at = self.setup.anchor.wall(mono_now());
        let readings = self.setup.gpus.read(&self.table);
        self.log_silent(&readings);
        if readings.is_empty() {
            return;
        }
        let scrape = GpuScrape { source: self.setup.source.clone(), at, readings, table: self.table.clone() };
        let (warnings, snapshot) = {
            let store = &mut locked(&self.kept).store;
            let warnings = if is_between_boundaries { store.offer(&scrape) } else { store.add(&scrape) };
            let is_due = |every: Nanos| self.published.taken().is_none_or(|last| mono_now().since(last) >= every);
            (warnings, self.setup.live_every.filter(|every| is_due(*every)).and_then(|_| store.changed()))
        };
        for warning in warnings {
            self.setup.announce.say(LogLevel::Warning, format!("{SUBJECT} of {}: {warning}", self.setup.source));
        }
        let mut lines = Vec::new();
        (self.setup.encode)(&mut lines, &scrape);
        self.write(&lines);
        if let Some(snapshot) = snapshot {
            self.published = mono_now();
            self.setup.announce.emit(RunEvent::GpuMetrics(Arc::new(snapshot)));
        }
    }

    /// GPUs with an earlier reading and none now: each is logged once, and counted.
    fn log_silent(&mut self, readings: &[GpuReading]) {
        let read: HashSet<GpuKey> = readings.iter().map(|reading| reading.gpu.key()).collect();
        let LocalSetup { gpus, source, announce, .. } = &self.setup;
        if self.seen.iter().any(|key| !read.contains(key)) {
            for gpu in gpus.gpus() {
                let key = gpu.key();
                if !self.seen.contains(&key) || read.contains(&key) {
                    continue;
                }
                let text = format!("GPU {} ({}) does not respond any more", gpu.index, gpu.uuid);
                note_error(&mut locked(&self.kept).errors, source, "GpuLost", &text);
                if self.silent.insert(key) {
                    announce.say(LogLevel::Warning, format!("{SUBJECT} of {source}: {text}"));
                }
            }
        }
        self.seen.extend(read);
    }

    fn write_to(&mut self, file: Box<dyn Write + Send>) {
        let opened = self.lines.open(file);
        self.keep_failure(opened);
    }

    fn write(&mut self, lines: &[u8]) {
        let written = self.lines.write(lines);
        self.keep_failure(written);
    }

    fn keep_failure(&self, written: io::Result<()>) {
        if let Err(error) = written {
            locked(&self.kept).file_failure = Some(error);
        }
    }
}

fn locked(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::local::values;
    use crate::gpu::reading::Gpu;
    use aiperf_types::{PhaseId, PhaseKind, PhaseMoment, PhaseProgress, PhaseStarted, PhaseTargets};

    /// Two GPUs, one of which is lost after a number of readings; reports each reading.
    struct FakeGpus {
        readings: u64,
        lost_after: u64,
        /// Permits for readings; `None`: any number.
        may_end: Option<Receiver<()>>,
    }

    impl FakeGpus {
        fn new(lost_after: u64) -> Self {
            Self { readings: 0, lost_after, may_end: None }
        }
    }

    impl LocalGpus for FakeGpus {
        fn gpus(&self) -> Vec<Arc<Gpu>> {
            let gpu = |index: i64| Gpu { index, uuid: format!("GPU-{index}").into(), ..Gpu::default() };
            (0..2).map(|index| Arc::new(gpu(index))).collect()
        }

        fn read(&mut self, table: &Table) -> Vec<GpuReading> {
            self.readings += 1;
            if let Some(may_end) = &self.may_end {
                let _ = may_end.recv();
            }
            let there = if self.readings > self.lost_after { 1 } else { 2 };
            let reading =
                |gpu| GpuReading { gpu, values: values(table, [("nvidia_power_usage", Some(self.readings as f64))]) };
            self.gpus().into_iter().take(there).map(reading).collect()
        }
    }

    #[derive(Default)]
    struct Heard {
        logged: Mutex<Vec<String>>,
        snapshots: Mutex<usize>,
    }

    impl Announce for Heard {
        fn say(&self, _: LogLevel, text: String) {
            self.logged.lock().unwrap().push(text);
        }

        fn emit(&self, event: RunEvent) {
            if matches!(event, RunEvent::GpuMetrics(_)) {
                *self.snapshots.lock().unwrap() += 1;
            }
        }
    }

    fn collector(gpus: FakeGpus, heard: &Arc<Heard>, patience: u64) -> LocalCollector {
        LocalCollector::start(LocalSetup {
            gpus: Box::new(gpus),
            source: "pynvml://localhost".into(),
            interval: Nanos::from_millis(3_600_000),
            patience: Nanos::from_millis(patience),
            live_every: Some(Nanos::ZERO),
            anchor: WallAnchor::default(),
            encode: |lines, scrape| writeln!(lines, "{}", scrape.readings.len()).unwrap(),
            announce: heard.clone(),
        })
        .unwrap()
    }

    fn phase() -> Arc<PhaseId> {
        Arc::new(PhaseId { index: 0, profiling_index: Some(0), name: "p".into(), kind: PhaseKind::Profiling })
    }

    fn started() -> RunEvent {
        let targets = PhaseTargets::default();
        let (phase, at) = (phase(), mono_now());
        RunEvent::PhaseStarted(Arc::new(PhaseStarted { phase, at, targets, load: "".into(), target: "".into() }))
    }

    fn done() -> RunEvent {
        RunEvent::RequestsDone(PhaseMoment { phase: phase(), at: mono_now(), counts: PhaseProgress::default() })
    }

    fn power(collected: &LocalCollected) -> Vec<f64> {
        let store = &collected.store;
        let gpu = &store.sources()[0].gpus[0];
        gpu.samples(store.table().id("nvidia_power_usage").unwrap()).iter().map(|(_, value)| *value).collect()
    }

    #[test]
    fn gpus_are_read_before_the_start_at_the_start_and_at_the_end() {
        let heard = Arc::new(Heard::default());
        let collector = collector(FakeGpus::new(9), &heard, 60_000);
        collector.wait_until_read(|| false);
        let listener = collector.listener_until(|| false);
        [started(), done()].iter().for_each(&listener);
        let collected = collector.finish();
        assert_eq!(power(&collected), [1.0, 2.0, 3.0]);
        assert!(collected.errors.is_empty() && collected.file_failure.is_none());
        assert_eq!(*heard.snapshots.lock().unwrap(), 3);
    }

    #[test]
    fn nothing_is_read_once_a_stopped_phase_has_ended() {
        let heard = Arc::new(Heard::default());
        let collector = collector(FakeGpus::new(9), &heard, 60_000);
        let listener = collector.listener_until(|| true);
        [started(), done(), started()].iter().for_each(&listener);
        assert_eq!(power(&collector.finish()), [1.0, 2.0]);
    }

    #[test]
    fn a_gpu_that_is_lost_is_logged_once_and_the_others_go_on() {
        let heard = Arc::new(Heard::default());
        let collector = collector(FakeGpus::new(1), &heard, 60_000);
        let listener = collector.listener_until(|| false);
        [started(), done()].iter().for_each(&listener);
        let collected = collector.finish();
        assert_eq!(power(&collected), [1.0, 2.0, 3.0]);
        let logged = heard.logged.lock().unwrap();
        let lost = logged.iter().filter(|text| text.contains("GPU 1 (GPU-1) does not respond any more")).count();
        assert_eq!((lost, collected.errors.len(), collected.errors[0].count), (1, 1, 2), "{logged:?}");
    }

    #[test]
    fn a_driver_that_hangs_does_not_delay_the_run_and_loses_only_that_reading() {
        let heard = Arc::new(Heard::default());
        let (end, may_end) = mpsc::channel();
        end.send(()).unwrap();
        let collector = collector(FakeGpus { may_end: Some(may_end), ..FakeGpus::new(9) }, &heard, 200);
        collector.wait_until_read(|| false);
        collector.listener_until(|| false)(&done());
        let collected = collector.finish();
        assert_eq!(power(&collected), [1.0]);
        assert_eq!(collected.errors.len(), 1);
        assert!(heard.logged.lock().unwrap().iter().any(|text| text.contains("a reading did not end within 0.2 s")));
    }

    /// Takes lines until it is full.
    struct File(Arc<Mutex<Vec<u8>>>, usize);

    impl Write for File {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut taken = self.0.lock().unwrap();
            if taken.len() >= self.1 {
                return Err(io::Error::other("full"));
            }
            taken.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_reading_is_written_and_a_full_disk_ends_no_reading() {
        for (room, lines) in [(100, "2\n2\n2\n"), (4, "2\n2\n")] {
            let heard = Arc::new(Heard::default());
            let collector = collector(FakeGpus::new(9), &heard, 60_000);
            collector.wait_until_read(|| false);
            let taken = Arc::default();
            collector.write_to(Box::new(File(Arc::clone(&taken), room)));
            let listener = collector.listener_until(|| false);
            [started(), done()].iter().for_each(&listener);
            let collected = collector.finish();
            assert_eq!(String::from_utf8(taken.lock().unwrap().clone()).unwrap(), lines);
            assert_eq!((collected.file_failure.is_some(), power(&collected).len()), (room == 4, 3));
        }
    }
}
