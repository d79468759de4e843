//! The memory that files may take, counted while they are read: how much a compressed file, a folder or the media of
//! rows will take is not known before.

use std::io::{self, Read};

use super::fault::Fault;
use super::layout::Layout;
use super::may_be_row;

/// What to try if a file is too large.
pub(super) const FEWER: &str = "fewer of its rows in a file of their own";
/// Copies of a request that may exist while it is made and written: its row, its members, its body, and that of
/// `inputs.json`.
const COPIES: u64 = 5;
/// A text grows by one part in this many of its size at a time, and by at least `LEAST` bytes.
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

    /// Takes bytes, or refuses if they do not fit.
    pub(super) fn take(&mut self, bytes: u64, what: &str, way_out: &str) -> Result<(), Fault> {
        self.fits(bytes, what, way_out)?;
        self.left -= bytes;
        Ok(())
    }

    /// Checks whether bytes fit. The error names what does not fit, and the way out.
    pub(super) fn fits(&self, bytes: u64, what: &str, way_out: &str) -> Result<(), Fault> {
        if bytes <= self.left { Ok(()) } else { Err(self.full(bytes, what, way_out)) }
    }

    /// Checks whether a request of this size can be made; small requests always can.
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

    /// Reads to the end, in steps that grow with the text. So a text that does not fit is refused while there is still
    /// memory for the message, and an endless line as soon as it is too long for a row.
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

/// Why a text was not read to its end, and the line at fault.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) line: Option<usize>,
    pub(super) fault: Fault,
}

/// A number of bytes with its unit.
pub(super) fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    if bytes >= 1e9 { format!("{:.1} GB", bytes / 1e9) } else { format!("{:.1} MB", bytes / 1e6) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::LARGEST_REQUEST;

    #[test]
    fn an_endless_line_is_refused_once_it_is_too_long_for_a_row() {
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
