//! The duration of a WAV file, from its header.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Characters of base64 to decode: the header, and the chunks before the samples.
const LOOKED_AT: usize = 16 << 10;

/// Seconds of an encoded audio, as `wav,<base64>` or `data:audio/wav;base64,<base64>`; `None` for other formats, and if
/// the header does not contain it.
pub(crate) fn seconds(audio: &str) -> Option<f64> {
    let (head, encoded) = audio.split_once(',')?;
    if !head.to_ascii_lowercase().contains("wav") {
        return None;
    }
    let looked_at = encoded.get(..encoded.len().min(LOOKED_AT))?;
    let bytes = STANDARD.decode(&looked_at[..looked_at.len() / 4 * 4]).ok()?;
    let all = encoded.trim_end_matches('=').len() as u64 * 3 / 4;
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.get(..4)? != b"RIFF" || bytes.get(8..12)? != b"WAVE" {
        return None;
    }
    let (mut at, mut bytes_a_second) = (12, 0);
    loop {
        let (name, size) = (bytes.get(at..at + 4)?, number(at + 4)?);
        match name {
            b"fmt " => bytes_a_second = number(at + 16)?,
            // A recorder that was interrupted leaves no size, or one beyond the file.
            b"data" => {
                let samples = u64::from(size).min(all.checked_sub(at as u64 + 8)?);
                return (bytes_a_second > 0).then(|| samples as f64 / f64::from(bytes_a_second));
            }
            _ => {}
        }
        // Chunks begin at even offsets.
        at = at.checked_add(8 + size as usize + (size & 1) as usize)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a second at 8 kHz, two bytes a sample, with a chunk before the samples.
    fn sound(announced: u32) -> String {
        let mut bytes = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
        bytes.extend(8000u32.to_le_bytes());
        bytes.extend(16000u32.to_le_bytes());
        bytes.extend([2, 0, 16, 0]);
        bytes.extend(b"LIST\x03\0\0\0abc\0data");
        bytes.extend(announced.to_le_bytes());
        bytes.extend(vec![0; 8000]);
        STANDARD.encode(bytes)
    }

    #[test]
    fn a_sound_lasts_as_long_as_its_samples() {
        for announced in [8000, u32::MAX] {
            let encoded = sound(announced);
            assert_eq!(seconds(&format!("wav,{encoded}")), Some(0.5));
            assert_eq!(seconds(&format!("data:audio/x-wav;base64,{encoded}")), Some(0.5));
        }
    }

    #[test]
    fn data_that_is_not_wav_has_no_duration() {
        let encoded = sound(8000);
        for audio in ["", "wav,", "wav,!!!!", "wav,UklGRg==", "mp3,UklGRg==", &format!("mp3,{encoded}"), &encoded[..40]]
        {
            assert_eq!(seconds(audio), None, "{audio}");
        }
    }
}
