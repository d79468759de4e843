//! The slow steps before a run: loads the tokenizer, makes and encodes the dataset, writes `inputs.json`.
//!
//! The steps have their own thread. The waiting thread reacts to a stop request at once, and reports progress if the
//! steps take longer than a moment. A thread that is no longer needed is abandoned and ends with the process.

use crate::error::CampaignError;
use crate::hub::{Hub, HubError};
use crate::media_fetcher::MediaFetcher;
use crate::memory;
use crate::public_files::PublicFiles;
use crate::run_cache::RunCache;
use crate::tokenizers;
use aiperf_dataset::{Dataset, FetchMedia, Making};
use aiperf_engine::requests::{Payloads, RequestsError, Unbuildable};
use aiperf_engine::{EngineError, Events, Requests, Stop};
use aiperf_plan::redact::{Redactor, RowSecrets, secrets_in_body};
use aiperf_plan::{DatasetPlan, Plan};
use aiperf_report::records::inputs_json::InputsEntry;
use aiperf_report::{Artifacts, StagedInputs};
use aiperf_tokenize::Tokenizers;
use aiperf_types::{Body, LogLevel, Preparing, RunEvent};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often the waiting thread checks for a stop request.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// Progress is reported only after this time.
const MOMENT: Duration = Duration::from_millis(500);
/// How long the waiting thread gives an abandoned thread to stop writing.
const FAREWELL: Duration = Duration::from_millis(40);

/// Everything that a run sends, ready to send.
pub(crate) struct Loaded {
    pub(crate) requests: Arc<Requests>,
    /// Counts tokens; `None` if the server's counts are used.
    pub(crate) tokenizers: Option<Tokenizers>,
    /// `None` if the dataset itself contains whole bodies.
    pub(crate) inputs: Option<StagedInputs>,
    /// Knows the secrets of all rows too.
    pub(crate) redactor: Arc<Redactor>,
}

/// The steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    LoadingTokenizer,
    Fetching,
    MakingPrompts,
    EncodingRequests,
    WritingInputs,
}

impl Stage {
    const ALL: [Self; 5] =
        [Self::LoadingTokenizer, Self::Fetching, Self::MakingPrompts, Self::EncodingRequests, Self::WritingInputs];

    const fn name(self) -> &'static str {
        match self {
            Self::LoadingTokenizer => "Loading the tokenizer",
            Self::Fetching => "Fetching files (KB)",
            Self::MakingPrompts => "Making prompts",
            Self::EncodingRequests => "Encoding requests",
            Self::WritingInputs => "Writing inputs.json",
        }
    }
}

/// The progress of the preparation.
#[derive(Default)]
struct Steps {
    stage: AtomicUsize,
    done: AtomicU64,
    total: OnceLock<u64>,
    /// The size of the file that is being fetched, in kilobytes; zero if unknown.
    to_fetch: AtomicU64,
}

impl Steps {
    fn begin(&self, stage: Stage) {
        self.done.store(0, Relaxed);
        self.stage.store(stage as usize, Relaxed);
    }

    fn count(&self) {
        self.done.fetch_add(1, Relaxed);
    }

    /// Sets the progress of the file that is being fetched.
    fn fetched(&self, bytes: u64, total: Option<u64>) {
        self.done.store(bytes / 1000, Relaxed);
        self.to_fetch.store(total.map_or(0, |total| (total / 1000).max(1)), Relaxed);
        self.stage.store(Stage::Fetching as usize, Relaxed);
    }

    fn preparing(&self) -> Preparing {
        let stage = Stage::ALL[self.stage.load(Relaxed)];
        if stage == Stage::Fetching {
            let total = Some(self.to_fetch.load(Relaxed)).filter(|total| *total > 0);
            return Preparing { stage: stage.name(), done: self.done.load(Relaxed), total };
        }
        // The number of requests to encode beforehand is known only after they are encoded.
        let is_countable = matches!(stage, Stage::MakingPrompts | Stage::WritingInputs);
        let total = self.total.get().copied().filter(|_| is_countable);
        Preparing { stage: stage.name(), done: self.done.load(Relaxed), total }
    }
}

