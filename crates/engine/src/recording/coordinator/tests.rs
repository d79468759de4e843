use super::*;
use crate::core_watch::CoreWatch;
use crate::events::phases;
use crate::events::request_watch::RequestWatch;
use crate::events::worker_counters::AllCounters;
use crate::events::{Heard, Interest};
use crate::kernel_counters::Disturbance;
use crate::recording::curves::Sweeps;
use crate::recording::record::Reader;
use crate::recording::record_thread;
use crate::recording::recorder::RecordContext;
use crate::recording::shelf::Shelf;
use crate::recording::sinks::{RecordSink, SinkWriter, Wrote};
use crate::requests::Requests;
use crate::testing::{Shown, plan};
use aiperf_dataset::{Dataset, Making};
use aiperf_metrics::{Instruments, Limits, Metrics, RecordEncoder, RecordView, RunTraits, Watched};
use aiperf_plan::WorkerPriority;
use aiperf_testkit::tokenizer_json::FRAGILE;
use aiperf_tokenize::{Lookup, Tokenizer};
use aiperf_types::{
    ContentMark, EndpointKind, Exchange, Failure, Parsed, PhaseIndex, PhaseProgress, Read, RequestTag, Timeline,
    WallAnchor,
};
use std::sync::Arc;

/// Writes the number of each record, so that order, loss and repetition show.
struct Numbers;

impl RecordEncoder for Numbers {
    fn encode(&mut self, record: &RecordView<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{} ", record.meta.session_num).as_bytes());
    }
}

fn numbers(shown: &Shown) -> Vec<u64> {
    shown.text().split_whitespace().map(|number| number.parse().unwrap()).collect()
}

fn sink(shown: &Shown) -> RecordSink {
    let (name, file) = ("numbers", Box::new(shown.clone()));
    RecordSink { name, path: name.into(), encoder: Box::new(|| Box::new(Numbers)), file, holds: 0 }
}

/// A coordinator whose record threads do only what the test makes them do.
struct Bench {
    coordinator: Coordinator,
    writers: Vec<SinkWriter>,
    context: Arc<RecordContext>,
    queue: Arc<Queue>,
    phases: Arc<[PhaseTrack]>,
    shown: Shown,
}

const THREADS: usize = 2;

impl Bench {
    fn new(events: Events) -> Self {
        Self::counting_with(Tokenizer::load("builtin", &Lookup::from_env()).unwrap(), events)
    }

    fn counting_with(tokenizer: Tokenizer, events: Events) -> Self {
        let plan = Arc::new(plan("http://127.0.0.1:1"));
        let making = Tokenizer::builtin();
        let dataset = Arc::new(Dataset::of(&plan.dataset, Making::new(&plan.draws(), &making)).unwrap());
        let requests = Arc::new(Requests::new(plan.clone(), dataset, "1").unwrap());
        let phases = phases::of(&plan);
        let metrics = Arc::new(Metrics::for_run(RunTraits::new(EndpointKind::Chat, true)));
        let ids = phases.iter().map(|phase| phase.id.clone()).collect();
        let anchor = WallAnchor::default();
        let (queue, queued) = Queue::new(1 << 30, 1, 1);
        let (queue, shown) = (Arc::new(queue), Shown::default());
        let context = Arc::new(RecordContext {
            reader: Reader { plan: plan.clone(), requests, tokenizers: Some(tokenizer.into()), anchor, phases: ids },
            metrics: metrics.clone(),
            redactor: Arc::default(),
            sweeps: Sweeps::new(&plan.phases, &metrics, phases.clone(), queue.clone()),
            instruments: events.histograms_every().map(|_| Arc::new(Instruments::of(&metrics))),
            limits: Limits::default(),
            is_watched: true,
            counting_time: Arc::default(),
            shelves: vec![Shelf::default()],
            watched: Watched::default(),
        });
        let mut mailboxes = Mailboxes::default();
        (0..THREADS).for_each(|_| drop(mailboxes.add()));
        let (sinks, writers) =
            OrderedSinks::new(vec![sink(&shown)], &context.shelves, plan.runtime.flush_every, MonoNs(0));
        let resources = Resources {
            queue: queue.clone(),
            queued,
            ring: Arc::new(BatchRing::new(THREADS * BATCHES_A_THREAD)),
            mailboxes,
            recorder: Self::recorder(&context),
            sinks,
            buffers: vec![BufferReturn::default()].into(),
            progress: PhaseReports::new(&phases, &queue, &AllCounters::of(1, 0), &events),
            phases: phases.clone(),
            live_judge: LiveJudge {
                metrics,
                cores: CoreWatch::new(WorkerPriority::Normal),
                disturbance: Arc::new(Disturbance::since_now()),
                wants_unstamped: false,
                wants_normal: false,
            },
            events,
            watch: RequestWatch::new(&plan, phases.clone(), None),
            looks: None,
        };
        Self { coordinator: Coordinator::new(resources, MonoNs(0)), writers, context, queue, phases, shown }
    }

