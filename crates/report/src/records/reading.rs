//! Reads the records of a run back: some of their metrics as columns, one number per request.
//!
//! A file of a million requests has gigabytes, of which a comparison needs a few numbers per line. So lines are read
//! one by one, and other values are skipped and not stored. Files may be compressed (`.gz`, `.zst`), and may end early:
//! the lines before the end are returned, with a note.

use flate2::bufread::MultiGzDecoder;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// A longer line is no record: a request of a million tokens has about 20 MB.
const LONGEST_LINE: u64 = 64 << 20;
/// Bytes read at a time.
const READ_SIZE: usize = 1 << 18;

/// Requests that succeeded in measured phases, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordColumns {
    /// When each request started, nanoseconds since 1970.
    pub starts: Vec<i64>,
    /// When its response was complete.
    pub ends: Vec<i64>,
    /// One for each requested tag, in that order.
    pub columns: Vec<RecordColumn>,
    /// Lines that are not records.
    pub malformed: u64,
    /// The first of them, counted from 1, and its fault.
    pub first_malformed: Option<(u64, String)>,
    /// Why the file could not be read to its end.
    pub cut_off: Option<String>,
}

/// One metric of those requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordColumn {
    pub tag: String,
    /// As in the first record; `None` if none has the metric.
    pub unit: Option<String>,
    /// NaN if a request has no number.
    pub values: Vec<f64>,
    /// Requests have several values each, which are not stored.
    pub is_list: bool,
}

impl RecordColumns {
    /// Reads a file. Only a failure to open it is an error; later ones are part of the result.
    pub fn read(path: &Path, tags: &[String]) -> io::Result<Self> {
        let file = BufReader::with_capacity(READ_SIZE, File::open(path)?);
        Ok(match path.extension().and_then(|end| end.to_str()) {
            Some("gz") => Self::of_lines(BufReader::with_capacity(READ_SIZE, MultiGzDecoder::new(file)), tags),
            Some("zst") => {
                let unpacked = zstd::stream::read::Decoder::with_buffer(file)?;
                Self::of_lines(BufReader::with_capacity(READ_SIZE, unpacked), tags)
            }
            _ => Self::of_lines(file, tags),
        })
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    fn of_lines(mut lines: impl BufRead, tags: &[String]) -> Self {
        let columns = tags.iter().map(|tag| RecordColumn { tag: tag.clone(), ..RecordColumn::default() }).collect();
        let mut reading =
            Reading { found: Self { columns, ..Self::default() }, row: Row::new(tags.len()), keys: Vec::new() };
        let mut line = Vec::new();
        let mut number = 0;
        loop {
            line.clear();
            number += 1;
            match lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    reading.found.cut_off = Some(error.to_string());
                    break;
                }
            }
            if line.last() != Some(&b'\n') && line.len() as u64 == LONGEST_LINE {
                reading.malformed(number, "a line of more than 64 MiB".to_owned());
                if let Err(error) = skip_line(&mut lines) {
                    reading.found.cut_off = Some(error.to_string());
                    break;
                }
                line = Vec::new();
                continue;
            }
            if !line.trim_ascii().is_empty() {
                reading.take(number, &line);
            }
        }
        reading.found
    }
}

/// Skips to the end of the line.
fn skip_line(lines: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffered = lines.fill_buf()?;
        if buffered.is_empty() {
            return Ok(());
        }
        let end = buffered.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffered.len(), |at| at + 1);
        lines.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

struct Reading {
    found: RecordColumns,
    row: Row,
    /// The metrics of the last line, and their columns: the next line usually has the same in the same order.
    keys: Vec<(Vec<u8>, Option<usize>)>,
}

impl Reading {
    fn malformed(&mut self, line: u64, what: String) {
        self.found.malformed += 1;
        self.found.first_malformed.get_or_insert((line, what));
    }

    fn take(&mut self, number: u64, line: &[u8]) {
        self.row.reset();
        let record = Record { row: &mut self.row, keys: &mut self.keys, columns: &mut self.found.columns };
        let mut json = serde_json::Deserializer::from_slice(line);
        if let Err(error) = json.deserialize_map(record).and_then(|()| json.end()) {
            // serde_json counts lines within this one.
            let what = error.to_string();
            let what = what.split_once(" at line ").map_or(what.as_str(), |(what, _)| what);
            return self.malformed(number, format!("{what}, at column {}", error.column()));
        }
        let Row { start, end, has_failed, is_measured, values } = &self.row;
        if *has_failed || !*is_measured {
            return;
        }
        let (Some(start), Some(end)) = (*start, *end) else {
            return self.malformed(number, "no request_start_ns and request_end_ns in its metadata".to_owned());
        };
        self.found.starts.push(start);
        self.found.ends.push(end);
        for (column, value) in self.found.columns.iter_mut().zip(values) {
            column.values.push(*value);
        }
    }
}

