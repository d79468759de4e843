//! How large and how deep values are, and the room of a rendering.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};
use std::cell::Cell;

/// How deep values may be nested. What the engine does with one it does by recursion; JSON that is read here has at most
/// 128.
pub(crate) const DEPTH: usize = 200;
/// Spaces that a level of JSON may be indented by.
const INDENT: usize = 100;
/// Bytes of one item of a list, whatever it is.
pub(crate) const ITEM: usize = 32;
/// What the look at an item costs, in bytes: a walk takes time, too.
const LOOK: usize = 16;
/// How many letters of a text, or items of a list, are passed over in the time that one byte takes to make.
const PASSED: usize = 16;

thread_local! {
    /// What the rendering of this thread may still make, and what it could at first. A rendering never leaves its thread.
    static ROOM: Cell<(usize, usize)> = const { Cell::new((usize::MAX, usize::MAX)) };
}

/// Calls with a room of so many bytes for everything that is made, out of a whole of `most`. Also returns what is left.
pub(crate) fn with_room<T>(room: usize, most: usize, render: impl FnOnce() -> T) -> (T, usize) {
    /// Gives the room back that there was before, after a panic too.
    struct Restore((usize, usize));
    impl Drop for Restore {
        fn drop(&mut self) {
            ROOM.set(self.0);
        }
    }
    let _restore = Restore(ROOM.replace((room, most)));
    (render(), left())
}

/// Takes bytes off the room.
pub(crate) fn charge(bytes: usize) -> Result<(), Error> {
    let (room, most) = ROOM.get();
    let left = room.checked_sub(bytes).ok_or_else(|| too_much(most))?;
    ROOM.set((left, most));
    Ok(())
}

fn left() -> usize {
    ROOM.get().0
}

pub(crate) fn refused(why: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}

fn too_much(most: usize) -> Error {
    refused(format!("a template makes texts of at most {most} bytes in all"))
}

/// What counts of the texts inside of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inner {
    /// All of them: it is made a text.
    Texts,
    /// That they are there: they are shared.
    Items,
}

/// The size of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) bytes: usize,
    pub(crate) items: usize,
    pub(crate) depth: usize,
}

/// Measures a value until it is larger than the room, or too deep.
pub(crate) fn measure(value: &Value, inner: Inner) -> Result<Size, Error> {
    let mut walk = Walk { size: Size::default(), inner, most: left() };
    walk.value(value, 0)?;
    Ok(walk.size)
}

struct Walk {
    size: Size,
    inner: Inner,
    most: usize,
}

impl Walk {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        let is_seen = depth == 0 || self.inner == Inner::Texts;
        let text = value.as_bytes().map(<[u8]>::len);
        let is_nested = matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map);
        self.size.items += 1;
        self.size.bytes = self.size.bytes.saturating_add(match text {
            Some(length) if is_seen => length,
            None if is_seen && !is_nested => ITEM,
            _ => LOOK,
        });
        self.size.depth = self.size.depth.max(depth);
        if self.size.bytes > self.most {
            return Err(too_much(ROOM.get().1));
        }
        if !is_nested {
            return Ok(());
        }
        if depth == DEPTH {
            return Err(refused(format!("values in a template are nested at most {DEPTH} deep")));
        }
        if depth > 0 && is_namespace(value) {
            return Err(refused("a namespace is not kept inside of a value"));
        }
        let pairs =
            if value.kind() == ValueKind::Map { value.as_object().and_then(|map| map.try_iter_pairs()) } else { None };
        if let Some(pairs) = pairs {
            for (name, member) in pairs {
                // A name is hashed, and compared.
                self.size.bytes = self.size.bytes.saturating_add(name.as_bytes().map_or(0, <[u8]>::len));
                self.value(&name, depth + 1)?;
                self.value(&member, depth + 1)?;
            }
        } else if let Ok(items) = value.try_iter() {
            for item in items {
                self.value(&item, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// Namespaces are the values that change: one that is part of itself has no end.
pub(crate) fn is_namespace(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.type_name().ends_with("::Namespace"))
}

/// A value as it may be kept: what is made anew each time it is looked at (a slice, a filter's result) becomes a list, or
/// a thousand of them would be inside one another.
pub(crate) fn settled(value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Iterable => {
            let mut items = Vec::new();
            for item in value.try_iter()? {
                charge(ITEM)?;
                items.push(item);
            }
            Ok(Value::from(items))
        }
        ValueKind::Map if value.as_object().is_some_and(|map| map.type_name().ends_with("::MergeDict")) => {
            let pairs = value.as_object().and_then(|map| map.try_iter_pairs());
            let mut members = Vec::new();
            for pair in pairs.into_iter().flatten() {
                charge(2 * ITEM)?;
                members.push(pair);
            }
            Ok(Value::from_pairs(members))
        }
        _ => Ok(value),
    }
}

/// What it takes to find an item of a value: a text's letters are counted, and what is made anew is made up to the item.
pub(crate) fn index_cost(value: &Value) -> Result<usize, Error> {
    if let Some(text) = value.as_bytes() {
        return Ok(text.len() / PASSED);
    }
    match (value.kind(), value.len()) {
        (ValueKind::Seq, items) => Ok(items.unwrap_or(0) / PASSED),
        (ValueKind::Iterable, Some(items)) => Ok(items.saturating_mul(LOOK)),
        (ValueKind::Iterable, None) => {
            for _ in value.try_iter()? {
                charge(LOOK)?;
            }
            Ok(0)
        }
        _ => Ok(0),
    }
}

/// What it takes to make a slice of a value: the engine passes over all items before it.
pub(crate) fn slice_cost(value: &Value) -> Result<usize, Error> {
    match (value.kind(), value.len()) {
        (ValueKind::Seq, Some(items)) => Ok(items.saturating_mul(LOOK)),
        _ => index_cost(value),
    }
}

/// Charges a value that is made JSON, indented by so many spaces; fails where these are too many.
pub fn charge_json(value: &Value, indent: Option<usize>) -> Result<(), Error> {
    charge(json_bytes(value, indent.unwrap_or(0))?)
}

/// Bytes of a value as JSON, about.
pub(crate) fn json_bytes(value: &Value, indent: usize) -> Result<usize, Error> {
    if indent > INDENT {
        return Err(refused(format!("tojson indents by at most {INDENT}")));
    }
    let size = measure(value, Inner::Texts)?;
    let indents = size.items.saturating_mul(indent).saturating_mul(size.depth + 1);
    Ok(size.bytes.saturating_add(indents))
}

/// Bytes of a value as text, as far as it is not too deep.
pub(crate) fn text_bytes(value: &Value, most: usize) -> usize {
    let mut walk = Walk { size: Size::default(), inner: Inner::Texts, most };
    let _ = walk.value(value, 0);
    walk.size.bytes.min(most)
}
