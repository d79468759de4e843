//! When an endpoint is fetched, and what follows from each result: a state machine without a clock or a socket.

use aiperf_plan::{MetricsEndpoint, MetricsUrl};
use aiperf_types::{MonoNs, Nanos, PhaseId};
use std::collections::VecDeque;
use std::sync::Arc;

/// An endpoint that does not respond is tried again after this time, then half as often each time.
const FIRST_RETRY: Nanos = Nanos(1_000_000_000);
const LONGEST_RETRY: Nanos = Nanos(30_000_000_000);
/// The longest delay after a failed scrape.
const LONGEST_BACKOFF: Nanos = Nanos(5_000_000_000);

/// Pages of an endpoint that may wait to be read before the next is fetched.
const MOST_UNREAD: u32 = 4;

/// The purpose of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Checks whether the endpoint responds; the page is the first sample.
    Probe,
    /// Checks another path, because this one had no page.
    Fallback,
    /// One per interval.
    Tick,
    /// At the start or end of a phase, or the last one of a run.
    Boundary,
}

/// A fetch to make now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fetch {
    pub(crate) url: MetricsUrl,
    pub(crate) purpose: Purpose,
    /// The phase of its samples.
    pub(crate) phase: Option<Arc<PhaseId>>,
}

/// The result of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FetchOutcome {
    Page,
    /// The next fetch may succeed.
    Failed(String),
    /// No later fetch can succeed.
    NotPrometheus(String),
}

/// What is logged about an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    Found,
    /// It does not respond; logged once.
    Unreachable(String),
    /// The page was found at another path, and is fetched there from now on.
    Moved {
        from: String,
        to: String,
    },
    /// It is no longer fetched.
    Disabled(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Probing,
    /// Another path is being tried, because this one had no page.
    Trying {
        reason: String,
        from: MetricsUrl,
        /// Its page has arrived and is not read yet.
        is_fetched: bool,
    },
    Alive,
    Away {
        until: MonoNs,
        pause: Nanos,
    },
    Off,
}

#[derive(Debug)]
pub(crate) struct Endpoint {
    url: MetricsUrl,
    /// Other paths that were not tried yet.
    root: Option<MetricsUrl>,
    prometheus: Option<MetricsUrl>,
    state: State,
    in_flight: Option<Purpose>,
    /// Fetches at boundaries that wait for the one in flight.
    owed: VecDeque<Option<Arc<PhaseId>>>,
    interval: Nanos,
    next_tick: MonoNs,
    /// In a row.
    failures: u32,
    /// A page of it was read.
    has_been_read: bool,
    /// Pages that were fetched and not read yet.
    unread: u32,
    /// Another endpoint fetches the same page.
    is_redundant: bool,
    was_reached: bool,
    is_unreachable_logged: bool,
}

impl Endpoint {
    pub(crate) fn new(endpoint: &MetricsEndpoint, interval: Nanos) -> Self {
        Self {
            url: endpoint.url.clone(),
            root: endpoint.fallback.clone(),
            prometheus: endpoint.url.prometheus_fallback(),
            state: State::Probing,
            in_flight: None,
            owed: VecDeque::new(),
            interval,
            next_tick: MonoNs(0),
            failures: 0,
            has_been_read: false,
            unread: 0,
            is_redundant: false,
            was_reached: false,
            is_unreachable_logged: false,
        }
    }

    /// Its page is only at its URL.
    pub(crate) fn only_there(mut self) -> Self {
        (self.root, self.prometheus) = (None, None);
        self
    }

    /// The URL of its page, as far as known.
    pub(crate) fn url(&self) -> &MetricsUrl {
        &self.url
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.state == State::Alive
    }

    /// Whether it ever responded.
    pub(crate) fn was_reached(&self) -> bool {
        self.was_reached
    }

    /// A page of it was read.
    pub(crate) fn has_been_read(&self) -> bool {
        self.has_been_read
    }

    /// Whether its state is known: its first page was read, or there is none.
    pub(crate) fn is_settled(&self) -> bool {
        match self.state {
            State::Probing | State::Trying { .. } => false,
            State::Alive => self.has_been_read,
            State::Away { .. } | State::Off => true,
        }
    }

