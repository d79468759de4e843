//! Flags: Audio Input, Image Input, Video Input.

use super::flag::Status::NotYet;
use super::flag::{Kind, Takes, To, flags};
use crate::choice::Choice;
use crate::range::{at_least, between, more_than};
use crate::sections::media;

flags! { AUDIO_INPUT_FLAGS:
    AUDIO_BATCH_SIZE {
        name: "--audio-batch-size",
        kind: Kind::Int(at_least(0.0)),
        aliases: &["--batch-size-audio"],
        default: Some("1 with a length, 0 without"),
        to: To::Dataset("audio.batch_size"),
        status: NotYet("requests hold text only"),
        summary: "Audio clips per request",
    }
    AUDIO_LENGTH_MEAN {
        name: "--audio-length-mean",
        kind: Kind::Float(at_least(0.0)),
        default: Some("10"),
        to: To::Dataset("audio.length.mean"),
        status: NotYet("requests hold text only"),
        summary: "Mean clip seconds",
    }
    AUDIO_LENGTH_STDDEV {
        name: "--audio-length-stddev",
        kind: Kind::Float(at_least(0.0)),
        default: Some("0"),
        to: To::Dataset("audio.length.stddev"),
        status: NotYet("requests hold text only"),
        summary: "Spread of clip seconds",
    }
    AUDIO_FORMAT {
        name: "--audio-format",
        kind: Kind::Choice(media::AudioFormat::NAMES),
        default: Some("wav"),
        to: To::Dataset("audio.format"),
        status: NotYet("requests hold text only"),
        summary: "Clip file format",
    }
    AUDIO_DEPTHS {
        name: "--audio-depths",
        kind: Kind::Ints,
        takes: Takes::Many { comma: true, space: false },
        default: Some("16"),
        to: To::Dataset("audio.depths"),
        status: NotYet("requests hold text only"),
        summary: "Bit depths to choose from",
    }
    AUDIO_SAMPLE_RATES {
        name: "--audio-sample-rates",
        kind: Kind::Floats,
        takes: Takes::Many { comma: true, space: false },
        default: Some("16.0"),
        to: To::Dataset("audio.sample_rates"),
        status: NotYet("requests hold text only"),
        summary: "Sample rates to choose from, kHz (values over 96 read as Hz)",
    }
    AUDIO_NUM_CHANNELS {
        name: "--audio-num-channels",
        kind: Kind::Int(between(1.0, true, 2.0, true)),
        default: Some("1"),
        to: To::Dataset("audio.channels"),
        status: NotYet("requests hold text only"),
        summary: "Mono or stereo",
    }
}

flags! { IMAGE_INPUT_FLAGS:
    IMAGE_WIDTH_MEAN {
        name: "--image-width-mean",
        kind: Kind::Float(at_least(0.0)),
        default: Some("512"),
        to: To::Dataset("images.width.mean"),
        status: NotYet("requests hold text only"),
        summary: "Mean image width in pixels",
    }
    IMAGE_WIDTH_STDDEV {
        name: "--image-width-stddev",
        kind: Kind::Float(at_least(0.0)),
        default: Some("0"),
        to: To::Dataset("images.width.stddev"),
        status: NotYet("requests hold text only"),
        summary: "Spread of image width",
    }
    IMAGE_HEIGHT_MEAN {
        name: "--image-height-mean",
        kind: Kind::Float(at_least(0.0)),
        default: Some("512"),
        to: To::Dataset("images.height.mean"),
        status: NotYet("requests hold text only"),
        summary: "Mean image height in pixels",
    }
    IMAGE_HEIGHT_STDDEV {
        name: "--image-height-stddev",
        kind: Kind::Float(at_least(0.0)),
        default: Some("0"),
        to: To::Dataset("images.height.stddev"),
        status: NotYet("requests hold text only"),
        summary: "Spread of image height",
    }
    IMAGE_BATCH_SIZE {
        name: "--image-batch-size",
        kind: Kind::Int(at_least(0.0)),
        aliases: &["--batch-size-image"],
        default: Some("1 with a size or source, 0 without"),
        to: To::Dataset("images.batch_size"),
        status: NotYet("requests hold text only"),
        summary: "Images per request",
    }
    IMAGE_FORMAT {
        name: "--image-format",
        kind: Kind::Choice(media::ImageFormat::NAMES),
        default: Some("jpeg"),
        to: To::Dataset("images.format"),
        status: NotYet("requests hold text only"),
        summary: "Image encoding",
    }
    IMAGE_SOURCE {
        name: "--image-source",
        kind: Kind::Text,
        default: Some("noise"),
        to: To::Dataset("images.source"),
        status: NotYet("requests hold text only"),
        summary: "Noise, bundled assets, or a directory of images",
    }
    IMAGE_SOURCE_SAMPLING {
        name: "--image-source-sampling",
        kind: Kind::Choice(media::ImageSampling::NAMES),
        default: Some("random-with-replacement"),
        to: To::Dataset("images.source_sampling"),
        status: NotYet("requests hold text only"),
        summary: "How finite image sources are drawn",
    }
}

