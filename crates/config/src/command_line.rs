//! The command line for output: quoted for a shell, without secrets.

use crate::flags::{self, EXTRA_INPUTS, Flag, HEADER, MLFLOW_TRACKING_URI, OTEL_RESOURCE_ATTRIBUTES, OTEL_URL, URL};
use crate::os_text;
use crate::values::pairs;
use aiperf_plan::redact::{
    REDACTED, is_secret_name, is_sensitive_header, secrets_in_header, secrets_in_members, secrets_in_template,
    secrets_in_url, template, text as redacted_text, url as redacted, urls, visit_secret_members, visit_texts,
};
use serde_json::{Map, Value};

/// Flags whose value is a URL, or several.
const URLS: &[&Flag] = &[URL, OTEL_URL, MLFLOW_TRACKING_URI];

/// `aiperf` followed by the arguments, each quoted for a POSIX shell if it needs quotes.
pub fn shown(args: &[String]) -> String {
    let mut out = String::from("aiperf");
    let args: Vec<String> = args.iter().map(|arg| os_text::shown(arg)).collect();
    for piece in pieces(&args) {
        out.push(' ');
        match piece {
            Piece { flag, own: true, value: Some((sign, value)) } => {
                out.push_str(&format!("{flag}{sign}{}", quoted(&safe(flag, value))));
            }
            Piece { flag, own: true, value: None } => out.push_str(&quoted(flag)),
            Piece { flag, value, .. } => out.push_str(&quoted(&safe(flag, value.unwrap_or_default().1))),
        }
    }
    out
}

/// The secrets in arguments, which must stay hidden even before a plan exists.
pub fn secrets(args: &[String]) -> Vec<String> {
    pieces(args)
        .filter_map(|piece| Some((piece.flag, piece.value?.1)))
        .flat_map(|(flag, value)| of(flag, value))
        .collect()
}

/// One argument: its flag, whether it names that flag, and its value with the preceding sign.
struct Piece<'a> {
    flag: &'a str,
    own: bool,
    value: Option<(&'a str, &'a str)>,
}

fn pieces(args: &[String]) -> impl Iterator<Item = Piece<'_>> {
    let mut flag = "";
    args.iter().map(move |arg| match split_flag(arg) {
        Some((name, sign, value)) => {
            flag = name;
            Piece { flag, own: true, value: value.map(|value| (sign, value)) }
        }
        None => Piece { flag, own: false, value: Some(("", arg)) },
    })
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

/// The kind of secret that the value of a flag may contain.
enum Holds {
    /// The whole value is a secret.
    Secret,
    Header,
    Urls,
    /// One URL, or none.
    Url,
    Members,
    /// `name=value` items between commas.
    Attributes,
    Nothing,
}

impl Holds {
    fn of(flag: &str, value: &str) -> Self {
        let name = flag.to_ascii_lowercase().replace('_', "-");
        if is_secret_flag(&name) {
            return Self::Secret;
        }
        let known = flags::find(if flag.starts_with("--") { &name } else { flag }).map(|(flag, _)| flag);
        match known {
            Some(flag) if flag == HEADER => Self::Header,
            Some(flag) if URLS.contains(&flag) => Self::Urls,
            Some(flag) if flag == EXTRA_INPUTS => Self::Members,
            Some(flag) if flag == OTEL_RESOURCE_ATTRIBUTES => Self::Attributes,
            _ if value.contains("://") => Self::Url,
            _ => Self::Nothing,
        }
    }
}

/// Whether a flag's name, or two or more words of it, mark a secret, as in `--my-api-key-again`.
fn is_secret_flag(name: &str) -> bool {
    let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
    let several = |start: usize| (start + 2..=words.len()).map(move |end| (start, end));
    let runs = (0..words.len()).flat_map(several).chain([(0, words.len())]);
    // A count of tokens is no secret.
    let counts = |end: usize| words.get(end) == Some(&"count");
    runs.into_iter().any(|(start, end)| !counts(end) && is_secret_name(&words[start..end].join("-")))
}

