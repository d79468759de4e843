//! What all consumers do: log without secrets, let the run go on if they cannot start, and leave no empty file.

use aiperf_engine::Events;
use aiperf_observe::collection::CollectedEndpoint;
use aiperf_observe::{Announce, ScrapeError, TimeRange};
use aiperf_plan::redact::Redactor;
use aiperf_report::server_metrics_jsonl::ScrapeFile;
use aiperf_report::{ExportFailure, RunResult};
use aiperf_types::{LogLevel, PhaseKind, RunEvent};
use std::fmt::Display;
use std::io;
use std::sync::{Arc, Weak};

/// Passes messages of observers on, without secrets.
pub(crate) struct Announced {
    events: Weak<Events>,
    redactor: Arc<Redactor>,
}

impl Announced {
    pub(crate) fn to(events: &Arc<Events>, redactor: &Arc<Redactor>) -> Arc<Self> {
        Arc::new(Self { events: Arc::downgrade(events), redactor: redactor.clone() })
    }
}

impl Announce for Announced {
    fn say(&self, level: LogLevel, text: String) {
        if let Some(events) = self.events.upgrade() {
            events.say(level, self.redactor.hide(&text).as_ref());
        }
    }

    fn emit(&self, event: RunEvent) {
        if let Some(events) = self.events.upgrade() {
            events.emit(event);
        }
    }
}

/// The result of a start. The run works without it: a failure is a warning.
pub(crate) fn started<T, E: Display>(start: Result<T, E>, missing: &str, events: &Events) -> Option<T> {
    start.map_err(|error| events.say(LogLevel::Warning, format!("{missing}: {error}"))).ok()
}

/// Why a file of lines is incomplete. A file without a line is removed.
pub(crate) fn file_failure(
    file: &ScrapeFile,
    exporter: &'static str,
    error: Option<io::Error>,
) -> Option<ExportFailure> {
    let error = error?;
    if std::fs::metadata(file.path()).is_ok_and(|file| file.len() == 0) {
        let _ = std::fs::remove_file(file.path());
    }
    Some(ExportFailure::of(exporter, file.path().to_owned(), error))
}

/// The errors of endpoints, without secrets.
pub(crate) fn errors(endpoints: &[CollectedEndpoint], redactor: &Redactor) -> Vec<ScrapeError> {
    let mut errors: Vec<ScrapeError> = endpoints.iter().flat_map(|endpoint| endpoint.errors.clone()).collect();
    for error in &mut errors {
        error.message = redactor.hide(&error.message).into_owned();
    }
    errors
}

/// From the start of the first profiling phase to the end of the last; empty if none started.
pub(crate) fn profiling_range(run: &RunResult) -> TimeRange {
    let began = run.phases.iter().any(|phase| phase.id.kind == PhaseKind::Profiling);
    let start = if began { run.start } else { run.end };
    TimeRange { start, end: run.end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_engine::Interest;

    #[test]
    fn an_observer_that_outlives_the_run_holds_no_listener() {
        let mut events = Events::new(aiperf_types::WallAnchor::default());
        let heard = events.subscribe(Interest::default());
        let events = Arc::new(events);
        let announced = Announced::to(&events, &Arc::default());
        announced.say(LogLevel::Info, "while it is on".to_owned());
        drop(events);
        announced.say(LogLevel::Info, "too late".to_owned());
        let texts = heard.filter_map(|event| match event {
            RunEvent::Message(message) => Some(message.text.to_string()),
            _ => None,
        });
        assert_eq!(texts.collect::<Vec<_>>(), ["while it is on"]);
    }
}
