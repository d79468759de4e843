//! A JSON line for each dispatch, to a file or to stdout.

use super::Unwritten;
use super::options::LinesTo;
use crate::new_file::WholeFile;
use aiperf_campaign::rehearsal::Dispatch;
use aiperf_types::Nanos;
use serde_json::Value;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes the lines of dispatches.
pub(super) struct Lines<'a> {
    path: Option<&'a Path>,
    out: BufWriter<Sink>,
}

enum Sink {
    Stdout(io::StdoutLock<'static>),
    File(WholeFile),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(out) => out.flush(),
        }
    }
}

impl<'a> Lines<'a> {
    pub(super) fn open(to: &'a LinesTo, force: bool) -> Result<Self, Unwritten> {
        let (path, sink) = match to {
            LinesTo::Stdout => (None, Sink::Stdout(io::stdout().lock())),
            LinesTo::File(path) => {
                (Some(path.as_path()), Sink::File(WholeFile::create(path, force).map_err(Unwritten::to(path))?))
            }
        };
        Ok(Self { path, out: BufWriter::with_capacity(1 << 16, sink) })
    }

    pub(super) fn add(
        &mut self,
        phase: &str,
        at: Nanos,
        intended: Nanos,
        dispatch: &Dispatch,
    ) -> Result<(), Unwritten> {
        write(&mut self.out, phase, at, intended, dispatch).map_err(|error| self.unwritten(error))
    }

    /// Flushes all lines. A file is not at its final path yet.
    pub(super) fn flush(&mut self) -> Result<(), Unwritten> {
        self.out.flush().map_err(|error| self.unwritten(error))
    }

    /// Moves a file to its final path.
    pub(super) fn finish(mut self) -> Result<(), Unwritten> {
        self.flush()?;
        let path = self.path;
        match (self.out.into_parts().0, path) {
            (Sink::File(file), Some(path)) => file.finish().map_err(Unwritten::to(path)),
            _ => Ok(()),
        }
    }

    fn unwritten(&self, error: io::Error) -> Unwritten {
        match self.path {
            Some(path) => Unwritten::to(path)(error),
            None => Unwritten::to_stdout(error),
        }
    }
}

/// Writes one dispatch. Times are seconds since the start of the run, with nanosecond precision.
pub(super) fn write(
    out: &mut impl Write,
    phase: &str,
    at: Nanos,
    intended: Nanos,
    dispatch: &Dispatch,
) -> io::Result<()> {
    let Dispatch { number, session, conversation, turn, turns, url, .. } = *dispatch;
    write!(
        out,
        "{{\"t_s\":{},\"intended_s\":{},\"phase\":{},\"number\":{number},\"session\":{session},\
         \"conversation\":{conversation},\"turn\":{turn},\"turns\":{turns},\"url\":{url},\"cancel_after_ms\":",
        seconds(at),
        seconds(intended),
        Value::from(phase),
    )?;
    match dispatch.cancel_after {
        Some(after) => write!(out, "{:?}", after.as_millis_f64())?,
        None => write!(out, "null")?,
    }
    match dispatch.scheduled_send_ms {
        Some(ms) if ms.is_finite() => writeln!(out, ",\"scheduled_send_ms\":{ms:?}}}"),
        _ => writeln!(out, ",\"scheduled_send_ms\":null}}"),
    }
}

fn seconds(at: Nanos) -> String {
    format!("{}.{:09}", at.0 / 1_000_000_000, at.0 % 1_000_000_000)
}
