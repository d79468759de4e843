//! Generated images, audio and video.

use super::super::subject;
use super::{counted_by, first_set};
use crate::context::Context;
use crate::error::Problem;
use crate::flags::{CONVERSATION_NUM, REQUEST_COUNT};
use crate::resolve::Tree;
use crate::sections::dataset::Dataset;
use crate::sections::media as section;
use crate::tree::Origin;
use aiperf_plan::dataset::media::{
    AudioFormat, AudioMaking, ImageMaking, ImageSource, SampleDepth, VideoContainer, VideoMaking, VideoSound,
};
use aiperf_plan::{Distribution, MediaPlan};
use aiperf_types::EndpointKind;
use std::path::PathBuf;

/// The most pixels of a side of an image: libjpeg, and what is built on it, reads no more.
const IMAGE_SIDE: f64 = 65500.0;
/// The same for a video: the limit of encoders.
const VIDEO_SIDE: f64 = 16384.0;
/// The most pixels of an image, or of a frame.
const PIXELS: f64 = 1e8;
/// The most pixels of all frames of a video.
const VIDEO_PIXELS: f64 = 1e11;
const FRAMES_A_SECOND: f64 = 1000.0;
/// The most samples per second: four times what can be heard.
const SAMPLE_RATE: f64 = 192_000.0;
/// The most bytes of media per turn: more than servers accept.
const TURN_BYTES: f64 = 1e9;
/// The most bytes of media of all conversations together, if the number of conversations is the default, and if the
/// user set it.
const USUAL_BYTES: f64 = 1e9;
const DATASET_BYTES: f64 = 64e9;
const SHORTEST_SECONDS: f64 = 0.01;
/// Sample rates of mp3, in Hz.
const MP3_RATES: &[u32] = &[8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000];

/// A kind of media: its name, and the settings that ask for it.
struct MediaSetting {
    key: &'static str,
    /// As in "takes no images".
    name: &'static str,
    is_taken: fn(EndpointKind) -> bool,
    /// The flag that asks for one per request.
    flag: &'static str,
}

const IMAGES: MediaSetting = MediaSetting {
    key: "images",
    name: "images",
    is_taken: |kind| kind.traits().accepts_images,
    flag: "--image-batch-size",
};
const AUDIO: MediaSetting = MediaSetting {
    key: "audio",
    name: "audio",
    is_taken: |kind| kind.traits().accepts_audio,
    flag: "--audio-batch-size",
};
const VIDEO: MediaSetting = MediaSetting {
    key: "video",
    name: "videos",
    is_taken: |kind| kind.traits().accepts_video,
    flag: "--video-batch-size",
};

