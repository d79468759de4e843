//! The distribution of a scripted quantity: latencies in time, response lengths in tokens.
//!
//! Written as `50`, `constant:50`, `normal:MEAN,DEVIATION` or `lognormal:MEAN,DEVIATION`, where mean and deviation are
//! those of the drawn values themselves. A latency is in milliseconds unless it carries `us`, `ms` or `s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rand::Rng;
use rand_distr::{Distribution, LogNormal, Normal};
use thiserror::Error;

/// A distribution of non-negative numbers; negative draws are taken as zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    Constant(f64),
    /// Normal, cut at zero.
    Normal(Normal<f64>),
    LogNormal(LogNormal<f64>),
}

impl Spread {
    /// One value.
    pub fn draw(&self, random: &mut impl Rng) -> f64 {
        match self {
            Spread::Constant(value) => *value,
            Spread::Normal(normal) => normal.sample(random).max(0.0),
            Spread::LogNormal(lognormal) => lognormal.sample(random),
        }
    }

    fn parse(text: &str, number: impl Fn(&str) -> Option<f64>) -> Result<Self, SpreadError> {
        let unreadable = || SpreadError { text: text.to_owned() };
        let (shape, arguments) = text.split_once(':').unwrap_or(("constant", text));
        let values: Vec<f64> = arguments
            .split(',')
            .map(|argument| number(argument.trim()).filter(|value| value.is_finite() && *value >= 0.0))
            .collect::<Option<_>>()
            .ok_or_else(unreadable)?;
        match (shape.trim(), values.as_slice()) {
            ("constant", &[value]) => Ok(Spread::Constant(value)),
            ("normal", &[mean, deviation]) => {
                Normal::new(mean, deviation).map(Spread::Normal).map_err(|_| unreadable())
            }
            ("lognormal", &[mean, deviation]) if mean > 0.0 => {
                LogNormal::from_mean_cv(mean, deviation / mean).map(Spread::LogNormal).map_err(|_| unreadable())
            }
            _ => Err(unreadable()),
        }
    }
}

impl FromStr for Spread {
    type Err = SpreadError;

    fn from_str(text: &str) -> Result<Self, SpreadError> {
        Self::parse(text, |number| number.parse().ok())
    }
}

/// A distribution of durations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency(Spread);

impl Latency {
    /// Always `duration`.
    pub fn constant(duration: Duration) -> Self {
        Latency(Spread::Constant(duration.as_nanos() as f64))
    }

    /// One duration, in nanoseconds.
    pub(crate) fn draw_ns(&self, random: &mut impl Rng) -> u64 {
        self.0.draw(random) as u64
    }
}

impl FromStr for Latency {
    type Err = SpreadError;

    fn from_str(text: &str) -> Result<Self, SpreadError> {
        Spread::parse(text, nanoseconds).map(Latency)
    }
}

/// A duration as the command line writes it: milliseconds, or a number with `us`, `ms` or `s`.
pub fn parse_duration(text: &str) -> Result<Duration, SpreadError> {
    nanoseconds(text)
        .filter(|value| value.is_finite() && *value >= 0.0)
        .map(|value| Duration::from_nanos(value as u64))
        .ok_or_else(|| SpreadError { text: text.to_owned() })
}

fn nanoseconds(text: &str) -> Option<f64> {
    // `ms` before `s`: the longer ending wins.
    const UNITS: [(&str, f64); 4] = [("us", 1e3), ("ms", 1e6), ("s", 1e9), ("", 1e6)];
    UNITS.iter().find_map(|(unit, scale)| {
        let number = text.strip_suffix(unit)?;
        number.trim().parse::<f64>().ok().map(|value| value * scale)
    })
}

/// Text that is no distribution.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct SpreadError {
    text: String,
}

impl fmt::Display for SpreadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` is not a number, `normal:MEAN,DEVIATION` or `lognormal:MEAN,DEVIATION` (times in ms, or with us, ms, s)",
            self.text
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn latencies_are_milliseconds_unless_they_have_a_unit() {
        for (text, expected) in [("50", 50_000_000), ("50ms", 50_000_000), ("0.05s", 50_000_000), ("20us", 20_000)] {
            let latency: Latency = text.parse().unwrap();
            assert_eq!(latency.draw_ns(&mut ChaCha8Rng::seed_from_u64(0)), expected, "{text}");
        }
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_drawn_values() {
        for text in ["normal:50,10", "lognormal:50,10"] {
            let spread: Spread = text.parse().unwrap();
            let mut random = ChaCha8Rng::seed_from_u64(7);
            let values: Vec<f64> = (0..20_000).map(|_| spread.draw(&mut random)).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
            assert!((mean - 50.0).abs() < 0.5, "{text}: mean {mean}");
            assert!((variance.sqrt() - 10.0).abs() < 0.5, "{text}: deviation {}", variance.sqrt());
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "x", "normal:5", "uniform:1,2", "-1", "lognormal:0,1", "nan", "normal:1,2,3"] {
            assert!(text.parse::<Latency>().is_err(), "{text}");
        }
    }
}
