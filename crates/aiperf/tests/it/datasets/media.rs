//! Images, audio and video in requests, as a server receives them, with the examples of `docs/media.md`.

use crate::bench::Bench;
use crate::datasets::recorded::{Recorded, chat, chat_as, chat_counted};
use serde_json::{Value, json};

const FEW: &[&str] = &["--isl", "5", "--request-count", "3", "--random-seed", "7"];

/// A run with a tokenizer, unless its endpoint type neither reads nor writes text.
fn of_type(args: &[&str], configure: impl FnOnce(Bench) -> Bench) -> Recorded {
    if ["image_retrieval", "audio_transcription"].iter().any(|name| args.contains(name)) {
        chat_counted(|bench| configure(bench.with(&["--model", "m"]).with(args)))
    } else {
        chat_as(|bench| configure(bench.with(args)))
    }
}

fn sent(args: &[&str]) -> Recorded {
    chat(&[FEW, args].concat()).good()
}

/// The parts of the last message of each request.
fn parts(recorded: &Recorded) -> Vec<Vec<Value>> {
    let content =
        |body: &&Value| body["messages"].as_array().unwrap().last().unwrap()["content"].as_array().unwrap().clone();
    recorded.bodies().iter().map(content).collect()
}

fn types(parts: &[Value]) -> Vec<&str> {
    parts.iter().map(|part| part["type"].as_str().unwrap()).collect()
}

fn base64(text: &str) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

/// Width and height of a PNG.
fn png_size(url: &str) -> (u32, u32) {
    let bytes = base64(url.strip_prefix("data:image/png;base64,").unwrap());
    let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[12..16], b"IHDR");
    (side(16), side(20))
}

#[test]
fn images_follow_the_text_in_the_size_and_number_asked_for() {
    let recorded = sent(&[
        "--image-width-mean",
        "30",
        "--image-height-mean",
        "20",
        "--image-format",
        "png",
        "--image-batch-size",
        "2",
    ]);
    let all = parts(&recorded);
    assert_eq!(all.len(), 3);
    for parts in &all {
        assert_eq!(types(parts), ["text", "image_url", "image_url"]);
        assert_eq!(png_size(parts[1]["image_url"]["url"].as_str().unwrap()), (30, 20));
        assert_ne!(parts[1], parts[2]);
    }
    assert_ne!(all[0][1], all[1][1]);
    assert_eq!(recorded.run.records()[0]["metrics"]["num_images"]["value"], json!(2));
}

#[test]
fn an_image_is_a_jpeg_by_default() {
    let recorded = sent(&["--image-source", "assets", "--image-width-mean", "24", "--image-height-mean", "24"]);
    let parts = &parts(&recorded)[0];
    let url = parts[1]["image_url"]["url"].as_str().unwrap();
    assert_eq!(base64(url.strip_prefix("data:image/jpeg;base64,").unwrap())[..3], *b"\xff\xd8\xff");
}

#[test]
fn the_same_seed_makes_the_same_media() {
    let bodies = |seed: &str| {
        let args = [
            "--isl",
            "5",
            "--request-count",
            "4",
            "--image-width-mean",
            "9",
            "--image-width-stddev",
            "3",
            "--audio-length-mean",
            "0.05",
        ];
        let recorded = chat(&[&args[..], &["--random-seed", seed]].concat()).good();
        recorded.bodies().into_iter().cloned().collect::<Vec<_>>()
    };
    assert_eq!(bodies("3"), bodies("3"));
    assert_ne!(bodies("3"), bodies("4"));
}

#[test]
fn audio_is_sent_with_its_format_and_as_long_as_asked_for() {
    let recorded = sent(&[
        "--audio-length-mean",
        "0.5",
        "--audio-sample-rates",
        "8000",
        "--audio-depths",
        "8",
        "--audio-num-channels",
        "2",
    ]);
    for parts in parts(&recorded) {
        assert_eq!(types(&parts), ["text", "input_audio"]);
        assert_eq!(parts[1]["input_audio"]["format"], "wav");
        let bytes = base64(parts[1]["input_audio"]["data"].as_str().unwrap());
        assert_eq!(bytes.len(), 44 + 8000);
    }
}

