//! `trace_data` of a record line: the HTTP exchange step by step, in wall time.

use crate::format::json::{push_int, push_str, push_texts};
use aiperf_types::{EarlierLeg, HttpTrace, MonoNs, Nanos, WallAnchor};
use std::net::SocketAddr;

/// Names the layout of the fields.
const TRACE_TYPE: &str = "aiohttp";

/// Appends the member with its comma. Events that did not happen are left out; both lists of chunks are always present.
pub(crate) fn push(out: &mut Vec<u8>, trace: &HttpTrace) {
    let mut members = Members { out, anchor: trace.anchor };
    members.out.extend_from_slice(b",\"trace_data\":{\"trace_type\":");
    push_str(members.out, TRACE_TYPE);
    members.at("request_send_start_ns", trace.send_start);
    members.fields("request_headers", trace.request_headers.as_deref());
    members.at("request_headers_sent_ns", trace.head_sent);
    members.chunks("request_chunks", &trace.writes);
    members.at("request_send_end_ns", trace.send_end);
    members.number("request_chunks_count", Some(trace.write_count));
    members.number("request_bytes_total", Some(trace.bytes_sent));
    members.number("response_status_code", trace.status.map(u64::from));
    members.text("response_reason", trace.reason.as_deref());
    members.at("response_receive_start_ns", trace.receive_start);
    members.fields("response_headers", trace.response_headers.as_deref());
    members.at("response_headers_received_ns", trace.head_received);
    members.chunks("response_chunks", &trace.reads);
    members.number("response_chunks_count", Some(trace.read_count));
    members.number("response_bytes_total", Some(trace.bytes_received));
    members.at("response_receive_end_ns", trace.receive_end);
    members.at("error_timestamp_ns", trace.failed);
    members.pair("connection_pool_wait", trace.pool_wait);
    members.pair("tcp_connect", trace.connect);
    members.at("connection_reused_ns", trace.reused);
    members.at("dns_cache_hit_ns", trace.dns_hit);
    members.at("dns_cache_miss_ns", trace.dns_miss);
    members.pair("dns_lookup", trace.dns_lookup);
    members.pair("tls_handshake", trace.tls);
    members.address("local", trace.local);
    members.address("remote", trace.remote);
    members.length("sending_ns", trace.sending());
    members.length("waiting_ns", trace.waiting());
    members.length("receiving_ns", trace.receiving());
    members.length("duration_ns", trace.duration());
    members.span("blocked_ns", trace.pool_wait);
    members.span("dns_lookup_ns", trace.dns_lookup);
    members.span("connecting_ns", trace.connect);
    members.span("tls_handshaking_ns", trace.tls);
    members.legs("earlier_legs", &trace.earlier_legs);
    members.out.push(b'}');
}

struct Members<'o> {
    out: &'o mut Vec<u8>,
    anchor: WallAnchor,
}

impl Members<'_> {
    fn key(&mut self, key: &str) {
        self.out.push(b',');
        push_str(self.out, key);
        self.out.push(b':');
    }

    fn number(&mut self, key: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.key(key);
            push_int(self.out, value);
        }
    }

    fn at(&mut self, key: &str, at: MonoNs) {
        self.number(key, at.taken().map(|at| self.anchor.wall(at).0));
    }

    fn pair(&mut self, step: &str, (from, to): (MonoNs, MonoNs)) {
        self.at(&format!("{step}_start_ns"), from);
        self.at(&format!("{step}_end_ns"), to);
    }

    fn length(&mut self, key: &str, length: Option<Nanos>) {
        self.number(key, length.map(|length| length.0));
    }

    fn span(&mut self, key: &str, (from, to): (MonoNs, MonoNs)) {
        self.length(key, from.until(to));
    }

    fn text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.key(key);
            push_str(self.out, text);
        }
    }

    fn address(&mut self, side: &str, address: Option<SocketAddr>) {
        if let Some(address) = address {
            self.text(&format!("{side}_ip"), Some(&address.ip().to_string()));
            self.number(&format!("{side}_port"), Some(address.port().into()));
        }
    }

    fn fields(&mut self, key: &str, fields: Option<&[(String, String)]>) {
        let Some(fields) = fields else { return };
        self.key(key);
        push_texts(self.out, fields);
    }

    /// Earlier redirects and attempts, if there were any.
    fn legs(&mut self, key: &str, legs: &[EarlierLeg]) {
        if legs.is_empty() {
            return;
        }
        self.key(key);
        for (index, leg) in legs.iter().enumerate() {
            self.out.extend_from_slice(if index == 0 { b"[{\"request\":" } else { b",{\"request\":" });
            push_str(self.out, &leg.request);
            self.number("response_status_code", leg.status.map(u64::from));
            self.at("start_ns", leg.start);
            self.at("end_ns", leg.end);
            let phases = &leg.phases;
            for (key, length) in [
                ("blocked_ns", phases.blocked),
                ("dns_lookup_ns", phases.dns_lookup),
                ("connecting_ns", phases.connecting),
                ("tls_handshaking_ns", phases.tls_handshaking),
                ("sending_ns", phases.sending),
                ("waiting_ns", phases.waiting),
                ("receiving_ns", phases.receiving),
            ] {
                self.length(key, Some(length));
            }
            self.number("request_bytes_total", Some(leg.bytes_sent));
            self.number("response_bytes_total", Some(leg.bytes_received));
            self.out.push(b'}');
        }
        self.out.push(b']');
    }

    fn chunks(&mut self, key: &str, chunks: &[(MonoNs, u32)]) {
        self.key(key);
        self.out.push(b'[');
        for (index, (at, bytes)) in chunks.iter().enumerate() {
            self.out.extend_from_slice(if index == 0 { b"[" } else { b",[" });
            push_int(self.out, self.anchor.wall(*at).0);
            self.out.push(b',');
            push_int(self.out, *bytes);
            self.out.push(b']');
        }
        self.out.push(b']');
    }
}
