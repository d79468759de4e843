//! Videos: drawn here, encoded by ffmpeg.

use std::sync::OnceLock;

use aiperf_plan::Draws;
use aiperf_plan::dataset::media::{VideoContainer, VideoMaking, VideoPattern, VideoSound};
use aiperf_plan::draw::Purpose;
use rand::Rng;

use super::audio::{Sound, samples};
use super::encoded;
use super::ffmpeg::{Job, words};
use super::frames::Frames;
use crate::error::DatasetError;

#[derive(Debug)]
pub(super) struct VideoMaker {
    plan: VideoMaking,
    pixels: Purpose,
    sounds: Purpose,
    /// If nothing is random, every video is this one.
    only: OnceLock<Result<String, DatasetError>>,
}

impl VideoMaker {
    pub(super) fn new(plan: &VideoMaking, draws: &Draws) -> Self {
        let (pixels, sounds) = (draws.purpose("dataset.video.noise"), draws.purpose("dataset.video.sound"));
        Self { plan: plan.clone(), pixels, sounds, only: OnceLock::new() }
    }

    /// The videos of a turn, as data URIs.
    pub(super) fn make(&self, at: u64) -> Result<Vec<String>, DatasetError> {
        let (mut pixels, mut sounds) = (self.pixels.at(at), self.sounds.at(at));
        let is_random = self.plan.shows == VideoPattern::Noise || self.plan.sound.is_some();
        let make = |_| {
            if is_random {
                return self.encode(&mut pixels, &mut sounds);
            }
            self.only.get_or_init(|| self.encode(&mut pixels, &mut sounds)).clone()
        };
        (0..self.plan.batch).map(make).collect()
    }

    fn encode(&self, pixels: &mut impl Rng, sounds: &mut impl Rng) -> Result<String, DatasetError> {
        let VideoMaking { seconds, frames_a_second, width, height, container, codec, sound, .. } = &self.plan;
        let sound_file = sound.as_ref().map(|VideoSound { sample_rate, channels, depth, .. }| {
            let samples = samples(*seconds, *sample_rate);
            Sound { rate: *sample_rate, channels: *channels, depth: *depth, samples }.noise(sounds)
        });
        let input = words(&format!("-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {frames_a_second}"));
        let mut output = words("-pix_fmt yuv420p -flags:v +bitexact -c:v");
        output.push(codec.clone());
        if codec.starts_with("libvpx") {
            // The fastest setting: a tenth of the time or less, with as many bytes.
            output.extend(words("-deadline realtime -cpu-used 8"));
        }
        if let Some(sound) = sound {
            output.extend(words("-flags:a +bitexact -shortest -c:a"));
            output.push(sound.codec.clone());
        }
        output.extend(words(match container {
            VideoContainer::Mp4 => "-movflags +faststart -f mp4",
            VideoContainer::Webm => "-f webm",
        }));
        let job = Job { what: "a video", input: &input, second_input: sound_file.as_deref(), output: &output };
        let mut frames = Frames::new(&self.plan);
        let bytes = job.run(|pipe| {
            (0..self.plan.frames()).try_for_each(|frame| pipe.write_all(frames.draw(frame, &mut *pixels)))
        })?;
        Ok(encoded(&format!("data:video/{};base64,", container.name()), &bytes))
    }
}
