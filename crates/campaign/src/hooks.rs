//! What a run does around its phases.

use crate::caller::Profilers;
use aiperf_engine::hooks::PhaseHooks;
use aiperf_engine::{Events, Stop};
use aiperf_observe::collection::Boundary;
use aiperf_transport::clock::mono_now;
use aiperf_types::{LogLevel, Nanos, PhaseId, PhaseKind};

/// A wait between phases that people are told of.
const WORTH_A_WORD: Nanos = Nanos::from_millis(1_000);

/// Pages at the boundaries of phases are waited for, profilers switched on and off.
pub(crate) struct Hooks {
    pub(crate) boundary: Option<Boundary>,
    pub(crate) profilers: Option<Profilers>,
    pub(crate) stop: Stop,
    pub(crate) events: Events,
}

impl PhaseHooks for Hooks {
    fn before(&mut self, phase: &PhaseId) -> Result<(), String> {
        if let Some(boundary) = self.boundary.as_ref().filter(|_| phase.index > 0) {
            let asked = mono_now();
            boundary.wait(|| self.stop.is_stopped());
            let waited = mono_now().since(asked);
            if waited > WORTH_A_WORD {
                let text = format!(
                    "the next phase began {:.1}s later: it waited for the server metrics of the one before",
                    waited.as_secs_f64()
                );
                self.events.say(LogLevel::Warning, text);
            }
        }
        let profilers = self.profilers.as_mut().filter(|_| phase.kind == PhaseKind::Profiling);
        profilers.map_or(Ok(()), Profilers::start)
    }

    fn after(&mut self, phase: &PhaseId) {
        if let Some(profilers) = self.profilers.as_mut().filter(|_| phase.kind == PhaseKind::Profiling) {
            profilers.stop();
        }
    }
}
