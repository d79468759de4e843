//! What may take long before a run: a tokenizer is loaded, the dataset made and encoded, `inputs.json` written.
//!
//! It is done on a thread of its own. Whoever waits for it hears a wish to stop at once, and tells how far it is when
//! it takes longer than a moment; a thread that is no longer needed is left behind, and ends with the process.

use crate::error::CampaignError;
use crate::hub::{Hub, HubError};
use crate::kept::Kept;
use crate::media_fetcher::MediaFetcher;
use crate::memory;
use crate::public_files::PublicFiles;
use crate::tokenizers;
use aiperf_dataset::{Dataset, FetchMedia, Making};
use aiperf_engine::requests::RequestsError;
use aiperf_engine::{EngineError, Events, Requests, Stop};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{DatasetPlan, Plan};
use aiperf_report::{Artifacts, StagedInputs};
use aiperf_tokenize::Tokenizers;
use aiperf_types::{Body, LogLevel, Preparing, RunEvent};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often the wish to stop is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// What takes no longer than this is not worth a word.
const MOMENT: Duration = Duration::from_millis(500);
/// Sessions that may wait to be written.
const SESSIONS_AHEAD: usize = 16;
/// How long a thread that is left behind may take to put its pen down.
const FAREWELL: Duration = Duration::from_millis(40);

/// Everything that a run sends, ready to be sent.
pub(crate) struct Loaded {
    pub(crate) requests: Arc<Requests>,
    /// Counts tokens; `None` when the server's counts are used.
    pub(crate) tokenizers: Option<Tokenizers>,
    /// `None` where the dataset has whole bodies of its own.
    pub(crate) inputs: Option<StagedInputs>,
}

/// What is done, in its order.
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

/// How far the preparation is.
#[derive(Default)]
struct Steps {
    stage: AtomicUsize,
    done: AtomicU64,
    total: OnceLock<u64>,
    /// Of the file that is fetched, in kilobytes; zero where it is not known.
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

    /// How far a file is that is fetched.
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
        // How many requests are encoded beforehand is known when they are.
        let is_countable = matches!(stage, Stage::MakingPrompts | Stage::WritingInputs);
        let total = self.total.get().copied().filter(|_| is_countable);
        Preparing { stage: stage.name(), done: self.done.load(Relaxed), total }
    }
}

/// What preparing a run takes.
pub(crate) struct Preparation {
    pub(crate) plan: Arc<Plan>,
    pub(crate) artifacts: Arc<Artifacts>,
    pub(crate) version: String,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) events: Events,
    pub(crate) stop: Stop,
    /// Where there are other runs.
    pub(crate) kept: Option<Kept>,
}

impl Preparation {
    /// Prepares a run. Ends early, leaving no file behind, when somebody wants to stop.
    pub(crate) fn run(self) -> Result<Loaded, CampaignError> {
        let steps = Arc::new(Steps::default());
        let (send, told) = mpsc::channel();
        let job = Job {
            plan: self.plan.clone(),
            artifacts: self.artifacts.clone(),
            version: self.version.clone(),
            redactor: self.redactor.clone(),
            stop: self.stop.clone(),
            steps: steps.clone(),
            tell: send,
            kept: self.kept.clone(),
        };
        let work = move || {
            let tell = job.tell.clone();
            let _ = tell.send(Told::Done(job.load()));
        };
        std::thread::Builder::new().name("aiperf-prepare".into()).spawn(work).map_err(EngineError::from)?;
        let started = Instant::now();
        let mut said = None;
        loop {
            match told.recv_timeout(LOOK_EVERY) {
                Ok(Told::Message(level, text)) => self.events.say(level, text),
                Ok(Told::Done(loaded)) if !self.stop.is_stopped() => return loaded,
                Err(RecvTimeoutError::Disconnected) => return Err(EngineError::Panicked("preparing thread").into()),
                _ if self.stop.is_stopped() => {
                    // What it still has to say is nobody's business any more, but for its end.
                    let until = Instant::now() + FAREWELL;
                    while let Ok(Told::Message(..)) = told.recv_timeout(until.saturating_duration_since(Instant::now()))
                    {
                    }
                    self.artifacts.abandon_inputs();
                    return Err(CampaignError::Stopped);
                }
                _ if started.elapsed() > MOMENT => {
                    let preparing = steps.preparing();
                    // What is fetched is told by its name.
                    if said != Some(preparing.stage) && preparing.stage != Stage::Fetching.name() {
                        said = Some(preparing.stage);
                        self.events.say(LogLevel::Info, announcement(&preparing));
                    }
                    self.events.emit(RunEvent::Preparing(Arc::new(preparing)));
                }
                _ => {}
            }
        }
    }
}

/// What the thread does. It holds nothing that others wait for the end of: it may be left behind.
struct Job {
    plan: Arc<Plan>,
    artifacts: Arc<Artifacts>,
    version: String,
    redactor: Arc<Redactor>,
    stop: Stop,
    steps: Arc<Steps>,
    tell: Sender<Told>,
    kept: Option<Kept>,
}

/// What the thread tells the one who waits for it.
enum Told {
    Message(LogLevel, String),
    Done(Result<Loaded, CampaignError>),
}

