//! Redirects: where they lead, and the request that follows them.

use crate::body;
use crate::legs::{Leg, Script, Step};
use crate::origin::Origin;
use aiperf_types::{Body, Exchange, Failure, Nanos};
use std::rc::Rc;

/// Redirects of a request; the last of so many is not followed.
const LIMIT: u8 = 10;
/// Names of header fields that another server is sent where nothing knows which are private.
const PUBLIC: &[&str] = &["host", "user-agent", "range", "connection", "transfer-encoding"];
/// Beginnings of such names.
const PUBLIC_KINDS: &[&str] = &["accept", "content-", "if-"];

/// What only the server that the user named may get.
pub trait Private {
    fn header(&self, name: &str, value: &str) -> bool;
    fn body(&self, body: &Body) -> bool;
}

/// Follows redirects. 301 and 302 keep the method: as a GET, a benchmark's POST would measure something else.
#[derive(Clone, Default)]
pub struct Redirects<'a> {
    seen: u8,
    private: Option<&'a dyn Private>,
}

impl<'a> Redirects<'a> {
    /// Those of requests that may hold what is private: such a body is not sent to another server, nor such a header.
    /// Without this, another server gets no header but the everyday ones.
    pub fn keeping(private: &'a dyn Private) -> Self {
        Self { seen: 0, private: Some(private) }
    }

    /// The same, of which none has been followed.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self { seen: 0, private: self.private }
    }

    /// A request for something else by the same client: a GET without a body, with the header fields of a request but
    /// for those of its content; those that are private are kept from other servers.
    pub fn asking_for(&self, leg: &Leg, origin: Origin, path: &str) -> Leg {
        self.redirected(leg, 303, origin, path)
    }

    /// The request that follows a redirect.
    fn redirected(&self, leg: &Leg, status: u16, origin: Origin, path: &str) -> Leg {
        let (method, _) = leg.request_line();
        let becomes_get = status == 303 && method != "HEAD";
        let is_elsewhere = origin != *leg.origin;
        let method = if becomes_get { "GET" } else { method };
        let mut head = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
        for line in
            leg.head.split(|&b| b == b'\n').skip(1).map(<[u8]>::trim_ascii_end).take_while(|line| !line.is_empty())
        {
            let name = line.split(|&b| b == b':').next().unwrap_or_default().to_ascii_lowercase();
            let of_content = name.starts_with(b"content-");
            if becomes_get && of_content || is_elsewhere && self.is_private(line) {
                continue;
            }
            if is_elsewhere && name == b"host" {
                head.extend_from_slice(format!("Host: {}", origin.host_field()).as_bytes());
            } else {
                head.extend_from_slice(line);
            }
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        let body = if becomes_get { Default::default() } else { leg.body.clone() };
        Leg { origin: Rc::new(origin), head, body, renews_time: false, drops_body: leg.drops_body }
    }

    /// Whether a line of a head is kept from other servers.
    fn is_private(&self, line: &[u8]) -> bool {
        let Ok(line) = std::str::from_utf8(line) else { return true };
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        match self.private {
            Some(private) => private.header(name, value.trim()),
            None => {
                let name = name.to_ascii_lowercase();
                !PUBLIC.contains(&name.as_str()) && !PUBLIC_KINDS.iter().any(|kind| name.starts_with(kind))
            }
        }
    }
}

impl Script for Redirects<'_> {
    fn next(&mut self, leg: &Leg, response: &Exchange) -> Step {
        let Some(status @ (301 | 302 | 303 | 307 | 308)) = response.status else { return Step::End };
        let Some(location) = body::header(response, "location") else { return Step::End };
        self.seen += 1;
        if self.seen >= LIMIT {
            return Step::Fail(Failure::TooManyRedirects { limit: LIMIT });
        }
        let (_, path) = leg.request_line();
        match follow(&leg.origin, path, &location) {
            Some((origin, path)) => {
                let next = self.redirected(leg, status, origin, &path);
                let is_elsewhere = next.origin != leg.origin && !next.body.is_empty();
                if is_elsewhere && self.private.is_some_and(|private| private.body(&next.body)) {
                    let message = format!(
                        "the server redirected to '{location}', another server: the body holds secrets, so it was not \
                         sent there (to send it, give that server's URL)"
                    );
                    return Step::Fail(Failure::Step { code: status.into(), kind: "RedirectRefused", message });
                }
                Step::Next(Nanos(0), Box::new(next))
            }
            None => {
                Step::Fail(Failure::Redirect(format!("the server redirected to '{location}', which is no HTTP URL")))
            }
        }
    }
}

