//! The unit of a family's values, by its name and description.
//!
//! The description's scale comes before the units it names, and those before the name's suffix: a family called
//! `usage_percent` that is described as going from 0 to 1 is a ratio.

/// The unit of a family, by its name (counters without `_total`) and its description.
pub fn infer(name: &str, description: &str) -> Option<&'static str> {
    let description = Description::new(description);
    let name = name.to_ascii_lowercase();
    description
        .scale()
        .or_else(|| description.tag())
        .or_else(|| description.phrase(PHRASES))
        .or_else(|| suffix(&name, SUFFIXES))
        .or_else(|| name.contains("num_requests_").then_some("requests"))
        .or_else(|| description.symbol().or_else(|| description.phrase(LATER_PHRASES)))
        .or_else(|| suffix(&name, LATER_SUFFIXES))
}

/// Of `(in TAG)`, case-sensitive.
const TAGS: &[(&str, &[&str])] = &[
    ("megabytes", &["MiB", "MB"]),
    ("gigabytes", &["GiB", "GB"]),
    ("kilobytes", &["KiB", "KB"]),
    ("terabytes", &["TB"]),
    ("bytes", &["B"]),
    ("celsius", &["C", "°C"]),
    ("fahrenheit", &["F", "°F"]),
    ("kelvin", &["K"]),
    ("hertz", &["Hz"]),
    ("megahertz", &["MHz"]),
    ("gigahertz", &["GHz"]),
    ("watt", &["W"]),
    ("milliwatt", &["mW"]),
    ("joule", &["J"]),
    ("millijoule", &["mJ"]),
    ("megajoule", &["MJ"]),
    ("seconds", &["s", "sec"]),
    ("milliseconds", &["ms"]),
    ("nanoseconds", &["ns"]),
    ("microseconds", &["us", "µs"]),
    ("gb/s", &["GB/s"]),
    ("mb/s", &["MB/s"]),
    ("percent", &["%", "percent"]),
];

/// A unit, and the words for it that follow `in` or an opening parenthesis.
struct Phrase {
    unit: &'static str,
    words: &'static [&'static str],
    after_parenthesis: bool,
}

