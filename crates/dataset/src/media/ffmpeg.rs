//! Encoding with the `ffmpeg` on the PATH. Input and output stay in memory: they are files without names, which vanish
//! with the processes that have them open.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::error::DatasetError;

/// Bytes of its error output to show.
const SHOWN_BYTES: usize = 600;

/// One encoding: arguments for the input, for the output, and a second input if there is one.
pub(super) struct Job<'a> {
    /// The product, as in "a video".
    pub(super) what: &'static str,
    pub(super) input: &'a [String],
    pub(super) second_input: Option<&'a [u8]>,
    pub(super) output: &'a [String],
}

impl Job<'_> {
    /// Encodes what `write` writes.
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
        // One thread, and no metadata: the same bytes on every machine.
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
            return Err(self.unmade(&error_text(&mut complaints).unwrap_or_else(|| status.to_string())));
        }
        // ffmpeg may stop reading when it has enough.
        written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(failed(error)) })?;
        let mut bytes = Vec::new();
        made.rewind().and_then(|()| made.read_to_end(&mut bytes)).map_err(failed)?;
        if bytes.is_empty() { Err(self.unmade("ffmpeg wrote nothing")) } else { Ok(bytes) }
    }

    fn unmade(&self, why: &str) -> DatasetError {
        DatasetError::MediaUnmade { what: self.what.to_owned(), why: format!("ffmpeg: {why}") }
    }
}

/// Converts a WAV file to mp3.
pub(super) fn mp3(wav: &[u8]) -> Result<Vec<u8>, DatasetError> {
    let job = Job {
        what: "audio as mp3",
        input: &words("-f wav"),
        second_input: None,
        output: &words("-c:a libmp3lame -f mp3"),
    };
    job.run(|pipe| pipe.write_all(wav))
}

/// Splits arguments that contain no spaces.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// A file in memory that child processes open by its number.
fn unnamed() -> io::Result<File> {
    Ok(memfd_create("aiperf-media", MFdFlags::empty())?.into())
}

fn path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// The end of its error output.
fn error_text(complaints: &mut File) -> Option<String> {
    let mut bytes = Vec::new();
    complaints.rewind().and_then(|()| complaints.read_to_end(&mut bytes)).ok()?;
    let text =
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(SHOWN_BYTES)..]).trim().replace('\n', "\n    ");
    (!text.is_empty()).then_some(text)
}
