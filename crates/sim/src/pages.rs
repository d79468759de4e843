//! The metrics pages of a server: their content, and their faults.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::clock::wall_ns;
use crate::config::SimConfig;
use crate::encoding::ContentEncoding;
use crate::exposition::{PageKind, Snapshot, iteration_stats};
use crate::http::Status;
use crate::metrics::Metrics;
use crate::page_fault::{PageFault, PageFaultKind};
use crate::redirect::{Followed, Redirect};
use crate::truth::PageFacts;

const ITERATION_STATS_PATH: &str = "/metrics";
const JSON: &str = "application/json";
/// Every so many lines of a page with malformed lines, one follows.
const GOOD_LINES: usize = 7;
const MALFORMED_LINES: [&str; 5] = [
    "broken{label=\"never closed 1",
    "broken{label=\"value\"} one",
    "broken 1 2 three",
    "{label=\"no name\"} 1",
    "broken{label=unquoted} 1",
];
const MALFORMED_PAGE: &str = "<html><body>\n<p>these are {not metrics</p>\n</body></html>\n";

/// What a path shows.
#[derive(Clone, Copy)]
pub(crate) enum Show {
    Families(&'static PageKind),
    /// The JSON of a server whose families are elsewhere.
    IterationStats,
}

impl Show {
    /// What a server shows at a path; `None` if it is no path of metrics.
    pub(crate) fn at(config: &SimConfig, path: &str) -> Option<Self> {
        let kind = config.metrics.kind()?;
        match path {
            path if path == kind.path => Some(Show::Families(kind)),
            ITERATION_STATS_PATH => Some(Show::IterationStats),
            _ => None,
        }
    }

    pub(crate) fn handler(self) -> &'static str {
        match self {
            Show::Families(kind) => kind.path,
            Show::IterationStats => ITERATION_STATS_PATH,
        }
    }
}

/// The response to a request for metrics.
pub(crate) struct MadePage {
    pub(crate) facts: PageFacts,
    pub(crate) response: PageResponse,
}

pub(crate) enum PageResponse {
    Body(PageBody),
    Failed(Status),
    Redirected(Redirect, String),
    Reset,
}

/// What is sent, and how.
pub(crate) struct PageBody {
    pub(crate) content_type: &'static str,
    pub(crate) text: Vec<u8>,
    pub(crate) padding: Padding,
    /// What comes after the padding.
    pub(crate) end: &'static str,
    pub(crate) encoding: Option<ContentEncoding>,
    pub(crate) delay: Option<Duration>,
    pub(crate) trickle: Option<Duration>,
}

/// What comes after the families of a page that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Padding {
    None,
    /// Until the page has so many bytes.
    Until(u64),
    Endless,
}

/// The common state of pages.
pub(crate) struct Pages(Mutex<State>);

struct State {
    /// Pages made so far.
    number: u64,
    /// When counting began.
    started_ns: u64,
    /// What had been counted then, where the server was not started then but pretends it.
    earlier: Option<Metrics>,
    /// The processor time used until then.
    earlier_cpu_seconds: f64,
    /// When the latest page of the count was made, and the tokens generated until then.
    latest: (u64, u64),
}

/// Values of one instant.
struct Taken {
    metrics: Metrics,
    number: u64,
    started_ns: u64,
    now_ns: u64,
    cpu_seconds: f64,
    generation_rate: f64,
}

impl State {
    fn take(&mut self, server: &Shown<'_>, number: u64, is_counted: bool, restarts: bool) -> Taken {
        let (mut metrics, now_ns) = (server.counted)();
        let generated = metrics.generation_tokens;
        let (latest_ns, latest_tokens) = self.latest;
        if is_counted {
            self.latest = (now_ns, generated);
        }
        let seconds = now_ns.saturating_sub(latest_ns) as f64 / 1e9;
        let generation_rate = if seconds > 0.0 { (generated - latest_tokens) as f64 / seconds } else { 0.0 };
        let cpu_seconds = cpu_seconds();
        if restarts {
            self.earlier_cpu_seconds = cpu_seconds;
            self.earlier = Some(metrics.clone());
            self.started_ns = now_ns;
        }
        if let Some(earlier) = &self.earlier {
            metrics.subtract(earlier);
        }
        let cpu_seconds = cpu_seconds - self.earlier_cpu_seconds;
        Taken { metrics, number, started_ns: self.started_ns, now_ns, cpu_seconds, generation_rate }
    }
}

/// Processor time used by the process so far.
fn cpu_seconds() -> f64 {
    let used = getrusage(UsageWho::RUSAGE_SELF)
        .map_or(0, |usage| usage.user_time().num_microseconds() + usage.system_time().num_microseconds());
    used as f64 / 1e6
}

/// A request for metrics.
#[derive(Clone, Copy)]
pub(crate) struct PageRequest {
    pub(crate) show: Show,
    /// Only the head is wanted: the page is not counted, and restarts nothing.
    pub(crate) head_only: bool,
    /// The redirects that led here.
    pub(crate) followed: Option<Followed>,
}

/// What pages show of a server.
pub(crate) struct Shown<'a> {
    pub(crate) config: &'a SimConfig,
    /// Scheme and address, as redirects name this server.
    pub(crate) origin: &'a str,
    /// What all threads counted, and when.
    pub(crate) counted: &'a dyn Fn() -> (Metrics, u64),
}

impl Pages {
    pub(crate) fn new() -> Self {
        let now_ns = wall_ns();
        Pages(Mutex::new(State {
            number: 0,
            started_ns: now_ns,
            earlier: None,
            earlier_cpu_seconds: 0.0,
            latest: (now_ns, 0),
        }))
    }

