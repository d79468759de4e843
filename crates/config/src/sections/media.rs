//! Images, audio and video made for requests.

use super::distribution::Distribution;
use crate::range::{at_least, between, more_than};
use crate::setting::{List, Reader, Setting, names, section};
use crate::tree::Node;
use serde_json::Value;

names! {
    /// Encoding of made images.
    ImageFormat = ["png", "jpeg", "random"]
    /// Order in which source images are used.
    ImageSampling = ["random-with-replacement", "shuffle-cycle", "sequential-cycle"]
    /// Encoding of made audio.
    AudioFormat = ["wav", "mp3"]
    /// What made videos show.
    VideoSynth = ["moving_shapes", "grid_clock", "noise"]
    /// Container of made videos.
    VideoFormat = ["mp4", "webm"]
    /// Encoding of the sound of made videos.
    VideoAudioCodec = ["aac", "libvorbis", "libopus"]
}

section! {
    /// Images in requests.
    Images {
        /// Images a request
        batch_size: i64 [at_least(0.0)] = "0";
        /// Width in pixels
        width: Distribution = "512";
        /// Height in pixels
        height: Distribution = "512";
        /// Encoding
        format: ImageFormat = "jpeg";
        /// noise, assets, or a directory of images
        source: String = "noise";
        /// Order in which source images are used
        source_sampling: ImageSampling = "random-with-replacement";
    }
    /// Audio in requests.
    Audio {
        /// Clips a request
        batch_size: i64 [at_least(0.0)] = "0";
        /// Length in seconds
        length: Distribution = "10";
        /// Encoding
        format: AudioFormat = "wav";
        /// Sample rates in kHz, of which one is picked
        sample_rates: List<KiloHertz> = "[16]";
        /// Bits a sample, of which one is picked
        depths: List<i64> = "[16]";
        /// Channels
        channels: i64 [between(1.0, true, 2.0, true)] = "1";
    }
    /// Video in requests.
    Video {
        /// Videos a request
        batch_size: i64 [at_least(0.0)] = "0";
        /// Length in seconds
        duration: f64 [more_than(0.0)] = "1";
        /// Frames a second
        fps: i64 [at_least(1.0)] = "4";
        /// Width in pixels
        width: i64 [at_least(1.0)];
        /// Height in pixels
        height: i64 [at_least(1.0)];
        /// Container
        format: VideoFormat = "webm";
        /// Encoder
        codec: String = "libvpx-vp9";
        /// What it shows
        synth_type: VideoSynth = "moving_shapes";
        /// Its sound
        audio: VideoAudio;
    }
    /// Sound of made videos.
    VideoAudio {
        /// Sample rate in kHz
        sample_rate: KiloHertz [between(8.0, true, 96.0, true)] = "44.1";
        /// Channels; 0 is silent
        channels: i64 [between(0.0, true, 2.0, true)] = "0";
        /// Encoding
        codec: VideoAudioCodec;
        /// Bits a sample
        depth: i64 = "16";
    }
}

/// A sample rate; a value above 96 is in Hz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KiloHertz(pub f64);

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
