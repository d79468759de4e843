//! Proxies in front of servers, by the rules of Python's `urllib`, which most tools of the field follow.

use crate::url::{BaseUrl, Credentials, UrlError};
use serde::{Deserialize, Serialize};

/// Which proxy is used for which server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proxies {
    /// For `http://` URLs.
    pub http: Option<Proxy>,
    /// For `https://` URLs.
    pub https: Option<Proxy>,
    pub no_proxy: NoProxy,
}

impl Proxies {
    /// The proxy for a server; `None` if it is reached directly.
    pub fn for_url(&self, url: &BaseUrl) -> Option<&Proxy> {
        if url.is_unix() || self.no_proxy.covers(url.host(), url.port()) {
            return None;
        }
        if url.is_tls() { self.https.as_ref() } else { self.http.as_ref() }
    }

    /// Every proxy.
    pub fn all(&self) -> impl Iterator<Item = &Proxy> {
        [&self.http, &self.https].into_iter().flatten()
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Proxy> {
        [&mut self.http, &mut self.https].into_iter().flatten()
    }
}

/// A proxy: an HTTP server, with credentials of its own. They are sent to it only, and never shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Proxy(BaseUrl);

impl Proxy {
    /// Parses a proxy's URL. `http://` is added if there is no scheme; other schemes are rejected.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let url = BaseUrl::parse(text)?;
        // The connection to a proxy is plain text: a proxy that wants TLS would receive its credentials in the open.
        if url.is_unix() || url.is_tls() {
            return Err(UrlError::Proxy(url.as_str().to_owned()));
        }
        Ok(Self(url))
    }

    /// Where it listens.
    pub fn url(&self) -> &BaseUrl {
        &self.0
    }

    pub(crate) fn url_mut(&mut self) -> &mut BaseUrl {
        &mut self.0
    }

    /// The credentials for `Proxy-Authorization`.
    pub fn credentials(&self) -> Option<&Credentials> {
        self.0.credentials()
    }
}

/// Servers that are reached without a proxy: a comma-separated list of names. Each covers itself and all names below
/// it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoProxy(Vec<String>);

impl NoProxy {
    /// Parses a list in the form of `NO_PROXY`.
    pub fn parse(list: &str) -> Self {
        if list.trim() == "*" {
            return Self(vec!["*".to_owned()]);
        }
        let names = list.split(',').map(|name| name.trim().trim_start_matches('.'));
        // In a list, a star is no pattern.
        Self(names.filter(|name| !name.is_empty() && *name != "*").map(str::to_ascii_lowercase).collect())
    }

    /// Whether a server is reached directly. No name is special, not even `localhost`; `*` alone covers all.
    pub fn covers(&self, host: &str, port: u16) -> bool {
        if self.0 == ["*"] {
            return true;
        }
        let host = host.to_ascii_lowercase();
        let forms = [host.clone(), format!("{host}:{port}"), format!("[{host}]"), format!("[{host}]:{port}")];
        let is_below =
            |form: &String, name: &String| form.strip_suffix(name.as_str()).is_some_and(|f| f.ends_with('.'));
        self.0.iter().any(|name| forms.iter().any(|form| form == name || is_below(form, name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn proxies(no_proxy: &str) -> Proxies {
        Proxies {
            http: Some(Proxy::parse("http://plain:3128").unwrap()),
            https: Some(Proxy::parse("secure:3129").unwrap()),
            no_proxy: NoProxy::parse(no_proxy),
        }
    }

    fn goes_by(no_proxy: &str, url: &str) -> Option<String> {
        let url = BaseUrl::parse(url).unwrap();
        proxies(no_proxy).for_url(&url).map(|proxy| proxy.url().host().to_owned())
    }

    #[test]
    fn a_proxy_that_wants_tls_never_receives_its_credentials() {
        for url in ["https://u:p@proxy:1", "unix:///proxy.sock"] {
            assert!(matches!(Proxy::parse(url), Err(UrlError::Proxy(_))), "{url}");
        }
    }

    #[test]
    fn the_scheme_of_the_server_chooses_the_proxy() {
        assert_eq!(goes_by("", "http://h"), Some("plain".into()));
        assert_eq!(goes_by("", "https://h"), Some("secure".into()));
        assert_eq!(goes_by("", "http://localhost:1"), Some("plain".into()));
        assert_eq!(goes_by("", "http://127.0.0.1:1"), Some("plain".into()));
        assert_eq!(goes_by("", "unix:///run/llm.sock"), None);
        assert_eq!(Proxies::default().for_url(&BaseUrl::parse("http://h").unwrap()), None);
    }

    #[test]
    fn a_name_covers_itself_and_the_names_below_it() {
        for (list, url, direct) in [
            ("example.com", "http://example.com", true),
            ("example.com", "http://api.example.com", true),
            (".example.com", "http://example.com", true),
            ("EXAMPLE.com", "http://Api.Example.COM", true),
            ("example.com", "http://notexample.com", false),
            ("api.example.com", "http://example.com", false),
            (" a , b ,, c ", "http://b", true),
            ("h:8000", "http://h:8000", true),
            ("h:8000", "http://h:8001", false),
            ("h:80", "http://h", true),
            ("h:443", "https://x.h", true),
            ("127.0.0.1", "http://127.0.0.1:9", true),
            ("0.1", "http://127.0.0.1", true),
            ("::1", "http://[::1]:9", true),
            ("[::1]", "http://[::1]:9", true),
            ("[::1]:9", "http://[::1]:9", true),
            ("*", "http://anything", true),
            ("a,*", "http://anything", false),
            ("*.example.com", "http://api.example.com", false),
            ("", "http://h", false),
        ] {
            assert_eq!(goes_by(list, url).is_none(), direct, "NO_PROXY={list} {url}");
        }
    }

    #[test]
    fn credentials_of_a_proxy_are_not_shown() {
        let proxy = Proxy::parse("http://me:hunter22@p:1").unwrap();
        assert!(proxy.credentials().unwrap().basic().starts_with("Basic "));
        let seen = format!("{proxy:?} {}", proxy.url().shown());
        assert!(!seen.contains("hunter22"), "{seen}");
        assert!(Proxy::parse("socks5://p:1").is_err() && Proxy::parse("unix:///p").is_err());
    }

    /// Python's rules, for host names.
    fn covered_in_python(no_proxy: &str, host: &str) -> bool {
        no_proxy == "*"
            || no_proxy.split(',').map(|name| name.trim().trim_start_matches('.').to_lowercase()).any(|name| {
                !name.is_empty() && (host.to_lowercase() == name || host.to_lowercase().ends_with(&format!(".{name}")))
            })
    }

    proptest! {
        #[test]
        fn names_are_covered_as_python_covers_them(
            list in proptest::collection::vec("[.*]?[abAB]{1,2}(\\.[ab]{1,2}){0,2}|\\*|", 0..4),
            host in "[abAB]{1,2}(\\.[ab]{1,2}){0,3}",
        ) {
            let list = list.join(",");
            prop_assert_eq!(NoProxy::parse(&list).covers(&host, 80), covered_in_python(&list, &host), "{} {}", list, host);
        }
    }
}
