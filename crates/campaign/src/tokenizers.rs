//! The tokenizers of a run: one per model, each loaded once, and fetched first if it is not on this machine.

use crate::hub::{Hub, HubError, RepoKind};
use aiperf_plan::{Plan, TokenizerPlan};
use aiperf_tokenize::{Choice, Lookup, TokenizeError, Tokenizer, Tokenizers, builtin, huggingface};
use aiperf_types::LogLevel;
use std::time::{Duration, Instant};
use thiserror::Error;

/// A tokenizer that a run needs and does not have.
#[derive(Debug, Error)]
#[error("Failed to load tokenizer '{name}': {}\n  {cause}{instead}", cause.title())]
pub struct TokenizerError {
    name: String,
    cause: Box<Cause>,
    /// Another way out, for the message.
    instead: &'static str,
}

/// Why there is no tokenizer.
#[derive(Debug, Error)]
enum Cause {
    #[error(transparent)]
    Local(#[from] TokenizeError),
    #[error(transparent)]
    Hub(#[from] HubError),
}

/// The other way out if the run can do without a tokenizer.
const SERVER_COUNTS: &str = "\n  or: --use-server-token-count, which needs no tokenizer";

impl Cause {
    fn title(&self) -> &'static str {
        match self {
            Self::Local(error) => error.title(),
            Self::Hub(error) => error.title(),
        }
    }

    /// Whether no tokenizer was found, as opposed to a broken one.
    fn is_absence(&self) -> bool {
        match self {
            Self::Local(TokenizeError::Malformed { .. } | TokenizeError::Unreadable { .. }) => false,
            Self::Local(_) => true,
            Self::Hub(error) => !matches!(error, HubError::Stopped | HubError::Corrupt { .. }),
        }
    }

    fn first_line(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_owned()
    }
}

impl TokenizerError {
    /// Whether a stop request ended the load.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(*self.cause, Cause::Hub(HubError::Stopped))
    }
}

/// Loads the tokenizers of a plan's models. `hub` is called only if a file must be fetched.
pub(crate) fn load(
    plan: &Plan,
    hub: impl Fn() -> Result<Hub, HubError>,
    say: &impl Fn(LogLevel, String),
) -> Result<Tokenizers, TokenizerError> {
    let started = Instant::now();
    let mut loading = Loading { plan, hub, say, loaded: Vec::new(), resolved: 0 };
    let mut models = Vec::new();
    for model in &plan.models {
        models.push((model.clone(), loading.of_model(model)?));
    }
    let tokenizers = match Tokenizers::of_models(models) {
        Some(tokenizers) => tokenizers,
        None => loading.of_model("")?.into(),
    };
    let Loading { loaded, resolved, .. } = loading;
    let named = loaded.iter().filter(|tokenizer| builtin::Encoding::named(tokenizer.name()).is_none()).count();
    if named > 0 {
        let seconds = started.elapsed().as_secs_f64();
        say(LogLevel::Info, format!("{named} tokenizer(s) validated | {resolved} resolved | {seconds:.1}s"));
    }
    let mut names: Vec<&str> = tokenizers.iter().map(|(_, tokenizer)| tokenizer.name()).collect();
    names.dedup();
    if let [first, _, ..] = names[..] {
        say(
            LogLevel::Warning,
            format!(
                "The models have different tokenizers: prompts are made by the first one's ('{first}'), so their lengths \
                 are approximate for the others; every record is counted by its own model's"
            ),
        );
    }
    Ok(tokenizers)
}

struct Loading<'a, H, S> {
    plan: &'a Plan,
    hub: H,
    say: &'a S,
    /// The tokenizers so far: one that several models share is loaded once.
    loaded: Vec<Tokenizer>,
    /// How many names were resolved to another name.
    resolved: usize,
}

