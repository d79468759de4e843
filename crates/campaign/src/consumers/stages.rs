//! The stages of all consumers of a run.

use super::{Boundary, CONSUMERS, Consumer, ConsumerKind, Degraded, RunContext, Samples};
use crate::error::CampaignError;
use crate::written_run::WrittenRun;
use aiperf_engine::Events;
use aiperf_plan::Plan;
use aiperf_report::{ExportFailure, RunResult};
use aiperf_types::LogLevel;

/// The consumers of one run.
pub(crate) struct Consumers {
    run: RunContext,
    active: Vec<(&'static ConsumerKind, Box<dyn Consumer>)>,
}

/// What the next phase waits for, and the name of the consumer.
pub(crate) struct NamedBoundary {
    pub(crate) name: &'static str,
    pub(crate) wait: Boundary,
}

/// What statistics need from all consumers.
#[derive(Default)]
pub(crate) struct AllSamples {
    pub(crate) rtt_ns: Option<f64>,
    pub(crate) failures: Vec<ExportFailure>,
    /// Parts that are missing, for [`RunResult::degraded`].
    pub(crate) degraded: Vec<String>,
}

impl Consumers {
    /// Rejects a plan that one of them cannot follow.
    pub(crate) fn check(plan: &Plan) -> Result<(), CampaignError> {
        CONSUMERS.iter().try_for_each(|kind| (kind.check)(plan)).map_err(CampaignError::Consumer)
    }

    /// The consumers that the plan asks for. They look for their sources from now on.
    pub(crate) fn probe(run: RunContext) -> Result<Self, CampaignError> {
        let mut active = Vec::new();
        for kind in CONSUMERS {
            active.extend((kind.probe)(&run).map_err(CampaignError::Consumer)?.map(|consumer| (*kind, consumer)));
        }
        Ok(Self { run, active })
    }

    pub(crate) fn settle(&self) {
        self.active.iter().for_each(|(_, consumer)| consumer.settle(&self.run));
    }

    /// The events of the run, with the consumers as listeners.
    pub(crate) fn snapshot(&mut self) -> Events {
        let mut events = Events::clone(&self.run.events);
        self.active.iter_mut().for_each(|(_, consumer)| consumer.snapshot(&self.run, &mut events));
        events
    }

    /// What each next phase waits for: the effects of one phase must be known before the next adds its own.
    pub(crate) fn boundaries(&self) -> Vec<NamedBoundary> {
        if self.run.plan.phases.len() < 2 {
            return Vec::new();
        }
        let named = |(kind, consumer): &(&'static ConsumerKind, Box<dyn Consumer>)| {
            Some(NamedBoundary { name: kind.name, wait: consumer.boundary()? })
        };
        self.active.iter().filter_map(named).collect()
    }

    pub(crate) fn ended(&mut self) {
        self.active.iter_mut().for_each(|(_, consumer)| consumer.ended(&self.run));
    }

    pub(crate) fn samples(&mut self, was_stopped: bool) -> AllSamples {
        let mut all = AllSamples::default();
        for (kind, consumer) in &mut self.active {
            match consumer.samples(&self.run, was_stopped) {
                Ok(Samples { rtt_ns, failure }) => {
                    all.rtt_ns = all.rtt_ns.or(rtt_ns);
                    all.failures.extend(failure);
                }
                Err(why) => all.degraded.push(missing(&self.run, kind, &why)),
            }
        }
        all
    }

    /// Returns why files are incomplete.
    pub(crate) fn summary(&mut self, result: &mut RunResult) -> Vec<ExportFailure> {
        self.add(result, |consumer, run, result| consumer.summary(run, result))
    }

    /// Returns why files are incomplete.
    pub(crate) fn flush(&mut self, result: &mut RunResult) -> Vec<ExportFailure> {
        self.add(result, |consumer, run, result| consumer.flush(run, result))
    }

    fn add(
        &mut self,
        result: &mut RunResult,
        stage: impl Fn(&mut dyn Consumer, &RunContext, &mut RunResult) -> Result<Option<ExportFailure>, Degraded>,
    ) -> Vec<ExportFailure> {
        let mut failures = Vec::new();
        for (kind, consumer) in &mut self.active {
            match stage(consumer.as_mut(), &self.run, result) {
                Ok(failure) => failures.extend(failure),
                Err(why) => result.degraded.push(missing(&self.run, kind, &why)),
            }
        }
        failures
    }

    /// `None` if the run failed.
    pub(crate) fn close(self, finished: Option<&WrittenRun>) {
        for (kind, consumer) in self.active {
            if let Err(why) = consumer.close(&self.run, finished) {
                missing(&self.run, kind, &why);
            }
        }
    }
}

/// Warns that a part is missing, and returns the entry for [`RunResult::degraded`].
fn missing(run: &RunContext, kind: &ConsumerKind, Degraded(why): &Degraded) -> String {
    run.events.say(LogLevel::Warning, format!("{}: {why}", kind.lost));
    format!("{}: {why}", kind.name)
}
