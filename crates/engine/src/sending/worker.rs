//! Requests in flight on one thread.

use crate::events::worker_counters::{AllCounters, WorkerCounters};
use crate::queue::{FinishedExchange, Queue};
use crate::reading::{LiveReading, Reading, has_legs};
use crate::requests::ahead::First;
use crate::requests::{Prepared, Requests};
use crate::sending::alarm::Alarm;
use crate::sending::legs::VideoLegs;
use crate::sending::secrets::Secrets;
use crate::sending::sessions::Sessions;
use crate::sending::unsent::Unsent;
use aiperf_dialect::KnownMessages;
use aiperf_dialect::request::head::field_value;
use aiperf_plan::Plan;
use aiperf_plan::draw::mix;
use aiperf_schedule::{Dispatch, Event, Identity, RequestEnd};
use aiperf_transport::clock::mono_now;
use aiperf_transport::turn;
use aiperf_transport::{
    Cancel, CancelReason, Client, DeadlineTimer, END_PATIENCE, OutgoingRequest, PlannedCancel, Redirects,
};
use aiperf_types::{CorrelationId, Exchange, Failure, MonoNs, Nanos, PhaseIndex, RequestTag, Timeline};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::sync::oneshot::Receiver;

/// Requests that start between two looks for arrivals.
const LAUNCHES_A_ROUND: usize = 4;

/// Each request is nudged once in so many rounds. The second nudge of a silent stream ends it if it is complete. The
/// rounds are short enough that this nudge comes within [`END_PATIENCE`].
const NUDGE_ROUNDS: usize = 20;
const BETWEEN_NUDGES: Nanos = Nanos(END_PATIENCE.as_nanos() as u64 / (2 * NUDGE_ROUNDS as u64));

/// A command for a worker.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    Send(Dispatch, MonoNs),
    /// Cancel the requests of a phase that are in flight.
    Cancel(PhaseIndex),
    /// A phase is over: none of its sessions continues.
    Forget(PhaseIndex),
}

/// How long requests may take, and how long the sending of requests with a planned cancellation may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    timeout: Option<Nanos>,
    send_timeout: Nanos,
}

impl Patience {
    pub(crate) fn of(plan: &Plan) -> Self {
        let timeout = plan.endpoint.timeout_seconds;
        Self {
            timeout: (timeout > 0.0).then(|| Nanos::from_secs_f64(timeout)),
            send_timeout: Nanos::from_secs_f64(plan.endpoint.http.cancellation_send_timeout_seconds),
        }
    }
}

/// Why a response is parsed on its worker. Other responses cost their worker nothing.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    /// The next leg depends on it.
    legs: bool,
    /// The next turn of the session contains it.
    reply: bool,
    /// The schedule waits for its first content.
    first_content: bool,
}

/// The findings about the clocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clocks {
    /// Steps of the wall clock that were noticed while reading.
    pub(crate) steps: u64,
    /// How far they can have moved an instant.
    pub(crate) error: Nanos,
}

impl Clocks {
    pub(crate) fn and(self, other: Self) -> Self {
        Self { steps: self.steps + other.steps, error: self.error.max(other.error) }
    }
}

/// What a worker works with.
pub(crate) struct Resources {
    pub(crate) number: u16,
    pub(crate) client: Client,
    pub(crate) requests: Arc<Requests>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) unsent: Arc<Unsent>,
    pub(crate) ids: Ids,
    pub(crate) patience: Patience,
    pub(crate) counters: AllCounters,
    pub(crate) secrets: Secrets,
    pub(crate) alarm: Alarm,
}

/// One worker. It stays on its thread; `send_event` sends events to the conductor.
pub(crate) struct Worker {
    number: u16,
    client: Client,
    requests: Arc<Requests>,
    queue: Arc<Queue>,
    ids: Ids,
    patience: Patience,
    counters: AllCounters,
    unsent: Arc<Unsent>,
    secrets: Secrets,
    alarm: Alarm,
    /// Requests to start, in order.
    waiting: RefCell<VecDeque<(Dispatch, MonoNs)>>,
    more: Notify,
    flying: RefCell<Flying>,
    /// The first request is in flight.
    first_in_flight: Notify,
    sessions: RefCell<Sessions>,
    /// Messages learned from responses that were parsed here.
    known: KnownMessages,
    send_event: Box<dyn Fn(Event)>,
}

