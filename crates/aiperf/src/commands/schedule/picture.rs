//! A rehearsal as a picture: arrivals, the rate that was asked for, and requests in flight over time, phases shaded.
//!
//! A plain SVG of 800 x 360 without scripts, fonts or links; its colours follow the reader's light or dark scheme.

use super::account::Account;
use super::words::number;
use aiperf_campaign::rehearsal::{Happening, Moment, RateCurve, Setup};
use aiperf_plan::{Arrival, Plan};
use aiperf_types::{Nanos, PhaseIndex};
use std::fmt::Write;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 788.0;
/// Upper and lower edge of the rates, of the row of ticks, and of what is in flight.
const RATES: (f64, f64) = (46.0, 176.0);
const TICKS: (f64, f64) = (180.0, 192.0);
const FLIGHT: (f64, f64) = (222.0, 318.0);
/// Rates are those of so many slices of time.
const SLICES: usize = 122;
/// What is in flight is drawn at so many places.
const COLUMNS: usize = (RIGHT - LEFT) as usize;
/// More arrivals than this are no longer told apart by their ticks.
const MOST_TICKS: usize = 600;

const STYLE: &str = "\
text{font:11px system-ui,sans-serif;fill:#333}.name{font-weight:600}.paper{fill:#fff}.odd{fill:#eef2f7}.even{fill:#f8f4ea}\
.grid{stroke:#d5d9de}.axis{stroke:#888}.area{fill:#7aa6d6;fill-opacity:.55}.tick{stroke:#2f6db3;stroke-width:1}\
.wanted{fill:none;stroke:#c2410c;stroke-width:1.5}.flight{fill:#8dbb8d;fill-opacity:.5;stroke:#3d7a3d;stroke-width:1}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.paper{fill:#16181c}.odd{fill:#1e242d}.even{fill:#26231b}\
.grid{stroke:#383d45}.axis{stroke:#888}.area{fill:#4b7fb8}.tick{stroke:#8ab8ea}.wanted{stroke:#fb923c}\
.flight{fill:#3f6f3f;stroke:#86c286}}";

/// A picture in the making: the whole length of the rehearsal is known, and what happens is added.
pub(super) struct Picture {
    /// Never zero.
    length: f64,
    phases: Vec<Band>,
    /// Arrivals by slice.
    arrivals: Vec<u64>,
    /// Each arrival, unless there are too many.
    ticks: Option<Vec<f64>>,
    in_flight: u64,
    /// Most in flight by column, as far as they were reached.
    flight: Vec<u64>,
}

struct Band {
    name: String,
    from: f64,
    to: f64,
    /// Until it sends no more.
    sends_to: f64,
    /// Places of the rate that is asked for: seconds and requests a second.
    wanted: Vec<(f64, f64)>,
}

impl Picture {
    pub(super) fn new(plan: &Plan, setup: &Setup, account: &Account) -> Self {
        let length = account.end.as_secs_f64().max(1e-9);
        let bands = plan.phases.iter().zip(account.phases()).enumerate().map(|(index, (phase, account))| {
            let sends = account.sending_complete.0.saturating_sub(account.started.0);
            let from = account.started.as_secs_f64();
            let wanted = match &phase.arrival {
                Arrival::Rate { rate, .. } => {
                    let curve = RateCurve::of_phase(rate, setup, PhaseIndex(index as u16));
                    let places =
                        (0..=COLUMNS).map(|place| Nanos((sends as f64 * place as f64 / COLUMNS as f64) as u64));
                    places.map(|at| (from + at.as_secs_f64(), curve.rate_at(at))).collect()
                }
                Arrival::UserCentric { rate, .. } => {
                    vec![(from, *rate), (account.sending_complete.as_secs_f64(), *rate)]
                }
                Arrival::Concurrency | Arrival::FixedSchedule { .. } => Vec::new(),
            };
            let (to, sends_to) = (account.complete.as_secs_f64(), account.sending_complete.as_secs_f64());
            Band { name: phase.name.clone(), from, to, sends_to, wanted }
        });
        Self {
            length,
            phases: bands.collect(),
            arrivals: vec![0; SLICES],
            ticks: Some(Vec::new()),
            in_flight: 0,
            flight: Vec::with_capacity(COLUMNS),
        }
    }

