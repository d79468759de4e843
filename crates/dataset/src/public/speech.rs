//! Sets of speech to transcribe: each clip is sent as WAV.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::kind::{Found, RowReader, With, text_turn, unnamed};
use super::row::{Fault, Row, member};
use crate::columns::Cell;

pub(super) struct Speech;

const TEXT: &str = "Transcribe this audio.";
/// Seconds of the longest clip: speech models take no more at a time.
const LONGEST: f64 = 30.0;

const NO_AUDIO: &str = "rows without audio";
const TOO_LONG: &str = "clips longer than 30 s";
const UNREADABLE: &str = "clips in other formats than WAV and FLAC";

impl RowReader for Speech {
    fn columns(&self) -> Option<Vec<&'static str>> {
        Some(vec!["audio"])
    }

    fn read(&self, row: Row, _: With<'_>) -> Result<Found, Fault> {
        let audio = row.column("audio")?;
        let bytes = audio.and_then(|audio| match audio {
            Cell::Bytes(bytes) => Some(bytes),
            other => match member(other, "bytes") {
                Some(Cell::Bytes(bytes)) => Some(bytes),
                _ => None,
            },
        });
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else { return Ok(Found::dropped(NO_AUDIO)) };
        let clip = if bytes.starts_with(b"fLaC") { flac(bytes) } else { wav(bytes) };
        let Some(Clip { seconds, wav }) = clip else { return Ok(Found::dropped(UNREADABLE)) };
        if seconds > LONGEST {
            return Ok(Found::dropped(TOO_LONG));
        }
        let mut turn = text_turn(TEXT);
        turn.audios = vec![unnamed(format!("wav,{}", STANDARD.encode(wav)))];
        turn.audio_duration_seconds = Some(seconds);
        Ok(Found::turn(turn))
    }
}

struct Clip {
    seconds: f64,
    wav: Vec<u8>,
}

/// A clip that is already WAV, unchanged.
fn wav(bytes: &[u8]) -> Option<Clip> {
    let seconds = crate::files::wav_seconds(&format!("wav,{}", STANDARD.encode(bytes)))?;
    Some(Clip { seconds, wav: bytes.to_vec() })
}

/// Converts a FLAC clip to 16-bit PCM, which every server reads.
fn flac(bytes: &[u8]) -> Option<Clip> {
    let mut reader = claxon::FlacReader::new(Cursor::new(bytes)).ok()?;
    let info = reader.streaminfo();
    let (rate, channels, bits) = (info.sample_rate, info.channels, info.bits_per_sample);
    if rate == 0 || channels == 0 || !(4..=32).contains(&bits) {
        return None;
    }
    let mut samples = Vec::new();
    for sample in reader.samples() {
        let sample = sample.ok()?;
        let sample = if bits > 16 { sample >> (bits - 16) } else { sample << (16 - bits) };
        samples.extend(i16::try_from(sample).unwrap_or_default().to_le_bytes());
        if samples.len() as f64 / f64::from(2 * channels) / f64::from(rate) > LONGEST {
            // It is too long already: the rest does not matter.
            return Some(Clip { seconds: f64::INFINITY, wav: Vec::new() });
        }
    }
    let seconds = samples.len() as f64 / f64::from(2 * channels) / f64::from(rate);
    Some(Clip { seconds, wav: with_header(&samples, rate, u16::try_from(channels).ok()?)? })
}

/// Puts a WAV header before 16-bit samples.
fn with_header(samples: &[u8], rate: u32, channels: u16) -> Option<Vec<u8>> {
    let length = u32::try_from(samples.len()).ok()?;
    let frame = channels.checked_mul(2)?;
    let mut wav = Vec::with_capacity(samples.len() + 44);
    wav.extend(b"RIFF");
    wav.extend(length.checked_add(36)?.to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend(16_u32.to_le_bytes());
    wav.extend(1_u16.to_le_bytes());
    wav.extend(channels.to_le_bytes());
    wav.extend(rate.to_le_bytes());
    wav.extend(rate.checked_mul(u32::from(frame))?.to_le_bytes());
    wav.extend(frame.to_le_bytes());
    wav.extend(16_u16.to_le_bytes());
    wav.extend(b"data");
    wav.extend(length.to_le_bytes());
    wav.extend(samples);
    Some(wav)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn samples_with_a_header_last_as_long_as_the_samples() {
        let wav_bytes = with_header(&[0; 32_000], 8_000, 2).unwrap();
        assert_eq!(wav(&wav_bytes).map(|clip| clip.seconds), Some(1.0));
    }

    proptest! {
        #[test]
        fn no_clip_is_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = wav(&bytes);
            let _ = flac(&bytes);
            let _ = flac(&[b"fLaC\0\0\0\x22".as_slice(), &bytes].concat());
        }
    }
}