#[derive(Default)]
struct Flying {
    slots: Vec<Option<InFlight>>,
    free: Vec<usize>,
}

struct InFlight {
    phase: PhaseIndex,
    cancel: Cancel,
}

/// A worker in a task. It raises the alarm if the task panics.
struct Task(Rc<Worker>);

impl Deref for Task {
    type Target = Rc<Worker>;

    fn deref(&self) -> &Rc<Worker> {
        &self.0
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.alarm.raise();
        }
    }
}

impl Worker {
    pub(crate) fn new(resources: Resources, send_event: Box<dyn Fn(Event)>) -> Rc<Self> {
        let Resources { number, client, requests, queue, unsent, ids, patience, counters, secrets, alarm } = resources;
        let (waiting, more, first_in_flight) = (RefCell::default(), Notify::new(), Notify::new());
        let (flying, sessions) = (RefCell::default(), RefCell::default());
        counters[usize::from(number)].settle();
        Rc::new(Self {
            number,
            client,
            requests,
            queue,
            ids,
            patience,
            counters,
            unsent,
            secrets,
            alarm,
            waiting,
            more,
            flying,
            first_in_flight,
            sessions,
            known: KnownMessages::default(),
            send_event,
        })
    }

    fn in_task(self: &Rc<Self>) -> Task {
        Task(self.clone())
    }

