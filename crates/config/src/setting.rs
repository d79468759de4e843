//! Typed settings: the type of a value, its written form and its JSON schema, from one definition.
//!
//! `section!` defines a map of optional fields. A field that is `None` was not set, so a written section has exactly
//! the set fields; its full form has defaults too. Choices among names are settings too.

use crate::choice::Choice;
use crate::error::{Problem, SHOWN};
use crate::names;
use crate::nearest::nearest;
use crate::range::{self, Range};
use crate::tree::{Datum, Node, Places};
use serde_json::{Map, Value, json};

/// A value of a configuration.
pub(crate) trait Setting: Sized {
    /// The fields of a section; none for a single value.
    const FIELDS: &'static [Field] = &[];
    /// Reads a value, or reports what is wrong with it.
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self>;
    /// The set parts of the value.
    fn write(&self) -> Value;
    /// The value with defaults for everything that is not set.
    fn full(&self) -> Value {
        self.write()
    }
    fn schema() -> Value;
    /// The value in its shortest form in a file.
    fn brief(&self) -> Value {
        self.write()
    }
    /// The number that a range applies to.
    fn number(&self) -> Option<f64> {
        None
    }
}

/// Collects problems while values are read.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub places: Places,
    pub problems: Vec<Problem>,
}

impl Reader {
    pub(crate) fn new(places: &Places) -> Self {
        Self { places: places.clone(), problems: Vec::new() }
    }

    /// Reports that a value breaks a rule, as "... <rule>".
    pub(crate) fn refuse(&mut self, node: &Node, path: &str, rule: impl AsRef<str>) {
        self.problems.push(self.places.refuse(node, path, rule));
    }

