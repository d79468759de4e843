//! One probe and its result.

use aiperf_plan::ProbeTarget;
use aiperf_transport::Handshake;
use aiperf_transport::os_error::os_reason;
use aiperf_types::{Nanos, WallNs};
use std::io;
use std::sync::Arc;

/// One probe of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeSample {
    pub target: Arc<ProbeTarget>,
    /// When it began.
    pub at: WallNs,
    pub outcome: Result<RoundTrip, ProbeError>,
}

/// What a probe measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    pub rtt: Nanos,
    /// The time until this process saw the connection open.
    pub connect: Nanos,
}

/// Why a probe measured nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeError {
    /// The error's name in Python.
    pub kind: &'static str,
    pub message: String,
}

impl ProbeError {
    pub(super) fn of_connect(error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::ConnectionRefused => "ConnectionRefusedError",
            io::ErrorKind::ConnectionReset => "ConnectionResetError",
            io::ErrorKind::TimedOut => "TimeoutError",
            _ => "OSError",
        };
        Self { kind, message: os_reason(error) }
    }

    pub(super) fn of_name(error: &io::Error) -> Self {
        Self { kind: "gaierror", message: error.to_string() }
    }

    pub(super) fn timed_out(waited: Nanos) -> Self {
        Self { kind: "TimeoutError", message: format!("no answer within {} s", waited.as_secs_f64()) }
    }

    /// The run ended before there was a response.
    pub(super) fn let_go(waited: Nanos) -> Self {
        let message = format!("no answer for {:.1} s when the run was over", waited.as_secs_f64());
        Self { kind: "TimeoutError", message }
    }
}

/// The kernel's round trip. If the kernel has none, the connect time is the nearest, unless a lost segment delayed it.
pub(super) fn round_trip(shake: Handshake) -> Result<RoundTrip, ProbeError> {
    let Handshake { connect, round_trip, retransmits } = shake;
    match round_trip {
        Some(rtt) => Ok(RoundTrip { rtt, connect }),
        None if retransmits == 0 => Ok(RoundTrip { rtt: connect, connect }),
        None => Err(ProbeError {
            kind: "OSError",
            message: format!(
                "connected after {:.3} s, with segments lost on the way: that is no round trip",
                connect.as_secs_f64()
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_round_trip_counts_however_long_the_connect_took() {
        let shake = |round_trip, retransmits| Handshake { connect: Nanos(5_000_000), round_trip, retransmits };
        let rtt = |shake| round_trip(shake).map(|measured| measured.rtt.0);
        assert_eq!(rtt(shake(Some(Nanos(40_000)), 0)), Ok(40_000));
        assert_eq!(rtt(shake(Some(Nanos(40_000)), 2)), Ok(40_000));
        assert_eq!(rtt(shake(None, 0)), Ok(5_000_000));
        assert!(rtt(shake(None, 1)).is_err());
    }
}