    fn redirects(&self) -> Redirects<'_> {
        Redirects::keeping(&self.secrets)
    }

    fn counters(&self) -> &WorkerCounters {
        &self.counters[usize::from(self.number)]
    }

    /// The findings about the clocks.
    pub(crate) fn clocks(&self) -> Clocks {
        Clocks { steps: self.client.clock_steps(), error: self.client.clock_error() }
    }

    /// Closes connections that no request has used since an instant.
    pub(crate) fn close_unused(&self, since: MonoNs) {
        self.client.close_unused(since);
    }

    pub(crate) fn perform(self: &Rc<Self>, command: Command) {
        match command {
            Command::Send(dispatch, issued) => {
                self.waiting.borrow_mut().push_back((dispatch, issued));
                self.more.notify_one();
            }
            Command::Cancel(phase) => self.cancel(phase),
            Command::Forget(phase) => {
                let forgotten = self.sessions.borrow_mut().forget(phase);
                forgotten.into_iter().for_each(|session| self.client.end_session(session));
            }
        }
    }

    /// Starts a request without a yield to other tasks; `false`, without starting it, if others wait before it.
    #[must_use]
    pub(crate) fn start_at_once(self: &Rc<Self>, dispatch: Dispatch, issued: MonoNs) -> bool {
        let is_first = self.waiting.borrow().is_empty();
        if is_first {
            self.send(dispatch, issued);
        }
        is_first
    }

    /// Starts requests, for ever: a few, then all arrivals are read, then a few more. Otherwise, if a thousand streams
    /// end together, the next requests would all be sent before the last stream is read, 20 ms late.
    pub(crate) async fn launch(self: Rc<Self>) {
        let worker = Task(self);
        loop {
            let mut begun = 0;
            while begun < LAUNCHES_A_ROUND as u64
                && let Some((dispatch, issued)) = worker.waiting_request()
            {
                worker.send(dispatch, issued);
                begun += 1;
            }
            worker.unsent.remove(begun);
            if worker.waiting.borrow().is_empty() {
                worker.more.notified().await;
            } else {
                tokio::task::yield_now().await;
            }
        }
    }

    fn waiting_request(&self) -> Option<(Dispatch, MonoNs)> {
        self.waiting.borrow_mut().pop_front()
    }

    fn send(self: &Rc<Self>, dispatch: Dispatch, issued: MonoNs) {
        match dispatch.is_first().then(|| self.requests.first(&dispatch)) {
            Some(First::Ready(first)) => self.begin(dispatch, issued, Some(first), None),
            Some(First::Late(body)) => self.wait_for(body, dispatch, issued),
            None => self.begin(dispatch, issued, None, None),
        }
    }

    /// Sends a request when its body is ready. The body is late.
    fn wait_for(self: &Rc<Self>, body: Receiver<Prepared>, dispatch: Dispatch, issued: MonoNs) {
        let (slot, cancel) = self.add_in_flight(dispatch.phase);
        self.counters().begin();
        let (worker, since) = (self.in_task(), mono_now());
        tokio::task::spawn_local(async move {
            let made = cancel.or(body).await;
            worker.flying.borrow_mut().land(slot);
            worker.counters().end();
            let Ok(made) = made else { return worker.never_begin(dispatch, issued) };
            // The thread that builds late bodies may have panicked.
            let first = made.unwrap_or_else(|_| worker.requests.request(dispatch.conversation));
            worker.begin(dispatch, issued, Some(first), Some(mono_now().since(since)));
        });
    }

    /// Begins a request. For a first turn the caller passes the request, and how long it waited for its body.
    fn begin(self: &Rc<Self>, dispatch: Dispatch, issued: MonoNs, first: Option<Prepared>, body_wait: Option<Nanos>) {
        let target = dispatch.url as usize;
        let (asked, correlation_id) = self.ask(&dispatch, first);
        let request = match asked {
            Ok(request) => request,
            Err(error) => {
                let tag = self.tag(dispatch, error.session_id.clone(), correlation_id);
                return self.fail(tag, dispatch.intended, issued, (&error).into());
            }
        };
        let (encoded, marker) = self.requests.marked(&request, dispatch.phase, dispatch.session);
        let tag = RequestTag {
            marker,
            requested_osl: request.requested_osl,
            images: request.images,
            vectors: request.vectors,
            model: request.model.clone(),
            audio_seconds: request.audio_seconds,
            body_wait,
            ..self.tag(dispatch, request.session_id.clone(), correlation_id)
        };
        let head = self.requests.head(target, tag.request_id, &tag.correlation_id, &request, &encoded);
        let body = encoded.body.clone();
        let out = OutgoingRequest {
            ends_session: tag.is_last,
            tag,
            intended: dispatch.intended,
            issued,
            target,
            head,
            body,
            timeout: self.patience.timeout,
            cancelled: dispatch
                .cancel_after
                .map(|after| PlannedCancel { after, send_timeout: self.patience.send_timeout }),
        };
        let awaited = Awaited {
            legs: has_legs(self.requests.api()),
            reply: request.wants_reply && !dispatch.is_last(),
            first_content: dispatch.awaits_first_content,
        };
        let (slot, cancel) = self.add_in_flight(dispatch.phase);
        self.counters().begin();
        let (worker, prompt) = (self.in_task(), request.prompt.clone());
        // Boxed: tokio copies a task six times, and this one is kilobytes.
        if awaited.legs || awaited.reply || awaited.first_content {
            tokio::task::spawn_local(Box::pin(async move {
                let exchange = worker.send_and_read(out, &cancel, awaited).await;
                worker.land(slot, FinishedExchange::new(exchange, prompt));
            }));
            return;
        }
        tokio::task::spawn_local(Box::pin(async move {
            let exchange = worker.client.send(out, &cancel, &mut worker.redirects()).await;
            worker.land(slot, FinishedExchange::new(exchange, prompt));
        }));
    }

    /// Sends a request whose response is awaited, and parses it. When this returns, the session has the reply.
    async fn send_and_read(&self, out: OutgoingRequest, cancel: &Cancel, awaited: Awaited) -> Exchange {
        let api = self.requests.api();
        let reading = Reading {
            api,
            limit: api.endpoint.http.kept_body_limit,
            captures: awaited.reply,
            known: Some(&self.known),
        };
        if awaited.legs {
            let mut legs = VideoLegs::new(reading, self.redirects());
            let mut exchange = self.client.send(out, cancel, &mut legs).await;
            legs.finish(&mut exchange);
            return exchange;
        }
        let (session, turn) = (out.tag.session, out.tag.turn);
        let (mut live, mut redirects) = (LiveReading::new(reading), self.redirects());
        if awaited.first_content {
            live = live.on_first_content(move |_| (self.send_event)(Event::FirstContent { session, turn }));
        }
        let mut exchange = self.client.send_watched(out, cancel, &mut redirects, Some(&mut live)).await;
        if let Some(reply) = live.finish(&mut exchange) {
            self.sessions.borrow_mut().take(session, *reply);
        }
        exchange
    }

    /// The request of a turn, and the correlation id of its session.
    fn ask(&self, dispatch: &Dispatch, first: Option<Prepared>) -> (Prepared, CorrelationId) {
        let mut sessions = self.sessions.borrow_mut();
        let asked = sessions.ask(&self.requests, dispatch, first);
        let id = match &asked {
            Ok(request) => &request.session_id,
            Err(error) => &error.session_id,
        };
        let correlation_id = sessions.correlation_id(dispatch.session, || self.correlation_id(dispatch, id));
        if dispatch.is_last() {
            sessions.close(dispatch.session);
        }
        (asked, correlation_id)
    }

    fn tag(&self, dispatch: Dispatch, session_id: Arc<str>, correlation_id: CorrelationId) -> RequestTag {
        RequestTag {
            phase: dispatch.phase,
            number: dispatch.number,
            conversation: dispatch.conversation,
            turn: dispatch.turn,
            is_last: dispatch.is_last(),
            session: dispatch.session,
            request_id: self.ids.request(dispatch.phase, dispatch.number),
            correlation_id,
            scheduled_send_ms: dispatch.scheduled_send_ms,
            worker: self.number,
            session_id,
            ..RequestTag::default()
        }
    }

    fn correlation_id(&self, dispatch: &Dispatch, conversation_id: &str) -> CorrelationId {
        match dispatch.identity {
            Identity::Drawn => CorrelationId::Uuid(self.ids.session(dispatch.session)),
            Identity::Conversation => {
                let text = format!("fixed-schedule-{conversation_id}");
                CorrelationId::Text(field_value(&text).into())
            }
            Identity::User(user) => CorrelationId::Text(user.to_string().into()),
        }
    }

    fn add_in_flight(&self, phase: PhaseIndex) -> (usize, Cancel) {
        let mut flying = self.flying.borrow_mut();
        if flying.is_empty() {
            turn::wake_often(true);
            self.first_in_flight.notify_one();
        }
        flying.launch(phase)
    }

    /// A request that cannot be built ends when it should begin, and leaves a record.
    fn fail(self: &Rc<Self>, tag: RequestTag, intended: MonoNs, issued: MonoNs, failure: Failure) {
        let (worker, exchange) = (self.in_task(), unsent(tag, intended, issued, failure));
        // From a separate task: the conductor is executing a decision.
        tokio::task::spawn_local(async move { worker.hand_over(exchange.into()) });
    }

    fn land(&self, slot: usize, exchange: FinishedExchange) {
        self.flying.borrow_mut().land(slot);
        self.counters().end();
        self.hand_over(exchange);
    }

    fn hand_over(&self, exchange: FinishedExchange) {
        let (session, turn) = (exchange.tag.session, exchange.tag.turn);
        let at = exchange.timeline.end.taken().unwrap_or_else(mono_now);
        let end = if exchange.was_cut_off() {
            RequestEnd::Cancelled
        } else if exchange.failure.is_some() || !exchange.is_success() {
            RequestEnd::Failed
        } else {
            RequestEnd::Answered
        };
        self.counters().take(&exchange);
        // Includes requests that were cut off. They leave a line, so a missing record is never mistaken for a request
        // that was not sent.
        self.queue.push(exchange);
        (self.send_event)(Event::Returned { session, turn, end, at });
    }

    fn cancel(self: &Rc<Self>, phase: PhaseIndex) {
        let waiting = self.waiting.take();
        let (never_begun, stay): (VecDeque<_>, VecDeque<_>) =
            waiting.into_iter().partition(|(dispatch, _)| dispatch.phase == phase);
        self.waiting.replace(stay);
        self.unsent.remove(never_begun.len() as u64);
        let cancels: Vec<Cancel> = self
            .flying
            .borrow()
            .slots
            .iter()
            .flatten()
            .filter(|flight| flight.phase == phase)
            .map(|flight| flight.cancel.clone())
            .collect();
        cancels.iter().for_each(|cancel| cancel.cancel(CancelReason::Stopped));
        let worker = self.in_task();
        // From a separate task: the conductor is executing a decision.
        tokio::task::spawn_local(async move {
            for (at, (dispatch, issued)) in never_begun.into_iter().enumerate() {
                worker.requests.discard(&dispatch);
                worker.never_begin(dispatch, issued);
                // There may be thousands, and another phase may be running.
                if at % LAUNCHES_A_ROUND == 0 {
                    tokio::task::yield_now().await;
                }
            }
        });
    }

    /// A request whose phase ended before it was begun leaves a record.
    fn never_begin(&self, dispatch: Dispatch, issued: MonoNs) {
        let id = self.requests.session_id(dispatch.conversation);
        let correlation_id = self.correlation_id(&dispatch, &id);
        let tag = self.tag(dispatch, id, correlation_id);
        self.hand_over(unsent(tag, dispatch.intended, issued, Failure::NeverBegun).into());
    }

    /// Ends requests that reach their timeout, for ever.
    pub(crate) async fn keep_time(self: Rc<Self>, timer: DeadlineTimer) -> io::Result<()> {
        Task(self).client.timers().keep_time(timer).await
    }

    /// Nudges each request at intervals to check whether it waits for nothing. Only a few at a time, so that many
    /// requests do not delay arrivals.
    pub(crate) async fn nudge(self: Rc<Self>) {
        let worker = Task(self);
        for round in 0.. {
            worker.client.timers().sleep_until(mono_now().plus(BETWEEN_NUDGES)).await;
            worker.flying.borrow().nudge(round);
        }
    }

    /// Wakes the thread often while requests are in flight. A thread that wakes learns which sockets are empty, so events
    /// that arrive together are known within two sleeps, however long the server was silent before. Tokio's timers are
    /// exact enough (a sleep lasts 1 to 2 ms), and cost no system call while the thread is busy.
    pub(crate) async fn keep_waking(self: Rc<Self>) {
        let worker = Task(self);
        loop {
            if worker.flying.borrow().is_empty() {
                turn::wake_often(false);
                worker.first_in_flight.notified().await;
            }
            tokio::time::sleep(turn::OFTEN).await;
        }
    }
}