flags! { VIDEO_INPUT_FLAGS:
    VIDEO_BATCH_SIZE {
        name: "--video-batch-size",
        kind: Kind::Int(at_least(0.0)),
        aliases: &["--batch-size-video"],
        default: Some("1 with a size, length or type, 0 without"),
        to: To::Dataset("video.batch_size"),
        status: NotYet("requests hold text only"),
        summary: "Videos per request",
    }
    VIDEO_DURATION {
        name: "--video-duration",
        kind: Kind::Float(more_than(0.0)),
        default: Some("1"),
        to: To::Dataset("video.duration"),
        status: NotYet("requests hold text only"),
        summary: "Clip length in seconds",
    }
    VIDEO_FPS {
        name: "--video-fps",
        kind: Kind::Int(at_least(1.0)),
        default: Some("4"),
        to: To::Dataset("video.fps"),
        status: NotYet("requests hold text only"),
        summary: "Frames per second",
    }
    VIDEO_WIDTH {
        name: "--video-width",
        kind: Kind::Int(at_least(1.0)),
        to: To::Dataset("video.width"),
        status: NotYet("requests hold text only"),
        summary: "Frame width in pixels",
    }
    VIDEO_HEIGHT {
        name: "--video-height",
        kind: Kind::Int(at_least(1.0)),
        to: To::Dataset("video.height"),
        status: NotYet("requests hold text only"),
        summary: "Frame height in pixels",
    }
    VIDEO_SYNTH_TYPE {
        name: "--video-synth-type",
        kind: Kind::Choice(media::VideoSynth::NAMES),
        default: Some("moving_shapes"),
        to: To::Dataset("video.synth_type"),
        status: NotYet("requests hold text only"),
        summary: "Pattern drawn in generated video",
    }
    VIDEO_FORMAT {
        name: "--video-format",
        kind: Kind::Choice(media::VideoFormat::NAMES),
        default: Some("webm"),
        to: To::Dataset("video.format"),
        status: NotYet("requests hold text only"),
        summary: "Container format",
    }
    VIDEO_CODEC {
        name: "--video-codec",
        kind: Kind::Text,
        default: Some("libvpx-vp9"),
        to: To::Dataset("video.codec"),
        status: NotYet("requests hold text only"),
        summary: "Encoder name given to ffmpeg",
    }
    VIDEO_AUDIO_SAMPLE_RATE {
        name: "--video-audio-sample-rate",
        kind: Kind::Float(between(8.0, true, 96000.0, true)),
        default: Some("44100"),
        to: To::Dataset("video.audio.sample_rate"),
        status: NotYet("requests hold text only"),
        summary: "Embedded audio sample rate (Hz or kHz, split at 96)",
    }
    VIDEO_AUDIO_NUM_CHANNELS {
        name: "--video-audio-num-channels",
        kind: Kind::Int(between(0.0, true, 2.0, true)),
        to: To::Dataset("video.audio.channels"),
        status: NotYet("requests hold text only"),
        summary: "Embedded audio channels; 0 means no audio",
    }
    VIDEO_AUDIO_CODEC {
        name: "--video-audio-codec",
        kind: Kind::Choice(media::VideoAudioCodec::NAMES),
        to: To::Dataset("video.audio.codec"),
        status: NotYet("requests hold text only"),
        summary: "Embedded audio encoder; chosen from the container when unset",
    }
    VIDEO_AUDIO_DEPTH {
        name: "--video-audio-depth",
        kind: Kind::IntChoice(&[8, 16, 24, 32]),
        default: Some("16"),
        to: To::Dataset("video.audio.depth"),
        status: NotYet("requests hold text only"),
        summary: "Embedded audio bit depth",
    }
}
