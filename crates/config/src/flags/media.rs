//! Flags: audio input, image input, video input.

use super::Status::*;
use super::*;

pub(super) const AUDIO_INPUT: &[Flag] = &[
    Flag {
        name: "--audio-batch-size",
        kind: Kind::Int(at_least(0.0)),
        aliases: &["--batch-size-audio"],
        default: Some("1"),
        path: "datasets[0].audio.batch_size",
        status: NotYet("its feature does not exist yet"),
        summary: "Audio clips per request",
        ..BASE
    },
    Flag {
        name: "--audio-length-mean",
        kind: Kind::Float(at_least(0.0)),
        path: "datasets[0].audio.length.mean",
        status: NotYet("its feature does not exist yet"),
        summary: "Mean clip seconds",
        ..BASE
    },
    Flag {
        name: "--audio-length-stddev",
        kind: Kind::Float(at_least(0.0)),
        path: "datasets[0].audio.length.stddev",
        status: NotYet("its feature does not exist yet"),
        summary: "Spread of clip seconds",
        ..BASE
    },
    Flag {
        name: "--audio-format",
        kind: Kind::Choice(&["wav", "mp3"]),
        default: Some("wav"),
        path: "datasets[0].audio.format",
        status: NotYet("its feature does not exist yet"),
        summary: "Clip file format",
        ..BASE
    },
    Flag {
        name: "--audio-depths",
        kind: Kind::Ints,
        takes: Takes::Many { comma: true, space: false },
        default: Some("16"),
        path: "datasets[0].audio.depths",
        status: NotYet("its feature does not exist yet"),
        summary: "Bit depths to choose from",
        ..BASE
    },
    Flag {
        name: "--audio-sample-rates",
        kind: Kind::Floats,
        takes: Takes::Many { comma: true, space: false },
        default: Some("16.0"),
        path: "datasets[0].audio.sample_rates",
        status: NotYet("its feature does not exist yet"),
        summary: "Sample rates to choose from, kHz (values over 96 read as Hz)",
        ..BASE
    },
    Flag {
        name: "--audio-num-channels",
        kind: Kind::Int(between(1.0, true, 2.0, true)),
        default: Some("1"),
        path: "datasets[0].audio.channels",
        status: NotYet("its feature does not exist yet"),
        summary: "Mono or stereo",
        ..BASE
    },
];

pub(super) const IMAGE_INPUT: &[Flag] = &[
    Flag {
        name: "--image-width-mean",
        kind: Kind::Float(at_least(0.0)),
        path: "datasets[0].images.width.mean",
        status: NotYet("its feature does not exist yet"),
        summary: "Mean image width in pixels",
        ..BASE
    },
    Flag {
        name: "--image-width-stddev",
        kind: Kind::Float(at_least(0.0)),
        path: "datasets[0].images.width.stddev",
        status: NotYet("its feature does not exist yet"),
        summary: "Spread of image width",
        ..BASE
    },
    Flag {
        name: "--image-height-mean",
        kind: Kind::Float(at_least(0.0)),
        path: "datasets[0].images.height.mean",
        status: NotYet("its feature does not exist yet"),
        summary: "Mean image height in pixels",
        ..BASE
    },
    Flag {
        name: "--image-height-stddev",
        kind: Kind::Float(at_least(0.0)),
        path: "datasets[0].images.height.stddev",
        status: NotYet("its feature does not exist yet"),
        summary: "Spread of image height",
        ..BASE
    },
    Flag {
        name: "--image-batch-size",
        kind: Kind::Int(at_least(0.0)),
        aliases: &["--batch-size-image"],
        default: Some("1"),
        path: "datasets[0].images.batch_size",
        status: NotYet("its feature does not exist yet"),
        summary: "Images per request",
        ..BASE
    },
    Flag {
        name: "--image-format",
        kind: Kind::Choice(&["png", "jpeg", "random"]),
        default: Some("png"),
        path: "datasets[0].images.format",
        status: NotYet("its feature does not exist yet"),
        summary: "Image encoding",
        ..BASE
    },
    Flag {
        name: "--image-source",
        kind: Kind::Text,
        default: Some("noise"),
        path: "datasets[0].images.source",
        status: NotYet("its feature does not exist yet"),
        summary: "Noise, bundled assets, or a directory of images",
        ..BASE
    },
    Flag {
        name: "--image-source-sampling",
        kind: Kind::Choice(&["random-with-replacement", "shuffle-cycle", "sequential-cycle"]),
        default: Some("random-with-replacement"),
        path: "datasets[0].images.source_sampling",
        status: NotYet("its feature does not exist yet"),
        summary: "How finite image sources are drawn",
        ..BASE
    },
];