/// An exchange that ends when it should begin.
fn unsent(tag: RequestTag, intended: MonoNs, issued: MonoNs, failure: Failure) -> Exchange {
    let start = mono_now();
    let timeline = Timeline { intended, issued, start, leg_start: start, end: start, ..Timeline::default() };
    Exchange { tag, timeline, failure: Some(failure), ..Exchange::default() }
}

impl Flying {
    fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    fn launch(&mut self, phase: PhaseIndex) -> (usize, Cancel) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        let cancel = Cancel::default();
        self.slots[slot] = Some(InFlight { phase, cancel: cancel.clone() });
        (slot, cancel)
    }

    fn land(&mut self, slot: usize) {
        self.slots[slot] = None;
        self.free.push(slot);
    }

    /// Nudges the requests of this round.
    fn nudge(&self, round: usize) {
        let of_this_round = self.slots.iter().skip(round % NUDGE_ROUNDS).step_by(NUDGE_ROUNDS);
        of_this_round.flatten().for_each(|flight| flight.cancel.nudge());
    }
}

/// Ids of requests and sessions: different between runs, cheap, and the same for any number of workers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids {
    key: u64,
}

impl Ids {
    pub(crate) fn new(key: u64) -> Self {
        Self { key }
    }

    fn request(self, phase: PhaseIndex, number: u64) -> u128 {
        self.bits(1 + u64::from(phase.0), number)
    }

    fn session(self, session: u64) -> u128 {
        self.bits(0, session)
    }

    fn bits(self, kind: u64, number: u64) -> u128 {
        let first = mix(self.key ^ mix((kind + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number));
        u128::from(first) << 64 | u128::from(mix(first ^ number.rotate_left(32) ^ self.key))
    }
}

#[cfg(test)]
mod tests;
