//! `golden/config/parsers.json`: single values. Also the same parsers in other areas.

use super::{cases, list, texts};
use crate::compose::observe::{attributes, metrics_url, otel_url, stream_domains};
use crate::file::{substitute, template};
use crate::flags::{self, Kind};
use crate::parse::{isl_osl_pairs, search_dimension, sequence_distribution, sla_filter, sla_tier, variant};
use crate::setting::Seconds;
use crate::sweep::{derived_seed, dir_name, logspace};
use crate::tokens::{Raw, RawFlag};
use crate::tree::{Node, Origin, Places};
use crate::{command_line, scalars, values};
use aiperf_plan::redact::{self, is_sensitive_header};
use aiperf_plan::{BaseUrl, FileNames};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Cases that decisions change: group, input, and what holds here instead (`None`: refused).
fn decided(group: &str, input: &Value) -> Option<Option<Value>> {
    match (group, input.as_str()) {
        // JSON numbers are numbers.
        ("coerce_value", Some("1e5")) => Some(Some(json!(100_000.0))),
        // $${ is the characters themselves.
        ("env_substitution", Some("$${A1}")) => Some(Some(json!("${A1}"))),
        // A foreign scheme is refused where the URL is read, not passed on.
        ("normalize_url", Some("javascript:1" | "data:x" | "mailto:a@b" | "file:x" | "://x")) => Some(None),
        _ => None,
    }
}

type Parse = fn(&Value) -> Result<Value, String>;

