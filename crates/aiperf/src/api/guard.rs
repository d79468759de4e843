//! Which requests are answered. A page of any other site can make a browser send requests here. If that site points its
//! own name at this machine (DNS rebinding), it can also read the responses. So a request has to use a name of this
//! machine as its host. A request that acts or streams has to come from a page of this server, or of an origin that the
//! user named.

use std::net::{IpAddr, SocketAddr};

/// The names of an API, and the origins that may read it.
pub(super) struct Guard {
    /// Names in lower case.
    names: Vec<String>,
    origins: Vec<String>,
    allows_all: bool,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused(pub(super) String);

/// Host and port of a request or an origin.
#[derive(Debug, PartialEq, Eq)]
struct Authority {
    /// In lower case, without brackets.
    host: String,
    port: Option<u16>,
}

impl Authority {
    fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                host.parse::<IpAddr>().ok()?;
                (host, port.strip_prefix(':').or(port.is_empty().then_some(""))?)
            }
            None => text.split_once(':').unwrap_or((text, "")),
        };
        let is_name = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
        let port = if port.is_empty() { None } else { Some(port.parse().ok()?) };
        is_name.then(|| Self { host: host.trim_end_matches('.').to_ascii_lowercase(), port })
    }
}

impl Guard {
    /// For an API that listens on `host`, on a machine with this name.
    pub(super) fn new(host: &str, machine: &str, bound: SocketAddr, origins: &[String]) -> Self {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1", host].map(str::to_ascii_lowercase).to_vec();
        names.push(bound.ip().to_string());
        if !bound.ip().is_loopback() && !machine.is_empty() {
            names.push(machine.to_ascii_lowercase());
        }
        // A user who allows an origin also accepts its name as a name of this machine.
        let host_of = |origin: &String| Some(Authority::parse(origin.split_once("://")?.1)?.host);
        names.extend(origins.iter().filter_map(host_of));
        let allows_all = origins.iter().any(|origin| origin == "*");
        Self { names, origins: origins.to_vec(), allows_all }
    }

    /// Checks the host that a request names; `to` is the address that it arrived at.
    pub(super) fn host(&self, host: Option<&str>, to: IpAddr) -> Result<(), Refused> {
        let Some(text) = host else { return Err(Refused("a request names the host that it is for".into())) };
        let named = Authority::parse(text).map(|authority| authority.host);
        let is_own = |name: &String| {
            self.names.contains(name)
                || name.parse().is_ok_and(|address: IpAddr| address.to_canonical() == to.to_canonical())
        };
        if named.as_ref().is_some_and(is_own) || self.allows_all {
            return Ok(());
        }
        Err(Refused(format!(
            "this API does not serve requests to {}: a page of another site could have sent this request; ask for localhost or \
             for the address it listens on, or let it listen by that name (--api-host), or name the origin in \
             AIPERF_API_SERVER_CORS_ORIGINS",
            text.escape_debug()
        )))
    }

    /// Checks the origin of a request that acts or asks for a stream. Programs send no origin.
    pub(super) fn origin(&self, origin: Option<&str>, host: Option<&str>) -> Result<(), Refused> {
        let Some(origin) = origin else { return Ok(()) };
        if self.is_own_page(origin, host) || self.may_read(origin) {
            return Ok(());
        }
        Err(Refused(format!(
            "a page of {} may not ask for this; name it in AIPERF_API_SERVER_CORS_ORIGINS if it should",
            origin.escape_debug()
        )))
    }

    fn is_own_page(&self, origin: &str, host: Option<&str>) -> bool {
        let Some((scheme, from)) = origin.split_once("://") else { return false };
        let usual = if scheme == "https" { 443 } else { 80 };
        let (from, to) = (Authority::parse(from), host.and_then(Authority::parse));
        let port = |of: &Authority| of.port.unwrap_or(usual);
        from.zip(to).is_some_and(|(from, to)| from.host == to.host && port(&from) == port(&to))
    }

