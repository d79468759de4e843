use super::*;
use crate::lanes::Arrivals;
use crate::queue::Queued;
use crate::recording::record::Reader;
use crate::requests::EncodingBudget;
use crate::requests::body_threads::BodyThreads;
use crate::testing::{client, json, plan, serve, stream};
use aiperf_dataset::{Dataset, Making};
use aiperf_schedule::Draw;
use aiperf_tokenize::Tokenizer;
use aiperf_transport::Reuse;
use aiperf_types::{Body, ContextMode, Conversation, PhaseId, PhaseKind, Turn, WallAnchor};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

/// Makes the response to a request from the request's number, its connection and its text.
type Respond = Box<dyn Fn(usize, usize, &str) -> Vec<u8> + Send + Sync>;

/// A worker that a test controls, and its server.
struct Desk {
    worker: Rc<Worker>,
    requests: Arc<Requests>,
    plan: Arc<Plan>,
    queue: Arc<Queue>,
    unsent: Arc<Unsent>,
    queued: RefCell<Arrivals<Queued>>,
    events: Rc<RefCell<Vec<Event>>>,
    news: Rc<Notify>,
    /// Requests as they arrived: the connection, the head and the body of each.
    came: Arc<Mutex<Vec<(usize, String, String)>>>,
    coming: Arc<Notify>,
}

impl Desk {
    fn new(make: impl FnOnce(Arc<Plan>, Arc<Dataset>) -> Requests, reuse: Reuse, respond: Respond) -> Self {
        let came: Arc<Mutex<Vec<(usize, String, String)>>> = Arc::default();
        let coming = Arc::new(Notify::new());
        let (kept, wake) = (came.clone(), coming.clone());
        let port = serve(move |connection, request| {
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            let mut came = kept.lock().unwrap();
            came.push((connection, head.to_owned(), body.to_owned()));
            let number = came.len() - 1;
            drop(came);
            wake.notify_one();
            respond(number, connection, request)
        });
        let plan = Arc::new(plan(&format!("http://127.0.0.1:{port}")));
        let dataset = Arc::new(Dataset::of(&plan.dataset, Making::new(&plan.draws(), &Tokenizer::builtin())).unwrap());
        let (requests, (queue, queued)) = (Arc::new(make(plan.clone(), dataset)), Queue::new(1 << 30, 2, 4));
        let events: Rc<RefCell<Vec<Event>>> = Rc::default();
        let (queue, news) = (Arc::new(queue), Rc::new(Notify::new()));
        let (kept, wake, unsent) = (events.clone(), news.clone(), Arc::new(Unsent::up_to(10)));
        let send_event = move |event| {
            kept.borrow_mut().push(event);
            wake.notify_one();
        };
        let resources = Resources {
            number: 3,
            client: client(port, reuse, 1 << 20),
            requests: requests.clone(),
            queue: queue.clone(),
            unsent: unsent.clone(),
            ids: Ids::new(7),
            patience: Patience::of(&plan),
            counters: AllCounters::of(4, 0),
            secrets: Secrets::default(),
            alarm: Alarm::new().0,
        };
        let worker = Worker::new(resources, Box::new(send_event));
        let queued = RefCell::new(queued);
        Self { worker, requests, plan, queue, unsent, queued, events, news, came, coming }
    }

    /// Sends a request and waits until it has returned.
    async fn send(&self, dispatch: Dispatch) -> RequestEnd {
        self.release(dispatch);
        self.returned(dispatch).await
    }

    fn release(&self, dispatch: Dispatch) {
        self.unsent.add();
        self.worker.perform(Command::Send(dispatch, mono_now()));
    }

    async fn returned(&self, dispatch: Dispatch) -> RequestEnd {
        loop {
            let end = self.events.borrow().iter().find_map(|event| match *event {
                Event::Returned { session, turn, end, .. } if (session, turn) == (dispatch.session, dispatch.turn) => {
                    Some(end)
                }
                _ => None,
            });
            match end {
                Some(end) => return end,
                None => self.news.notified().await,
            }
        }
    }

