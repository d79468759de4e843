//! The command line as it is shown: quoted for a shell, secrets taken out.

use crate::flags::{self, EXTRA_INPUTS, Flag, HEADER, MLFLOW_TRACKING_URI, OTEL_URL, URL};
use crate::os_text;
use aiperf_plan::redact::{REDACTED, is_sensitive_header, text as redacted_text, url as redacted};

/// Parts of flag names whose value is a secret.
const SECRET_FLAGS: &[&str] = &[
    "api-key",
    "api-token",
    "auth-token",
    "access-token",
    "bearer-token",
    "id-token",
    "refresh-token",
    "authorization",
];
/// Flags whose value is a URL, or several.
const URLS: &[&Flag] = &[URL, OTEL_URL, MLFLOW_TRACKING_URI];

/// `aiperf` followed by the arguments, each quoted for a POSIX shell when it needs it.
pub fn shown(args: &[String]) -> String {
    let mut out = String::from("aiperf");
    let mut after = String::new();
    for arg in args.iter().map(|arg| os_text::shown(arg)) {
        let arg = arg.as_str();
        out.push(' ');
        match split_flag(arg) {
            Some((name, sign, Some(value))) => {
                out.push_str(&format!("{name}{sign}{}", quoted(&safe(name, value))));
                after = name.to_owned();
            }
            Some((name, _, None)) => {
                out.push_str(&quoted(name));
                after = name.to_owned();
            }
            None => out.push_str(&quoted(&safe(&after, arg))),
        }
    }
    out
}

/// Name, sign and value of `--name=value` or `-Hvalue`; `None` for a token that is no flag.
fn split_flag(arg: &str) -> Option<(&str, &str, Option<&str>)> {
    let rest = arg.strip_prefix('-')?;
    if rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if !rest.starts_with('-')
        && let Some((name, value)) = ["-H", "-u"].iter().find_map(|name| Some((*name, arg.strip_prefix(name)?)))
        && !value.is_empty()
    {
        return Some(match value.strip_prefix('=') {
            Some(value) => (name, "=", Some(value)),
            None => (name, "", Some(value)),
        });
    }
    Some(match arg.split_once('=') {
        Some((name, value)) => (name, "=", Some(value)),
        None => (arg, "", None),
    })
}

fn safe(flag: &str, value: &str) -> String {
    let name = flag.to_ascii_lowercase().replace('_', "-");
    if SECRET_FLAGS.iter().any(|secret| name.contains(secret)) {
        return REDACTED.to_owned();
    }
    let known = flags::find(if flag.starts_with("--") { &name } else { flag }).map(|(flag, _)| flag);
    if known == Some(HEADER) {
        let sensitive = match value.split_once(':') {
            _ if value.trim_start().starts_with('{') => true,
            Some((name, _)) => is_sensitive_header(name.trim()),
            None => false,
        };
        return if sensitive { REDACTED.to_owned() } else { value.to_owned() };
    }
    if known.is_some_and(|flag| URLS.contains(&flag)) {
        return value.split(',').map(redacted).collect::<Vec<_>>().join(",");
    }
    if value.contains("://") {
        redacted(value)
    } else if known == Some(EXTRA_INPUTS) {
        redacted_text(value)
    } else {
        value.to_owned()
    }
}

fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(args: &[&str]) -> String {
        shown(&args.iter().map(|arg| arg.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn only_what_a_shell_would_split_is_quoted() {
        assert_eq!(
            show(&["profile", "-m", "a b", "--url", "http://h:1", "--osl", "-5"]),
            "aiperf profile -m 'a b' --url http://h:1 --osl -5"
        );
        assert_eq!(show(&["-m", "it's", ""]), "aiperf -m 'it'\\''s' ''");
    }

    #[test]
    fn secrets_are_taken_out_of_every_form_of_a_flag() {
        for args in [
            &["--api-key", "sk-1"][..],
            &["--api_key=sk-1"],
            &["-HAuthorization: Bearer sk-1"],
            &["-H=Authorization: Bearer sk-1"],
            &["--header", "{\"X-Api-Key\": \"sk-1\"}"],
            &["-uhttp://u:sk-1@h"],
            &["--url", "a:1,http://u:sk-1@h?token=sk-1"],
            &["--wandb-entity", "postgres://u:sk-1@h/x"],
            &["--extra-inputs", "api_key:sk-1"],
        ] {
            let shown = show(args);
            assert!(shown.contains("<redacted>") && !shown.contains("sk-1"), "{shown}");
        }
    }
}
