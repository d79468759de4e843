//! Endpoints of images, audio and video, and text endpoints with such input.

use crate::kinds::bench::{Bench, answered, counted, text_usage, three, three_streams, three_whole, with_usage};
use aiperf_testkit::vocabulary::*;
use aiperf_types::{EndpointKind, Measured, Usage};

fn with_images(mut records: Vec<Measured>, images: u32) -> Vec<Measured> {
    records.iter_mut().for_each(|record| record.images = images);
    records
}

fn with_audio(mut records: Vec<Measured>, seconds: f64) -> Vec<Measured> {
    records.iter_mut().for_each(|record| record.audio_seconds = Some(seconds));
    records
}

#[test]
fn images_made_from_text_are_not_images_that_were_sent() {
    for streaming in [false, true] {
        let records = counted(three([&[1000], &[1500], &[2000]]), 16, Some(0));
        let run = Bench::of(EndpointKind::ImageGeneration, streaming).run(&records);
        run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT]);
        assert_eq!((run.avg("request_latency"), run.stat("request_latency", "std")), (1500.0, 500.0));
        // From the first request to 2 s after the third: 48 tokens in 2.2 s.
        assert!((run.avg("input_token_throughput") - 48.0 / 2.2).abs() < 1e-9);
    }
}

#[test]
fn images_made_from_images_have_a_latency_an_image() {
    let run = Bench::of(EndpointKind::ImageGeneration, false).run(&with_images(counted(three_whole(), 16, Some(0)), 4));
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, IMAGES]);
    assert_eq!((run.value(0, "image_latency"), run.value(0, "image_throughput")), (2.5, 400.0));
}

#[test]
fn partial_images_of_a_stream_are_no_tokens() {
    let run = Bench::of(EndpointKind::ImageGeneration, true).run(&counted(three_streams(), 16, Some(0)));
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT]);
    assert_eq!((run.avg("request_latency"), run.avg("effective_decode_concurrency")), (40.0, 0.0));
}

#[test]
fn edited_images_have_a_latency_an_image_and_a_length_of_input() {
    let usage =
        Usage { prompt_tokens: Some(16), completion_tokens: Some(9), total_tokens: Some(25), ..Usage::default() };
    let records = with_usage(with_images(counted(three_whole(), 16, Some(0)), 2), usage);
    let run = Bench::of(EndpointKind::ImageEdit, false).run(&records);
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, IMAGES, USAGE_PROMPT, PROMPT_DIFFERENCE]);
    // Two images in 10, 20 and 40 ms.
    assert_eq!((run.stat("image_latency", "p50"), run.stat("image_latency", "max")), (10.0, 20.0));
    assert_eq!((run.stat("image_throughput", "min"), run.avg("num_images")), (50.0, 2.0));
}

#[test]
fn retrieved_images_have_no_tokens_whatever_was_counted_and_reported() {
    // It neither reads nor produces tokens, whatever else is counted and reported.
    let records = with_usage(with_images(counted(three_whole(), 16, Some(0)), 1), text_usage(16, 1));
    let run = Bench::of(EndpointKind::ImageRetrieval, false).run(&records);
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, IMAGES]);
    assert_eq!((run.value(2, "image_latency"), run.value(2, "image_throughput")), (40.0, 25.0));
}

#[test]
fn only_requests_with_an_image_have_a_latency_an_image() {
    let mut records = counted(three_whole(), 16, Some(5));
    records[1].images = 1;
    let run = Bench::of(EndpointKind::Chat, false).run(&records);
    let text = [SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT];
    let image = [SENT, CURVES, ANSWERED, HTTP, INPUT, OUTPUT, OUTPUT_TEXT, IMAGES];
    run.summary_shows(&image);
    run.line_shows(0, &text);
    run.line_shows(1, &image);
    assert_eq!((run.avg("image_latency"), run.stat("num_images", "count")), (20.0, 1.0));
}

