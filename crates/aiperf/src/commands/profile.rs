//! `aiperf profile`: a benchmark from the command line.

use super::{many_runs, one_run};
use crate::exit::{self, Exit};
use crate::signals::Signals;
use aiperf_config::{ConfigError, Context, resolve_profile, secrets_in_arguments};
use aiperf_plan::redact::Redactor;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Runs with the arguments after `profile`.
pub(crate) fn run(args: &[String]) -> Exit {
    run_watched(args, &Signals::watch())
}

/// The same, with signals that are watched already.
pub(crate) fn run_watched(args: &[String], signals: &Signals) -> Exit {
    let given = Redactor::new(secrets_in_arguments(args));
    let resolved = match resolve_profile(args, &Surroundings::now().context()) {
        Ok(resolved) => resolved,
        Err(ConfigError::Help(text)) => return exit::print_help(&text),
        Err(error) => {
            exit::complain(&given, &error);
            return Exit::Usage;
        }
    };
    for note in &resolved.notes {
        exit::write_message("note", &given, note);
    }
    match resolved.campaign.is_single() {
        true => {
            let (notes, junit) = (resolved.notes.clone(), resolved.campaign.junit.clone());
            one_run::run(resolved.into_plan(), junit.as_deref(), &notes, signals)
        }
        false => many_runs::run(resolved.campaign, &resolved.notes, signals),
    }
}

/// Inputs of the configuration besides its arguments.
pub(crate) struct Surroundings {
    env: BTreeMap<String, String>,
    cwd: PathBuf,
}

impl Surroundings {
    /// Reads them now.
    pub(crate) fn now() -> Self {
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        let env = std::env::vars_os().map(|(key, value)| (text(key), text(value))).collect();
        Self { env, cwd: std::env::current_dir().unwrap_or_default() }
    }

    /// The context for the configuration of one run.
    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            env: &self.env,
            stdout_is_terminal: std::io::stdout().is_terminal(),
            cwd: &self.cwd,
            benchmark_id: fresh_id(),
        }
    }
}

/// 12 hex digits, different for each run.
fn fresh_id() -> String {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds each hasher from the system's random source.
    let bits = std::hash::RandomState::new().build_hasher().finish();
    format!("{:012x}", bits & 0xffff_ffff_ffff)
}
