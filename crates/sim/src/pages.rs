//! The metrics pages of a server: what each of them says.

use std::sync::{Mutex, PoisonError};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::clock::wall_ns;
use crate::exposition::{Kind, Snapshot, iteration_stats};
use crate::shared::Shared;

const ITERATION_STATS_PATH: &str = "/metrics";

/// What a path shows.
#[derive(Clone, Copy)]
pub(crate) enum Show {
    Families(&'static Kind),
    /// The JSON of a server whose families are elsewhere.
    IterationStats,
}

/// A page as it is answered.
pub(crate) struct MadePage {
    pub(crate) handler: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

/// What pages have in common.
pub(crate) struct Pages(Mutex<State>);

struct State {
    /// When counting began.
    started_ns: u64,
    /// When the latest page was made, and the tokens generated until then.
    latest: (u64, u64),
}

impl Pages {
    pub(crate) fn new() -> Self {
        let now_ns = wall_ns();
        Pages(Mutex::new(State { started_ns: now_ns, latest: (now_ns, 0) }))
    }

    /// What a server of this kind shows at a path.
    pub(crate) fn show(&self, kind: &'static Kind, path: &str) -> Option<Show> {
        match path {
            path if path == kind.path => Some(Show::Families(kind)),
            ITERATION_STATS_PATH => Some(Show::IterationStats),
            _ => None,
        }
    }

    /// Takes everything at one instant; no lock is held while the text is made.
    pub(crate) fn make(&self, shared: &Shared, show: Show) -> MadePage {
        let (metrics, started_ns, now_ns, generation_rate) = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let (metrics, now_ns) = shared.counted();
            let (latest_ns, latest_tokens) = std::mem::replace(&mut state.latest, (now_ns, metrics.generation_tokens));
            let seconds = now_ns.saturating_sub(latest_ns) as f64 / 1e9;
            let tokens = (metrics.generation_tokens - latest_tokens) as f64;
            (metrics, state.started_ns, now_ns, if seconds > 0.0 { tokens / seconds } else { 0.0 })
        };
        let cpu = getrusage(UsageWho::RUSAGE_SELF)
            .map_or(0, |usage| usage.user_time().num_microseconds() + usage.system_time().num_microseconds());
        let config = &shared.script.config;
        let snapshot = Snapshot {
            metrics: &metrics,
            model: config.listed_model(),
            started: started_ns as f64 / 1e9,
            uptime: now_ns.saturating_sub(started_ns) as f64 / 1e9,
            cpu_seconds: cpu as f64 / 1e6,
            generation_rate,
        };
        match show {
            Show::IterationStats => MadePage {
                handler: ITERATION_STATS_PATH,
                content_type: "application/json",
                body: iteration_stats(&snapshot),
            },
            Show::Families(kind) => {
                let format = config.metrics_format;
                let mut text = format.write(kind, &(kind.families)(&snapshot));
                text.push_str(format.end());
                MadePage { handler: kind.path, content_type: format.content_type(kind), body: text.into_bytes() }
            }
        }
    }
}
