//! Variables about the network that other programs read too: proxies, certificates, credentials by host.

use super::{Environment, Netrc};
use crate::context::Context;
use crate::error::Problem;
use crate::{os_text, small_file};
use aiperf_plan::{NoProxy, Proxy};

/// Reads them; proxies and credentials only if the user trusts the environment.
pub(super) fn read(ctx: &Context<'_>, out: &mut Environment, problems: &mut Vec<Problem>) {
    let text = |name: &str| ctx.env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
    out.http.ca_file = text("SSL_CERT_FILE").map(|file| ctx.cwd.join(os_text::path(file)));
    if !out.trust_env {
        return;
    }
    let (http, https) = (proxy(ctx, "HTTP_PROXY"), proxy(ctx, "HTTPS_PROXY"));
    for (place, read) in [(&mut out.http.proxies.http, http), (&mut out.http.proxies.https, https)] {
        match read {
            Ok(proxy) => *place = proxy,
            Err(problem) => problems.push(problem),
        }
    }
    out.http.proxies.no_proxy = named(ctx, "NO_PROXY").map(|(_, list)| NoProxy::parse(list)).unwrap_or_default();
    match netrc(ctx) {
        Ok(netrc) => out.netrc = netrc,
        Err(note) => out.notes.push(note),
    }
}

/// A variable in either letter case, and its value. The lower case has priority, and disables the proxy if it is empty.
/// In a CGI script, HTTP_PROXY may be a header of the caller.
fn named<'c>(ctx: &Context<'c>, name: &'static str) -> Option<(String, &'c str)> {
    let lower = name.to_ascii_lowercase();
    let is_cgi = name == "HTTP_PROXY" && ctx.env.contains_key("REQUEST_METHOD");
    let found = match ctx.env.get(&lower) {
        Some(value) => (lower, value),
        None if is_cgi => return None,
        None => (name.to_owned(), ctx.env.get(name)?),
    };
    Some((found.0, found.1.trim())).filter(|(_, value)| !value.is_empty())
}

fn proxy(ctx: &Context<'_>, name: &'static str) -> Result<Option<Proxy>, Problem> {
    let Some((name, value)) = named(ctx, name) else { return Ok(None) };
    Proxy::parse(value).map(Some).map_err(|error| {
        Problem::new(format!("{name}: {error}"))
            .because("AIPERF_HTTP_TRUST_ENV is on, so requests use this proxy")
            .hint(format!("{name}=http://HOST:PORT, or unset it"))
    })
}

/// The netrc file that `NETRC` names, or the one of the user if there is one.
fn netrc(ctx: &Context<'_>) -> Result<Netrc, String> {
    let named = |name: &str| ctx.env.get(name).filter(|value| !value.is_empty());
    let (file, shown) = match (named("NETRC"), named("HOME")) {
        (Some(file), _) => (ctx.cwd.join(os_text::path(file)), os_text::shown(file)),
        (None, Some(home)) => (ctx.cwd.join(os_text::path(home)).join(".netrc"), "~/.netrc".to_owned()),
        (None, None) => return Ok(Netrc::default()),
    };
    if named("NETRC").is_none() && !file.exists() {
        return Ok(Netrc::default());
    }
    let read = small_file::text(&file, small_file::SECRET).and_then(|text| Netrc::parse(&text));
    read.map_err(|rule| format!("no credentials are read from {shown}: {rule}"))
}

#[cfg(test)]
mod tests {
    use crate::environment::{Environment, read};
    use crate::{Context, Problem};
    use aiperf_plan::{BaseUrl, Credentials};
    use std::path::Path;

    fn with(env: &[(&str, &str)], cwd: &Path) -> Result<Environment, Vec<Problem>> {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        read(&Context { env: &env, stdout_is_terminal: false, cwd, benchmark_id: String::new() })
    }

    fn proxy_of(env: &[(&str, &str)], url: &str) -> Option<String> {
        let read = with(env, Path::new("/nowhere")).unwrap();
        let proxy = read.http.proxies.for_url(&BaseUrl::parse(url).unwrap())?;
        Some(proxy.url().as_str().to_owned())
    }

    const TRUST: (&str, &str) = ("AIPERF_HTTP_TRUST_ENV", "true");

    #[test]
    fn proxies_count_only_if_the_environment_is_trusted() {
        let proxies = [("HTTP_PROXY", "p:1"), ("https_proxy", "http://q:2"), ("No_Proxy", "x"), ("NO_PROXY", "direct")];
        let trusted = [&[TRUST], &proxies[..]].concat();
        assert_eq!(proxy_of(&proxies, "http://h"), None);
        assert_eq!(proxy_of(&trusted, "http://h"), Some("http://p:1".into()));
        assert_eq!(proxy_of(&trusted, "https://h"), Some("http://q:2".into()));
        assert_eq!(proxy_of(&trusted, "https://api.direct"), None);
    }

    #[test]
    fn the_lower_case_has_priority_and_an_empty_one_disables_the_proxy() {
        assert_eq!(proxy_of(&[TRUST, ("HTTP_PROXY", "p:1"), ("http_proxy", "q:1")], "h"), Some("http://q:1".into()));
        assert_eq!(proxy_of(&[TRUST, ("HTTP_PROXY", "p:1"), ("http_proxy", "")], "h"), None);
        assert_eq!(proxy_of(&[TRUST, ("HTTP_PROXY", "p:1"), ("REQUEST_METHOD", "GET")], "h"), None);
    }

    #[test]
    fn an_invalid_proxy_is_refused_without_its_password() {
        let problems = with(&[TRUST, ("HTTPS_PROXY", "socks5://me:hunter2@p:1")], Path::new("/nowhere")).unwrap_err();
        let text = problems[0].to_string();
        assert!(text.starts_with("HTTPS_PROXY: URL 'socks5://") && !text.contains("hunter2"), "{text}");
        assert!(with(&[("HTTPS_PROXY", "socks5://p:1")], Path::new("/nowhere")).is_ok());
    }

    #[test]
    fn ssl_cert_file_names_the_certificates() {
        let file = |value| with(&[("SSL_CERT_FILE", value)], Path::new("/here")).unwrap().http.ca_file;
        assert_eq!(file("ca.pem").as_deref(), Some(Path::new("/here/ca.pem")));
        assert_eq!(file(""), None);
    }

    #[test]
    fn netrc_files_are_read_if_the_environment_is_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_str().unwrap();
        let credentials = |env: &[(&str, &str)]| {
            let read = with(env, dir.path()).unwrap();
            (read.netrc.for_host("h").map(Credentials::basic), read.notes)
        };
        assert_eq!(credentials(&[TRUST, ("HOME", home)]), (None, vec![]));
        std::fs::write(dir.path().join(".netrc"), "machine h login me password secret").unwrap();
        let sent = Credentials::new("me", "secret").map(|credentials| credentials.basic());
        assert_eq!(credentials(&[TRUST, ("HOME", home)]), (sent.clone(), vec![]));
        assert_eq!(credentials(&[TRUST, ("NETRC", ".netrc")]), (sent, vec![]));
        assert_eq!(credentials(&[("HOME", home)]), (None, vec![]));
        let (none, notes) = credentials(&[TRUST, ("NETRC", "missing")]);
        assert!(none.is_none() && notes[0].ends_with("missing: no such file"), "{notes:?}");
    }
}