/// The stored part of one line.
struct Row {
    start: Option<i64>,
    end: Option<i64>,
    has_failed: bool,
    /// Not of a warm-up phase.
    is_measured: bool,
    values: Vec<f64>,
}

impl Row {
    fn new(columns: usize) -> Self {
        Self { start: None, end: None, has_failed: false, is_measured: true, values: vec![f64::NAN; columns] }
    }

    fn reset(&mut self) {
        (self.start, self.end, self.has_failed, self.is_measured) = (None, None, false, true);
        self.values.fill(f64::NAN);
    }
}

/// A map of which a visitor reads the members.
struct Map<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Map<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_map(self.0)
    }
}

/// A line.
struct Record<'a> {
    row: &'a mut Row,
    keys: &'a mut Vec<(Vec<u8>, Option<usize>)>,
    columns: &'a mut [RecordColumn],
}

impl<'de> Visitor<'de> for Record<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let Self { row, keys, columns } = self;
        while let Some(Text(key)) = map.next_key()? {
            match key.as_ref() {
                b"metadata" => map.next_value_seed(Map(Metadata(row)))?,
                b"metrics" => map.next_value_seed(Map(Metrics { row, keys, columns }))?,
                b"error" => row.has_failed |= map.next_value::<Option<IgnoredAny>>()?.is_some(),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Metadata<'a>(&'a mut Row);

impl<'de> Visitor<'de> for Metadata<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metadata of a record")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(Text(key)) = map.next_key()? {
            match key.as_ref() {
                b"request_start_ns" => self.0.start = map.next_value()?,
                b"request_end_ns" => self.0.end = map.next_value()?,
                b"benchmark_phase" => self.0.is_measured &= map.next_value::<Text>()?.0.as_ref() == b"profiling",
                b"was_cancelled" => self.0.has_failed |= map.next_value::<Option<bool>>()? == Some(true),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Metrics<'a> {
    row: &'a mut Row,
    keys: &'a mut Vec<(Vec<u8>, Option<usize>)>,
    columns: &'a mut [RecordColumn],
}

impl Metrics<'_> {
    /// The column of the metric at a position of a line.
    fn column(&mut self, at: usize, key: &[u8]) -> Option<usize> {
        if let Some((known, column)) = self.keys.get(at)
            && known == key
        {
            return *column;
        }
        let column = self.columns.iter().position(|column| column.tag.as_bytes() == key);
        self.keys.truncate(at);
        self.keys.push((key.to_vec(), column));
        column
    }
}

impl<'de> Visitor<'de> for Metrics<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metrics of a record")
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<(), M::Error> {
        let mut at = 0;
        while let Some(Text(key)) = map.next_key()? {
            match self.column(at, &key) {
                None => drop(map.next_value::<IgnoredAny>()?),
                Some(column) => {
                    map.next_value_seed(Map(Measured {
                        value: &mut self.row.values[column],
                        column: &mut self.columns[column],
                    }))?;
                }
            }
            at += 1;
        }
        Ok(())
    }
}

/// `{"value": 1.5, "unit": "ms"}`.
struct Measured<'a> {
    value: &'a mut f64,
    column: &'a mut RecordColumn,
}

