//! Columnar files: one table in every way that pyarrow writes it (`scripts/make-columnar`), and broken files.

use aiperf_dataset::columns::{Cell, Columns};
use aiperf_golden::Tally;
use aiperf_golden::kinds::datasets::COLUMNAR_TABLE;
use parquet::data_type::Int64Type;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The columnar files of the golden folder, each with its rows.
fn tables() -> Vec<(PathBuf, Vec<Value>)> {
    let rows = |path: &Path| -> Value {
        let stem = path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned();
        let text = std::fs::read_to_string(path.with_file_name(format!("{stem}.json"))).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let files = COLUMNAR_TABLE.whole_files().into_iter().filter(|file| !file.has_extension(&["json"]));
    files.filter_map(|file| Some((file.path.clone(), rows(&file.path).as_array()?.clone()))).collect()
}

/// Opens a file with these bytes.
fn opened(bytes: &[u8]) -> Result<Columns, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    Columns::open(file.path(), None)
}

fn rows(mut columns: Columns) -> Result<Vec<Value>, String> {
    let names: Vec<String> = columns.names().into_iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    while let Some(cells) = columns.next_row() {
        let members = names.iter().cloned().zip(cells?.into_iter().map(|cell| cell.json().unwrap_or_default()));
        rows.push(Value::Object(members.collect::<Map<_, _>>()));
    }
    Ok(rows)
}

#[test]
fn golden_tables_are_read_whatever_their_codec() {
    let mut tally = Tally::of(COLUMNAR_TABLE);
    for (path, wanted) in tables() {
        tally.run(path.display().to_string(), || {
            assert_eq!(rows(Columns::open(&path, None).unwrap()).unwrap(), wanted);
        });
    }
    tally.finish();
}

#[test]
fn a_truncated_file_is_refused_and_does_not_lose_rows_silently() {
    let mut cut = 0;
    for (path, _) in tables() {
        let bytes = std::fs::read(&path).unwrap();
        let fault = opened(&bytes[..bytes.len() - 8]).map(drop).unwrap_err();
        assert!(fault.contains("try: a whole copy"), "{}: {fault}", path.display());
        cut += 1;
    }
    assert!(cut > 1);
}

#[test]
fn a_stream_that_is_cut_between_two_batches_is_refused() {
    let is_stream = |bytes: &Vec<u8>| bytes.starts_with(&[0xff; 4]);
    let streams = tables().into_iter().map(|(path, _)| std::fs::read(path).unwrap()).filter(is_stream);
    let mut cut = 0;
    for bytes in streams {
        // Messages begin with this mark, at multiples of eight, and so does the end.
        let is_mark = |at: &usize| bytes[*at..].starts_with(&[0xff; 4]);
        for at in (8..bytes.len()).step_by(8).filter(is_mark) {
            let fault = opened(&bytes[..at]).and_then(rows).unwrap_err();
            assert!(fault.contains("try: a whole copy"), "{at}: {fault}");
            cut += 1;
        }
    }
    assert!(cut > 1);
}

#[test]
fn columns_that_are_not_wanted_are_not_read() {
    let has_images = |wanted: &[Value]| wanted[0].get("image").is_some();
    for (path, wanted) in tables().into_iter().filter(|(_, wanted)| has_images(wanted)) {
        let mut columns = Columns::open(&path, Some(&["whole", "absent", "image"])).unwrap();
        assert_eq!(columns.names(), ["whole", "image"]);
        let first = columns.next_row().unwrap().unwrap();
        assert_eq!(first[0], Cell::Int(wanted[0]["whole"].as_i64().unwrap().into()));
        let image = [("path", Cell::Text("0.png".into())), ("bytes", Cell::Bytes(b"bytes".to_vec()))];
        assert_eq!(first[1], Cell::Object(image.map(|(name, cell)| (name.to_owned(), cell)).to_vec()));
    }
}

#[test]
fn an_error_about_a_file_that_is_no_table_names_the_formats() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    for (bytes, wanted) in [("", "neither Parquet nor Arrow"), ("{\"a\": 1}", "neither"), ("PAR1", "cannot be read")] {
        std::fs::write(&path, bytes).unwrap();
        let error = Columns::open(&path, None).err().unwrap();
        assert!(error.contains(wanted) && error.contains("try: "), "{error}");
    }
    assert_eq!(Columns::open(&folder.path().join("absent"), None).err().unwrap(), "no such file");
    assert_eq!(Columns::open(folder.path(), None).err().unwrap(), "is not a file");
}