    /// Whether no boundary is still to be fetched.
    pub(crate) fn is_up_to_date(&self) -> bool {
        !self.is_alive() || self.owed.is_empty() && self.in_flight != Some(Purpose::Boundary)
    }

    /// Requests a page as of now, for a phase. A page in flight began too early.
    pub(crate) fn want_boundary(&mut self, phase: Option<Arc<PhaseId>>) {
        if self.is_alive() {
            self.owed.push_back(phase);
        }
    }

    /// Another phase began: pages for the one before would show the new phase.
    pub(crate) fn forget_boundaries(&mut self) {
        self.owed.clear();
    }

    /// Whether a boundary waits for a page that nothing else waits for.
    pub(crate) fn is_held_up(&self) -> bool {
        !self.owed.is_empty() && self.in_flight == Some(Purpose::Tick)
    }

    /// The fetch in flight ended without a result.
    pub(crate) fn abandon(&mut self) {
        self.in_flight = None;
    }

    /// Another endpoint fetches the same page: this one is no longer fetched, and nothing is logged.
    pub(crate) fn retire(&mut self) {
        self.state = State::Off;
        self.is_redundant = true;
        self.owed.clear();
    }

    /// Whether it is no longer fetched.
    pub(crate) fn is_off(&self) -> bool {
        self.state == State::Off
    }

    pub(crate) fn is_redundant(&self) -> bool {
        self.is_redundant
    }

    /// The fetch to make now, at most one at a time; `phase` is the current phase.
    pub(crate) fn poll(&mut self, now: MonoNs, phase: Option<&Arc<PhaseId>>) -> Option<Fetch> {
        if self.in_flight.is_some() {
            return None;
        }
        let (purpose, phase) = match &self.state {
            State::Off => return None,
            State::Away { until, .. } if now < *until => return None,
            State::Probing | State::Away { .. } => (Purpose::Probe, phase.cloned()),
            State::Trying { is_fetched: true, .. } => return None,
            State::Trying { .. } => (Purpose::Fallback, phase.cloned()),
            State::Alive => match self.owed.pop_front() {
                Some(phase) => (Purpose::Boundary, phase),
                // Pages that are not read as fast as they arrive would only pile up.
                None if now >= self.next_tick && self.unread >= MOST_UNREAD => {
                    self.next_tick = after(self.next_tick, self.interval, now);
                    return None;
                }
                None if now >= self.next_tick => {
                    self.next_tick = after(self.next_tick, self.interval, now);
                    (Purpose::Tick, phase.cloned())
                }
                None => return None,
            },
        };
        self.in_flight = Some(purpose);
        Some(Fetch { url: self.url.clone(), purpose, phase })
    }

    /// When to poll again, if nothing happens before.
    pub(crate) fn next_deadline(&self) -> Option<MonoNs> {
        match self.state {
            _ if self.in_flight.is_some() => None,
            State::Alive => Some(self.next_tick),
            State::Away { until, .. } => Some(until),
            State::Probing | State::Trying { .. } | State::Off => None,
        }
    }

    /// The fetch in flight is over.
    pub(crate) fn note(&mut self, now: MonoNs, outcome: FetchOutcome) -> Vec<Notice> {
        let Some(purpose) = self.in_flight.take() else { return Vec::new() };
        if self.state == State::Off {
            return Vec::new();
        }
        self.unread += u32::from(outcome == FetchOutcome::Page);
        match (purpose, outcome) {
            (Purpose::Probe, FetchOutcome::Page) => self.found(now),
            (Purpose::Probe, FetchOutcome::Failed(reason)) => self.missing(now, reason),
            // Only reading shows whether it is a page of metrics.
            (Purpose::Fallback, FetchOutcome::Page) => {
                if let State::Trying { is_fetched, .. } = &mut self.state {
                    *is_fetched = true;
                }
                Vec::new()
            }
            (Purpose::Fallback, FetchOutcome::Failed(why)) => self.give_up(Some(&why)),
            (Purpose::Fallback, FetchOutcome::NotPrometheus(_)) => self.give_up(None),
            // Its purpose is over: another path is being tried, or none any more.
            (Purpose::Tick | Purpose::Boundary, _) if !self.is_alive() => Vec::new(),
            (Purpose::Tick | Purpose::Boundary, FetchOutcome::Page) => {
                self.failures = 0;
                Vec::new()
            }
            (Purpose::Tick | Purpose::Boundary, FetchOutcome::Failed(_)) => {
                let pause = self.interval.0.saturating_mul(1 << self.failures.min(20));
                self.failures += 1;
                let not_before = now.plus(Nanos(pause.min(LONGEST_BACKOFF.0.max(self.interval.0))));
                if self.next_tick < not_before {
                    self.next_tick = after(self.next_tick, self.interval, MonoNs(not_before.0.saturating_sub(1)));
                }
                Vec::new()
            }
            (_, FetchOutcome::NotPrometheus(reason)) => self.doubt(reason),
        }
    }

