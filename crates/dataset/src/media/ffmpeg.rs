//! Encoding by the `ffmpeg` on the PATH. What it reads and writes stays in memory: files without names, which are gone
//! with the processes that have them open.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::error::DatasetError;

/// Of what it complains about, so much is repeated.
const TOLD: usize = 600;

/// An encoding: arguments for what comes in, those for what goes out, and a second input where there is one.
pub(super) struct Job<'a> {
    /// What is made, as in "a video".
    pub(super) what: &'static str,
    pub(super) input: &'a [String],
    pub(super) second_input: Option<&'a [u8]>,
    pub(super) output: &'a [String],
}

impl Job<'_> {
    /// Encodes what is written into it.
    pub(super) fn run(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Vec<u8>, DatasetError> {
        let failed = |error: io::Error| self.unmade(&error.to_string());
        let (mut made, mut complaints) = (unnamed().map_err(failed)?, unnamed().map_err(failed)?);
        let second = self.second_input.map(|bytes| {
            let mut file = unnamed()?;
            file.write_all(bytes)?;
            Ok::<_, io::Error>(file)
        });
        let second = second.transpose().map_err(failed)?;
        let mut command = Command::new("ffmpeg");
        command.args(["-hide_banner", "-v", "error", "-y"]).args(self.input).args(["-i", "pipe:0"]);
        if let Some(second) = &second {
            command.args(["-i", &path(second)]);
        }
        // One thread, and no name of the day: the same bytes on every machine.
        command.args(["-threads", "1", "-fflags", "+bitexact"]).args(self.output).arg(path(&made));
        let stderr = complaints.try_clone().map_err(failed)?;
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(stderr);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => DatasetError::NoFfmpeg { what: self.what },
            _ => failed(error),
        })?;
        let written = match child.stdin.take() {
            Some(stdin) => {
                let mut pipe = io::BufWriter::with_capacity(1 << 16, stdin);
                write(&mut pipe).and_then(|()| pipe.flush())
            }
            None => Ok(()),
        };
        let status = child.wait().map_err(failed)?;
        if !status.success() {
            return Err(self.unmade(&told(&mut complaints).unwrap_or_else(|| status.to_string())));
        }
        // One that has enough may stop reading.
        written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(failed(error)) })?;
        let mut bytes = Vec::new();
        made.rewind().and_then(|()| made.read_to_end(&mut bytes)).map_err(failed)?;
        if bytes.is_empty() { Err(self.unmade("ffmpeg wrote nothing")) } else { Ok(bytes) }
    }

    fn unmade(&self, why: &str) -> DatasetError {
        DatasetError::MediaUnmade { what: self.what.to_owned(), why: format!("ffmpeg: {why}") }
    }
}

/// A WAV file as mp3.
pub(super) fn mp3(wav: &[u8]) -> Result<Vec<u8>, DatasetError> {
    let job = Job {
        what: "audio as mp3",
        input: &words("-f wav"),
        second_input: None,
        output: &words("-c:a libmp3lame -f mp3"),
    };
    job.run(|pipe| pipe.write_all(wav))
}

/// Arguments that have no spaces of their own.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// A file in memory that processes started from here find by its number.
fn unnamed() -> io::Result<File> {
    Ok(memfd_create("aiperf-media", MFdFlags::empty())?.into())
}

fn path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// The end of what it said.
fn told(complaints: &mut File) -> Option<String> {
    let mut bytes = Vec::new();
    complaints.rewind().and_then(|()| complaints.read_to_end(&mut bytes)).ok()?;
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TOLD)..]).trim().replace('\n', "\n    ");
    (!text.is_empty()).then_some(text)
}