/// The origin and the path with its query of a URL.
pub fn split_url(url: &str) -> Option<(Origin, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let tls = match scheme.to_ascii_lowercase().as_str() {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match authority.strip_prefix('[') {
        Some(v6) => {
            let (host, after) = v6.split_once(']')?;
            (host, after.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port {
        None | Some("") => {
            if tls {
                443
            } else {
                80
            }
        }
        Some(digits) => digits.parse().ok().filter(|port| *port > 0)?,
    };
    let is_name = |byte: u8| byte.is_ascii_graphic() && !b"<>\"\\^`{|}".contains(&byte);
    if host.is_empty() || !host.bytes().all(is_name) {
        return None;
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Some((Origin::Http { tls, host: host.to_owned(), port }, path))
}

/// Where a `Location` leads from a request's origin and path.
fn follow(origin: &Origin, path: &str, location: &str) -> Option<(Origin, String)> {
    let location = location.trim();
    if location.is_empty() || !location.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let scheme_end = location.find(':').filter(|at| location.find(['/', '?', '#']).is_none_or(|other| *at < other));
    if scheme_end.is_some() {
        return split_url(location);
    }
    if let Some(rest) = location.strip_prefix("//") {
        return split_url(&format!("{}://{rest}", if origin.is_tls() { "https" } else { "http" }));
    }
    let location = location.split('#').next().unwrap_or_default();
    let before_query = path.split('?').next().unwrap_or_default();
    let path = match location.as_bytes().first() {
        None => path.to_owned(),
        Some(b'/') => without_dots(location),
        Some(b'?') => format!("{before_query}{location}"),
        Some(_) => {
            let folder = before_query.rfind('/').map_or("/", |at| &before_query[..=at]);
            without_dots(&format!("{folder}{location}"))
        }
    };
    Some((origin.clone(), path))
}

/// A path whose `.` and `..` are resolved.
fn without_dots(path: &str) -> String {
    let (path, query) = path.find('?').map_or((path, ""), |at| path.split_at(at));
    let mut kept: Vec<&str> = Vec::new();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    for (at, part) in parts.iter().enumerate() {
        let is_last = at + 1 == parts.len();
        match *part {
            "." | ".." => {
                if *part == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            part => kept.push(part),
        }
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn response(status: u16, location: &str) -> Exchange {
        let raw = format!("HTTP/1.1 {status} X\r\nLocation: {location}\r\n\r\n").into_bytes();
        Exchange { status: Some(status), raw_len: raw.len(), body_at: raw.len(), raw, ..Exchange::default() }
    }

    fn post() -> Leg {
        let head = "POST /v1/chat?x=1 HTTP/1.1\r\nHost: h:8\r\nAuthorization: secret\r\nContent-Type: application/json\r\n\
                    Content-Length: 2\r\n\r\n";
        Leg::new(Origin::http("h", 8).into(), head.into(), "{}".into())
    }

    #[test]
    fn a_location_is_followed_to_its_target() {
        for (location, origin, path) in [
            ("/x", Origin::http("h", 8), "/x"),
            ("x?y", Origin::http("h", 8), "/v1/x?y"),
            ("../x", Origin::http("h", 8), "/x"),
            ("./", Origin::http("h", 8), "/v1/"),
            ("?z=2", Origin::http("h", 8), "/v1/chat?z=2"),
            ("#part", Origin::http("h", 8), "/v1/chat?x=1"),
            ("//other/p", Origin::http("other", 80), "/p"),
            ("https://h/p#f", Origin::https("h", 443), "/p"),
            ("HTTP://[::1]:9?q", Origin::http("::1", 9), "/?q"),
        ] {
            let wanted = (origin, path.to_owned());
            assert_eq!(follow(&Origin::http("h", 8), "/v1/chat?x=1", location), Some(wanted), "{location}");
        }
        for location in
            ["", "ftp://h/", "mailto:x", "http://", "http://h:0/", "http://h:99999/", "/a b", "javascript:x/y"]
        {
            assert_eq!(follow(&Origin::http("h", 8), "/", location), None, "{location}");
        }
    }

    #[test]
    fn a_redirect_keeps_method_and_body_but_for_303() {
        for status in [301, 302, 307, 308] {
            let Step::Next(Nanos(0), leg) = Redirects::default().next(&post(), &response(status, "/y")) else {
                panic!()
            };
            assert_eq!(leg.head, String::from_utf8_lossy(&post().head).replace("/v1/chat?x=1", "/y").into_bytes());
            assert_eq!(leg.body, "{}".into());
        }
        let Step::Next(_, leg) = Redirects::default().next(&post(), &response(303, "/y")) else { panic!() };
        assert_eq!(String::from_utf8_lossy(&leg.head), "GET /y HTTP/1.1\r\nHost: h:8\r\nAuthorization: secret\r\n\r\n");
        assert!(leg.body.is_empty());
    }

    #[test]
    fn another_server_gets_no_credentials() {
        let Step::Next(_, leg) = Redirects::default().next(&post(), &response(307, "http://other/y")) else { panic!() };
        let head = String::from_utf8_lossy(&leg.head).into_owned();
        assert!(head.contains("Host: other\r\n") && !head.contains("secret"), "{head}");
    }

    struct All;

    impl Private for All {
        fn header(&self, name: &str, value: &str) -> bool {
            name.starts_with("X-Pass") && value == "open"
        }

        fn body(&self, _: &Body) -> bool {
            true
        }
    }

    fn headers_elsewhere(mut redirects: Redirects<'_>) -> String {
        let head =
            "GET / HTTP/1.1\r\nHost: h:8\r\nAccept: a\r\nX-Passphrase: open\r\nX-Passphrase: shut\r\nX-Tag: t\r\n\r\n";
        let leg = Leg::new(Origin::http("h", 8).into(), head.into(), Body::default());
        let Step::Next(_, next) = redirects.next(&leg, &response(307, "http://other/y")) else { panic!() };
        String::from_utf8(next.head).unwrap()
    }

    #[test]
    fn another_server_gets_no_header_that_is_private() {
        assert_eq!(
            headers_elsewhere(Redirects::keeping(&All)),
            "GET /y HTTP/1.1\r\nHost: other\r\nAccept: a\r\nX-Passphrase: shut\r\nX-Tag: t\r\n\r\n"
        );
    }

    #[test]
    fn where_nothing_knows_what_is_private_another_server_gets_everyday_headers_alone() {
        assert_eq!(headers_elsewhere(Redirects::default()), "GET /y HTTP/1.1\r\nHost: other\r\nAccept: a\r\n\r\n");
    }

    #[test]
    fn a_private_body_is_not_sent_to_another_server() {
        for elsewhere in ["http://other/y", "https://h:8/y", "http://h:9/y"] {
            let step = Redirects::keeping(&All).next(&post(), &response(307, elsewhere));
            let Step::Fail(Failure::Step { code: 307, kind: "RedirectRefused", message: why }) = step else {
                panic!("{step:?}")
            };
            assert!(why.contains(elsewhere) && why.contains("secrets"), "{why}");
        }
        // Here it has been already, and a GET has none.
        for (status, location) in [(307, "/y"), (303, "http://other/y")] {
            assert!(matches!(Redirects::keeping(&All).next(&post(), &response(status, location)), Step::Next(..)));
        }
    }

    #[test]
    fn the_tenth_redirect_is_too_many_and_other_responses_end() {
        let mut redirects = Redirects::default();
        for _ in 0..9 {
            assert!(matches!(redirects.next(&post(), &response(308, "/")), Step::Next(..)));
        }
        assert_eq!(redirects.next(&post(), &response(308, "/")), Step::Fail(Failure::TooManyRedirects { limit: 10 }));
        for other in [response(200, "/"), response(304, "/"), Exchange { status: Some(302), ..Exchange::default() }] {
            assert_eq!(Redirects::default().next(&post(), &other), Step::End);
        }
    }

    proptest! {
        #[test]
        fn no_location_makes_a_head_of_two_lines(location in ".{0,40}") {
            if let Step::Next(_, leg) = Redirects::default().next(&post(), &response(307, &location)) {
                prop_assert_eq!(leg.head.iter().filter(|&&b| b == b'\n').count(), 6);
            }
        }
    }
}
