//! Columnar files: one table in every way that pyarrow writes it (`scripts/make-columnar`), and broken files.

use aiperf_dataset::columns::{Cell, Columns};
use aiperf_golden::Tally;
use aiperf_golden::kinds::datasets::COLUMNAR_TABLE;
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The columnar files of the golden folder, each with its rows.
fn tables() -> Vec<(PathBuf, Vec<Value>)> {
    let rows = |path: &Path| {
        let stem = path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned();
        let text = std::fs::read_to_string(path.with_file_name(format!("{stem}.json"))).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let files = COLUMNAR_TABLE.documents().into_iter().filter(|file| !file.has_extension(&["json"]));
    files.map(|file| (file.path.clone(), rows(&file.path))).collect()
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
            let held = Columns::of_bytes(std::fs::read(&path).unwrap().into(), None).unwrap();
            assert!(held.rows().is_none_or(|rows| rows == wanted.len() as u64));
            assert_eq!(rows(held).unwrap(), wanted);
        });
    }
    tally.finish();
}

#[test]
fn a_truncated_file_is_refused_and_does_not_lose_rows_silently() {
    let mut cut = 0;
    for (path, _) in tables() {
        let bytes = Bytes::from(std::fs::read(&path).unwrap());
        let fault = Columns::of_bytes(bytes.slice(..bytes.len() - 8), None).map(drop).unwrap_err();
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
    for bytes in streams.map(Bytes::from) {
        // Messages begin with this mark, at multiples of eight, and so does the end.
        let is_mark = |at: &usize| bytes[*at..].starts_with(&[0xff; 4]);
        for at in (8..bytes.len()).step_by(8).filter(is_mark) {
            let fault = Columns::of_bytes(bytes.slice(..at), None).and_then(rows).unwrap_err();
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
            let _ = Columns::of_bytes(Bytes::from(bytes), None).and_then(rows);
        }
    }

    #[test]
    fn any_bytes_are_a_table_or_an_error(magic in prop::sample::select(vec![&b"PAR1"[..], b"ARROW1", &[0xff; 4]]), rest: Vec<u8>) {
        let bytes: Vec<u8> = [magic, &rest, magic].concat();
        let _ = Columns::of_bytes(bytes.into(), None).and_then(rows);
    }
}
