//! One run with its log, its screen and its API: alone, or as one of several.

use crate::api::{self, Api, BindError, Bound, Staying};
use crate::dashboard::{self, Canvas, Dashboard};
use crate::exit::{self, Exit};
use crate::junit::JunitFile;
use crate::log_file::LogFile;
use crate::progress::{Bar, ProgressLines};
use crate::screen::Screen;
use crate::signals::{OnScreen, Signals};
use crate::terminal;
use aiperf_campaign::limits::{junit_cases, junit_properties};
use aiperf_campaign::{Campaign, CampaignError, Interest, JudgedLimit, Subscription, Verdict, WrittenRun};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{LogLevel, Plan, RuntimePlan, UiKind};
use aiperf_report::{ExitError, LogLines, Page, exit_panel, footer, report};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs a plan and reports on it. `notes` are messages of the configuration.
pub(super) fn run(plan: Plan, junit: Option<&Path>, notes: &[String], signals: &Signals) -> Exit {
    let (redactor, dir) = (Arc::new(plan.redactor()), plan.artifacts.dir.clone());
    let limits = plan.metrics.limits.clone();
    let junit = match JunitFile::begin_where_wanted(junit, &plan) {
        Ok(junit) => junit,
        Err(text) => {
            exit::complain(&redactor, &text);
            return Exit::Usage;
        }
    };
    let port = match bind(&plan) {
        Ok(port) => port,
        Err(text) => {
            exit::complain(&redactor, &text);
            return Exit::Usage;
        }
    };
    let profiled = CampaignError::catch(|| profile(plan, notes, signals, redactor.clone(), port));
    let ServedRun { finished, log, api } = match profiled {
        Ok(profiled) => profiled,
        Err(error) => {
            exit::complain(&redactor, &error);
            let exit = exit_of(&error, signals);
            if exit == Exit::Usage {
                return exit;
            }
            signals.run_is_over(exit);
            let cases = || junit_cases(&[], Some(&error.to_string()), &limits, None, None);
            return junit.map_or(exit, |junit| junit.write(&[], cases(), exit, &redactor));
        }
    };
    let exit = verdict(&finished, &log, signals);
    signals.run_is_over(exit);
    let mut exit = reported(&finished, &log, &dir, exit, &redactor);
    if let Some(junit) = junit {
        let verdict = own_verdict(&finished);
        let failure = why_failed(&finished, exit);
        let cases = junit_cases(&[], failure.as_deref(), &limits, judged(&finished), verdict);
        exit = junit.write(&junit_properties(verdict), cases, exit, &redactor);
    }
    if let Some(api) = api {
        stay(api, signals, &redactor);
    }
    exit
}

/// The exit code after an error of a run.
pub(super) fn exit_of(error: &CampaignError, signals: &Signals) -> Exit {
    match signals.number() {
        Some(number) => Exit::Signal(number),
        None if error.is_input() => Exit::Usage,
        None => Exit::Failed,
    }
}

/// Binds the port of the API, if the plan has one. A port that cannot be bound is an error if the plan requires it.
pub(super) fn bind(plan: &Plan) -> Result<Option<Result<Bound, BindError>>, String> {
    let Some(api) = &plan.runtime.api else { return Ok(None) };
    match Bound::new(api) {
        Err(error) if api.is_required => {
            Err(format!("{error}\n  try: another --api-port, or --api-host with an address of this machine"))
        }
        port => Ok(Some(port)),
    }
}

/// Keeps the API up, so that clients can fetch the results, unless a signal came.
pub(super) fn stay(api: Staying, signals: &Signals, redactor: &Redactor) {
    let is_unwanted = || signals.number().is_some();
    if is_unwanted() {
        return api.end(is_unwanted);
    }
    if !api.stays().is_zero() {
        let seconds = api.stays().as_secs_f64();
        exit::write_message("note", redactor, &format!("the live API stays for {seconds} s; Ctrl-C ends it"));
    }
    api.stay(is_unwanted);
}

/// Limit verdicts, if the run has results.
fn judged(finished: &WrittenRun) -> Option<&[JudgedLimit]> {
    let has_results = !finished.nothing_answered && !finished.given_up && !finished.was_stopped;
    has_results.then_some(&finished.result.judged[..])
}

/// The verdict of a run on its own numbers, if it has any.
fn own_verdict(finished: &WrittenRun) -> Option<&Verdict> {
    finished.result.verdict().filter(|_| !finished.nothing_answered)
}

/// Why a run counts as failed, in one sentence.
fn why_failed(finished: &WrittenRun, exit: Exit) -> Option<String> {
    let written = &finished.written;
    match exit {
        Exit::Success | Exit::LimitBroken => None,
        Exit::Signal(_) => Some("the run was stopped before it was complete".to_owned()),
        _ if finished.given_up => finished.result.incomplete_reason.clone(),
        _ if finished.nothing_answered && finished.result.metrics.failed > 0 => {
            Some(format!("all {} requests failed", finished.result.metrics.failed))
        }
        _ if finished.nothing_answered => Some("no request got a response".to_owned()),
        _ if finished.result.has_lost_records => finished.result.incomplete_reason.clone(),
        _ => {
            let first = written.failures.first().map(|failure| failure.error.to_string());
            Some(first.unwrap_or_else(|| "not everything could be written".to_owned()))
        }
    }
}