#[test]
fn a_type_that_is_not_read_is_named_where_a_row_has_a_value_of_it() {
    let files = || COLUMNAR_TABLE.whole_files().into_iter().map(|file| file.path);
    let messages = files().find(|path| path.ends_with("unread.json")).unwrap();
    let messages: Map<String, Value> = serde_json::from_str(&std::fs::read_to_string(messages).unwrap()).unwrap();
    let mut refused = 0;
    for path in files().filter(|path| path.file_stem().is_some_and(|stem| stem == "unread")) {
        let Ok(columns) = Columns::open(&path, None) else { continue };
        for name in columns.names() {
            let fault = rows(Columns::open(&path, Some(&[name])).unwrap()).unwrap_err();
            let message = messages[name].as_str().unwrap();
            let message = if message.contains('\n') {
                message.to_owned()
            } else {
                format!("has a column of type {message}, which is not read\n  try: text, numbers or lists of them")
            };
            assert_eq!(fault, message, "{name} of {}", path.display());
            refused += 1;
        }
        assert_eq!(Columns::open(&path, Some(&[])).unwrap().unread().len(), columns.names().len());
    }
    assert!(refused > messages.len(), "{refused}");
}

/// A Parquet file of whole numbers: of every column the values, how far each entry is defined, and how far it repeats.
fn numbers(schema: &str, columns: &[(&[i64], &[i16], &[i16])]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut out = Vec::new();
    let mut file = SerializedFileWriter::new(&mut out, schema, Default::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    for (values, defined, repeats) in columns {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(values, Some(defined), Some(repeats)).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    out
}

#[test]
fn lists_of_older_writers_are_read() {
    // Rows of two elements, of none, and of one.
    let (values, repeats) = (&[1, 2, 3][..], &[0, 1, 0, 0][..]);
    let (required, optional) = (&[1, 1, 0, 1][..], &[2, 2, 1, 2][..]);
    let plain = json!([{"a": [1, 2]}, {"a": []}, {"a": [3]}]);
    let objects = json!([{"a": [{"x": 1}, {"x": 2}]}, {"a": []}, {"a": [{"x": 3}]}]);
    for (schema, defined, wanted) in [
        ("repeated int64 a;", required, &plain),
        ("repeated group a { required int64 x; }", required, &objects),
        ("optional group a (LIST) { repeated int64 element; }", optional, &plain),
        ("optional group a (LIST) { repeated group array { required int64 x; } }", optional, &objects),
        ("optional group a (LIST) { repeated group a_tuple { required int64 x; } }", optional, &objects),
        ("optional group a (LIST) { repeated group bag { required int64 x; } }", optional, &plain),
        ("optional group a (MAP) { repeated group key_value { required int64 key; } }", optional, &plain),
    ] {
        let bytes = numbers(&format!("message m {{ {schema} }}"), &[(values, defined, repeats)]);
        let found = rows(opened(&bytes).unwrap()).unwrap();
        assert_eq!(Value::Array(found), *wanted, "{schema}");
    }
}

#[test]
fn columns_of_one_struct_that_do_not_agree_are_refused() {
    let schema = "message m { repeated group a { required int64 x; required int64 y; } }";
    let two_and_one = (&[1, 2, 3][..], &[1, 1, 1][..], &[0, 1, 0][..]);
    let one_and_two = (&[1, 2, 3][..], &[1, 1, 1][..], &[0, 0, 1][..]);
    let fault = rows(opened(&numbers(schema, &[two_and_one, one_and_two])).unwrap()).unwrap_err();
    assert!(fault.contains("lengths do not fit"), "{fault}");
    assert_eq!(rows(opened(&numbers(schema, &[two_and_one, two_and_one])).unwrap()).unwrap().len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn broken_tables_are_errors_and_never_end_the_program(
        which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte: u8, cut: bool,
    ) {
        let tables = tables();
        if let Some((path, _)) = (!tables.is_empty()).then(|| which.get(&tables)) {
            let mut bytes = std::fs::read(path).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
            if cut {
                bytes.truncate(at);
            }
            let _ = opened(&bytes).and_then(rows);
        }
    }

    #[test]
    fn any_bytes_are_a_table_or_an_error(magic in prop::sample::select(vec![&b"PAR1"[..], b"ARROW1", &[0xff; 4]]), rest: Vec<u8>) {
        let bytes: Vec<u8> = [magic, &rest, magic].concat();
        let _ = opened(&bytes).and_then(rows);
    }
}