    fn recorder(context: &Arc<RecordContext>) -> Recorder {
        Recorder::new(context.clone(), 0, vec![Box::new(Numbers)])
    }

    fn push(&self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            let exchange = Exchange {
                tag: RequestTag { phase: PhaseIndex(0), number, ..RequestTag::default() },
                failure: Some(Failure::TimedOut),
                ..Exchange::default()
            };
            self.queue.push(exchange.into());
        }
    }

    /// Rounds at one instant until there is nothing more to compute and to write.
    fn settle(&mut self, at: MonoNs) {
        while self.coordinator.step(at) {}
        self.writers.iter_mut().for_each(|writer| while writer.write_some(at) == Wrote::MoreToWrite {});
        self.coordinator.step(at);
    }

    fn ring(&self) -> Arc<BatchRing> {
        self.coordinator.resources.ring.clone()
    }

    /// The next batch, as a record thread takes it.
    fn taken(&self) -> Arc<Batch> {
        self.ring().take().unwrap()
    }
}

/// Later than anything that was pushed, by more than patience.
fn later(by: u64) -> MonoNs {
    mono_now().plus(Nanos(PATIENCE.0 * by + 1))
}

#[test]
fn records_are_written_though_no_record_thread_ever_gets_a_core() {
    let mut bench = Bench::new(Events::new(WallAnchor::default()));
    bench.push(0..100);
    let handed_out = mono_now();
    bench.settle(handed_out);
    assert!(numbers(&bench.shown).is_empty(), "everything is with the record threads");
    bench.settle(later(1));
    assert_eq!(numbers(&bench.shown), (0..100).collect::<Vec<u64>>());
    assert_eq!((bench.queue.waiting(), bench.queue.recorded(0)), (0, 100));
}

#[test]
fn a_thread_that_comes_too_late_counts_nothing_twice() {
    let mut bench = Bench::new(Events::new(WallAnchor::default()));
    bench.push(0..40);
    bench.settle(mono_now());
    let taken = [bench.taken(), bench.taken()];
    bench.settle(later(1));
    let mut late = Bench::recorder(&bench.context);
    let left = std::iter::from_fn(|| bench.ring().take());
    for batch in taken.into_iter().chain(left) {
        record_thread::work(&mut late, &batch);
    }
    bench.settle(later(2));
    assert_eq!(numbers(&bench.shown), (0..40).collect::<Vec<u64>>());
    let late = late.into_totals().phases[0].records();
    let own = bench.coordinator.resources.recorder.into_totals().phases[0].records();
    assert_eq!((late, own), (0, 40));
}

#[test]
fn a_thread_interrupted_between_its_records_and_its_claim_still_counts() {
    let mut bench = Bench::new(Events::new(WallAnchor::default()));
    bench.push(0..10);
    bench.settle(mono_now());
    let batch = bench.taken();
    let mut recorder = Bench::recorder(&bench.context);
    let encoded = recorder.compute(&batch, Claimant::Coordinator).unwrap();
    assert!(batch.computed.set(encoded).is_ok());
    bench.settle(later(1));
    assert_eq!(numbers(&bench.shown), (0..10).collect::<Vec<u64>>());
    assert!(batch.claim(Claimant::Taker), "an answered batch is never taken over");
}