/// What the preparation of a run needs.
pub(crate) struct Preparation {
    pub(crate) plan: Arc<Plan>,
    pub(crate) artifacts: Arc<Artifacts>,
    pub(crate) version: String,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) events: Events,
    pub(crate) stop: Stop,
    /// `None` if the campaign has one run.
    pub(crate) cache: Option<RunCache>,
}

impl Preparation {
    /// Prepares a run. A stop request ends it early and leaves no file behind.
    pub(crate) fn run(self) -> Result<Loaded, CampaignError> {
        let steps = Arc::new(Steps::default());
        let (send, reports) = mpsc::channel();
        let job = Job {
            plan: self.plan.clone(),
            artifacts: self.artifacts.clone(),
            version: self.version.clone(),
            redactor: self.redactor.clone(),
            stop: self.stop.clone(),
            steps: steps.clone(),
            send,
            cache: self.cache.clone(),
        };
        let work = move || {
            let send = job.send.clone();
            let _ = send.send(Report::Done(job.load()));
        };
        std::thread::Builder::new().name("aiperf-prepare".into()).spawn(work).map_err(EngineError::from)?;
        let started = Instant::now();
        let mut announced = None;
        loop {
            match reports.recv_timeout(LOOK_EVERY) {
                Ok(Report::Message(level, text)) => self.events.say(level, text),
                Ok(Report::Done(loaded)) if !self.stop.is_stopped() => return loaded,
                Err(RecvTimeoutError::Disconnected) => return Err(EngineError::Panicked("preparing thread").into()),
                _ if self.stop.is_stopped() => {
                    // Later messages are dropped; only the end of the thread counts.
                    let until = Instant::now() + FAREWELL;
                    while let Ok(Report::Message(..)) =
                        reports.recv_timeout(until.saturating_duration_since(Instant::now()))
                    {}
                    self.artifacts.abandon_inputs();
                    return Err(CampaignError::Stopped);
                }
                _ if started.elapsed() > MOMENT => {
                    let preparing = steps.preparing();
                    // Fetched files are announced by name (`hub`).
                    if announced != Some(preparing.stage) && preparing.stage != Stage::Fetching.name() {
                        announced = Some(preparing.stage);
                        self.events.say(LogLevel::Info, announcement(&preparing));
                    }
                    self.events.emit(RunEvent::Preparing(Arc::new(preparing)));
                }
                _ => {}
            }
        }
    }
}

/// The work of the thread. It holds nothing whose end others wait for: it may be abandoned.
struct Job {
    plan: Arc<Plan>,
    artifacts: Arc<Artifacts>,
    version: String,
    redactor: Arc<Redactor>,
    stop: Stop,
    steps: Arc<Steps>,
    send: Sender<Report>,
    cache: Option<RunCache>,
}

/// What the thread reports to the waiting thread.
enum Report {
    Message(LogLevel, String),
    Done(Result<Loaded, CampaignError>),
}

