//! The file of observations, line by line.

use std::io::{self, Write};

pub(crate) enum Lines {
    /// Lines are not needed, or can no longer be written.
    None,
    /// There is no file yet.
    Waiting(Vec<u8>),
    Open(Box<dyn Write + Send>),
}

impl Lines {
    /// Lines for a file that is opened later.
    pub(crate) fn waiting() -> Self {
        Self::Waiting(Vec::new())
    }

    /// Opens the file, and writes the lines that waited.
    pub(crate) fn open(&mut self, file: Box<dyn Write + Send>) -> io::Result<()> {
        match std::mem::replace(self, Self::Open(file)) {
            Self::Waiting(lines) => self.write(&lines),
            Self::None | Self::Open(_) => Ok(()),
        }
    }

    /// Writes lines; after a failure, further lines are dropped.
    pub(crate) fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            _ if lines.is_empty() => Ok(()),
            Self::None => Ok(()),
            Self::Waiting(waiting) => {
                waiting.extend_from_slice(lines);
                Ok(())
            }
            // Not many a second: each is handed over before the next comes.
            Self::Open(file) => match file.write_all(lines).and_then(|()| file.flush()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                written => written.inspect_err(|_| *self = Self::None),
            },
        }
    }

    /// Nothing more comes: what waits for room is written now, or never.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Open(file) => file.flush(),
            Self::None | Self::Waiting(_) => Ok(()),
        }
    }
}
