//! The columns of a file, as its first message describes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::flatbuffer::Table;
use crate::columns::cell::Unsupported;
use crate::columns::{DEEPEST, Fault};

/// How many times the length of their message all fields together may take: writers do not let fields share bytes.
const MOST_SHARED: usize = 16;

/// Units of time, and the number of the one that is the default.
const UNITS: [&str; 4] = ["s", "ms", "µs", "ns"];
const MILLISECOND: i16 = 1;
const INTERVALS: [&str; 3] = ["YearMonth", "DayTime", "MonthDayNano"];
pub(super) const DURATION: &str = "Duration";

/// A column, or one of those that it consists of.
#[derive(Clone)]
pub(super) struct Field {
    pub(super) name: String,
    /// What its values are; with an encoding, those of its dictionary.
    pub(super) kind: ArrowType,
    pub(super) children: Vec<Arc<Field>>,
    pub(super) encoding: Option<Encoding>,
}

#[derive(Clone)]
pub(super) enum ArrowType {
    Null,
    Bool,
    Int(Int),
    /// Floats of so many bytes.
    Float(usize),
    Decimal {
        width: usize,
        scale: i32,
    },
    /// Text or bytes in one buffer, where each ends given by offsets of so many bytes.
    Bytes {
        is_text: bool,
        offset: usize,
    },
    /// Text or bytes, the short ones in place and the others in any number of buffers.
    View {
        is_text: bool,
    },
    List {
        offset: usize,
    },
    FixedSizeList(usize),
    Struct,
    /// What is not read has its place among the buffers.
    Unsupported {
        why: Unsupported,
        buffers: Buffers,
    },
}

#[derive(Clone, Copy)]
pub(super) struct Int {
    pub(super) width: usize,
    pub(super) is_signed: bool,
}

/// Values are numbers of those in a dictionary.
#[derive(Clone)]
pub(super) struct Encoding {
    pub(super) dictionary: i64,
    pub(super) key: Int,
}

/// The buffers of a column, without those of its children.
#[derive(Clone, Copy)]
pub(super) struct Buffers {
    /// Whether the first has a bit for every value that is not null.
    pub(super) has_validity: bool,
    pub(super) others: usize,
}

impl Field {
    pub(super) fn buffers(&self) -> Buffers {
        let (has_validity, others) = match &self.kind {
            _ if self.encoding.is_some() => (true, 1),
            ArrowType::Null => (false, 0),
            ArrowType::Struct | ArrowType::FixedSizeList(_) => (true, 0),
            ArrowType::Bool | ArrowType::Int(_) | ArrowType::Float(_) | ArrowType::Decimal { .. } => (true, 1),
            ArrowType::List { .. } | ArrowType::View { .. } => (true, 1),
            ArrowType::Bytes { .. } => (true, 2),
            ArrowType::Unsupported { buffers, .. } => return *buffers,
        };
        Buffers { has_validity, others }
    }

    /// The dictionaries that this column needs, each as a column of its values.
    pub(super) fn dictionaries(&self, into: &mut BTreeMap<i64, Arc<Field>>) {
        if let Some(encoding) = &self.encoding {
            into.insert(encoding.dictionary, Arc::new(Self { encoding: None, ..self.clone() }));
        }
        self.children.iter().for_each(|child| child.dictionaries(into));
    }
}

/// The columns of a message that is `length` bytes long.
pub(super) fn fields(schema: &Table<'_>, is_version_4: bool, length: usize) -> Result<Vec<Arc<Field>>, Fault> {
    if schema.short(0, 0)? != 0 {
        return Err(Fault::Broken("its numbers are big-endian".into()));
    }
    let mut reading = Reading { is_version_4, left: length.saturating_mul(MOST_SHARED) };
    schema.tables(1)?.map(|field| reading.field(&field?, 0)).collect()
}

struct Reading {
    is_version_4: bool,
    /// Bytes that names and children may still take: a broken message can have a field as its own child.
    left: usize,
}

