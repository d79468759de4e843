//! Axes with round steps.

use crate::text::{escape_markup, short};
use std::fmt::Write;

/// The edges of the plotted area.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

/// An upright scale from zero up.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    most: f64,
    step: f64,
    frame: Frame,
}

impl Axis {
    pub fn of_rates(most: f64, frame: Frame) -> Self {
        Self::new(most, nice_step(if most > 0.0 { most } else { 1.0 }, 4.0), frame)
    }

    /// Counts have whole steps.
    pub fn of_counts(most: u64, frame: Frame) -> Self {
        let most = most.max(1) as f64;
        Self::new(most, nice_step(most, 4.0).max(1.0), frame)
    }

    fn new(most: f64, step: f64, frame: Frame) -> Self {
        Self { most: (most / step).ceil().max(1.0) * step, step, frame }
    }

    /// Round values from zero to a length, in at most so many steps.
    pub fn steps(length: f64, parts: f64) -> impl Iterator<Item = f64> {
        let step = nice_step(length, parts);
        (0..).map(move |index| f64::from(index) * step).take_while(move |value| *value <= length * (1.0 + 1e-9))
    }

    pub fn y(&self, value: f64) -> f64 {
        let Frame { top, bottom, .. } = self.frame;
        bottom - (bottom - top) * (value / self.most).clamp(0.0, 1.0)
    }

    /// Draws a line and a label for each step, and the title beside them.
    pub fn draw(&self, out: &mut String, title: &str) {
        let Frame { left, right, top, bottom } = self.frame;
        for index in 0..=(self.most / self.step).round() as u32 {
            let value = f64::from(index) * self.step;
            let y = self.y(value);
            let class = if index == 0 { "axis" } else { "grid" };
            let _ = writeln!(out, "<path class=\"{class}\" d=\"M{left} {y:.1}H{right}\"/>");
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 5.0,
                y + 4.0,
                short(value)
            );
        }
        // Beside the numbers and rotated, because that space is free.
        let (x, y) = (12.0, (top + bottom) / 2.0);
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{}</text>",
            escape_markup(title)
        );
    }
}

/// The unit that makes a length of seconds easy to read, and how many of it are one second.
pub fn time_unit(seconds: f64) -> (&'static str, f64) {
    match seconds {
        short if short < 0.002 => ("\u{b5}s", 1e6),
        short if short < 2.0 => ("ms", 1e3),
        usual if usual < 1200.0 => ("s", 1.0),
        long if long < 3.0 * 3600.0 => ("min", 1.0 / 60.0),
        long if long < 3.0 * 86_400.0 => ("h", 1.0 / 3600.0),
        _ => ("days", 1.0 / 86_400.0),
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
    fn long_times_are_shown_in_long_units() {
        let units = [0.001, 1.0, 60.0, 3600.0, 86_400.0, 30.0 * 86_400.0].map(|seconds| time_unit(seconds).0);
        assert_eq!(units, ["\u{b5}s", "ms", "s", "min", "h", "days"]);
    }
}
