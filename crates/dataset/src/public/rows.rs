//! Rows of the files of public datasets: Parquet and Arrow, a JSON list, or JSON values one after another. Gzip or not,
//! only one row at a time is in memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::{Deserializer, Value};

use super::row::{Fault, Row};
use crate::columns::Columns;
use crate::plain_file::{BYTE_ORDER_MARK, is_compressed};
use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};

/// Bytes read from a file at a time.
const BUFFER: usize = 1 << 20;

/// Receives each row with its number, from 1; decides whether to continue.
pub(super) type Take<'a> = &'a mut dyn FnMut(u64, Row) -> Result<ControlFlow<()>, Fault>;

/// Reads the rows of a file until `take` stops. Errors leave out the name of the file.
pub(super) fn each(path: &Path, columns: Option<&[&str]>, take: Take<'_>) -> Result<(), Fault> {
    let unread = |error: std::io::Error| format!("cannot be read: {error}");
    let mut file = BufReader::with_capacity(BUFFER, File::open(path).map_err(unread)?);
    let start = file.fill_buf().map_err(unread)?;
    if Columns::begin_with(start) {
        let some = Columns::open(path, columns)?;
        let has_all = columns.is_none_or(|wanted| wanted.iter().all(|name| some.names().contains(name)));
        // A column is missing: read all, so that the error can list the columns.
        return of_columns(if has_all { some } else { Columns::open(path, None)? }, take);
    }
    if is_compressed(start) {
        return of_json(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(file)), take);
    }
    of_json(file, take)
}

fn of_columns(mut columns: Columns, take: Take<'_>) -> Result<(), Fault> {
    let names: Vec<String> = columns.names().into_iter().map(str::to_owned).collect();
    let mut number = 0;
    while let Some(cells) = columns.next_row() {
        number += 1;
        let row = Row::new(names.iter().cloned().zip(cells?).collect());
        if take(number, row)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn of_json(mut text: impl BufRead, take: Take<'_>) -> Result<(), Fault> {
    let unread = |error: std::io::Error| format!("cannot be read: {error}");
    if text.fill_buf().map_err(unread)?.starts_with(BYTE_ORDER_MARK.as_bytes()) {
        text.consume(BYTE_ORDER_MARK.len());
    }
    let is_list = loop {
        match text.fill_buf().map_err(unread)?.first() {
            Some(byte) if byte.is_ascii_whitespace() => text.consume(1),
            first => break first == Some(&b'['),
        }
    };
    if is_list { of_list(text, take) } else { of_values(text, take) }
}

fn of_values(text: impl Read, take: Take<'_>) -> Result<(), Fault> {
    for (number, value) in (1..).zip(Deserializer::from_reader(text).into_iter::<Value>()) {
        if take(number, Row::of_json(value.map_err(broken)?)?)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn of_list(text: impl Read, take: Take<'_>) -> Result<(), Fault> {
    let mut ended = None;
    let read = Items { take, ended: &mut ended }.deserialize(&mut Deserializer::from_reader(text));
    match (ended, read) {
        (Some(ended), _) => ended,
        (None, read) => read.map_err(broken),
    }
}

/// A JSON list whose items are passed on one by one.
struct Items<'a, 'b> {
    take: Take<'a>,
    /// The result, if reading stopped before the end of the list.
    ended: &'b mut Option<Result<(), Fault>>,
}

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some(value) = items.next_element::<Value>()? {
            number += 1;
            match Row::of_json(value).and_then(|row| (self.take)(number, row)) {
                Ok(ControlFlow::Continue(())) => {}
                end => {
                    *self.ended = Some(end.map(drop));
                    return Err(A::Error::custom("no more rows are wanted"));
                }
            }
        }
        Ok(())
    }
}

fn broken(error: serde_json::Error) -> Fault {
    format!("line {}: is no JSON: {error}\n  try: remove the file, to fetch it again", error.line())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn texts(bytes: &[u8], most: usize) -> Result<Vec<String>, Fault> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut found = Vec::new();
        each(file.path(), None, &mut |_, row| {
            found.push(row.json()?["t"].to_string());
            Ok(if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(found)
    }

    #[test]
    fn rows_are_those_of_a_list_or_of_lines() {
        for text in ["[{\"t\":1},\n{\"t\":2}]", "\u{feff} {\"t\":1}\n\n{\"t\":2}\n", "\n[ {\"t\":1},{\"t\":2} ]\n"] {
            assert_eq!(texts(text.as_bytes(), 9).unwrap(), ["1", "2"], "{text}");
            assert_eq!(texts(text.as_bytes(), 1).unwrap(), ["1"], "{text}");
        }
        let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        zipped.write_all(b"{\"t\":7}\n").unwrap();
        assert_eq!(texts(&zipped.finish().unwrap(), 9).unwrap(), ["7"]);
        assert_eq!(texts(b"", 9).unwrap(), [""; 0]);
    }

    #[test]
    fn an_error_about_a_row_names_its_line() {
        for (text, wanted) in [("{\"t\":1}\n{\"t\":", "line 2"), ("[{\"t\":1},\n", "line 2"), ("[5]", "no object")] {
            let fault = texts(text.as_bytes(), 9).unwrap_err();
            assert!(fault.contains(wanted), "{fault}");
        }
    }

    proptest! {
        #[test]
        fn no_file_is_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = texts(&bytes, 5);
            let _ = texts(&[b"PAR1", bytes.as_slice(), b"PAR1"].concat(), 5);
            let _ = texts(&[b"[{\"t\":", bytes.as_slice()].concat(), 5);
        }
    }
}
