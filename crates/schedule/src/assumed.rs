//! A server that is only assumed: how long its answers would take.

use aiperf_plan::Draws;
use aiperf_plan::draw::Purpose;
use aiperf_types::Nanos;
use rand_distr::{Distribution, LogNormal, Normal};
use std::str::FromStr;

/// No answer takes less, so that time passes whatever is assumed.
const SHORTEST_NS: f64 = 1_000.0;

/// How long a server is assumed to take for a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AssumedServer {
    /// To the first content.
    pub ttft: AssumedTime,
    /// To the end; the first content comes no later.
    pub latency: AssumedTime,
}

/// A length of time in milliseconds, written `250`, `normal:MEAN,STDDEV` or `lognormal:MEDIAN,SIGMA`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AssumedTime {
    Fixed(f64),
    /// Cut at zero.
    Normal {
        mean: f64,
        stddev: f64,
    },
    LogNormal {
        median: f64,
        sigma: f64,
    },
}

impl FromStr for AssumedTime {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (law, numbers) = text.split_once(':').unwrap_or(("", text));
        let numbers = numbers.split(',').map(|number| number.trim().parse::<f64>().ok());
        let numbers: Vec<f64> = numbers.collect::<Option<_>>().ok_or(())?;
        if !numbers.iter().all(|number| number.is_finite() && *number >= 0.0) {
            return Err(());
        }
        match (law.trim(), numbers.as_slice()) {
            ("", &[fixed]) if fixed > 0.0 => Ok(Self::Fixed(fixed)),
            ("normal", &[mean, stddev]) if mean > 0.0 => Ok(Self::Normal { mean, stddev }),
            ("lognormal", &[median, sigma]) if median > 0.0 => Ok(Self::LogNormal { median, sigma }),
            _ => Err(()),
        }
    }
}

impl AssumedTime {
    fn draw(&self, purpose: &Purpose, request: u64) -> Nanos {
        let random = || purpose.at(request);
        let millis = match *self {
            Self::Fixed(millis) => millis,
            Self::Normal { mean, stddev } => Normal::new(mean, stddev).map_or(mean, |law| law.sample(&mut random())),
            Self::LogNormal { median, sigma } => {
                LogNormal::new(median.ln(), sigma).map_or(median, |law| law.sample(&mut random()))
            }
        };
        Nanos((millis * 1e6).max(SHORTEST_NS).round() as u64)
    }
}

/// What a server is assumed to do with the requests of one phase: functions of the seed and the request's number.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    server: AssumedServer,
    ttft: Purpose,
    latency: Purpose,
}

impl Answers {
    pub(crate) fn of_phase(server: AssumedServer, draws: &Draws, phase: usize) -> Self {
        let purpose = |of: &str| draws.purpose(&format!("rehearsal.{of}:{phase}"));
        Self { server, ttft: purpose("ttft"), latency: purpose("latency") }
    }

    /// From the request to its first content, and to its end.
    pub(crate) fn times(&self, number: u64) -> (Nanos, Nanos) {
        let latency = self.server.latency.draw(&self.latency, number);
        (self.server.ttft.draw(&self.ttft, number).min(latency), latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(ttft: &str, latency: &str) -> Answers {
        let time = |text: &str| text.parse().expect("a time");
        let server = AssumedServer { ttft: time(ttft), latency: time(latency) };
        Answers::of_phase(server, &Draws::new(Some(1), ""), 0)
    }

    #[test]
    fn a_number_is_milliseconds_and_a_first_content_comes_no_later_than_the_end() {
        assert_eq!(answers("20", "250.5").times(7), (Nanos(20_000_000), Nanos(250_500_000)));
        assert_eq!(answers("300", "250").times(7).0, Nanos(250_000_000));
    }

    #[test]
    fn drawn_times_have_their_middle_and_depend_on_the_request_alone() {
        for latency in ["normal:200,20", "lognormal:200,0.5"] {
            let answers = answers("10", latency);
            let mut drawn: Vec<u64> = (0..4001).map(|number| answers.times(number).1.0).collect();
            assert_eq!(answers.times(17).1.0, drawn[17]);
            drawn.sort_unstable();
            assert!((195_000_000..205_000_000).contains(&drawn[2000]), "{latency}: {}", drawn[2000]);
        }
    }

    #[test]
    fn time_passes_whatever_is_drawn() {
        let answers = answers("1", "normal:0.001,100");
        assert!((0..1000).all(|number| answers.times(number).1 >= Nanos(1000)));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "0", "-1", "nan", "inf", "normal:1", "normal:0,1", "lognormal:0,1", "gamma:1,2", "1,2", "5ms"]
        {
            assert!(text.parse::<AssumedTime>().is_err(), "{text}");
        }
    }
}