const PARSERS: &[(&str, Parse)] = &[
    ("coerce_value", |input| Ok(values::coerce(input.as_str().unwrap()))),
    ("key_value_pairs", |input| key_values(input).map(ordered)),
    ("int_or_list", |input| by_flag("--concurrency", input)),
    ("float_or_list", |input| by_flag("--request-rate", input)),
    ("numeric_dict", |input| values::goodput(input.as_str().unwrap())),
    ("normalize_url", |input| {
        BaseUrl::parse(input.as_str().unwrap()).map(|url| url.as_str().into()).map_err(|error| error.to_string())
    }),
    ("duration_seconds", duration),
    ("env_substitution", |input| {
        let env = [("A1", "v"), ("NUM", "42"), ("FLT", "1.50"), ("BT", "True"), ("EMPTY", "")];
        let env: BTreeMap<String, String> = env.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let mut node = Node::from_json(input, &Origin::Rule);
        substitute::resolve(&mut node, "x", &env, &Places::default()).map_err(|problem| problem.to_string())?;
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
    ("otel_url", |input| otel_url(input.as_str().unwrap()).map(Value::from).map_err(str::to_owned)),
    ("otel_attributes", |input| {
        let items = texts(input);
        attributes(&items.iter().map(String::as_str).collect::<Vec<_>>())
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
    ("server_metrics_url", |input| Ok(metrics_url(input.as_str().unwrap()).into())),
    ("variation_seed", |input| Ok(input[0].as_i64().map(|seed| derived_seed(seed, input[1].as_str().unwrap())).into())),
];

fn by_flag(name: &str, input: &Value) -> Result<Value, String> {
    // Numbers and lists come from Python callers; a command line has the text of them.
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
    assert!(matches!(flag.kind, Kind::IntOrList | Kind::FloatOrList));
    let given = RawFlag { flag, spelled: name.to_owned(), raw: Raw::Tokens(vec![text]) };
    values::value(&given, Path::new("/")).map_err(|problem| problem.to_string())
}

/// Tokens, a map, or a list of pairs, as `--extra-inputs` and a file may give them.
pub(super) fn key_values(input: &Value) -> Result<Value, String> {
    let coerced = |value: &Value| value.as_str().map_or_else(|| value.clone(), values::coerce);
    match input {
        Value::String(text) => values::pairs(std::slice::from_ref(text)).map_err(|(_, rule)| rule),
        Value::Object(map) => {
            Ok(map.iter().map(|(key, value)| (key.clone(), coerced(value))).collect::<Map<_, _>>().into())
        }
        Value::Array(items) if items.iter().all(Value::is_array) && !items.is_empty() => Ok(items
            .iter()
            .map(|pair| (pair[0].as_str().unwrap().to_owned(), coerced(&pair[1])))
            .collect::<Map<_, _>>()
            .into()),
        _ => values::pairs(&texts(input)).map_err(|(_, rule)| rule),
    }
}

pub(super) fn ordered(map: Value) -> Value {
    map.as_object().unwrap().iter().map(|(key, value)| json!([key, value])).collect()
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

fn headers(map: &Map<String, Value>) -> Value {
    map.iter()
        .map(|(name, value)| {
            (name.clone(), if is_sensitive_header(name) { "<redacted>".into() } else { value.clone() })
        })
        .collect::<Map<_, _>>()
        .into()
}

fn file_names(prefix: Option<&str>) -> Value {
    let names = FileNames::new(prefix);
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

/// The words of a command line, with single quotes.
pub(super) fn words(line: &str) -> Vec<String> {
    let (mut out, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        match c {
            '\'' => (quoted, any) = (!quoted, true),
            ' ' if !quoted => {
                if any {
                    out.push(std::mem::take(&mut word));
                }
                any = false;
            }
            c => {
                word.push(c);
                any = true;
            }
        }
    }
    if any {
        out.push(word);
    }
    out
}

/// Whether a prefix has an extension that goes here and stays in the reference: any plain one that is not among the
/// known endings (seed 002).
pub(super) fn unknown_extension(prefix: &str) -> bool {
    let known = [".parquet", ".csv", ".json", ".jsonl", "_console.txt"];
    let plain = prefix.rsplit_once('.').is_some_and(|(_, end)| {
        (1..=8).contains(&end.len())
            && end.starts_with(|c: char| c.is_ascii_alphabetic())
            && end.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    plain && !known.iter().any(|ending| prefix.ends_with(ending))
}

#[test]
fn golden_parsers_give_the_recorded_values() {
    let data = cases("config", "parsers.json");
    let (mut failed, mut count, mut changed) = (Vec::new(), 0, 0);
    for (group, parse) in PARSERS {
        for case in list(&data[group]) {
            count += 1;
            let found = parse(&case["input"]);
            if let Some(instead) = decided(group, &case["input"]) {
                changed += 1;
                assert_eq!(found.ok(), instead, "{group} {}", case["input"]);
                continue;
            }
            if ["int_or_list", "float_or_list"].contains(group) && outside(group, &case["expected"]) {
                changed += 1;
                assert!(found.is_err(), "{group} {}", case["input"]);
                continue;
            }
            if *group == "export_prefix" && case["input"].as_str().is_some_and(unknown_extension) {
                changed += 1;
                continue;
            }
            let ok = match &found {
                Ok(found) => case.get("error").is_none() && same(group, found, &case["expected"]),
                Err(_) => case["error"] == true,
            };
            if !ok {
                failed.push(format!("{group} {}: found {found:?}, wanted {}", case["input"], case["expected"]));
            }
        }
    }
    let known: Vec<&str> = PARSERS.iter().map(|(name, _)| *name).collect();
    for (group, value) in data.as_object().into_iter().flatten() {
        assert!(!value.is_array() || known.contains(&group.as_str()), "no parser for {group}");
    }
    println!("{count} values, {changed} changed by decision");
    assert!(failed.is_empty(), "{} of {count}:\n{}", failed.len(), failed.join("\n"));
}

/// Whether a number is one that the flag refuses: a range stands beside the flag, not behind it.
fn outside(group: &str, expected: &Value) -> bool {
    let flag = if group == "int_or_list" { flags::CONCURRENCY } else { flags::REQUEST_RATE };
    let numbers = expected.as_array().map_or(std::slice::from_ref(expected), Vec::as_slice);
    numbers.iter().filter_map(Value::as_f64).any(|number| !flag.range().holds(number))
}

fn same(group: &str, found: &Value, wanted: &Value) -> bool {
    match group {
        // Only the files this project writes so far have names.
        "export_prefix" => found.as_object().unwrap().iter().all(|(key, name)| &wanted[key] == name),
        // Whole numbers of a list of floats.
        "float_or_list" | "numeric_dict" | "duration_seconds" => loosely(found, wanted),
        // Quotes only where a shell needs them.
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

#[test]
fn golden_extra_inputs_give_the_recorded_pairs() {
    let data = cases("endpoints", "extra_inputs.json");
    // Arabic digits are text: only ASCII digits make a number. Exponents do.
    let decided = [(json!(["a:\u{661}"]), json!([["a", "\u{661}"]]))];
    for case in list(&data["cases"]) {
        let found = key_values(&case["input"]).map(ordered);
        let input = &case["input"];
        if let Some((_, instead)) = decided.iter().find(|(other, _)| other == input) {
            assert_eq!(found.as_ref(), Ok(instead));
        } else if case["expected"].get("error").is_some() {
            assert!(found.is_err(), "{input}");
        } else {
            let mut wanted = case["expected"]["pairs"].clone();
            for pair in wanted.as_array_mut().unwrap() {
                if pair[1] == "1e5" {
                    pair[1] = json!(100_000.0);
                }
            }
            assert_eq!(found, Ok(wanted), "{input}");
        }
    }
    println!("{} inputs", list(&data["cases"]).len());
}

#[test]
fn golden_sequence_distributions_are_read_as_recorded() {
    let data = cases("datasets", "seq_dist.json");
    for case in list(&data["cases"]) {
        let input = case["input"].as_str().unwrap();
        let ascii = input.is_ascii();
        match sequence_distribution(input) {
            Err(rule) => assert!(case["ok"] == false || !ascii, "{input}: {rule}"),
            Ok(found) => {
                assert_eq!(case["ok"], true, "{input}");
                let pairs: Vec<Value> = list(&found)
                    .iter()
                    .map(|pair| {
                        json!({
                            "isl": pair["isl"]["mean"].as_f64().unwrap() as i64,
                            "isl_stddev": pair["isl"]["stddev"],
                            "osl": pair["osl"]["mean"].as_f64().unwrap() as i64,
                            "osl_stddev": pair["osl"]["stddev"],
                            "prob": pair["probability"],
                        })
                    })
                    .collect();
                assert_eq!(Value::from(pairs), case["pairs"], "{input}");
            }
        }
    }
    println!("{} distributions", list(&data["cases"]).len());
}

#[test]
fn golden_search_flags_are_read_as_recorded() {
    let data = cases("orchestration", "flag_parsers.json");
    for case in list(&data["cases"]) {
        let input = case["input"].as_str().unwrap();
        let found = match case["kind"].as_str().unwrap() {
            "sla" => sla_filter(input),
            "tier" => tier(input, 2),
            "search_space" => search_dimension(input),
            "variant" => variant(input).map(|(name, map)| json!([name, map])),
            "isl_osl_pairs" => {
                isl_osl_pairs(input).map(|pairs| pairs.iter().map(|(isl, osl)| json!([isl, osl])).collect())
            }
            other => panic!("unknown kind {other}"),
        };
        match case["expected"].get("ok") {
            Some(wanted) => assert_eq!(found.as_ref(), Ok(wanted), "{input}"),
            None => assert!(found.is_err(), "{input}"),
        }
    }
    println!("{} flags", list(&data["cases"]).len());
}