fn safe(flag: &str, value: &str) -> String {
    match Holds::of(flag, value) {
        Holds::Secret => REDACTED.to_owned(),
        Holds::Header => {
            let sensitive = match value.split_once(':') {
                _ if value.trim_start().starts_with('{') => true,
                Some((name, _)) => is_sensitive_header(name.trim()),
                None => false,
            };
            if sensitive { REDACTED.to_owned() } else { urls(value) }
        }
        Holds::Urls => value.split(',').map(redacted).collect::<Vec<_>>().join(","),
        Holds::Url => redacted(value),
        Holds::Members => safe_members(value),
        Holds::Attributes => {
            let shown = |item: &str| match secret_attribute(item) {
                Some((name, _)) => format!("{name}={REDACTED}"),
                None => redacted(item),
            };
            value.split(',').map(shown).collect::<Vec<_>>().join(",")
        }
        Holds::Nothing => value.to_owned(),
    }
}

/// Extra inputs without their secrets: as typed if they contain none, else in a form with the same meaning.
fn safe_members(typed: &str) -> String {
    let Some(given) = members(typed) else { return redacted_text(typed) };
    let mut shown = given.clone();
    if let Some(Value::String(text)) = shown.get_mut(TEMPLATE) {
        *text = template(text).into_owned();
    }
    let mut all = Value::Object(shown);
    visit_secret_members(&mut all, &mut |_, member| *member = REDACTED.into());
    for (_, member) in all.as_object_mut().into_iter().flatten().filter(|(name, _)| *name != TEMPLATE) {
        visit_texts(member, &mut |text| *text = redacted_text(text));
    }
    match all {
        Value::Object(shown) if shown == given => typed.to_owned(),
        all if typed.trim_start().starts_with('{') => all.to_string(),
        all => {
            let pair = |(name, member): (&String, &Value)| match member {
                Value::String(text) => format!("{name}:{text}"),
                other => format!("{name}:{other}"),
            };
            all.as_object().into_iter().flatten().map(pair).collect::<Vec<_>>().join(",")
        }
    }
}

/// The member of extra inputs that is a template of the body.
const TEMPLATE: &str = "payload_template";

fn members(typed: &str) -> Option<Map<String, Value>> {
    match pairs(&[typed.to_owned()]) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    }
}

/// The secrets in the value of a flag.
fn of(flag: &str, value: &str) -> Vec<String> {
    let pair = value.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
    // A value that is neither a pair nor an object is refused, and may contain anything.
    let is_odd = |name: &str| name.contains(|c: char| c.is_whitespace() || "{\"'".contains(c));
    let words = || value.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    match Holds::of(flag, value) {
        Holds::Secret => vec![value.to_owned()],
        Holds::Header => {
            let members = serde_json::from_str::<Map<String, Value>>(value).unwrap_or_default();
            if members.is_empty() && words().any(is_sensitive_header) && pair.is_none_or(|(name, _)| is_odd(name)) {
                return vec![value.to_owned()];
            }
            let members = members.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
            members.chain(pair).flat_map(|(name, value)| secrets_in_header(name, value)).collect()
        }
        Holds::Urls | Holds::Url => value.split(',').flat_map(secrets_in_url).collect(),
        Holds::Members => {
            let Some(members) = members(value) else {
                let is_any = words().any(is_secret_name);
                return if is_any { vec![value.to_owned()] } else { secrets_in_template(value) };
            };
            let template = members.get(TEMPLATE).and_then(Value::as_str);
            let mut secrets = secrets_in_members(&members);
            secrets.extend(template.map_or_else(Vec::new, secrets_in_template));
            secrets
        }
        Holds::Attributes => {
            let is_odd = |item: &str| !item.contains('=') && words().any(is_secret_name);
            let secret = |item: &str| match secret_attribute(item) {
                Some((_, value)) => Some(value.trim().to_owned()),
                None => is_odd(item).then(|| item.trim().to_owned()),
            };
            value.split(',').filter_map(secret).chain(value.split(',').flat_map(secrets_in_url)).collect()
        }
        Holds::Nothing => Vec::new(),
    }
}

