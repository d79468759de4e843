//! Flags: Audio Input, Image Input, Video Input.

use super::flag::{FlagType, Takes, To, WhenAbsent, flags};
use crate::choice::Choice;
use crate::range::between;
use crate::sections::media;
use aiperf_plan::dataset::media::{AudioFormat, ImageFormat, PictureOrder, VideoContainer, VideoPattern};

flags! { AUDIO_INPUT_FLAGS:
    AUDIO_BATCH_SIZE {
        name: "--audio-batch-size",
        kind: FlagType::Int,
        aliases: &["--batch-size-audio"],
        default: Some(WhenAbsent::Words("1 with a length, 0 without")),
        to: To::Dataset("audio.batch_size"),
    }
    AUDIO_LENGTH_MEAN {
        name: "--audio-length-mean",
        kind: FlagType::Float,
        default: Some(WhenAbsent::Words("10 if audio is generated")),
        to: To::Dataset("audio.length.mean"),
        summary: "Mean clip seconds",
    }
    AUDIO_LENGTH_STDDEV {
        name: "--audio-length-stddev",
        kind: FlagType::Float,
        to: To::Dataset("audio.length.stddev"),
        summary: "Spread of clip seconds",
    }
    AUDIO_FORMAT {
        name: "--audio-format",
        kind: FlagType::Choice(AudioFormat::NAMES),
        to: To::Dataset("audio.format"),
    }
    AUDIO_DEPTHS {
        name: "--audio-depths",
        kind: FlagType::Ints,
        takes: Takes::Many { comma: true, space: false },
        to: To::Dataset("audio.depths"),
    }
    AUDIO_SAMPLE_RATES {
        name: "--audio-sample-rates",
        kind: FlagType::Floats,
        takes: Takes::Many { comma: true, space: false },
        to: To::Dataset("audio.sample_rates"),
    }
    AUDIO_NUM_CHANNELS {
        name: "--audio-num-channels",
        kind: FlagType::Int,
        to: To::Dataset("audio.channels"),
    }
}

flags! { IMAGE_INPUT_FLAGS:
    IMAGE_WIDTH_MEAN {
        name: "--image-width-mean",
        kind: FlagType::Float,
        default: Some(WhenAbsent::Words("512 if images are generated")),
        to: To::Dataset("images.width.mean"),
        summary: "Mean image width in pixels",
    }
    IMAGE_WIDTH_STDDEV {
        name: "--image-width-stddev",
        kind: FlagType::Float,
        to: To::Dataset("images.width.stddev"),
        summary: "Spread of image width",
    }
    IMAGE_HEIGHT_MEAN {
        name: "--image-height-mean",
        kind: FlagType::Float,
        default: Some(WhenAbsent::Words("512 if images are generated")),
        to: To::Dataset("images.height.mean"),
        summary: "Mean image height in pixels",
    }
    IMAGE_HEIGHT_STDDEV {
        name: "--image-height-stddev",
        kind: FlagType::Float,
        to: To::Dataset("images.height.stddev"),
        summary: "Spread of image height",
    }
    IMAGE_BATCH_SIZE {
        name: "--image-batch-size",
        kind: FlagType::Int,
        aliases: &["--batch-size-image"],
        default: Some(WhenAbsent::Words("1 with a size or source, 0 without")),
        to: To::Dataset("images.batch_size"),
    }
    IMAGE_FORMAT {
        name: "--image-format",
        kind: FlagType::Choice(ImageFormat::NAMES),
        to: To::Dataset("images.format"),
    }
    IMAGE_SOURCE {
        name: "--image-source",
        kind: FlagType::Text,
        to: To::Dataset("images.source"),
    }
    IMAGE_SOURCE_SAMPLING {
        name: "--image-source-sampling",
        kind: FlagType::Choice(PictureOrder::NAMES),
        to: To::Dataset("images.source_sampling"),
    }
}

flags! { VIDEO_INPUT_FLAGS:
    VIDEO_BATCH_SIZE {
        name: "--video-batch-size",
        kind: FlagType::Int,
        aliases: &["--batch-size-video"],
        default: Some(WhenAbsent::Words("1 with a size, length or type, 0 without")),
        to: To::Dataset("video.batch_size"),
    }
    VIDEO_DURATION {
        name: "--video-duration",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Dataset("video.duration"),
    }
    VIDEO_FPS {
        name: "--video-fps",
        kind: FlagType::Int,
        to: To::Dataset("video.fps"),
    }
    VIDEO_WIDTH {
        name: "--video-width",
        kind: FlagType::Int,
        to: To::Dataset("video.width"),
    }
    VIDEO_HEIGHT {
        name: "--video-height",
        kind: FlagType::Int,
        to: To::Dataset("video.height"),
    }
    VIDEO_SYNTH_TYPE {
        name: "--video-synth-type",
        kind: FlagType::Choice(VideoPattern::NAMES),
        to: To::Dataset("video.synth_type"),
    }
    VIDEO_FORMAT {
        name: "--video-format",
        kind: FlagType::Choice(VideoContainer::NAMES),
        to: To::Dataset("video.format"),
    }
    VIDEO_CODEC {
        name: "--video-codec",
        kind: FlagType::Text,
        to: To::Dataset("video.codec"),
    }
    VIDEO_AUDIO_SAMPLE_RATE {
        name: "--video-audio-sample-rate",
        kind: FlagType::Float,
        range: Some(between(8.0, true, 96000.0, true)),
        default: Some(WhenAbsent::Made(|| media::VideoAudio::default().sample_rate().hertz().to_string())),
        to: To::Dataset("video.audio.sample_rate"),
        summary: "Embedded audio sample rate (Hz or kHz, split at 96)",
    }
    VIDEO_AUDIO_NUM_CHANNELS {
        name: "--video-audio-num-channels",
        kind: FlagType::Int,
        to: To::Dataset("video.audio.channels"),
    }
    VIDEO_AUDIO_CODEC {
        name: "--video-audio-codec",
        kind: FlagType::Choice(media::VideoAudioCodec::NAMES),
        to: To::Dataset("video.audio.codec"),
    }
    VIDEO_AUDIO_DEPTH {
        name: "--video-audio-depth",
        kind: FlagType::IntChoice(&[8, 16, 24, 32]),
        to: To::Dataset("video.audio.depth"),
    }
}