impl Job {
    fn load(self) -> Result<Loaded, CampaignError> {
        let Self { plan, artifacts, version, redactor, stop, steps, send, cache } = self;
        let say = |level, text: String| drop(send.send(Report::Message(level, text)));
        let hub = || hub(&plan, &stop, &steps, &send);
        let tokenizers = match cache.as_ref().and_then(|cache| cache.tokenizers(&plan)) {
            Some(tokenizers) => tokenizers,
            None => tokenizers::load(&plan, hub, &say)?,
        };
        cache.iter().for_each(|cache| cache.keep_tokenizers(&plan, &tokenizers));
        for (model, tokenizer) in tokenizers.iter() {
            say(LogLevel::Debug, format!("Tokenizer of {model}: {}", tokenizer.name()));
        }
        if let Some(entries) = plan.dataset.entries() {
            let _ = steps.total.set(entries);
        }
        steps.begin(Stage::MakingPrompts);
        let make = || -> Result<Arc<Dataset>, CampaignError> {
            let (draws, count) = (plan.dataset_draws(), || steps.count());
            let fetched = || steps.begin(Stage::MakingPrompts);
            let public_files = PublicFiles::of(&plan, &hub, &say, &fetched);
            let media = media_fetcher(&plan, &stop)?;
            let free = memory::free_now();
            let (room, threads) = (memory::room_of(free), memory::makers(&plan, free));
            let making = Making {
                room,
                threads,
                additions: &plan.additions,
                chat_template: templated(&plan, &tokenizers, &say)?,
                progress: &count,
                public_files: &public_files,
                media: media.as_ref().map(|fetcher| fetcher as &dyn FetchMedia),
                ..Making::new(&draws, tokenizers.first())
            };
            Ok(Arc::new(Dataset::of(&plan.dataset, making)?))
        };
        let dataset = match cache.as_ref().and_then(|cache| cache.dataset(&plan)) {
            Some(dataset) => dataset,
            None => make()?,
        };
        cache.iter().for_each(|cache| cache.keep_dataset(&plan, &dataset));
        // Generated images are never URLs.
        if plan.endpoint.kind.traits().inline_images && !plan.dataset.is_made() {
            dataset.check_images_are_inline()?;
        }
        for phase in &plan.phases {
            if let Some(zero) = phase.arrival.replay_zero() {
                dataset.check_timestamps(zero)?;
            }
        }
        dataset.notes().iter().for_each(|note| say(LogLevel::Warning, note.clone()));
        steps.begin(Stage::EncodingRequests);
        let is_counted = !plan.endpoint.server_token_count;
        let is_templated = is_counted && plan.tokenizer.apply_chat_template;
        let (shows_inputs, is_trace) = (plan.dataset.shows_inputs(), plan.dataset.is_trace());
        // With the dataset in memory, the rest of the free memory is known.
        let budget = memory::encoding_budget(&plan);
        let mut secrets = dataset.secrets();
        let redactor = knowing(redactor, &secrets);
        let mut requests = Requests::of_counted(plan, dataset, &version, budget, || steps.count())?;
        if is_templated {
            requests.check_chat_template(&tokenizers)?;
        }
        say(LogLevel::Debug, described(&requests));
        requests.notes().for_each(|line| say(LogLevel::Warning, line));
        steps.begin(Stage::WritingInputs);
        // The waiting thread may no longer be there to remove a file that starts now.
        if stop.is_stopped() {
            return Err(CampaignError::Stopped);
        }
        // Conversations that were not encoded beforehand may still fail to become requests.
        let mut unbuildable = None;
        let mut shown = |found: Result<Vec<String>, Unbuildable>| {
            steps.count();
            match found {
                Ok(found) => secrets.add(found),
                Err(error) => unbuildable = Some(error),
            }
            unbuildable.is_none() && !stop.is_stopped()
        };
        let inputs = if is_trace {
            // Every row was read when the trace was opened.
            None
        } else if !shows_inputs {
            // Bodies that are already in a file need no second copy.
            let secrets_of = |Payloads { bodies, .. }: Payloads| {
                (bodies.iter().flat_map(|body| secrets_in_body(&body.payload())).collect(), 0)
            };
            requests.show_all(secrets_of, shown);
            None
        } else {
            let staged = artifacts.stage_inputs(|add| {
                let mut written = Ok(());
                requests.show_all(
                    |conversation| entry(&conversation, &redactor),
                    |made| {
                        let found = made.map(|(entry, secrets)| {
                            written = add(&entry);
                            secrets
                        });
                        shown(found) && written.is_ok()
                    },
                );
                written
            });
            Some(staged?)
        };
        let redactor = knowing(redactor, &secrets);
        if let Some(error) = unbuildable {
            return Err(RequestsError::from(error).into());
        }
        let tokenizers = is_counted.then_some(tokenizers);
        requests.drop_payloads(tokenizers.as_ref());
        requests.fill_ahead();
        Ok(Loaded { requests: Arc::new(requests), tokenizers, inputs, redactor })
    }
}