const fn phrase(unit: &'static str, words: &'static [&'static str]) -> Phrase {
    Phrase { unit, words, after_parenthesis: true }
}

/// The first that matches anywhere decides.
const PHRASES: &[Phrase] = &[
    phrase("seconds", &["second", "seconds"]),
    phrase("milliseconds", &["millisecond", "milliseconds", "ms"]),
    phrase("nanoseconds", &["nanosecond", "nanoseconds", "ns"]),
    phrase("bytes", &["byte", "bytes"]),
    phrase("gb/s", &["gb/s"]),
    phrase("mb/s", &["mb/s"]),
    phrase("tokens/s", &["token/s", "tokens/s", "token/sec", "tokens/sec", "token/second", "tokens/second"]),
    phrase(
        "requests/s",
        &["request/s", "requests/s", "request/sec", "requests/sec", "request/second", "requests/second"],
    ),
    Phrase { unit: "tokens", words: &["token", "tokens"], after_parenthesis: false },
];

/// What the reference does not know. It decides only where nothing else does, so that no unit differs from the
/// reference's.
const LATER_PHRASES: &[Phrase] = &[
    phrase("microseconds", &["microsecond", "microseconds"]),
    phrase("watt", &["watt", "watts"]),
    phrase("joule", &["joule", "joules"]),
    phrase("percent", &["percent"]),
];

/// Of these the letter case counts, and what follows: `US` and `us-east-1` are places. As [`LATER_PHRASES`].
const SYMBOLS: &[(&str, &[&str])] = &[("microseconds", &["us", "µs"])];

/// The longest suffix decides.
const SUFFIXES: &[(&str, &str)] = &[
    ("_error_count_total", "errors"),
    ("_errors_total", "errors"),
    ("_error_count", "errors"),
    ("_errors", "errors"),
    ("_requests_total", "requests"),
    ("_requests", "requests"),
    ("_reqs", "requests"),
    ("request_success", "requests"),
    ("_seconds_total", "seconds"),
    ("_seconds", "seconds"),
    ("_milliseconds", "milliseconds"),
    ("_ms_total", "milliseconds"),
    ("_ms", "milliseconds"),
    ("_nanoseconds", "nanoseconds"),
    ("_ns_total", "nanoseconds"),
    ("_ns", "nanoseconds"),
    ("_tokens_total", "tokens"),
    ("_tokens", "tokens"),
    ("_blocks_total", "blocks"),
    ("_blocks", "blocks"),
    ("_block_count", "blocks"),
    ("_total", "count"),
    ("_count", "count"),
    ("_gb_s", "gb/s"),
    ("_bytes_total", "bytes"),
    ("_bytes", "bytes"),
    ("_kilobytes", "kilobytes"),
    ("_megabytes", "megabytes"),
    ("_gigabytes", "gigabytes"),
    ("_percent", "percent"),
    ("_perc", "percent"),
    ("_ratio", "ratio"),
    ("_celsius", "celsius"),
    ("_joules", "joule"),
    ("_watts", "watt"),
];

/// As [`LATER_PHRASES`].
const LATER_SUFFIXES: &[(&str, &str)] = &[("_microseconds", "microseconds"), ("_us", "microseconds")];

fn suffix(name: &str, suffixes: &[(&str, &'static str)]) -> Option<&'static str> {
    let matching = suffixes.iter().filter(|(suffix, _)| name.ends_with(suffix));
    matching.max_by_key(|(suffix, _)| suffix.len()).map(|(_, unit)| *unit)
}

struct Description<'a> {
    text: &'a str,
    lower: String,
}

impl<'a> Description<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, lower: text.to_lowercase() }
    }

    /// Whether values go from 0 to 1, or to 100.
    fn scale(&self) -> Option<&'static str> {
        let zeros = || words_at(&self.lower, "0");
        let is_ratio = zeros().any(|(_, after)| is_up_to_one(after))
            || words_at(&self.lower, "1").any(|(_, after)| means_100_percent(after));
        let is_percent = || zeros().any(|(before, after)| is_up_to_100(before, after));
        if is_ratio { Some("ratio") } else { is_percent().then_some("percent") }
    }

    /// Of the first `(in TAG)`.
    fn tag(&self) -> Option<&'static str> {
        let tags = self.text.match_indices("(in").filter_map(|(at, lead)| {
            let after = &self.text[at + lead.len()..];
            let word = after.trim_start();
            let end = word.find(|c: char| c.is_whitespace() || c == ')')?;
            (word.len() < after.len() && end > 0 && word[end..].starts_with(')')).then(|| &word[..end])
        });
        let tag = tags.into_iter().next()?;
        TAGS.iter().find(|(_, tags)| tags.contains(&tag)).map(|(unit, _)| *unit)
    }

    /// The first symbol that follows `in` or an opening parenthesis.
    fn symbol(&self) -> Option<&'static str> {
        let is_symbol = |text: &str, symbols: &[&str]| {
            let after = symbols.iter().find_map(|symbol| text.strip_prefix(symbol));
            after.is_some_and(|after| ends_word(after) && !after.starts_with('-'))
        };
        let places: Vec<&str> = after_in(self.text).chain(after_parenthesis(self.text)).collect();
        let matches = |(_, symbols): &&(&str, &[&str])| places.iter().any(|text| is_symbol(text, symbols));
        SYMBOLS.iter().find(matches).map(|(unit, _)| *unit)
    }

    fn phrase(&self, phrases: &[Phrase]) -> Option<&'static str> {
        let after_in: Vec<&str> = after_in(&self.lower).collect();
        let after_parenthesis: Vec<&str> = after_parenthesis(&self.lower).collect();
        let has = |texts: &[&str], words: &[&str]| {
            texts.iter().any(|text| words.iter().any(|word| text.strip_prefix(word).is_some_and(ends_word)))
        };
        let matches = |phrase: &&Phrase| {
            has(&after_in, phrase.words) || phrase.after_parenthesis && has(&after_parenthesis, phrase.words)
        };
        phrases.iter().find(matches).map(|phrase| phrase.unit)
    }
}

