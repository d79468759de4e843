//! What section 15 and the decision on malformed lines ask for, on pages so simple that cutting them at blanks and
//! commas reads them: a second, slower reading that shares nothing with the crate's.

use serde_json::{Map, Value, json};

const TYPES: &[&str] =
    &["counter", "gauge", "summary", "histogram", "gaugehistogram", "unknown", "info", "stateset", "untyped"];

/// Without escapes, quoted names, exemplars, and commas or braces in label values.
pub(crate) fn is_simple(text: &str) -> bool {
    let has_exemplar = |line: &str| !line.trim_start().starts_with('#') && line.contains(" # ");
    let has_data_like_syntax = |line: &str| {
        closes_its_quotes(line) && line.split('"').skip(1).step_by(2).any(|part| part.contains([',', '{', '}', '=']))
    };
    let is_label_like = |line: &str| line.contains("{\"") || line.contains("\"=");
    !text.contains('\\')
        && !text.lines().any(|line| has_exemplar(line) || has_data_like_syntax(line))
        && !text.lines().any(|line| is_label_like(line) && !line.contains(':'))
}

type Labels = Vec<(String, String)>;

struct Family {
    declared: String,
    kind: String,
    help: String,
    line: usize,
    /// Suffix, labels sorted by name, value.
    samples: Vec<(String, Labels, f64)>,
}

/// The families of a page as golden files write them; `None` where it is to be refused.
pub(crate) fn families(text: &str) -> Option<Vec<Value>> {
    let lines: Vec<&str> = text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut families: Vec<Family> = Vec::new();
    let mut bad_lines = 0;
    for (number, line) in lines.iter().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(keyword @ ("TYPE" | "HELP")), Some(name)) = (words.get(1).copied(), words.get(2)) else { continue };
        if words[0] != "#" {
            continue;
        }
        let is_type = keyword == "TYPE";
        if !is_name(name) || is_type && !(words.len() == 4 && TYPES.contains(&words[3])) {
            bad_lines += 1;
            continue;
        }
        let known = families.iter().position(|family| family.declared == *name);
        let index = known.unwrap_or_else(|| {
            families.push(Family {
                declared: (*name).to_owned(),
                kind: "unknown".to_owned(),
                help: String::new(),
                line: number,
                samples: Vec::new(),
            });
            families.len() - 1
        });
        if is_type {
            families[index].kind = words[3].to_owned();
        } else {
            families[index].help = words[3..].join(" ");
        }
    }
    let declared = families.len();
    let mut sample_count = 0;
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let Some((name, labels, value)) = sample(line) else {
            bad_lines += 1;
            continue;
        };
        sample_count += 1;
        let is_of = |family: &Family| name.strip_prefix(&family.declared).is_some_and(|rest| has(&family.kind, rest));
        let exact = families[..declared].iter().position(|family| family.declared == name && is_of(family));
        let owner = exact.or_else(|| families[..declared].iter().position(is_of));
        let undeclared = || families[declared..].iter().position(|family| family.declared == name);
        let owner = owner.or_else(|| undeclared().map(|index| declared + index)).unwrap_or_else(|| {
            families.push(Family {
                declared: name.clone(),
                kind: "unknown".to_owned(),
                help: String::new(),
                line: number,
                samples: Vec::new(),
            });
            families.len() - 1
        });
        let suffix = name[families[owner].declared.len()..].to_owned();
        families[owner].samples.push((suffix, labels, value));
    }
    if sample_count == 0 && bad_lines > 0 {
        return None;
    }
    families.sort_by_key(|family| family.line);
    let names: Vec<String> = families.iter().map(|family| family.declared.clone()).collect();
    Some(families.iter().filter_map(|family| kept(family, &names)).collect())
}

fn has(kind: &str, suffix: &str) -> bool {
    match kind {
        "counter" => matches!(suffix, "" | "_total" | "_created"),
        "histogram" => matches!(suffix, "_bucket" | "_sum" | "_count" | "_created"),
        "summary" => matches!(suffix, "" | "_sum" | "_count" | "_created"),
        "gaugehistogram" => matches!(suffix, "" | "_bucket" | "_gsum" | "_gcount"),
        "info" => matches!(suffix, "" | "_info"),
        _ => suffix.is_empty(),
    }
}

fn is_name(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    text.chars().all(is_allowed) && text.starts_with(|c: char| !c.is_ascii_digit())
}

fn closes_its_quotes(line: &str) -> bool {
    line.matches('"').count().is_multiple_of(2)
}