/// Reads the requested media, and reports problems.
pub(super) struct MediaReader<'a> {
    pub(super) tree: &'a Tree,
    pub(super) ctx: &'a Context<'a>,
    pub(super) kind: EndpointKind,
    pub(super) notes: &'a mut Vec<String>,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl MediaReader<'_> {
    pub(super) fn read(mut self, dataset: &Dataset) -> MediaPlan {
        let images = dataset.images.clone().and_then(|images| {
            let batch = self.batch(&IMAGES, images.batch_size())?;
            self.images(&images, batch)
        });
        let audio = dataset.audio.clone().and_then(|audio| {
            let batch = self.batch(&AUDIO, audio.batch_size())?;
            self.audio(&audio, batch)
        });
        let video = dataset.video.clone().and_then(|video| {
            let batch = self.batch(&VIDEO, video.batch_size())?;
            self.video(&video, batch)
        });
        let plan = MediaPlan { images, audio, video };
        for (kind, bytes) in [
            (&IMAGES, MediaPlan { audio: None, video: None, ..plan.clone() }.most_bytes()),
            (&AUDIO, MediaPlan { images: None, video: None, ..plan.clone() }.most_bytes()),
            (&VIDEO, MediaPlan { images: None, audio: None, ..plan.clone() }.most_bytes()),
        ] {
            if bytes > TURN_BYTES {
                let what = format!("{} makes requests too large", self.first_set(kind.key));
                let why = format!(
                    "the {} of one would take {:.1} GB, and media of a request may take {:.0}",
                    kind.name,
                    bytes / 1e9,
                    TURN_BYTES / 1e9
                );
                self.refuse(kind.key, what, &why, "fewer or smaller ones");
            }
        }
        plan
    }

    /// The number per turn, if any. A note reports requested media that are not generated.
    fn batch(&mut self, kind: &MediaSetting, asked: i64) -> Option<u32> {
        let what = self.first_set(kind.key);
        if asked <= 0 {
            let node = self.tree.node.find(&format!("benchmark.datasets.0.{}.batch_size", kind.key));
            if node.is_none_or(|node| node.origin == Origin::Rule) {
                let way_out = if self.tree.places.file.is_some() { "batch_size:" } else { kind.flag };
                self.notes.push(format!("{what} has no effect: no {} are requested (try: {way_out} 1)", kind.name));
            }
            return None;
        }
        if !(kind.is_taken)(self.kind) {
            let name = self.kind.name();
            let message = format!("{what} cannot be used with endpoint type {name}");
            let why = format!("its requests take no {}", kind.name);
            self.refuse(
                kind.key,
                message,
                &why,
                "leave it out, or another endpoint type, such as --endpoint-type chat",
            );
            return None;
        }
        // A larger number is far more than a request may contain, for any media.
        Some(u32::try_from(asked).unwrap_or(u32::MAX))
    }

    fn images(&mut self, images: &section::Images, batch: u32) -> Option<ImageMaking> {
        let (width, height) = (images.width().drawn(), images.height().drawn());
        for (key, side) in [("images.width", &width), ("images.height", &height)] {
            if side.mean() <= 0.0 {
                let what = self.first_set(key);
                self.notes.push(format!("{what} has no effect: images without a size are not generated"));
                return None;
            }
            self.side(key, side, IMAGE_SIDE);
        }
        if width.largest() <= IMAGE_SIDE && height.largest() <= IMAGE_SIDE {
            self.pixels("images", width.largest() * height.largest(), "an image");
        }
        let order = images.source_sampling();
        let source = match images.source().as_str() {
            "noise" => ImageSource::Noise,
            "assets" => ImageSource::Assets(order),
            folder => ImageSource::Folder(self.folder(folder), order),
        };
        Some(ImageMaking { batch, width, height, format: images.format(), source })
    }

    fn folder(&self, given: &str) -> PathBuf {
        let home = given.strip_prefix("~/").zip(self.ctx.env.get("HOME"));
        let path = home.map_or_else(|| crate::os_text::path(given), |(rest, home)| PathBuf::from(home).join(rest));
        self.ctx.cwd.join(path)
    }

    fn audio(&mut self, audio: &section::Audio, batch: u32) -> Option<AudioMaking> {
        let seconds = audio.length().drawn();
        if seconds.mean() <= 0.0 {
            let what = self.first_set("audio.length");
            self.notes.push(format!("{what} has no effect: audio without a length is not generated"));
            return None;
        }
        if seconds.mean() < SHORTEST_SECONDS {
            let what = format!("{} must be at least {SHORTEST_SECONDS}", self.first_set("audio.length"));
            self.refuse("audio.length", what, "shorter audio cannot be generated", "--audio-length-mean 10");
        }
        let format = audio.format();
        let sample_rates = audio.sample_rates().iter().map(|rate| self.rate(*rate, format)).collect::<Vec<_>>();
        let depths = audio.depths().iter().filter_map(|bits| self.depth("audio.depths", *bits)).collect::<Vec<_>>();
        for (key, is_empty) in [("audio.sample_rates", sample_rates.is_empty()), ("audio.depths", depths.is_empty())] {
            if is_empty && self.problems.is_empty() {
                let what = format!("{} is empty", self.subject(key));
                self.refuse(key, what, "one value is drawn for each clip", "leave it out");
            }
        }
        let channels = if audio.channels() == 2 { 2 } else { 1 };
        Some(AudioMaking { batch, seconds, format, sample_rates, depths, channels })
    }

    fn rate(&mut self, rate: section::KiloHertz, format: AudioFormat) -> u32 {
        let hertz = rate.hertz();
        let key = "audio.sample_rates";
        if !(1.0..=SAMPLE_RATE).contains(&hertz) {
            let what = format!("{} has a rate of {hertz} Hz, outside 1 to {SAMPLE_RATE}", self.subject(key));
            self.refuse(key, what, "rates up to 96 are in kHz, higher ones in Hz", "--audio-sample-rates 16");
        } else if format == AudioFormat::Mp3 && !MP3_RATES.contains(&(hertz as u32)) {
            let what = format!("{} has a rate of {hertz} Hz, which mp3 does not support", self.subject(key));
            let rates: Vec<String> = MP3_RATES.iter().map(u32::to_string).collect();
            self.refuse(
                key,
                what,
                &format!("rates of mp3: {}", rates.join(", ")),
                "one of them, or --audio-format wav",
            );
        }
        hertz as u32
    }

    fn depth(&mut self, key: &str, bits: i64) -> Option<SampleDepth> {
        let depth = SampleDepth::of(bits);
        if depth.is_none() {
            let what = format!("{} has a depth of {bits} bits", self.subject(key));
            self.refuse(key, what, "samples have 8, 16, 24 or 32 bits", "16");
        }
        depth
    }

    fn video(&mut self, video: &section::Video, batch: u32) -> Option<VideoMaking> {
        let (Some(width), Some(height)) = (video.width, video.height) else {
            let what = format!("{} needs the size of the video", self.first_set("video"));
            let hint = "--video-width 640 --video-height 480";
            self.refuse("video", what, "a video has a width and a height, which have no default", hint);
            return None;
        };
        let (seconds, rate) = (video.duration(), video.fps());
        for (key, side) in [("video.width", width), ("video.height", height)] {
            self.side(key, &Distribution::fixed(side as f64), VIDEO_SIDE);
        }
        let frame = width as f64 * height as f64;
        let frames = (seconds * rate as f64).floor();
        if rate as f64 > FRAMES_A_SECOND {
            let what = format!("{} must be at most {FRAMES_A_SECOND}", self.subject("video.fps"));
            self.refuse("video.fps", what, "no video has more frames per second", "--video-fps 30");
        } else if frames < 1.0 {
            let what = format!("a video of {seconds} s at {rate} frames per second has no frame");
            self.refuse("video.duration", what, "a video has at least one", "a longer --video-duration");
        } else if width as f64 <= VIDEO_SIDE && height as f64 <= VIDEO_SIDE {
            self.pixels("video", frame, "a frame");
            if frame * frames > VIDEO_PIXELS {
                let what = format!("{frames} frames of {width} x {height} pixels are too many");
                let why = format!("all frames of a video have at most {VIDEO_PIXELS} pixels");
                self.refuse("video", what, &why, "a shorter or smaller video");
            }
        }
        let container = video.format();
        Some(VideoMaking {
            batch,
            seconds,
            frames_a_second: u32::try_from(rate).unwrap_or(u32::MAX),
            width: u32::try_from(width).unwrap_or(u32::MAX),
            height: u32::try_from(height).unwrap_or(u32::MAX),
            container,
            codec: video.codec(),
            shows: video.synth_type(),
            sound: video.audio.as_ref().and_then(|audio| self.sound(audio, container)),
        })
    }

    fn sound(&mut self, audio: &section::VideoAudio, container: VideoContainer) -> Option<VideoSound> {
        if audio.channels() == 0 {
            for key in ["sample_rate", "depth"] {
                let key = format!("video.audio.{key}");
                let at = format!("benchmark.datasets.0.{key}");
                if self.tree.node.find(&at).is_some_and(|node| node.origin != Origin::Rule) {
                    let what = self.subject(&key);
                    self.notes.push(format!("{what} has no effect: the video is silent"));
                }
            }
            return None;
        }
        let codec = match (audio.codec, container) {
            (Some(section::VideoAudioCodec::Aac), VideoContainer::Webm) => {
                let what = format!("{} cannot be used with a webm video", self.subject("video.audio.codec"));
                let hint = "--video-audio-codec libvorbis or libopus, or --video-format mp4";
                self.refuse("video.audio.codec", what, "webm holds Vorbis or Opus", hint);
                return None;
            }
            (Some(section::VideoAudioCodec::Aac), VideoContainer::Mp4) => "aac",
            (Some(section::VideoAudioCodec::Libvorbis), _) | (None, VideoContainer::Webm) => "libvorbis",
            (Some(section::VideoAudioCodec::Libopus), _) | (None, VideoContainer::Mp4) => "libopus",
        };
        Some(VideoSound {
            sample_rate: audio.sample_rate().hertz() as u32,
            channels: if audio.channels() == 2 { 2 } else { 1 },
            depth: self.depth("video.audio.depth", audio.depth())?,
            codec: codec.to_owned(),
        })
    }

    fn side(&mut self, key: &str, side: &Distribution, most: f64) {
        let largest = side.largest();
        if largest > most || !largest.is_finite() {
            let what = format!("{} is too large", self.first_set(key));
            let why = if side.is_fixed() {
                format!("a side has at most {most} pixels")
            } else {
                format!("draws can reach {largest} pixels, and a side has at most {most}")
            };
            self.refuse(key, what, &why, "a smaller one");
        }
    }

    fn pixels(&mut self, key: &str, pixels: f64, what: &str) {
        if pixels > PIXELS {
            let message = format!("{} makes {what} of up to {pixels:.0} pixels", self.first_set(key));
            self.refuse(key, message, &format!("{what} has at most {PIXELS} of them"), "a smaller width or height");
        }
    }

    fn first_set(&self, key: &str) -> String {
        first_set(self.tree, &format!("benchmark.datasets.0.{key}"))
    }

    fn subject(&self, key: &str) -> String {
        subject(self.tree, &format!("benchmark.datasets.0.{key}"))
    }

    fn refuse(&mut self, key: &str, what: String, why: &str, hint: &str) {
        self.problems.push(Problem::new(what).because(why).hint(hint).at(format!("benchmark.datasets.0.{key}")));
    }
}

