//! YAML text to nodes with their line and column.
//!
//! saphyr-parser, a maintained YAML 1.2 parser, emits events with a span each. So this module decides about duplicate
//! keys, anchors and limits, and every later message can name a line. Plain scalars follow YAML 1.1 for booleans
//! (`yes`, `on`), as files for AIPerf expect, but not for octal and base-60 numbers.

use crate::error::Problem;
use crate::setting::join;
use crate::tree::{Datum, Node, Origin, Places};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle};
use std::collections::BTreeMap;

const DEPTH: usize = 256;
/// The most values of a file with expanded aliases: a bomb of nested aliases is refused, not expanded.
const SIZE: usize = 1_000_000;

pub(crate) fn load(text: &str, places: &Places) -> Result<Node, Problem> {
    let mut loader = Loader { parser: Parser::new_from_str(text), places, anchors: BTreeMap::new(), size: 0 };
    loader.document()
}

struct Loader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    places: &'a Places,
    anchors: BTreeMap<usize, Option<Node>>,
    size: usize,
}

impl<'a> Loader<'a> {
    fn document(&mut self) -> Result<Node, Problem> {
        let file = self.places.file.clone().unwrap_or_default();
        let empty = || Problem::new(format!("{file} is empty")).hint("aiperf config init --template minimal");
        let mut root = None;
        loop {
            let (event, at) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::StreamEnd => break,
                Event::DocumentStart(_) if root.is_some() => {
                    return Err(self.fail(at, "a file has one document, and a second begins here"));
                }
                Event::DocumentStart(_) => {
                    let (event, at) = self.next()?;
                    if let Event::StreamEnd | Event::DocumentEnd = event {
                        return Err(empty());
                    }
                    root = Some(self.value(event, at, "", 0)?);
                }
                other => return Err(self.fail(at, &format!("unexpected {other:?}"))),
            }
        }
        match root {
            Some(Node { datum: Datum::Null, .. }) | None => Err(empty()),
            Some(node) => Ok(node),
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Marker), Problem> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, span.start)),
            Some(Err(error)) => {
                let at = *error.marker();
                Err(self.fail(at, error.info()).because("the file is not valid YAML"))
            }
            None => Ok((Event::StreamEnd, Marker::new(0, 1, 0))),
        }
    }

    fn fail(&self, at: Marker, what: &str) -> Problem {
        Problem::new(format!("{}{what}", self.places.prefix(&origin(at))))
    }

    fn value(&mut self, event: Event<'a>, at: Marker, path: &str, depth: usize) -> Result<Node, Problem> {
        self.size += 1;
        if depth > DEPTH {
            return Err(self.fail(at, &format!("settings are nested more than {DEPTH} levels deep")));
        }
        if self.size > SIZE {
            return Err(self.fail(at, &format!("there are more than {SIZE} values")));
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none_or(|tag| tag.suffix != "str");
                let node = Node::new(if plain { scalar(&text) } else { Datum::Text(text.into_owned()) }, origin(at));
                self.keep(anchor, &node);
                Ok(node)
            }
            Event::SequenceStart(anchor, _) => {
                self.open(anchor);
                let mut items = Vec::new();
                loop {
                    let (event, at) = self.next()?;
                    if event == Event::SequenceEnd {
                        break;
                    }
                    items.push(self.value(event, at, &join(path, &items.len().to_string()), depth + 1)?);
                }
                let node = Node::new(Datum::List(items), origin(at));
                self.keep(anchor, &node);
                Ok(node)
            }
            Event::MappingStart(anchor, _) => {
                self.open(anchor);
                let node = self.map(at, path, depth)?;
                self.keep(anchor, &node);
                Ok(node)
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(Some(node)) => {
                    let node = node.clone();
                    self.size += size(&node);
                    Ok(node)
                }
                _ => Err(self
                    .fail(at, "an alias refers to the value that contains it")
                    .because("the settings would never end")),
            },
            other => Err(self.fail(at, &format!("unexpected {other:?}"))),
        }
    }

    fn map(&mut self, start: Marker, path: &str, depth: usize) -> Result<Node, Problem> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        let mut merged: Vec<(String, Node)> = Vec::new();
        // The line in which a key was first set.
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            let (event, at) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let key = self.value(event, at, path, depth + 1)?;
            let Datum::Text(key) = key.datum else {
                let place = if path.is_empty() { "the file".to_owned() } else { path.to_owned() };
                let what = format!("the key {} of {place} is {}, not text", key.shown(), key.kind());
                return Err(self.fail(at, &what).hint(format!("'{}'", key.shown())));
            };
            let (event, value_at) = self.next()?;
            let mut value = self.value(event, value_at, &join(path, &key), depth + 1)?;
            if key == "<<" {
                merged.extend(match value.datum {
                    Datum::Map(entries) => entries,
                    Datum::List(maps) => maps.into_iter().flat_map(|map| map.entries().to_vec()).collect(),
                    _ => return Err(self.fail(at, "<< must name a map")),
                });
                continue;
            }
            if let Some(before) = lines.insert(key.clone(), at.line()) {
                return Err(self
                    .fail(at, &format!("{} is set twice", join(path, &key)))
                    .because(format!("the first time in line {before}")));
            }
            value.origin = origin(at);
            entries.push((key, value));
        }
        for (key, value) in merged {
            if lines.insert(key.clone(), 0).is_none() {
                entries.push((key, value));
            }
        }
        Ok(Node::new(Datum::Map(entries), origin(start)))
    }

    fn open(&mut self, anchor: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, None);
        }
    }

    fn keep(&mut self, anchor: usize, node: &Node) {
        if anchor > 0 {
            self.anchors.insert(anchor, Some(node.clone()));
        }
    }
}