    /// Waits until so many requests have arrived.
    async fn request_came(&self, number: usize) {
        while self.came.lock().unwrap().len() < number {
            self.coming.notified().await;
        }
    }

    /// The messages of each request, in order: the first letter of each role and the content.
    fn bodies_sent(&self) -> Vec<String> {
        let message = |message: &Value| {
            let content = message["content"].as_str().map_or_else(|| message["content"].to_string(), str::to_owned);
            format!("{:.1}:{content}", message["role"].as_str().unwrap())
        };
        let request = |(_, _, body): &(usize, String, String)| {
            let body: Value = serde_json::from_str(body).unwrap();
            body["messages"].as_array().unwrap().iter().map(message).collect::<Vec<_>>().join(" ")
        };
        self.came.lock().unwrap().iter().map(request).collect()
    }

    fn connections(&self) -> Vec<usize> {
        self.came.lock().unwrap().iter().map(|(connection, ..)| *connection).collect()
    }

    /// A header field of each request.
    fn fields(&self, name: &str) -> Vec<String> {
        let field = |(_, head, _): &(usize, String, String)| {
            head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned)).unwrap()
        };
        self.came.lock().unwrap().iter().map(field).collect()
    }

    fn finished(&self) -> Vec<FinishedExchange> {
        std::iter::from_fn(|| self.queued.borrow_mut().try_next()).map(|queued| queued.finished).collect()
    }

    fn exchanges(&self) -> Vec<Exchange> {
        self.finished().into_iter().map(FinishedExchange::into_exchange).collect()
    }

    fn reader(&self) -> Reader {
        let phase = PhaseId { index: 0, profiling_index: Some(0), name: "p".into(), kind: PhaseKind::Profiling };
        let (tokenizers, phases) = (Some(Tokenizer::builtin().into()), vec![Arc::new(phase)]);
        let (plan, requests) = (self.plan.clone(), self.requests.clone());
        Reader { plan, requests, tokenizers, anchor: WallAnchor::default(), phases }
    }
}

/// Runs a worker under the control of a test.
fn at_desk(
    conversations: Vec<Conversation>,
    reuse: Reuse,
    respond: impl Fn(usize, usize, &str) -> Vec<u8> + Send + Sync + 'static,
    test: impl AsyncFnOnce(&Desk),
) {
    let make = |plan, dataset| Requests::new(plan, dataset, "1").unwrap().of_conversations(conversations);
    at_desk_of(make, reuse, respond, test);
}

/// As `at_desk`, with requests that the test makes.
fn at_desk_of(
    make: impl FnOnce(Arc<Plan>, Arc<Dataset>) -> Requests,
    reuse: Reuse,
    respond: impl Fn(usize, usize, &str) -> Vec<u8> + Send + Sync + 'static,
    test: impl AsyncFnOnce(&Desk),
) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build_local(tokio::runtime::LocalOptions::default()).unwrap();
    runtime.block_on(async {
        let desk = Desk::new(make, reuse, Box::new(respond));
        tokio::task::spawn_local(desk.worker.clone().launch());
        tokio::task::spawn_local(desk.worker.clone().keep_time(DeadlineTimer::new().unwrap()));
        let done = tokio::time::timeout(Duration::from_secs(60), test(&desk)).await;
        done.expect("the test did not finish in time");
    });
}

fn talk(session_id: &str, texts: &[&str]) -> Conversation {
    let turns = texts.iter().map(|&text| Turn::text(text)).collect();
    Conversation { session_id: session_id.to_owned(), turns, ..Conversation::default() }
}

fn dispatch(session: u64, turn: u32, turns: u32) -> Dispatch {
    let number = session * 10 + u64::from(turn);
    Dispatch { number, session, turn, turns, intended: mono_now(), ..Dispatch::default() }
}

/// Responds with the number of each request.
fn counting(number: usize, _: usize, _: &str) -> Vec<u8> {
    stream(&["a", &number.to_string()])
}

