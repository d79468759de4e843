//! With any plan, media can be decoded and have the size and duration of the plan.

use std::path::Path;
use std::process::Command;

use super::pixels::Pixels;
use super::*;
use aiperf_plan::dataset::media::{
    AudioFormat, AudioMaking, ImageFormat, ImageMaking, ImageSource, PictureOrder, SampleDepth, VideoContainer,
    VideoMaking, VideoPattern, VideoSound,
};
use aiperf_plan::{Distribution, Draws};
use aiperf_tokenize::Tokenizer;
use proptest::prelude::*;

fn images(width: Distribution, height: Distribution) -> ImageMaking {
    ImageMaking { batch: 1, width, height, format: ImageFormat::Png, source: ImageSource::Noise }
}

fn audio(seconds: f64) -> AudioMaking {
    AudioMaking {
        batch: 1,
        seconds: Distribution::fixed(seconds),
        format: AudioFormat::Wav,
        sample_rates: vec![8000],
        depths: vec![SampleDepth::Bits16],
        channels: 1,
    }
}

fn video() -> VideoMaking {
    VideoMaking {
        batch: 1,
        seconds: 1.0,
        frames_a_second: 4,
        width: 64,
        height: 48,
        container: VideoContainer::Webm,
        codec: "libvpx-vp9".into(),
        shows: VideoPattern::MovingShapes,
        sound: None,
    }
}

fn maker(plan: &MediaPlan, seed: u64) -> Result<MediaMaker, DatasetError> {
    MediaMaker::new(plan, Making::new(&Draws::new(Some(seed), ""), &Tokenizer::builtin()))
}

fn turn(maker: &MediaMaker, number: u64) -> Turn {
    let mut turn = Turn::default();
    maker.fill(&mut turn, TurnNumber { draws: number, before: number }).unwrap();
    turn
}

fn of_images(images: ImageMaking, seed: u64) -> MediaMaker {
    maker(&MediaPlan { images: Some(images), ..MediaPlan::default() }, seed).unwrap()
}

fn bytes(content: &str) -> (&str, Vec<u8>) {
    let (head, data) = content.split_once(',').unwrap();
    (head, STANDARD.decode(data).unwrap())
}

fn picture(content: &str) -> Pixels {
    let (head, bytes) = bytes(content);
    let format = if bytes.starts_with(b"\x89PNG") { "png" } else { "jpeg" };
    assert_eq!(head, format!("data:image/{format};base64"));
    Pixels::read(&bytes).unwrap()
}

/// Channels, rate, bits and samples of each channel.
fn wav(content: &str) -> (u16, u32, u16, u32) {
    let (head, bytes) = bytes(content);
    assert_eq!(
        (head, &bytes[..4], &bytes[8..16], &bytes[36..40]),
        ("wav", &b"RIFF"[..], &b"WAVEfmt "[..], &b"data"[..])
    );
    let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let long = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (channels, rate, frame, bits, size) = (short(22), long(24), short(32), short(34), long(40));
    assert_eq!((short(20), frame, long(28)), (1, channels * bits / 8, rate * u32::from(frame)));
    assert_eq!((bytes.len() as u32, long(4) + 8), (44 + size + size % 2, 44 + size + size % 2));
    (channels, rate, bits, size / u32::from(frame))
}

fn has_ffmpeg() -> bool {
    Command::new("ffmpeg").arg("-version").output().is_ok()
}

/// The output of ffprobe for a file.
fn probed(bytes: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("it");
    std::fs::write(&file, bytes).unwrap();
    let shown = "stream=codec_name,width,height,nb_read_frames,sample_rate,channels:format=duration,format_name";
    let arguments = ["-v", "error", "-count_frames", "-of", "flat", "-show_entries", shown];
    let output = Command::new("ffprobe").args(arguments).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_image_has_the_size_asked_for(
        width in 1u32..90, height in 1u32..90, batch in 1u32..3, format in 0usize..3, seed: u64
    ) {
        let format = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Random][format];
        let sides = (Distribution::fixed(width.into()), Distribution::fixed(height.into()));
        let maker = of_images(ImageMaking { batch, format, ..images(sides.0, sides.1) }, seed);
        for number in 0..3 {
            let made = turn(&maker, number);
            prop_assert_eq!(made.images[0].contents.len(), batch as usize);
            for image in &made.images[0].contents {
                let pixels = picture(image);
                prop_assert_eq!((pixels.width, pixels.height), (width, height));
            }
        }
    }

    #[test]
    fn every_sound_is_a_wav_of_the_length_asked_for(
        seconds in 0.01f64..0.3, rate in 1u32..50_000, depth in 0usize..4, channels in 1u16..3, seed: u64
    ) {
        let depth = SampleDepth::ALL[depth];
        let plan = AudioMaking { sample_rates: vec![rate], depths: vec![depth], channels, ..audio(seconds) };
        let made = turn(&maker(&MediaPlan { audio: Some(plan), ..MediaPlan::default() }, seed).unwrap(), 3);
        let samples = ((seconds * f64::from(rate)) as u32).max(1);
        prop_assert_eq!(wav(&made.audios[0].contents[0]), (channels, rate, depth.bits(), samples));
        prop_assert_eq!(made.audio_duration_seconds, Some(f64::from(samples) / f64::from(rate)));
    }
}

