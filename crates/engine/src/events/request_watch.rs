//! Messages about single requests while a run is on: the first errors of each kind, and at the trace log level the
//! timeline of each request. The schedule gets the failures if too many of them end the run.

use crate::events::Events;
use crate::events::failure_reports::FailureReports;
use crate::events::phases::PhaseTrack;
use crate::queue::FinishedExchange;
use aiperf_metrics::{BaseValue, RecordMetrics};
use aiperf_plan::Plan;
use aiperf_types::{Exchange, LogLevel, Measured, MonoNs, RequestError, TokenCounts};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reported errors of one kind.
const LOGGED_OF_A_KIND: u32 = 2;
/// The end of the last report of a kind.
const NO_MORE_ARE_LOGGED: &str = " (more of this kind are counted, not logged)";
/// Reported kinds of errors: a server may invent a new one for each request.
const KINDS_LOGGED: usize = 20;
/// Characters of an error that fit a log line.
const LONGEST_ERROR: usize = 300;

/// Tokens of a response whose length is off by more than the limits allow, and the requested tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OddLength {
    got: i64,
    requested: i64,
}

impl OddLength {
    pub(crate) fn of(measured: &Measured, metrics: &RecordMetrics) -> Option<Self> {
        let requested = i64::from(measured.requested_osl?);
        // Nearly all responses have the requested length and need no closer look.
        let TokenCounts { output, reasoning, .. } = measured.tokens;
        let counted = output.unwrap_or(0).saturating_add(reasoning.unwrap_or(0));
        if i64::try_from(counted) == Ok(requested) {
            return None;
        }
        let value = |tag: &str| match metrics.base().find(|(metric, _)| metric.tag == tag)?.1 {
            BaseValue::Int(value) => Some(value),
            _ => None,
        };
        let got = value("output_sequence_length").filter(|got| *got != requested)?;
        (value("osl_mismatch_count")? > 0).then_some(Self { got, requested })
    }
}

/// Watches requests in order of completion.
pub(crate) struct RequestWatch {
    failures: Option<FailureReports>,
    phases: Arc<[PhaseTrack]>,
    traces: bool,
    logged: BTreeMap<(Option<i64>, Option<String>), u32>,
    lengths_logged: u32,
}

impl RequestWatch {
    pub(crate) fn new(plan: &Plan, phases: Arc<[PhaseTrack]>, failures: Option<FailureReports>) -> Self {
        Self {
            failures,
            phases,
            traces: plan.runtime.log_level == LogLevel::Trace,
            logged: BTreeMap::new(),
            lengths_logged: 0,
        }
    }

    /// Watches some requests; `failures` holds those of them that failed, by their index.
    pub(crate) fn see(&mut self, exchanges: &[FinishedExchange], failures: &[(usize, RequestError)], events: &Events) {
        let mut failures = failures.iter().peekable();
        for (at, exchange) in exchanges.iter().enumerate() {
            let error = failures.next_if(|(place, _)| *place == at).map(|(_, error)| error);
            if self.traces {
                events.say(LogLevel::Trace, self.life(exchange, error));
            }
            if let Some(error) = error {
                self.report(exchange, error, events);
            }
            if let Some(failures) = self.failures.as_mut().filter(|_| !exchange.was_cut_off()) {
                failures.add(usize::from(exchange.tag.phase.0), error.is_some());
            }
        }
    }

    /// Reports the first responses that do not have the requested length.
    pub(crate) fn see_lengths(&mut self, odd: &[OddLength], events: &Events) {
        for OddLength { got, requested } in odd.iter().take((LOGGED_OF_A_KIND - self.lengths_logged) as usize) {
            self.lengths_logged += 1;
            let last = if self.lengths_logged == LOGGED_OF_A_KIND { NO_MORE_ARE_LOGGED } else { "" };
            let percent = (got - requested) as f64 / *requested as f64 * 100.0;
            let text = format!("OSL mismatch: got {got} tokens (requested {requested}, diff {percent:.1}%){last}");
            events.say(LogLevel::Warning, text);
        }
    }

    fn report(&mut self, exchange: &Exchange, error: &RequestError, events: &Events) {
        let kind = (error.code, error.kind.clone());
        if self.logged.len() >= KINDS_LOGGED && !self.logged.contains_key(&kind) {
            return;
        }
        let logged = self.logged.entry(kind).or_default();
        *logged += 1;
        if *logged <= LOGGED_OF_A_KIND {
            let last = if *logged == LOGGED_OF_A_KIND { NO_MORE_ARE_LOGGED } else { "" };
            events.say(LogLevel::Warning, format!("{} failed: {}{last}", self.name(exchange), on_a_line(error)));
        }
    }

    fn name(&self, exchange: &Exchange) -> String {
        let tag = &exchange.tag;
        format!("Request {} of {}", tag.number, self.phases[usize::from(tag.phase.0)].id.name)
    }

    /// One line: the events of a request with their times, from when the worker began it.
    fn life(&self, exchange: &Exchange, error: Option<&RequestError>) -> String {
        let timeline = &exchange.timeline;
        let start = timeline.start;
        let mut line = format!("{} ({})", self.name(exchange), exchange.tag.session_id);
        let mut at = |what: &str, instant: MonoNs| {
            if instant != MonoNs(0) {
                line.push_str(&format!(" | {what} +{:.3} ms", instant.since(start).0 as f64 / 1e6));
            }
        };
        if !timeline.reused {
            at("connecting", timeline.connect.0);
            at("connected", timeline.connect.1);
        }
        at("sending", timeline.send_start);
        at("sent", timeline.send_end);
        at("head", timeline.head);
        at("first byte of the body", timeline.body_start);
        at("over", timeline.end);
        let (reads, bytes) = (timeline.reads.len(), timeline.bytes_received);
        line.push_str(&format!(" | {bytes} bytes in {reads} reads"));
        match (error, exchange.status) {
            (Some(error), _) => line.push_str(&format!(" | {}", on_a_line(error))),
            (None, _) if exchange.was_cut_off() => line.push_str(" | cut off"),
            (None, Some(status)) => line.push_str(&format!(" | {status}")),
            (None, None) => {}
        }
        line
    }

    /// Reports pending failures to the schedule.
    pub(crate) fn report_failures(&mut self) {
        self.failures.iter_mut().for_each(FailureReports::flush);
    }
}

/// An error on one line, cut to what fits there.
fn on_a_line(error: &RequestError) -> String {
    let text = error.described().replace(['\r', '\n'], " ");
    match text.char_indices().nth(LONGEST_ERROR) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