fn origin(at: Marker) -> Origin {
    Origin::File { line: at.line(), column: at.col() + 1 }
}

fn size(node: &Node) -> usize {
    1 + node.items().iter().map(size).sum::<usize>() + node.entries().iter().map(|(_, node)| size(node)).sum::<usize>()
}

/// The value of a plain scalar.
fn scalar(text: &str) -> Datum {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Datum::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Datum::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Datum::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" => return Datum::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Datum::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Datum::Float(f64::NAN),
        _ => {}
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(hex) = digits.strip_prefix("0x") {
        return i64::from_str_radix(hex, 16).map_or_else(|_| Datum::Text(text.to_owned()), Datum::Int);
    }
    let number = digits.starts_with(|c: char| c.is_ascii_digit()) || (digits.starts_with('.') && digits.len() > 1);
    if !number {
        return Datum::Text(text.to_owned());
    }
    if let Ok(n) = crate::scalars::int(text) {
        return Datum::Int(n);
    }
    let shaped = digits.bytes().all(|b| b.is_ascii_digit() || b".eE+-_".contains(&b));
    match text.replace('_', "").parse::<f64>() {
        Ok(n) if shaped => Datum::Float(n),
        _ => Datum::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Node, Problem> {
        load(text, &Places { file: Some("c.yaml".into()) })
    }

    #[test]
    fn values_have_the_position_of_their_key() {
        let node = read("a: 1\nb:\n  c: [x, 2.5]\n").unwrap();
        assert_eq!(node.find("b.c").unwrap().origin, Origin::File { line: 3, column: 3 });
        assert_eq!(node.to_json(), serde_json::json!({"a": 1, "b": {"c": ["x", 2.5]}}));
    }

    #[test]
    fn plain_scalars_have_the_type_they_look_like_and_quoted_ones_are_text() {
        let node =
            read("[1, 1_000, -2, 1.5, 1e3, 0x10, yes, Off, null, ~, '7', \"true\", 2m, 1.2.3, 12:30, -]").unwrap_err();
        assert!(node.what.contains("c.yaml:1:"), "{node}");
        let node = read("[1, 1_000, -2, 1.5, 1e3, 0x10, yes, Off, null, ~, '7', \"true\", 2m, 1.2.3, 12:30]").unwrap();
        let expected = serde_json::json!([
            1, 1000, -2, 1.5, 1000.0, 16, true, false, null, null, "7", "true", "2m", "1.2.3", "12:30"
        ]);
        assert_eq!(node.to_json(), expected);
    }

    #[test]
    fn a_shared_anchor_is_fine_and_a_cycle_is_not() {
        let node = read("a: &x {k: 1}\nb: *x\nc: {<<: *x, m: 2}\n").unwrap();
        assert_eq!(node.to_json(), serde_json::json!({"a": {"k": 1}, "b": {"k": 1}, "c": {"m": 2, "k": 1}}));
        assert!(read("a: &x {k: *x}\n").unwrap_err().what.contains("c.yaml:1:"));
    }

    #[test]
    fn nested_aliases_cannot_fill_the_memory() {
        let mut text = String::from("a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
        for level in 1..12 {
            let before = vec![format!("*a{}", level - 1); 10].join(",");
            text.push_str(&format!("a{level}: &a{level} [{before}]\n"));
        }
        assert!(read(&text).unwrap_err().what.contains("more than"));
    }
}