    /// Whether the user named this origin.
    pub(super) fn may_read(&self, origin: &str) -> bool {
        self.allows_all || self.origins.iter().any(|named| named.eq_ignore_ascii_case(origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn guard(host: &str, bound: &str, origins: &[&str]) -> Guard {
        let origins: Vec<String> = origins.iter().map(|origin| (*origin).to_owned()).collect();
        Guard::new(host, "bench7", bound.parse().unwrap(), &origins)
    }

    fn allows(guard: &Guard, host: &str, to: &str) -> bool {
        guard.host(Some(host), to.parse().unwrap()).is_ok()
    }

    #[test]
    fn own_names_of_this_machine_pass_on_any_port() {
        let local = guard("127.0.0.1", "127.0.0.1:8080", &[]);
        for host in ["localhost", "LOCALHOST:8080", "localhost.", "127.0.0.1:9000", "[::1]:8080", "[::1]"] {
            assert!(allows(&local, host, "127.0.0.1"), "{host}");
        }
        for host in
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "bench7", "10.0.0.1", "", "a b"]
        {
            assert!(!allows(&local, host, "127.0.0.1"), "{host}");
        }
        for host in ["[::1", "localhost:x", "localhost:99999", "me@localhost", "localhost/", "[localhost]"] {
            assert!(!allows(&local, host, "127.0.0.1"), "{host}");
        }
        assert!(local.host(None, "127.0.0.1".parse().unwrap()).is_err());
    }

    #[test]
    fn an_api_on_all_addresses_accepts_the_address_of_the_connection_and_the_name_of_the_machine() {
        let open = guard("0.0.0.0", "0.0.0.0:8080", &[]);
        assert!(allows(&open, "10.1.2.3:8080", "10.1.2.3") && allows(&open, "Bench7:8080", "10.1.2.3"));
        assert!(allows(&open, "10.1.2.3:8080", "::ffff:10.1.2.3"), "an IPv4-mapped IPv6 address");
        assert!(!allows(&open, "10.9.9.9:8080", "10.1.2.3"));
        assert!(allows(&guard("perf.lab", "10.1.2.3:80", &[]), "perf.lab", "10.1.2.3"));
    }

    #[test]
    fn origins_that_the_user_named_may_read_and_others_may_not_act() {
        let guard = guard("127.0.0.1", "127.0.0.1:8080", &["https://grafana.example"]);
        let host = Some("localhost:8080");
        assert_eq!(guard.origin(None, host), Ok(()));
        for origin in ["http://localhost:8080", "https://grafana.example", "HTTPS://Grafana.example"] {
            assert_eq!(guard.origin(Some(origin), host), Ok(()), "{origin}");
        }
        for origin in ["http://localhost:3000", "http://evil.example", "null", "", "http://localhost:8080.evil.example"]
        {
            assert!(guard.origin(Some(origin), host).is_err(), "{origin}");
        }
        assert!(allows(&guard, "grafana.example", "127.0.0.1"), "behind a proxy of that name");
        assert!(guard.may_read("https://grafana.example") && !guard.may_read("http://grafana.example"));
    }

    proptest! {
        /// Only own names pass, with a port or without.
        #[test]
        fn no_other_name_passes(
            host in "(localhost|127\\.0\\.0\\.1|evil|\\[|\\]|::1|:|\\.|@|/|%|[0-9]|\\PC){0,8}",
            origin in "(https?|://|localhost|:8080|evil\\.example|null|\\PC){0,6}",
        ) {
            let guard = guard("127.0.0.1", "127.0.0.1:8080", &[]);
            if allows(&guard, &host, "127.0.0.1") {
                let name = host.to_ascii_lowercase();
                let name = match name.strip_prefix('[') {
                    Some(rest) => rest.split(']').next().unwrap().to_owned(),
                    None => name.split(':').next().unwrap().trim_end_matches('.').to_owned(),
                };
                prop_assert!(["localhost", "127.0.0.1", "::1"].contains(&&*name), "{host}");
            }
            if guard.origin(Some(&origin), Some("localhost:8080")).is_ok() {
                let from = origin.split_once("://").map(|(_, from)| from.to_ascii_lowercase());
                prop_assert!(from.is_some_and(|from| from.starts_with("localhost")), "{origin}");
            }
            prop_assert!(!guard.may_read(&origin));
        }
    }

    #[test]
    fn a_star_allows_every_origin() {
        let guard = guard("127.0.0.1", "127.0.0.1:8080", &["*"]);
        assert!(allows(&guard, "anything.example", "127.0.0.1") && guard.may_read("null"));
        assert_eq!(guard.origin(Some("http://evil.example"), Some("x")), Ok(()));
    }
}
