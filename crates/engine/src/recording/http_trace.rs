//! The HTTP trace of an exchange, for records that hold it.

use aiperf_transport::body;
use aiperf_types::{EarlierLeg, Exchange, HttpTrace, MonoNs, WallAnchor};

/// The steps of the exchange's last leg, and the byte counts of all legs.
pub(crate) fn http_trace(exchange: &Exchange, anchor: WallAnchor) -> HttpTrace {
    let t = &exchange.timeline;
    let has_head = t.head.taken().is_some();
    let last = t.reads.last().map_or(MonoNs(0), |read| read.at);
    let earlier = |value: fn(&EarlierLeg) -> u64| t.earlier_legs.iter().map(value).sum::<u64>();
    HttpTrace {
        anchor,
        send_start: t.send_start,
        request_headers: t.send_start.taken().map(|_| fields(&exchange.request_head)),
        head_sent: t.head_sent,
        writes: t.write_log.clone(),
        send_end: t.send_end,
        write_count: u64::from(t.writes) + earlier(|leg| leg.writes.into()),
        bytes_sent: t.bytes_sent + earlier(|leg| leg.bytes_sent),
        status: exchange.status,
        reason: has_head.then(|| body::reason(exchange).into_owned()),
        response_headers: has_head.then(|| response_headers(exchange)),
        head_received: t.head,
        receive_start: t.body_start,
        reads: body_reads(exchange).collect(),
        read_count: u64::from(t.body_reads) + earlier(|leg| leg.body_reads.into()),
        bytes_received: t.bytes_received + earlier(|leg| leg.bytes_received),
        receive_end: if exchange.failure.is_none() { last } else { MonoNs(0) },
        failed: if exchange.failure.is_some() && !has_head { t.end } else { MonoNs(0) },
        pool_wait: t.blocked,
        connect: t.connect,
        // A pooled connection is taken when the sending starts.
        reused: if t.reused { t.send_start } else { MonoNs(0) },
        dns_hit: t.dns_hit,
        dns_miss: t.dns.0,
        dns_lookup: t.dns,
        tls: t.tls,
        local: t.addresses.as_ref().map(|addresses| addresses.0),
        remote: t.addresses.as_ref().map(|addresses| addresses.1),
        earlier_legs: t.earlier_legs.clone(),
    }
}

/// The reads with bytes of the body or of its framing; each counts all its bytes.
fn body_reads(exchange: &Exchange) -> impl Iterator<Item = (MonoNs, u32)> {
    let mut end = 0;
    exchange.timeline.reads.iter().filter_map(move |read| {
        end += read.len as usize;
        (exchange.body_at > 0 && end > exchange.body_at).then_some((read.at, read.len))
    })
}

fn response_headers(exchange: &Exchange) -> Vec<(String, String)> {
    fields(exchange.raw.get(exchange.head_at..exchange.body_at).unwrap_or_default())
}

/// The fields of a head. Several fields of one name are joined by commas, as HTTP defines.
pub(crate) fn fields(head: &[u8]) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in head.split(|&byte| byte == b'\n').skip(1) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let (name, value) = (text(&line[..colon]), text(&line[colon + 1..]));
        match fields.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            Some((_, known)) => *known = format!("{known}, {value}"),
            None => fields.push((name, value)),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::{Read, Timeline};

    fn answered(raw: &[u8], body_at: usize, reads: &[(u64, u32)]) -> Exchange {
        let reads = reads.iter().map(|&(at, len)| Read { at: MonoNs(at), len, ..Read::default() }).collect();
        let timeline = Timeline { reads, ..Timeline::default() };
        Exchange { timeline, raw: raw.to_vec(), raw_len: raw.len(), body_at, ..Exchange::default() }
    }

    #[test]
    fn a_read_that_brought_the_end_of_the_head_and_the_first_of_the_body_counts_whole() {
        let exchange = answered(b"0123456789", 4, &[(1, 3), (2, 3), (3, 4)]);
        assert_eq!(body_reads(&exchange).collect::<Vec<_>>(), [(MonoNs(2), 3), (MonoNs(3), 4)]);
        let head_alone = answered(b"0123", 4, &[(1, 4)]);
        assert_eq!(body_reads(&head_alone).count(), 0);
    }

    #[test]
    fn fields_of_one_name_are_joined() {
        let head = b"HTTP/1.1 200 OK\r\nVia: a\r\nX: \xe9\r\nvia: b\r\n\r\n";
        let fields = response_headers(&answered(head, head.len(), &[]));
        let wanted = [("Via", "a, b"), ("X", "\u{fffd}")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(fields, wanted);
    }
}