    pub(super) fn add(&mut self, moment: &Moment) {
        let share = (moment.at.as_secs_f64() / self.length).min(1.0);
        let column = ((share * COLUMNS as f64) as usize).min(COLUMNS - 1);
        while self.flight.len() <= column {
            self.flight.push(self.in_flight);
        }
        match moment.what {
            Happening::Sent(..) => {
                self.arrivals[((share * SLICES as f64) as usize).min(SLICES - 1)] += 1;
                self.ticks = self.ticks.take().filter(|ticks| ticks.len() < MOST_TICKS);
                if let Some(ticks) = &mut self.ticks {
                    ticks.push(share);
                }
                self.in_flight += 1;
            }
            Happening::Returned(..) => self.in_flight = self.in_flight.saturating_sub(1),
            _ => {}
        }
        self.flight[column] = self.flight[column].max(self.in_flight);
    }

    /// The whole picture.
    pub(super) fn svg(&self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             role=\"img\" aria-label=\"Arrivals over time\">\n<style>{STYLE}</style>\n\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n"
        );
        let slice = self.length / SLICES as f64;
        let rates: Vec<f64> = self.arrivals.iter().map(|arrivals| *arrivals as f64 / slice).collect();
        let wanted = self.phases.iter().flat_map(|band| band.wanted.iter().map(|(_, rate)| *rate));
        let most_rate = rates.iter().copied().chain(wanted).fold(0.0, f64::max);
        let most_flight = self.flight.iter().copied().max().unwrap_or(0).max(1) as f64;
        let (rate_axis, flight_axis) = (Axis::new(most_rate, RATES), Axis::new(most_flight, FLIGHT));
        self.bands(&mut out);
        self.time_axis(&mut out);
        rate_axis.draw(&mut out, "requests/s");
        flight_axis.draw(&mut out, "requests in flight");
        let place = |index: usize, of: usize| LEFT + (RIGHT - LEFT) * index as f64 / of as f64;
        area(
            &mut out,
            "area",
            RATES.1,
            rates
                .iter()
                .enumerate()
                .map(|(index, rate)| (place(index, SLICES), place(index + 1, SLICES), rate_axis.y(*rate))),
        );
        area(
            &mut out,
            "flight",
            FLIGHT.1,
            self.flight.iter().enumerate().map(|(index, flight)| {
                (place(index, COLUMNS), place(index + 1, COLUMNS), flight_axis.y(*flight as f64))
            }),
        );
        if let Some(ticks) = &self.ticks {
            out.push_str("<path class=\"tick\" d=\"");
            for share in ticks {
                let _ = write!(out, "M{:.2} {}V{}", LEFT + (RIGHT - LEFT) * share, TICKS.0, TICKS.1);
            }
            out.push_str("\"/>\n");
        }
        for band in self.phases.iter().filter(|band| !band.wanted.is_empty()) {
            out.push_str("<polyline class=\"wanted\" points=\"");
            for (at, rate) in &band.wanted {
                let _ = write!(out, "{:.1},{:.1} ", self.x(*at), rate_axis.y(*rate));
            }
            out.push_str("\"/>\n");
        }
        out.push_str("</svg>\n");
        out
    }

    fn x(&self, seconds: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (seconds / self.length).clamp(0.0, 1.0)
    }

    fn bands(&self, out: &mut String) {
        let mut free_from = LEFT;
        for (index, band) in self.phases.iter().enumerate() {
            let (from, to) = (self.x(band.from), self.x(band.to));
            let class = if index % 2 == 0 { "odd" } else { "even" };
            let (top, height) = (RATES.0 - 20.0, FLIGHT.1 - RATES.0 + 20.0);
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{height}\"/>",
                (to - from).max(0.5)
            );
            let sends_to = self.x(band.sends_to);
            let _ = writeln!(
                out,
                "<path class=\"grid\" stroke-dasharray=\"2 3\" d=\"M{sends_to:.1} {}V{}\"/>",
                RATES.0, FLIGHT.1
            );
            // Names stand beside each other: those of phases too short for them are left out.
            let at = from.max(free_from) + 4.0;
            let width = band.name.chars().count() as f64 * 6.6;
            if at + width <= RIGHT && at <= to.max(from + 8.0) {
                let name = escape(&band.name);
                let _ = writeln!(out, "<text class=\"name\" x=\"{at:.1}\" y=\"{}\">{name}</text>", RATES.0 - 7.0);
                free_from = at + width;
            }
        }
    }

    fn time_axis(&self, out: &mut String) {
        // Short ones in milliseconds.
        let (unit, scale) = if self.length < 2.0 { ("ms", 1000.0) } else { ("s", 1.0) };
        let step = nice_step(self.length * scale, 8.0);
        let mut index = 0;
        while index as f64 * step <= self.length * scale {
            let value = index as f64 * step;
            let x = self.x(value / scale);
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {}V{}\"/>", RATES.0, FLIGHT.1 + 4.0);
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                FLIGHT.1 + 17.0,
                number(value)
            );
            index += 1;
        }
        let middle = (LEFT + RIGHT) / 2.0;
        let _ = writeln!(
            out,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">time since the start ({unit})</text>",
            HEIGHT - 8.0
        );
    }
}

