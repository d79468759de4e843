//! `aiperf profile` with several runs: trials of one benchmark, or a sweep over its settings.

use super::one_run;
use crate::allocator;
use crate::api::{self, Api, BindError, Bound};
use crate::exit::{self, Exit};
use crate::junit::JunitFile;
use crate::log_file::LogFile;
use crate::screen::Printer;
use crate::signals::Signals;
use crate::terminal;
use aiperf_campaign::aggregate::{RunOutcome, RunRecords};
use aiperf_campaign::limits::{judge_outcome, junit_cases, junit_properties};
use aiperf_campaign::runs::{
    self, ChangedError, CompletedRun, Driven, Resumed, RunIn, drive, resume, strategy, worth_keeping,
};
use aiperf_campaign::{Campaign, CampaignError, Interest, JudgedLimit, Subscription, Verdict, certainty, gather};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{CampaignPlan, Cell, FileNames, LogLevel, Plan, RunId};
use aiperf_report::{JunitCase, LogLine, LogLines, Page, RunsFolder, limit_line};
use aiperf_types::Nanos;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a stop request is checked during a cooldown.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs that a line names one by one.
const NAMED: usize = 4;

/// Runs the whole campaign and reports on it. `notes` are messages of the configuration.
pub(super) fn run(mut plan: CampaignPlan, notes: &[String], signals: &Signals) -> Exit {
    let redactor = Arc::new(plan.redactor());
    let ready = match make_ready(&plan, &redactor) {
        Ok(ready) => ready,
        Err(text) => {
            exit::complain(&redactor, &text);
            return Exit::Usage;
        }
    };
    let Ready { folder, resumed, port, junit } = ready;
    plan.id = resumed.id.clone().or(plan.id);
    let campaign = Campaign::new(env!("CARGO_PKG_VERSION"), signals.stop(), redactor.clone());
    let mut campaign = campaign.of_several_runs();
    let lines = LogLines::new(plan.base.runtime.log_level, None, redactor.clone());
    let unbegun = Unbegun { lines, events: campaign.subscribe(Interest::default()) };
    let watched = port.map(|port| port.map(|port| (port, campaign.subscribe(api::interest()))));
    let mut runner = Runner {
        plan: &plan,
        campaign,
        notes,
        signals,
        redactor: redactor.clone(),
        folder,
        unbegun: Some(unbegun),
        log: None,
        api: None,
        refused: None,
        was_stopped: false,
    };
    runner.api = watched.and_then(|watched| {
        let log = |level, text: &str| runner.log(level, text);
        one_run::serve_api(watched, &first_run(&plan), &plan.dir, &redactor, &log)
    });
    if let Some(api) = &runner.api {
        runner.campaign.serve_with(api.runs());
    }
    let mut strategy = strategy(&plan);
    let most = strategy.most();
    gather::opening(&plan, most).iter().for_each(|line| runner.log(LogLevel::Info, line));
    resumed.notes.iter().for_each(|note| runner.log(LogLevel::Warning, note));
    if let Some(most) = most.filter(|_| plan.resumes) {
        let there = resumed.done.len();
        runner.log(LogLevel::Info, &format!("{there} of at most {most} runs are complete already"));
    }
    let Driven { runs: done, is_complete, error } = drive(&plan, &mut *strategy, resumed.done, &mut runner);
    // A signal after the end of the last run stopped nothing.
    let signal = signals.number().filter(|_| runner.was_stopped || !is_complete);
    if let Some(error) = runner.refused.take() {
        end_api(runner);
        exit::complain(&redactor, &error);
        let exit = one_run::exit_of(&error, signals);
        if exit == Exit::Usage {
            return exit;
        }
        let cases = || junit_of_all(&plan, &done, &judge(&done));
        return junit.map_or(exit, |junit| junit.write(&junit_properties(verdicts(&done)), cases(), exit, &redactor));
    }
    runner.begin();
    error.iter().for_each(|error| runner.log(LogLevel::Error, &error.to_string()));
    // On a terminal the table was printed after each run; a pipe gets it once.
    if terminal::stdout_columns().is_none() {
        runner.print_table(&done, terminal::piped_page(Page::of_file(&plan.base.artifacts)));
    }
    let gathered = gather::gather(&plan, env!("CARGO_PKG_VERSION"), &done, most, signal.is_some());
    gathered.lines.iter().for_each(|(level, line)| runner.log(*level, line));
    let judged = judge(&done);
    about_limits(&plan, &done, &judged).iter().for_each(|(level, line)| runner.log(*level, line));
    let (log, api) = (runner.log.take(), runner.api.take());
    // Consumers end with the campaign.
    drop(runner);
    let log = log.map_or(Ok(()), LogFile::finish);
    if let Err(error) = &log {
        exit::write_message("warning", &redactor, &format!("cannot write {}: {error}", log_path(&plan).display()));
    }
    let is_crossed = judged.iter().flatten().flatten().any(JudgedLimit::fails);
    let exit = match signal {
        Some(number) => Exit::Signal(number),
        None if !gathered.has_enough || !gathered.failures.is_empty() || log.is_err() => Exit::Failed,
        None if error.is_some() => Exit::Failed,
        None if is_crossed => Exit::LimitBroken,
        None => Exit::Success,
    };
    signals.run_is_over(exit);
    let exit = junit.map_or(exit, |junit| {
        let (properties, cases) = (junit_properties(verdicts(&done)), junit_of_all(&plan, &done, &judged));
        junit.write(&properties, cases, exit, &redactor)
    });
    if let Some(api) = api {
        one_run::stay(api.complete(), signals, &redactor);
    }
    exit
}