/// As many exchanges as are on offer at a time.
const ON_OFFER: u64 = (THREADS * BATCHES_A_THREAD * BATCH) as u64;

#[test]
fn a_batch_that_a_thread_does_not_finish_is_computed_soon_if_the_others_run_out_of_work_behind_it() {
    for (pushed, written) in [(ON_OFFER - BATCH as u64, 0), (ON_OFFER, ON_OFFER)] {
        let mut bench = Bench::new(Events::new(WallAnchor::default()));
        bench.push(0..pushed);
        bench.coordinator.step(mono_now());
        let (stuck, mut other) = (bench.taken(), Bench::recorder(&bench.context));
        while let Some(batch) = bench.ring().take() {
            record_thread::work(&mut other, &batch);
        }
        bench.settle(stuck.taken_at().unwrap().plus(Nanos(SHORT_PATIENCE.0 + 1)));
        assert_eq!(numbers(&bench.shown).len() as u64, written);
    }
}

#[test]
fn a_large_batch_has_more_time() {
    let batch = |bytes: usize| {
        let exchange = Exchange { raw: vec![0; bytes], ..Exchange::default() };
        Batch::new(0, vec![exchange.into()], vec![BufferReturn::default()].into())
    };
    assert_eq!([0, 1 << 20, 10 << 20].map(|bytes| short_patience(&batch(bytes)).0 / 10_000_000), [1, 10, 25]);
}

#[test]
fn more_records_than_are_on_offer_are_written_though_no_record_thread_ever_gets_a_core() {
    let mut bench = Bench::new(Events::new(WallAnchor::default()));
    bench.push(0..3 * ON_OFFER);
    bench.settle(mono_now());
    bench.settle(later(1));
    assert_eq!(numbers(&bench.shown).len() as u64, 3 * ON_OFFER);
}

#[test]
fn a_thread_that_loses_its_core_while_it_takes_a_batch_holds_up_no_record() {
    let mut bench = Bench::new(Events::new(WallAnchor::default()));
    bench.push(0..100);
    bench.settle(mono_now());
    let (ring, mut recorder) = (bench.ring(), Bench::recorder(&bench.context));
    ring.skip();
    while let Some(batch) = ring.take() {
        record_thread::work(&mut recorder, &batch);
    }
    bench.settle(later(1));
    assert_eq!(numbers(&bench.shown), (0..100).collect::<Vec<u64>>());
}

#[test]
fn an_error_that_echoes_a_secret_of_its_request_is_kept_without_it() {
    let bench = Bench::new(Events::new(WallAnchor::default()));
    let raw = b"HTTP/1.1 401 X\r\n\r\nIncorrect API key provided: HUNTERrow21".to_vec();
    let exchange = Exchange {
        status: Some(401),
        timeline: Timeline {
            reads: vec![Read { at: MonoNs(1), lag: 0, len: raw.len() as u32, ..Default::default() }],
            ..Timeline::default()
        },
        raw_len: raw.len(),
        body_at: 18,
        raw,
        request_body: r#"{"messages":[],"api_key":"HUNTERrow21"}"#.to_owned().into(),
        ..Exchange::default()
    };
    let batch = Batch::new(0, vec![exchange.into()], vec![BufferReturn::default()].into());
    let computed = Bench::recorder(&bench.context).compute(&batch, Claimant::Coordinator).unwrap();
    let (_, error) = &computed.failures[0];
    assert_eq!(error.message, "Incorrect API key provided: <redacted>");
}

