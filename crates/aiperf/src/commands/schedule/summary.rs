//! A rehearsal as text, in 80 columns.

use super::account::{Account, PhaseAccount};
use super::words::{seconds, server, several};
use aiperf_campaign::rehearsal::AssumedServer;
use aiperf_figures::number;
use aiperf_plan::{PhasePlan, Plan};
use aiperf_report::{thousands, wrap_hanging};
use aiperf_types::{Nanos, PhaseKind};

const COLUMNS: usize = 80;
/// Where the second column begins.
const INDENT: usize = 16;

/// The requests that would be sent, phase by phase.
pub(super) fn summary(plan: &Plan, assumed: &AssumedServer, account: &Account) -> String {
    let mut lines = wrap_hanging(&format!("Nothing was sent. Assumed of the server: {}.", server(assumed)), COLUMNS, 0);
    for (phase, account) in plan.phases.iter().zip(account.phases()) {
        lines.push(String::new());
        let kind = match phase.kind {
            PhaseKind::Warmup => "warm-up",
            PhaseKind::Profiling => "profiling",
        };
        lines.push(if phase.name == phase.kind.name() {
            phase.name.clone()
        } else {
            format!("{} ({kind})", phase.name)
        });
        for (title, text) in rows(phase, account, plan.endpoint.streaming) {
            let row = format!("  {title:<width$}{text}", width = INDENT - 2);
            lines.extend(wrap_hanging(&row, COLUMNS, INDENT));
        }
    }
    lines.join("\n") + "\n"
}

fn rows(phase: &PhasePlan, account: &PhaseAccount, streaming: bool) -> Vec<(&'static str, String)> {
    let counts = &account.counts;
    let mut rows = vec![("mode", phase.load_in_words())];
    if account.in_flight_before > 0 {
        let others = several(account.in_flight_before, "request");
        let are = if account.in_flight_before == 1 { "is" } else { "are" };
        rows.push((
            "starts",
            format!("at {}, while {others} of earlier phases {are} in flight", seconds(account.started)),
        ));
    }
    let turns = if counts.sessions_sent == counts.sent {
        String::new()
    } else {
        format!(", {} of them completed", thousands(counts.sessions_completed))
    };
    let given_up = match account.given_up {
        0 => String::new(),
        some => format!("; {} given up on purpose", thousands(some)),
    };
    rows.push((
        "requests",
        format!("{} in {}{turns}{given_up}", thousands(counts.sent), several(counts.sessions_sent, "session")),
    ));
    if let Some((first, last)) = account.sent {
        rows.push(("dispatches", format!("from {} to {}", seconds(first), seconds(last))));
    }
    if !phase.arrival.is_closed_loop() {
        let slip = if counts.slip == Nanos::ZERO { String::new() } else { format!("; {} late", seconds(counts.slip)) };
        rows.push((
            "offered",
            format!("{}, of which {} missed a slot{slip}", thousands(counts.offered), thousands(counts.missed)),
        ));
    }
    rows.push((
        "rate",
        match account.rate() {
            Some(rate) => format!("{} requests/s while sending", number(rate)),
            None => "all at one instant".to_owned(),
        },
    ));
    let waiting = match streaming {
        true => format!(", {} without a first token", thousands(account.awaiting_first_content.peak)),
        false => String::new(),
    };
    let (sessions, in_flight) = (account.sessions.peak, account.in_flight.peak);
    let (sessions, in_flight) = (several(sessions, "live session"), several(in_flight, "request"));
    rows.push(("at most", format!("{sessions}, {in_flight} in flight{waiting}")));
    rows.push(("ends", end(phase, account)));
    rows
}

fn end(phase: &PhasePlan, account: &PhaseAccount) -> String {
    let (counts, end) = (&account.counts, &account.end);
    let at = seconds(account.complete);
    if end.grace_expired {
        let cancelled = several(counts.cancelled + end.lost, "request");
        return format!("at {at}, when its grace period is over: {cancelled} cancelled");
    }
    if end.timed_out {
        return format!(
            "at {at}: its time is up at {}, then what is in flight is awaited",
            seconds(account.sending_complete)
        );
    }
    let why = if phase.requests() == Some(counts.sent) {
        "its request count is reached"
    } else if phase.sessions() == Some(counts.sessions_sent) {
        "its session count is reached"
    } else {
        "nothing is left to send"
    };
    format!("at {at}: {why} at {}, then what is in flight is awaited", seconds(account.sending_complete))
}