/// How many conversations are made, by the bytes of their media. A number that the user set is made or refused. If only
/// requests are counted, conversations are reused above a limit.
pub(super) fn conversations_made(
    tree: &Tree,
    entries: u32,
    bytes: f64,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> u32 {
    let all = f64::from(entries) * bytes;
    let at = "benchmark.datasets.0.entries";
    let is_implied =
        tree.node.find(at).is_none() || counted_by(tree, REQUEST_COUNT) || counted_by(tree, CONVERSATION_NUM);
    if is_implied && all > USUAL_BYTES {
        let made = (USUAL_BYTES / bytes).max(1.0).floor();
        if made < f64::from(entries) {
            notes.push(format!(
                "{made} conversations are made, not {entries}, and used again: their media take {:.0} GB. \
                 --num-dataset-entries N makes more; a server that caches media responds to those it has seen faster",
                USUAL_BYTES / 1e9
            ));
        }
        return made as u32;
    }
    if all > DATASET_BYTES {
        let what = format!("{} conversations with media are too many", subject(tree, at));
        let why = format!(
            "they would take about {:.0} GB, and all media together take at most {:.0}",
            all / 1e9,
            DATASET_BYTES / 1e9
        );
        let hint = "fewer conversations, which are reused, or smaller media";
        problems.push(Problem::new(what).because(why).hint(hint).at(at));
    }
    entries
}
