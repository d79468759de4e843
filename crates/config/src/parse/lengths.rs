//! `--seq-dist`, `--random-range-ratio` and `--dataset-filter`.

use aiperf_plan::RandomStyle;
use serde_json::{Map, Value, json};

const PAIR_FORM: &str = "is not ISL[|STDDEV],OSL[|STDDEV]:PERCENT";

struct Pair {
    isl: f64,
    isl_stddev: f64,
    osl: f64,
    osl_stddev: f64,
    percent: f64,
}

/// Pairs of lengths with their shares, in the form of the configuration.
pub(crate) fn sequence_distribution(text: &str) -> Result<Value, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is empty".into());
    }
    let pairs = if text.starts_with('{') {
        from_json(text)?
    } else if text.starts_with('[') && text.ends_with(']') {
        from_brackets(&text[1..text.len() - 1])?
    } else {
        let pieces = text.split(';').map(str::trim).filter(|piece| !piece.is_empty());
        pieces
            .map(|piece| pair(piece).ok_or_else(|| format!("has '{piece}', which {PAIR_FORM}")))
            .collect::<Result<_, _>>()?
    };
    check(&pairs)?;
    Ok(pairs
        .iter()
        .map(|pair| {
            json!({
                "isl": {"mean": pair.isl, "stddev": pair.isl_stddev},
                "osl": {"mean": pair.osl, "stddev": pair.osl_stddev},
                "probability": pair.percent,
            })
        })
        .collect())
}

fn check(pairs: &[Pair]) -> Result<(), String> {
    if pairs.is_empty() {
        return Err("has no pair of lengths".into());
    }
    for pair in pairs {
        if pair.isl < 1.0 || pair.osl < 1.0 {
            return Err("has a length below 1".into());
        }
        if !(0.0..=100.0).contains(&pair.percent) {
            return Err(format!("has a share of {}, outside 0 to 100 percent", pair.percent));
        }
        if pair.isl_stddev < 0.0 || pair.osl_stddev < 0.0 {
            return Err("has a deviation below 0".into());
        }
    }
    let sum: f64 = pairs.iter().map(|pair| pair.percent).sum();
    if (sum - 100.0).abs() > 1e-6 + 1e-6 * 100.0 {
        return Err(format!("has shares that add up to {sum} percent, not 100"));
    }
    Ok(())
}

fn from_json(text: &str) -> Result<Vec<Pair>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    let pairs = value.get("pairs").and_then(Value::as_array).ok_or("has no list 'pairs'")?;
    let number = |item: &Value, key: &str| match &item[key] {
        Value::Number(n) => n.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    pairs
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let need = |key: &str| number(item, key).ok_or_else(|| format!("has no number '{key}' in pair {index}"));
            Ok(Pair {
                isl: need("isl")?.trunc(),
                isl_stddev: number(item, "isl_stddev").unwrap_or(0.0),
                osl: need("osl")?.trunc(),
                osl_stddev: number(item, "osl_stddev").unwrap_or(0.0),
                percent: need("prob")?,
            })
        })
        .collect()
}

/// Every `(ISL,OSL):PERCENT` between brackets; the text between the brackets does not matter.
fn from_brackets(text: &str) -> Result<Vec<Pair>, String> {
    let mut pairs = Vec::new();
    for piece in text.split('(').skip(1) {
        let Some((lengths, after)) = piece.split_once(')') else { continue };
        let Some(share) = after.trim_start().strip_prefix(':') else { continue };
        let share = share.trim_start();
        let end = share.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(share.len());
        pairs.extend(pair(&format!("{}:{}", lengths.trim(), &share[..end])));
    }
    if pairs.is_empty() { Err("has no (ISL,OSL):PERCENT between its brackets".into()) } else { Ok(pairs) }
}

fn pair(text: &str) -> Option<Pair> {
    let (lengths, share) = text.split_once(':')?;
    let (isl, osl) = lengths.split_once(',')?;
    let (isl, isl_stddev) = length(isl.trim())?;
    let (osl, osl_stddev) = length(osl.trim())?;
    Some(Pair { isl, isl_stddev, osl, osl_stddev, percent: decimal(share.trim())? })
}

fn length(text: &str) -> Option<(f64, f64)> {
    let (mean, stddev) = match text.split_once('|') {
        Some((mean, stddev)) => (mean, decimal(stddev)?),
        None => (text, 0.0),
    };
    let digits = !mean.is_empty() && mean.bytes().all(|b| b.is_ascii_digit());
    if digits { Some((mean.parse().ok()?, stddev)) } else { None }
}

/// `12`, `1.5` or `.5`: no sign, no exponent.
fn decimal(text: &str) -> Option<f64> {
    let shaped = text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && text.matches('.').count() < 2
        && text.ends_with(|c: char| c.is_ascii_digit());
    if shaped { text.parse().ok() } else { None }
}

/// The ratios for input and output, checked for the style.
pub(crate) fn range_ratio(value: &Value, style: RandomStyle) -> Result<(f64, f64), String> {
    let sglang = style == RandomStyle::Sglang;
    let object = match value {
        Value::Number(n) => return within(n.as_f64().unwrap_or(f64::NAN), sglang).map(|r| (r, r)),
        Value::String(text) if text.trim().is_empty() => return Err("is empty".into()),
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(ratio) => return within(ratio, sglang).map(|r| (r, r)),
            Err(_) => serde_json::from_str::<Map<String, Value>>(text.trim())
                .map_err(|_| format!("'{text}' is neither a number nor {{\"input\": R, \"output\": R}}"))?,
        },
        Value::Object(map) => map.clone(),
        _ => return Err("is neither a number nor {\"input\": R, \"output\": R}".into()),
    };
    if sglang {
        return Err("must be one number with style sglang, which applies it to input and output".into());
    }
    if let Some(other) = object.keys().find(|key| *key != "input" && *key != "output") {
        return Err(format!("has an unknown key '{other}'; it takes input and output"));
    }
    let side = |key: &str| {
        let ratio = object.get(key).and_then(Value::as_f64).ok_or_else(|| format!("has no number '{key}'"))?;
        within(ratio, false)
    };
    Ok((side("input")?, side("output")?))
}

fn within(ratio: f64, sglang: bool) -> Result<f64, String> {
    let ok = ratio >= 0.0 && (ratio < 1.0 || (sglang && ratio == 1.0));
    let rule = if sglang { "must be between 0 and 1" } else { "must be at least 0 and less than 1" };
    if ok { Ok(ratio) } else { Err(format!("{ratio} {rule}")) }
}

/// `key=value` items, each key once.
pub(crate) fn filters(items: &[&str]) -> Result<Value, String> {
    let mut map = Map::new();
    for item in items {
        let (key, value) = item.split_once('=').map(|(key, value)| (key.trim(), value.trim())).unwrap_or_default();
        if key.is_empty() || value.is_empty() {
            return Err(format!("'{item}' is not key=value"));
        }
        if map.insert(key.to_owned(), value.into()).is_some() {
            return Err(format!("has '{key}' twice"));
        }
    }
    Ok(Value::Object(map))
}
