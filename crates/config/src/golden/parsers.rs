//! Single values: lists of cases that name a function of AIPerf.

use super::{
    exponents, has_json_value, has_other_digits, headers, key_values, names_for, ordered, texts, unknown_extension,
    words,
};
use crate::compose::observe::{attributes, metrics_url, otel_url, stream_domains};
use crate::file::{substitute, template};
use crate::flags::{self, FlagType};
use crate::parse::{isl_osl_pairs, search_dimension, sla_filter, sla_tier, variant};
use crate::setting::Seconds;
use crate::sweep::{derived_seed, dir_name, logspace};
use crate::tokens::{Raw, RawFlag};
use crate::tree::{Node, Origin, Places};
use crate::{command_line, scalars, values};
use aiperf_golden::kinds::config::PARSER;
use aiperf_golden::{Tally, is_own_root};
use aiperf_plan::redact;
use aiperf_plan::{BaseUrl, UrlError};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

type Parse = fn(&Value) -> Result<Value, String>;

const PARSERS: &[(&str, Parse)] = &[
    ("coerce_value", |input| Ok(values::coerce(input.as_str().unwrap()))),
    ("key_value_pairs", |input| key_values(input).map(ordered)),
    ("int_or_list", |input| by_flag("--concurrency", input)),
    ("float_or_list", |input| by_flag("--request-rate", input)),
    ("numeric_dict", |input| values::goodput(input.as_str().unwrap())),
    ("normalize_url", |input| {
        // AIPerf leaves credentials in the URL; here they are stored separately.
        let text = input.as_str().unwrap();
        let url = BaseUrl::parse(text).map_err(|error| error.to_string())?;
        let userinfo = authority(text).rsplit_once('@');
        match (url.credentials(), userinfo, url.as_str().split_once("://")) {
            (Some(_), Some((userinfo, _)), Some((scheme, rest))) => Ok(format!("{scheme}://{userinfo}@{rest}").into()),
            _ => Ok(url.as_str().into()),
        }
    }),
    ("duration_seconds", duration),
    ("env_substitution", |input| {
        let env = [("A1", "v"), ("NUM", "42"), ("FLT", "1.50"), ("BT", "True"), ("EMPTY", "")];
        let env: BTreeMap<String, String> = env.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let mut node = Node::from_json(input, &Origin::Rule);
        substitute::resolve(&mut node, "x", &env, &Places::default(), &mut Map::new())
            .map_err(|problem| problem.to_string())?;
        Ok(node.to_json())
    }),
    ("jinja_render", |input| {
        let mut node = Node::from_json(input, &Origin::Rule);
        template::render(&mut node, &Places::default()).map_err(|problem| problem.to_string())?;
        Ok(node.to_json())
    }),
    ("variant", |input| variant(input.as_str().unwrap()).map(|(name, map)| json!([name, map]))),
    ("search_space", |input| search_dimension(input.as_str().unwrap()).map(|dimension| json!([dimension]))),
    ("sla_filter", |input| sla_filter(input.as_str().unwrap())),
    ("sla_tier", |input| tier(input.as_str().unwrap(), 1)),
    ("otel_url", |input| otel_url(input.as_str().unwrap()).map(Value::from).map_err(|error| error.to_string())),
    ("otel_attributes", |input| {
        let items = texts(input);
        let map = attributes(&items.iter().map(String::as_str).collect::<Vec<_>>());
        map.map_err(|(item, fault)| format!("{item} {fault}"))
    }),
    ("stream_domains", |input| {
        let items = texts(input);
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        stream_domains(&items).map(|(metrics, timing)| json!([metrics, timing])).map_err(str::to_owned)
    }),
    ("export_prefix", |input| Ok(file_names(input.as_str()))),
    ("variation_dir_name", |input| {
        let values = input["values"].as_object().unwrap();
        Ok(dir_name(values, input["label"].as_str().unwrap(), input["index"].as_u64().unwrap_or(3) as usize).into())
    }),
    ("redact_url", |input| Ok(redact::url(input.as_str().unwrap()).into())),
    ("redact_headers", |input| Ok(headers(input.as_object().unwrap()))),
    ("redact_cli_command", |input| {
        let args = words(input.as_str().unwrap());
        Ok(command_line::shown(&args[1..]).into())
    }),
    ("logspace_int_steps", |input| {
        let at = |index: usize| input[index].as_i64().unwrap();
        logspace(at(0), at(1), at(2)).map(Value::from).map_err(str::to_owned)
    }),
    ("server_metrics_url", |input| {
        let url = metrics_url(input.as_str().unwrap()).transpose();
        url.map(Value::from).map_err(|error| error.to_string())
    }),
    ("variation_seed", |input| Ok(input[0].as_i64().map(|seed| derived_seed(seed, input[1].as_str().unwrap())).into())),
];

