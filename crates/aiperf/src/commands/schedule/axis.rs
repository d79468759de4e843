//! Axes of a picture, with round steps.

use super::words::number;
use std::fmt::Write;

/// Left and right edge of what has a scale.
pub(super) const LEFT: f64 = 56.0;
pub(super) const RIGHT: f64 = 780.0;

/// A scale from zero up.
pub(super) struct Axis {
    most: f64,
    step: f64,
    top: f64,
    bottom: f64,
}

impl Axis {
    pub(super) fn of_rates(most: f64, edges: (f64, f64)) -> Self {
        Self::new(most, nice_step(if most > 0.0 { most } else { 1.0 }, 4.0), edges)
    }

    /// Counts have whole steps.
    pub(super) fn of_counts(most: u64, edges: (f64, f64)) -> Self {
        let most = most.max(1) as f64;
        Self::new(most, nice_step(most, 4.0).max(1.0), edges)
    }

    fn new(most: f64, step: f64, (top, bottom): (f64, f64)) -> Self {
        Self { most: (most / step).ceil().max(1.0) * step, step, top, bottom }
    }

    /// Round values from zero to a length, in at most so many steps.
    pub(super) fn steps(length: f64, parts: f64) -> impl Iterator<Item = f64> {
        let step = nice_step(length, parts);
        (0..).map(move |index| f64::from(index) * step).take_while(move |value| *value <= length * (1.0 + 1e-9))
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * (value / self.most).clamp(0.0, 1.0)
    }

    pub(super) fn draw(&self, out: &mut String, title: &str) {
        for index in 0..=(self.most / self.step).round() as u32 {
            let value = f64::from(index) * self.step;
            let y = self.y(value);
            let class = if index == 0 { "axis" } else { "grid" };
            let _ = writeln!(out, "<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>");
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 5.0,
                y + 4.0,
                short(value)
            );
        }
        // Beside the numbers and rotated, because that space is free.
        let (x, y) = (12.0, (self.top + self.bottom) / 2.0);
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{title}</text>"
        );
    }
}

/// The unit that makes a length of seconds easy to read, and how many of it are one second.
pub(super) fn time_unit(seconds: f64) -> (&'static str, f64) {
    match seconds {
        short if short < 0.002 => ("\u{b5}s", 1e6),
        short if short < 2.0 => ("ms", 1e3),
        usual if usual < 1200.0 => ("s", 1.0),
        long if long < 3.0 * 3600.0 => ("min", 1.0 / 60.0),
        long if long < 3.0 * 86_400.0 => ("h", 1.0 / 3600.0),
        _ => ("days", 1.0 / 86_400.0),
    }
}

/// A number in at most five characters.
fn short(value: f64) -> String {
    let units = [(1e9, "G"), (1e6, "M"), (1e4, "k")];
    match units.into_iter().find(|(least, _)| value >= *least) {
        Some((_, "k")) => format!("{}k", number(value / 1e3)),
        Some((least, unit)) => format!("{}{unit}", number(value / least)),
        None if value > 0.0 && value < 0.001 => format!("{value:.0e}"),
        None => number(value),
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that divides a length into at most so many parts.
fn nice_step(length: f64, parts: f64) -> f64 {
    let least = length / parts;
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(least)
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
    fn labels_are_short_for_any_value() {
        let labels = [0.0, 0.25, 7.5, 2500.0, 20_000.0, 1_500_000.0, 2e9, 2e-5].map(short);
        assert_eq!(labels, ["0", "0.25", "7.5", "2500", "20k", "1.5M", "2G", "2e-5"]);
    }

    #[test]
    fn long_times_are_shown_in_long_units() {
        let units = [0.001, 1.0, 60.0, 3600.0, 86_400.0, 30.0 * 86_400.0].map(|seconds| time_unit(seconds).0);
        assert_eq!(units, ["\u{b5}s", "ms", "s", "min", "h", "days"]);
    }
}
