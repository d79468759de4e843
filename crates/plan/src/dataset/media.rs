//! Generated images, audio and video.

use super::Distribution;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Media of every turn of a synthetic conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MediaPlan {
    pub images: Option<ImageMaking>,
    pub audio: Option<AudioMaking>,
    pub video: Option<VideoMaking>,
}

/// Images of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageMaking {
    /// Images per turn, at least one.
    pub batch: u32,
    /// Pixels.
    pub width: Distribution,
    pub height: Distribution,
    pub format: ImageFormat,
    pub source: ImageSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageFormat {
    Png,
    Jpeg,
    /// Either, for each image.
    Random,
}

/// The content of images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageSource {
    /// Pixels of random colours.
    Noise,
    /// Four built-in pictures.
    Assets(PictureOrder),
    /// The pictures of a folder.
    Folder(PathBuf, PictureOrder),
}

/// Which picture is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PictureOrder {
    /// A random one, each time.
    Random,
    /// Each once per round; every round has another order.
    Shuffle,
    /// In the order of their names, repeatedly.
    Sequential,
}

/// Sounds of a turn: noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AudioMaking {
    /// Sounds per turn, at least one.
    pub batch: u32,
    pub seconds: Distribution,
    pub format: AudioFormat,
    /// In Hz; one of them for each sound.
    pub sample_rates: Vec<u32>,
    /// One of them for each sound.
    pub depths: Vec<SampleDepth>,
    /// 1 or 2.
    pub channels: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AudioFormat {
    Wav,
    /// Encoded by ffmpeg.
    Mp3,
}

/// Bits per sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SampleDepth {
    Bits8,
    Bits16,
    Bits24,
    Bits32,
}

/// Videos of a turn, made by ffmpeg.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VideoMaking {
    /// Videos per turn, at least one.
    pub batch: u32,
    pub seconds: f64,
    pub frames_a_second: u32,
    pub width: u32,
    pub height: u32,
    pub container: VideoContainer,
    /// An encoder of ffmpeg.
    pub codec: String,
    pub shows: VideoPattern,
    pub sound: Option<VideoSound>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VideoContainer {
    Mp4,
    Webm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VideoPattern {
    MovingShapes,
    GridClock,
    Noise,
}

/// The sound of a video: noise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VideoSound {
    /// In Hz.
    pub sample_rate: u32,
    /// 1 or 2.
    pub channels: u16,
    pub depth: SampleDepth,
    /// An encoder of ffmpeg.
    pub codec: String,
}

/// Base64 has four characters for three bytes.
const BASE64: f64 = 4.0 / 3.0;

impl MediaPlan {
    pub const fn is_empty(&self) -> bool {
        self.images.is_none() && self.audio.is_none() && self.video.is_none()
    }

    /// Approximate bytes of the media of a turn in its request.
    pub fn bytes(&self) -> f64 {
        self.sum(Distribution::mean)
    }

    /// The same for the largest turn that can be expected.
    pub fn most_bytes(&self) -> f64 {
        self.sum(Distribution::largest)
    }

    fn sum(&self, of: fn(&Distribution) -> f64) -> f64 {
        let images = self.images.as_ref().map_or(0.0, |images| f64::from(images.batch) * images.bytes(of));
        let audio = self.audio.as_ref().map_or(0.0, |audio| f64::from(audio.batch) * audio.bytes(of));
        let video = self.video.as_ref().map_or(0.0, |video| f64::from(video.batch) * video.bytes());
        (images + audio + video) * BASE64
    }
}

impl ImageMaking {
    /// Bytes of an image of noise; other images compress better.
    fn bytes(&self, of: fn(&Distribution) -> f64) -> f64 {
        let a_pixel = match self.format {
            ImageFormat::Png | ImageFormat::Random => 3.0,
            ImageFormat::Jpeg => 2.0,
        };
        of(&self.width) * of(&self.height) * a_pixel
    }
}

impl AudioMaking {
    /// Bytes of the uncompressed sound, from which mp3 is made.
    fn bytes(&self, of: fn(&Distribution) -> f64) -> f64 {
        let rate = self.sample_rates.iter().copied().max().unwrap_or(0);
        let depth = self.depths.iter().map(|depth| depth.bytes()).max().unwrap_or(0);
        of(&self.seconds) * f64::from(rate) * f64::from(self.channels) * depth as f64
    }
}

impl VideoMaking {
    /// The number of its frames.
    pub fn frames(&self) -> u64 {
        (self.seconds * f64::from(self.frames_a_second)) as u64
    }

    /// Noise compresses to about five bits per pixel, drawn pictures to almost nothing.
    fn bytes(&self) -> f64 {
        let a_pixel = if self.shows == VideoPattern::Noise { 0.7 } else { 0.02 };
        let pixels = f64::from(self.width) * f64::from(self.height) * self.frames() as f64;
        let sound = self.sound.as_ref().map_or(0.0, |sound| self.seconds * f64::from(sound.sample_rate));
        pixels * a_pixel + sound
    }
}

impl SampleDepth {
    pub const ALL: [Self; 4] = [Self::Bits8, Self::Bits16, Self::Bits24, Self::Bits32];

    pub const fn bits(self) -> u16 {
        match self {
            Self::Bits8 => 8,
            Self::Bits16 => 16,
            Self::Bits24 => 24,
            Self::Bits32 => 32,
        }
    }

    pub const fn bytes(self) -> usize {
        self.bits() as usize / 8
    }

    /// The depth with this number of bits.
    pub fn of(bits: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|depth| i64::from(depth.bits()) == bits)
    }
}

impl VideoContainer {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mp4 => "mp4",
            Self::Webm => "webm",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_media_follows_from_their_settings() {
        let images = ImageMaking {
            batch: 2,
            width: Distribution::normal(100.0, 10.0),
            height: Distribution::fixed(50.0),
            format: ImageFormat::Png,
            source: ImageSource::Noise,
        };
        let audio = AudioMaking {
            batch: 1,
            seconds: Distribution::fixed(3.0),
            format: AudioFormat::Wav,
            sample_rates: vec![8000, 16000],
            depths: vec![SampleDepth::Bits16],
            channels: 2,
        };
        let plan = MediaPlan { images: Some(images), ..MediaPlan::default() };
        assert_eq!((plan.bytes(), plan.most_bytes()), (40_000.0, 64_000.0));
        let plan = MediaPlan { audio: Some(audio), ..MediaPlan::default() };
        assert_eq!(plan.bytes(), 256_000.0);
        assert!(!plan.is_empty() && MediaPlan::default().is_empty());
    }
}