/// Credentials, host and port of a URL, with or without its scheme.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())]
}

/// Whether no request can be sent to a URL, which is then refused when it is parsed: it has white space or characters
/// that a URL cannot have, no host, or no valid port.
fn names_no_server(url: &str) -> bool {
    if url.starts_with("unix:") {
        return false;
    }
    let server = authority(url).rsplit('@').next().unwrap_or_default();
    let after_host = server.strip_prefix('[').map_or(server, |rest| rest.split_once(']').map_or("", |(_, port)| port));
    let (host, port) = after_host.split_once(':').unwrap_or((after_host, "1"));
    let has_host = server.starts_with('[') || !host.is_empty();
    !url.is_ascii()
        || url.contains(char::is_whitespace)
        || !has_host
        || port.parse::<u16>().map_or(true, |port| port == 0)
}

fn by_flag(name: &str, input: &Value) -> Result<Value, String> {
    // Numbers and lists come from Python callers; a command line has their text.
    let text = match input {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                .collect::<Vec<_>>()
                .join(",")
                + ","
        }
        other => other.to_string(),
    };
    let (flag, _) = flags::find(name).unwrap();
    assert!(matches!(flag.kind, FlagType::IntOrList | FlagType::FloatOrList));
    let given = RawFlag { flag, spelled: name.to_owned(), raw: Raw::Tokens(vec![text]) };
    values::value(&given, Path::new("/")).map_err(|problem| problem.to_string())
}

fn duration(input: &Value) -> Result<Value, String> {
    match input {
        Value::Null => Ok(Value::Null),
        Value::Number(n) => Ok(scalars::number(n.as_f64().unwrap())),
        Value::String(text) => {
            Seconds::parse(text).map(|seconds| scalars::number(seconds.0)).ok_or_else(|| "no duration".to_owned())
        }
        _ => Err("no duration".to_owned()),
    }
}

fn tier(text: &str, number: usize) -> Result<Value, String> {
    sla_tier(text, number).map(|mut tier| {
        tier["ordering_rank"] = Value::Null;
        tier
    })
}

fn file_names(prefix: Option<&str>) -> Value {
    let names = names_for(prefix);
    json!({
        "profile_export_csv_file": names.summary_csv,
        "profile_export_json_file": names.summary_json,
        "profile_export_timeslices_csv_file": names.timeslices_csv,
        "profile_export_timeslices_json_file": names.timeslices_json,
        "profile_export_jsonl_file": names.records_jsonl,
        "profile_export_raw_jsonl_file": names.raw_jsonl,
        "profile_export_console_txt_file": names.console_txt,
    })
}

#[test]
fn golden_values_are_parsed_as_recorded() {
    let mut tally = Tally::of(PARSER);
    let mut unused: Vec<&str> = PARSERS.iter().map(|(name, _)| *name).collect();
    for list in PARSER.lists() {
        // One list of several is named by its file and its key.
        let name = list.name();
        let group = name.split_once(' ').map_or(name.as_str(), |(_, group)| group);
        unused.retain(|parser| *parser != group);
        for case in list.cases() {
            match PARSERS.iter().find(|(known, _)| *known == group) {
                Some((_, parse)) => run(group, *parse, case, &mut tally),
                None => tally.skip(format!("nothing parses {group}")),
            }
        }
    }
    tally.finish();
    assert!(unused.is_empty() || !is_own_root(), "no case for {unused:?}");
}

