//! A rehearsal as a picture: arrivals, the requested rate, and requests in flight over time, with shaded phases.
//!
//! A plain SVG of 800 x 360 without scripts, fonts or links. Its colours follow the reader's light or dark scheme.

use super::account::Account;
use super::stretches::{Stretch, Stretches};
use aiperf_campaign::rehearsal::{RateCurve, RehearsalEvent, RehearsalKind, Setup};
use aiperf_figures::{Axis, Frame, cut, escape_markup, number, time_unit, width};
use aiperf_plan::{PhasePlan, Plan};
use aiperf_report::thousands;
use aiperf_types::{Nanos, PhaseIndex};
use std::fmt::Write;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 360.0;
/// Left and right edge of the plotted areas.
const LEFT: f64 = 56.0;
const RIGHT: f64 = 780.0;
/// The line of the legend, and that of the names of phases.
const LEGEND: f64 = 16.0;
const NAMES: f64 = 39.0;
/// Upper and lower edges of the rates, of the row of ticks, and of the requests in flight.
const RATES: (f64, f64) = (46.0, 176.0);
const TICKS: (f64, f64) = (180.0, 194.0);
const FLIGHT: (f64, f64) = (222.0, 318.0);
/// The number of columns that levels and rows are drawn in.
const COLUMNS: usize = (RIGHT - LEFT) as usize;
/// With more arrivals than this, ticks are too dense to distinguish.
const MOST_TICKS: usize = 600;
/// Maximum width of the names of short phases.
const SHORT_NAME: f64 = 44.0;

const STYLE: &str = "\
text{font:11px system-ui,sans-serif;fill:#333}.name{font-weight:600}.paper{fill:#fff}.odd{fill:#eef2f7}.even{fill:#f8f4ea}\
.grid{stroke:#d5d9de}.axis{stroke:#888}.area{fill:#7aa6d6;fill-opacity:.55}.tick{stroke:#2f6db3;stroke-width:1}\
.missed{fill:#c04a9a;fill-opacity:.45}.missed-tick{stroke:#b0307f;stroke-width:1}\
.wanted{fill:none;stroke:#c2410c;stroke-width:1.5}.flight{fill:#8dbb8d;fill-opacity:.5;stroke:#3d7a3d;stroke-width:1}\
.waiting{fill:none;stroke:#6b4fa0;stroke-width:1.2}.sent{stroke:#777;stroke-dasharray:2 3}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.paper{fill:#16181c}.odd{fill:#1e242d}.even{fill:#26231b}\
.grid{stroke:#383d45}.axis{stroke:#888}.area{fill:#4b7fb8}.tick{stroke:#8ab8ea}.missed{fill:#c85aa5}.missed-tick{stroke:#ee8fcb}\
.wanted{stroke:#fb923c}.flight{fill:#3f6f3f;stroke:#86c286}.waiting{stroke:#b9a0ec}.sent{stroke:#999}}";

/// A picture while events are added. The length of the rehearsal is known in advance.
pub(super) struct Picture {
    /// Never zero.
    length: f64,
    phases: Vec<Band>,
    stretches: Stretches,
    sent: Row,
    missed: Row,
    in_flight: Levels,
    /// Requests without a first token, if responses are streamed.
    waiting: Option<Levels>,
}

struct Band {
    name: String,
    from: f64,
    to: f64,
    /// When it stops sending.
    sends_to: f64,
    /// Points of the requested rate: seconds, and requests per second.
    wanted: Vec<(f64, f64)>,
}

/// A row of ticks.
#[derive(Default)]
struct Row {
    count: u64,
    /// All ticks, until there are too many.
    ticks: Vec<f64>,
    /// Whether each column has a tick.
    columns: Vec<bool>,
}

/// A number that rises and falls, with its maximum in each column so far.
#[derive(Default)]
struct Levels {
    now: u64,
    most: Vec<u64>,
}

impl Row {
    fn add(&mut self, share: f64, column: usize, count: u64) {
        self.count += count;
        if self.ticks.len() < MOST_TICKS {
            self.ticks.push(share);
        }
        self.columns.resize(self.columns.len().max(column + 1), false);
        self.columns[column] = true;
    }