/// The limits of every run, including those of an earlier command; none for a run that failed for another reason.
fn judge(done: &[CompletedRun]) -> Vec<Option<Vec<JudgedLimit>>> {
    done.iter().map(|ran| judge_outcome(&ran.cell.plan.metrics.limits, &ran.outcome)).collect()
}

/// A log line for each limit that a run crossed, after a summary.
fn about_limits(
    plan: &CampaignPlan,
    done: &[CompletedRun],
    judged: &[Option<Vec<JudgedLimit>>],
) -> Vec<(LogLevel, String)> {
    let name = |ran: &CompletedRun| plan.name(&ran.cell, ran.run.trial);
    let of_runs = done.iter().zip(judged).filter_map(|(ran, judged)| Some((name(ran), judged.as_ref()?)));
    let all: Vec<(String, &JudgedLimit)> =
        of_runs.flat_map(|(name, judged)| judged.iter().map(move |judged| (name.clone(), judged))).collect();
    let failed: Vec<_> = all.iter().filter(|(_, judged)| judged.fails()).collect();
    let level = if failed.is_empty() { LogLevel::Info } else { LogLevel::Warning };
    let count = format!("Limits kept: {} of {}, over all runs", all.len() - failed.len(), all.len());
    let head = (!all.is_empty()).then_some((level, count));
    let each = failed.iter().map(|(name, judged)| (LogLevel::Warning, format!("{name}: {}", limit_line(judged))));
    let doubt = head.as_ref().and_then(|_| about_verdicts(plan, done)).map(|line| (LogLevel::Warning, line));
    head.into_iter().chain(each).chain(doubt).collect()
}

/// The verdicts of runs on their own numbers.
fn verdicts(done: &[CompletedRun]) -> impl Iterator<Item = &Verdict> {
    done.iter().filter_map(|ran| ran.outcome.certainty.verdict.as_ref())
}

/// The runs whose numbers are not trustworthy, in one line.
fn about_verdicts(plan: &CampaignPlan, done: &[CompletedRun]) -> Option<String> {
    let named = done.iter().filter_map(|ran| {
        let verdict = ran.outcome.certainty.verdict.as_ref().filter(|verdict| !verdict.is_trustworthy())?;
        Some(format!("{} is {}", plan.name(&ran.cell, ran.run.trial), verdict.in_words()))
    });
    let mut named: Vec<String> = named.collect();
    let count = named.len();
    if count > NAMED {
        named.truncate(NAMED);
        named.push(format!("{} more", count - NAMED));
    }
    let (all, runs) = (done.len(), named.join("; "));
    (count > 0).then(|| format!("The numbers of {count} of {all} runs are not trustworthy: {runs}"))
}

/// The JUnit cases of all runs.
fn junit_of_all(plan: &CampaignPlan, done: &[CompletedRun], judged: &[Option<Vec<JudgedLimit>>]) -> Vec<JunitCase> {
    let one = |(ran, judged): (&CompletedRun, &Option<Vec<JudgedLimit>>)| {
        let limits = &ran.cell.plan.metrics.limits;
        let failure = ran.outcome.result.as_ref().err().map(String::as_str);
        junit_cases(&place(plan, ran), failure, limits, judged.as_deref(), ran.outcome.certainty.verdict.as_ref())
    };
    done.iter().zip(judged).flat_map(one).collect()
}