fn run(group: &str, parse: Parse, case: &Value, tally: &mut Tally) {
    let input = &case["input"];
    if group == "export_prefix" && input.as_str().is_some_and(unknown_extension) {
        return tally.skip("any plain extension of a prefix goes, not only the known ones");
    }
    if group == "key_value_pairs" && has_json_value(input) {
        return tally.skip("a list or an object behind a colon is a JSON value");
    }
    if let Some(reason) = incomparable(group, input) {
        return tally.skip(reason);
    }
    tally.run(format!("{group} {input}"), || {
        let found = parse(input);
        if has_other_digits(input) && READS_NUMBERS.contains(&group) {
            // Only ASCII digits make a number: others are refused, or are text.
            assert!(found.as_ref().map_or(true, has_other_digits), "{found:?}");
            return;
        }
        if refused_here(group, input, &case["expected"]) {
            assert!(found.is_err(), "accepted as {found:?}");
            return;
        }
        let wanted = decided(group, input, &case["expected"]);
        match &found {
            Ok(found) => assert!(case.get("error").is_none() && same(group, found, &wanted), "{found}, not {wanted}"),
            Err(error) => assert_eq!(case["error"], true, "{error}"),
        }
    });
}

/// Groups in which texts become numbers.
const READS_NUMBERS: [&str; 6] =
    ["coerce_value", "key_value_pairs", "int_or_list", "float_or_list", "numeric_dict", "duration_seconds"];

/// Why a case cannot be compared: no function of ours takes it, or a decision changes its result.
fn incomparable(group: &str, input: &Value) -> Option<&'static str> {
    const BY_CODE: &str = "neither a command line nor a file gives such a value";
    let is_pair = |pair: &Value| pair.as_array().is_some_and(|pair| pair.len() == 2 && pair[0].is_string());
    let is_list_of = |is_one: &dyn Fn(&Value) -> bool| input.as_array().is_some_and(|list| list.iter().all(is_one));
    let text = input.as_str().unwrap_or_default();
    let is_long = text.len() > 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    match group {
        "key_value_pairs" if !input.is_string() && !input.is_object() => {
            (!is_list_of(&Value::is_string) && !is_list_of(&is_pair)).then_some(BY_CODE)
        }
        "numeric_dict" => (!input.is_string()).then_some(BY_CODE),
        "int_or_list" | "float_or_list" if input.is_null() || input.is_object() => Some(BY_CODE),
        "duration_seconds" if input.is_array() || input.is_object() => Some(BY_CODE),
        "coerce_value" if text != text.trim() => Some("white space around a value goes before it is looked at"),
        "coerce_value" if is_long => Some("a whole number beyond 64 bits stays a text"),
        "server_metrics_url" if !text.contains([':', '/']) => Some("15.8: what is no URL is refused by name"),
        "redact_cli_command" if [" --header ", " -H "].iter().all(|flag| text.contains(flag)) => {
            Some("a header field ends where the next flag begins")
        }
        "redact_cli_command" if has_quoted_secret(text) => Some("a quoted secret is redacted up to its closing quote"),
        _ => None,
    }
}

/// Whether a secret on a command line has white space within its quotes, where AIPerf ends it.
fn has_quoted_secret(line: &str) -> bool {
    let words = words(line);
    let is_secret = |flag: &str| ["--api-key"].contains(&flag);
    words.windows(2).any(|pair| is_secret(&pair[0]) && pair[1].contains(char::is_whitespace))
}

