//! Bounds of templates, for everyone who renders one: a template is the user's, and it must neither fill the memory nor
//! go deeper than a stack is. The engine counts instructions; what one of them may make, it does not count.
//!
//! # Layout
//! - [`tags()`]: what stands between the braces; [`excess`]: more of it than the engine's own recursion bears
//! - [`growth()`]: texts that grow from step to step
//! - [`hold`]: filters and methods that make much of little
//! - [`render`]: output that is counted

mod growth;
mod held;
mod tags;

pub use growth::growth;
pub use held::{hold, is_within};
pub use tags::{Tag, excess, tags};

use minijinja::{Error, ErrorKind, Template, Value};
use std::cell::Cell;
use std::io::{self, Write};

/// Renders a template into as many bytes as there is room for, and takes them off it.
pub fn render(template: &Template<'_, '_>, context: &Value, room: &Cell<usize>) -> Result<String, Error> {
    let most = room.get();
    let mut made = Bounded { text: Vec::new(), room };
    template.render_captured_to(context, &mut made).map_err(|error| match error.kind() {
        ErrorKind::WriteFailure => {
            Error::new(ErrorKind::WriteFailure, format!("it makes more than the {most} bytes that there is room for"))
        }
        _ => error,
    })?;
    Ok(String::from_utf8_lossy(&made.text).into_owned())
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
