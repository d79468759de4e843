//! Text of a flag to a value of its kind.

use crate::choice::Choice;
use crate::error::Problem;
use crate::flags::{API_KEY, CUSTOM_DATASET_TYPE, Flag, FlagType, PUBLIC_DATASET, Takes, VARIANT};
use crate::nearest::nearest;
use crate::os_text;
use crate::range::{Range, largest_at};
use crate::scalars::{choice, float, int, number};
use crate::sections::layout::Layout;
use crate::setting::Seconds;
use crate::tokens::{Raw, RawFlag};
use aiperf_plan::PublicSet;
use aiperf_types::{Slo, SloFault};
use serde_json::{Map, Value};
use std::path::Path;

/// The value of a flag, checked against its kind and range. Non-finite numbers are stored as the texts `inf`, `-inf`
/// and `nan`, which are not JSON numbers.
pub(crate) fn value(given: &RawFlag, cwd: &Path) -> Result<Value, Problem> {
    let tokens = match &given.raw {
        Raw::Bool(on) => return Ok(Value::Bool(*on)),
        Raw::Tokens(tokens) => tokens,
    };
    let is_path = matches!(given.flag.kind, FlagType::Path | FlagType::ExistingPath) || given.flag == API_KEY;
    if let Some(odd) = tokens.iter().find(|token| !is_path && !os_text::is_text(token)) {
        return Err(Problem::new(format!("{} '{}' is not UTF-8 text", given.spelled, os_text::shown(odd)))
            .because("only file paths may contain other bytes")
            .at(given.flag.to.location()));
    }
    if matches!(given.flag.takes, Takes::Many { comma: true, .. })
        && let Some((at, count)) = tokens.iter().find_map(|token| empty_item(token))
    {
        return Err(Problem::new(format!("{}: item {at} of {count} is empty", given.spelled))
            .because("a comma separates two items")
            .hint("leave the comma out, or add the missing item")
            .at(given.flag.to.location()));
    }
    let one = || tokens.first().map(String::as_str).unwrap_or_default();
    let refuse = |text: &str, rule: String| {
        Problem::new(format!("{} {text} {rule}", given.spelled)).at(given.flag.to.location())
    };
    let range = || given.flag.range();
    // A number that is too large for any setting names the limit of its own.
    let int = |text: &str| {
        int(text).map_err(|rule| match float(text) {
            Ok(n) if n >= i64::MAX as f64 => format!("must be at most {}", largest_at(&given.flag.to.location())),
            _ => rule,
        })
    };
    match given.flag.kind {
        FlagType::Bool => Ok(Value::Bool(true)),
        FlagType::Text | FlagType::Path => Ok(Value::String(one().to_owned())),
        FlagType::ExistingPath => existing(one(), given, cwd),
        FlagType::Int => {
            int(one()).and_then(|n| in_range(n as f64, range(), n.into())).map_err(|rule| refuse(one(), rule))
        }
        FlagType::Float => float(one())
            .and_then(|n| in_range(n, range(), number(n)))
            .map_err(|rule| in_seconds(refuse(one(), rule), one(), given)),
        FlagType::IntOrList => list_or_one(one(), |text| {
            int(text).and_then(|n| in_range(n as f64, range(), n.into())).map_err(|rule| refuse(text, rule))
        }),
        FlagType::FloatOrList => list_or_one(one(), |text| {
            float(text)
                .and_then(|n| in_range(n, range(), number(n)))
                .map_err(|rule| in_seconds(refuse(text, rule), text, given))
        }),
        FlagType::Choice(choices) => {
            choice(one(), choices).map(Value::from).ok_or_else(|| unknown_choice(given, one(), choices))
        }
        FlagType::Literal(choices) => match choices.iter().find(|choice| **choice == one()) {
            Some(choice) => Ok(Value::from(*choice)),
            None => Err(unknown_choice(given, one(), choices)),
        },
        FlagType::IntChoice(choices) => {
            let n = int(one()).map_err(|rule| refuse(one(), rule))?;
            if choices.contains(&n) {
                return Ok(n.into());
            }
            let all: Vec<String> = choices.iter().map(i64::to_string).collect();
            Err(refuse(one(), "is not one of its choices".into()).because(format!("choices: {}", all.join(", "))))
        }
        FlagType::Choices(choices) => split(tokens, given.flag)
            .map(|text| choice(text, choices).map(Value::from).ok_or_else(|| unknown_choice(given, text, choices)))
            .collect(),
        FlagType::Texts | FlagType::Urls => Ok(split(tokens, given.flag).map(Value::from).collect()),
        FlagType::Ints | FlagType::Floats => split(tokens, given.flag)
            .map(|text| {
                let above_zero = |n: f64| if n > 0.0 { Ok(number(n)) } else { Err("must be more than 0".to_owned()) };
                let parsed = if given.flag.kind == FlagType::Ints {
                    int(text).and_then(|n| above_zero(n as f64).map(|_| n.into()))
                } else {
                    float(text).and_then(above_zero)
                };
                parsed.map_err(|rule| refuse(text, rule))
            })
            .collect(),
        FlagType::Pairs => pairs(tokens).map_err(|(text, rule)| {
            refuse(&format!("'{text}'"), rule).hint(format!("{} key:value, or a JSON object", given.spelled))
        }),
        FlagType::Headers => named_texts(tokens).map_err(|(text, rule)| {
            refuse(&format!("'{text}'"), rule).hint(format!("{} 'Name: value', or a JSON object", given.spelled))
        }),
        FlagType::Tags => named_texts(tokens)
            .map_err(|(text, rule)| refuse(&format!("'{text}'"), rule).hint(format!("{} key:value", given.spelled))),
        FlagType::Goodput => goodput(one()).map_err(|rule| {
            refuse(&format!("'{}'", one()), rule)
                .hint(format!("{} 'request_latency:500 time_to_first_token:100'", given.spelled))
        }),
    }
}

