//! One line of a metrics page: a declaration, or a sample.
//!
//! The grammar is that of the classic text format, with what OpenMetrics and UTF-8 names add. It is lenient about
//! blanks and commas, as the readers that servers are tested with are.

use std::borrow::Cow;
use std::collections::HashSet;

/// A label's name and value, unescaped.
pub type Label<'a> = (Cow<'a, str>, Cow<'a, str>);

/// What is wrong with a line.
pub type Flaw = &'static str;

const NO_NUMBER: Flaw = "the value is not a number";

/// The types of `# TYPE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeclaredKind {
    Counter,
    Gauge,
    Histogram,
    GaugeHistogram,
    Summary,
    Info,
    StateSet,
    /// Declared so, or `untyped`, or not at all.
    Unknown,
}

/// Type names are case-sensitive.
pub const KINDS: &[(&str, DeclaredKind)] = &[
    ("counter", DeclaredKind::Counter),
    ("gauge", DeclaredKind::Gauge),
    ("histogram", DeclaredKind::Histogram),
    ("gaugehistogram", DeclaredKind::GaugeHistogram),
    ("summary", DeclaredKind::Summary),
    ("info", DeclaredKind::Info),
    ("stateset", DeclaredKind::StateSet),
    ("unknown", DeclaredKind::Unknown),
    ("untyped", DeclaredKind::Unknown),
];

/// What a sample is to its family, by what its name adds to the family's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Its name is the family's.
    Value,
    Total,
    Bucket,
    Sum,
    Count,
    GaugeSum,
    GaugeCount,
    Info,
    Created,
}

pub const SUFFIXES: &[(&str, Part)] = &[
    ("_bucket", Part::Bucket),
    ("_total", Part::Total),
    ("_sum", Part::Sum),
    ("_count", Part::Count),
    ("_created", Part::Created),
    ("_info", Part::Info),
    ("_gsum", Part::GaugeSum),
    ("_gcount", Part::GaugeCount),
];

impl Part {
    /// Of a suffix that a family's name is followed by.
    pub fn of_suffix(suffix: &str) -> Option<Self> {
        if suffix.is_empty() {
            return Some(Self::Value);
        }
        SUFFIXES.iter().find(|(known, _)| *known == suffix).map(|(_, part)| *part)
    }
}

impl DeclaredKind {
    /// Whether a family of this kind has such samples.
    pub fn has(self, part: Part) -> bool {
        match self {
            Self::Counter => matches!(part, Part::Value | Part::Total | Part::Created),
            Self::Histogram => matches!(part, Part::Bucket | Part::Sum | Part::Count | Part::Created),
            Self::Summary => matches!(part, Part::Value | Part::Sum | Part::Count | Part::Created),
            Self::GaugeHistogram => {
                matches!(part, Part::Value | Part::Bucket | Part::GaugeSum | Part::GaugeCount)
            }
            Self::Info => matches!(part, Part::Value | Part::Info),
            Self::Gauge | Self::StateSet | Self::Unknown => part == Part::Value,
        }
    }
}

/// The content of a line that begins with `#`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declaration<'a> {
    /// The text is still escaped: how depends on the page's grammar.
    Help {
        name: Cow<'a, str>,
        text: &'a str,
    },
    Type {
        name: Cow<'a, str>,
        kind: DeclaredKind,
    },
    /// `# EOF`, which OpenMetrics alone has.
    End,
    Comment,
}

/// Reads a line that begins with `#`.
pub fn read_declaration(line: &str) -> Result<Declaration<'_>, Flaw> {
    let mut cursor = Cursor::new(line);
    let mark = cursor.word();
    if mark.contains('"') {
        return Ok(Declaration::Comment);
    }
    cursor.skip_blanks();
    let keyword = cursor.word();
    if (mark, keyword) == ("#", "EOF") && cursor.rest().is_empty() {
        return Ok(Declaration::End);
    }
    if !matches!(keyword, "HELP" | "TYPE") {
        return Ok(Declaration::Comment);
    }
    cursor.skip_blanks();
    if keyword == "HELP" && cursor.peek().is_none() {
        return Ok(Declaration::Comment);
    }
    let name = if cursor.peek() == Some(b'"') { cursor.quoted()? } else { Cow::Borrowed(cursor.bare_name()) };
    if name.is_empty() || cursor.peek().is_some_and(|byte| !byte.is_ascii_whitespace()) {
        return Err("the name in a declaration is not a metric name");
    }
    cursor.skip_blanks();
    let rest = cursor.rest();
    if keyword == "HELP" {
        return Ok(Declaration::Help { name, text: rest });
    }
    let kind = KINDS.iter().find(|(known, _)| *known == rest).map(|(_, kind)| *kind);
    Ok(Declaration::Type { name, kind: kind.ok_or("the declared type is not one of the known ones")? })
}

