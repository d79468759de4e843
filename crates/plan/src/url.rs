//! URLs of servers: parsed once, with credentials apart from everything that may be shown.

use crate::redact::{self, REDACTED};
use aiperf_redact::percent::strictly_percent_decoded;
use aiperf_types::acts_on_terminal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

/// A checked URL: scheme, authority, path and query, without a fragment's effect. Its text has no credentials: they are
/// stored separately and never shown. Its serialised form is whole, credentials included: see [`form`](crate::form).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "UrlForm", into = "UrlForm")]
pub struct BaseUrl {
    text: String,
    tls: bool,
    authority: String,
    host: String,
    port: u16,
    credentials: Option<Credentials>,
    /// The socket of a `unix://` URL, whose requests are as for `http://localhost`.
    socket: Option<PathBuf>,
}

/// The serialised form of a URL: a text, unless it has credentials.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum UrlForm {
    Plain(String),
    WithCredentials { url: String, user: String, password: String },
}

impl TryFrom<UrlForm> for BaseUrl {
    type Error = UrlError;
    fn try_from(form: UrlForm) -> Result<Self, UrlError> {
        match form {
            UrlForm::Plain(url) => Self::parse(&url),
            UrlForm::WithCredentials { url, user, password } => {
                let credentials = Credentials::new(&user, &password);
                let credentials = credentials.ok_or_else(|| UrlError::Credentials(shown(&url)))?;
                Ok(Self { credentials: Some(credentials), ..Self::parse(&url)? })
            }
        }
    }
}

impl From<BaseUrl> for UrlForm {
    fn from(BaseUrl { text: url, credentials, .. }: BaseUrl) -> Self {
        match credentials {
            None => Self::Plain(url),
            Some(Credentials { user, password }) => Self::WithCredentials { url, user, password },
        }
    }
}

/// The user name and password of a URL. A secret: its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: String,
    password: String,
}

impl Credentials {
    /// A name and password from elsewhere; `None` if they cannot be sent.
    pub fn new(user: &str, password: &str) -> Option<Self> {
        let control = |text: &str| text.chars().any(char::is_control);
        // A colon in the name would become a part of the password at the server.
        let can_be_sent = !user.contains(':') && !control(user) && !control(password);
        can_be_sent.then(|| Self { user: user.to_owned(), password: password.to_owned() })
    }

    /// Parses what precedes the `@` of a URL; percent escapes are resolved.
    fn parse(userinfo: &str) -> Option<Self> {
        let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
        Self::new(&strictly_percent_decoded(user)?, &strictly_percent_decoded(password)?)
    }

    /// The value of the `Authorization` field.
    pub fn basic(&self) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:{}", self.user, self.password)))
    }

    /// The texts that must not be shown, in plain form and as they are sent.
    pub fn secrets(&self) -> Vec<String> {
        redact::secrets_in_credentials(&self.user, &self.password)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Why a URL is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// White space around or inside.
    #[error("URL '{0}' contains white space")]
    Whitespace(String),
    /// Something other than http, https or unix.
    #[error("URL '{0}' must start with http:// or https://")]
    Scheme(String),
    #[error(
        "URL '{0}' names no socket: after unix:// stands its whole path, of at most 107 bytes, as in unix:///run/llm.sock"
    )]
    Socket(String),
    /// A proxy that needs TLS or a socket.
    #[error("proxy '{0}' must start with http://: proxies are spoken to in plain text, https servers through a tunnel")]
    Proxy(String),
    #[error("URL '{0}' names no host")]
    Host(String),
    /// A host that is neither a name nor an address.
    #[error("URL '{0}' has a host that is neither a name nor an address; IPv6 stands in brackets: http://[::1]:8000")]
    HostForm(String),
    /// Port not in 1..=65535.
    #[error("URL '{0}' has a port outside 1..65535")]
    Port(String),
    /// A control character, or one outside ASCII.
    #[error("URL '{0}' contains a character that must be written with percent signs, as in %20")]
    Character(String),
    #[error(
        "URL '{0}' has credentials that cannot be sent: a bad percent escape, a colon in the name, or a \
         control character"
    )]
    Credentials(String),
}