/// The place of a run in the campaign, as the names of its folders.
fn place(plan: &CampaignPlan, ran: &CompletedRun) -> Vec<String> {
    let cell = plan.sweep.is_some().then(|| ran.cell.name.clone());
    let trial = (plan.trials.count > 1).then(|| plan.label(ran.run.trial));
    cell.into_iter().chain(trial).collect()
}

/// The directory of all runs, claimed for them, and the runs that it already contains.
struct Ready {
    folder: RunsFolder,
    resumed: Resumed,
    port: Option<Result<Bound, BindError>>,
    junit: Option<JunitFile>,
}

/// Ends the API of a campaign that started no run.
fn end_api(mut runner: Runner<'_>) {
    let api = runner.api.take();
    drop(runner);
    api.into_iter().for_each(|api| api.complete().end(|| true));
}

/// Checks every run before the first one starts; returns an error if one cannot run.
fn make_ready(plan: &CampaignPlan, redactor: &Redactor) -> Result<Ready, String> {
    if plan.listed.is_empty() {
        Campaign::check(&plan.base).map_err(|error| error.to_string())?;
    }
    for cell in &plan.listed {
        Campaign::check(&cell.plan).map_err(|error| format!("{error}\n  in the run {}", cell.label))?;
    }
    let junit = JunitFile::begin_where_wanted(plan.junit.as_deref(), &plan.base)?;
    runs::check(plan).map_err(|error| error.to_string())?;
    let folder = RunsFolder::take(&plan.dir).map_err(|error| error.to_string())?;
    let resumed = match plan.resumes {
        true => resume(plan, redactor).map_err(|error| error.to_string())?,
        false => Resumed::default(),
    };
    let port = one_run::bind(&plan.base)?;
    Ok(Ready { folder, resumed, port, junit })
}

/// The run that the API shows until the first one starts, if it is known.
fn first_run(plan: &CampaignPlan) -> Plan {
    plan.listed.first().map_or_else(|| plan.base.clone(), |cell| plan.run(cell, 0))
}

fn log_path(plan: &CampaignPlan) -> PathBuf {
    plan.dir.join(FileNames::LOG)
}

/// The log of the campaign before the first run starts. Until then, the file of an earlier command is kept.
struct Unbegun {
    lines: LogLines,
    events: Subscription,
}

/// Executes one run after the other, each with its consumers.
struct Runner<'a> {
    plan: &'a CampaignPlan,
    campaign: Campaign,
    notes: &'a [String],
    signals: &'a Signals,
    redactor: Arc<Redactor>,
    folder: RunsFolder,
    unbegun: Option<Unbegun>,
    log: Option<LogFile>,
    api: Option<Api>,
    /// Why the first run could not start.
    refused: Option<CampaignError>,
    /// Whether a signal ended a run before it was complete.
    was_stopped: bool,
}

impl Runner<'_> {
    /// Called when it is certain that a run will start. Removes the summary files of an earlier command.
    fn begin(&mut self) {
        let Some(Unbegun { lines, events }) = self.unbegun.take() else { return };
        if let Err(error) = gather::remove_stale(self.plan, &self.folder) {
            self.log(LogLevel::Warning, &error.to_string());
        }
        let path = log_path(self.plan);
        match LogFile::start(&path, lines, events) {
            Ok(log) => self.log = Some(log),
            Err(error) => self.log(LogLevel::Warning, &format!("cannot write {}: {error}", path.display())),
        }
    }

    /// Called when a run is about to start.
    fn begin_run(&mut self, cell: &Cell) {
        self.begin();
        if cell.index >= self.plan.listed.len()
            && let Err(error) = gather::remove_stale_cell(self.plan, cell, &self.folder)
        {
            self.log(LogLevel::Warning, &error.to_string());
        }
    }

    /// Writes a line to the log of the campaign and to the screen.
    fn log(&self, level: LogLevel, text: &str) {
        self.campaign.say(level, text);
        if level >= self.plan.base.runtime.log_level {
            Printer::new().print(&LogLine { at: self.campaign.now(), level, text: text.into() });
        }
    }

    fn print_table(&self, done: &[CompletedRun], page: Page) {
        if let Some(table) = gather::table_so_far(self.plan, done, page) {
            terminal::print(&table);
        }
    }

    /// Whether the values of single requests are needed after a run.
    fn keeps_values(&self, cell: &Cell) -> bool {
        worth_keeping(self.plan, cell, RunRecords::default()).is_some()
    }

    /// The notes of the configuration, which are shown with the first run.
    fn notes(&self) -> &[String] {
        if self.unbegun.is_some() { self.notes } else { &[] }
    }
}

