//! Lists and structs, which Parquet keeps as levels of the columns in them.
//!
//! An entry of a column is defined as far as what it is in is there: a field that may be null adds a level, a list adds
//! one for its elements. An entry repeats at the level of the innermost list that it goes on with.

use std::ops::Range;

use ::parquet::basic::{ConvertedType, LogicalType, Repetition};
use ::parquet::schema::types::Type;

use super::leaf::Leaf;
use crate::columns::cell::{Cell, Unsupported};
use crate::columns::{DEEPEST, Fault};

/// A field of a row, of a struct or of a list.
pub(super) struct Field {
    pub(super) name: String,
    /// The columns in it.
    pub(super) leaves: Range<usize>,
    /// The level at which it is not null.
    defined: i16,
    shape: Shape,
}

enum Shape {
    Value,
    Struct(Vec<Field>),
    /// `level` is how far one more element repeats.
    List {
        level: i16,
        element: Box<Field>,
    },
    Unsupported(Unsupported),
}

/// How far the fields around a field are defined and repeated.
#[derive(Clone, Copy)]
struct Levels {
    defined: i16,
    repeated: i16,
    depth: usize,
}

/// The fields of a row.
pub(super) fn fields(root: &Type) -> Result<Vec<Field>, Fault> {
    let mut next_leaf = 0;
    let levels = Levels { defined: 0, repeated: 0, depth: 0 };
    root.get_fields().iter().map(|field| Field::of(field, levels, &mut next_leaf)).collect()
}

impl Levels {
    fn optional(self) -> Self {
        Self { defined: self.defined + 1, ..self }
    }

    fn repeated(self) -> Self {
        Self { defined: self.defined + 1, repeated: self.repeated + 1, ..self }
    }
}

impl Field {
    fn of(of: &Type, levels: Levels, next_leaf: &mut usize) -> Result<Self, Fault> {
        let repetition = of.get_basic_info().has_repetition().then(|| of.get_basic_info().repetition());
        match repetition {
            Some(Repetition::OPTIONAL) => Self::present(of, levels.optional(), next_leaf),
            // A list that is not marked as one, and never null.
            Some(Repetition::REPEATED) => {
                let element = Self::present(of, levels.repeated(), next_leaf)?;
                Ok(Self::list(of, levels, element))
            }
            Some(Repetition::REQUIRED) | None => Self::present(of, levels, next_leaf),
        }
    }

    /// A field that is not null at its levels.
    fn present(of: &Type, levels: Levels, next_leaf: &mut usize) -> Result<Self, Fault> {
        if levels.depth > DEEPEST {
            return Err(Fault::deep());
        }
        let inner = Levels { depth: levels.depth + 1, ..levels };
        let first = *next_leaf;
        let shape = if of.is_primitive() {
            *next_leaf += 1;
            Shape::Value
        } else if let Some(repeated) = repeated_child(of) {
            let element = match element_child(of, repeated) {
                Some(element) => Self::of(element, inner.repeated(), next_leaf)?,
                None => Self::present(repeated, inner.repeated(), next_leaf)?,
            };
            return Ok(Self::list(of, levels, element));
        } else {
            let members = of.get_fields().iter().map(|member| Self::of(member, inner, next_leaf));
            let members = members.collect::<Result<Vec<_>, _>>()?;
            if is_map(of) { Shape::Unsupported(Unsupported::Other("Map".into())) } else { Shape::Struct(members) }
        };
        if first == *next_leaf {
            return Err(Fault::Broken(format!("the group {} is empty", of.name())));
        }
        Ok(Self { name: of.name().to_owned(), leaves: first..*next_leaf, defined: levels.defined, shape })
    }

    fn list(of: &Type, levels: Levels, element: Self) -> Self {
        Self {
            name: of.name().to_owned(),
            leaves: element.leaves.clone(),
            defined: levels.defined,
            shape: Shape::List { level: levels.repeated + 1, element: Box::new(element) },
        }
    }

    /// Takes the next value of the field from its columns.
    pub(super) fn take(&self, leaves: &mut [Leaf]) -> Result<Cell, Fault> {
        let first = self.leaves.start;
        let defined = leaves[first].defined()?;
        if defined < self.defined {
            return self.skip(leaves).map(|()| Cell::Null);
        }
        match &self.shape {
            Shape::Value => leaves[first].take(),
            Shape::Struct(members) => {
                let members = members.iter().map(|member| Ok((member.name.clone(), member.take(leaves)?)));
                members.collect::<Result<_, Fault>>().map(Cell::Object)
            }
            Shape::List { .. } if defined == self.defined => self.skip(leaves).map(|()| Cell::List(Vec::new())),
            Shape::List { level, element } => {
                let mut elements = vec![element.take(leaves)?];
                while leaves[first].repeats() == *level {
                    elements.push(element.take(leaves)?);
                }
                let is_over = leaves[self.leaves.clone()].iter().all(|leaf| leaf.repeats() < *level);
                if is_over { Ok(Cell::List(elements)) } else { Err(Fault::lengths()) }
            }
            Shape::Unsupported(why) => Err(why.fault()),
        }
    }

    /// Takes the entry that every column in the field has where it is null or empty.
    fn skip(&self, leaves: &mut [Leaf]) -> Result<(), Fault> {
        leaves[self.leaves.clone()].iter_mut().try_for_each(Leaf::skip)
    }
}

fn is_list(of: &Type) -> bool {
    let info = of.get_basic_info();
    info.converted_type() == ConvertedType::LIST || info.logical_type_ref() == Some(&LogicalType::List)
}

fn is_map(of: &Type) -> bool {
    let info = of.get_basic_info();
    matches!(info.converted_type(), ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE)
        || info.logical_type_ref() == Some(&LogicalType::Map)
}

fn is_repeated(of: &Type) -> bool {
    of.get_basic_info().has_repetition() && of.get_basic_info().repetition() == Repetition::REPEATED
}

/// Of a list, what is repeated in it. A map without values is a list of its keys.
fn repeated_child(of: &Type) -> Option<&Type> {
    let [repeated] = of.get_fields() else { return None };
    let is_set = is_map(of) && !repeated.is_primitive() && repeated.get_fields().len() == 1;
    ((is_list(of) || is_set) && is_repeated(repeated)).then_some(repeated)
}

/// What is repeated holds the element, or is the element itself in files of older writers; the rules are those of the
/// format, under "backward compatibility".
fn element_child<'a>(list: &Type, repeated: &'a Type) -> Option<&'a Type> {
    if repeated.is_primitive() {
        return None;
    }
    let [element] = repeated.get_fields() else { return None };
    let is_named_as_element = repeated.name() == "array" || repeated.name() == format!("{}_tuple", list.name());
    let is_element = !is_list(repeated) && !is_repeated(element) && is_named_as_element;
    (!is_element).then_some(element)
}