#[test]
fn images_alone_need_no_text() {
    let recorded = chat(&[
        "--isl",
        "0",
        "--image-batch-size",
        "1",
        "--image-width-mean",
        "8",
        "--image-height-mean",
        "8",
        "--request-count",
        "1",
    ])
    .good();
    assert_eq!(types(&parts(&recorded)[0]), ["image_url"]);
}

#[test]
fn every_turn_has_its_own_media() {
    let recorded = sent(&["--conversation-turn-mean", "2", "--image-width-mean", "8", "--image-height-mean", "8"]);
    let messages = recorded.bodies()[1]["messages"].as_array().unwrap();
    let images: Vec<&Value> =
        messages.iter().filter_map(|message| message["content"].as_array()).map(|parts| &parts[1]).collect();
    assert_eq!(images.len(), 2);
    assert_ne!(images[0], images[1]);
}

#[test]
fn settings_of_a_file_make_the_same_as_flags() {
    let by_file = chat_as(|bench| {
        let text = "random_seed: 7\nbenchmark:\n  dataset:\n    entries: 3\n    prompts: {isl: 5}\n    images: {batch_size: 1, width: {mean: 12, stddev: 2}, height: 7, format: png}\n  profiling: {type: concurrency, requests: 3}\n";
        let file = bench.dir.path().join("run.yaml");
        std::fs::write(&file, text).unwrap();
        bench.with(&["--config", file.to_str().unwrap()])
    })
    .good();
    let by_flags = sent(&[
        "--image-width-mean",
        "12",
        "--image-width-stddev",
        "2",
        "--image-height-mean",
        "7",
        "--image-format",
        "png",
        "--image-batch-size",
        "1",
    ]);
    assert_eq!(parts(&by_file), parts(&by_flags));
}

#[test]
fn without_ffmpeg_videos_and_mp3_are_refused_with_a_hint() {
    for args in
        [&["--video-width", "64", "--video-height", "48"][..], &["--audio-length-mean", "0.1", "--audio-format", "mp3"]]
    {
        let message = chat_as(|bench| {
            // `env`, which starts the binary, is in the path, and nothing else.
            let bin = bench.dir.path().join("bin");
            std::fs::create_dir(&bin).unwrap();
            std::os::unix::fs::symlink("/usr/bin/env", bin.join("env")).unwrap();
            bench.with(FEW).with(args).env("PATH", bin.to_str().unwrap())
        })
        .refused();
        assert!(message.contains("needs ffmpeg") && message.contains("apt install ffmpeg"), "{message}");
    }
}

#[test]
fn videos_are_sent_if_ffmpeg_is_installed() {
    if std::process::Command::new("ffmpeg").arg("-version").output().is_err() {
        eprintln!("skipped: there is no ffmpeg");
        return;
    }
    let recorded =
        sent(&["--video-width", "64", "--video-height", "48", "--video-format", "mp4", "--video-codec", "libvpx-vp9"]);
    for parts in parts(&recorded) {
        assert_eq!(types(&parts), ["text", "video_url"]);
        let url = parts[1]["video_url"]["url"].as_str().unwrap();
        assert_eq!(base64(url.strip_prefix("data:video/mp4;base64,").unwrap())[4..8], *b"ftyp");
    }
}