#[test]
fn a_phase_is_complete_when_its_last_record_is_written() {
    let mut events = Events::new(WallAnchor::default());
    let heard = events.subscribe(Interest::default());
    let mut bench = Bench::new(events);
    bench.push(0..3);
    bench.settle(mono_now());
    let phase = &bench.phases[0];
    let (id, counts) = (phase.id.clone(), PhaseProgress::default());
    phase.requests_done.set(PhaseMoment { phase: id, at: MonoNs(7), counts }).unwrap();
    bench.settle(mono_now());
    assert_eq!((bench.queue.recorded(0), bench.coordinator.complete[0]), (0, false));
    bench.settle(later(1));
    assert_eq!((bench.queue.recorded(0), bench.coordinator.complete[0]), (3, true));
    drop(bench);
    assert_eq!(heard.filter(|event| matches!(event, RunEvent::PhaseComplete(_))).count(), 1);
}

#[test]
fn a_phase_is_not_complete_while_a_record_of_it_waits_for_an_earlier_one() {
    let mut bench = Bench::new(Events::new(WallAnchor::default()));
    bench.push(0..17);
    bench.settle(mono_now());
    // Two threads have a batch each, and the one with the later batch is done first.
    let [_, batch] = [bench.taken(), bench.taken()];
    record_thread::work(&mut Bench::recorder(&bench.context), &batch);
    bench.settle(mono_now());
    assert_eq!((numbers(&bench.shown).len(), bench.queue.recorded(0), bench.queue.waiting()), (0, 0, 17));
    bench.settle(later(1));
    assert_eq!((numbers(&bench.shown).len(), bench.queue.recorded(0), bench.queue.waiting()), (17, 17, 0));
}

#[test]
fn records_that_a_sink_does_not_take_hold_dispatch_and_count_in_the_budget_until_it_does() {
    let mut bench = Bench::new(Events::new(WallAnchor::default()));
    bench.push(0..3);
    while bench.coordinator.step(later(1)) {}
    assert_eq!((bench.queue.waiting(), bench.queue.recorded(0)), (3, 0), "computed, and with the sink");
    assert!(bench.queue.is_behind(mono_now().plus(Nanos(800_000_000))));
    bench.settle(later(2));
    assert_eq!((bench.queue.waiting(), bench.queue.recorded(0)), (0, 3));
    assert!(!bench.queue.is_behind(mono_now().plus(Nanos(800_000_000))) && !bench.queue.is_half_full());
}

#[test]
fn nothing_new_is_sent_while_a_record_waits_for_too_long() {
    let mut bench = Bench::new(Events::new(WallAnchor::default()));
    bench.push(0..ON_OFFER + 1);
    let now = mono_now();
    bench.coordinator.step(now);
    let late = now.plus(Nanos(800_000_000));
    assert!(!bench.queue.is_behind(now) && bench.queue.is_behind(late));
    bench.settle(later(1));
    bench.settle(later(2));
    bench.coordinator.step(later(2));
    assert!(!bench.queue.is_behind(later(9)) && bench.queue.has_caught_up(later(9)), "all of them are written");
}

fn answered(number: u64, text: &str) -> Exchange {
    let content = vec![ContentMark { at: MonoNs(5), output: true, reasoning: false }];
    let parsed = Parsed { content, output_text: Some(text.into()), responses: 1, ..Parsed::default() };
    Exchange {
        tag: RequestTag { phase: PhaseIndex(0), number, ..RequestTag::default() },
        timeline: Timeline { start: MonoNs(1), end: MonoNs(9), ..Timeline::default() },
        status: Some(200),
        parsed: Some(Box::new(parsed)),
        ..Exchange::default()
    }
}

fn record(recorder: &mut Recorder, numbers: std::ops::Range<u64>, text: &str) {
    record_all(recorder, &numbers.map(|number| (number, text)).collect::<Vec<_>>());
}

/// Records responses, by number and text, as one batch.
fn record_all(recorder: &mut Recorder, responses: &[(u64, &str)]) {
    let buffers = vec![BufferReturn::default()].into();
    let exchanges = responses.iter().map(|(number, text)| answered(*number, text).into()).collect();
    let batch = Batch::new(responses[0].0, exchanges, buffers);
    assert!(recorder.compute(&batch, Claimant::Coordinator).is_some());
    recorder.add_up(&batch);
}

