//! Numbers as text. The plan itself describes its phases.

use aiperf_campaign::rehearsal::{AssumedServer, AssumedTime};
use aiperf_figures::number;
use aiperf_report::thousands;
use aiperf_types::Nanos;

/// A count with a noun; the plural takes an "s".
pub(super) fn several(of: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(of), if of == 1 { "" } else { "s" })
}

/// An instant or a length of time.
pub(super) fn seconds(of: Nanos) -> String {
    format!("{:.3} s", of.as_secs_f64())
}

/// The latencies of the assumed server.
pub(super) fn server(assumed: &AssumedServer) -> String {
    format!("first token after {}, end of the response after {}", time(&assumed.ttft), time(&assumed.latency))
}

fn time(assumed: &AssumedTime) -> String {
    match *assumed {
        AssumedTime::Fixed(ms) => format!("{} ms", number(ms)),
        AssumedTime::Normal { mean, deviation } => {
            format!("{} ms (normal, deviation {} ms)", number(mean), number(deviation))
        }
        AssumedTime::LogNormal { mean, deviation } => {
            format!("{} ms (log-normal, deviation {} ms)", number(mean), number(deviation))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_numbers_are_easy_to_read() {
        assert_eq!([several(1, "turn"), several(1234, "turn")], ["1 turn", "1,234 turns"]);
        assert_eq!([number(10.0), number(0.25), number(1234.56), number(2.5)], ["10", "0.25", "1234.6", "2.5"]);
    }
}