    fn draw(&self, out: &mut String, tick: &str, area: &str, (top, bottom): (f64, f64)) {
        if self.count as usize <= MOST_TICKS {
            let _ = write!(out, "<path class=\"{tick}\" d=\"");
            for share in &self.ticks {
                let _ = write!(out, "M{:.2} {top}V{bottom}", LEFT + (RIGHT - LEFT) * share);
            }
        } else {
            let _ = write!(out, "<path class=\"{area}\" d=\"");
            let mut column = 0;
            for run in self.columns.chunk_by(|one, next| one == next) {
                if run[0] {
                    let from = LEFT + column as f64;
                    let _ = write!(out, "M{from} {top}H{}V{bottom}H{from}Z", from + run.len() as f64);
                }
                column += run.len();
            }
        }
        out.push_str("\"/>\n");
    }
}

impl Levels {
    fn reach(&mut self, column: usize) {
        while self.most.len() <= column {
            self.most.push(self.now);
        }
    }

    fn change(&mut self, column: usize, rises: bool) {
        self.now = if rises { self.now + 1 } else { self.now.saturating_sub(1) };
        self.most[column] = self.most[column].max(self.now);
    }

    fn bars(&self, axis: &Axis) -> Vec<Bar> {
        let bar =
            |(column, level): (usize, &u64)| (LEFT + column as f64, LEFT + column as f64 + 1.0, axis.y(*level as f64));
        self.most.iter().enumerate().map(bar).collect()
    }
}

/// Left edge, right edge and upper edge.
type Bar = (f64, f64, f64);

impl Picture {
    pub(super) fn new(plan: &Plan, setup: &Setup, account: &Account) -> Self {
        let length = if account.end == Nanos::ZERO { 1.0 } else { account.end.as_secs_f64() };
        let bands = plan.phases.iter().zip(account.phases()).enumerate().map(|(index, (phase, account))| {
            let (from, sends_to) = (account.started.as_secs_f64(), account.sending_complete.as_secs_f64());
            let wanted = wanted(phase, setup, PhaseIndex(index as u16), account.started, account.sending_complete);
            Band { name: phase.name.clone(), from, to: account.complete.as_secs_f64(), sends_to, wanted }
        });
        Self {
            length,
            phases: bands.collect(),
            stretches: Stretches::new(length),
            sent: Row::default(),
            missed: Row::default(),
            in_flight: Levels::default(),
            waiting: plan.endpoint.streaming.then(Levels::default),
        }
    }

    pub(super) fn add(&mut self, moment: &RehearsalEvent) {
        let at = moment.at.as_secs_f64();
        let share = (at / self.length).min(1.0);
        let column = ((share * COLUMNS as f64) as usize).min(COLUMNS - 1);
        self.in_flight.reach(column);
        self.waiting.iter_mut().for_each(|waiting| waiting.reach(column));
        let mut waits = |rises| self.waiting.iter_mut().for_each(|waiting| waiting.change(column, rises));
        match moment.what {
            RehearsalKind::Sent(dispatch, _) => {
                waits(true);
                self.in_flight.change(column, true);
                self.sent.add(share, column, 1);
                self.stretches.add(dispatch.phase, at, 1, 0);
            }
            RehearsalKind::Missed(phase, count) => {
                self.missed.add(share, column, count);
                self.stretches.add(phase, at, 0, count);
            }
            RehearsalKind::FirstContent(_) => waits(false),
            RehearsalKind::Returned(request, _) => {
                if !request.has_content {
                    waits(false);
                }
                self.in_flight.change(column, false);
            }
            _ => {}
        }
    }

