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
const MADE: usize = 128 << 20;
/// How many times a rendering may handle what it is given: a text is trimmed, compared, joined and printed.
const HANDLED: usize = 64;

/// Renders a template into as many bytes as there is room for, and takes them off it.
pub fn render(template: &Template<'_, '_>, context: &Value, room: &Cell<usize>) -> Result<String, Error> {
    let most = room.get();
    let given = measure::text_bytes(context, usize::MAX / HANDLED / 2);
    let mut made = Bounded { text: Vec::new(), room };
    // The engine panics on some templates: `loop.cycle()` divides by zero.
    let rendered = measure::with_room(MADE + HANDLED * given, || {
        guarded(|| template.render_captured_to(context, &mut made).map(drop))
    });
    let rendered =
        rendered.unwrap_or_else(|| Err(Error::new(ErrorKind::InvalidOperation, "the template engine fails")));
    rendered.map_err(|error| match error.kind() {
        ErrorKind::WriteFailure => {
            Error::new(ErrorKind::WriteFailure, format!("it makes more than the {most} bytes that there is room for"))
        }
        _ => error,
    })?;
    Ok(String::from_utf8_lossy(&made.text).into_owned())
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
