//! Which server a URL names.

use std::fmt;
use std::path::PathBuf;

/// Scheme, host and port: what must be equal for two URLs to be of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Http { tls: bool, host: String, port: u16 },
    Unix(PathBuf),
}

impl Origin {
    pub fn http(host: &str, port: u16) -> Self {
        Self::Http { tls: false, host: host.to_owned(), port }
    }

    pub fn https(host: &str, port: u16) -> Self {
        Self::Http { tls: true, host: host.to_owned(), port }
    }

    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Http { tls: true, .. })
    }

    /// Host and port as people write them, or the socket's path.
    pub fn address(&self) -> String {
        match self {
            Self::Http { host, port, .. } => written(host, *port),
            Self::Unix(path) => path.display().to_string(),
        }
    }

    /// The value of the `Host` field: the default port is left out.
    pub fn host_field(&self) -> String {
        match self {
            Self::Http { tls, host, port } if *port == if *tls { 443 } else { 80 } => bracketed(host),
            Self::Http { host, port, .. } => written(host, *port),
            Self::Unix(_) => "localhost".to_owned(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { tls, .. } => write!(f, "{}://{}", if *tls { "https" } else { "http" }, self.host_field()),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

/// Only an IPv6 address has a colon of its own.
fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

fn written(host: &str, port: u16) -> String {
    format!("{}:{port}", bracketed(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_field_leaves_out_the_default_port() {
        for (origin, field, shown) in [
            (Origin::http("h", 80), "h", "http://h"),
            (Origin::http("h", 443), "h:443", "http://h:443"),
            (Origin::https("::1", 443), "[::1]", "https://[::1]"),
            (Origin::Unix("/s".into()), "localhost", "unix:///s"),
        ] {
            assert_eq!((origin.host_field().as_str(), origin.to_string().as_str()), (field, shown));
        }
    }
}
