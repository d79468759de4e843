//! Runs in which a thread panics: what was measured before is written, and the run ends.

use super::*;
use crate::testing::stream;
use aiperf_dialect::kinds::chat;
use aiperf_dialect::{Delivery, Dialect, Piece, Reader};

/// Writes one letter per record.
fn letters(shown: &Shown) -> RecordSink {
    let encoder: Box<dyn Fn() -> Box<dyn RecordEncoder>> = Box::new(|| Box::new(Letters));
    RecordSink { name: "records", path: "records".into(), encoder, file: Box::new(shown.clone()), holds: 0 }
}

/// Panics at one response, on the thread that parses it.
struct PanicsAt(Box<dyn Reader>);

impl Reader for PanicsAt {
    fn read<'a>(&mut self, text: &'a str, delivery: Delivery) -> Option<Piece<'a>> {
        assert!(!text.contains("bad"), "on purpose");
        self.0.read(text, delivery)
    }
}

const PANICS: Dialect =
    Dialect { reader: |settings| Box::new(PanicsAt((chat::DIALECT.reader)(settings))), ..chat::DIALECT };

#[test]
fn a_worker_that_panics_ends_the_run_and_records_before_it_are_written() {
    for workers in [1, 2] {
        let asked = AtomicUsize::new(0);
        let port = serve(move |_, _| match asked.fetch_add(1, Relaxed) {
            30 => stream(&["bad"]),
            _ => stream(&["good"]),
        });
        let mut plan = plan_of(port, 1_000_000);
        plan.endpoint.streaming = true;
        plan.runtime.workers_max = Some(workers);
        // The schedule waits for the first content, so workers parse the responses.
        plan.phases[0].prefill_concurrency = Some(4);
        let shown = Shown::default();
        let around = Around { sinks: vec![letters(&shown)], ..Around::default() };
        let (outcome, events) = try_run(plan, |requests| requests.with_dialect(&PANICS), around);
        assert!(matches!(outcome, Err(EngineError::Panicked("worker"))), "{:?}", outcome.err());
        // At most four were in flight.
        assert!(shown.text().len() >= 27, "{} records", shown.text().len());
        let is_complete =
            |event: &RunEvent| matches!(event, RunEvent::Message(message) if message.text.contains("ompleted"));
        assert!(!events.iter().any(is_complete), "{events:?}");
    }
}

#[test]
fn a_conductor_that_panics_ends_the_run_and_records_before_it_are_written() {
    let ends = [
        // A timer ends the phase: no response does, so that no task of a worker panics.
        StopWhen::Elapsed(Nanos::from_millis(300)),
        // A response lets the last request go out: the conductor panics where it hears of it.
        StopWhen::Requests(200),
    ];
    for (end, workers) in ends.into_iter().flat_map(|end| [1, 2].map(|workers| (end, workers))) {
        let observer: Observer =
            Arc::new(|event| assert!(!matches!(event, RunEvent::SendingComplete(_)), "on purpose"));
        let mut plan = plan_of(serve(|_, _| json(HELLO)), 1_000_000);
        plan.runtime.workers_max = Some(workers);
        plan.phases[0].stop = vec![end];
        let shown = Shown::default();
        let sinks = vec![letters(&shown)];
        let around = Around { sinks, observer: Some(observer), ..Around::default() };
        let (outcome, _) = try_run(plan, |requests| requests, around);
        let Err(EngineError::Panicked(who)) = outcome else { panic!("{end:?}, {workers}: {:?}", outcome.err()) };
        assert!(["conductor", "worker"].contains(&who), "{who}");
        assert!(!shown.text().is_empty(), "{end:?}, {workers}");
    }
}
