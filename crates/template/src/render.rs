//! One rendering, with its bounds.

use crate::measure;
use aiperf_types::guard::guarded;
use minijinja::{Error, ErrorKind, Template, Value};
use std::cell::Cell;
use std::io::{self, Write};

/// Bytes of the text that a template makes of one request.
pub const MOST: usize = 256 << 20;
/// Instructions of one rendering: a loop inside of a loop ends, too.
pub(crate) const FUEL: u64 = 10_000_000;
/// Bytes that one rendering makes in all, besides what follows from what it is given.
pub(crate) const MADE: usize = 128 << 20;
/// How many times a rendering may handle what it is given: a text is trimmed, compared, joined and printed.
const HANDLED: usize = 64;

/// What the templates of one file may use together: a configuration needs far less than a chat.
pub struct FileBudget {
    /// Bytes of all rendered texts.
    text: Cell<usize>,
    /// Bytes that rendering makes in all, and those at first.
    made: Cell<usize>,
    most_made: usize,
    /// Instructions.
    fuel: Cell<u64>,
}

impl FileBudget {
    /// Bytes that all templates of a file render.
    pub const TEXT: usize = 16 << 20;
    /// Instructions of all templates of a file.
    pub const FUEL: u64 = 500_000;
    /// Bytes that they make in all: what is rendered is joined and printed before.
    const MADE: usize = 4 * Self::TEXT;
    /// The most that a large file adds to these.
    const MOST_ADDED: usize = 64 << 20;

    /// For a file of which templates are given this.
    pub fn new(given: &Value) -> Self {
        let added = HANDLED * measure::text_bytes(given, Self::MOST_ADDED / HANDLED);
        let made = Self::MADE + added;
        Self { text: Cell::new(Self::TEXT), made: Cell::new(made), most_made: made, fuel: Cell::new(Self::FUEL) }
    }

    /// Renders a template, and charges it to the budget. The engine must have at most [`Self::FUEL`].
    pub fn render(&self, template: &Template<'_, '_>, context: &Value) -> Result<String, Error> {
        let (rendered, left) = rendered(template, context, &self.text, (self.made.get(), self.most_made));
        self.made.set(left);
        let (text, used) = rendered.map_err(|error| match error.kind() {
            ErrorKind::WriteFailure => {
                let why = format!("templates of a file render to at most {} bytes", Self::TEXT);
                Error::new(ErrorKind::WriteFailure, why)
            }
            ErrorKind::OutOfFuel => out_of_fuel(),
            _ => error,
        })?;
        self.fuel.set(self.fuel.get().checked_sub(used).ok_or_else(out_of_fuel)?);
        Ok(text)
    }
}

fn out_of_fuel() -> Error {
    Error::new(ErrorKind::OutOfFuel, format!("templates of a file take at most {} steps", FileBudget::FUEL))
}

/// Renders a template into as many bytes as there is room for, and takes them off it.
pub fn render(template: &Template<'_, '_>, context: &Value, room: &Cell<usize>) -> Result<String, Error> {
    let most = room.get();
    let made = MADE + HANDLED * measure::text_bytes(context, usize::MAX / HANDLED / 2);
    let rendered = rendered(template, context, room, (made, made)).0;
    rendered.map(|(text, _)| text).map_err(|error| match error.kind() {
        ErrorKind::WriteFailure => {
            Error::new(ErrorKind::WriteFailure, format!("it makes more than the {most} bytes that there is room for"))
        }
        _ => error,
    })
}

/// A text with the instructions that it took, and what is left of the bytes that may be made.
type Rendered = (Result<(String, u64), Error>, usize);

pub(crate) fn rendered(
    template: &Template<'_, '_>,
    context: &Value,
    room: &Cell<usize>,
    (made, most): (usize, usize),
) -> Rendered {
    let mut text = Bounded { text: Vec::new(), room };
    // The engine panics on some templates: `loop.cycle()` divides by zero.
    let (rendered, left) = measure::with_room(made, most, || {
        guarded(|| {
            let captured = template.render_captured_to(context, &mut text)?;
            Ok(captured.state().fuel_levels().map_or(0, |(used, _)| used))
        })
    });
    let rendered =
        rendered.unwrap_or_else(|| Err(Error::new(ErrorKind::InvalidOperation, "the template engine fails")));
    (rendered.map(|used| (String::from_utf8_lossy(&text.text).into_owned(), used)), left)
}

/// What is wrong with a template, and where.
pub fn explained(error: &Error) -> String {
    let reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    match error.line() {
        Some(line) => format!("line {line}: {reason}"),
        None => reason,
    }
}

/// Takes what a template makes, up to a number of bytes.
struct Bounded<'a> {
    text: Vec<u8>,
    room: &'a Cell<usize>,
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.room.get().checked_sub(bytes.len()).ok_or_else(|| io::Error::other("full"))?;
        self.room.set(room);
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