impl Job {
    fn load(self) -> Result<Loaded, CampaignError> {
        let Self { plan, artifacts, version, redactor, stop, steps, tell, kept } = self;
        let say = |level, text: String| drop(tell.send(Told::Message(level, text)));
        let hub = || hub(&plan, &stop, &steps, &tell);
        let tokenizers = match kept.as_ref().and_then(|kept| kept.tokenizers(&plan)) {
            Some(tokenizers) => tokenizers,
            None => tokenizers::load(&plan, hub, &say)?,
        };
        kept.iter().for_each(|kept| kept.keep_tokenizers(&plan, &tokenizers));
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
            let (room, threads) = (memory::room(), memory::makers(&plan));
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
        let dataset = match kept.as_ref().and_then(|kept| kept.dataset(&plan)) {
            Some(dataset) => dataset,
            None => make()?,
        };
        kept.iter().for_each(|kept| kept.keep_dataset(&plan, &dataset));
        // What is made is never a URL.
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
        // With the dataset in memory, it is known what is left.
        let budget = memory::encoding_budget(&plan);
        let mut requests = Requests::of_counted(plan, dataset, &version, budget, || steps.count())?;
        if is_templated {
            requests.check_chat_template(&tokenizers)?;
        }
        say(LogLevel::Debug, described(&requests));
        requests.notes().for_each(|line| say(LogLevel::Warning, line));
        steps.begin(Stage::WritingInputs);
        // Nobody may be there any more to clear away what is begun now.
        if stop.is_stopped() {
            return Err(CampaignError::Stopped);
        }
        // Those that were not encoded beforehand may still turn out not to be requests.
        let mut unbuildable = None;
        let all = requests.all().take_while(|_| !stop.is_stopped());
        let all = all.map_while(|request| request.map_err(|error| unbuildable = Some(error)).ok());
        let all = all.inspect(|_| steps.count());
        let inputs = if is_trace {
            // Every row was read when the trace was opened.
            drop(all);
            None
        } else if !shows_inputs {
            // Bodies that a file has already need no second copy.
            all.for_each(drop);
            None
        } else {
            let sessions = all.map(|conversation| (conversation.session_id, shown(conversation.bodies, &redactor)));
            Some(stage(&artifacts, sessions)?)
        };
        if let Some(error) = unbuildable {
            return Err(RequestsError::from(error).into());
        }
        let tokenizers = is_counted.then_some(tokenizers);
        requests.drop_payloads(tokenizers.as_ref());
        requests.fill_ahead();
        Ok(Loaded { requests: Arc::new(requests), tokenizers, inputs })
    }
}

/// Writes what will be sent, on a thread of its own: as large datasets are made and looked through meanwhile, it takes half
/// as long.
fn stage(
    artifacts: &Artifacts,
    sessions: impl Iterator<Item = (Arc<str>, Vec<Vec<u8>>)>,
) -> Result<StagedInputs, CampaignError> {
    let (send, receive) = mpsc::sync_channel(SESSIONS_AHEAD);
    std::thread::scope(|scope| {
        let write = move || artifacts.stage_inputs(receive);
        let writer = std::thread::Builder::new().name("aiperf-inputs".into()).spawn_scoped(scope, write);
        let writer = writer.map_err(EngineError::from)?;
        for session in sessions {
            // Nobody takes more where writing has failed.
            if send.send(session).is_err() {
                break;
            }
        }
        drop(send);
        Ok(writer.join().map_err(|_| EngineError::Panicked("thread that writes inputs.json"))??)
    })
}

/// What fetches images for an endpoint that takes no URLs.
fn media_fetcher(plan: &Plan, stop: &Stop) -> Result<Option<MediaFetcher>, CampaignError> {
    let DatasetPlan::File(file) = &plan.dataset else { return Ok(None) };
    let Some(settings) = file.inline_images else { return Ok(None) };
    Ok(Some(MediaFetcher::new(plan, settings, stop.clone()).map_err(EngineError::from)?))
}

/// Bodies as they may be seen.
fn shown(bodies: Vec<Body>, redactor: &Redactor) -> Vec<Vec<u8>> {
    let shown = bodies.into_iter().map(|body| {
        let payload = body.payload();
        match redactor.body(&payload) {
            Cow::Owned(hidden) => hidden,
            Cow::Borrowed(_) => payload.into_owned(),
        }
    });
    shown.collect()
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

/// Whether prompts are put into a chat template that is known here; warns of models without one where that was asked for,
/// and fails where one cannot be applied.
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

/// The hub of a run that is prepared: it stops with the preparation, and tells how far it is.
fn hub(plan: &Plan, stop: &Stop, steps: &Arc<Steps>, tell: &Sender<Told>) -> Result<Hub, HubError> {
    let (steps, tell, begun) = (steps.clone(), tell.clone(), Mutex::new(String::new()));
    Ok(Hub::for_run(plan, stop.clone())?.telling(move |file, bytes, total| {
        steps.fetched(bytes, total);
        let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
        if *begun != file {
            file.clone_into(&mut begun);
            let length = total.map(|total| format!(" ({:.1} MB)", total as f64 / 1e6)).unwrap_or_default();
            let _ = tell.send(Told::Message(LogLevel::Info, format!("Fetching {file}{length} ...")));
        }
    }))
}
