//! Errors of the operating system, as messages show them.

use std::io;

/// An I/O error's text without the numbers a library adds.
pub fn os_reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}
