//! Why a run failed before its end: the errors of all that prepares and executes it.

use crate::certificates::CertificatesError;
use crate::consumers::ConsumerError;
use crate::control::ControlError;
use crate::limits::LimitsError;
use crate::memory::MemoryError;
use crate::objectives::ObjectivesError;
use crate::overwrites::OverwriteError;
use crate::tokenizers::TokenizerError;
use crate::until::UntilError;
use aiperf_dataset::DatasetError;
use aiperf_engine::EngineError;
use aiperf_engine::requests::RequestsError;
use aiperf_report::ReportError;
use aiperf_tokenize::TokenizeError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thiserror::Error;

/// Why a run could not be made.
#[derive(Debug, Error)]
pub enum CampaignError {
    #[error(transparent)]
    Objectives(#[from] ObjectivesError),
    #[error(transparent)]
    Limits(#[from] LimitsError),
    #[error(transparent)]
    Until(#[from] UntilError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
    #[error(transparent)]
    Overwrite(#[from] OverwriteError),
    /// A consumer cannot follow this run.
    #[error(transparent)]
    Consumer(ConsumerError),
    #[error(transparent)]
    Tokenizer(TokenizerError),
    #[error(transparent)]
    ChatTemplate(#[from] TokenizeError),
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error(transparent)]
    Requests(#[from] RequestsError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Control(ControlError),
    /// A stop request arrived before anything was sent.
    #[error("stopped while the run was prepared: nothing was sent, and results of earlier runs are as they were")]
    Stopped,
    /// A bug of this program; the panic message with its location is already printed.
    #[error("the run ended unexpectedly")]
    Panicked,
}

impl CampaignError {
    /// Executes `run` and returns a panic as an error. Threads that the panic left behind may still listen: the caller
    /// must not wait for them.
    pub fn catch<T>(run: impl FnOnce() -> Result<T, Self>) -> Result<T, Self> {
        catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(Self::Panicked))
    }

    /// Whether the input is at fault. Then nothing was sent.
    pub fn is_input(&self) -> bool {
        !matches!(
            self,
            Self::Engine(EngineError::Thread(_) | EngineError::Panicked(_))
                | Self::Control(_)
                | Self::Stopped
                | Self::Panicked
        )
    }
}

impl From<TokenizerError> for CampaignError {
    fn from(error: TokenizerError) -> Self {
        if error.is_stopped() { Self::Stopped } else { Self::Tokenizer(error) }
    }
}

impl From<ControlError> for CampaignError {
    fn from(error: ControlError) -> Self {
        match error {
            ControlError::Stopped => Self::Stopped,
            other => Self::Control(other),
        }
    }
}
