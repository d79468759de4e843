//! Sounds: noise, as WAV, or converted to mp3.

use aiperf_plan::Draws;
use aiperf_plan::dataset::media::{AudioFormat, AudioMaking, SampleDepth};
use aiperf_plan::draw::Purpose;
use rand::{Rng, RngExt};
use rand_distr::{Distribution as _, StandardNormal};

use super::{encoded, ffmpeg};
use crate::error::DatasetError;
use crate::length;

/// Shorter sounds are drawn again.
const SHORTEST_SECONDS: f64 = 0.01;
/// Standard deviation of samples, where 1 is the loudest: one in 1200 is clipped.
const LOUDNESS: f64 = 0.3;

#[derive(Debug)]
pub(super) struct AudioMaker {
    plan: AudioMaking,
    shapes: Purpose,
    noise: Purpose,
}

impl AudioMaker {
    pub(super) fn new(plan: &AudioMaking, draws: &Draws) -> Self {
        let (shapes, noise) = (draws.purpose("dataset.audio.shape"), draws.purpose("dataset.audio.noise"));
        Self { plan: plan.clone(), shapes, noise }
    }

    /// The sounds of a turn, as `<format>,<base64>`, and the seconds of the first.
    pub(super) fn make(&self, at: u64) -> Result<(Vec<String>, f64), DatasetError> {
        let AudioMaking { batch, seconds, format, sample_rates, depths, channels } = &self.plan;
        let (mut shapes, mut noise) = (self.shapes.at(at), self.noise.at(at));
        let mut lengths = Vec::with_capacity(*batch as usize);
        let make = |_| {
            let seconds = length::sample(seconds, SHORTEST_SECONDS, &mut shapes);
            let rate = sample_rates[shapes.random_range(0..sample_rates.len())];
            let depth = depths[shapes.random_range(0..depths.len())];
            let sound = Sound { rate, channels: *channels, depth, samples: samples(seconds, rate) };
            lengths.push(f64::from(sound.samples) / f64::from(rate));
            let wav = sound.noise(&mut noise);
            match format {
                AudioFormat::Wav => Ok(encoded("wav,", &wav)),
                AudioFormat::Mp3 => Ok(encoded("mp3,", &ffmpeg::mp3(&wav)?)),
            }
        };
        let sounds = (0..*batch).map(make).collect::<Result<_, _>>()?;
        Ok((sounds, lengths.first().copied().unwrap_or_default()))
    }
}

/// The number of samples in a duration, at least one.
pub(super) fn samples(seconds: f64, rate: u32) -> u32 {
    ((seconds * f64::from(rate)) as u32).max(1)
}

/// The header fields of a WAV file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sound {
    pub(super) rate: u32,
    pub(super) channels: u16,
    pub(super) depth: SampleDepth,
    /// Per channel.
    pub(super) samples: u32,
}

impl Sound {
    /// A WAV file of noise.
    pub(super) fn noise(self, rng: &mut impl Rng) -> Vec<u8> {
        let values = self.samples as usize * usize::from(self.channels);
        let mut wav = self.header(values * self.depth.bytes());
        for _ in 0..values {
            let sample: f64 = StandardNormal.sample(rng);
            push(&mut wav, (sample * LOUDNESS).clamp(-1.0, 1.0), self.depth);
        }
        // Chunks begin at even offsets.
        if wav.len() % 2 == 1 {
            wav.push(0);
        }
        wav
    }

    /// The 44 bytes before the samples, with capacity for those.
    fn header(self, bytes: usize) -> Vec<u8> {
        let (bits, bytes) = (self.depth.bits(), bytes as u32);
        let frame = self.channels * self.depth.bytes() as u16;
        let mut wav = Vec::with_capacity(45 + bytes as usize);
        wav.extend(b"RIFF");
        wav.extend((36 + bytes + (bytes & 1)).to_le_bytes());
        wav.extend(b"WAVEfmt ");
        wav.extend(16u32.to_le_bytes());
        // 1: PCM.
        wav.extend(1u16.to_le_bytes());
        wav.extend(self.channels.to_le_bytes());
        wav.extend(self.rate.to_le_bytes());
        wav.extend((self.rate * u32::from(frame)).to_le_bytes());
        wav.extend(frame.to_le_bytes());
        wav.extend(bits.to_le_bytes());
        wav.extend(b"data");
        wav.extend(bytes.to_le_bytes());
        wav
    }
}

/// Adds a sample from -1 to 1; only the depth of eight bits is unsigned.
fn push(wav: &mut Vec<u8>, sample: f64, depth: SampleDepth) {
    match depth {
        SampleDepth::Bits8 => wav.push((((sample * 32767.0) as i16 >> 8) + 128) as u8),
        SampleDepth::Bits16 => wav.extend(((sample * 32767.0) as i16).to_le_bytes()),
        SampleDepth::Bits24 => wav.extend(&((sample * 8_388_607.0) as i32).to_le_bytes()[..3]),
        SampleDepth::Bits32 => wav.extend(((sample * 2_147_483_647.0) as i32).to_le_bytes()),
    }
}
