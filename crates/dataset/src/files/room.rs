//! The memory that files may take, counted while they are read: what a compressed file, a folder or the media that rows
//! name will take is not known before.

use std::io::{self, Read};

use super::fault::Fault;
use super::layout::Layout;
use super::may_be_row;

/// The way out of a file that is too large.
pub(super) const FEWER: &str = "fewer of its rows in a file of their own";
/// Copies of a request there may be while it is made and written down: its row, its members, its body, and that of
/// `inputs.json`.
const COPIES: u64 = 5;
/// The part of what is there already by which a text grows at a time, and the least bytes.
const GROWTH: usize = 8;
const LEAST: usize = 64 * 1024;

/// Bytes that may still be taken.
#[derive(Debug)]
pub(super) struct Room {
    all: u64,
    left: u64,
}

impl Room {
    pub(super) fn new(bytes: Option<u64>) -> Self {
        let all = bytes.unwrap_or(u64::MAX);
        Self { all, left: all }
    }

    /// Keeps bytes.
    pub(super) fn take(&mut self, bytes: u64, what: &str, way_out: &str) -> Result<(), Fault> {
        self.fits(bytes, what, way_out)?;
        self.left -= bytes;
        Ok(())
    }

    /// Whether bytes could be kept; says what has no room, and the way out.
    pub(super) fn fits(&self, bytes: u64, what: &str, way_out: &str) -> Result<(), Fault> {
        if bytes <= self.left { Ok(()) } else { Err(self.full(bytes, what, way_out)) }
    }

    /// Whether a request of a size can be made; small ones always can.
    pub(super) fn can_make(&self, bytes: u64) -> Result<(), Fault> {
        if bytes < LEAST as u64 {
            return Ok(());
        }
        let what = format!("a request of {}, while it is made,", size(bytes));
        self.fits(bytes.saturating_mul(COPIES), &what, "smaller rows and media")
    }

    fn full(&self, bytes: u64, what: &str, way_out: &str) -> Fault {
        Fault(format!(
            "{what} takes {} of memory, and {} of {} are left\n  files of conversations and their media are kept in \
             memory while they are sent\n  try: {way_out}, or a machine with more memory",
            size(bytes),
            size(self.left),
            size(self.all)
        ))
    }

    /// Reads to the end, in steps that grow with what is there: a text without room is told while there is memory left
    /// to tell it, and a line that never ends as soon as it is too long to be a row.
    pub(super) fn read(&self, mut from: impl Read, layout: Layout, bytes: &mut Vec<u8>) -> io::Result<Option<Unread>> {
        let mut row = 0;
        loop {
            if layout == Layout::Lines
                && let Err(fault) = may_be_row((bytes.len() - row) as u64)
            {
                let line = 1 + bytes[..row].iter().filter(|byte| **byte == b'\n').count();
                return Ok(Some(Unread { line: Some(line), fault }));
            }
            let step = (bytes.len() / GROWTH).max(LEAST);
            let wanted = (bytes.len() + step) as u64;
            if bytes.len() as u64 > self.left || bytes.try_reserve_exact(step).is_err() {
                let fault = self.full(wanted, "its text, as far as it was read,", FEWER);
                return Ok(Some(Unread { line: None, fault }));
            }
            let known = bytes.len();
            if from.by_ref().take(step as u64).read_to_end(bytes)? < step {
                return Ok(None);
            }
            row = bytes[known..].iter().rposition(|byte| *byte == b'\n').map_or(row, |end| known + end + 1);
        }
    }
}

/// Why a text was not read to its end, and the line that is at fault.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) line: Option<usize>,
    pub(super) fault: Fault,
}

/// A number of bytes in words.
pub(super) fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    if bytes >= 1e9 { format!("{:.1} GB", bytes / 1e9) } else { format!("{:.1} MB", bytes / 1e6) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::LARGEST_REQUEST;

    #[test]
    fn a_line_that_never_ends_is_told_of_once_it_is_too_long_to_be_a_row() {
        let mut bytes = Vec::new();
        let endless = io::Cursor::new(b"{}\n").chain(io::repeat(b' '));
        let unread = Room::new(None).read(endless, Layout::Lines, &mut bytes).unwrap().unwrap();
        assert_eq!(unread.line, Some(2));
        assert!(unread.fault.0.starts_with("a row of "), "{}", unread.fault.0);
        assert!((bytes.len() as u64) < LARGEST_REQUEST + LARGEST_REQUEST / 4, "{} bytes were read", bytes.len());
    }

    #[test]
    fn a_document_may_be_as_long_as_there_is_room() {
        let mut bytes = Vec::new();
        let document = io::repeat(b' ').take(LARGEST_REQUEST + 1_000_000);
        assert!(Room::new(None).read(document, Layout::Items("data"), &mut bytes).unwrap().is_none());
    }
}