/// What follows each `in`.
fn after_in(text: &str) -> impl Iterator<Item = &str> {
    words_at(text, "in").filter_map(|(_, after)| {
        let word = after.trim_start();
        (word.len() < after.len()).then_some(word)
    })
}

/// What follows each opening parenthesis.
fn after_parenthesis(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('(').map(|(at, _)| &text[at + 1..])
}

/// What is before and after each place where a word begins so.
fn words_at<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let places = text.match_indices(start).map(move |(at, _)| (&text[..at], &text[at + start.len()..]));
    places.filter(|(before, _)| !before.chars().next_back().is_some_and(is_word_character))
}

fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn ends_word(after: &str) -> bool {
    !after.chars().next().is_some_and(is_word_character)
}

/// After the whole part of a number: past `.0`.
fn skip_fraction(after: &str) -> &str {
    after.strip_prefix(".0").unwrap_or(after)
}

/// After the lower end of a range: what follows its dash.
fn skip_dash(after: &str) -> Option<&str> {
    let after = after.trim_start();
    let past = after.trim_start_matches(['-', '–', '—']);
    let past = if past.len() < after.len() { past } else { after.strip_prefix("to")? };
    Some(past.trim_start())
}

fn is_up_to_one(after_zero: &str) -> bool {
    let upper = skip_dash(skip_fraction(after_zero));
    upper.and_then(|upper| upper.strip_prefix('1')).is_some_and(ends_word)
}

fn is_up_to_100(before_zero: &str, after_zero: &str) -> bool {
    let upper = |after| skip_dash(after).and_then(|upper: &str| upper.strip_prefix("100"));
    let in_parentheses = upper(skip_fraction(after_zero)).is_some_and(|after| skip_fraction(after).starts_with(')'));
    if before_zero.ends_with('(') && in_parentheses {
        return true;
    }
    let follows_range = before_zero.ends_with(char::is_whitespace) && before_zero.trim_end().ends_with("range");
    upper(after_zero).is_some_and(|after| follows_range && ends_word(after) || after.trim_start().starts_with('%'))
}

fn means_100_percent(after_one: &str) -> bool {
    let verb = skip_fraction(after_one).trim_start();
    let after = ["means", "is", "equals", "equal", "==", "="].iter().find_map(|word| verb.strip_prefix(word));
    let after = after.and_then(|after| after.trim_start().strip_prefix("100"));
    after.map(str::trim_start).is_some_and(|after| after.starts_with('%') || after.starts_with("percent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_reference_does_not_know_is_known_where_nothing_else_decides() {
        for (name, description, unit) in [
            ("nv_inference_request_duration_us", "", "microseconds"),
            ("latency", "latency in microseconds", "microseconds"),
            ("latency", "latency (µs)", "microseconds"),
            ("nv_gpu_power_usage", "GPU power usage in watts", "watt"),
            ("nv_energy_consumption", "GPU energy consumption in joules since boot", "joule"),
            ("load", "load in percent", "percent"),
            ("lat_seconds", "Latency in microseconds", "seconds"),
            ("a_count", "in watts", "count"),
        ] {
            assert_eq!(infer(name, description), Some(unit), "{name}: {description}");
        }
    }

    #[test]
    fn a_place_is_no_unit_of_time() {
        for description in ["requests served in US", "replicas (US)", "nodes in us-east-1", "Served in US and EU"] {
            assert_eq!(infer("served", description), None, "{description}");
        }
        for description in ["time in us", "time (us)", "time in µs, per request", "Time in us."] {
            assert_eq!(infer("served", description), Some("microseconds"), "{description}");
        }
    }

    #[test]
    fn a_scale_is_no_part_of_a_longer_number() {
        for description in
            ["10-1", "0-1x", "0-12", "2025-01-10-1", "20-100%", "range 0-1000", "(0-100", "11 means 100%"]
        {
            assert_eq!(infer("a", description), None, "{description}");
        }
        assert_eq!(infer("a", "from 0 TO 1"), Some("ratio"));
        assert_eq!(infer("a", "0 -- 1"), Some("ratio"));
        assert_eq!(infer("a", "(0.0-100.0)"), Some("percent"));
    }
}