    /// Checks that a node is a map that has only these keys.
    pub(crate) fn keys(&mut self, node: &Node, path: &str, known: &[&'static str]) -> Option<()> {
        if !node.is_map() {
            self.refuse(node, path, format!("must be a map, not {}", node.kind()));
            return None;
        }
        for (key, value) in node.entries() {
            if !known.contains(&key.as_str()) {
                // Advice is computed only for as many problems as are shown.
                let known = if self.problems.len() < SHOWN { with_shorthands(known, path) } else { Vec::new() };
                self.problems.push(unknown_key(&self.places, value, path, key, &known));
            }
        }
        Some(())
    }

    /// Reads one field; absent and null are not set.
    pub(crate) fn field<T: Setting>(&mut self, node: &Node, path: &str, key: &str, range: Option<Range>) -> Option<T> {
        let value = node.set(key)?;
        let path = join(path, key);
        let read = T::read(value, &path, self)?;
        if let (Some(range), Some(number)) = (range, read.number())
            && !range.holds(number)
        {
            self.refuse(value, &path, format!("must be {}", range.in_words()));
            return None;
        }
        Some(read)
    }
}

/// The valid keys at a path: those of its section, and their shorter forms.
fn with_shorthands(known: &[&'static str], path: &str) -> Vec<&'static str> {
    let short = names::shorthands(path).filter(|key| !known.contains(key));
    known.iter().copied().chain(short).collect()
}

/// The problem of an unknown key, with the nearest known one.
pub(crate) fn unknown_key(places: &Places, node: &Node, path: &str, key: &str, known: &[&str]) -> Problem {
    let at = join(path, key);
    let parent = if path.is_empty() { "the file".to_owned() } else { path.to_owned() };
    let problem = Problem::new(format!("{}{parent} has no setting '{key}'", places.prefix(&node.origin))).at(at);
    match nearest(&names::snake(key), known.iter().copied()) {
        Some(near) => problem.hint(near),
        None => problem.because(format!("known: {}", known.join(", "))),
    }
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// One field of a section: the source of everything about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub name: &'static str,
    pub about: &'static str,
    pub default: Option<fn() -> Value>,
    pub range: Option<Range>,
    pub schema: fn() -> Value,
    /// The fields of a nested section.
    pub fields: &'static [Field],
}

/// A field found by its path.
pub(crate) struct Described {
    pub field: &'static Field,
    /// Its default; for a mean, that of its length.
    pub default: Option<Value>,
}

/// The field at a dotted path below some fields.
pub(crate) fn described(fields: &'static [Field], path: &str) -> Option<Described> {
    let named = |fields: &'static [Field], name: &str| fields.iter().find(|field| field.name == name);
    let (parent, leaf) = match path.rsplit_once('.') {
        Some((parent, leaf)) => (Some(described(fields, parent)?), leaf),
        None => (None, path),
    };
    let field = named(parent.as_ref().map_or(fields, |parent| parent.field.fields), leaf)?;
    let inherited = parent.and_then(|parent| parent.default).filter(|_| leaf == "mean");
    Some(Described { field, default: field.default.map(|default| default()).or(inherited) })
}

/// A default in a sentence: texts without quotes, lists without brackets.
pub(crate) fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain_text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// A default for output: whole numbers without a fraction.
pub(crate) fn shown_default(value: impl Setting) -> Value {
    fn whole(value: Value) -> Value {
        match value {
            Value::Number(n) => match n.as_f64() {
                Some(float) if n.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => (float as i64).into(),
                _ => Value::Number(n),
            },
            Value::Array(items) => items.into_iter().map(whole).collect(),
            other => other,
        }
    }
    whole(value.brief())
}

/// The JSON schema of a section.
pub(crate) fn section_schema(about: &str, fields: &[Field]) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let mut schema = (field.schema)();
        if !field.about.is_empty() {
            schema["description"] = field.about.trim().into();
        }
        if let Some(default) = field.default {
            schema["default"] = default();
        }
        if let Some(Range { low, high }) = field.range {
            let target = if schema.get("items").is_some() { &mut schema["items"] } else { &mut schema };
            for (bound, with, without) in [(low, "minimum", "exclusiveMinimum"), (high, "maximum", "exclusiveMaximum")]
            {
                if let Some((n, inclusive)) = bound {
                    target[if inclusive { with } else { without }] = n.into();
                }
            }
        }
        properties.insert(field.name.to_owned(), schema);
    }
    json!({"type": "object", "description": about.trim(), "properties": properties, "additionalProperties": false})
}

/// A field's name without the `r#` of a keyword.
pub(crate) const fn plain(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

/// The value in brackets, or the other value if the brackets are empty.
macro_rules! given_or {
    ([] $other:expr) => {
        $other
    };
    ([$given:expr] $other:expr) => {
        $given
    };
}

macro_rules! section {
    ($(
        $(#[doc = $about:literal])+
        $name:ident {
            $( $(#[doc = $doc:literal])* $field:ident : $ty:ty $([$range:expr])? $(= $default:expr)? ; )*
        }
    )*) => { $(
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name { $( $(#[doc = $doc])* pub $field: Option<$ty>, )* }

        /// The set value, or the default.
        impl $name { $( $(
            pub fn $field(&self) -> $ty {
                self.$field.clone().unwrap_or_else(|| <$ty>::from($default))
            }
        )? )* }

        impl $crate::setting::Setting for $name {
            const FIELDS: &'static [$crate::setting::Field] = &[$( $crate::setting::Field {
                name: $crate::setting::plain(stringify!($field)),
                about: concat!($($doc),*),
                default: $crate::setting::given_or!(
                    [$( Some(|| $crate::setting::shown_default(<$ty>::from($default))) )?] None
                ),
                range: $crate::setting::given_or!([$( Some($range) )?] None),
                schema: <$ty as $crate::setting::Setting>::schema,
                fields: <$ty as $crate::setting::Setting>::FIELDS,
            }, )*];
            fn read(node: &$crate::tree::Node, path: &str, reader: &mut $crate::setting::Reader) -> Option<Self> {
                const NAMES: &[&str] = &[$( $crate::setting::plain(stringify!($field)), )*];
                reader.keys(node, path, NAMES)?;
                Some(Self { $( $field: reader.field(
                    node,
                    path,
                    $crate::setting::plain(stringify!($field)),
                    $crate::setting::given_or!([$( Some($range) )?] None),
                ), )* })
            }
            fn write(&self) -> ::serde_json::Value {
                $crate::tree::object([$( (
                    $crate::setting::plain(stringify!($field)).to_owned(),
                    self.$field.as_ref().map($crate::setting::Setting::write),
                ), )*])
            }
            fn full(&self) -> ::serde_json::Value {
                $crate::tree::object([$( (
                    $crate::setting::plain(stringify!($field)).to_owned(),
                    $crate::setting::given_or!(
                        [$( Some($crate::setting::Setting::full(
                            &self.$field.clone().unwrap_or_else(|| <$ty>::from($default))
                        )) )?]
                        self.$field.as_ref().map($crate::setting::Setting::full)
                    ),
                ), )*])
            }
            fn schema() -> ::serde_json::Value {
                $crate::setting::section_schema(concat!($($about),+), Self::FIELDS)
            }
        }
    )* };
}

pub(crate) use {given_or, section};

impl<T: Choice> Setting for T {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        let names = T::NAMES;
        let Some(text) = node.text() else {
            reader.refuse(node, path, format!("must be one of {}, not {}", names.join(", "), node.kind()));
            return None;
        };
        let found = T::parse(text);
        if found.is_none() {
            let problem = reader.places.refuse(node, path, "is not one of its choices");
            let problem = problem.because(format!("choices: {}", names.join(", ")));
            reader.problems.push(match nearest(&text.to_ascii_lowercase(), names.iter().copied()) {
                Some(near) => problem.hint(near),
                None => problem,
            });
        }
        found
    }
    fn write(&self) -> Value {
        self.name().into()
    }
    fn schema() -> Value {
        json!({"enum": T::NAMES})
    }
}

impl Setting for bool {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        match &node.datum {
            Datum::Bool(on) => Some(*on),
            Datum::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
            Datum::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
            _ => {
                reader.refuse(node, path, "must be true or false");
                None
            }
        }
    }
    fn write(&self) -> Value {
        (*self).into()
    }
    fn schema() -> Value {
        json!({"type": "boolean"})
    }
}

impl Setting for i64 {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        let number = match &node.datum {
            Datum::Int(n) => return Some(*n),
            Datum::Float(n) if n.fract() == 0.0 && n.abs() < i64::MAX as f64 => return Some(*n as i64),
            Datum::Float(n) => Some(*n),
            Datum::Text(text) => match crate::scalars::int(text) {
                Ok(n) => return Some(n),
                Err(_) => crate::scalars::float(text).ok(),
            },
            _ => None,
        };
        let rule = match number {
            Some(n) if n.fract() == 0.0 && n >= i64::MAX as f64 => {
                format!("must be at most {}", range::largest_at(path))
            }
            _ => "must be a whole number".to_owned(),
        };
        reader.refuse(node, path, rule);
        None
    }
    fn write(&self) -> Value {
        (*self).into()
    }
    fn schema() -> Value {
        json!({"type": "integer"})
    }
    fn number(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl Setting for f64 {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        match &node.datum {
            Datum::Int(n) => return Some(*n as f64),
            Datum::Float(n) => return Some(*n),
            Datum::Text(text) => {
                if let Ok(n) = crate::scalars::float(text) {
                    return Some(n);
                }
            }
            _ => {}
        }
        reader.refuse(node, path, "must be a number");
        None
    }
    fn write(&self) -> Value {
        crate::scalars::number(*self)
    }
    fn schema() -> Value {
        json!({"type": "number"})
    }
    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

impl Setting for String {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        let text = node.text();
        if text.is_none() {
            let problem = reader.places.refuse(node, path, format!("must be text, not {}", node.kind()));
            reader.problems.push(problem.hint("put it in quotes"));
        }
        text.map(str::to_owned)
    }
    fn write(&self) -> Value {
        self.as_str().into()
    }
    fn schema() -> Value {
        json!({"type": "string"})
    }
}

/// Any value.
impl Setting for Value {
    fn read(node: &Node, _: &str, _: &mut Reader) -> Option<Self> {
        Some(node.to_json())
    }
    fn write(&self) -> Value {
        self.clone()
    }
    fn schema() -> Value {
        json!({})
    }
}

/// A map with any keys.
impl<T: Setting> Setting for Vec<(String, T)> {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        if !node.is_map() {
            reader.refuse(node, path, format!("must be a map, not {}", node.kind()));
            return None;
        }
        let entries = node.entries().iter();
        Some(
            entries.filter_map(|(key, value)| Some((key.clone(), T::read(value, &join(path, key), reader)?))).collect(),
        )
    }
    fn write(&self) -> Value {
        Value::Object(self.iter().map(|(key, value)| (key.clone(), value.write())).collect())
    }
    fn schema() -> Value {
        json!({"type": "object", "additionalProperties": T::schema()})
    }
}

/// A list. The wrapper distinguishes it from maps, which are lists of pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List<T>(pub Vec<T>);

impl<T> std::ops::Deref for List<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const N: usize> From<[T; N]> for List<T> {
    fn from(items: [T; N]) -> Self {
        Self(items.into())
    }
}

impl<T: Setting> Setting for List<T> {
    const FIELDS: &'static [Field] = T::FIELDS;
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        let Datum::List(items) = &node.datum else {
            reader.refuse(node, path, format!("must be a list, not {}", node.kind()));
            return None;
        };
        let items = items.iter().enumerate();
        Some(Self(items.filter_map(|(index, item)| T::read(item, &join(path, &index.to_string()), reader)).collect()))
    }
    fn write(&self) -> Value {
        self.0.iter().map(Setting::write).collect()
    }
    fn full(&self) -> Value {
        self.0.iter().map(Setting::full).collect()
    }
    fn schema() -> Value {
        json!({"type": "array", "items": T::schema()})
    }
}

/// A switch, or the settings of its feature.
#[derive(Clone, Debug, PartialEq)]
pub enum Switch<T> {
    /// On with defaults, or off.
    Plain(bool),
    /// On with these settings.
    With(T),
}

impl<T: Setting> Setting for Switch<T> {
    const FIELDS: &'static [Field] = T::FIELDS;
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        match node.datum {
            Datum::Bool(on) => Some(Self::Plain(on)),
            _ => T::read(node, path, reader).map(Self::With),
        }
    }
    fn write(&self) -> Value {
        match self {
            Self::Plain(on) => (*on).into(),
            Self::With(settings) => settings.write(),
        }
    }
    fn full(&self) -> Value {
        match self {
            Self::Plain(on) => (*on).into(),
            Self::With(settings) => settings.full(),
        }
    }
    fn schema() -> Value {
        json!({"anyOf": [{"type": "boolean"}, T::schema()]})
    }
}

