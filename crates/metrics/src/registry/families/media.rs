//! Metrics of images, video and audio.

use crate::facts::{Fact, Facts};
use crate::registry::flags::Flags;
use crate::registry::metric::Compute::{Floats, Ints};
use crate::registry::metric::Short::{Bare, WithUnit};
use crate::registry::metric::{ConsoleGroup, Metric};
use crate::registry::rules::Rules;
use crate::registry::unit::Unit;

use super::requests::request_latency;
use super::{NS_PER_SEC, int};

pub(super) const METRICS: &[Metric] = &[
    Metric::new("num_images", "Number of Images", Unit::Images, Ints(num_images))
        .short("Num Images", WithUnit)
        .flags(&[Flags::SUPPORTS_IMAGE_ONLY])
        .facts(&[Fact::Images])
        .formula("number of images over all turns that the request carries")
        .absent("0 images"),
    Metric::new("image_throughput", "Image Throughput", Unit::ImagesPerSec, Floats(image_throughput))
        .short("Image Throughput", WithUnit)
        .flags(&[Flags::SUPPORTS_IMAGE_ONLY])
        .group(ConsoleGroup::Default)
        .order(860)
        .needs(&["num_images", "request_latency"])
        .formula("num_images / request_latency_s")
        .absent("latency 0"),
    Metric::new("image_latency", "Image Latency", Unit::MsPerImage, Floats(image_latency))
        .short("Image Latency", WithUnit)
        .flags(&[Flags::SUPPORTS_IMAGE_ONLY])
        .group(ConsoleGroup::Default)
        .order(861)
        .needs(&["num_images", "request_latency"])
        .formula("request_latency_ms / num_images"),
    Metric::new("video_inference_time", "Video Inference Time", Unit::Sec, Floats(video_inference_time))
        .short("Inference Time", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::PRODUCES_VIDEO_ONLY])
        .group(ConsoleGroup::Default)
        .order(310)
        .facts(&[Fact::VideoSeconds])
        .formula("first non-null inference_time_s among video responses")
        .absent("the server reported none"),
    Metric::new("video_peak_memory", "Video Peak Memory", Unit::MegaBytes, Floats(video_peak_memory))
        .short("Peak Memory", WithUnit)
        .flags(&[Flags::PRODUCES_VIDEO_ONLY])
        .group(ConsoleGroup::Default)
        .order(311)
        .facts(&[Fact::VideoMemory])
        .formula("first non-null peak_memory_mb among video responses")
        .absent("the server reported none"),
    Metric::new("audio_duration", "Audio Duration", Unit::Sec, Floats(audio_duration))
        .short("Audio Dur", WithUnit)
        .flags(&[Flags::SUPPORTS_AUDIO_ONLY])
        .order(870)
        .facts(&[Fact::AudioSeconds])
        .formula("input audio seconds of the turn")
        .absent("null or <= 0"),
    Metric::new("rtfx", "Inverse Real-Time Factor (RTFx)", Unit::Ratio, Floats(rtfx))
        .short("RTFx", Bare)
        .flags(&[Flags::LARGER_IS_BETTER, Flags::SUPPORTS_AUDIO_ONLY])
        .group(ConsoleGroup::Default)
        .order(850)
        .needs(&["audio_duration", "request_latency"])
        .formula("audio_duration / request_latency_s")
        .absent("latency <= 0"),
];

fn num_images(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::Images))
}

fn latency_seconds(f: &Facts, rules: &Rules) -> Option<f64> {
    request_latency(f, rules).filter(|&latency| latency > 0).map(|latency| latency as f64 / NS_PER_SEC)
}

fn image_throughput(f: &Facts, rules: &Rules) -> Option<f64> {
    Some(num_images(f, rules)? as f64 / latency_seconds(f, rules)?)
}

fn image_latency(f: &Facts, rules: &Rules) -> Option<f64> {
    let milliseconds = request_latency(f, rules)? as f64 * Unit::Ns.factor_to(Unit::Ms);
    Some(milliseconds / num_images(f, rules)? as f64)
}

fn video_inference_time(f: &Facts, _: &Rules) -> Option<f64> {
    f.float(Fact::VideoSeconds)
}

fn video_peak_memory(f: &Facts, _: &Rules) -> Option<f64> {
    f.float(Fact::VideoMemory)
}

fn audio_duration(f: &Facts, _: &Rules) -> Option<f64> {
    f.float(Fact::AudioSeconds).filter(|&seconds| seconds > 0.0)
}

fn rtfx(f: &Facts, rules: &Rules) -> Option<f64> {
    Some(audio_duration(f, rules)? / latency_seconds(f, rules)?)
}
