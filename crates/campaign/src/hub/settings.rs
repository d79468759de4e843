//! The settings of the hub in the environment.

use aiperf_plan::{Credentials, NoProxy, Proxies, Proxy, redact};
use aiperf_tokenize::lookup::{hub_cache, hub_home};
use aiperf_transport::Origin;
use aiperf_transport::Patience;
use aiperf_transport::redirect::split_url;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Where the hub is, unless `HF_ENDPOINT` names another.
const ENDPOINT: &str = "https://huggingface.co";

/// Where files come from and where they are cached.
#[derive(Clone)]
pub struct HubSettings {
    /// As messages show it, without a slash at its end.
    pub endpoint: String,
    pub(crate) origin: Origin,
    /// The prefix of every path.
    pub(crate) base: String,
    /// Sent to the endpoint only, never to a server that it redirects to.
    pub(crate) token: Option<String>,
    /// The proxy variables that all programs share: Hugging Face's own tools use them too.
    pub(crate) proxies: Proxies,
    /// `None` if there is no home directory.
    pub cache: Option<PathBuf>,
    /// The variable that forbids requests.
    pub offline: Option<&'static str>,
    pub patience: Patience,
    /// The time limit of one response that is not a file.
    pub response_timeout: Duration,
}

impl fmt::Debug for HubSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { endpoint, cache, offline, .. } = self;
        f.debug_struct("HubSettings")
            .field("endpoint", endpoint)
            .field("cache", cache)
            .field("offline", offline)
            .finish()
    }
}

/// A variable that names no hub or no valid proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("HF_ENDPOINT='{0}' is no http:// or https:// URL\n  try: unset HF_ENDPOINT, or HF_ENDPOINT={ENDPOINT}")]
    Endpoint(String),
    #[error("{variable}: {reason}\n  try: {variable}=http://HOST:PORT, or unset it")]
    Proxy { variable: String, reason: String },
}

impl HubSettings {
    /// Reads the variables of a process, by the names that Hugging Face's own tools use.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Result<Self, EndpointError> {
        let text = |name: &str| var(name).filter(|value| !value.is_empty());
        let folder = |name: &str| text(name).map(PathBuf::from);
        let endpoint = text("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned());
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        let shown = redact::url(&endpoint);
        let (origin, base) = split_url(&endpoint).ok_or_else(|| EndpointError::Endpoint(shown.clone()))?;
        let is_on = |name: &str| var(name).is_some_and(|value| is_true(&value));
        let token_file = folder("HF_TOKEN_PATH").or_else(|| hub_home(folder).map(|home| home.join("token")));
        let token = text("HF_TOKEN")
            .or_else(|| text("HUGGING_FACE_HUB_TOKEN"))
            .or_else(|| fs::read_to_string(token_file?).ok())
            .map(|token| token.trim().to_owned())
            // A value that is no valid header is no token.
            .filter(|token| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()))
            .filter(|_| !is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN"));
        let seconds = |name: &str| {
            let seconds = text(name).and_then(|value| value.parse().ok()).filter(|seconds: &f64| *seconds > 0.0);
            seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        };
        let mut patience = Patience::default();
        patience.silence = seconds("HF_HUB_DOWNLOAD_TIMEOUT").unwrap_or(patience.silence);
        let response_timeout = seconds("HF_HUB_ETAG_TIMEOUT").unwrap_or(Duration::from_secs(10));
        patience.connect = patience.connect.min(response_timeout);
        Ok(Self {
            origin,
            base: base.trim_end_matches('/').to_owned(),
            endpoint: shown,
            token,
            proxies: proxies(&var)?,
            cache: hub_cache(folder),
            offline: ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"].into_iter().find(|name| is_on(name)),
            patience,
            response_timeout,
        })
    }

    /// Secrets that no message may show, even if the hub or a proxy echoes them.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let proxies = self.proxies.all().filter_map(|proxy| proxy.url().credentials());
        self.token.iter().cloned().chain(proxies.flat_map(Credentials::secrets)).collect()
    }
}