#[test]
fn sizes_are_drawn_and_the_same_seed_draws_the_same() {
    let plan = || images(Distribution::normal(60.0, 20.0), Distribution::normal(40.0, 0.5));
    let (maker, again, other) = (of_images(plan(), 7), of_images(plan(), 7), of_images(plan(), 8));
    let made: Vec<Turn> = (0..20).map(|number| turn(&maker, number)).collect();
    for number in [19, 0, 7] {
        assert_eq!(turn(&again, number), made[number as usize]);
        assert_ne!(turn(&other, number), made[number as usize]);
    }
    let sizes: Vec<(u32, u32)> =
        made.iter().map(|turn| picture(&turn.images[0].contents[0])).map(|p| (p.width, p.height)).collect();
    assert!(
        sizes.iter().any(|size| size.0 != sizes[0].0) && sizes.iter().any(|size| size.1 != sizes[0].1),
        "{sizes:?}"
    );
}

#[test]
fn scenes_are_pictures_of_any_size_that_compress() {
    let source = ImageSource::Assets(PictureOrder::Sequential);
    let plan = ImageMaking { batch: 4, source, ..images(Distribution::normal(60.0, 20.0), Distribution::fixed(50.0)) };
    let made = turn(&of_images(plan, 1), 0);
    for scene in &made.images[0].contents {
        let pixels = picture(scene);
        assert_eq!(pixels.height, 50);
        assert!(bytes(scene).1.len() < pixels.rgb.len(), "{} x {}", pixels.width, pixels.height);
    }
}

#[test]
fn noise_has_every_value_about_as_often() {
    let pixels = picture(
        &turn(&of_images(images(Distribution::fixed(256.0), Distribution::fixed(256.0)), 1), 0).images[0].contents[0],
    );
    let mut counts = [0u32; 256];
    pixels.rgb.iter().for_each(|value| counts[usize::from(*value)] += 1);
    assert!(counts.iter().all(|count| (600..940).contains(count)), "{counts:?}");
}

#[test]
fn sounds_are_noise_that_uses_the_room_it_has() {
    for depth in SampleDepth::ALL {
        let plan = AudioMaking { depths: vec![depth], ..audio(2.0) };
        let made = turn(&maker(&MediaPlan { audio: Some(plan), ..MediaPlan::default() }, 1).unwrap(), 0);
        let (_, bytes) = bytes(&made.audios[0].contents[0]);
        let samples: Vec<f64> = bytes[44..]
            .chunks_exact(depth.bytes())
            .map(|sample| match depth {
                SampleDepth::Bits8 => (f64::from(sample[0]) - 127.5) / 128.0,
                _ => {
                    let mut all = [0; 4];
                    all[4 - sample.len()..].copy_from_slice(sample);
                    f64::from(i32::from_le_bytes(all)) / 2f64.powi(31)
                }
            })
            .collect();
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        let deviation =
            (samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / samples.len() as f64).sqrt();
        assert!(mean.abs() < 0.02 && (deviation - 0.3).abs() < 0.01, "{depth:?}: {mean} {deviation}");
    }
}

#[test]
fn rates_and_depths_are_any_of_those_given() {
    let plan = AudioMaking {
        batch: 40,
        sample_rates: vec![8000, 16000, 44100],
        depths: vec![SampleDepth::Bits8, SampleDepth::Bits24],
        ..audio(0.02)
    };
    let made = turn(&maker(&MediaPlan { audio: Some(plan), ..MediaPlan::default() }, 1).unwrap(), 0);
    let mut seen: Vec<(u32, u16)> =
        made.audios[0].contents.iter().map(|sound| wav(sound)).map(|of| (of.1, of.2)).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 6, "{seen:?}");
}

fn folder_of(colours: &[u8]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (at, colour) in colours.iter().enumerate() {
        let pixels = Pixels { width: 4, height: 4, rgb: vec![*colour; 48] };
        let (encoding, ending) =
            if at % 2 == 0 { (pixels::Encoding::Png, "png") } else { (pixels::Encoding::Jpeg, "JPG") };
        std::fs::write(dir.path().join(format!("{at}.{ending}")), pixels.picture_as(encoding).unwrap()).unwrap();
    }
    dir
}

fn of_folder(folder: &Path, order: PictureOrder) -> Result<MediaMaker, DatasetError> {
    let source = ImageSource::Folder(folder.to_owned(), order);
    let plan = ImageMaking { batch: 2, source, ..images(Distribution::fixed(3.0), Distribution::fixed(2.0)) };
    maker(&MediaPlan { images: Some(plan), ..MediaPlan::default() }, 5)
}