/// What AIPerf accepts and this program refuses.
fn refused_here(group: &str, input: &Value, expected: &Value) -> bool {
    let has = |is_one: fn(&Value) -> bool| input.as_array().is_some_and(|items| items.iter().any(is_one));
    match group {
        // A foreign scheme is refused when the URL is parsed, not passed on.
        "normalize_url" => {
            let text = input.as_str().unwrap_or_default();
            names_no_server(text) || matches!(BaseUrl::parse(text), Err(UrlError::Scheme(_)))
        }
        "int_or_list" => outside(group, expected) || has(|item| !item.is_i64() && !item.is_string()),
        "float_or_list" => outside(group, expected) || has(|item| !item.is_number() && !item.is_string()),
        "duration_seconds" => input.is_boolean(),
        _ => false,
    }
}

#[test]
fn urls_that_name_no_server_are_recognised_by_their_text() {
    for url in ["http://", "", "//h", "http:/h", "http://h:99999", "http://h:abc", " http://h", "http://ü.de", "h:0"] {
        assert!(names_no_server(url), "{url}");
        assert!(BaseUrl::parse(url).is_err(), "{url}");
    }
    for url in ["h", "localhost:8000", "http://u:p@h:1/x@y", "[::1]:5", "http://[::1]/x", "https://h?x=1"] {
        assert!(!names_no_server(url), "{url}");
        assert!(BaseUrl::parse(url).is_ok(), "{url}");
    }
}

/// A recorded value after the decisions that change it.
fn decided(group: &str, input: &Value, expected: &Value) -> Value {
    match (group, input.as_str()) {
        ("coerce_value", Some(_)) | ("key_value_pairs", _) => exponents(expected),
        // Everything before the host is a credential.
        ("redact_url", Some(text)) if authority(text).matches('@').count() > 1 => {
            let host = authority(text).rsplit('@').next().unwrap_or_default();
            text.replacen(authority(text), &format!("{}@{host}", redact::REDACTED), 1).into()
        }
        // $${ is an escape for the characters themselves.
        ("env_substitution", Some(text)) if text.starts_with("$${") => text[1..].into(),
        _ => expected.clone(),
    }
}

/// Whether the flag refuses a number: its range is in the row of the flag, not in the parser.
fn outside(group: &str, expected: &Value) -> bool {
    let flag = if group == "int_or_list" { flags::CONCURRENCY } else { flags::REQUEST_RATE };
    let numbers = expected.as_array().map_or(std::slice::from_ref(expected), Vec::as_slice);
    numbers.iter().filter_map(Value::as_f64).any(|number| !flag.range().holds(number))
}

fn same(group: &str, found: &Value, wanted: &Value) -> bool {
    match group {
        // Only the files that this program writes have names here.
        "export_prefix" => found.as_object().unwrap().iter().all(|(key, name)| &wanted[key] == name),
        // Whole numbers in a list of floats.
        "float_or_list" | "numeric_dict" | "duration_seconds" => loosely(found, wanted),
        // Quotes only if a shell needs them.
        "redact_cli_command" => words(found.as_str().unwrap()) == words(wanted.as_str().unwrap()),
        _ => found == wanted,
    }
}

fn loosely(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| loosely(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| loosely(value, &b[key]))
        }
        _ => found.as_f64().is_some_and(|n| Some(n) == wanted.as_f64()) || found == wanted,
    }
}

/// One value of a flag about searches, by the kind of its case.
pub(super) fn search_flag(case: &Value, tally: &mut Tally) {
    let input = case["input"].as_str().unwrap_or_default();
    let found = match case["kind"].as_str().unwrap_or_default() {
        "sla" => sla_filter(input),
        "tier" => tier(input, 2),
        "search_space" => search_dimension(input),
        "variant" => variant(input).map(|(name, map)| json!([name, map])),
        "isl_osl_pairs" => isl_osl_pairs(input).map(|pairs| pairs.iter().map(|(isl, osl)| json!([isl, osl])).collect()),
        other => return tally.skip(format!("nothing reads {other}")),
    };
    tally.run(input, || match case["expected"].get("ok") {
        Some(wanted) => assert_eq!(found.as_ref(), Ok(wanted)),
        None => assert!(found.is_err(), "accepted as {found:?}"),
    });
}
