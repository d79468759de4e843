use super::*;
use crate::requests::body_threads::BodyThreads;
use crate::requests::{EncodingBudget, Requests};
use crate::testing::plan;
use aiperf_dataset::{Dataset, Making};
use aiperf_plan::{DatasetPlan, Distribution, Sampling, StopWhen, SyntheticPlan};
use aiperf_schedule::Dispatch;
use aiperf_tokenize::Tokenizer;
use aiperf_types::Nanos;
use std::sync::Arc;

const ENTRIES: u32 = 10;
/// More draws than a ring spans.
const PAST_A_ROUND: u64 = SPAN as u64 + 2000;

/// Requests with so many bytes kept and so many ahead, and the conversation of each draw.
fn requests(bytes: usize, ahead_bytes: usize, sampling: Sampling) -> (Arc<Requests>, Order) {
    let mut plan = plan("http://127.0.0.1:1");
    plan.sampling = sampling;
    // So that draws have no end.
    plan.phases.iter_mut().for_each(|phase| phase.stop = vec![StopWhen::Elapsed(Nanos::from_millis(1))]);
    plan.dataset =
        DatasetPlan::Synthetic(SyntheticPlan { isl: Some(Distribution::fixed(4.0)), ..SyntheticPlan::new(ENTRIES) });
    let dataset = Dataset::of(&plan.dataset, Making::new(&plan.draws(), &Tokenizer::builtin())).unwrap();
    let (_, order) = aiperf_schedule::orders(&plan, dataset.shapes()).remove(0);
    let budget = EncodingBudget { bytes, ahead_bytes, threads: 2 };
    let requests = Requests::of_counted(Arc::new(plan), Arc::new(dataset), "1", budget, || ()).unwrap();
    (Arc::new(requests), order)
}

impl Ahead {
    fn is_ready(&self, draw: Draw) -> bool {
        let slot = self.ring(draw).unwrap().slot(draw.position).ready.lock().unwrap();
        slot.as_ref().is_some_and(|ready| ready.position == draw.position)
    }
}

fn draw(position: u64) -> Draw {
    Draw { order: OrderId::Sampled, position }
}

fn body(prepared: Prepared) -> String {
    let Ok(request) = prepared else { panic!("a request") };
    String::from_utf8(request.encoded.body.joined().into_owned()).unwrap()
}

#[test]
fn each_draw_finds_the_body_of_its_conversation_round_after_round() {
    for sampling in [Sampling::Sequential, Sampling::Shuffle, Sampling::Random] {
        // The bodies of some conversations are kept.
        let (requests, order) = requests(300, 1 << 20, sampling);
        let (kept, _) = requests.kept();
        assert!(kept > 0 && kept < ENTRIES as usize, "{kept}");
        requests.fill_ahead();
        let mut late = 0;
        for position in 0..PAST_A_ROUND {
            let conversation = order.conversation(position).unwrap();
            let dispatch = Dispatch { conversation, draw: draw(position), turns: 1, ..Dispatch::default() };
            let ahead = requests.ahead().unwrap();
            if position % 1000 == 0 {
                while ahead.make_next(&*requests) {}
            }
            late += u64::from(!requests.is_kept(conversation) && !ahead.is_ready(draw(position)));
            let First::Ready(first) = requests.first(&dispatch) else { panic!("no thread builds late ones here") };
            if position % 1000 < 20 {
                assert_eq!(body(first), body(requests.request(conversation)));
            }
        }
        assert_eq!(late, 0);
        let is_passed =
            |slot: &&Slot| slot.ready.lock().unwrap().as_ref().is_some_and(|ready| ready.position < PAST_A_ROUND);
        assert_eq!(requests.ahead().unwrap().rings[0].slots.iter().filter(is_passed).count(), 0);
    }
}

#[test]
fn bodies_are_ready_up_to_the_limit_and_taken_ones_make_room() {
    let (requests, _) = requests(0, 1000, Sampling::Sequential);
    requests.fill_ahead();
    let ahead = requests.ahead().unwrap();
    let ring = &ahead.rings[0];
    let (ready, made) = (ring.bytes.load(Relaxed), ring.next.load(Relaxed));
    assert!((1000..1500).contains(&ready) && made < 20, "{ready} bytes of {made}");
    assert!(!ahead.make_next(&*requests));
    assert!(ahead.take(draw(0)).is_some() && ahead.take(draw(0)).is_none(), "once");
    // The last body may have been longer than the first.
    assert!(ring.bytes.load(Relaxed) < 1000 || ahead.take(draw(1)).is_some());
    assert!(ahead.make_next(&*requests));
}

#[test]
fn bodies_that_are_never_taken_do_not_block_later_ones() {
    let (requests, _) = requests(0, 1000, Sampling::Sequential);
    requests.fill_ahead();
    let ahead = requests.ahead().unwrap();
    let made = ahead.rings[0].next.load(Relaxed);
    // A phase ended, and the bodies that it had drawn are skipped.
    assert!(ahead.take(draw(made)).is_none());
    assert!(ahead.make_next(&*requests), "the oldest is dropped");
    assert!(ahead.take(draw(made + 1)).is_some(), "the next one is ready");
    let (ready, slots) = (ahead.rings[0].bytes.load(Relaxed), &ahead.rings[0].slots);
    let held: usize = slots.iter().filter_map(|slot| Some(slot.ready.lock().unwrap().as_ref()?.bytes)).sum();
    assert_eq!(ready, held);
}

#[test]
fn a_body_that_was_taken_late_is_not_made_again() {
    let (requests, _) = requests(0, 1 << 20, Sampling::Sequential);
    let ahead = requests.ahead().unwrap();
    assert!(ahead.take(draw(0)).is_none() && ahead.take(draw(2)).is_none());
    ahead.make_next(&*requests);
    ahead.make_next(&*requests);
    assert!(ahead.take(draw(1)).is_some() && ahead.take(draw(3)).is_some());
    // Nor if it was taken while it was being built.
    let ring = &ahead.rings[0];
    ring.put(0, requests.build(0));
    assert_eq!(ring.bytes.load(Relaxed), 0);
}

#[test]
fn a_late_body_is_built_for_the_request_that_waits() {
    let (requests, order) = requests(0, 1000, Sampling::Sequential);
    let threads = BodyThreads::start(&requests, 8).unwrap().unwrap();
    // So far ahead that no thread has it ready.
    let position = 1 << 40;
    let conversation = order.conversation(position).unwrap();
    let dispatch = Dispatch { conversation, draw: draw(position), turns: 1, ..Dispatch::default() };
    let First::Late(late) = requests.first(&dispatch) else { panic!("it cannot be ready") };
    assert_eq!(body(late.blocking_recv().unwrap()), body(requests.request(conversation)));
    drop(threads);
    let First::Ready(first) = requests.first(&dispatch) else { panic!("no thread builds them any more") };
    assert!(first.is_ok());
}

#[test]
fn nothing_is_built_ahead_if_all_bodies_are_kept() {
    let (requests, _) = requests(usize::MAX, 1000, Sampling::Sequential);
    assert!(requests.ahead().is_none());
    assert!(BodyThreads::start(&requests, 8).unwrap().is_none());
}