    /// The finished picture.
    pub(super) fn svg(mut self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             role=\"img\" aria-label=\"Arrivals over time\">\n<style>{STYLE}</style>\n\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n"
        );
        let stretches = std::mem::replace(&mut self.stretches, Stretches::new(self.length)).all();
        let wanted = self.phases.iter().flat_map(|band| band.wanted.iter().map(|(_, rate)| *rate));
        let most_rate = stretches.iter().map(Stretch::offered_rate).chain(wanted).fold(0.0, f64::max);
        let most_flight = self.in_flight.most.iter().copied().max().unwrap_or(0);
        let frame = |(top, bottom)| Frame { left: LEFT, right: RIGHT, top, bottom };
        let rate_axis = Axis::of_rates(most_rate, frame(RATES));
        let flight_axis = Axis::of_counts(most_flight, frame(FLIGHT));
        self.bands(&mut out);
        self.time_axis(&mut out);
        rate_axis.draw(&mut out, "requests/s");
        flight_axis.draw(&mut out, "requests");
        self.rates(&mut out, &stretches, &rate_axis);
        area(&mut out, "flight", FLIGHT.1, &self.in_flight.bars(&flight_axis));
        if let Some(waiting) = &self.waiting {
            line(&mut out, "waiting", &waiting.bars(&flight_axis));
        }
        self.ticks(&mut out);
        for band in self.phases.iter().filter(|band| !band.wanted.is_empty()) {
            out.push_str("<polyline class=\"wanted\" points=\"");
            for (at, rate) in &band.wanted {
                let _ = write!(out, "{:.1},{:.1} ", self.x(*at), rate_axis.y(*rate));
            }
            out.push_str("\"/>\n");
        }
        self.legend(&mut out);
        out.push_str("</svg>\n");
        out
    }

    fn x(&self, seconds: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (seconds / self.length).clamp(0.0, 1.0)
    }

    /// The sent requests, with the dropped ones on top.
    fn rates(&self, out: &mut String, stretches: &[Stretch], axis: &Axis) {
        for of_phase in stretches.chunk_by(|one, next| one.phase == next.phase) {
            let Some(band) = of_phase.first().and_then(|one| self.phases.get(usize::from(one.phase.0))) else {
                continue;
            };
            let place = |at: f64| self.x(at.clamp(band.from, band.sends_to.max(band.from)));
            let bars = |rate: fn(&Stretch) -> f64| -> Vec<Bar> {
                of_phase.iter().map(|one| (place(one.from), place(one.to), axis.y(rate(one)))).collect()
            };
            let sent = bars(Stretch::sent_rate);
            area(out, "area", RATES.1, &sent);
            if of_phase.iter().any(|one| one.missed > 0) {
                between(out, "missed", &bars(Stretch::offered_rate), &sent);
            }
        }
    }

    fn ticks(&self, out: &mut String) {
        let middle = (TICKS.0 + TICKS.1) / 2.0;
        let is_missed = self.missed.count > 0;
        self.sent.draw(out, "tick", "area", if is_missed { (TICKS.0, middle) } else { TICKS });
        if is_missed {
            self.missed.draw(out, "missed-tick", "missed", (middle, TICKS.1));
        }
    }

    fn bands(&self, out: &mut String) {
        for (index, band) in self.phases.iter().enumerate() {
            let (from, to) = (self.x(band.from), self.x(band.to));
            let class = if index % 2 == 0 { "odd" } else { "even" };
            let (top, height) = (RATES.0 - 20.0, FLIGHT.1 - RATES.0 + 20.0);
            let (name, width) = (escape_markup(&band.name), (to - from).max(0.5));
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\">\
                 <title>{name}</title></rect>"
            );
            let sends_to = self.x(band.sends_to);
            let _ = writeln!(out, "<path class=\"sent\" d=\"M{sends_to:.1} {}V{}\"/>", RATES.0, FLIGHT.1);
        }
        self.names(out);
    }

    /// Names of phases in a row. A name that does not fit its phase is cut, or left out.
    fn names(&self, out: &mut String) {
        let mut free_from = LEFT;
        for (index, band) in self.phases.iter().enumerate() {
            let next = self.phases.get(index + 1);
            let end = |band: &Band, next: Option<&Band>| next.map_or(RIGHT, |next| self.x(next.from.min(band.to)));
            let (from, own_end) = (self.x(band.from), end(band, next));
            let at = from.max(free_from) + 4.0;
            // A name may extend into the next phase if there is room for both names.
            let next_end = next.map_or(RIGHT, |next| end(next, self.phases.get(index + 2)));
            let room = if next_end - at >= 3.0 * SHORT_NAME { own_end.max(at + SHORT_NAME) } else { own_end } - at;
            let name = cut(&band.name, room);
            if !name.is_empty() {
                let _ =
                    writeln!(out, "<text class=\"name\" x=\"{at:.1}\" y=\"{NAMES}\">{}</text>", escape_markup(&name));
                free_from = at + width(&name);
            }
        }
    }

    fn time_axis(&self, out: &mut String) {
        let (unit, scale) = time_unit(self.length);
        for value in Axis::steps(self.length * scale, 8.0) {
            let x = self.x(value / scale);
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {}V{}\"/>", RATES.0, FLIGHT.1 + 4.0);
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                FLIGHT.1 + 17.0,
                number(value)
            );
        }
        let middle = (LEFT + RIGHT) / 2.0;
        let _ = writeln!(
            out,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">time since the start ({unit})</text>",
            HEIGHT - 8.0
        );
    }

    fn legend(&self, out: &mut String) {
        let missed = format!("missed: {}", thousands(self.missed.count));
        let is_wanted = self.phases.iter().any(|band| !band.wanted.is_empty());
        let (middle, low) = (LEGEND - 4.0, LEGEND);
        let (block, stroke) = (format!("V{}h14V{low}Z", LEGEND - 8.0), "h14".to_owned());
        let entries = [
            ("area", &block, low, "arrivals", true),
            ("missed", &block, low, missed.as_str(), self.missed.count > 0),
            ("wanted", &stroke, middle, "wanted rate", is_wanted),
            ("flight", &block, low, "in flight", true),
            ("waiting", &stroke, middle, "waiting for first token", self.waiting.is_some()),
            ("sent", &stroke, middle, "sending ends", true),
        ];
        let mut x = LEFT;
        for (class, shape, y, text, _) in entries.into_iter().filter(|entry| entry.4) {
            let _ = writeln!(out, "<path class=\"{class}\" d=\"M{x:.1} {y}{shape}\"/>");
            let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{LEGEND}\">{text}</text>", x + 19.0);
            x += 19.0 + width(text) + 14.0;
        }
    }
}

