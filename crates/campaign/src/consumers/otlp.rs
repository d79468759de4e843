//! Sends the measurements of a run by OTLP during the run, on a thread of its own. The run never waits for it. The end
//! of the program does, for a few seconds at most.

use super::shared::{self, Announced};
use super::{Consumer, ConsumerKind, Degraded, RunContext};
use crate::certificates;
use crate::written_run::WrittenRun;
use aiperf_engine::{Events, Heard, Interest, Stop, Subscription};
use aiperf_observe::Announce;
use aiperf_plan::redact::Redactor;
use aiperf_plan::{NamedFile, OtlpPlan, Plan};
use aiperf_report::otlp::{ExportResult, Exporting, Pacing, Receipt, Rejected};
use aiperf_transport::clock::mono_now;
use aiperf_transport::from_plan::{self, TlsError};
use aiperf_transport::{Fetcher, Identity, TlsSettings, Trust, fetch};
use aiperf_types::{LogLevel, MonoNs, Nanos, WallAnchor};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;

/// The time for the last exports after the end of a run.
const LAST: Nanos = Nanos(5_000_000_000);
/// How much of that time an export that hangs at the end may take, so that the last one gets a chance.
const HANGING: Nanos = Nanos(1_500_000_000);
/// How often the thread checks whether the run is over.
const LOOK: Duration = Duration::from_millis(50);
/// Responses are nearly empty.
const RESPONSE_LIMIT: usize = 1 << 20;

/// Files for TLS that cannot be used.
#[derive(Debug, Error)]
#[error(
    "{what} {} {fault}\n  metrics are sent to {url} over TLS\n  try: a file in PEM, or unset {what}", path.display()
)]
struct OtlpFileError {
    what: String,
    path: PathBuf,
    fault: String,
    url: String,
}

/// Rejects files that exports need and cannot use.
fn check(plan: &Plan) -> Result<(), OtlpFileError> {
    let Some(otlp) = plan.otlp.as_ref().filter(|otlp| otlp.url.server().is_tls()) else { return Ok(()) };
    let refuse = |file: &NamedFile, fault| {
        Err(OtlpFileError { what: file.name.clone(), path: file.path.clone(), fault, url: otlp.url.shown() })
    };
    let own = otlp.identity.as_ref().map(|own| &own.certificate);
    for file in [otlp.ca_file.as_ref(), own].into_iter().flatten() {
        if let Some(fault) = certificates::fault(&file.path) {
            return refuse(file, fault);
        }
    }
    match (&otlp.identity, tls(plan, otlp).config()) {
        (Some(own), Err(error)) => {
            let fault = match certificates::unreadable(&own.key.path) {
                Some(fault) => fault,
                None => format!("cannot be used with its certificate: {error}"),
            };
            refuse(&own.key, fault)
        }
        _ => Ok(()),
    }
}

fn tls(plan: &Plan, otlp: &OtlpPlan) -> TlsSettings {
    let trust = match &otlp.ca_file {
        Some(file) => Trust::File(file.path.clone()),
        None => from_plan::trust(&plan.endpoint.http),
    };
    let identity = otlp.identity.as_ref();
    let identity =
        identity.map(|own| Identity { certificate: own.certificate.path.clone(), key: own.key.path.clone() });
    TlsSettings::new(trust, false).with_identity(identity)
}

/// The end of the run, as the thread sees it.
#[derive(Clone)]
struct RunEnd {
    /// When the last data to send were complete, and whether the run had been stopped by then.
    ended: Arc<OnceLock<(MonoNs, bool)>>,
    stop: Stop,
}

impl RunEnd {
    fn signal(&self) {
        let _ = self.ended.set((mono_now(), self.stop.is_stopped()));
    }

    fn at(&self) -> Option<MonoNs> {
        self.ended.get().map(|(at, _)| *at)
    }

    /// Whether the user stops the wait for the last exports. The signal that stopped the run itself does not count.
    fn is_hurried(&self) -> bool {
        self.ended.get().is_some_and(|(_, was_stopped)| !was_stopped && self.stop.is_stopped())
    }
}

/// OTLP, as a consumer.
pub(super) const KIND: ConsumerKind = ConsumerKind {
    name: "OTLP",
    lost: "metrics are no longer sent by OTLP",
    check: |plan| Ok(check(plan)?),
    probe: |run| Ok(run.plan.otlp.is_some().then(|| Box::<OtlpExport>::default() as _)),
};

/// The handle of the thread. The run works without it.
#[derive(Default)]
struct OtlpExport {
    sending: Option<Sending>,
}

struct Sending {
    over: RunEnd,
    thread: JoinHandle<()>,
}

