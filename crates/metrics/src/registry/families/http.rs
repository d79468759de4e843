//! Metrics of the HTTP exchange: six phases that do not overlap and add up to the total.

use crate::facts::{Fact, Facts};
use crate::registry::flags::Flags;
use crate::registry::metric::Compute::Ints;
use crate::registry::metric::Metric;
use crate::registry::metric::Short::WithUnit;
use crate::registry::rules::Rules;
use crate::registry::unit::Unit;

use super::int;

pub(super) const METRICS: &[Metric] = &[
    Metric::new("http_req_blocked", "HTTP Blocked", Unit::Ns, Ints(|f, _| int(f.get(Fact::HttpBlocked))))
        .short("Blocked", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::HTTP_TRACE_ONLY])
        .order(2000)
        .facts(&[Fact::HttpBlocked])
        .formula("pool_wait_end - pool_wait_start; 0 if no pool wait")
        .absent("started but not ended; negative"),
    Metric::new("http_req_dns_lookup", "HTTP DNS Lookup", Unit::Ns, Ints(|f, _| int(f.get(Fact::HttpDns))))
        .short("DNS", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::HTTP_TRACE_ONLY])
        .order(2010)
        .facts(&[Fact::HttpDns])
        .formula("dns_end - dns_start; 0 if DNS cache hit, connection reused, or no lookup")
        .absent("started but not ended; negative"),
    Metric::new("http_req_connecting", "HTTP Connecting", Unit::Ns, Ints(|f, _| int(f.get(Fact::HttpConnecting))))
        .short("Connecting", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::HTTP_TRACE_ONLY])
        .order(2020)
        .facts(&[Fact::HttpConnecting])
        .formula("tcp_end - tcp_start; 0 if connection reused")
        .absent("not reused and no tcp start/end; negative"),
    Metric::new("http_req_tls_handshaking", "HTTP TLS Handshaking", Unit::Ns, Ints(|f, _| int(f.get(Fact::HttpTls))))
        .short("TLS", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::HTTP_TRACE_ONLY])
        .order(2025)
        .facts(&[Fact::HttpTls])
        .formula("tls_end - tls_start, a part of connecting shown apart; 0 if connection reused or no TLS; in no sum")
        .absent("started but not ended; negative"),
    Metric::new("http_req_sending", "HTTP Sending", Unit::Ns, Ints(|f, _| int(f.get(Fact::HttpSending))))
        .short("Sending", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::HTTP_TRACE_ONLY])
        .order(2030)
        .facts(&[Fact::HttpSending])
        .formula("request_send_end - request_send_start")
        .absent("either missing; negative"),
    Metric::new("http_req_waiting", "HTTP Waiting (TTFB)", Unit::Ns, Ints(|f, _| int(f.get(Fact::HttpWaiting))))
        .short("TTFB", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::HTTP_TRACE_ONLY])
        .order(2040)
        .facts(&[Fact::HttpWaiting])
        .formula("response_receive_start - request_send_end")
        .absent("either missing; negative"),
    Metric::new("http_req_receiving", "HTTP Receiving", Unit::Ns, Ints(|f, _| int(f.get(Fact::HttpReceiving))))
        .short("Receiving", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::HTTP_TRACE_ONLY])
        .order(2050)
        .facts(&[Fact::HttpReceiving])
        .formula("response_receive_end - response_receive_start; 0 when exactly one response chunk")
        .absent("0 response chunks; timestamps missing; negative"),
    Metric::new(
        "http_req_connection_reused",
        "HTTP Connection Reused",
        Unit::Ratio,
        Ints(|f, _| int(f.get(Fact::HttpReused))),
    )
    .short("Conn Reused", WithUnit)
    .flags(&[Flags::HTTP_TRACE_ONLY])
    .order(2060)
    .facts(&[Fact::HttpReused])
    .formula("1 if pooled connection reused else 0"),
    Metric::new("http_req_data_sent", "HTTP Data Sent", Unit::Bytes, Ints(|f, _| int(f.get(Fact::HttpSent))))
        .short("Sent", WithUnit)
        .shown_in(Unit::KiloBytes)
        .flags(&[Flags::HTTP_TRACE_ONLY])
        .order(2070)
        .facts(&[Fact::HttpSent])
        .formula("request_bytes_total: bytes written for the request, head and body"),
    Metric::new("http_req_chunks_sent", "HTTP Chunks Sent", Unit::Count, Ints(|f, _| int(f.get(Fact::HttpWrites))))
        .short("Chunks Sent", WithUnit)
        .flags(&[Flags::HTTP_TRACE_ONLY])
        .order(2080)
        .facts(&[Fact::HttpWrites])
        .formula("transport writes"),
    Metric::new(
        "http_req_data_received",
        "HTTP Data Received",
        Unit::Bytes,
        Ints(|f, _| int(f.get(Fact::HttpReceived))),
    )
    .short("Received", WithUnit)
    .shown_in(Unit::KiloBytes)
    .flags(&[Flags::HTTP_TRACE_ONLY])
    .order(2090)
    .facts(&[Fact::HttpReceived])
    .formula("response_bytes_total: bytes read for the response, head and body"),
    Metric::new(
        "http_req_chunks_received",
        "HTTP Chunks Received",
        Unit::Count,
        Ints(|f, _| int(f.get(Fact::HttpReads))),
    )
    .short("Chunks Recv", WithUnit)
    .flags(&[Flags::HTTP_TRACE_ONLY])
    .order(2100)
    .facts(&[Fact::HttpReads])
    .formula("transport reads"),
    Metric::new(
        "http_req_connection_overhead",
        "HTTP Connection Overhead",
        Unit::Ns,
        Ints(http_req_connection_overhead),
    )
    .short("Conn Overhead", WithUnit)
    .shown_in(Unit::Ms)
    .flags(&[Flags::HTTP_TRACE_ONLY])
    .order(2110)
    .needs(&["http_req_blocked", "http_req_connecting", "http_req_dns_lookup"])
    .formula("blocked + dns_lookup + connecting")
    .absent("any missing"),
    Metric::new(
        "http_req_duration",
        "HTTP Duration (excl. conn)",
        Unit::Ns,
        Ints(|f, _| int(f.get(Fact::HttpDuration))),
    )
    .short("Dur (excl)", WithUnit)
    .shown_in(Unit::Ms)
    .flags(&[Flags::HTTP_TRACE_ONLY])
    .order(2120)
    .facts(&[Fact::HttpDuration])
    .formula("response_receive_end - request_send_start")
    .absent("either missing; negative"),
    Metric::new("http_req_total", "HTTP Total Time", Unit::Ns, Ints(http_req_total))
        .short("Total", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::HTTP_TRACE_ONLY])
        .order(2130)
        .needs(&[
            "http_req_blocked",
            "http_req_connecting",
            "http_req_dns_lookup",
            "http_req_receiving",
            "http_req_sending",
            "http_req_waiting",
        ])
        .formula("blocked + dns_lookup + connecting + sending + waiting + receiving")
        .absent("any missing"),
];

fn sum(f: &Facts, phases: &[Fact]) -> Option<i64> {
    phases.iter().try_fold(0_i64, |sum, &phase| Some(sum + int(f.get(phase))?))
}

const CONNECTION: &[Fact] = &[Fact::HttpBlocked, Fact::HttpDns, Fact::HttpConnecting];
const EXCHANGE: &[Fact] = &[Fact::HttpSending, Fact::HttpWaiting, Fact::HttpReceiving];

fn http_req_connection_overhead(f: &Facts, _: &Rules) -> Option<i64> {
    sum(f, CONNECTION)
}

fn http_req_total(f: &Facts, _: &Rules) -> Option<i64> {
    Some(sum(f, CONNECTION)? + sum(f, EXCHANGE)?)
}