/// The proxies in variables, in either letter case. The lower case has priority, and disables the proxy if it is empty.
fn proxies(var: impl Fn(&str) -> Option<String>) -> Result<Proxies, EndpointError> {
    let named = |name: &str| {
        let lower = name.to_ascii_lowercase();
        let found = var(&lower).map(|value| (lower, value)).or_else(|| Some((name.to_owned(), var(name)?)));
        found.filter(|(_, value)| !value.trim().is_empty())
    };
    let proxy = |name: &str| {
        let parsed = named(name).or_else(|| named("ALL_PROXY")).map(|(variable, value)| {
            Proxy::parse(value.trim()).map_err(|error| EndpointError::Proxy { variable, reason: error.to_string() })
        });
        parsed.transpose()
    };
    Ok(Proxies {
        http: proxy("HTTP_PROXY")?,
        https: proxy("HTTPS_PROXY")?,
        no_proxy: named("NO_PROXY").map(|(_, list)| NoProxy::parse(&list)).unwrap_or_default(),
    })
}

/// Whether a variable is on, as Hugging Face's tools read it.
fn is_true(value: &str) -> bool {
    ["1", "true", "yes", "on"].iter().any(|word| value.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(vars: &[(&str, &str)]) -> HubSettings {
        of(vars).unwrap()
    }

    fn of(vars: &[(&str, &str)]) -> Result<HubSettings, EndpointError> {
        HubSettings::from_vars(|name| {
            vars.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn offline_is_a_boolean() {
        for (value, offline) in [("1", true), ("true", true), ("YES", true), ("on", true), ("0", false), ("", false)] {
            for name in ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"] {
                assert_eq!(settings(&[(name, value)]).offline, offline.then_some(name), "{name}={value}");
            }
        }
        assert_eq!(settings(&[]).offline, None);
    }

    #[test]
    fn the_token_is_a_variable_or_a_file_and_is_never_shown() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("token"), "hf_file\n").unwrap();
        let home = ("HF_HOME", home.path().to_str().unwrap());
        assert_eq!(settings(&[home]).token.as_deref(), Some("hf_file"));
        let both = settings(&[home, ("HF_TOKEN", "hf_variable")]);
        assert_eq!(both.token.as_deref(), Some("hf_variable"));
        assert!(!format!("{both:?}").contains("hf_variable"));
        assert_eq!(settings(&[("HF_TOKEN", "two\r\nlines")]).token, None);
        assert_eq!(settings(&[home, ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]).token, None);
    }

    #[test]
    fn another_endpoint_may_have_a_path_and_must_be_a_url() {
        let mirror = settings(&[("HF_ENDPOINT", "http://mirror:8080/hf/")]);
        assert_eq!((mirror.origin, mirror.base.as_str()), (Origin::http("mirror", 8080), "/hf"));
        let usual = settings(&[]);
        assert_eq!((usual.origin, usual.base.as_str()), (Origin::https("huggingface.co", 443), ""));
        assert!(of(&[("HF_ENDPOINT", "mirror")]).unwrap_err().to_string().contains("HF_ENDPOINT='mirror'"));
    }

    #[test]
    fn proxies_come_from_the_variables_that_all_programs_share() {
        let by = |vars: &[(&str, &str)]| {
            let hub = aiperf_plan::BaseUrl::parse("https://huggingface.co").unwrap();
            settings(vars).proxies.for_url(&hub).map(|proxy| proxy.url().host().to_owned())
        };
        assert_eq!(by(&[("HTTPS_PROXY", "http://p:1")]).as_deref(), Some("p"));
        assert_eq!(by(&[("all_proxy", "p:1"), ("HTTP_PROXY", "q:1")]).as_deref(), Some("p"));
        assert_eq!(by(&[("HTTPS_PROXY", "p:1"), ("https_proxy", "")]), None);
        assert_eq!(by(&[("HTTPS_PROXY", "p:1"), ("NO_PROXY", "huggingface.co")]), None);
        let wrong = of(&[("https_proxy", "https://p:1")]).unwrap_err().to_string();
        assert!(wrong.contains("https_proxy: ") && wrong.contains("try: https_proxy=http://HOST:PORT"), "{wrong}");
    }
}