impl Reading {
    fn field(&mut self, field: &Table<'_>, depth: usize) -> Result<Arc<Field>, Fault> {
        if depth > DEEPEST {
            return Err(Fault::deep());
        }
        let name = field.text(0)?;
        self.left = self.left.checked_sub(name.len() + 16).ok_or_else(Fault::lengths)?;
        let kind = self.kind(field)?;
        let children: Vec<_> =
            field.tables(5)?.map(|child| self.field(&child?, depth + 1)).collect::<Result<_, _>>()?;
        if matches!(kind, ArrowType::List { .. } | ArrowType::FixedSizeList(_)) && children.len() != 1 {
            return Err(Fault::Broken("a list has not one type of elements".into()));
        }
        let encoding = field.table(4)?.map(|encoding| Encoding::of(&encoding)).transpose()?;
        Ok(Arc::new(Field { name: name.to_owned(), kind, children, encoding }))
    }

    fn kind(&self, field: &Table<'_>) -> Result<ArrowType, Fault> {
        let of = field.table(3)?.ok_or_else(Fault::lengths)?;
        let unit = |names: &[&'static str], default| -> Result<&str, Fault> {
            let number = of.short(0, default)?;
            Ok(usize::try_from(number).ok().and_then(|number| names.get(number)).copied().unwrap_or("?"))
        };
        let other = |name: String, has_validity, others| {
            let buffers = Buffers { has_validity, others };
            ArrowType::Unsupported { why: Unsupported::Other(name), buffers }
        };
        let dates =
            ArrowType::Unsupported { why: Unsupported::Dates, buffers: Buffers { has_validity: true, others: 1 } };
        Ok(match field.byte(2)? {
            1 => ArrowType::Null,
            2 => ArrowType::Int(Int::of(&of)?),
            3 => ArrowType::Float(match of.short(0, 0)? {
                0 => 2,
                1 => 4,
                2 => 8,
                other => return Err(Fault::Broken(format!("floats have no precision {other}"))),
            }),
            4 => ArrowType::Bytes { is_text: false, offset: 4 },
            5 => ArrowType::Bytes { is_text: true, offset: 4 },
            6 => ArrowType::Bool,
            7 => match of.int(2, 128)? {
                bits @ (32 | 64 | 128) => ArrowType::Decimal { width: bits as usize / 8, scale: of.int(1, 0)? },
                bits => other(format!("Decimal{bits}({}, {})", of.int(0, 0)?, of.int(1, 0)?), true, 1),
            },
            8 | 10 => dates,
            9 => other(format!("Time{}({})", of.int(1, 32)?, unit(&UNITS, MILLISECOND)?), true, 1),
            11 => other(format!("Interval({})", unit(&INTERVALS, 0)?), true, 1),
            12 => ArrowType::List { offset: 4 },
            13 => ArrowType::Struct,
            14 => other("Union".into(), self.is_version_4, 1 + usize::from(of.short(0, 0)? == 1)),
            15 => other(format!("FixedSizeBinary({})", of.int(0, 0)?), true, 1),
            16 => ArrowType::FixedSizeList(usize::try_from(of.int(0, 0)?).map_err(|_| Fault::lengths())?),
            17 => other("Map".into(), true, 1),
            18 => other(format!("{DURATION}({})", unit(&UNITS, MILLISECOND)?), true, 1),
            19 => ArrowType::Bytes { is_text: false, offset: 8 },
            20 => ArrowType::Bytes { is_text: true, offset: 8 },
            21 => ArrowType::List { offset: 8 },
            22 => other("RunEndEncoded".into(), false, 0),
            23 => ArrowType::View { is_text: false },
            24 => ArrowType::View { is_text: true },
            25 => other("ListView".into(), true, 2),
            26 => other("LargeListView".into(), true, 2),
            tag => return Err(Fault::Broken(format!("it has a column of an unknown type, number {tag}"))),
        })
    }
}

impl Int {
    fn of(of: &Table<'_>) -> Result<Self, Fault> {
        match of.int(0, 0)? {
            bits @ (8 | 16 | 32 | 64) => Ok(Self { width: bits as usize / 8, is_signed: of.byte(1)? != 0 }),
            bits => Err(Fault::Broken(format!("whole numbers do not have {bits} bits"))),
        }
    }
}

impl Encoding {
    fn of(of: &Table<'_>) -> Result<Self, Fault> {
        let key = match of.table(1)? {
            Some(key) => Int::of(&key)?,
            None => Int { width: 4, is_signed: true },
        };
        Ok(Self { dictionary: of.long(0)?, key })
    }
}