/// Fetches images for an endpoint that takes no URLs.
fn media_fetcher(plan: &Plan, stop: &Stop) -> Result<Option<MediaFetcher>, CampaignError> {
    let DatasetPlan::File(file) = &plan.dataset else { return Ok(None) };
    let Some(settings) = file.inline_images else { return Ok(None) };
    Ok(Some(MediaFetcher::new(plan, settings, stop.clone()).map_err(EngineError::from)?))
}

/// A redactor that knows the secrets of rows, if there are any.
fn knowing(redactor: Arc<Redactor>, secrets: &RowSecrets) -> Arc<Redactor> {
    if secrets.is_empty() { redactor } else { Arc::new(redactor.with_rows(secrets.clone())) }
}

/// A conversation as `inputs.json` shows it, with the secrets that only its rows contain, and its size in bytes.
fn entry(conversation: &Payloads, redactor: &Redactor) -> ((InputsEntry, Vec<String>), usize) {
    let payloads: Vec<_> = conversation.bodies.iter().map(Body::payload).collect();
    let (shown, secrets): (Vec<_>, Vec<_>) = payloads.iter().map(|payload| redactor.body_of_row(payload)).unzip();
    let entry = InputsEntry::new(&conversation.session_id, shown);
    let size = entry.size();
    ((entry, secrets.concat()), size)
}

fn announcement(preparing: &Preparing) -> String {
    let of = preparing.total.map(|total| format!(" ({total})")).unwrap_or_default();
    format!("{}{of} ...", preparing.stage)
}

fn described(requests: &Requests) -> String {
    let (kept, bytes) = requests.kept();
    let all = requests.len();
    format!("Dataset: {all} conversations | {kept} of them encoded beforehand, {:.1} MB", bytes as f64 / 1e6)
}

/// Whether the tokenizer has a chat template that prompts are put into. Warns of models without one if the user asked
/// for it. Fails if a template cannot be applied.
fn templated(plan: &Plan, tokenizers: &Tokenizers, say: &impl Fn(LogLevel, String)) -> Result<bool, CampaignError> {
    if !plan.tokenizer.apply_chat_template {
        return Ok(false);
    }
    tokenizers.first().check_chat_template()?;
    tokenizers.iter().try_for_each(|(_, tokenizer)| tokenizer.check_chat_template())?;
    let mut without: Vec<&str> = Vec::new();
    for (_, tokenizer) in tokenizers.iter().filter(|(_, tokenizer)| !tokenizer.has_chat_template()) {
        if !without.contains(&tokenizer.name()) {
            without.push(tokenizer.name());
            let note =
                format!("--apply-chat-template has no effect: tokenizer '{}' has no chat template", tokenizer.name());
            say(LogLevel::Warning, note);
        }
    }
    Ok(tokenizers.first().has_chat_template())
}

/// The hub for a preparation: it stops with the preparation and reports its progress.
fn hub(plan: &Plan, stop: &Stop, steps: &Arc<Steps>, send: &Sender<Report>) -> Result<Hub, HubError> {
    let (steps, send, begun) = (steps.clone(), send.clone(), Mutex::new(String::new()));
    Ok(Hub::for_run(plan, stop.clone())?.with_progress(move |file, bytes, total| {
        steps.fetched(bytes, total);
        let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
        if *begun != file {
            file.clone_into(&mut begun);
            let length = total.map(|total| format!(" ({:.1} MB)", total as f64 / 1e6)).unwrap_or_default();
            let _ = send.send(Report::Message(LogLevel::Info, format!("Fetching {file}{length} ...")));
        }
    }))
}