/// A scale from zero up.
struct Axis {
    most: f64,
    step: f64,
    top: f64,
    bottom: f64,
}

impl Axis {
    fn new(most: f64, (top, bottom): (f64, f64)) -> Self {
        let step = nice_step(most.max(1e-9), 4.0);
        Self { most: (most / step).ceil().max(1.0) * step, step, top, bottom }
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * (value / self.most).clamp(0.0, 1.0)
    }

    fn draw(&self, out: &mut String, title: &str) {
        let mut value = 0.0;
        while value <= self.most * (1.0 + 1e-9) {
            let y = self.y(value);
            let class = if value == 0.0 { "axis" } else { "grid" };
            let _ = writeln!(out, "<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>");
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 5.0,
                y + 4.0,
                number(value)
            );
            value += self.step;
        }
        // Beside the numbers, upwards: nothing is in the way there.
        let (x, y) = (12.0, (self.top + self.bottom) / 2.0);
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{title}</text>"
        );
    }
}

/// Bars without gaps: from, to and upper edge of each, above a base.
fn area(out: &mut String, class: &str, base: f64, bars: impl Iterator<Item = (f64, f64, f64)>) {
    let _ = write!(out, "<path class=\"{class}\" d=\"M{LEFT} {base}");
    let mut last = LEFT;
    for (from, to, y) in bars {
        let _ = write!(out, "L{from:.1} {y:.1}H{to:.1}");
        last = to;
    }
    let _ = writeln!(out, "L{last:.1} {base}Z\"/>");
}

/// The smallest of 1, 2 and 5 times a power of ten that divides a length into so many parts at most.
fn nice_step(length: f64, parts: f64) -> f64 {
    let least = length / parts;
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(least)
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_an_axis_are_round() {
        assert_eq!(
            [nice_step(8.0, 8.0), nice_step(9.0, 8.0), nice_step(30.0, 8.0), nice_step(0.7, 4.0)],
            [1.0, 2.0, 5.0, 0.2]
        );
    }

    #[test]
    fn text_of_users_stays_text() {
        assert_eq!(escape("a<b>&\"\u{1b}"), "a&lt;b&gt;&amp;&quot;\u{fffd}");
    }
}