/// The first sample of each image of the first turns.
fn shades(maker: &MediaMaker, turns: u64) -> Vec<u8> {
    let images = (0..turns).flat_map(|number| turn(maker, number).images.remove(0).contents);
    images.map(|image| picture(&image).rgb[0]).collect()
}

#[test]
fn pictures_of_a_folder_come_in_the_order_asked_for() {
    let colours = [0, 40, 80, 120, 160];
    let folder = folder_of(&colours);
    std::fs::write(folder.path().join("notes.txt"), "no image").unwrap();
    std::fs::write(folder.path().join("x.gif"), "GIF89a").unwrap();
    let rounds = shades(&of_folder(folder.path(), PictureOrder::Sequential).unwrap(), 5);
    assert_eq!(rounds, [colours, colours].concat());
    let maker = of_folder(folder.path(), PictureOrder::Shuffle).unwrap();
    let shuffled = shades(&maker, 10);
    for round in shuffled.chunks(5) {
        let mut sorted = round.to_vec();
        sorted.sort();
        assert_eq!(sorted, colours);
    }
    assert_ne!(shuffled[..10], shuffled[10..]);
    assert!(maker.notes()[0].contains("1 images are left out, as in x.gif"), "{:?}", maker.notes());
    let random = shades(&of_folder(folder.path(), PictureOrder::Random).unwrap(), 20);
    assert!(colours.iter().all(|colour| random.contains(colour)), "{random:?}");
}

#[test]
fn an_error_about_a_folder_names_the_folder_and_the_fault() {
    let error = |folder: &Path| of_folder(folder, PictureOrder::Random).unwrap_err().to_string();
    let empty = tempfile::tempdir().unwrap();
    assert!(error(empty.path()).contains("has no image"));
    assert!(error(&empty.path().join("none")).contains("no folder of images"));
    let folder = folder_of(&[1, 2]);
    assert!(error(&folder.path().join("0.png")).contains("is no folder"));
    for (content, why) in
        [(&b""[..], "is empty"), (b"\x89PNG\r\n\x1a\nxx", "cannot be read"), (b"hello", "neither PNG nor JPEG")]
    {
        std::fs::write(folder.path().join("bad.png"), content).unwrap();
        let error = error(folder.path());
        assert!(error.contains("bad.png") && error.contains(why) && error.contains("try:"), "{error}");
    }
}

#[test]
fn videos_and_mp3_decode_to_what_was_asked_for() {
    if !has_ffmpeg() {
        eprintln!("skipped: ffmpeg is missing");
        return;
    }
    let sound = VideoSound { sample_rate: 48000, channels: 2, depth: SampleDepth::Bits16, codec: "libopus".into() };
    for (plan, wanted) in [
        (video(), &["\"vp9\"", "width=64", "height=48", "nb_read_frames=\"4\"", "webm"][..]),
        (VideoMaking { shows: VideoPattern::GridClock, ..video() }, &["nb_read_frames=\"4\""]),
        (VideoMaking { shows: VideoPattern::Noise, width: 33, height: 17, ..video() }, &["width=33", "height=17"]),
        (
            VideoMaking { container: VideoContainer::Mp4, sound: Some(sound), ..video() },
            &["mp4", "\"opus\"", "channels=2", "sample_rate=\"48000\"", "\"vp9\""],
        ),
    ] {
        let container = plan.container.name();
        let made = maker(&MediaPlan { video: Some(plan), ..MediaPlan::default() }, 1).unwrap();
        let made = [turn(&made, 0), turn(&made, 0)];
        assert_eq!(made[0], made[1]);
        let (head, bytes) = bytes(&made[0].videos[0].contents[0]);
        assert_eq!(head, format!("data:video/{container};base64"));
        let info = probed(&bytes);
        assert!(wanted.iter().all(|word| info.contains(word)), "{wanted:?}\n{info}");
    }
    let plan = AudioMaking { format: AudioFormat::Mp3, sample_rates: vec![16000], ..audio(1.5) };
    let made = turn(&maker(&MediaPlan { audio: Some(plan), ..MediaPlan::default() }, 1).unwrap(), 0);
    let (head, bytes) = bytes(&made.audios[0].contents[0]);
    let info = probed(&bytes);
    assert!(head == "mp3" && info.contains("\"mp3\"") && info.contains("sample_rate=\"16000\""), "{info}");
    assert_eq!(made.audio_duration_seconds, Some(1.5));
}

#[test]
fn an_error_of_ffmpeg_is_shown_in_its_words() {
    if !has_ffmpeg() {
        eprintln!("skipped: ffmpeg is missing");
        return;
    }
    let plan =
        MediaPlan { video: Some(VideoMaking { codec: "no-such-codec".into(), ..video() }), ..MediaPlan::default() };
    let error = maker(&plan, 1).unwrap().fill(&mut Turn::default(), TurnNumber { draws: 0, before: 0 }).unwrap_err();
    assert!(error.to_string().contains("no-such-codec"), "{error}");
}
