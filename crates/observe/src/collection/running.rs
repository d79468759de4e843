//! Which phases are on, and to which of them a page belongs: one may begin while another waits for its last requests.

use aiperf_types::{PhaseId, PhaseKind};
use std::sync::Arc;

/// The phases that are on.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// In the order of their starts.
    on: Vec<Arc<PhaseId>>,
    /// The profiling phase that ended last, unless another phase began after it.
    profiled: Option<Arc<PhaseId>>,
}

impl Running {
    pub(super) fn start(&mut self, phase: &Arc<PhaseId>) {
        if self.on.is_empty() {
            self.profiled = None;
        }
        self.on.push(phase.clone());
    }

    pub(super) fn end(&mut self, phase: &Arc<PhaseId>) {
        self.on.retain(|other| other.index != phase.index);
        if phase.kind == PhaseKind::Profiling {
            self.profiled = Some(phase.clone());
        }
    }

    /// The phase of the pages that are fetched now: the one that began last. After the end of all phases, what the
    /// server has not counted yet still belongs to the one that was measured.
    pub(super) fn current(&self) -> Option<&Arc<PhaseId>> {
        self.on.last().or(self.profiled.as_ref())
    }

    pub(super) fn is_profiling(&self) -> bool {
        self.on.iter().any(|phase| phase.kind == PhaseKind::Profiling)
    }

    /// Whether no phase is on any more and something was measured.
    pub(super) fn is_measured(&self) -> bool {
        self.on.is_empty() && self.profiled.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PhaseKind::{Profiling, Warmup};

    fn phase(index: u16, kind: PhaseKind) -> Arc<PhaseId> {
        Arc::new(PhaseId { index, profiling_index: None, name: "p".into(), kind })
    }

    fn current(running: &Running) -> Option<u16> {
        running.current().map(|phase| phase.index)
    }

    #[test]
    fn one_after_the_other_pages_belong_to_the_phase_that_is_on() {
        let (warm, one, two) = (phase(0, Warmup), phase(1, Profiling), phase(2, Warmup));
        let mut running = Running::default();
        running.start(&warm);
        assert_eq!(current(&running), Some(0));
        running.end(&warm);
        assert_eq!((current(&running), running.is_measured()), (None, false));
        running.start(&one);
        running.end(&one);
        assert_eq!((current(&running), running.is_measured()), (Some(1), true));
        running.start(&two);
        running.end(&two);
        assert_eq!((current(&running), running.is_measured()), (None, false));
    }

    #[test]
    fn the_end_of_a_phase_ends_nothing_while_another_is_on() {
        let (warm, one, two) = (phase(0, Warmup), phase(1, Profiling), phase(2, Profiling));
        let mut running = Running::default();
        running.start(&warm);
        running.start(&one);
        running.end(&warm);
        assert_eq!((current(&running), running.is_profiling()), (Some(1), true));
        running.start(&two);
        running.end(&one);
        assert_eq!((current(&running), running.is_profiling(), running.is_measured()), (Some(2), true, false));
        running.end(&two);
        assert_eq!((current(&running), running.is_profiling(), running.is_measured()), (Some(2), false, true));
    }

    #[test]
    fn a_phase_that_outlasts_a_later_one_has_its_pages_back() {
        let (warm, one) = (phase(0, Warmup), phase(1, Profiling));
        let mut running = Running::default();
        running.start(&warm);
        running.start(&one);
        running.end(&one);
        assert_eq!((current(&running), running.is_profiling(), running.is_measured()), (Some(0), false, false));
        running.end(&warm);
        assert_eq!((current(&running), running.is_measured()), (Some(1), true));
    }
}