impl Consumer for OtlpExport {
    /// Starts to send: sums count from the start of the run.
    fn snapshot(&mut self, run: &RunContext, events: &mut Events) {
        let Some(otlp) = &run.plan.otlp else { return };
        self.sending = shared::started(Sending::start(run, otlp, events), "metrics are not sent by OTLP", &run.events);
        if self.sending.is_some() {
            let text = format!("Metrics are sent by OTLP to {} every {} s", otlp.url.shown(), otlp.every.as_secs_f64());
            run.events.say(LogLevel::Info, text);
        }
    }

    /// The last exports happen while files are written.
    fn ended(&mut self, _run: &RunContext) {
        self.sending.iter().for_each(|sending| sending.over.signal());
    }

    /// Waits until the last export is sent or given up, or until the user stops the program.
    fn close(mut self: Box<Self>, run: &RunContext, _finished: Option<&WrittenRun>) -> Result<(), Degraded> {
        self.ended(run);
        let Some(Sending { thread, .. }) = self.sending else { return Ok(()) };
        thread.join().map_err(|_| Degraded::by("the thread that sends them failed"))
    }
}

impl Sending {
    fn start(run: &RunContext, otlp: &OtlpPlan, events: &mut Events) -> Result<Self, String> {
        let over = RunEnd { ended: Arc::default(), stop: run.stop.clone() };
        let mut sender = Sender::new(run, otlp, over.clone()).map_err(|error| error.to_string())?;
        // Twice as often as exports, so that exported values are not old.
        let histograms_every = otlp.metrics.then_some(Nanos(otlp.every.0 / 2));
        let heard = events.subscribe(Interest { progress: otlp.timing, histograms_every, ..Interest::default() });
        let thread = std::thread::Builder::new().name("aiperf-otlp".to_owned());
        let thread = thread.spawn(move || sender.run(heard)).map_err(|error| error.to_string())?;
        Ok(Self { over, thread })
    }
}

/// The state of the thread.
struct Sender {
    exporting: Exporting,
    pacing: Pacing,
    fetcher: Fetcher,
    call: fetch::Call,
    timeout: Nanos,
    redactor: Arc<Redactor>,
    anchor: WallAnchor,
    over: RunEnd,
    log: OtlpLog,
}

impl Sender {
    fn new(run: &RunContext, otlp: &OtlpPlan, over: RunEnd) -> Result<Self, TlsError> {
        let RunContext { plan, events, redactor, version, .. } = run;
        let (now, anchor) = (mono_now(), events.anchor());
        let exporting = Exporting::new(plan, otlp, version, anchor, now);
        let server = otlp.url.server();
        let mut headers = exporting.headers();
        headers.push(("User-Agent".to_owned(), format!("aiperf/{version}")));
        let is_given = |name: &str| otlp.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        headers.retain(|(name, _)| !is_given(name));
        if let Some(credentials) = server.credentials().filter(|_| !is_given("authorization")) {
            headers.push(("Authorization".to_owned(), credentials.basic()));
        }
        headers.extend(otlp.headers.iter().cloned());
        Ok(Self {
            exporting,
            pacing: Pacing::new(otlp.every, now),
            fetcher: from_plan::fetcher(plan)?.with_tls(tls(plan, otlp)),
            call: fetch::Call {
                method: "POST",
                origin: server.into(),
                path: otlp.url.path().to_owned(),
                headers,
                body: Default::default(),
                timeout: Duration::from_nanos(otlp.timeout.0),
                size_limit: RESPONSE_LIMIT,
                follows_redirects: false,
            },
            timeout: otlp.timeout,
            anchor,
            redactor: redactor.clone(),
            over,
            log: OtlpLog {
                to: Announced::to(events, redactor),
                url: otlp.url.shown(),
                failed: 0,
                has_warned_of_exports: false,
                has_warned_of_points: false,
                has_warned_of_unreadable: false,
            },
        })
    }

    fn run(&mut self, mut heard: Subscription) {
        while self.over.at().is_none() {
            let left = Duration::from_nanos(self.pacing.next().since(mono_now()).0);
            match heard.next_within(left.min(LOOK)) {
                Heard::Event(event) => self.exporting.hear(&event),
                Heard::Nothing => {}
                Heard::End => break,
            }
            let now = mono_now();
            if now >= self.pacing.next() && self.over.at().is_none() {
                self.export(now);
            }
        }
        while let Heard::Event(event) = heard.next_within(Duration::ZERO) {
            self.exporting.hear(&event);
        }
        self.send_last();
    }

    /// Sends the current values. Gives up if the run ends meanwhile and the receiver does not respond.
    fn export(&mut self, now: MonoNs) {
        let Some(body) = self.exporting.body(now) else { return self.pacing.settled(now) };
        let over = self.over.clone();
        let is_over = || over.is_hurried() || over.at().is_some_and(|at| mono_now().since(at) > HANGING);
        let result = self.send(body, self.timeout, is_over);
        self.pace(&result);
        self.log.result(&result);
    }