impl<'de> Visitor<'de> for Measured<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value with its unit")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(Text(key)) = map.next_key()? {
            match key.as_ref() {
                b"value" => match map.next_value_seed(Value)? {
                    Found::Number(number) => *self.value = number,
                    Found::List => self.column.is_list = true,
                    Found::Nothing => {}
                },
                b"unit" => {
                    let Text(unit) = map.next_value()?;
                    match &self.column.unit {
                        Some(known) if known.as_bytes() == &*unit => {}
                        Some(known) => {
                            let (tag, unit) = (&self.column.tag, String::from_utf8_lossy(&unit));
                            return Err(M::Error::custom(format_args!("{tag} is in {unit}, after {known} before")));
                        }
                        None => self.column.unit = Some(String::from_utf8_lossy(&unit).into_owned()),
                    }
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

enum Found {
    Number(f64),
    List,
    Nothing,
}

struct Value;

impl<'de> DeserializeSeed<'de> for Value {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a list of numbers")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Found, E> {
        Ok(Found::Number(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Found, E> {
        Ok(Found::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Found, E> {
        Ok(Found::Number(value as f64))
    }

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(Found::Nothing)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Found, S::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Found::List)
    }
}

/// Text as bytes: copied only if it has escapes, and not checked again; all of ours is ASCII.
struct Text<'a>(Cow<'a, [u8]>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_borrowed_bytes<E>(self, text: &'de [u8]) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_bytes<E>(self, text: &[u8]) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_vec())))
            }
        }

        deserializer.deserialize_bytes(TextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    const TAGS: [&str; 2] = ["request_latency", "input_sequence_length"];

    fn columns(text: &[u8]) -> RecordColumns {
        RecordColumns::of_lines(text, &TAGS.map(str::to_owned))
    }

    fn line(start: i64, latency: f64, more: &str) -> String {
        format!(
            "{{\"metadata\":{{\"request_start_ns\":{start},\"request_end_ns\":{},\"benchmark_phase\":\"profiling\"}},\
             \"metrics\":{{\"other\":{{\"value\":[1,2],\"unit\":\"ms\"}},\"request_latency\":{{\"value\":{latency:?},\
             \"unit\":\"ms\"}}}}{more}}}\n",
            start + 5
        )
    }

    #[test]
    fn successful_requests_of_measured_phases_are_kept_and_lists_are_not_numbers() {
        let warm_up = line(2, 2.0, "").replace("profiling", "warmup");
        let failed = line(3, 3.0, ",\"error\":{\"code\":500}");
        let cancelled = line(4, 4.0, "").replace("\"benchmark_phase\"", "\"was_cancelled\":true,\"benchmark_phase\"");
        let text = [line(1, 1.0, ",\"error\":null"), warm_up, failed, cancelled, line(9, 9.5, "")].concat();
        let found = columns(text.as_bytes());
        assert_eq!((found.starts, found.ends), (vec![1, 9], vec![6, 14]));
        assert_eq!((&found.columns[0].unit, &found.columns[0].values), (&Some("ms".to_owned()), &vec![1.0, 9.5]));
        assert!(found.columns[1].unit.is_none() && found.columns[1].values.iter().all(|value| value.is_nan()));
        assert_eq!((found.malformed, found.cut_off), (0, None));
    }

    #[test]
    fn malformed_lines_are_counted_and_the_first_is_named() {
        let cut = line(2, 2.0, "");
        let other_unit = line(3, 3.0, "").replace("ms\"}}}", "s\"}}}");
        let text = [line(1, 1.0, ""), cut[..40].to_owned() + "\n", "[]\n\n{}\n".to_owned(), other_unit].concat();
        let found = columns(text.as_bytes());
        assert_eq!((found.starts.len(), found.malformed), (1, 4));
        let (number, what) = found.first_malformed.unwrap();
        assert!(number == 2 && what.contains("at column"), "{number}: {what}");
    }

    #[test]
    fn a_compressed_file_that_ends_early_gives_the_lines_before_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let text: String = (0..20_000).map(|at| line(at, (at * 7919 % 1000) as f64, "")).collect();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let packed = [("gz", gzip.finish().unwrap()), ("zst", zstd::encode_all(text.as_bytes(), 1).unwrap())];
        for (end, bytes) in packed {
            let path = dir.path().join(format!("records.jsonl.{end}"));
            for (share, is_whole) in [(1, true), (2, false)] {
                std::fs::write(&path, &bytes[..bytes.len() / share]).unwrap();
                let found = RecordColumns::read(&path, &TAGS.map(str::to_owned)).unwrap();
                assert_eq!((found.len() == 20_000, found.cut_off.is_none()), (is_whole, is_whole), "{end}");
                assert!(found.len() > 1000, "{end}: {}", found.len());
            }
        }
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let long = std::iter::repeat_n(b'x', LONGEST_LINE as usize + 10).chain(*b"\n");
        let text: Vec<u8> =
            line(1, 1.0, "").into_bytes().into_iter().chain(long).chain(line(2, 2.0, "").into_bytes()).collect();
        let found = columns(&text);
        assert_eq!((found.starts, found.malformed), (vec![1, 2], 1));
        assert_eq!(found.first_malformed, Some((2, "a line of more than 64 MiB".to_owned())));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let found = columns(&bytes);
            prop_assert_eq!(found.starts.len(), found.columns[0].values.len());
        }
    }
}