/// Schemes that are recognised as foreign without `//`, so that `data:x` is not parsed as a host.
const FOREIGN: &[&str] = &[
    "data",
    "file",
    "ftp",
    "ftps",
    "gopher",
    "javascript",
    "ldap",
    "ldaps",
    "mailto",
    "sftp",
    "ssh",
    "tel",
    "vbscript",
    "ws",
    "wss",
];

impl BaseUrl {
    /// Parses a URL; `http://` is added if there is no scheme.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let fail = |make: fn(String) -> UrlError| Err(make(shown(text)));
        if text.is_empty() {
            return fail(UrlError::Host);
        }
        if text.chars().any(char::is_whitespace) {
            return fail(UrlError::Whitespace);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return fail(UrlError::Character);
        }
        let lower = text.to_ascii_lowercase();
        let foreign = lower.split_once(':').is_some_and(|(scheme, _)| FOREIGN.contains(&scheme));
        if foreign {
            return fail(UrlError::Scheme);
        }
        let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let (scheme, rest) = full.split_once("://").unwrap_or_default();
        if scheme.eq_ignore_ascii_case("unix") {
            return Self::of_socket(text, rest);
        }
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return fail(UrlError::Scheme),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (userinfo, authority) = match rest[..end].rsplit_once('@') {
            Some((userinfo, authority)) => (Some(userinfo).filter(|userinfo| !userinfo.is_empty()), authority),
            None => (None, &rest[..end]),
        };
        let credentials = match userinfo.map(Credentials::parse) {
            Some(None) => return fail(UrlError::Credentials),
            Some(read) => read,
            None => None,
        };
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => {
                let Some((host, after)) = v6.split_once(']') else { return fail(UrlError::Host) };
                let address = host.split('%').next().unwrap_or_default();
                if address.parse::<Ipv6Addr>().is_err() || !(after.is_empty() || after.starts_with(':')) {
                    return fail(UrlError::HostForm);
                }
                (host, after.strip_prefix(':'))
            }
            None => match authority.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        if host.is_empty() {
            return fail(UrlError::Host);
        }
        if !authority.starts_with('[') && !host.bytes().all(is_of_a_name) {
            return fail(UrlError::HostForm);
        }
        let port = match port {
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
            Some(digits) => match digits.parse::<u16>() {
                Ok(port) if port > 0 && digits.bytes().all(|b| b.is_ascii_digit()) => port,
                _ => return fail(UrlError::Port),
            },
        };
        let text = format!("{scheme}://{authority}{}", &rest[end..]);
        let (authority, host) = (authority.to_owned(), host.to_owned());
        Ok(Self { text, tls, authority, host, port, credentials, socket: None })
    }

    /// A socket of this machine: requests are as for `http://localhost`.
    fn of_socket(text: &str, path: &str) -> Result<Self, UrlError> {
        let socket = strictly_percent_decoded(path).filter(|path| {
            path.starts_with('/') && !path.ends_with('/') && path.len() <= LONGEST_SOCKET && !path.contains('\0')
        });
        match socket {
            Some(socket) => Ok(Self {
                text: format!("unix://{path}"),
                tls: false,
                authority: "localhost".to_owned(),
                host: "localhost".to_owned(),
                port: 80,
                credentials: None,
                socket: Some(socket.into()),
            }),
            None => Err(UrlError::Socket(shown(text))),
        }
    }

    /// The same with credentials from elsewhere, if it has none of its own.
    pub fn or_credentials(mut self, credentials: Option<Credentials>) -> Self {
        self.credentials = self.credentials.or(credentials);
        self
    }

    /// The URL as text, with its scheme and without credentials.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The URL for output: no credentials, no secret parameters.
    pub fn shown(&self) -> String {
        let user = if self.credentials.is_some() { format!("{REDACTED}@") } else { String::new() };
        let (scheme, rest) = self.text.split_once("://").unwrap_or(("http", &self.text));
        redact::url(&format!("{scheme}://{user}{rest}"))
    }

    /// Turns it into its [shown](Self::shown) form.
    pub(crate) fn hide_secrets(&mut self) {
        self.text = self.shown();
        self.credentials = None;
    }

    /// The URL that paths of requests are joined to: itself, or `http://localhost` for a socket.
    pub fn request_base(&self) -> &str {
        if self.is_unix() { "http://localhost" } else { &self.text }
    }

    /// Scheme, host and port as written, without a path.
    pub fn origin(&self) -> String {
        let base = self.request_base();
        let start = base.find("://").map_or(0, |at| at + 3);
        let end = base[start..].find(['/', '?', '#']).map_or(base.len(), |at| start + at);
        base[..end].to_owned()
    }

    /// The same server without a path, with its scheme in lower case.
    #[must_use]
    pub fn without_path(&self) -> Self {
        let text = if self.is_unix() { self.text.clone() } else { self.origin() };
        let text = text
            .split_once("://")
            .map_or(text.clone(), |(scheme, host)| format!("{}://{host}", scheme.to_ascii_lowercase()));
        Self { text, ..self.clone() }
    }

    /// Path and query as written, without a fragment; empty if there are none, and for a socket.
    pub fn path(&self) -> &str {
        let base = self.request_base();
        let start = base.find("://").map_or(0, |at| at + 3);
        let path = base[start..].find(['/', '?', '#']).map_or("", |at| &base[start + at..]);
        path.find('#').map_or(path, |at| &path[..at])
    }

    /// Whether two URLs have the same server.
    pub fn is_same_origin(&self, other: &Self) -> bool {
        let key = |url: &Self| (url.tls, url.host.to_ascii_lowercase(), url.port, url.socket.clone());
        key(self) == key(other)
    }

    /// Whether it is a socket of this machine.
    pub fn is_unix(&self) -> bool {
        self.socket.is_some()
    }

    /// The socket of a `unix://` URL.
    pub fn socket_path(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Whether the scheme is https.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// Host name or address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Host and port for the `Host` header, without the default port.
    pub fn host_header(&self) -> String {
        let default = if self.tls { ":443" } else { ":80" };
        self.authority.strip_suffix(default).unwrap_or(&self.authority).to_owned()
    }

    /// The credentials before its `@`: sent as Basic, unless the request has another authorization.
    pub fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }
}