#[test]
fn ids_do_not_repeat() {
    let ids = Ids::new(7);
    let mut seen = std::collections::HashSet::new();
    for n in 0..50_000 {
        assert!(seen.insert(ids.session(n)));
        assert!(seen.insert(ids.request(PhaseIndex(0), n)));
        assert!(seen.insert(ids.request(PhaseIndex(1), n)));
    }
}

#[test]
fn every_request_is_nudged_in_each_cycle_of_rounds() {
    let mut flying = Flying::default();
    let cancels: Vec<Cancel> = (0..50).map(|_| flying.launch(PhaseIndex(0)).1).collect();
    (0..NUDGE_ROUNDS - 1).for_each(|round| flying.nudge(round));
    let nudged = |cancel: &&Cancel| cancel.is_nudged();
    assert_eq!(cancels.iter().filter(nudged).count(), 48);
    flying.nudge(NUDGE_ROUNDS - 1);
    assert_eq!(cancels.iter().filter(nudged).count(), 50);
}

#[test]
fn each_turn_contains_the_messages_before_it() {
    at_desk(vec![talk("s", &["1", "2", "3"])], Reuse::Always, counting, async |desk| {
        for turn in 0..3 {
            assert_eq!(desk.send(dispatch(0, turn, 3)).await, RequestEnd::Answered);
        }
        let frame = |messages: &str| {
            format!(
                r#"{{"messages":[{messages}],"model":"m","stream":true,"stream_options":{{"include_usage":true}}}}"#
            )
        };
        let user = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
        let reply = |text: &str| format!(r#"{{"role":"assistant","content":"{text}"}}"#);
        let first = user("1");
        let second = format!("{first},{},{}", reply("a0"), user("2"));
        let third = format!("{second},{},{}", reply("a1"), user("3"));
        let bodies: Vec<String> = desk.came.lock().unwrap().iter().map(|(.., body)| body.clone()).collect();
        assert_eq!(bodies, [frame(&first), frame(&second), frame(&third)]);
        let ids: HashSet<String> = desk.fields("X-Correlation-ID").into_iter().collect();
        let requests: HashSet<String> = desk.fields("X-Request-ID").into_iter().collect();
        assert_eq!((ids.len(), requests.len()), (1, 3), "one session, three requests");
        assert_eq!(desk.worker.sessions.borrow().len(), 0, "nothing is kept of a finished session");
    });
}

#[test]
fn sessions_of_one_conversation_share_no_responses() {
    at_desk(vec![talk("s", &["1", "2"])], Reuse::Always, counting, async |desk| {
        for (session, turn) in [(0, 0), (1, 0), (1, 1), (0, 1)] {
            desk.send(dispatch(session, turn, 2)).await;
        }
        assert_eq!(desk.bodies_sent(), ["u:1", "u:1", "u:1 a:a1 u:2", "u:1 a:a0 u:2"]);
    });
}

#[test]
fn tool_calls_are_repeated_in_later_turns() {
    let called = |_: usize, _: usize, _: &str| {
        json(
            r#"{"choices":[{"message":{"content":null,"reasoning_content":"hm","tool_calls":[
            {"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}"#,
        )
    };
    at_desk(vec![talk("s", &["1", "2"])], Reuse::Always, called, async |desk| {
        for turn in 0..2 {
            desk.send(dispatch(0, turn, 2)).await;
        }
        let body: Value = serde_json::from_str(&desk.came.lock().unwrap()[1].2).unwrap();
        let call = serde_json::json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
        assert_eq!(body["messages"][1]["tool_calls"], call);
        assert_eq!(body["messages"][2]["content"], "2");
    });
}

#[test]
fn a_session_continues_after_a_failed_turn_with_the_text_before_the_failure() {
    let respond = |number: usize, _: usize, _: &str| match number {
        1 => b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec(),
        2 => {
            let cut = String::from_utf8(stream(&["half"])).unwrap();
            cut.replace("data: [DONE]\n\n", "data: {\"error\":{\"message\":\"no\"}}\n\n")
                .replace("Content-Length: ", "X-Length: ")
                .replace("\r\n\r\n", "\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n")
                .into_bytes()
        }
        _ => counting(number, 0, ""),
    };
    at_desk(vec![talk("s", &["1", "2", "3", "4"])], Reuse::Always, respond, async |desk| {
        let mut ends = vec![desk.send(dispatch(0, 0, 4)).await, desk.send(dispatch(0, 1, 4)).await];
        let given_up = Dispatch { cancel_after: Some(Nanos(200_000_000)), ..dispatch(0, 2, 4) };
        ends.extend([desk.send(given_up).await, desk.send(dispatch(0, 3, 4)).await]);
        use RequestEnd::{Answered, Failed};
        assert_eq!(ends, [Answered, Failed, Failed, Answered]);
        assert_eq!(desk.bodies_sent()[2..], ["u:1 a:a0 u:2 u:3", "u:1 a:a0 u:2 u:3 a:half u:4"]);
    });
}

#[test]
fn a_planned_cancellation_is_a_failure_of_its_own_kind() {
    let silent = |_: usize, _: usize, _: &str| Vec::new();
    at_desk(vec![talk("s", &["1"])], Reuse::Always, silent, async |desk| {
        let after = Nanos(1_000_000);
        let end = desk.send(Dispatch { cancel_after: Some(after), ..dispatch(0, 0, 1) }).await;
        assert_eq!(end, RequestEnd::Failed);
        assert_eq!(desk.exchanges()[0].failure, Some(Failure::Cancelled { after }));
    });
}

#[test]
fn requests_that_were_due_and_never_begun_leave_an_exchange_with_that_failure() {
    at_desk(vec![talk("s", &["1"])], Reuse::Always, counting, async |desk| {
        let other = Dispatch { phase: PhaseIndex(1), ..dispatch(9, 0, 1) };
        let issued = mono_now();
        for due in [dispatch(0, 0, 1), other, dispatch(1, 0, 1)] {
            desk.worker.perform(Command::Send(due, issued));
        }
        desk.worker.perform(Command::Cancel(PhaseIndex(0)));
        let ends = [desk.returned(dispatch(0, 0, 1)).await, desk.returned(dispatch(1, 0, 1)).await];
        assert_eq!((ends, desk.returned(other).await), ([RequestEnd::Cancelled; 2], RequestEnd::Answered));
        assert_eq!(desk.came.lock().unwrap().len(), 1, "the request of the other phase");
        let never_begun: Vec<Exchange> = desk.exchanges().into_iter().filter(Exchange::was_cut_off).collect();
        assert_eq!(never_begun.iter().map(|exchange| exchange.tag.number).collect::<Vec<_>>(), [0, 10]);
        assert_eq!((desk.queue.never_left(0), desk.queue.never_left(1)), (2, 0));
        for exchange in &never_begun {
            let record = desk.reader().read(exchange, 0);
            assert!(record.meta.was_cancelled && record.measured.http.is_none());
            assert_eq!((&*record.meta.conversation_id, exchange.timeline.issued), ("s", issued));
            assert_eq!(
                record.measured.error.unwrap().message,
                "Request cancelled by external signal before it was sent"
            );
        }
    });
}

#[test]
fn sessions_that_were_cut_off_are_forgotten_with_their_phase() {
    let respond = |number: usize, _: usize, _: &str| if number < 2 { counting(number, 0, "") } else { Vec::new() };
    at_desk(vec![talk("s", &["1", "2"])], Reuse::Always, respond, async |desk| {
        let other = |turn| Dispatch { phase: PhaseIndex(1), ..dispatch(9, turn, 2) };
        desk.send(dispatch(0, 0, 3)).await;
        desk.send(other(0)).await;
        desk.release(dispatch(0, 1, 3));
        desk.request_came(3).await;
        assert_eq!(desk.worker.sessions.borrow().len(), 2);
        desk.worker.perform(Command::Cancel(PhaseIndex(0)));
        assert_eq!(desk.returned(dispatch(0, 1, 3)).await, RequestEnd::Cancelled);
        desk.worker.perform(Command::Forget(PhaseIndex(0)));
        assert_eq!(desk.worker.sessions.borrow().len(), 1, "the session of the other phase");
        desk.worker.sessions.borrow_mut().take(0, Default::default());
        assert_eq!(desk.worker.sessions.borrow().len(), 1, "a late response is discarded");
    });
}

#[test]
fn the_first_content_is_reported_once_and_before_the_end() {
    let respond = |number: usize, _: usize, _: &str| match number {
        0 => stream(&["", "a", "b"]),
        1 => json(r#"{"choices":[{"message":{"content":"whole"}}]}"#),
        2 => stream(&[""]),
        _ => b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec(),
    };
    at_desk(vec![talk("s", &["1"])], Reuse::Always, respond, async |desk| {
        for session in 0..4 {
            desk.send(Dispatch { awaits_first_content: true, ..dispatch(session, 0, 1) }).await;
        }
        desk.send(dispatch(4, 0, 1)).await;
        let events: Vec<(u64, bool)> = desk
            .events
            .borrow()
            .iter()
            .map(|event| match *event {
                Event::FirstContent { session, turn: 0 } => (session, true),
                Event::Returned { session, turn: 0, .. } => (session, false),
                _ => panic!("{event:?}"),
            })
            .collect();
        let wanted = [(0, true), (0, false), (1, true), (1, false), (2, false), (3, false), (4, false)];
        assert_eq!(events, wanted, "two have no content, and the last is not awaited");
    });
}

#[test]
fn responses_that_workers_parse_give_the_same_records() {
    let respond = |_: usize, _: usize, _: &str| stream(&["hello there", "hello there"]);
    at_desk(vec![talk("s", &["one two"])], Reuse::Always, respond, async |desk| {
        desk.send(dispatch(0, 0, 1)).await;
        desk.send(Dispatch { awaits_first_content: true, ..dispatch(1, 0, 1) }).await;
        let exchanges = desk.exchanges();
        assert_eq!(exchanges.iter().map(|exchange| exchange.parsed.is_some()).collect::<Vec<_>>(), [false, true]);
        let reader = desk.reader();
        let facts = exchanges.iter().map(|exchange| {
            let record = reader.read(exchange, 0);
            let measured = record.measured;
            (measured.tokens, measured.content.len(), measured.error, record.parsed.output_text)
        });
        let facts: Vec<_> = facts.collect();
        assert_eq!(facts[0], facts[1]);
        assert!(facts[0].0.output > Some(0) && facts[0].0.input > Some(0) && facts[0].1 == 2);
    });
}

#[test]
fn correlation_ids_follow_the_identity_that_the_schedule_gives() {
    let talks = vec![talk("s", &["1"]), talk("a\r\nX-Own: 1", &["1"])];
    at_desk(talks, Reuse::Always, counting, async |desk| {
        for (session, conversation, identity) in
            [(0, 0, Identity::Conversation), (1, 0, Identity::User(7)), (2, 1, Identity::Conversation)]
        {
            desk.send(Dispatch { conversation, identity, ..dispatch(session, 0, 1) }).await;
        }
        let wanted = ["fixed-schedule-s", "7", "fixed-schedule-a%0D%0AX-Own: 1"];
        assert_eq!(desk.fields("X-Correlation-ID"), wanted);
        let recorded = desk.exchanges().into_iter().map(|exchange| exchange.tag.correlation_id.to_string());
        assert_eq!(recorded.collect::<Vec<_>>(), wanted, "records have the ids that were sent");
    });
}

#[test]
fn records_describe_each_turn() {
    let mut conversation = talk("s", &["one", "two three", "four"]);
    conversation.turns[1].max_tokens = Some(9);
    conversation.turns[2].audio_duration_seconds = Some(1.5);
    at_desk(vec![conversation], Reuse::Always, counting, async |desk| {
        for turn in 0..3 {
            let scheduled_send_ms = Some(f64::from(turn) + 0.5);
            desk.send(Dispatch { scheduled_send_ms, ..dispatch(0, turn, 3) }).await;
        }
        let (reader, exchanges) = (desk.reader(), desk.finished());
        let tags: Vec<_> = exchanges.iter().map(|exchange| (exchange.tag.turn, exchange.tag.is_last)).collect();
        assert_eq!(tags, [(0, false), (1, false), (2, true)]);
        let records: Vec<_> = exchanges.iter().map(|exchange| reader.read_finished(exchange, 0.into())).collect();
        let counts = |text: &str| Some(Tokenizer::builtin().count(text) as u64);
        let input: Vec<_> = records.iter().map(|record| record.measured.tokens.input).collect();
        let wanted = ["one", "one a0 two three", "one a0 two three a1 four"].map(counts);
        assert_eq!(input, wanted, "all texts of a request, joined by blanks");
        assert!(exchanges.iter().all(|exchange| exchange.prompt.is_some()), "only additions are counted");
        let whole = exchanges.iter().map(|exchange| reader.read(exchange, 0).measured.tokens.input);
        assert_eq!(whole.collect::<Vec<_>>(), wanted, "the count of the whole is the same");
        let of = |record: &crate::recording::record::Record| {
            let measured = &record.measured;
            (record.meta.turn_index, measured.requested_osl, measured.audio_seconds, measured.scheduled_send_ms)
        };
        let facts: Vec<_> = records.iter().map(of).collect();
        let wanted = [(0, None, None, Some(0.5)), (1, Some(9), None, Some(1.5)), (2, None, Some(1.5), Some(2.5))];
        assert_eq!(facts, wanted);
    });
}

#[test]
fn a_sticky_session_keeps_its_connection_until_its_last_turn() {
    at_desk(vec![talk("s", &["1", "2"])], Reuse::WithinSession, counting, async |desk| {
        for (session, turn) in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0)] {
            desk.send(dispatch(session, turn, 2)).await;
        }
        assert_eq!(desk.connections(), [0, 1, 0, 1, 2]);
        desk.worker.perform(Command::Forget(PhaseIndex(0)));
        desk.events.borrow_mut().clear();
        desk.send(dispatch(2, 0, 2)).await;
        assert_eq!(desk.connections()[5], 3, "the connection of a forgotten session is closed");
    });
}

#[test]
fn the_correlation_id_of_a_session_is_made_once() {
    at_desk(vec![talk("s", &["1", "2", "3"])], Reuse::Always, counting, async |desk| {
        for turn in 0..3 {
            desk.send(Dispatch { identity: Identity::Conversation, ..dispatch(0, turn, 3) }).await;
        }
        let ids = desk.exchanges().into_iter().map(|exchange| match exchange.tag.correlation_id {
            CorrelationId::Text(text) => text,
            CorrelationId::Uuid(_) => panic!("it is the id of a trace"),
        });
        let ids: Vec<Arc<str>> = ids.collect();
        assert!(ids.iter().all(|id| &**id == "fixed-schedule-s" && Arc::ptr_eq(id, &ids[0])));
    });
}

#[test]
fn responses_that_no_turn_depends_on_are_not_parsed_on_the_worker() {
    let conversation =
        Conversation { context_mode: Some(ContextMode::DeltasWithResponses), ..talk("s", &["1", "2", "3"]) };
    at_desk(vec![conversation], Reuse::Always, counting, async |desk| {
        for turn in 0..3 {
            desk.send(dispatch(0, turn, 3)).await;
        }
        assert_eq!(desk.bodies_sent(), ["u:1", "u:1 u:2", "u:1 u:2 u:3"]);
        assert!(desk.exchanges().iter().all(|exchange| exchange.parsed.is_none()));
    });
}

#[test]
fn a_session_that_the_plan_shortens_does_not_parse_its_last_response() {
    at_desk(vec![talk("s", &["1", "2", "3"])], Reuse::Always, counting, async |desk| {
        for turn in 0..2 {
            desk.send(dispatch(0, turn, 2)).await;
        }
        let was_read = desk.exchanges().iter().map(|exchange| exchange.parsed.is_some()).collect::<Vec<_>>();
        assert_eq!(was_read, [true, false]);
        assert_eq!(desk.worker.sessions.borrow().len(), 0);
    });
}

#[test]
fn a_turn_that_a_conversation_does_not_have_is_a_failed_record() {
    at_desk(vec![talk("s", &["1", "2"])], Reuse::Always, counting, async |desk| {
        desk.send(dispatch(0, 0, 3)).await;
        desk.send(dispatch(0, 1, 3)).await;
        assert_eq!(desk.send(dispatch(0, 2, 3)).await, RequestEnd::Failed);
        let exchanges = desk.exchanges();
        assert!(
            matches!(&exchanges[2].failure, Some(Failure::Unbuildable { message, .. }) if message.contains("no turn"))
        );
        assert_eq!((exchanges[2].tag.turn, &*exchanges[2].tag.session_id), (2, "s"));
    });
}

#[test]
fn bodies_that_are_not_kept_for_the_run_count_in_the_budget() {
    let long = "word ".repeat(100_000);
    at_desk(vec![talk("s", &[&long, &long, "3", "4"])], Reuse::Always, counting, async |desk| {
        let mut peaks = Vec::new();
        for turn in 0..4 {
            desk.send(dispatch(0, turn, 4)).await;
            peaks.push(desk.queue.peak_bytes());
        }
        assert!(peaks[0] < long.len(), "the first body is kept for the run: {peaks:?}");
        let added = peaks[1] - peaks[0];
        assert!(long.len() < added && added < 2 * long.len(), "the first text is kept for the run: {peaks:?}");
        assert!(peaks[3] - peaks[2] < long.len(), "the earlier text is counted already: {peaks:?}");
        let bodies: Vec<Body> = desk.exchanges().into_iter().map(|exchange| exchange.request_body).collect();
        assert!(bodies[3].len() > 2 * long.len());
    });
}

/// Requests without any kept body.
fn nothing_kept(plan: Arc<Plan>, dataset: Arc<Dataset>) -> Requests {
    let budget = EncodingBudget { bytes: 0, ahead_bytes: 1000, threads: 1 };
    Requests::of_counted(plan, dataset, "1", budget, || ()).unwrap()
}

/// A dispatch so far ahead that no thread has its body ready.
fn late() -> Dispatch {
    Dispatch { draw: Draw { position: 1 << 40, ..Draw::default() }, ..dispatch(0, 0, 1) }
}

#[test]
fn a_request_whose_body_is_late_is_sent_when_the_body_is_ready() {
    at_desk_of(nothing_kept, Reuse::Always, counting, async |desk| {
        let threads = BodyThreads::start(&desk.requests, 1).unwrap();
        assert_eq!(desk.send(late()).await, RequestEnd::Answered);
        let exchanges = desk.exchanges();
        assert!(exchanges.len() == 1 && exchanges[0].tag.body_wait.is_some());
        drop(threads);
    });
}

#[test]
fn a_request_that_waits_for_its_body_when_its_phase_is_over_is_never_begun() {
    at_desk_of(nothing_kept, Reuse::Always, counting, async |desk| {
        let asked = desk.requests.ahead().unwrap().ask_in_vain();
        desk.release(late());
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        desk.worker.perform(Command::Cancel(PhaseIndex(0)));
        assert_eq!(desk.returned(late()).await, RequestEnd::Cancelled);
        assert_eq!(desk.exchanges()[0].failure, Some(Failure::NeverBegun));
        assert!(desk.bodies_sent().is_empty());
        drop(asked);
    });
}
