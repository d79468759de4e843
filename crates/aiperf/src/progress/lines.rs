//! Progress as log lines, for a pipe or a file, where no bar can be drawn.

use super::frame::words;
use super::stages::Stages;
use aiperf_report::LogLine;
use aiperf_types::{LogLevel, MonoNs, Nanos, RunEvent, WallAnchor};
use std::collections::BTreeMap;

/// Width of a line: wide enough for everything.
const COLUMNS: usize = 1000;

/// Reports the progress of a run at an interval.
pub(crate) struct ProgressLines {
    every: Nanos,
    anchor: WallAnchor,
    stages: Stages,
    /// When each phase started, by its index.
    started: BTreeMap<u16, MonoNs>,
    next: MonoNs,
}

impl ProgressLines {
    pub(crate) fn every(every: Nanos) -> Self {
        let (anchor, stages, started) = (WallAnchor::default(), Stages::default(), BTreeMap::new());
        Self { every, anchor, stages, started, next: MonoNs(0) }
    }

    /// The line of an event, if one is due.
    pub(crate) fn line(&mut self, event: &RunEvent) -> Option<LogLine> {
        self.stages.take(event);
        match event {
            RunEvent::RunStarted(run) => {
                self.anchor = run.anchor;
                None
            }
            RunEvent::PhaseStarted(phase) => {
                self.started.insert(phase.phase.index, phase.at);
                // The start of a phase has its own line.
                self.next = phase.at.plus(self.every);
                None
            }
            RunEvent::Progress(progress) => {
                let now = self.started.get(&progress.phase.index)?.plus(progress.elapsed);
                let (_, standing) = self.stages.shown().filter(|_| now >= self.next)?;
                self.next = now.plus(self.every);
                let text = words(&standing, COLUMNS);
                Some(LogLine { at: self.anchor.wall(now), level: LogLevel::Info, text })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stages::tests::{of_forty, progress_event};
    use super::*;
    use aiperf_types::{PhaseStarted, PhaseTargets};
    use std::sync::Arc;

    #[test]
    fn a_line_comes_every_ten_seconds() {
        let mut lines = ProgressLines::every(Nanos::from_millis(10_000));
        let phase = of_forty(0, 0).phase;
        let started = PhaseStarted {
            phase,
            at: MonoNs(5_000_000_000),
            targets: PhaseTargets::default(),
            load: "".into(),
            target: "".into(),
        };
        assert_eq!(lines.line(&RunEvent::PhaseStarted(Arc::new(started))), None);
        let mut shown = Vec::new();
        for second in 0..=35 {
            let line = lines.line(&progress_event(of_forty(second * 1000, second)));
            shown.extend(line.map(|line| (second, line.text)));
        }
        let texts = shown.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>();
        assert_eq!(shown.iter().map(|(second, _)| *second).collect::<Vec<_>>(), [10, 20, 30]);
        assert_eq!(
            texts,
            [
                "Profiling: 10/40  25% [00:10<00:30] 1 error, 1.0 req/s",
                "Profiling: 20/40  50% [00:20<00:20] 1 error, 1.0 req/s",
                "Profiling: 30/40  75% [00:30<00:10] 1 error, 1.0 req/s",
            ]
        );
    }
}