/// The rate that a phase requests, as a line with as few points as possible.
fn wanted(phase: &PhasePlan, setup: &Setup, index: PhaseIndex, from: Nanos, to: Nanos) -> Vec<(f64, f64)> {
    let rate_at: Box<dyn Fn(Nanos) -> f64> = match (phase.arrival.rate_plan(), phase.arrival.steady_rate()) {
        (Some(rate), _) => {
            let curve = RateCurve::of_phase(rate, setup, index);
            Box::new(move |at| curve.rate_at(at))
        }
        (None, Some(rate)) => Box::new(move |_| rate),
        (None, None) => return Vec::new(),
    };
    let sends = to.0.saturating_sub(from.0) as f64;
    let place = |place| Nanos((sends * place as f64 / COLUMNS as f64) as u64);
    let all: Vec<_> = (0..=COLUMNS).map(place).map(|at| (from.as_secs_f64() + at.as_secs_f64(), rate_at(at))).collect();
    let turns = |index: usize| {
        index == 0 || index == COLUMNS || all[index - 1].1 != all[index].1 || all[index + 1].1 != all[index].1
    };
    (0..=COLUMNS).filter(|index| turns(*index)).map(|index| all[index]).collect()
}

/// Adjacent bars above a base line.
fn area(out: &mut String, class: &str, base: f64, bars: &[Bar]) {
    let (Some((from, ..)), Some((_, to, _))) = (bars.first(), bars.last()) else { return };
    let _ = write!(out, "<path class=\"{class}\" d=\"M{from:.1} {base}");
    outline(out, bars);
    let _ = writeln!(out, "L{to:.1} {base}Z\"/>");
}

/// The area between the upper edges of two sets of bars.
fn between(out: &mut String, class: &str, upper: &[Bar], lower: &[Bar]) {
    let Some((from, _, y)) = lower.first() else { return };
    let _ = write!(out, "<path class=\"{class}\" d=\"M{from:.1} {y:.1}");
    outline(out, upper);
    let back: Vec<Bar> = lower.iter().rev().map(|(from, to, y)| (*to, *from, *y)).collect();
    outline(out, &back);
    out.push_str("Z\"/>\n");
}

/// The upper edges of bars.
fn line(out: &mut String, class: &str, bars: &[Bar]) {
    let Some((from, _, y)) = bars.first() else { return };
    let _ = write!(out, "<path class=\"{class}\" d=\"M{from:.1} {y:.1}");
    outline(out, bars);
    out.push_str("\"/>\n");
}

fn outline(out: &mut String, bars: &[Bar]) {
    // Adjacent bars with the same height in the output become one.
    for same in bars.chunk_by(|one, next| (one.2 - next.2).abs() < 0.01) {
        let _ = write!(out, "L{:.1} {:.1}H{:.1}", same[0].0, same[0].2, same[same.len() - 1].1);
    }
}