#[test]
fn invalid_media_settings_are_refused_by_name_and_nothing_is_sent() {
    for (args, names) in [
        (&["--image-width-mean", "1000000"][..], &["--image-width-mean", "65500"][..]),
        (&["--image-width-mean", "30000", "--image-height-mean", "30000"], &["--image-", "pixels"]),
        (&["--image-width-stddev", "5"], &["width", "mean"]),
        (&["--image-source", "/nonexistent"], &["/nonexistent", "no folder of images"]),
        (&["--image-source-sampling", "shuffle-cycle"], &["--image-source-sampling", "--image-source assets"]),
        (&["--audio-length-mean", "0.001"], &["--audio-length-mean", "0.01"]),
        (&["--audio-length-mean", "100000000"], &["--audio-length-mean", "GB"]),
        (&["--audio-length-mean", "1", "--audio-depths", "12"], &["--audio-depths", "8, 16, 24 or 32"]),
        (
            &["--audio-length-mean", "1", "--audio-format", "mp3", "--audio-sample-rates", "7"],
            &["--audio-sample-rates", "mp3"],
        ),
        (&["--video-duration", "2"], &["--video-duration", "--video-width 640"]),
        (&["--video-width", "64", "--video-height", "48", "--video-duration", "0.1"], &["no frame"]),
        (
            &["--video-width", "64", "--video-height", "48", "--video-audio-codec", "aac"],
            &["--video-audio-codec", "--video-audio-num-channels"],
        ),
        (
            &[
                "--video-width",
                "64",
                "--video-height",
                "48",
                "--video-audio-num-channels",
                "1",
                "--video-audio-codec",
                "aac",
            ],
            &["webm", "mp4"],
        ),
        (&["--image-batch-size", "1", "--endpoint-type", "completions"], &["--image-batch-size", "completions"]),
    ] {
        let message = of_type(args, |bench| bench).refused();
        assert!(names.iter().all(|name| message.contains(name)), "{args:?}\n{message}");
    }
}

#[test]
fn an_endpoint_type_that_needs_media_names_the_flags_for_them() {
    for (kind, flag) in [("image_retrieval", "--image-batch-size 1"), ("audio_transcription", "--audio-batch-size 1")] {
        let message = chat_counted(|bench| bench.with(&["--model", "m", "--endpoint-type", kind])).refused();
        assert!(message.contains(kind) && message.contains(flag), "{message}");
    }
}

#[test]
fn a_folder_with_a_file_that_is_no_image_is_refused_by_its_name() {
    let message = chat_as(|bench| {
        let folder = bench.dir.path().join("pictures");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("cat.png"), "").unwrap();
        bench.with(&["--image-source", folder.to_str().unwrap()])
    })
    .refused();
    assert!(message.contains("cat.png: is empty"), "{message}");
}

#[test]
fn options_without_media_give_a_note() {
    let recorded = sent(&["--image-format", "png"]);
    assert!(recorded.run.stderr().contains("--image-format png has no effect"), "{}", recorded.run.stderr());
    assert!(recorded.bodies()[0]["messages"][0]["content"].is_string());
}

/// A PNG of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[test]
fn the_examples_of_the_guide_send_what_they_describe() {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/media.md")).unwrap();
    let examples: Vec<&str> = guide.lines().filter_map(|line| line.strip_prefix("    aiperf profile ")).collect();
    assert_eq!(examples.len(), 5);
    for example in examples {
        if example.contains("--video") && std::process::Command::new("ffmpeg").arg("-version").output().is_err() {
            eprintln!("skipped: there is no ffmpeg");
            continue;
        }
        let own = example.strip_prefix("--model m --url localhost:8000 ").unwrap();
        let args: Vec<&str> = own.split(' ').collect();
        let recorded = of_type(&args, |bench| {
            let home = bench.dir.path().to_owned();
            std::fs::create_dir(home.join("photos")).unwrap();
            std::fs::write(home.join("photos/one.png"), base64(PIXEL)).unwrap();
            bench.with(&["--request-count", "1"]).env("HOME", home.to_str().unwrap())
        });
        assert_eq!(recorded.requests.len(), 1, "{example}\n{}", recorded.run.stderr());
        let body = recorded.requests[0].body.to_string();
        let wanted =
            ["image", "audio", "video"].into_iter().find(|kind| example.contains(&format!("--{kind}-"))).unwrap();
        assert!(body.contains(wanted), "{example}");
    }
}