#[test]
fn transcribed_audio_has_a_real_time_factor_and_no_tokens() {
    let run = Bench::of(EndpointKind::AudioTranscription, false).run(&with_audio(three_whole(), 8.0));
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, AUDIO]);
    // Eight seconds in 10, 20 and 40 ms.
    assert_eq!((run.stat("rtfx", "max"), run.stat("rtfx", "p50"), run.stat("rtfx", "min")), (800.0, 400.0, 200.0));
    assert_eq!((run.avg("audio_duration"), run.stat("audio_duration", "sum")), (8.0, 24.0));
}

#[test]
fn transcribed_audio_has_of_usage_what_is_about_audio() {
    let usage = Usage { prompt_audio_tokens: Some(80), prompt_audio_seconds: Some(8.5), ..text_usage(90, 12) };
    let run =
        Bench::of(EndpointKind::AudioTranscription, false).run(&with_usage(with_audio(three_whole(), 8.5), usage));
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, AUDIO, USAGE_AUDIO]);
    assert_eq!(
        (run.avg("total_usage_prompt_audio_seconds"), run.avg("total_usage_prompt_audio_tokens")),
        (25.5, 240.0)
    );
}

#[test]
fn audio_of_unknown_length_has_no_real_time_factor() {
    let run = Bench::of(EndpointKind::AudioTranscription, false).run(&three_whole());
    run.shows(&[SENT, CURVES, ANSWERED, HTTP]);
    let run = Bench::of(EndpointKind::AudioTranscription, false).run(&with_audio(three_whole(), 0.0));
    run.shows(&[SENT, CURVES, ANSWERED, HTTP]);
    assert_eq!(run.avg("request_count"), 3.0);
}

#[test]
fn chat_about_audio_has_a_real_time_factor_beside_its_tokens() {
    let usage = Usage {
        prompt_audio_tokens: Some(20),
        completion_audio_tokens: Some(30),
        prompt_audio_seconds: Some(2.0),
        ..text_usage(40, 5)
    };
    let records = with_audio(with_usage(counted(three_streams(), 40, Some(5)), usage), 2.0);
    let run = Bench::of(EndpointKind::Chat, true).run(&records);
    run.shows(&[
        SENT,
        CURVES,
        ANSWERED,
        HTTP,
        INPUT,
        OUTPUT,
        OUTPUT_TEXT,
        STREAM,
        STREAM_OUTPUT,
        STREAM_GAPS,
        USAGE_PROMPT,
        PROMPT_DIFFERENCE,
        USAGE_COMPLETION,
        COMPLETION_DIFFERENCE,
        AUDIO,
        USAGE_AUDIO,
        USAGE_AUDIO_OUT,
    ]);
    // Two seconds of audio, with a response 40 ms after the second request.
    assert_eq!((run.value(1, "rtfx"), run.avg("total_usage_completion_audio_tokens")), (50.0, 90.0));
}

#[test]
fn generated_video_has_the_servers_time_in_milliseconds_and_its_memory() {
    let mut records = counted(three([&[3000], &[4000], &[5000]]), 16, Some(0));
    for (record, seconds) in records.iter_mut().zip([2.5, 3.5, 4.5]) {
        record.video_inference_seconds = Some(seconds);
        record.video_peak_memory_mb = Some(20_480.0);
    }
    let run = Bench::of(EndpointKind::VideoGeneration, false).run(&records);
    run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, VIDEO]);
    // Reported in seconds, shown in milliseconds; memory is megabytes throughout.
    assert_eq!((run.avg("video_inference_time"), run.value(0, "video_inference_time")), (3500.0, 2500.0));
    assert_eq!((run.avg("video_peak_memory"), run.value(0, "video_peak_memory")), (20_480.0, 20_480.0));
    assert!(run.csv.contains("Video Inference Time (ms),3500.00,2500.00,4500.00,10500.00,"), "{}", run.csv);
}

#[test]
fn generated_video_of_a_server_that_reports_nothing_has_its_latency() {
    let run = Bench::of(EndpointKind::VideoGeneration, false).run(&[answered(0, &[3000])]);
    run.shows(&[SENT, CURVES, ANSWERED, HTTP]);
    assert_eq!((run.avg("request_latency"), run.avg("benchmark_duration")), (3000.0, 3.0));
}