/// The exit code of a run, by its files. A signal that came after the end of the run stopped nothing: `was_stopped`
/// decides both `was_cancelled` and this.
pub(super) fn verdict(finished: &WrittenRun, log: &Log, signals: &Signals) -> Exit {
    match signals.number().filter(|_| finished.was_stopped) {
        Some(number) => Exit::Signal(number),
        None if finished.has_failed() || log.failed => Exit::Failed,
        None if finished.result.judged.iter().any(JudgedLimit::fails) => Exit::LimitBroken,
        None => Exit::Success,
    }
}

/// Prints the report of a run, and returns the exit code: `exit`, unless the report cannot be written.
pub(super) fn reported(finished: &WrittenRun, log: &Log, dir: &Path, exit: Exit, redactor: &Redactor) -> Exit {
    let text = shown(finished, log.path.as_deref().filter(|path| path.exists()));
    if let Exit::Signal(_) = exit {
        terminal::print_patiently(text);
        return exit;
    }
    let Err(error) = terminal::try_print(&text) else { return exit };
    let dir = dir.display();
    let text = format!("cannot write the report to stdout: {error}\n  the files of the run are in {dir}");
    exit::complain(redactor, &text);
    Exit::Failed
}

/// The log of a run: its path if it exists, and whether a write failed.
pub(super) struct Log {
    path: Option<PathBuf>,
    failed: bool,
}

/// A finished run, its log, and the API that still serves it.
pub(super) struct ServedRun {
    pub(super) finished: WrittenRun,
    pub(super) log: Log,
    api: Option<Staying>,
}

impl ServedRun {
    /// Why its results cannot be used, even if there are some.
    pub(super) fn why_failed(&self) -> Option<String> {
        let unwritten: Vec<&str> = self.finished.written.failures.iter().map(|failure| failure.exporter).collect();
        match () {
            () if self.finished.given_up || self.finished.result.has_lost_records => {
                self.finished.result.incomplete_reason.clone()
            }
            () if !unwritten.is_empty() => Some(format!("not all of it could be written: {}", unwritten.join(", "))),
            () if self.log.failed => Some("its log could not be written".to_owned()),
            () => None,
        }
    }
}

/// A campaign of one run, with its consumers.
fn profile(
    plan: Plan,
    notes: &[String],
    signals: &Signals,
    redactor: Arc<Redactor>,
    port: Option<Result<Bound, BindError>>,
) -> Result<ServedRun, CampaignError> {
    let mut campaign = Campaign::new(env!("CARGO_PKG_VERSION"), signals.stop(), redactor.clone());
    // Subscribed before the screen, which shows the same events.
    let watched = port.map(|port| port.map(|port| (port, campaign.subscribe(api::interest()))));
    let listening = Listening::start(&mut campaign, &plan, notes, signals, &redactor);
    let dir = plan.artifacts.dir.clone();
    let api = watched
        .and_then(|watched| serve_api(watched, &plan, &dir, &redactor, &|level, text| campaign.say(level, text)));
    api.iter().for_each(|api| campaign.serve_with(api.runs()));
    let (finished, log) = listening.run(campaign, plan, || {});
    let api = api.map(Api::complete);
    match finished {
        Ok(finished) => Ok(ServedRun { finished, log, api }),
        Err(error) => {
            api.into_iter().for_each(|api| api.end(|| true));
            Err(error)
        }
    }
}

/// One run of several, with its own log and screen. Calls `is_prepared` right before it starts.
pub(super) fn one_of_many(
    mut campaign: Campaign,
    plan: Plan,
    notes: &[String],
    signals: &Signals,
    redactor: &Arc<Redactor>,
    is_prepared: impl FnOnce(),
) -> Result<ServedRun, CampaignError> {
    let listening = Listening::start(&mut campaign, &plan, notes, signals, redactor);
    let (finished, log) = listening.run(campaign, plan, is_prepared);
    finished.map(|finished| ServedRun { finished, log, api: None })
}

/// Consumers of a run: its log and its screen.
struct Listening<'a> {
    lines: LogLines,
    logged: Subscription,
    screen: Screen,
    signals: &'a Signals,
    redactor: &'a Redactor,
}

impl<'a> Listening<'a> {
    fn start(
        campaign: &mut Campaign,
        plan: &Plan,
        notes: &[String],
        signals: &'a Signals,
        redactor: &'a Arc<Redactor>,
    ) -> Self {
        // The dashboard shows statistics itself, so the log gets none.
        let metrics_every = plan.runtime.stats_interval.filter(|_| plan.runtime.ui != UiKind::Dashboard);
        let lines = LogLines::new(plan.runtime.log_level, metrics_every, redactor.clone());
        let logged = campaign.subscribe(Interest { metrics_every, ..Interest::default() });
        let screen = show(&plan.runtime, notes, lines.clone(), campaign, signals);
        Self { lines, logged, screen, signals, redactor }
    }

