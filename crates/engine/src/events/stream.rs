//! The stream of run events. A listener subscribes before the run starts. Emitting an event never waits for a listener:
//! phases and messages are queued, and a new snapshot replaces the one before.

use crate::inbox::{Inbox, Sender, Taken, inbox};
use aiperf_transport::clock::mono_now;
use aiperf_types::{
    GpuSnapshot, Histograms, LogLevel, Message, MetricsSnapshot, Nanos, Preparing, Progress, RunEvent, ServerSnapshot,
    WallAnchor,
};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Which snapshots a listener wants besides phases and messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interest {
    pub progress: bool,
    /// How often it wants metrics. The shortest interval of all listeners applies to all.
    pub metrics_every: Option<Nanos>,
    /// The same for histograms of the records.
    pub histograms_every: Option<Nanos>,
}

/// Where a run emits its events. Clones share the listeners that existed when they were made.
#[derive(Clone)]
pub struct Events {
    anchor: WallAnchor,
    listeners: Vec<Listener>,
    observers: Vec<Observer>,
}

/// Follows the phases of a run. It must not wait.
pub type Observer = Arc<dyn Fn(&RunEvent) + Send + Sync>;

#[derive(Clone)]
struct Listener {
    sender: Sender<Item>,
    interest: Interest,
    shared: Arc<Shared>,
}

/// The snapshots and trace lines that wait for a listener.
#[derive(Default)]
struct Shared {
    progress: LatestOfPhases,
    metrics: Latest<MetricsSnapshot>,
    preparing: Latest<Preparing>,
    server_metrics: Latest<ServerSnapshot>,
    gpus: Latest<GpuSnapshot>,
    histograms: Latest<Histograms>,
    backlog: Backlog,
}

/// Trace lines that may wait for a listener. There is one per request, and a listener may be blocked for ever.
const MOST_TRACES: u64 = 100_000;

/// Traces that wait for a listener, and how many were left out.
#[derive(Default)]
struct Backlog {
    traces: AtomicU64,
    left_out: AtomicU64,
}

/// An item for a listener: an event, or the notice that a snapshot is ready.
enum Item {
    Event(RunEvent),
    Progress,
    Metrics,
    Preparing,
    ServerMetrics,
    Gpus,
    Histograms,
}