/// A help text as it is meant. OpenMetrics escapes quotes too.
pub fn unescape_help(text: &str, is_open_metrics: bool) -> Cow<'_, str> {
    unescape(text, is_open_metrics)
}

/// Reads a sample: its full name and value. Its labels are appended to `labels` in the line's order; nothing is where
/// the line has a flaw. Timestamps and exemplars must look like such, and are dropped.
pub fn read_sample<'a>(line: &'a str, labels: &mut Vec<Label<'a>>) -> Result<(Cow<'a, str>, f64), Flaw> {
    let before = labels.len();
    let read = read_sample_parts(line, labels);
    if read.is_err() {
        labels.truncate(before);
    }
    read
}

fn read_sample_parts<'a>(line: &'a str, labels: &mut Vec<Label<'a>>) -> Result<(Cow<'a, str>, f64), Flaw> {
    let mut cursor = Cursor::new(line);
    let bare = cursor.bare_name();
    if cursor.peek().is_some_and(|byte| !matches!(byte, b' ' | b'\t' | b'{')) {
        return Err("the line does not begin with a metric name");
    }
    cursor.skip_blanks();
    let inside = if cursor.take(b'{') { read_labels(&mut cursor, labels)? } else { None };
    let name = match inside {
        Some(_) if !bare.is_empty() => return Err("the metric is named twice"),
        Some(inside) => inside,
        None => Cow::Borrowed(bare),
    };
    if name.is_empty() {
        return Err("the metric has no name");
    }
    Ok((name, read_value(cursor.rest())?))
}

/// Reads labels up to the closing brace, and gives the metric's name where it is among them.
fn read_labels<'a>(cursor: &mut Cursor<'a>, labels: &mut Vec<Label<'a>>) -> Result<Option<Cow<'a, str>>, Flaw> {
    let first = labels.len();
    let mut metric_name = None;
    cursor.skip_blanks();
    // One comma may lead, and one may trail.
    if cursor.take(b',') {
        cursor.skip_blanks();
    }
    while !cursor.take(b'}') {
        let is_quoted = cursor.peek() == Some(b'"');
        let name = if is_quoted { cursor.quoted()? } else { Cow::Borrowed(cursor.bare_name()) };
        if name.is_empty() {
            return Err("a label name is missing or has a character that needs quotes");
        }
        cursor.skip_blanks();
        if cursor.take(b'=') {
            cursor.skip_blanks();
            if cursor.peek() != Some(b'"') {
                return Err("a label value is not quoted");
            }
            let value = cursor.quoted()?;
            if name == "__name__" {
                take_metric_name(&mut metric_name, value)?;
            } else if name.starts_with("__") {
                return Err("label names that begin with __ are reserved");
            } else {
                labels.push((name, value));
            }
        } else if is_quoted {
            take_metric_name(&mut metric_name, name)?;
        } else {
            return Err("a label has no value");
        }
        cursor.skip_blanks();
        if cursor.take(b',') {
            cursor.skip_blanks();
        } else if cursor.peek() != Some(b'}') {
            return Err("the labels are not closed, or something follows a label's value");
        }
    }
    if has_a_name_twice(&labels[first..]) {
        return Err("a label is named twice");
    }
    Ok(metric_name)
}

fn take_metric_name<'a>(place: &mut Option<Cow<'a, str>>, name: Cow<'a, str>) -> Result<(), Flaw> {
    match place.replace(name) {
        Some(_) => Err("the metric is named twice"),
        None => Ok(()),
    }
}

