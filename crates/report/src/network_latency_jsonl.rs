//! Every probe of the network as one compact JSON line, written while the run is on.

use crate::format::json::{push_int, push_number, push_str, push_text};
use aiperf_observe::ProbeSample;
use aiperf_observe::network::{ProbeError, RoundTrip};

/// Its name in the ready marker.
pub const NAME: &str = "network_latency_jsonl";
pub(crate) const LABEL: &str = "Network Latency JSONL Export";

/// Appends the line of one probe, with its line break.
pub fn sample_line(out: &mut Vec<u8>, sample: &ProbeSample) {
    let ProbeSample { target, at, outcome } = sample;
    out.extend_from_slice(b"{\"timestamp_ns\":");
    push_int(out, at.0);
    push_text(out, "target_url", &target.url);
    push_text(out, "target_host", &target.host);
    push_number(out, "target_port", target.port.into());
    push_text(out, "probe_type", "tcp_connect");
    match outcome {
        Ok(RoundTrip { rtt, connect }) => {
            push_number(out, "rtt_ns", rtt.0);
            out.extend_from_slice(b",\"success\":true");
            push_number(out, "connect_ns", connect.0);
        }
        Err(ProbeError { kind, message }) => {
            out.extend_from_slice(b",\"success\":false,\"error\":{\"type\":");
            push_str(out, kind);
            push_text(out, "message", message);
            out.push(b'}');
        }
    }
    out.extend_from_slice(b"}\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_plan::ProbeTarget;
    use aiperf_types::{Nanos, WallNs};
    use std::sync::Arc;

    fn line(outcome: Result<RoundTrip, ProbeError>) -> String {
        let target = ProbeTarget { url: "http://h:1/v1".into(), host: "h".into(), port: 1 };
        let mut out = Vec::new();
        sample_line(&mut out, &ProbeSample { target: Arc::new(target), at: WallNs(7), outcome });
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_has_the_round_trip_or_the_error() {
        let measured = line(Ok(RoundTrip { rtt: Nanos(40_000), connect: Nanos(55_123) }));
        let head = r#"{"timestamp_ns":7,"target_url":"http://h:1/v1","target_host":"h","target_port":1,"probe_type":"tcp_connect""#;
        assert_eq!(measured, format!("{head},\"rtt_ns\":40000,\"success\":true,\"connect_ns\":55123}}\n"));
        let failed = line(Err(ProbeError { kind: "ConnectionRefusedError", message: "connection \"refused\"".into() }));
        let error = r#"{"type":"ConnectionRefusedError","message":"connection \"refused\""}"#;
        assert_eq!(failed, format!("{head},\"success\":false,\"error\":{error}}}\n"));
    }
}