/// A length of time in seconds: a number, or a text with a unit.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Seconds(pub f64);

impl Seconds {
    /// Reads `90`, `90s`, `1.5 min`, `2h` or `inf`.
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.trim().to_ascii_lowercase();
        if lower == "inf" || lower == "infinity" {
            return Some(Self(f64::INFINITY));
        }
        let end = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
        let (digits, unit) = lower.split_at(end);
        let shaped = digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.ends_with(|c: char| c.is_ascii_digit())
            && digits.matches('.').count() < 2;
        let scale = match unit.trim_start() {
            "" | "s" | "sec" => 1.0,
            "m" | "min" => 60.0,
            "h" | "hr" | "hour" => 3600.0,
            _ => return None,
        };
        if shaped { digits.parse::<f64>().ok().map(|n| Self(n * scale)) } else { None }
    }
}

impl Setting for Seconds {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        let read = match &node.datum {
            Datum::Text(text) => Self::parse(text),
            _ => node.as_f64().map(Self),
        };
        if read.is_none() {
            let problem = reader.places.refuse(node, path, "is not a length of time");
            reader.problems.push(problem.hint("seconds as a number, or '30s', '5m', '2h', 'inf'"));
        }
        read
    }
    fn write(&self) -> Value {
        crate::scalars::number(self.0)
    }
    fn schema() -> Value {
        json!({"anyOf": [
            {"type": "number"},
            {"type": "string", "pattern": r"^\s*(\d+(\.\d+)?\s*([sS]([eE][cC])?|[mM]([iI][nN])?|[hH]([rR]|[oO][uU][rR])?)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?)\s*$"},
        ]})
    }
    fn number(&self) -> Option<f64> {
        Some(self.0)
    }
}