fn has_a_name_twice(labels: &[Label<'_>]) -> bool {
    // Comparing each with each is faster for what pages have, and never ends for what a hostile one may have.
    if labels.len() > 16 {
        let mut seen = HashSet::with_capacity(labels.len());
        return !labels.iter().all(|(name, _)| seen.insert(name));
    }
    labels.iter().enumerate().any(|(index, (name, _))| labels[..index].iter().any(|(other, _)| other == name))
}

/// The value is the first word; the last, a timestamp's or an exemplar's, must be a number too. Words are set apart by
/// spaces, or by tabs where there is no space.
fn read_value(rest: &str) -> Result<f64, Flaw> {
    let rest = rest.trim();
    // Nothing follows the value, mostly.
    if !rest.is_empty() && !rest.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return rest.parse().map_err(|_| NO_NUMBER);
    }
    let separator = if rest.contains(' ') { ' ' } else { '\t' };
    let mut words = rest.split(separator).map(str::trim).filter(|word| !word.is_empty());
    let value = words.next().ok_or("there is no value")?;
    let value = value.parse().map_err(|_| NO_NUMBER)?;
    match words.next_back().map(str::parse::<f64>) {
        Some(Err(_)) => Err("what follows the value is neither a timestamp nor an exemplar"),
        _ => Ok(value),
    }
}

fn unescape(text: &str, quotes: bool) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let meant = match chars.peek() {
            Some('\\') if c == '\\' => Some('\\'),
            Some('n') if c == '\\' => Some('\n'),
            Some('"') if c == '\\' && quotes => Some('"'),
            _ => None,
        };
        if meant.is_some() {
            chars.next();
        }
        plain.push(meant.unwrap_or(c));
    }
    Cow::Owned(plain)
}

/// The characters of names that need no quotes. A table, because names are most of a page.
const IN_NAMES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let c = byte as u8;
        table[byte] = c.is_ascii_alphanumeric() || c == b'_' || c == b':';
        byte += 1;
    }
    table
};

