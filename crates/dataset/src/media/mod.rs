//! Generated images, audio and video, each from the number of its turn alone.
//!
//! # Layout
//! - [`image`]: images of noise, or of pictures
//! - [`pictures`]: pictures from a folder, or drawn by [`scenes`], in the order they are used
//! - [`pixels`]: an image in memory: decoded, resized, encoded
//! - `audio`: sounds
//! - [`video`]: videos: [`frames`] are drawn here and encoded by ffmpeg
//! - [`ffmpeg`]: the external encoder

mod audio;
mod ffmpeg;
mod frames;
mod image;
mod pictures;
mod pixels;
mod scenes;
mod video;

use aiperf_plan::MediaPlan;
use aiperf_types::{Media, Turn};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::DatasetError;
use crate::source::Making;
use audio::AudioMaker;
use image::ImageMaker;
use video::VideoMaker;

/// Makes the media of any turn.
#[derive(Debug)]
pub(crate) struct MediaMaker {
    images: Option<ImageMaker>,
    audio: Option<AudioMaker>,
    video: Option<VideoMaker>,
}

/// The turn that media are made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnNumber {
    /// The number for draws: no two turns share it.
    pub(crate) draws: u64,
    /// The number of turns before it, in the order of the dataset.
    pub(crate) before: u64,
}

impl MediaMaker {
    /// Reads the pictures of a folder, if the plan uses one; makes nothing yet.
    pub(crate) fn new(plan: &MediaPlan, making: Making<'_>) -> Result<Self, DatasetError> {
        Ok(Self {
            images: plan.images.as_ref().map(|plan| ImageMaker::new(plan, making)).transpose()?,
            audio: plan.audio.as_ref().map(|plan| AudioMaker::new(plan, making.draws)),
            video: plan.video.as_ref().map(|plan| VideoMaker::new(plan, making.draws)),
        })
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.images.is_none() && self.audio.is_none() && self.video.is_none()
    }

    /// Notes for the user, one line each.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.images.iter().flat_map(ImageMaker::note).collect()
    }

    /// Adds media to a turn.
    pub(crate) fn fill(&self, turn: &mut Turn, number: TurnNumber) -> Result<(), DatasetError> {
        if let Some(images) = &self.images {
            turn.images.push(named("image_url", images.make(number)?));
        }
        if let Some(audio) = &self.audio {
            let (contents, seconds) = audio.make(number.draws)?;
            turn.audios.push(named("input_audio", contents));
            turn.audio_duration_seconds = Some(seconds);
        }
        if let Some(video) = &self.video {
            turn.videos.push(named("video_url", video.make(number.draws)?));
        }
        Ok(())
    }
}

fn named(name: &str, contents: Vec<String>) -> Media {
    Media { name: name.to_owned(), contents, uuids: Vec::new() }
}

/// `head` and then the bytes in base64.
fn encoded(head: &str, bytes: &[u8]) -> String {
    let mut text = String::with_capacity(head.len() + bytes.len().div_ceil(3) * 4);
    text.push_str(head);
    STANDARD.encode_string(bytes, &mut text);
    text
}

#[cfg(test)]
mod tests;
