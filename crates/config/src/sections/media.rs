//! Images, audio and video made for requests.

use super::distribution::Distribution;
use crate::choice::choices;
use crate::range::{at_least, between, more_than};
use crate::setting::{List, Reader, Setting, section};
use crate::tree::Node;
use aiperf_plan::dataset::media::{AudioFormat, ImageFormat, PictureOrder, VideoContainer, VideoPattern};
use serde_json::Value;

choices! {
    /// Encoding of the sound of generated videos.
    VideoAudioCodec {
        Aac = "aac",
        Libvorbis = "libvorbis",
        Libopus = "libopus",
    }
}

section! {
    /// Images in requests.
    Images {
        /// Images per request
        batch_size: i64 [at_least(0.0)] = 0;
        /// Width in pixels
        width: Distribution = 512.0;
        /// Height in pixels
        height: Distribution = 512.0;
        /// Image encoding
        format: ImageFormat = ImageFormat::Jpeg;
        /// Noise, bundled assets, or a directory of images
        source: String = "noise";
        /// How finite image sources are drawn
        source_sampling: PictureOrder = PictureOrder::Random;
    }
    /// Audio in requests.
    Audio {
        /// Audio clips per request
        batch_size: i64 [at_least(0.0)] = 0;
        /// Length in seconds
        length: Distribution = 10.0;
        /// Clip file format
        format: AudioFormat = AudioFormat::Wav;
        /// Sample rates to choose from, kHz (values over 96 read as Hz)
        sample_rates: List<KiloHertz> = [KiloHertz(16.0)];
        /// Bit depths to choose from
        depths: List<i64> = [16];
        /// Mono or stereo
        channels: i64 [between(1.0, true, 2.0, true)] = 1;
    }
    /// Video in requests.
    Video {
        /// Videos per request
        batch_size: i64 [at_least(0.0)] = 0;
        /// Clip length in seconds
        duration: f64 [more_than(0.0)] = 1.0;
        /// Frames per second
        fps: i64 [at_least(1.0)] = 4;
        /// Frame width in pixels
        width: i64 [at_least(1.0)];
        /// Frame height in pixels
        height: i64 [at_least(1.0)];
        /// Container format
        format: VideoContainer = VideoContainer::Webm;
        /// Encoder name given to ffmpeg
        codec: String = "libvpx-vp9";
        /// Pattern drawn in generated video
        synth_type: VideoPattern = VideoPattern::MovingShapes;
        /// Its sound
        audio: VideoAudio;
    }
    /// Sound of generated videos.
    VideoAudio {
        /// Sample rate in kHz
        sample_rate: KiloHertz [between(8.0, true, 96.0, true)] = 44.1;
        /// Embedded audio channels; 0 means no audio
        channels: i64 [between(0.0, true, 2.0, true)] = 0;
        /// Embedded audio encoder; chosen from the container when unset
        codec: VideoAudioCodec;
        /// Embedded audio bit depth
        depth: i64 = 16;
    }
}

/// A sample rate; a value above 96 is in Hz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KiloHertz(pub f64);

impl KiloHertz {
    pub(crate) fn hertz(self) -> f64 {
        (self.0 * 1000.0).round()
    }
}

impl From<f64> for KiloHertz {
    fn from(rate: f64) -> Self {
        Self(rate)
    }
}

impl Setting for KiloHertz {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        f64::read(node, path, reader).map(|rate| Self(if rate > 96.0 { rate / 1000.0 } else { rate }))
    }
    fn write(&self) -> Value {
        self.0.into()
    }
    fn schema() -> Value {
        f64::schema()
    }
    fn number(&self) -> Option<f64> {
        Some(self.0)
    }
}