    /// Runs a plan from its preparation to its files, and waits until all events are logged and shown.
    fn run(
        self,
        campaign: Campaign,
        plan: Plan,
        is_prepared: impl FnOnce(),
    ) -> (Result<WrittenRun, CampaignError>, Log) {
        let Self { lines, logged, screen, signals, redactor } = self;
        let mut log = None;
        let finished = campaign.prepare(plan).and_then(|prepared| {
            is_prepared();
            // The log is in the artifact directory, which exists once the run is prepared.
            let path = prepared.log_file();
            match LogFile::start(&path, lines, logged) {
                Ok(file) => log = Some((file, path)),
                Err(error) => campaign.say(LogLevel::Warning, &format!("cannot write {}: {error}", path.display())),
            }
            campaign.run(prepared)
        });
        // Consumers end with the campaign.
        drop(campaign);
        screen.finish(signals);
        let mut written = Log { path: None, failed: false };
        if let Some((log, path)) = log {
            if let Err(error) = LogFile::finish(log) {
                exit::write_message("warning", redactor, &format!("cannot write {}: {error}", path.display()));
                written.failed = true;
            }
            written.path = Some(path);
        }
        (finished, written)
    }
}

/// Starts the API on the bound port; logs its URL, or why it cannot start.
pub(super) fn serve_api(
    port: Result<(Bound, Subscription), BindError>,
    plan: &Plan,
    dir: &Path,
    redactor: &Arc<Redactor>,
    log: &dyn Fn(LogLevel, &str),
) -> Option<Api> {
    let warn = |text: String| log(LogLevel::Warning, &text);
    let without = "the run goes on without it";
    let (port, events) = port.map_err(|error| warn(format!("{error}; {without}"))).ok()?;
    let (url, is_open) = (port.url(), port.is_open());
    match port.start(plan, dir, redactor.clone(), events) {
        Ok(api) => {
            log(LogLevel::Notice, &format!("Live API at {url}"));
            if is_open {
                warn("the live API serves everyone who can reach this machine, without a password: the configuration, and all \
                      files below the artifact directory"
                    .to_owned());
            }
            Some(api)
        }
        Err(error) => {
            warn(format!("the live API cannot be started: {error}; {without}"));
            None
        }
    }
}

/// Starts to show the run in the way that the plan asks for, or a simpler one if the terminal does not allow it.
fn show(
    runtime: &RuntimePlan,
    notes: &[String],
    lines: LogLines,
    campaign: &mut Campaign,
    signals: &Signals,
) -> Screen {
    let log_notes = |campaign: &Campaign| notes.iter().for_each(|note| campaign.say(LogLevel::Notice, note));
    let canvas = (runtime.ui == UiKind::Dashboard).then(Canvas::open);
    if let Some(Ok(canvas)) = canvas {
        signals.take_away(OnScreen::Dashboard(canvas.clone()));
        let events = campaign.subscribe(dashboard::interest(runtime));
        log_notes(campaign);
        return Dashboard::start(canvas, lines, runtime, events);
    }
    // The screen shows the notes already: it subscribes only after this.
    log_notes(campaign);
    let with_bar = runtime.ui != UiKind::None;
    let metrics_every = runtime.stats_interval.filter(|_| runtime.ui != UiKind::Dashboard);
    let progress_every = runtime.progress_every.filter(|_| runtime.log_level <= LogLevel::Info);
    let progress = with_bar || progress_every.is_some();
    let events = campaign.subscribe(Interest { progress, metrics_every, ..Interest::default() });
    if let Some(Err(error)) = canvas {
        campaign.say(LogLevel::Warning, &format!("showing simple progress instead of the dashboard: {error}"));
    }
    let bar = with_bar.then(|| Bar::new(runtime.bar_step_percent));
    if let Some(bar) = &bar {
        signals.take_away(OnScreen::Bar(bar.clone()));
    }
    Screen::start(lines, bar, progress_every.map(ProgressLines::every), events)
}

/// Width of a panel without a terminal.
const PANEL_COLUMNS: usize = 80;

/// The report, the files and, if no request succeeded, why that is a failure.
fn shown(finished: &WrittenRun, log: Option<&Path>) -> String {
    let screen = terminal::stdout_page();
    let page = screen.unwrap_or_else(|| terminal::piped_page(Page::of_file(&finished.result.artifacts)));
    let mut text = report(&finished.result, page);
    text.push('\n');
    text.push_str(&footer(&finished.result, &finished.written.files, page));
    let mut errors = Vec::new();
    if finished.nothing_answered && (!finished.was_stopped || finished.given_up) {
        let result = &finished.result;
        let error = match result.metrics.failed {
            0 => ExitError::nothing_answered(),
            _ => ExitError::all_requests_failed(result),
        };
        errors.push(error);
    }
    errors.extend(finished.written.failures.iter().map(|failure| ExitError::not_written(&failure.error)));
    text.push_str(&exit_panel(&errors, log, screen.unwrap_or(Page::plain(PANEL_COLUMNS))));
    text
}