    /// Sends the last values, with retries until they are accepted or the time is up.
    fn send_last(&mut self) {
        let (over, end) = (self.over.clone(), self.over.at().unwrap_or_else(mono_now).plus(LAST));
        loop {
            let now = mono_now();
            let Some(body) = self.exporting.body(now) else { return };
            let result = self.send(body, self.timeout.min(end.since(now)), || over.is_hurried());
            self.pace(&result);
            if let ExportResult::Taken(_) | ExportResult::Refused { .. } = result {
                return self.log.last_result(&result);
            }
            if over.is_hurried() {
                return self.log.interrupted(&result);
            }
            if self.pacing.next() >= end {
                return self.log.last_result(&result);
            }
            while mono_now() < self.pacing.next() {
                if over.is_hurried() {
                    return self.log.interrupted(&result);
                }
                std::thread::sleep(LOOK.min(Duration::from_nanos(self.pacing.next().since(mono_now()).0)));
            }
        }
    }

    fn send(&self, body: Vec<u8>, timeout: Nanos, is_over: impl Fn() -> bool) -> ExportResult {
        let timeout = Duration::from_nanos(timeout.0);
        let call = fetch::Call { body: body.into(), timeout, ..self.call.clone() };
        let called = self.fetcher.call(&call, is_over);
        ExportResult::of(called, self.anchor.wall(mono_now()), &self.redactor)
    }

    fn pace(&mut self, result: &ExportResult) {
        let now = mono_now();
        match result {
            ExportResult::Later { after, .. } => self.pacing.put_off(now, *after),
            ExportResult::Taken(_) | ExportResult::Refused { .. } => self.pacing.settled(now),
        }
    }
}

/// Logs the results of exports: the first failure of a kind as a warning, the others at debug level.
struct OtlpLog {
    to: Arc<Announced>,
    url: String,
    /// Failed exports since the last success.
    failed: u64,
    has_warned_of_exports: bool,
    has_warned_of_points: bool,
    has_warned_of_unreadable: bool,
}

impl OtlpLog {
    fn result(&mut self, result: &ExportResult) {
        match result {
            ExportResult::Taken(receipt) => {
                if self.failed > 0 {
                    self.to
                        .say(LogLevel::Info, "the OTLP receiver accepts metrics again, and has all of them".to_owned());
                }
                self.failed = 0;
                self.receipt(receipt);
            }
            ExportResult::Later { why, .. } => {
                self.failed += 1;
                let then = "the run goes on, and later exports contain everything";
                self.warn_of_export(format!("metrics could not be sent by OTLP to {}: {why}; {then}", self.url));
            }
            ExportResult::Refused { why } => {
                self.failed += 1;
                let then = "the run goes on; check the address, headers and certificates";
                self.warn_of_export(format!("metrics could not be sent by OTLP to {}: {why}; {then}", self.url));
            }
        }
    }

    /// The result of the last export, which a signal interrupted.
    fn interrupted(&mut self, result: &ExportResult) {
        self.to.say(LogLevel::Debug, "a signal interrupted the last export by OTLP".to_owned());
        self.last_result(result);
    }

    /// The result of the last export.
    fn last_result(&mut self, result: &ExportResult) {
        match result {
            ExportResult::Taken(receipt) => self.receipt(receipt),
            ExportResult::Later { why, .. } | ExportResult::Refused { why } => {
                self.warn_of_export(format!("the last metrics could not be sent by OTLP to {}: {why}", self.url));
            }
        }
    }

    fn receipt(&mut self, receipt: &Receipt) {
        match receipt {
            Receipt::Whole => {}
            Receipt::Part(Rejected { points, why }) => {
                let why = if why.is_empty() { String::new() } else { format!(": {why}") };
                let text = format!("the OTLP receiver {} did not take {points} data points{why}", self.url);
                let level = first_is_warning(&mut self.has_warned_of_points);
                self.to.say(level, text);
            }
            Receipt::Unreadable => {
                let text = format!(
                    "the OTLP receiver {} returns 200 without an OTLP message: it is unknown whether it accepted all data \
                     points",
                    self.url
                );
                let level = first_is_warning(&mut self.has_warned_of_unreadable);
                self.to.say(level, text);
            }
        }
    }

    fn warn_of_export(&mut self, text: String) {
        let level = first_is_warning(&mut self.has_warned_of_exports);
        self.to.say(level, text);
    }
}

/// A warning the first time, debug level afterwards.
fn first_is_warning(has_warned: &mut bool) -> LogLevel {
    if std::mem::replace(has_warned, true) { LogLevel::Debug } else { LogLevel::Warning }
}