    /// A page of it was read.
    pub(crate) fn note_read(&mut self, now: MonoNs, url: &str) -> Vec<Notice> {
        self.unread = self.unread.saturating_sub(1);
        if self.url.shown() != url || self.state == State::Off {
            return Vec::new();
        }
        self.has_been_read = true;
        let State::Trying { from, .. } = &self.state else { return Vec::new() };
        let moved = Notice::Moved { from: from.shown(), to: self.url.shown() };
        std::iter::once(moved).chain(self.found(now)).collect()
    }

    /// A page of it could not be read: no line of it is a sample.
    pub(crate) fn note_unreadable(&mut self, url: &str, reason: String) -> Vec<Notice> {
        self.unread = self.unread.saturating_sub(1);
        match self.state {
            _ if self.url.shown() != url => Vec::new(),
            State::Alive => self.doubt(reason),
            State::Trying { .. } => self.give_up(None),
            State::Probing | State::Away { .. } | State::Off => Vec::new(),
        }
    }

    fn found(&mut self, now: MonoNs) -> Vec<Notice> {
        self.state = State::Alive;
        self.next_tick = now.plus(self.interval);
        self.was_reached = true;
        vec![Notice::Found]
    }

    fn missing(&mut self, now: MonoNs, reason: String) -> Vec<Notice> {
        if let Some(root) = self.root.take() {
            self.prometheus = root.prometheus_fallback();
            self.url = root;
            self.state = State::Probing;
            return Vec::new();
        }
        let pause = match self.state {
            State::Away { pause, .. } => Nanos((pause.0 * 2).min(LONGEST_RETRY.0)),
            _ => FIRST_RETRY,
        };
        self.state = State::Away { until: now.plus(pause), pause };
        if std::mem::replace(&mut self.is_unreachable_logged, true) {
            return Vec::new();
        }
        vec![Notice::Unreachable(reason)]
    }

    /// There is no page of metrics here: it may be at another path.
    fn doubt(&mut self, reason: String) -> Vec<Notice> {
        self.owed.clear();
        self.was_reached = true;
        match self.prometheus.take() {
            Some(other) => {
                let from = std::mem::replace(&mut self.url, other);
                self.state = State::Trying { reason, from, is_fetched: false };
                Vec::new()
            }
            None => {
                self.state = State::Off;
                vec![Notice::Disabled(reason)]
            }
        }
    }

    fn give_up(&mut self, why: Option<&str>) -> Vec<Notice> {
        let State::Trying { reason, from, .. } = std::mem::replace(&mut self.state, State::Off) else {
            return Vec::new();
        };
        let tried = std::mem::replace(&mut self.url, from);
        let reason = match why {
            Some(why) => format!(
                "{reason}; {} failed too ({why}): TensorRT-LLM has its page there with return_perf_metrics: true in \
                 extra_llm_api_options.yaml",
                tried.shown()
            ),
            None => reason,
        };
        vec![Notice::Disabled(reason)]
    }
}

