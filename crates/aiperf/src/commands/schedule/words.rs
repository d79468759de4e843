//! Plans and numbers as people say them.

use aiperf_campaign::rehearsal::{AssumedServer, AssumedTime};
use aiperf_plan::{Arrival, ArrivalLaw, PhasePlan, Ramp, RampStrategy, RateLevel, RatePlan, ScheduleZero};
use aiperf_types::Nanos;

/// A count with its thousands apart.
pub(super) fn count(of: u64) -> String {
    let digits = of.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// So many of something that has a plain plural.
pub(super) fn several(of: u64, what: &str) -> String {
    format!("{} {what}{}", count(of), if of == 1 { "" } else { "s" })
}

/// An instant or a length of time.
pub(super) fn seconds(of: Nanos) -> String {
    format!("{:.3} s", of.as_secs_f64())
}

/// A number without digits that say nothing.
pub(super) fn number(of: f64) -> String {
    let decimals = match of.abs() {
        large if large >= 100.0 => 1,
        middle if middle >= 1.0 => 2,
        _ => 4,
    };
    let text = format!("{of:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn length(of: Nanos) -> String {
    format!("{} s", number(of.as_secs_f64()))
}

/// What is assumed of a server.
pub(super) fn server(assumed: &AssumedServer) -> String {
    format!("first token after {}, end of the answer after {}", time(&assumed.ttft), time(&assumed.latency))
}

fn time(assumed: &AssumedTime) -> String {
    match *assumed {
        AssumedTime::Fixed(ms) => format!("{} ms", number(ms)),
        AssumedTime::Normal { mean, stddev } => {
            format!("{} ms (normal, deviation {} ms)", number(mean), number(stddev))
        }
        AssumedTime::LogNormal { median, sigma } => {
            format!("{} ms (log-normal, sigma {})", number(median), number(sigma))
        }
    }
}

/// How a phase offers its load.
pub(super) fn mode(phase: &PhasePlan) -> String {
    let mut said = match &phase.arrival {
        Arrival::Concurrency => match phase.concurrency {
            Some(slots) => format!("concurrency {}", count(u64::from(slots))) + &ramp(phase.concurrency_ramp.as_ref()),
            None => "concurrency 1".to_owned(),
        },
        Arrival::Rate { law, rate } => self::law(law) + &level(rate),
        Arrival::UserCentric { users, rate } => format!(
            "{} users who each come back after {} s, {} requests/s together",
            count(u64::from(*users)),
            number(f64::from(*users) / rate),
            number(*rate)
        ),
        Arrival::FixedSchedule { zero: ScheduleZero::First } => "at recorded times, from the first on".to_owned(),
        Arrival::FixedSchedule { zero: ScheduleZero::At(ms) } => {
            format!("at recorded times, from {} ms on", number(*ms))
        }
    };
    if let (false, Some(slots)) = (matches!(phase.arrival, Arrival::Concurrency), phase.concurrency) {
        let ramp = ramp(phase.concurrency_ramp.as_ref());
        said.push_str(&format!("; at most {} live sessions{ramp}", count(u64::from(slots))));
    }
    if let Some(slots) = phase.prefill_concurrency {
        let ramp = ramp(phase.prefill_ramp.as_ref());
        said.push_str(&format!("; at most {} without a first token{ramp}", count(u64::from(slots))));
    }
    if let Some(cancellation) = &phase.cancellation {
        let (share, delay) = (number(cancellation.rate_percent), length(cancellation.delay));
        said.push_str(&format!("; {share}% given up after {delay}"));
    }
    if phase.seamless {
        said.push_str("; starts while the phase before still waits for answers");
    }
    said
}

fn law(law: &ArrivalLaw) -> String {
    match law {
        ArrivalLaw::Constant => "constant rate".to_owned(),
        ArrivalLaw::Poisson => "Poisson arrivals".to_owned(),
        ArrivalLaw::Gamma { smoothness } => format!("gamma arrivals of smoothness {}", number(*smoothness)),
    }
}

fn level(rate: &RatePlan) -> String {
    let ramp = ramp(rate.ramp.as_ref());
    match &rate.level {
        RateLevel::Fixed(rate) => format!(", {} requests/s{ramp}", number(*rate)),
        RateLevel::Series(points) => {
            let rates = || points.iter().map(|point| point.rate);
            let (low, high) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
            let until = points.last().map_or(0.0, |point| point.seconds);
            let (low, high, until) = (number(low), number(high), number(until));
            format!(", a series from {low} to {high} requests/s over {until} s{ramp}")
        }
    }
}

fn ramp(ramp: Option<&Ramp>) -> String {
    let Some(ramp) = ramp else { return String::new() };
    let how = match ramp.strategy {
        RampStrategy::Linear => "linearly",
        RampStrategy::Exponential => "slowly at first",
        RampStrategy::Poisson => "in random steps",
    };
    format!(", reached {how} over {}", length(ramp.duration))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_numbers_are_easy_to_read() {
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([number(10.0), number(0.25), number(1234.56), number(2.5)], ["10", "0.25", "1234.6", "2.5"]);
    }
}
