//! The cluster that the program runs in: the location of its API, and the program's credentials.

use aiperf_plan::BaseUrl;
use aiperf_plan::redact::REDACTED;
use aiperf_transport::Origin;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The cluster that the program runs in.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// How to reach its API, or why that is not possible.
    pub(super) access: Result<Access, String>,
    /// The program's own namespace, if it is known.
    pub(super) namespace: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) origin: Origin,
    /// The certificates by which the API server is verified.
    pub(super) authorities: PathBuf,
    pub(super) token: Token,
}

impl Cluster {
    /// From variables and the folder of the service account; `None` outside a cluster.
    pub fn of_environment(get: impl Fn(&str) -> Option<String>, account: &Path) -> Option<Self> {
        let get = |name| get(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let host = get("KUBERNETES_SERVICE_HOST")?;
        let port = get("KUBERNETES_SERVICE_PORT").unwrap_or_else(|| "443".to_owned());
        let access = origin(&host, &port).and_then(|origin| {
            let token = Token::read(&account.join("token"))?;
            Ok(Access { origin, authorities: account.join("ca.crt"), token })
        });
        let of_account = || fs::read_to_string(account.join("namespace")).ok().map(|text| text.trim().to_owned());
        let namespace = get("AIPERF_NAMESPACE").or_else(of_account).filter(|name| !name.is_empty());
        Some(Self { access, namespace })
    }
}

fn origin(host: &str, port: &str) -> Result<Origin, String> {
    let bracketed = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
    let url = BaseUrl::parse(&format!("https://{bracketed}:{port}"));
    let url = url.map_err(|error| format!("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: {error}"))?;
    if !url.path().is_empty() || url.credentials().is_some() {
        return Err("KUBERNETES_SERVICE_HOST is more than the name or address of a host".to_owned());
    }
    Ok(Origin::https(url.host(), url.port()))
}

/// The program's credentials. A secret: its `Debug` shows nothing.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text = fs::read_to_string(path).map_err(|error| {
            format!("cannot read the service account's token '{shown}': {error}; is automountServiceAccountToken on?")
        })?;
        let token = text.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("'{shown}' holds no token that can be sent"));
        }
        Ok(Self(token.to_owned()))
    }

    /// The value of the `Authorization` field.
    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Removes the token from a text.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        text.replace(&self.0, REDACTED)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(variables: &[(&str, &str)], files: &[(&str, &str)]) -> Option<Cluster> {
        let account = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(account.path().join(name), text).unwrap();
        }
        let get = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Cluster::of_environment(get, account.path())
    }

    fn access(host: &str, port: &str) -> Result<Access, String> {
        let variables = [("KUBERNETES_SERVICE_HOST", host), ("KUBERNETES_SERVICE_PORT", port)];
        cluster(&variables, &[("token", "t0ken\n")]).unwrap().access
    }

    #[test]
    fn without_a_host_there_is_no_cluster() {
        for variables in [&[][..], &[("KUBERNETES_SERVICE_HOST", "")], &[("KUBERNETES_SERVICE_PORT", "443")]] {
            assert!(cluster(variables, &[("token", "t")]).is_none());
        }
    }

    #[test]
    fn the_variables_set_the_place_of_the_api() {
        for (host, port, origin) in [
            ("10.0.0.1", "6443", Origin::https("10.0.0.1", 6443)),
            ("10.0.0.1", "", Origin::https("10.0.0.1", 443)),
            ("fd00::1", "443", Origin::https("fd00::1", 443)),
            ("[fd00::1]", "443", Origin::https("fd00::1", 443)),
            ("kubernetes.default.svc", "443", Origin::https("kubernetes.default.svc", 443)),
        ] {
            assert_eq!(access(host, port).unwrap().origin, origin);
        }
    }

    #[test]
    fn variables_that_name_no_server_are_reported() {
        for (host, port) in [("h", "tcp://10.0.0.1:443"), ("h", "0"), ("h", "65536"), ("h/x", "1"), ("u:p@h", "1")] {
            let reason = access(host, port).unwrap_err();
            assert!(reason.contains("KUBERNETES_SERVICE_HOST"), "{reason}");
        }
    }

    #[test]
    fn the_own_namespace_is_the_variables_then_the_accounts() {
        let host = ("KUBERNETES_SERVICE_HOST", "h");
        let named = |name: &'static str| [host, ("AIPERF_NAMESPACE", name)];
        let file = [("namespace", "of-account\n")];
        let namespace = |variables: &[_], files: &[_]| cluster(variables, files).unwrap().namespace;
        assert_eq!(namespace(&named("of-variable"), &file).as_deref(), Some("of-variable"));
        assert_eq!(namespace(&named(""), &file).as_deref(), Some("of-account"));
        assert_eq!(namespace(&[host], &[("namespace", " \n")]), None);
        assert_eq!(namespace(&[host], &[]), None);
    }

    #[test]
    fn a_token_that_cannot_be_read_or_sent_is_reported_and_not_shown() {
        let host = [("KUBERNETES_SERVICE_HOST", "h")];
        let reason = |files: &[_]| cluster(&host, files).unwrap().access.unwrap_err();
        assert!(reason(&[]).contains("automountServiceAccountToken"));
        for token in ["", "s3cret\r\nX-Evil: 1", "s3cret s3cret"] {
            let reason = reason(&[("token", token)]);
            assert!(reason.contains("no token that can be sent") && !reason.contains("s3cret"), "{reason}");
        }
    }

    #[test]
    fn a_cluster_does_not_show_its_token() {
        let shown = format!("{:?}", access("h", "1"));
        assert!(shown.contains(REDACTED) && !shown.contains("t0ken"), "{shown}");
    }
}