/// Name and value of an attribute with a secret name.
fn secret_attribute(item: &str) -> Option<(&str, &str)> {
    item.split_once('=').filter(|(name, _)| is_secret_name(name.trim()))
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
    fn only_arguments_that_a_shell_would_split_are_quoted() {
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
            &["--header", "X-Backend: https://u:sk-1@h/x?api_key=sk-1"],
            &["--extra-inputs", "{\"dsn\": \"postgres://u:sk-1@h/db\", \"img\": \"https://h/x?sig=sk-1&a=1\"}"],
            &["--url", "a:1,http://u:sk-1@h?token=sk-1"],
            &["--wandb-entity", "postgres://u:sk-1@h/x"],
            &["--extra-inputs", "api_key:sk-1"],
            &["--otel-resource-attributes", "team=a,api_key=sk-1"],
            &["--otel-resource-attributes=x.token=a,password=sk-1,url=http://u:sk-1@h"],
            &["--extra-inputs", "payload_template:{\"api_key\":\"sk-1\",\"url\":\"http://h/\"}"],
            &["--extra-inputs", "{\"payload_template\":\"{\\\"api_key\\\":\\\"sk-1\\\"}\"}"],
            &["--extra-inputs", "{\"auth\": {\"user\": \"sk-1\"}}"],
            &["--extra-inputs", "a:1,credentials:[{\"user\": \"sk-1\"}]"],
            &["--extra-inputs", "{'auth': {'user': 'sk-1'}}"],
        ] {
            let shown = show(args);
            assert!(shown.contains("<redacted>") && !shown.contains("sk-1"), "{shown}");
        }
    }

    #[test]
    fn extra_inputs_are_shown_as_typed_except_secrets() {
        for (typed, shown) in [
            ("{\"temperature\":  0.7}", "'{\"temperature\":  0.7}'"),
            ("{\"auth\": {\"user\": \"u\", \"x\": [1]}, \"top_k\": 1}", "'{\"auth\":\"<redacted>\",\"top_k\":1}'"),
            ("auth:{\"user\": \"u\"},top_k:1", "'auth:<redacted>,top_k:1'"),
            ("api_keys:[\"a\"],stop:[\"b\"]", "'api_keys:<redacted>,stop:[\"b\"]'"),
            ("max_tokens:5,prompt_cache_key:k", "max_tokens:5,prompt_cache_key:k"),
        ] {
            assert_eq!(show(&["--extra-inputs", typed]), format!("aiperf --extra-inputs {shown}"));
        }
    }

    #[test]
    fn the_secrets_of_arguments_are_found_before_there_is_a_plan() {
        for args in [
            &["--api-key", "sk-1234"][..],
            &["--api_key=sk-1234"],
            &["-HAuthorization: Bearer sk-1234"],
            &["--header", "{\"X-Api-Key\": \"sk-1234\"}"],
            &["--url", "a:1,http://u:sk-1234@h:99999"],
            &["--url", "h:1?X-Amz-Security-Token=sk-1234"],
            &["--extra-inputs", "{\"a\": {\"accesstoken\": \"sk-1234\"}}"],
            &["--extra-inputs", "api_key:sk-1234", "x:1"],
            &["--extra-inputs", "payload_template:{\"api_key\":\"sk-1234\",\"url\":\"http://h/\"}"],
            &["--extra-inputs", "{\"payload_template\":\"{\\\"api_key\\\":\\\"sk-1234\\\"}\"}"],
            &["--extra-inputs", "image:http://user:sk-1234@h/x.png"],
            &["-HX-Backend: https://user:sk-1234@h/x"],
            &["--extra-inputs", "{\"images\": [\"see https://h/x?sig=sk-1234\"]}"],
            &["--extra-inputs", "auth:{\"user\": \"sk-1234\"}"],
            &["--extra-inputs", "{\"credentials\": [{\"x\": [\"sk-1234\"]}]}"],
        ] {
            let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
            assert!(secrets(&args).iter().any(|secret| secret == "sk-1234"), "{args:?}");
        }
        for odd in ["api_key sk-1234", "{\"api_key\": \"sk-1234\"", "{'api_key': 'sk-1234'}"] {
            assert_eq!(secrets(&["--extra-inputs".into(), odd.into()]), [odd]);
        }
        assert_eq!(secrets(&["-H".into(), "Authorization Bearer sk-1234".into()]), ["Authorization Bearer sk-1234"]);
        assert!(secrets(&["--model".into(), "m".into(), "-H".into(), "X-Team:blue".into()]).is_empty());
    }

    #[test]
    fn only_the_key_is_a_secret_flag() {
        let secret = |flag: &&Flag| is_secret_flag(flag.name);
        let found: Vec<&str> = flags::all().filter(secret).map(|flag| flag.name).collect();
        assert_eq!(found, ["--api-key"]);
    }
}