#[test]
fn what_waits_after_the_time_for_counting_is_recorded_without_counts() {
    let bench = Bench::new(Events::new(WallAnchor::default()));
    let mut recorder = Bench::recorder(&bench.context);
    record(&mut recorder, 0..3, "hello");
    bench.context.counting_time.end();
    record(&mut recorder, 3..5, "hello");
    let totals = recorder.into_totals();
    let quality = &totals.quality[0];
    assert_eq!(totals.phases[0].records(), 5);
    assert_eq!((quality.uncounted_after_stop, quality.too_long_to_count), (2, 0));
}

#[test]
fn a_text_that_is_too_long_to_count_is_no_sign_of_a_stop() {
    let folder = tempfile::tempdir().unwrap();
    // The library's own code counts by such a model.
    let json = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
        "pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null,
        "model":{"type":"WordLevel","vocab":{"a":0,"b":1},"unk_token":"b"}}"#;
    std::fs::write(folder.path().join("tokenizer.json"), json).unwrap();
    let tokenizer = Tokenizer::load(&folder.path().to_string_lossy(), &Lookup::from_env()).unwrap();
    let bench = Bench::counting_with(tokenizer, Events::new(WallAnchor::default()));
    let mut recorder = Bench::recorder(&bench.context);
    record(&mut recorder, 0..2, "a b");
    record(&mut recorder, 2..3, &"a".repeat((2 << 20) + 1));
    let quality = &recorder.into_totals().quality[0];
    assert_eq!((quality.uncounted_after_stop, quality.too_long_to_count), (0, 1));
    assert!(!quality.was_stopped());
}

#[test]
fn a_response_that_cannot_be_counted_has_a_record_without_counts_and_costs_no_other() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), FRAGILE).unwrap();
    let tokenizer = Tokenizer::load(&folder.path().to_string_lossy(), &Lookup::from_env()).unwrap();
    let bench = Bench::counting_with(tokenizer, Events::new(WallAnchor::default()));
    let mut recorder = Bench::recorder(&bench.context);
    record_all(&mut recorder, &[(0, "a"), (1, "Zed"), (2, "a a"), (3, "b"), (4, "a")]);
    let totals = recorder.into_totals();
    assert_eq!((totals.phases[0].records(), totals.lost), (5, vec![0]));
    let quality = &totals.quality[0];
    assert_eq!((quality.uncountable, quality.too_long_to_count, quality.uncounted_after_stop), (2, 0, 0));
    assert!(!quality.was_stopped());
}

#[test]
fn histograms_are_told_as_often_as_somebody_wants_them_however_often_metrics_are() {
    let mut events = Events::new(WallAnchor::default());
    let every = |ms| Some(Nanos::from_millis(ms));
    let mut heard =
        events.subscribe(Interest { metrics_every: every(100), histograms_every: every(1000), ..Interest::default() });
    let mut bench = Bench::new(events);
    let _ = bench.phases[0].started.set(MonoNs(0));
    bench.push(0..40);
    let (mut metrics, mut counts) = (0, Vec::new());
    // No record thread returns statistics. Those of the coordinator are reported.
    let start = mono_now();
    for ms in (0..3500).step_by(10) {
        bench.settle(start.plus(Nanos::from_millis(ms)));
        while let Heard::Event(event) = heard.next_within(Duration::ZERO) {
            match event {
                RunEvent::Metrics(_) => metrics += 1,
                RunEvent::Histograms(all) => {
                    let durations = all.histograms.iter().find(|all| &*all.name == "gen_ai.client.operation.duration");
                    counts.push(durations.iter().flat_map(|all| &all.points).map(|point| point.count).sum::<u64>());
                }
                _ => {}
            }
        }
    }
    assert!((3..=5).contains(&counts.len()) && metrics > 2 * counts.len(), "{metrics} {counts:?}");
    assert_eq!(counts.last(), Some(&40));
}