impl<H: Fn() -> Result<Hub, HubError>, S: Fn(LogLevel, String)> Loading<'_, H, S> {
    fn of_model(&mut self, model: &str) -> Result<Tokenizer, TokenizerError> {
        let TokenizerPlan { name, by_model, .. } = &self.plan.tokenizer;
        let own = by_model.iter().find(|(of, _)| of == model).map(|(_, tokenizer)| tokenizer);
        let named = own.or(name.as_ref()).map(String::as_str);
        if !self.plan.endpoint.kind.traits().has_tokens() && named.is_none() {
            // It counts nothing.
            return Ok(Tokenizer::builtin());
        }
        let Choice { name, warning } = Choice::of(named, model);
        if let Some(warning) = warning {
            (self.say)(LogLevel::Warning, warning);
        }
        if let Some(tokenizer) = self.loaded.iter().find(|tokenizer| tokenizer.name() == name) {
            return Ok(tokenizer.clone());
        }
        let is_needed = !self.plan.endpoint.server_token_count || self.plan.dataset.is_made();
        let loaded = match self.load(&name, is_needed) {
            Ok(loaded) => Ok(loaded),
            Err(cause) if !is_needed && cause.is_absence() => {
                let text = format!(
                    "Tokenizer '{name}' is not on this machine, and the server counts: where a length is needed, it is \
                     counted with 'builtin' (tiktoken o200k_base)"
                );
                (self.say)(LogLevel::Info, text);
                Ok(Tokenizer::builtin())
            }
            Err(cause) if named.is_none() && cause.is_absence() => {
                (self.say)(LogLevel::Warning, uncounted(model, &cause));
                Ok(Tokenizer::builtin())
            }
            Err(cause) => {
                let instead = if self.plan.dataset.is_made() { "" } else { SERVER_COUNTS };
                Err(TokenizerError { name: name.clone(), cause: Box::new(cause), instead })
            }
        }?;
        self.loaded.push(loaded.clone());
        Ok(loaded)
    }

    /// The tokenizer of a name, fetched if necessary and allowed.
    fn load(&mut self, name: &str, may_fetch: bool) -> Result<Tokenizer, Cause> {
        let lookup = Lookup::from_env().at(self.plan.tokenizer.revision.as_deref());
        let here = Tokenizer::load(name, &lookup);
        let error = match here {
            Ok(tokenizer) => {
                if builtin::Encoding::named(name).is_none() {
                    (self.say)(LogLevel::Info, format!("[OK] Tokenizer {name} detected"));
                }
                return Ok(tokenizer);
            }
            Err(error) => error,
        };
        // Another program may have cached everything of a model except its tokenizer.
        let may_be_there = matches!(
            error,
            TokenizeError::NotFound { .. } | TokenizeError::Ambiguous { .. } | TokenizeError::NoTokenizerFile { .. }
        );
        if !may_fetch || !may_be_there || std::path::Path::new(name).exists() {
            return Err(error.into());
        }
        let hub = (self.hub)()?.within(Duration::from_nanos(self.plan.tokenizer.fetch_timeout.0));
        if hub.settings().offline.is_some() && !matches!(error, TokenizeError::NotFound { .. }) {
            return Err(error.into());
        }
        let id = hub.find_model(name)?;
        let files = hub.files(RepoKind::Model, &id, lookup.revision(), huggingface::is_tokenizer_file)?;
        let Some(directory) = files.first().and_then(|file| file.parent()) else {
            return Err(TokenizeError::NoTokenizerFile { directory: id.into() }.into());
        };
        let tokenizer = Tokenizer::load_from(name, directory)?;
        self.resolved += usize::from(id != name);
        let resolved = if id == name { String::new() } else { format!(" for {name}") };
        (self.say)(LogLevel::Info, format!("[OK] Tokenizer {id} detected{resolved}"));
        Ok(tokenizer)
    }
}

/// The warning that another tokenizer counts the tokens of a model.
fn uncounted(model: &str, cause: &Cause) -> String {
    format!(
        "No tokenizer for model '{model}' on this machine ({}: {}); counting with 'builtin' (tiktoken o200k_base), so \
         token counts are not the model's own. Pass --tokenizer <name> to override.",
        cause.title(),
        cause.first_line()
    )
}