fn sample(line: &str) -> Option<(String, Labels, f64)> {
    if !closes_its_quotes(line) {
        return None;
    }
    let (name, inside, rest) = match line.split_once('{') {
        Some((name, rest)) => {
            let (inside, rest) = rest.split_once('}')?;
            (name.trim(), inside, rest)
        }
        None => line.split_once([' ', '\t']).map(|(name, rest)| (name, "", rest))?,
    };
    let mut labels = Vec::new();
    for pair in inside.split(',').filter(|pair| !pair.trim().is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let value = value.trim().strip_prefix('"')?.strip_suffix('"')?;
        let is_known = labels.iter().any(|(known, _)| known == name.trim());
        if value.contains('"') || !is_name(name.trim()) || name.trim().starts_with("__") || is_known {
            return None;
        }
        labels.push((name.trim().to_owned(), value.to_owned()));
    }
    labels.sort();
    let numbers: Vec<Option<f64>> = rest.split_whitespace().map(|word| word.parse().ok()).collect();
    (is_name(name) && numbers.last()?.is_some()).then_some((name.to_owned(), labels, numbers[0]?))
}

fn kept(family: &Family, names: &[String]) -> Option<Value> {
    let kind = match family.kind.as_str() {
        kind @ ("counter" | "gauge" | "histogram") => kind,
        "summary" | "gaugehistogram" => return None,
        _ => "unknown",
    };
    let short = family.declared.strip_suffix("_total").filter(|_| kind == "counter");
    let short = short.filter(|short| !names.iter().any(|name| name == short));
    let is_info = family.kind == "info" && family.samples.iter().any(|(suffix, ..)| suffix == "_info");
    let name = short.unwrap_or(&family.declared).to_owned() + if is_info { "_info" } else { "" };
    if name.ends_with("_created") || name.ends_with("_uptime") || name.contains("_uptime_") {
        return None;
    }
    let samples = if kind == "histogram" { histograms(family) } else { scalars(family) };
    let whole = json!({"name": name, "type": kind, "description": family.help, "samples": samples});
    (!samples.is_empty()).then_some(whole)
}

fn with_labels(labels: &[(String, String)]) -> Map<String, Value> {
    let labels: Map<String, Value> = labels.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let mut sample = Map::new();
    if !labels.is_empty() {
        sample.insert("labels".to_owned(), labels.into());
    }
    sample
}

fn scalars(family: &Family) -> Vec<Value> {
    let mut kept: Vec<(&[(String, String)], f64)> = Vec::new();
    for (suffix, labels, value) in &family.samples {
        if suffix == "_created" || !value.is_finite() {
            continue;
        }
        match kept.iter_mut().find(|(known, _)| *known == labels.as_slice()) {
            Some((_, known)) => *known = *value,
            None => kept.push((labels, *value)),
        }
    }
    let sample = |(labels, value): (&[(String, String)], f64)| {
        let mut sample = with_labels(labels);
        sample.insert("value".to_owned(), json!(value));
        sample.into()
    };
    kept.into_iter().map(sample).collect()
}

/// Labels without `le`, buckets, sum and count, and whether all of it is numbers.
type Group = (Labels, Map<String, Value>, [Option<f64>; 2], bool);

fn histograms(family: &Family) -> Vec<Value> {
    let mut groups: Vec<Group> = Vec::new();
    for (suffix, labels, value) in family.samples.iter().filter(|(suffix, ..)| suffix != "_created") {
        let le = labels.iter().find(|(name, _)| name == "le").map_or("+Inf", |(_, le)| le.as_str());
        let labels: Labels = labels.iter().filter(|(name, _)| name != "le").cloned().collect();
        let known = groups.iter().position(|(known, ..)| *known == labels);
        let index = known.unwrap_or_else(|| {
            groups.push((labels, Map::new(), [None; 2], true));
            groups.len() - 1
        });
        let (_, buckets, [sum, count], is_sound) = &mut groups[index];
        *is_sound &= value.is_finite();
        match suffix.as_str() {
            "_sum" => *sum = Some(*value),
            "_count" => *count = Some(*value),
            _ => {
                *is_sound &= le.parse::<f64>().is_ok_and(|bound| !bound.is_nan());
                buckets.insert(le.to_owned(), json!(value));
            }
        }
    }
    let sample = |(labels, buckets, [sum, count], _): Group| {
        let mut sample = with_labels(&labels);
        sample.insert("buckets".to_owned(), buckets.into());
        for (key, value) in [("sum", sum), ("count", count)] {
            value.into_iter().for_each(|value| drop(sample.insert(key.to_owned(), json!(value))));
        }
        sample.into()
    };
    groups.into_iter().filter(|(.., is_sound)| *is_sound).map(sample).collect()
}