impl RunIn for Runner<'_> {
    fn run(&mut self, run: RunId, cell: &Arc<Cell>, plan: Plan) -> CompletedRun {
        let label = self.plan.label(run.trial);
        let name = self.plan.name(cell, run.trial);
        self.log(LogLevel::Info, &format!("[v{} t{}] Executing {name}...", run.cell, run.trial));
        let dir = plan.artifacts.dir.clone();
        let campaign = self.campaign.for_run(self.keeps_values(cell));
        let (notes, signals, redactor) = (self.notes().to_vec(), self.signals, self.redactor.clone());
        let profiled = CampaignError::catch(|| {
            one_run::one_of_many(campaign, plan, &notes, signals, &redactor, || self.begin_run(cell))
        });
        let (outcome, records) = match profiled {
            Ok(mut profiled) => {
                let exit = one_run::verdict(&profiled.finished, &profiled.log, self.signals);
                let exit = one_run::reported(&profiled.finished, &profiled.log, &dir, exit, &self.redactor);
                self.was_stopped |= matches!(exit, Exit::Signal(_));
                let outcome = match profiled.why_failed() {
                    _ if matches!(exit, Exit::Signal(_)) => {
                        RunOutcome::failed(&label, "stopped before it was complete")
                    }
                    Some(why) => RunOutcome::failed(&label, why),
                    None => {
                        let result = &profiled.finished.result;
                        RunOutcome::of(&label, &result.metrics).with_certainty(certainty(result))
                    }
                };
                let values = std::mem::take(&mut profiled.finished.values);
                let values = values.into_iter().map(|(tag, values)| (tag.to_owned(), values)).collect();
                (outcome, worth_keeping(self.plan, cell, RunRecords { label: label.clone(), values }))
            }
            Err(error) => {
                let text = self.redactor.hide(&error.to_string()).into_owned();
                // An error before the start of the first run is an error of the input, because nothing was sent; a
                // panic is not.
                if self.unbegun.is_some() && !matches!(error, CampaignError::Panicked) {
                    self.refused = Some(error);
                }
                (RunOutcome::failed(&label, text), None)
            }
        };
        if let Err(why) = outcome.result.as_ref()
            && self.refused.is_none()
        {
            self.log(LogLevel::Error, &format!("{name} failed: {why}"));
        }
        allocator::give_back();
        let ends_all = self.signals.number().is_some() || self.refused.is_some();
        CompletedRun { run, cell: cell.clone(), outcome, records, is_earlier: false, ends_all }
    }

    fn earlier(&mut self, run: RunId, cell: &Arc<Cell>) -> Result<Option<CompletedRun>, ChangedError> {
        let mut resumed = Resumed::default();
        if self.plan.resumes {
            resumed.look_at(self.plan, cell, run.trial, &self.redactor)?;
        }
        resumed.notes.iter().for_each(|note| self.log(LogLevel::Warning, note));
        let earlier = resumed.done.pop();
        if earlier.is_some() {
            let name = self.plan.name(cell, run.trial);
            self.log(LogLevel::Info, &format!("{name} is complete already"));
        }
        Ok(earlier)
    }

    fn rest(&mut self, length: Nanos) -> bool {
        self.log(LogLevel::Info, &format!("Cooling down for {} s", length.as_secs_f64()));
        let until = Instant::now() + Duration::from_nanos(length.0);
        while self.signals.number().is_none() && Instant::now() < until {
            std::thread::sleep(LOOK_EVERY.min(until.saturating_duration_since(Instant::now())));
        }
        self.signals.number().is_none()
    }

    fn report_progress(&mut self, done: &[CompletedRun]) {
        if let Some(page) = terminal::stdout_page() {
            self.print_table(done, page);
        }
    }
}