    /// Takes everything at one instant; no lock is held while the text is made.
    pub(crate) fn make(&self, server: &Shown<'_>, request: PageRequest) -> MadePage {
        let faults = &server.config.metrics_faults;
        let (taken, faults) = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let (number, faults): (u64, Vec<&PageFault>) = match (request.show, request.followed) {
                (Show::IterationStats, _) => (0, Vec::new()),
                // A request that was redirected here gets the page that was asked for, or is redirected again.
                (_, Some(_)) => (state.number, Vec::new()),
                (_, None) => {
                    let number = state.number + 1;
                    (number, faults.iter().filter(|fault| fault.meets(number)).collect())
                }
            };
            let is_counted = !request.head_only && number > 0;
            if is_counted {
                state.number = number;
            }
            let restarts = is_counted && faults.iter().any(|fault| fault.kind == PageFaultKind::Restart);
            (state.take(server, number, is_counted, restarts), faults)
        };
        let facts = facts_of(&taken, &faults);
        let response =
            redirected_again(server, request).unwrap_or_else(|| respond(server, request.show, &taken, &faults));
        MadePage { facts, response }
    }
}

fn facts_of(taken: &Taken, faults: &[&PageFault]) -> PageFacts {
    let metrics = &taken.metrics;
    PageFacts {
        number: taken.number,
        faults: faults.iter().map(|fault| fault.kind.name()).collect(),
        made_ns: taken.now_ns,
        started_ns: taken.started_ns,
        running: metrics.running,
        waiting: metrics.waiting,
        kv_usage: metrics.kv_usage(),
        prompt_tokens: metrics.prompt_tokens,
        generation_tokens: metrics.generation_tokens,
        finished: metrics.finished,
    }
}

fn redirected_again(server: &Shown<'_>, request: PageRequest) -> Option<PageResponse> {
    let followed = request.followed?;
    let faults = &server.config.metrics_faults;
    let PageFaultKind::Redirect(redirect) = &faults.get(followed.row)?.kind else { return None };
    redirect.goes_on(followed.hops).then(|| sent_elsewhere(server, redirect, followed, request.show))
}

fn sent_elsewhere(server: &Shown<'_>, redirect: &Redirect, followed: Followed, show: Show) -> PageResponse {
    let location = redirect.location(followed.row, followed.hops, show.handler(), server.origin);
    PageResponse::Redirected(redirect.clone(), location)
}

fn respond(server: &Shown<'_>, show: Show, taken: &Taken, faults: &[&PageFault]) -> PageResponse {
    let config = server.config;
    let snapshot = Snapshot {
        metrics: &taken.metrics,
        model: config.listed_model(),
        started: taken.started_ns as f64 / 1e9,
        uptime: taken.now_ns.saturating_sub(taken.started_ns) as f64 / 1e9,
        cpu_seconds: taken.cpu_seconds,
        generation_rate: taken.generation_rate,
    };
    let json = || PageBody::plain(JSON, iteration_stats(&snapshot));
    let Show::Families(kind) = show else { return PageResponse::Body(json()) };
    for fault in faults {
        match &fault.kind {
            PageFaultKind::Reset => return PageResponse::Reset,
            PageFaultKind::Status(code) => return PageResponse::Failed(Status(*code)),
            PageFaultKind::Json => return PageResponse::Body(json()),
            PageFaultKind::Redirect(redirect) => {
                let row = config.metrics_faults.iter().position(|found| found == *fault).unwrap_or_default();
                return sent_elsewhere(server, redirect, Followed { row, hops: 0 }, show);
            }
            _ => {}
        }
    }
    let mut families = (kind.families)(&snapshot);
    for fault in faults {
        if let PageFaultKind::Type { family, becomes } = &fault.kind {
            families.list.iter_mut().filter(|found| found.name == family).for_each(|found| found.become_type(*becomes));
        }
    }
    let format = config.metrics_format;
    let text = format.write(kind, &families).into_bytes();
    let mut body = PageBody { end: format.end(), ..PageBody::plain(format.content_type(kind), text) };
    for fault in faults {
        body.meet(&fault.kind);
    }
    PageResponse::Body(body)
}

impl PageBody {
    fn plain(content_type: &'static str, text: Vec<u8>) -> Self {
        PageBody { content_type, text, padding: Padding::None, end: "", encoding: None, delay: None, trickle: None }
    }

    fn meet(&mut self, fault: &PageFaultKind) {
        match fault {
            PageFaultKind::MalformedLines => self.text = with_malformed_lines(&self.text),
            PageFaultKind::Malformed => {
                self.text = MALFORMED_PAGE.into();
                self.end = "";
            }
            PageFaultKind::Endless => self.padding = Padding::Endless,
            PageFaultKind::Huge(bytes) => self.padding = Padding::Until(*bytes),
            PageFaultKind::Delay(time) => self.delay = Some(*time),
            PageFaultKind::Trickle(time) => self.trickle = Some(*time),
            PageFaultKind::Gzip => self.encoding = Some(ContentEncoding::Gzip),
            // These strike before there is a body.
            PageFaultKind::Restart
            | PageFaultKind::Type { .. }
            | PageFaultKind::Status(_)
            | PageFaultKind::Json
            | PageFaultKind::Reset
            | PageFaultKind::Redirect(_) => {}
        }
    }
}

fn with_malformed_lines(text: &[u8]) -> Vec<u8> {
    let mut malformed = MALFORMED_LINES.iter().cycle();
    let mut out = Vec::with_capacity(text.len() * 2);
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        out.extend_from_slice(line);
        if index % GOOD_LINES == GOOD_LINES - 1 {
            out.extend(malformed.next().into_iter().flat_map(|line| line.bytes()).chain([b'\n']));
        }
    }
    out
}
