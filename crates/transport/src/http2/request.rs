//! A request as HTTP/1.1 writes it, in the terms of HTTP/2.

use http::header::{CONNECTION, HOST, HeaderName, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Method, Request, Uri, Version};
use std::mem::MaybeUninit;

/// Most header fields of a request.
const FIELD_LIMIT: usize = 256;

/// Turns a request line and its header fields into a request of HTTP/2. The host becomes the authority; fields
/// of the connection are left out. An error names what cannot be sent, and why.
pub fn from_http1(head: &[u8], scheme: &Scheme) -> Result<Request<()>, String> {
    let mut fields = [MaybeUninit::uninit(); FIELD_LIMIT];
    let mut parsed = httparse::Request::new(&mut []);
    match parsed.parse_with_uninit_headers(head, &mut fields) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err("the request head has no end".into()),
        Err(error) => return Err(format!("malformed request head: {error}")),
    }
    let method = parsed.method.unwrap_or_default();
    let method = Method::from_bytes(method.as_bytes()).map_err(|error| format!("method {method}: {error}"))?;
    let path = parsed.path.unwrap_or_default();
    let path = path.parse::<PathAndQuery>().map_err(|error| format!("path {path}: {error}"))?;

    let mut request = Request::new(());
    request.headers_mut().reserve(parsed.headers.len());
    let mut authority = None;
    for field in parsed.headers.iter() {
        // Values may be secrets: only names are shown.
        let refuse = |why: &dyn std::fmt::Display| format!("header field {}: {why}", field.name);
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|error| refuse(&error))?;
        if name == HOST {
            authority = Some(Authority::try_from(field.value).map_err(|error| refuse(&error))?);
        } else if !is_of_connection(&name, field.value) {
            let value = HeaderValue::from_bytes(field.value).map_err(|error| refuse(&error))?;
            request.headers_mut().append(name, value);
        }
    }
    let authority = authority.ok_or("the request head names no host")?;
    let uri = Uri::builder().scheme(scheme.clone()).authority(authority).path_and_query(path);
    *request.uri_mut() = uri.build().map_err(|error| format!("address of the request: {error}"))?;
    *request.method_mut() = method;
    *request.version_mut() = Version::HTTP_2;
    Ok(request)
}

/// Whether a field is about the connection, which HTTP/2 forbids (RFC 9113, section 8.2.2).
fn is_of_connection(name: &HeaderName, value: &[u8]) -> bool {
    let is_named = [CONNECTION, TRANSFER_ENCODING, UPGRADE].contains(name)
        || ["keep-alive", "proxy-connection"].contains(&name.as_str());
    is_named || (*name == TE && !value.eq_ignore_ascii_case(b"trailers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_becomes_the_authority_and_fields_of_the_connection_go() {
        let head = b"POST /v1/chat?a=b HTTP/1.1\r\nHost: server:8000\r\nContent-Length: 2\r\nX-Request-ID: 7\r\n\
                     Connection: keep-alive\r\nKeep-Alive: 5\r\nTransfer-Encoding: chunked\r\nTE: gzip\r\n\
                     Accept: a\r\nAccept: b\r\n\r\n";
        let request = from_http1(head, &Scheme::HTTP).unwrap();
        assert_eq!((request.method().as_str(), request.version()), ("POST", Version::HTTP_2));
        assert_eq!(request.uri(), "http://server:8000/v1/chat?a=b");
        let fields: Vec<_> = request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let wanted: [(&str, &[u8]); 4] =
            [("content-length", b"2"), ("x-request-id", b"7"), ("accept", b"a"), ("accept", b"b")];
        assert_eq!(fields, wanted);
    }

    #[test]
    fn what_cannot_be_sent_is_named_without_its_value() {
        for (head, why) in [
            ("POST / HTTP/1.1\r\nX: y\r\n\r\n", "the request head names no host"),
            ("POST / HTTP/1.1\r\nHost: a b\r\n\r\n", "header field Host: invalid uri character"),
            ("POST / HTTP/1.1\r\nHost: a\r\n", "the request head has no end"),
            ("POST\r\n\r\n", "malformed request head: invalid token"),
        ] {
            assert_eq!(from_http1(head.as_bytes(), &Scheme::HTTP).unwrap_err(), why);
        }
    }
}