/// Times on a command line are plain seconds; a value with a unit gets its number of seconds as a hint.
fn in_seconds(problem: Problem, text: &str, given: &RawFlag) -> Problem {
    match Seconds::parse(text) {
        Some(Seconds(seconds)) if text.ends_with(|c: char| c.is_ascii_alphabetic()) && seconds.is_finite() => {
            problem.because("it takes seconds").hint(format!("{} {seconds}", given.spelled))
        }
        _ => problem,
    }
}

fn in_range(at: f64, range: Range, value: Value) -> Result<Value, String> {
    if range.holds(at) { Ok(value) } else { Err(format!("must be {}", range.in_words())) }
}

/// The position of the first empty item between commas, from 1, and the number of items. A text without a comma has
/// none.
pub(crate) fn empty_item(text: &str) -> Option<(usize, usize)> {
    let items = || text.split(',');
    let at = items().position(|item| item.trim().is_empty()).filter(|_| text.contains(','))?;
    Some((at + 1, items().count()))
}

/// The note about an empty item in a list of sweep values: it is left out, as in AIPerf.
pub(crate) fn left_out_item(given: &RawFlag) -> Option<String> {
    let Raw::Tokens(tokens) = &given.raw else { return None };
    let is_list = matches!(given.flag.kind, FlagType::IntOrList | FlagType::FloatOrList) || given.flag == VARIANT;
    let (at, count) = tokens.iter().filter(|_| is_list).find_map(|token| empty_item(token))?;
    Some(format!("{}: item {at} of {count} is empty and is skipped", given.spelled))
}

fn list_or_one(text: &str, each: impl Fn(&str) -> Result<Value, Problem>) -> Result<Value, Problem> {
    if !text.contains(',') {
        return each(text);
    }
    let mut values: Vec<Value> =
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(each).collect::<Result<_, _>>()?;
    Ok(if values.len() == 1 { values.remove(0) } else { Value::Array(values) })
}

fn split<'a>(tokens: &'a [String], flag: &Flag) -> impl Iterator<Item = &'a str> {
    let comma = matches!(flag.takes, Takes::Many { comma: true, .. });
    tokens.iter().flat_map(move |token| {
        if comma { token.split(',').map(str::trim).collect::<Vec<_>>() } else { vec![token.as_str()] }
    })
}