/// A place in a line. It only ever stops at ASCII characters, so every slice is whole characters.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn take_while(&mut self, belongs: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        let length = self.text.as_bytes()[start..].iter().take_while(|byte| belongs(**byte)).count();
        self.at += length;
        &self.text[start..self.at]
    }

    fn skip_blanks(&mut self) {
        self.take_while(|byte| byte.is_ascii_whitespace());
    }

    fn word(&mut self) -> &'a str {
        self.take_while(|byte| !byte.is_ascii_whitespace())
    }

    /// A name that needs no quotes; nothing where none begins here.
    fn bare_name(&mut self) -> &'a str {
        if self.peek().is_none_or(|byte| byte.is_ascii_digit()) {
            return "";
        }
        self.take_while(|byte| IN_NAMES[usize::from(byte)])
    }

    /// The text in the quotes that open here.
    fn quoted(&mut self) -> Result<Cow<'a, str>, Flaw> {
        let (bytes, start) = (self.text.as_bytes(), self.at + 1);
        let (mut end, mut is_escaped) = (start, false);
        loop {
            let rest = bytes.get(end..).unwrap_or_default();
            end += memchr::memchr2(b'"', b'\\', rest).ok_or("a quote is not closed")?;
            if bytes[end] == b'"' {
                break;
            }
            is_escaped = true;
            end += 2;
        }
        self.at = end + 1;
        let raw = &self.text[start..end];
        Ok(if is_escaped { unescape(raw, true) } else { Cow::Borrowed(raw) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs = Vec<(String, String)>;

    fn sample(line: &str) -> Result<(String, Pairs, f64), Flaw> {
        let mut labels = Vec::new();
        let (name, value) = read_sample(line, &mut labels)?;
        let labels = labels.into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        Ok((name.into_owned(), labels, value))
    }

    fn labels_of(line: &str) -> Pairs {
        sample(line).unwrap().1
    }

    fn pairs(pairs: &[(&str, &str)]) -> Pairs {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn names_may_be_quoted_inside_the_braces() {
        assert_eq!(sample(r#"{"a b",c="1"} 2"#).unwrap(), ("a b".to_owned(), pairs(&[("c", "1")]), 2.0));
        assert_eq!(sample(r#"{c="1", "a\"b"} 2"#).unwrap(), ("a\"b".to_owned(), pairs(&[("c", "1")]), 2.0));
        assert_eq!(sample(r#"{__name__="n","d e"="1"} 2"#).unwrap(), ("n".to_owned(), pairs(&[("d e", "1")]), 2.0));
        assert_eq!(sample(r#"m{"n"} 2"#), Err("the metric is named twice"));
        assert_eq!(sample(r#"{"m","n"} 2"#), Err("the metric is named twice"));
        assert_eq!(sample(r#"{""} 2"#), Err("a label name is missing or has a character that needs quotes"));
        assert_eq!(sample(r#"{a="1"} 2"#), Err("the metric has no name"));
    }

    #[test]
    fn blanks_and_one_comma_too_many_do_not_matter() {
        let expected = pairs(&[("a", "1"), ("b", "2")]);
        for line in [r#"g{a="1",b="2"}3"#, r#"g {,a = "1" , b="2", } 3"#, "g\t{\ta\t=\"1\",b=\"2\"}\t3"] {
            assert_eq!(labels_of(line), expected, "{line}");
        }
        assert_eq!(labels_of("g{,} 1"), []);
        assert!(sample(r#"g{a="1",,b="2"} 3"#).is_err());
        assert!(sample(r#"g{a="1" b="2"} 3"#).is_err());
        assert!(sample(r#"g{a="1"x} 3"#).is_err());
    }

    #[test]
    fn what_quotes_enclose_is_data() {
        assert_eq!(labels_of(r#"g{a="},={\"\\",b="\n\é"} 3"#), pairs(&[("a", "},={\"\\"), ("b", "\n\\é")]));
        assert!(sample(r#"g{a="1\"} 3"#).is_err());
        assert!(sample("g{a=\"1\\").is_err());
    }

    #[test]
    fn values_are_numbers_in_any_spelling() {
        for (text, value) in [("1e3", 1e3), (".5", 0.5), ("5.", 5.0), ("+7", 7.0), ("-Infinity", f64::NEG_INFINITY)] {
            assert_eq!(sample(&format!("g {text}")).unwrap().2, value);
        }
        assert!(sample("g nAn").unwrap().2.is_nan());
        for text in ["1_000", "0x10", "abc", "", "1 later", "1 # {a=\"b\"}", "1 2\t3", "1\t2 3"] {
            assert!(sample(&format!("g {text}")).is_err(), "{text}");
        }
    }

    #[test]
    fn timestamps_and_exemplars_are_passed_over() {
        for line in ["g 1 1700000000000", "g 1 1.5", r#"g 1 # {t="a b"} 0.5"#, r#"g 1 1.5 # {} 0.5 1.7e9"#] {
            assert_eq!(sample(line).unwrap().2, 1.0, "{line}");
        }
    }

    #[test]
    fn a_flaw_leaves_no_labels_behind() {
        let mut labels = vec![("kept".into(), "1".into())];
        assert!(read_sample(r#"g{a="1",b="2"} x"#, &mut labels).is_err());
        assert_eq!(labels.len(), 1);
    }

    #[test]
    fn a_label_named_twice_is_a_flaw_among_few_and_among_many() {
        let many: Vec<String> = (0..40).map(|number| format!("l{number}=\"1\"")).collect();
        assert_eq!(labels_of(&format!("g{{{}}} 1", many.join(","))).len(), 40);
        assert_eq!(sample(&format!("g{{{},l7=\"2\"}} 1", many.join(","))), Err("a label is named twice"));
        assert_eq!(sample(r#"g{a="1",a="1"} 1"#), Err("a label is named twice"));
    }

    #[test]
    fn declarations_may_be_spaced_out_and_quoted() {
        let name = |text: &str| Cow::Owned::<str>(text.to_owned());
        let help = |named: &str, text| Ok(Declaration::Help { name: name(named), text });
        assert_eq!(read_declaration("#   HELP   g   two  spaces"), help("g", "two  spaces"));
        assert_eq!(read_declaration("# HELP g"), help("g", ""));
        assert_eq!(read_declaration(r#"# HELP "a b" text"#), help("a b", "text"));
        let gauge = Declaration::Type { name: name("g"), kind: DeclaredKind::Gauge };
        for declaration in ["#\tTYPE\tg\tgauge", "## TYPE g gauge"] {
            assert_eq!(read_declaration(declaration), Ok(gauge.clone()), "{declaration}");
        }
        for comment in
            ["#", "# ", "#HELP g x", "#HELP", "# EOF x", "## EOF", "# UNIT g seconds", "# free words", "# HELP"]
        {
            assert_eq!(read_declaration(comment), Ok(Declaration::Comment), "{comment}");
        }
        assert_eq!(read_declaration("# EOF"), Ok(Declaration::End));
        for bad in ["# TYPE", "# TYPE g", "# TYPE g GAUGE", "# TYPE g gauge x", "# HELP 9b x", "# HELP a-b x"] {
            assert!(read_declaration(bad).is_err(), "{bad}");
        }
    }
}
