//! Parquet files: groups of rows, each with a chunk for every column.
//!
//! We put rows together from the levels of columns ourselves: the crate can do it by way of Arrow, whose crates take long
//! to build. Rows of text, numbers and lists of them need only a few of its types.
//!
//! Layout:
//! - `leaf`: flat values of a column
//! - `nested`: lists and structs of them

mod leaf;
mod nested;

use std::fs::File;

use ::parquet::file::metadata::FileMetaData;
use ::parquet::file::reader::{FileReader, SerializedFileReader};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use self::leaf::Leaf;
use self::nested::Field;
use super::cell::Unsupported;
use super::{Cell, Fault, Opened, Rows, arrow};

/// Rows decoded at a time: prompts may be long.
const BATCH_ROWS: usize = 256;
/// Where writers that begin with Arrow's types keep them, as a message of Arrow in base64.
const ARROW_SCHEMA: &str = "ARROW:schema";

pub(super) fn open(file: File, is_wanted: impl Fn(&str) -> bool) -> Result<Opened, Fault> {
    let file = SerializedFileReader::new(file)?;
    let metadata = file.metadata().file_metadata();
    let columns = metadata.schema_descr();
    let fields = nested::fields(columns.root_schema())?;
    let mut leaves: Vec<Leaf> = columns.columns().iter().map(|column| Leaf::new(column)).collect();
    for (name, why) in durations(metadata) {
        if let Some(field) = fields.iter().find(|field| field.name == name && field.leaves.len() == 1) {
            leaves[field.leaves.start].refuse(why);
        }
    }
    let names = fields.iter().map(|field| field.name.clone()).collect();
    let fields = fields.into_iter().filter(|field| is_wanted(&field.name)).collect();
    let source = Source { file, fields, leaves, next_group: 0, left: 0, in_batch: 0 };
    Ok(Opened { names, source: Box::new(source) })
}

/// Columns of durations. Parquet keeps them as whole numbers, and only the schema that Arrow adds has their unit.
fn durations(metadata: &FileMetaData) -> Vec<(String, Unsupported)> {
    let pairs = metadata.key_value_metadata().map_or(&[][..], Vec::as_slice);
    let schema = pairs.iter().find(|pair| pair.key == ARROW_SCHEMA).and_then(|pair| pair.value.as_ref());
    let message = schema.and_then(|schema| STANDARD.decode(schema).ok());
    message.and_then(|message| arrow::durations(message.into()).ok()).unwrap_or_default()
}

struct Source {
    file: SerializedFileReader<File>,
    /// The fields that are read.
    fields: Vec<Field>,
    /// All columns, of which those in a field have a reader.
    leaves: Vec<Leaf>,
    next_group: usize,
    /// Rows of the current group that are not decoded yet.
    left: usize,
    /// Rows that are decoded and not taken yet.
    in_batch: usize,
}

impl Rows for Source {
    fn next_row(&mut self) -> Result<Option<Vec<Cell>>, Fault> {
        while self.in_batch == 0 {
            self.check_taken()?;
            if self.left > 0 {
                self.decode()?;
            } else if self.next_group < self.file.num_row_groups() {
                self.open_group()?;
            } else {
                return Ok(None);
            }
        }
        self.in_batch -= 1;
        self.fields.iter().map(|field| field.take(&mut self.leaves)).collect::<Result<_, _>>().map(Some)
    }
}

impl Source {
    fn open_group(&mut self) -> Result<(), Fault> {
        let group = self.file.get_row_group(self.next_group)?;
        self.next_group += 1;
        self.left = usize::try_from(group.metadata().num_rows()).map_err(|_| Fault::lengths())?;
        for number in self.fields.iter().flat_map(|field| field.leaves.clone()) {
            self.leaves[number].set_reader(group.get_column_reader(number)?);
        }
        Ok(())
    }

    fn decode(&mut self) -> Result<(), Fault> {
        self.in_batch = self.left.min(BATCH_ROWS);
        self.left -= self.in_batch;
        for number in self.fields.iter().flat_map(|field| field.leaves.clone()) {
            self.leaves[number].fill(self.in_batch)?;
        }
        Ok(())
    }

    /// Whether the rows of a batch used up all of its columns: in a damaged file, levels may not agree.
    fn check_taken(&self) -> Result<(), Fault> {
        if self.leaves.iter().all(Leaf::is_taken) { Ok(()) } else { Err(Fault::lengths()) }
    }
}