/// The first instant after `now` that is a whole number of intervals after `from`: missed ticks are skipped, and the
/// rest keep their times.
pub(crate) fn after(from: MonoNs, interval: Nanos, now: MonoNs) -> MonoNs {
    let missed = now.since(from).0 / interval.0.max(1);
    MonoNs(from.0.saturating_add((missed + 1).saturating_mul(interval.0.max(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Nanos = Nanos::from_millis(100);

    fn at(ms: u64) -> MonoNs {
        MonoNs(ms * 1_000_000)
    }

    fn url(text: &str) -> MetricsUrl {
        MetricsUrl::parse(text).unwrap()
    }

    fn endpoint(text: &str) -> Endpoint {
        Endpoint::new(&MetricsEndpoint { url: url(text), fallback: None, is_named: true }, INTERVAL)
    }

    fn alive() -> Endpoint {
        let mut endpoint = endpoint("http://h/metrics");
        assert_eq!(endpoint.poll(at(0), None).unwrap().purpose, Purpose::Probe);
        assert_eq!(endpoint.note(at(0), FetchOutcome::Page), [Notice::Found]);
        assert_eq!(endpoint.note_read(at(0), "http://h/metrics"), []);
        endpoint
    }

    fn failed() -> FetchOutcome {
        FetchOutcome::Failed("refused".to_owned())
    }

    fn phase() -> Arc<PhaseId> {
        let kind = aiperf_types::PhaseKind::Profiling;
        Arc::new(PhaseId { index: 0, profiling_index: Some(0), name: "profiling".into(), kind })
    }

    #[test]
    fn ticks_keep_their_places_and_missed_ones_are_left_out() {
        let mut endpoint = alive();
        assert_eq!((endpoint.poll(at(99), None), endpoint.next_deadline()), (None, Some(at(100))));
        assert_eq!(endpoint.poll(at(103), None).unwrap().purpose, Purpose::Tick);
        assert_eq!(endpoint.poll(at(350), None), None, "one is in flight");
        endpoint.note(at(360), FetchOutcome::Page);
        assert_eq!(endpoint.poll(at(360), None).unwrap().purpose, Purpose::Tick, "the tick at 200 is made up for once");
        endpoint.note(at(370), FetchOutcome::Page);
        assert_eq!(endpoint.next_deadline(), Some(at(400)));
    }

    #[test]
    fn a_boundary_waits_for_the_page_in_flight_and_is_fetched_after_it() {
        let mut endpoint = alive();
        endpoint.poll(at(100), None).unwrap();
        endpoint.want_boundary(Some(phase()));
        assert!(endpoint.poll(at(101), None).is_none() && !endpoint.is_up_to_date());
        endpoint.note(at(102), FetchOutcome::Page);
        let fetch = endpoint.poll(at(102), None).unwrap();
        assert_eq!((fetch.purpose, fetch.phase), (Purpose::Boundary, Some(phase())));
        assert!(!endpoint.is_up_to_date());
        endpoint.note(at(103), FetchOutcome::Page);
        assert!(endpoint.is_up_to_date());
    }

    #[test]
    fn failures_put_the_next_scrape_off_more_and_more() {
        let mut endpoint = alive();
        let mut pauses = Vec::new();
        let mut now = 100;
        for _ in 0..9 {
            assert_eq!(endpoint.poll(at(now), None).unwrap().purpose, Purpose::Tick);
            endpoint.note(at(now), failed());
            let next = endpoint.next_deadline().unwrap().0 / 1_000_000;
            pauses.push(next - now);
            now = next;
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        endpoint.poll(at(now), None).unwrap();
        endpoint.note(at(now), FetchOutcome::Page);
        assert_eq!(endpoint.next_deadline(), Some(at(now + 100)));
    }

    #[test]
    fn an_endpoint_that_is_away_is_tried_again_and_logged_once() {
        let mut endpoint = endpoint("http://h/metrics");
        endpoint.poll(at(0), None).unwrap();
        assert_eq!(endpoint.note(at(0), failed()), [Notice::Unreachable("refused".to_owned())]);
        assert!(endpoint.is_settled() && !endpoint.is_alive());
        assert_eq!(endpoint.poll(at(999), None), None);
        endpoint.poll(at(1000), None).unwrap();
        assert_eq!(endpoint.note(at(1000), failed()), []);
        assert_eq!(endpoint.next_deadline(), Some(at(3000)));
        endpoint.poll(at(3000), None).unwrap();
        assert_eq!(endpoint.note(at(3000), FetchOutcome::Page), [Notice::Found]);
    }

    #[test]
    fn a_url_with_a_path_falls_back_on_the_servers_own_page() {
        let server = aiperf_plan::BaseUrl::parse("http://h/v1").unwrap();
        let mut endpoint = Endpoint::new(&MetricsEndpoint::of_server(&server), INTERVAL);
        assert_eq!(endpoint.poll(at(0), None).unwrap().url, url("http://h/v1"));
        assert_eq!(endpoint.note(at(1), failed()), []);
        assert_eq!(endpoint.poll(at(1), None).unwrap().url, url("http://h"));
        assert_eq!(endpoint.note(at(2), FetchOutcome::Page), [Notice::Found]);
    }

    #[test]
    fn json_is_looked_for_elsewhere_once_and_then_left_alone() {
        let not = || FetchOutcome::NotPrometheus("JSON".to_owned());
        let mut moved = endpoint("http://h/metrics");
        moved.poll(at(0), None).unwrap();
        assert_eq!(moved.note(at(0), not()), []);
        assert!(!moved.is_settled());
        let fetch = moved.poll(at(0), None).unwrap();
        assert_eq!((fetch.purpose, fetch.url.path()), (Purpose::Fallback, "/prometheus/metrics"));
        let (from, to) = ("http://h/metrics".to_owned(), "http://h/prometheus/metrics".to_owned());
        assert_eq!(moved.note(at(1), FetchOutcome::Page), []);
        assert!(!moved.is_settled() && moved.poll(at(1), None).is_none(), "its page is not read yet");
        assert_eq!(moved.note_read(at(2), "http://h/metrics"), [], "a page of the old path");
        assert_eq!(moved.note_read(at(2), &to.clone()), [Notice::Moved { from, to }, Notice::Found]);
        let mut neither = endpoint("http://h/metrics");
        neither.poll(at(0), None).unwrap();
        neither.note(at(0), not());
        neither.poll(at(0), None).unwrap();
        let [Notice::Disabled(reason)] = &neither.note(at(1), failed())[..] else { panic!("it is disabled") };
        assert!(reason.starts_with("JSON; http://h/prometheus/metrics failed too (refused)"), "{reason}");
        assert_eq!((neither.poll(at(9_000), None), neither.next_deadline()), (None, None));
        assert_eq!(neither.url(), &url("http://h"));
    }

    #[test]
    fn pages_that_are_not_read_are_not_piled_up() {
        let mut endpoint = alive();
        let mut fetched = 0;
        for tick in 1..20 {
            if endpoint.poll(at(tick * 100), None).is_some() {
                endpoint.note(at(tick * 100), FetchOutcome::Page);
                fetched += 1;
            }
        }
        assert_eq!(fetched, MOST_UNREAD);
        endpoint.note_read(at(2000), "http://h/metrics");
        assert!(endpoint.poll(at(2000), None).is_some());
    }

    #[test]
    fn a_page_that_another_fetches_is_left_to_it() {
        let mut endpoint = alive();
        endpoint.poll(at(100), None).unwrap();
        endpoint.retire();
        assert_eq!(endpoint.note(at(101), FetchOutcome::Page), []);
        assert!(endpoint.is_redundant() && endpoint.is_settled() && endpoint.poll(at(900), None).is_none());
    }

    #[test]
    fn a_page_that_cannot_be_read_disables_the_endpoint_even_while_the_next_is_on_its_way() {
        let mut endpoint = alive();
        endpoint.poll(at(100), None).unwrap();
        assert_eq!(endpoint.note_unreadable("http://h/metrics", "garbage".to_owned()), []);
        assert_eq!(endpoint.note(at(101), FetchOutcome::Page), [], "its page is of the old path");
        assert_eq!(endpoint.poll(at(101), None).unwrap().purpose, Purpose::Fallback);
        assert_eq!(endpoint.note(at(102), FetchOutcome::Page), []);
        let disabled = endpoint.note_unreadable("http://h/prometheus/metrics", "garbage too".to_owned());
        assert_eq!(disabled, [Notice::Disabled("garbage".to_owned())]);
        assert_eq!(endpoint.url(), &url("http://h"));
    }
}
