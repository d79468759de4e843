//! A server that is only assumed: how long its responses would take.

use aiperf_plan::Draws;
use aiperf_plan::draw::Purpose;
use aiperf_types::Nanos;
use rand_distr::{Distribution, LogNormal, Normal};
use std::str::FromStr;

/// No response takes less, so that time passes whatever is assumed.
const SHORTEST_NS: f64 = 1_000.0;
/// None takes more than a day, so that virtual time has an end.
const LONGEST_NS: f64 = 86_400e9;

/// How long a server is assumed to take for a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AssumedServer {
    /// To the first content.
    pub ttft: AssumedTime,
    /// To the end; the first content comes no later.
    pub latency: AssumedTime,
}

/// A length of time in milliseconds. Written `250`, `constant:250`, `normal:MEAN,DEVIATION` or `lognormal:MEAN,DEVIATION`, where
/// mean and deviation are those of the drawn values themselves; each number may carry `us`, `ms` or `s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AssumedTime {
    Fixed(f64),
    /// Cut at zero.
    Normal {
        mean: f64,
        deviation: f64,
    },
    LogNormal {
        mean: f64,
        deviation: f64,
    },
}

/// Why a text is no time to be assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTime {
    Unreadable,
    /// A mean of zero: nothing takes no time.
    Nothing,
    /// More than a day.
    TooLong,
}

impl FromStr for AssumedTime {
    type Err = NoTime;

    fn from_str(text: &str) -> Result<Self, NoTime> {
        let (law, numbers) = text.split_once(':').unwrap_or(("constant", text));
        let numbers: Vec<f64> =
            numbers.split(',').map(|number| milliseconds(number.trim())).collect::<Result<_, _>>()?;
        let time = match (law.trim(), numbers.as_slice()) {
            ("constant", &[fixed]) => Self::Fixed(fixed),
            ("normal", &[mean, deviation]) => Self::Normal { mean, deviation },
            ("lognormal", &[mean, deviation]) => Self::LogNormal { mean, deviation },
            _ => return Err(NoTime::Unreadable),
        };
        if numbers[0] > 0.0 { Ok(time) } else { Err(NoTime::Nothing) }
    }
}

fn milliseconds(text: &str) -> Result<f64, NoTime> {
    // `us` and `ms` before `s`: the longer ending wins.
    const UNITS: [(&str, f64); 4] = [("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("", 1.0)];
    let read = |(unit, scale): &(&str, f64)| Some(text.strip_suffix(unit)?.trim().parse::<f64>().ok()? * scale);
    match UNITS.iter().find_map(read).ok_or(NoTime::Unreadable)? {
        long if long > LONGEST_NS / 1e6 && long.is_finite() => Err(NoTime::TooLong),
        time if time >= 0.0 && time.is_finite() => Ok(time),
        _ => Err(NoTime::Unreadable),
    }
}

impl AssumedTime {
    fn draw(&self, purpose: &Purpose, request: u64) -> Nanos {
        let random = || purpose.at(request);
        let millis = match *self {
            Self::Fixed(millis) => millis,
            Self::Normal { mean, deviation } => {
                Normal::new(mean, deviation).map_or(mean, |law| law.sample(&mut random()))
            }
            Self::LogNormal { mean, deviation } => {
                LogNormal::from_mean_cv(mean, deviation / mean).map_or(mean, |law| law.sample(&mut random()))
            }
        };
        Nanos((millis * 1e6).clamp(SHORTEST_NS, LONGEST_NS).round() as u64)
    }
}

/// What a server is assumed to do with the requests of one phase: functions of the seed and the request's number.
#[derive(Clone, Debug)]
pub(crate) struct ResponseTimes {
    server: AssumedServer,
    ttft: Purpose,
    latency: Purpose,
}

impl ResponseTimes {
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

    fn response_times(ttft: &str, latency: &str) -> ResponseTimes {
        let time = |text: &str| text.parse().expect("a time");
        let server = AssumedServer { ttft: time(ttft), latency: time(latency) };
        ResponseTimes::of_phase(server, &Draws::new(Some(1), ""), 0)
    }

    #[test]
    fn a_number_is_milliseconds_and_a_first_content_comes_no_later_than_the_end() {
        assert_eq!(response_times("20", "250.5").times(7), (Nanos(20_000_000), Nanos(250_500_000)));
        assert_eq!(response_times("300", "250").times(7).0, Nanos(250_000_000));
    }

    #[test]
    fn a_time_may_carry_its_unit() {
        for (text, millis) in [("50ms", 50.0), ("constant:2s", 2000.0), ("500us", 0.5), ("1e3", 1000.0), (" 7 ", 7.0)] {
            assert_eq!(text.parse(), Ok(AssumedTime::Fixed(millis)), "{text}");
        }
        assert_eq!("normal:1s, 20".parse(), Ok(AssumedTime::Normal { mean: 1000.0, deviation: 20.0 }));
    }

    #[test]
    fn drawn_times_have_their_mean_and_deviation_and_depend_on_the_request_alone() {
        for latency in ["normal:200,50", "lognormal:200,50"] {
            let response_times = response_times("10", latency);
            let drawn: Vec<f64> = (0..20_000).map(|number| response_times.times(number).1.as_millis_f64()).collect();
            assert_eq!(response_times.times(17).1.as_millis_f64(), drawn[17]);
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let variance = drawn.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
            assert!((mean - 200.0).abs() < 2.0, "{latency}: mean {mean}");
            assert!((variance.sqrt() - 50.0).abs() < 2.0, "{latency}: deviation {}", variance.sqrt());
        }
    }

    #[test]
    fn time_passes_whatever_is_drawn_and_no_response_takes_more_than_a_day() {
        let times_of = |latency| response_times("1", latency);
        let (short, long) = (times_of("normal:0.001,100"), times_of("lognormal:86400s,86400s"));
        assert!((0..1000).all(|number| short.times(number).1 >= Nanos(1000)));
        assert!((0..1000).all(|number| long.times(number).1 <= Nanos(86_400_000_000_000)));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "x",
            "-1",
            "nan",
            "inf",
            "1e999",
            "normal:1",
            "gamma:1,2",
            "1,2",
            "normal:1,2,3",
            "5m",
            "lognormal:1,-1",
        ] {
            assert_eq!(text.parse::<AssumedTime>(), Err(NoTime::Unreadable), "{text}");
        }
        for text in ["0", "normal:0,1", "lognormal:0s,1"] {
            assert_eq!(text.parse::<AssumedTime>(), Err(NoTime::Nothing), "{text}");
        }
        for text in ["1e308", "86401s", "normal:5,1e300", "lognormal:86400001,1"] {
            assert_eq!(text.parse::<AssumedTime>(), Err(NoTime::TooLong), "{text}");
        }
    }
}