/// The choices of a flag, without names of data that cannot be read yet: those are known, and always refused.
pub(crate) fn offered(flag: &Flag, choices: &[&'static str]) -> Vec<&'static str> {
    let is_read = |name: &&str| {
        if flag == CUSTOM_DATASET_TYPE {
            Layout::exactly(name).is_some_and(Layout::is_read)
        } else {
            flag != PUBLIC_DATASET || PublicSet::parse(name).is_some()
        }
    };
    choices.iter().copied().filter(is_read).collect()
}

fn unknown_choice(given: &RawFlag, text: &str, choices: &[&'static str]) -> Problem {
    let choices = offered(given.flag, choices);
    let problem = Problem::new(format!("{} '{text}' is not one of its choices", given.spelled))
        .because(format!("choices: {}", choices.join(", ")))
        .at(given.flag.to.location());
    match nearest(&text.to_ascii_lowercase(), choices.iter().copied()) {
        Some(near) => problem.hint(format!("{} {near}", given.spelled)),
        None => problem,
    }
}

fn existing(text: &str, given: &RawFlag, cwd: &Path) -> Result<Value, Problem> {
    if text.is_empty() {
        return Ok(Value::Null);
    }
    if cwd.join(os_text::path(text)).exists() {
        return Ok(Value::from(text));
    }
    Err(Problem::new(format!("{} {text}: no such file or directory", given.spelled)).at(given.flag.to.location()))
}

type Refused = (String, String);

/// `key:value` items and JSON objects; later ones win.
pub(crate) fn pairs(tokens: &[String]) -> Result<Value, Refused> {
    let mut map = Map::new();
    for token in tokens {
        if token.trim_start().starts_with('{') {
            map.extend(object(token)?);
            continue;
        }
        let mut rest = Some(token.as_str());
        while let Some(items) = rest {
            let (key, value) = items.split_once(':').filter(|(key, _)| !key.contains(',')).ok_or_else(|| {
                let item = items.split(',').next().unwrap_or_default();
                (item.to_owned(), "has no ':' between key and value".to_owned())
            })?;
            let (value, after) = bracketed(key.trim(), value).unwrap_or_else(|| match value.split_once(',') {
                Some((value, after)) => (coerce(value.trim()), Some(after)),
                None => (coerce(value.trim()), None),
            });
            map.insert(key.trim().to_owned(), value);
            rest = after;
        }
    }
    Ok(Value::Object(map))
}

/// A list, an object or a template at the beginning of a text, and what follows its comma.
fn bracketed<'t>(key: &str, text: &'t str) -> Option<(Value, Option<&'t str>)> {
    let text = text.trim_start();
    if !text.starts_with(['[', '{']) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let (value, end) = match values.next() {
        Some(Ok(value)) if key != "payload_template" => (value, values.byte_offset()),
        // A template renders JSON; the template itself is text, whether it is JSON or not.
        _ if key == "payload_template" => {
            let end = balanced(text)?;
            (Value::from(&text[..end]), end)
        }
        _ => return None,
    };
    match text[end..].trim_start() {
        "" => Some((value, None)),
        after => Some((value, Some(after.strip_prefix(',')?))),
    }
}

/// The position where the first bracket of a text is closed, without brackets in quotes.
fn balanced(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + c.len_utf8());
        }
    }
    None
}

/// `name: value` tokens and JSON objects; values stay text.
fn named_texts(tokens: &[String]) -> Result<Value, Refused> {
    let mut map = Map::new();
    for token in tokens {
        if token.trim_start().starts_with('{') {
            for (key, value) in object(token)? {
                let text = match value {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                map.insert(key, Value::String(text));
            }
            continue;
        }
        let (key, value) =
            token.split_once(':').ok_or_else(|| (first_word(token), "has no ':' between name and value".to_owned()))?;
        map.insert(key.trim().to_owned(), Value::from(value.trim()));
    }
    Ok(Value::Object(map))
}

/// The part of a malformed header that may be shown: the rest after the first word may be a secret.
fn first_word(token: &str) -> String {
    match token.trim_start().split_once(char::is_whitespace) {
        Some((word, _)) => format!("{word} ..."),
        None => token.to_owned(),
    }
}

fn object(text: &str) -> Result<Map<String, Value>, Refused> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(("{".to_owned(), "is not a JSON object".to_owned())),
        // The text may contain secrets, so only the error's line and column are shown.
        Err(error) => Err(("{...}".to_owned(), format!("is not a JSON object: {error}"))),
    }
}

/// A bare value as the JSON value it looks like. JSON numbers are numbers, and so are `.5`, `5.` and `00.5`; `007`,
/// `+3` and `inf` stay text.
pub(crate) fn coerce(text: &str) -> Value {
    match text.to_ascii_lowercase().as_str() {
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        "none" | "null" => return Value::Null,
        _ => {}
    }
    let body = text.strip_prefix('-').unwrap_or(text);
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !body.is_empty() && digits(body) {
        let plain = body == "0" || !body.starts_with('0');
        return match text.parse::<i64>() {
            Ok(n) if plain => n.into(),
            _ => Value::from(text),
        };
    }
    if let Some((whole, part)) = body.split_once('.')
        && digits(whole)
        && digits(part)
        && !(whole.is_empty() && part.is_empty())
    {
        return text.parse().map_or_else(|_| Value::from(text), number);
    }
    match serde_json::from_str(text) {
        Ok(Value::Number(n)) => Value::Number(n),
        _ => Value::from(text),
    }
}

/// `metric:number` items separated by white space.
pub(crate) fn goodput(text: &str) -> Result<Value, String> {
    let slos = Slo::parse_all(text).map_err(|fault| match fault {
        SloFault::Empty => "names no metric".to_owned(),
        SloFault::NoPair(item) => format!("has no ':' in '{item}'"),
        SloFault::EmptyKey(item) => format!("names no metric in '{item}'"),
        SloFault::EmptyValue(item) => format!("has no number in '{item}'"),
        SloFault::NotNumeric { key, value } => format!("has '{value}' for {key}, which is not a number"),
    })?;
    if let Some(slo) = slos.iter().find(|slo| slo.threshold.is_nan()) {
        return Err(format!("has 'nan' for {}, which is not a number", slo.tag));
    }
    Ok(slos.into_iter().map(|slo| (slo.tag, number(slo.threshold))).collect::<Map<_, _>>().into())
}