/// The latest value of something, until it is taken.
struct Latest<T>(Mutex<Option<Arc<T>>>);

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Latest<T> {
    /// Replaces the value; `true` if there was none, so that the listener must be notified. If the listener takes a
    /// value at this moment, this value is lost: another comes soon.
    fn put(&self, value: &Arc<T>) -> bool {
        self.0.try_lock().is_ok_and(|mut place| place.replace(value.clone()).is_none())
    }

    fn take(&self) -> Option<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The latest progress of each phase, until it is taken: phases may overlap.
#[derive(Default)]
struct LatestOfPhases(Mutex<Vec<Arc<Progress>>>);

impl LatestOfPhases {
    /// As [`Latest::put`].
    fn put(&self, value: &Arc<Progress>) -> bool {
        self.0.try_lock().is_ok_and(|mut places| {
            let was_empty = places.is_empty();
            match places.iter_mut().find(|place| place.phase.index == value.phase.index) {
                Some(place) => *place = value.clone(),
                None => places.push(value.clone()),
            }
            was_empty
        })
    }

    fn take(&self) -> Vec<Arc<Progress>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Listener {
    /// A trace line, unless too many wait already.
    fn trace(&self, message: &Message) -> Option<Item> {
        if self.shared.backlog.traces.load(Relaxed) >= MOST_TRACES {
            self.shared.backlog.left_out.fetch_add(1, Relaxed);
            return None;
        }
        self.shared.backlog.traces.fetch_add(1, Relaxed);
        let text = match self.shared.backlog.left_out.swap(0, Relaxed) {
            0 => message.text.clone(),
            left_out => format!("({left_out} lines were left out here) {}", message.text).into(),
        };
        Some(Item::Event(RunEvent::Message(Message { text, ..message.clone() })))
    }
}

impl Events {
    /// A stream without listeners; messages are stamped with the anchor.
    pub fn new(anchor: WallAnchor) -> Self {
        Self { anchor, listeners: Vec::new(), observers: Vec::new() }
    }

    /// The same listeners, with messages stamped with another anchor.
    pub fn with_anchor(&self, anchor: WallAnchor) -> Self {
        Self { anchor, ..self.clone() }
    }

    /// Adds a listener. It gets events of this value and of clones made from now on.
    pub fn subscribe(&mut self, interest: Interest) -> Subscription {
        let (sender, inbox) = inbox();
        let shared = Arc::<Shared>::default();
        self.listeners.push(Listener { sender, interest, shared: shared.clone() });
        Subscription { inbox, ready: VecDeque::new(), shared }
    }

    /// The same stream with an observer. The observer gets only phases, on the emitting thread.
    #[must_use]
    pub fn observed_by(&self, observer: Observer) -> Self {
        let mut events = self.clone();
        events.observers.push(observer);
        events
    }

    /// The pair of clock readings that messages are stamped with.
    pub fn anchor(&self) -> WallAnchor {
        self.anchor
    }

    /// Sends an event to every listener that wants it. Never waits, but may wake a sleeping listener.
    pub fn emit(&self, event: RunEvent) {
        if let RunEvent::PhaseStarted(_)
        | RunEvent::SendingComplete(_)
        | RunEvent::RequestsDone(_)
        | RunEvent::PhaseComplete(_) = &event
        {
            self.observers.iter().for_each(|observer| observer(&event));
        }
        for listener in &self.listeners {
            let item = match &event {
                RunEvent::Progress(progress) => {
                    (listener.interest.progress && listener.shared.progress.put(progress)).then_some(Item::Progress)
                }
                RunEvent::Metrics(metrics) => (listener.interest.metrics_every.is_some()
                    && listener.shared.metrics.put(metrics))
                .then_some(Item::Metrics),
                RunEvent::ServerMetrics(snapshot) => (listener.interest.metrics_every.is_some()
                    && listener.shared.server_metrics.put(snapshot))
                .then_some(Item::ServerMetrics),
                RunEvent::GpuMetrics(snapshot) => (listener.interest.metrics_every.is_some()
                    && listener.shared.gpus.put(snapshot))
                .then_some(Item::Gpus),
                RunEvent::Histograms(histograms) => (listener.interest.histograms_every.is_some()
                    && listener.shared.histograms.put(histograms))
                .then_some(Item::Histograms),
                RunEvent::Preparing(preparing) => {
                    (listener.interest.progress && listener.shared.preparing.put(preparing)).then_some(Item::Preparing)
                }
                RunEvent::Message(message) if message.level == LogLevel::Trace => listener.trace(message),
                event => Some(Item::Event(event.clone())),
            };
            if let Some(item) = item {
                listener.sender.send(item);
            }
        }
    }

    /// Sends a message for the log.
    pub fn say(&self, level: LogLevel, text: impl Into<Arc<str>>) {
        let at = self.anchor.wall(mono_now());
        self.emit(RunEvent::Message(Message { at, level, text: text.into() }));
    }

    pub(crate) fn wants_progress(&self) -> bool {
        self.listeners.iter().any(|listener| listener.interest.progress)
    }

    /// The shortest interval at which any listener wants metrics.
    pub fn metrics_every(&self) -> Option<Nanos> {
        self.listeners.iter().filter_map(|listener| listener.interest.metrics_every).min()
    }

    /// The same for histograms.
    pub(crate) fn histograms_every(&self) -> Option<Nanos> {
        self.listeners.iter().filter_map(|listener| listener.interest.histograms_every).min()
    }
}

/// A listener's end of the stream: an iterator that waits for the next event and ends with the last [`Events`].
pub struct Subscription {
    inbox: Inbox<Item>,
    /// Progress of further phases, taken together with that of the first.
    ready: VecDeque<Arc<Progress>>,
    shared: Arc<Shared>,
}

impl Iterator for Subscription {
    type Item = RunEvent;

    fn next(&mut self) -> Option<RunEvent> {
        loop {
            let event = match self.ready.pop_front() {
                Some(progress) => Some(RunEvent::Progress(progress)),
                None => {
                    let item = self.inbox.take()?;
                    self.take(item)
                }
            };
            if event.is_some() {
                return event;
            }
        }
    }
}

impl Subscription {
    /// The next event, unless none arrives within this time.
    pub fn next_within(&mut self, patience: Duration) -> Heard {
        if let Some(progress) = self.ready.pop_front() {
            return Heard::Event(RunEvent::Progress(progress));
        }
        let until = Instant::now() + patience;
        loop {
            match self.inbox.take_until(until) {
                Taken::Item(item) => {
                    if let Some(event) = self.take(item) {
                        return Heard::Event(event);
                    }
                }
                Taken::Nothing => return Heard::Nothing,
                Taken::End => return Heard::End,
            }
        }
    }

    /// The event of an item; `None` if it was taken together with another.
    fn take(&mut self, item: Item) -> Option<RunEvent> {
        match item {
            Item::Event(event) => {
                if matches!(&event, RunEvent::Message(message) if message.level == LogLevel::Trace) {
                    self.shared.backlog.traces.fetch_sub(1, Relaxed);
                }
                Some(event)
            }
            Item::Progress => {
                self.ready.extend(self.shared.progress.take());
                self.ready.pop_front().map(RunEvent::Progress)
            }
            Item::Metrics => self.shared.metrics.take().map(RunEvent::Metrics),
            Item::Preparing => self.shared.preparing.take().map(RunEvent::Preparing),
            Item::ServerMetrics => self.shared.server_metrics.take().map(RunEvent::ServerMetrics),
            Item::Gpus => self.shared.gpus.take().map(RunEvent::GpuMetrics),
            Item::Histograms => self.shared.histograms.take().map(RunEvent::Histograms),
        }
    }
}

/// The result of listening for a while.
#[derive(Debug)]
pub enum Heard {
    Event(RunEvent),
    Nothing,
    /// No event can arrive any more.
    End,
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::{PhaseId, PhaseKind, PhaseProgress, PhaseStage, PhaseTargets};

    fn progress(sent: u64) -> RunEvent {
        let phase = Arc::new(PhaseId { index: 0, profiling_index: None, name: "w".into(), kind: PhaseKind::Warmup });
        RunEvent::Progress(Arc::new(Progress {
            phase,
            targets: PhaseTargets::default(),
            elapsed: Nanos(0),
            counts: PhaseProgress { sent, ..PhaseProgress::default() },
            stage: PhaseStage::Sending,
            records: 0,
            workers: Arc::default(),
        }))
    }

    fn heard(subscription: Subscription) -> Vec<String> {
        let text = |event| match event {
            RunEvent::Progress(progress) => format!("progress {}", progress.counts.sent),
            RunEvent::Message(message) => message.text.to_string(),
            other => format!("{other:?}"),
        };
        subscription.map(text).collect()
    }

    #[test]
    fn a_slow_listener_loses_old_snapshots_but_no_message() {
        let mut events = Events::new(WallAnchor::default());
        let slow = events.subscribe(Interest { progress: true, ..Interest::default() });
        let plain = events.subscribe(Interest::default());
        for sent in 0..100 {
            events.emit(progress(sent));
            events.say(LogLevel::Info, format!("message {sent}"));
        }
        drop(events);
        let heard_slow = heard(slow);
        assert_eq!(heard_slow.iter().filter(|text| text.starts_with("message")).count(), 100);
        let snapshots: Vec<&String> = heard_slow.iter().filter(|text| text.starts_with("progress")).collect();
        assert_eq!(snapshots, ["progress 99"]);
        assert_eq!(heard(plain).len(), 100);
    }

    #[test]
    fn a_listener_that_is_blocked_costs_bounded_memory() {
        let mut events = Events::new(WallAnchor::default());
        let mut slow = events.subscribe(Interest::default());
        for number in 0..MOST_TRACES + 5 {
            events.say(LogLevel::Trace, number.to_string());
        }
        assert!(slow.next().is_some());
        events.say(LogLevel::Trace, "on");
        events.say(LogLevel::Info, "never left out");
        drop(events);
        let heard = heard(slow);
        assert_eq!(heard.len() as u64, MOST_TRACES + 1);
        assert!(heard.ends_with(&["(5 lines were left out here) on".to_owned(), "never left out".to_owned()]));
    }

    #[test]
    fn a_listener_that_has_gone_away_does_not_stop_the_others() {
        let mut events = Events::new(WallAnchor::default());
        drop(events.subscribe(Interest::default()));
        let other = events.subscribe(Interest::default());
        events.say(LogLevel::Info, "on");
        drop(events);
        assert_eq!(heard(other), ["on"]);
    }

    #[test]
    fn the_shortest_interval_of_all_listeners_applies() {
        let mut events = Events::new(WallAnchor::default());
        assert!(events.metrics_every().is_none() && !events.wants_progress());
        let every = |ms| Interest { metrics_every: Some(Nanos::from_millis(ms)), ..Interest::default() };
        let _both = (events.subscribe(every(5000)), events.subscribe(every(100)));
        assert_eq!(events.metrics_every(), Some(Nanos::from_millis(100)));
    }
}
