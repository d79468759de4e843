//! What a run does around its phases.

use crate::caller::Profilers;
use crate::consumers::NamedBoundary;
use aiperf_engine::hooks::PhaseHooks;
use aiperf_engine::{Events, Stop};
use aiperf_transport::clock::mono_now;
use aiperf_types::{LogLevel, Nanos, PhaseId, PhaseKind};

/// A longer wait between phases is logged.
const WORTH_A_WORD: Nanos = Nanos::from_millis(1_000);

/// Waits for consumers at the boundaries of phases, and switches profilers on and off.
pub(crate) struct Hooks {
    pub(crate) boundaries: Vec<NamedBoundary>,
    /// By phase: whether it starts during the phase before. Then there is nothing to wait for.
    pub(crate) seamless: Vec<bool>,
    pub(crate) profilers: Option<Profilers>,
    /// Profiling phases that were made ready and are not over. They may overlap: a profiler stays on for all of them.
    pub(crate) profiled: u32,
    pub(crate) stop: Stop,
    pub(crate) events: Events,
}

impl PhaseHooks for Hooks {
    fn before(&mut self, phase: &PhaseId) -> Result<(), String> {
        let follows_an_end = phase.index > 0 && !self.seamless[usize::from(phase.index)];
        for NamedBoundary { name, wait } in self.boundaries.iter().filter(|_| follows_an_end) {
            let asked = mono_now();
            wait(&|| self.stop.is_stopped());
            let waited = mono_now().since(asked);
            if waited > WORTH_A_WORD {
                let text = format!(
                    "the next phase began {:.1}s later: it waited for the {name} of the one before",
                    waited.as_secs_f64()
                );
                self.events.say(LogLevel::Warning, text);
            }
        }
        let Some(profilers) = self.profilers.as_mut().filter(|_| phase.kind == PhaseKind::Profiling) else {
            return Ok(());
        };
        if self.profiled == 0 {
            profilers.start()?;
        }
        self.profiled += 1;
        Ok(())
    }

    fn after(&mut self, phase: &PhaseId) {
        if let Some(profilers) = self.profilers.as_mut().filter(|_| phase.kind == PhaseKind::Profiling) {
            self.profiled = self.profiled.saturating_sub(1);
            if self.profiled == 0 {
                profilers.stop();
            }
        }
    }
}