/// Bytes of a socket's path: the size of `sun_path` without the NUL at its end.
const LONGEST_SOCKET: usize = 107;

/// A byte that may occur in a host name.
fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(&byte)
}

/// A rejected URL for a message: anything before an `@` may be a password, and a control character would act on the
/// terminal.
fn shown(text: &str) -> String {
    // The text before the last '@' may be a password with a slash in it.
    let start = text.find("://").map_or(0, |at| at + 3);
    let text = match text.rfind('@') {
        Some(at) if at >= start => format!("{}{REDACTED}{}", &text[..start], &text[at..]),
        _ => text.to_owned(),
    };
    redact::url(&text)
        .chars()
        .map(|c| if acts_on_terminal(c) { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_does_not_show_the_credentials() {
        for url in ["http://u:p4ss@h:0", "ftp://u:p4ss@h", "u:p4ss@h:99999", "http://h:0?api_key=p4ss"] {
            let error = BaseUrl::parse(url).unwrap_err().to_string();
            assert!(error.contains("<redacted>") && !error.contains("p4ss"), "{error}");
        }
    }

    #[test]
    fn a_bare_host_becomes_http() {
        let url = BaseUrl::parse("localhost:8000").unwrap();
        assert_eq!(
            (url.as_str(), url.host(), url.port(), url.is_tls()),
            ("http://localhost:8000", "localhost", 8000, false)
        );
    }

    #[test]
    fn an_ipv6_literal_keeps_its_brackets_in_the_header_only() {
        let url = BaseUrl::parse("https://[::1]:8443/v1").unwrap();
        assert_eq!((url.host(), url.port(), url.host_header().as_str()), ("::1", 8443, "[::1]:8443"));
    }

    #[test]
    fn requests_to_a_socket_name_localhost() {
        let url = BaseUrl::parse("unix:///run/my%20llm.sock").unwrap();
        assert!(url.is_unix() && !url.is_tls());
        assert_eq!(url.socket_path(), Some(Path::new("/run/my llm.sock")));
        assert_eq!((url.as_str(), url.host_header().as_str()), ("unix:///run/my%20llm.sock", "localhost"));
        assert_eq!((url.request_base(), url.origin().as_str()), ("http://localhost", "http://localhost"));
        assert_eq!(BaseUrl::parse(url.as_str()), Ok(url));
        let long = format!("unix:///{}", "x".repeat(LONGEST_SOCKET));
        for odd in ["unix://", "unix:///", "unix://run/x", "unix:///run/", "unix:///a%00b", long.as_str()] {
            assert!(matches!(BaseUrl::parse(odd), Err(UrlError::Socket(_))), "{odd}");
        }
    }

    #[test]
    fn urls_of_one_server_have_one_origin() {
        let url = |text: &str| BaseUrl::parse(text).unwrap();
        assert_eq!(url("http://u:p@H:8000/v1?x=1#y").origin(), "http://H:8000");
        assert!(url("http://h/v1").is_same_origin(&url("http://H:80")));
        assert!(!url("http://h").is_same_origin(&url("https://h")));
        assert!(!url("unix:///a").is_same_origin(&url("unix:///b")));
    }

    #[test]
    fn bad_urls_have_different_errors() {
        assert!(matches!(BaseUrl::parse("ftp://h"), Err(UrlError::Scheme(_))));
        assert!(matches!(BaseUrl::parse("mailto:x"), Err(UrlError::Scheme(_))));
        assert!(matches!(BaseUrl::parse("http://"), Err(UrlError::Host(_))));
        assert!(matches!(BaseUrl::parse("http://h:0"), Err(UrlError::Port(_))));
        assert!(matches!(BaseUrl::parse("http://h:70000"), Err(UrlError::Port(_))));
        assert!(matches!(BaseUrl::parse("http://a b"), Err(UrlError::Whitespace(_))));
        for odd in ["http://[::1]9101", "http://[::zz]:1", "http://::1:9101", "http://a<b>", "http://[]:1"] {
            assert!(matches!(BaseUrl::parse(odd), Err(UrlError::HostForm(_))), "{odd}");
        }
        for odd in ["http://h/\0", "http://h/\u{1b}[31m", "http://h/\u{e9}"] {
            assert!(matches!(BaseUrl::parse(odd), Err(UrlError::Character(_))), "{odd:?}");
        }
        assert!(matches!(BaseUrl::parse("http://h/a\r\nX: y"), Err(UrlError::Whitespace(_))));
    }

    #[test]
    fn credentials_are_kept_apart_and_sent_as_basic() {
        let url = BaseUrl::parse("http://Aladdin:open%20sesame@h:1/v1?x=1").unwrap();
        assert_eq!((url.as_str(), url.host_header().as_str()), ("http://h:1/v1?x=1", "h:1"));
        let credentials = url.credentials().unwrap();
        assert_eq!(credentials.basic(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        let seen = format!("{url:?} {}", url.shown());
        assert!(credentials.secrets().iter().all(|secret| !seen.contains(secret.as_str())), "{seen}");
        assert!(BaseUrl::parse("http://@h:1").unwrap().credentials().is_none());
    }

    #[test]
    fn credentials_with_a_broken_escape_are_refused() {
        assert!(matches!(BaseUrl::parse("http://u:%+5@h"), Err(UrlError::Credentials(_))));
    }

    #[test]
    fn a_refused_url_does_not_show_its_password() {
        for url in [
            "http://u:hunter2@h:0",
            "u:hunter2@h:99999",
            "http://u:hun%zzter2@h",
            "http://u:hunter2/x@h",
            "http://u%3Ahunter2:x@h",
        ] {
            let error = BaseUrl::parse(url).unwrap_err().to_string();
            assert!(!error.contains("hunter2") && error.contains("<redacted>@h"), "{error}");
        }
    }
}