pub(super) const VIDEO_INPUT: &[Flag] = &[
    Flag {
        name: "--video-batch-size",
        kind: Kind::Int(at_least(0.0)),
        aliases: &["--batch-size-video"],
        default: Some("1"),
        path: "datasets[0].video.batch_size",
        status: NotYet("its feature does not exist yet"),
        summary: "Videos per request",
        ..BASE
    },
    Flag {
        name: "--video-duration",
        kind: Kind::Float(at_least(0.0)),
        default: Some("5.0"),
        path: "datasets[0].video.duration",
        status: NotYet("its feature does not exist yet"),
        summary: "Clip length in seconds",
        ..BASE
    },
    Flag {
        name: "--video-fps",
        kind: Kind::Int(at_least(1.0)),
        default: Some("4"),
        path: "datasets[0].video.fps",
        status: NotYet("its feature does not exist yet"),
        summary: "Frames per second",
        ..BASE
    },
    Flag {
        name: "--video-width",
        kind: Kind::Int(at_least(1.0)),
        path: "datasets[0].video.width",
        status: NotYet("its feature does not exist yet"),
        summary: "Frame width in pixels",
        ..BASE
    },
    Flag {
        name: "--video-height",
        kind: Kind::Int(at_least(1.0)),
        path: "datasets[0].video.height",
        status: NotYet("its feature does not exist yet"),
        summary: "Frame height in pixels",
        ..BASE
    },
    Flag {
        name: "--video-synth-type",
        kind: Kind::Choice(&["moving_shapes", "grid_clock", "noise"]),
        default: Some("moving_shapes"),
        path: "datasets[0].video.synth_type",
        status: NotYet("its feature does not exist yet"),
        summary: "Pattern drawn in generated video",
        ..BASE
    },
    Flag {
        name: "--video-format",
        kind: Kind::Choice(&["mp4", "webm"]),
        default: Some("webm"),
        path: "datasets[0].video.format",
        status: NotYet("its feature does not exist yet"),
        summary: "Container format",
        ..BASE
    },
    Flag {
        name: "--video-codec",
        kind: Kind::Text,
        default: Some("libvpx-vp9"),
        path: "datasets[0].video.codec",
        status: NotYet("its feature does not exist yet"),
        summary: "Encoder name given to ffmpeg",
        ..BASE
    },
    Flag {
        name: "--video-audio-sample-rate",
        kind: Kind::Float(between(8.0, true, 96000.0, true)),
        default: Some("44100"),
        path: "datasets[0].video.audio.sample_rate",
        status: NotYet("its feature does not exist yet"),
        summary: "Embedded audio sample rate (Hz or kHz, split at 96)",
        ..BASE
    },
    Flag {
        name: "--video-audio-num-channels",
        kind: Kind::Int(between(0.0, true, 2.0, true)),
        path: "datasets[0].video.audio.channels",
        status: NotYet("its feature does not exist yet"),
        summary: "Embedded audio channels; 0 means no audio",
        ..BASE
    },
    Flag {
        name: "--video-audio-codec",
        kind: Kind::Choice(&["aac", "libvorbis", "libopus"]),
        path: "datasets[0].video.audio.codec",
        status: NotYet("its feature does not exist yet"),
        summary: "Embedded audio encoder; chosen from the container when unset",
        ..BASE
    },
    Flag {
        name: "--video-audio-depth",
        kind: Kind::Int(ANY),
        default: Some("16"),
        path: "datasets[0].video.audio.depth",
        status: NotYet("its feature does not exist yet"),
        summary: "Embedded audio bit depth",
        ..BASE
    },
];
