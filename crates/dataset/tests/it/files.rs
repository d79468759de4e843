//! Conversations from files.

use aiperf_dataset::{Dataset, DatasetError, Making};
use aiperf_plan::{Corpus, DatasetPlan, Distribution, Draws, FileFormat, FilePlan, RankingsPlan};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{ContextMode, Conversation};
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;

fn tokenizer() -> &'static Tokenizer {
    static LOADED: OnceLock<Tokenizer> = OnceLock::new();
    LOADED.get_or_init(Tokenizer::builtin)
}

fn open(plan: FilePlan) -> Result<Dataset, DatasetError> {
    Dataset::of(&DatasetPlan::File(plan), Making::new(&Draws::new(Some(7), ""), tokenizer()))
}

/// A dataset of files in a folder that is deleted after opening: nothing is read later.
fn opened(files: &[(&str, &[u8])], plan: impl FnOnce(FilePlan) -> FilePlan) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let plan = plan(FilePlan::new(folder.path().join("d.jsonl"), FileFormat::SingleTurn));
    open(plan).map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
}

fn read(content: impl AsRef<[u8]>) -> Result<Dataset, String> {
    opened(&[("d.jsonl", content.as_ref())], |plan| plan)
}

fn all(dataset: &Dataset) -> Vec<Conversation> {
    (0..dataset.len()).map(|index| dataset.conversation(index).unwrap().into_owned()).collect()
}

fn texts(dataset: &Dataset) -> Vec<String> {
    let turns = all(dataset).into_iter().flat_map(|conversation| conversation.turns);
    turns.map(|turn| turn.texts[0].contents[0].clone()).collect()
}

#[test]
fn byte_order_marks_line_ends_and_blank_lines_of_any_system_are_read() {
    let dataset = read("\u{feff}{\"text\": \"a\"}\r\n\r\n  \n {\"text\": \"b\"} \r\n{\"text\": \"c\"}").unwrap();
    assert_eq!(texts(&dataset), ["a", "b", "c"]);
    let places: Vec<_> = (0..3).map(|index| dataset.place(index).unwrap()).collect();
    let lines: Vec<_> = places.iter().map(|place| place.rsplit_once(':').unwrap().1).collect();
    assert_eq!(lines, ["1", "4", "5"]);
    assert!(places.iter().all(|place| place.contains("d.jsonl:")), "{places:?}");
}

#[test]
fn rows_of_one_session_are_independent_requests_of_one_conversation() {
    let rows = r#"{"session_id": "s", "text": "a"}
{"text": "x"}
{"session_id": "s", "text": "b", "delay": 5}
{"session_id": "t", "text": "y"}"#;
    let dataset = read(rows).unwrap();
    assert_eq!(texts(&dataset), ["a", "b", "x", "y"]);
    let of: Vec<_> = all(&dataset).into_iter().map(|one| (one.session_id, one.context_mode)).collect();
    let alone = ContextMode::MessageArrayWithResponses;
    let wanted = [("s", Some(alone)), ("session_000000", None), ("t", None)];
    assert_eq!(of, wanted.map(|(name, mode)| (name.to_owned(), mode)));
    assert!(dataset.place_of_turn(0, 1).unwrap().ends_with("d.jsonl:3"));
    assert_eq!(dataset.conversation(0).unwrap().turns[1].delay_ms, Some(5.0));
}

#[test]
fn a_conversation_is_the_same_on_every_call() {
    let dataset = read("{\"text\": \"a\"}\n{\"text\": \"b\"}").unwrap();
    assert_eq!(all(&dataset), all(&dataset));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.jsonl");
    std::fs::write(&path, "{\"text\": \"a\"}\n{\"text\": \"b\"}").unwrap();
    let plan = DatasetPlan::File(FilePlan::new(path, FileFormat::SingleTurn));
    let unseeded = Dataset::of(&plan, Making::new(&Draws::new(None, "0123456789ab"), tokenizer())).unwrap();
    let ids: Vec<_> = all(&unseeded).into_iter().map(|one| one.session_id).collect();
    assert!(ids.iter().all(|id| id.len() == 36) && ids[0] != ids[1], "{ids:?}");
}

#[test]
fn a_row_without_an_output_length_gets_that_of_the_plan() {
    let rows = b"{\"text\": \"a\", \"output_length\": \"17\"}\n{\"text\": \"b\"}";
    let dataset = opened(&[("d.jsonl", rows)], |plan| FilePlan { osl: Some(Distribution::fixed(33.0)), ..plan });
    let asked: Vec<_> = all(&dataset.unwrap()).iter().map(|one| one.turns[0].max_tokens).collect();
    assert_eq!(asked, [Some(17), Some(33)]);
}

#[test]
fn the_number_of_entries_limits_the_conversations() {
    let rows = b"{\"text\": \"a\"}\n{\"text\": \"b\"}\n{\"text\": \"c\"}";
    let some = |entries| texts(&opened(&[("d.jsonl", rows)], |plan| FilePlan { entries, ..plan }).unwrap());
    assert_eq!(some(Some(2)), ["a", "b"]);
    assert_eq!(some(Some(9)), ["a", "b", "c"]);
}

#[test]
fn media_files_are_read_once_and_sent_encoded() {
    let row = br#"{"text": "t", "image": "i.bin", "audios": ["a.wav", "MP3,AAAA", "data:audio/wav;base64,AA=="], "video": "v.mp4"}"#;
    let files: &[(&str, &[u8])] =
        &[("d.jsonl", row), ("i.bin", b"\x89PNG\r\n\x1a\n"), ("a.wav", b"RIFF"), ("v.mp4", b"\0\0")];
    let dataset = opened(files, |plan| plan).unwrap();
    let turn = &dataset.conversation(0).unwrap().turns[0];
    assert_eq!(turn.images[0].contents, ["data:image/png;base64,iVBORw0KGgo="]);
    assert_eq!(turn.audios[0].contents, ["wav,UklGRg==", "MP3,AAAA", "data:audio/wav;base64,AA=="]);
    assert_eq!(turn.videos[0].contents, ["data:video/mp4;base64,AAA="]);
}

#[test]
fn media_whose_base64_does_not_decode_are_refused_by_file_and_line() {
    let admitted = |row: &str| read(format!("{{\"text\": \"a\"}}\n{row}\n")).map(drop);
    for (row, what) in [
        (r#"{"image": "data:image/png;base64,iVBO!w0KGgo="}"#, "image 'data:image/png;base64,...' is not base64"),
        (r#"{"image": "data:image/png;base64,iVBORw0KGg"}"#, "image 'data:image/png;base64,...' is not base64"),
        (r#"{"image": "data:image/png;base64,"}"#, "image 'data:image/png;base64,...' is not base64: it is empty"),
        (r#"{"image": "data:image/png;base64"}"#, "image 'data:image/png;base64' has no data"),
        (r#"{"audio": "wav,UklG*g=="}"#, "audio 'wav,...' is not base64"),
        (r#"{"audio": "DATA:audio/wav;BASE64,a"}"#, "audio 'DATA:audio/wav;BASE64,...' is not base64"),
        (r#"{"video": "data:video/mp4;base64,_-8="}"#, "video 'data:video/mp4;base64,...' is not base64"),
    ] {
        let error = admitted(row).unwrap_err();
        assert!(error.contains("d.jsonl:2: ") && error.contains(what) && error.contains("\n  try: "), "{row}: {error}");
        assert!(!error.contains(".\n"), "{error}");
    }
    for row in [
        r#"{"image": "data:image/png;base64,iVBORw0K\nGgo="}"#,
        r#"{"image": "data:image/png;base64,iVBORw0KGgo%3D"}"#,
        r#"{"image": "data:image/svg+xml,<svg/>"}"#,
        r#"{"image": "https://example.com/a,b.png"}"#,
        r#"{"audio": "mp3,AAA="}"#,
        // The trailing bits do not matter.
        r#"{"audio": "mp3,AAB="}"#,
    ] {
        admitted(row).unwrap_or_else(|error| panic!("{row}: {error}"));
    }
}

#[test]
fn images_known_by_id_need_no_content() {
    let dataset = read(r#"{"image_uuids": ["u", "v"]}"#).unwrap();
    let image = &dataset.conversation(0).unwrap().turns[0].images[0];
    assert_eq!(
        (image.contents.as_slice(), image.uuids.as_slice()),
        (&[String::new(), String::new()][..], &["u".to_owned(), "v".to_owned()][..])
    );
    let dataset = read(r#"{"images": [{"uuids": ["u"]}], "text": "t"}"#).unwrap();
    assert_eq!(dataset.conversation(0).unwrap().turns[0].images[0].contents, [""]);
}

#[test]
fn images_by_url_are_refused_if_the_endpoint_takes_no_urls() {
    let check = |rows: &str| {
        let checked = read(rows).unwrap().check_images_are_inline().map_err(|error| error.to_string());
        checked.map_err(|error| error.rsplit_once("d.jsonl:").unwrap().1.lines().next().unwrap().to_owned())
    };
    let inline = r#"{"image": "data:image/png;base64,AA=="}"#;
    assert_eq!(check(inline), Ok(()));
    let refused = "2: image 'http://h/i.png' is a URL, and the endpoint takes images alone";
    assert_eq!(check(&format!("{inline}\n{{\"image\": \"http://h/i.png\"}}")), Err(refused.to_owned()));
}

#[test]
fn a_folder_of_bodies_has_one_conversation_per_file() {
    let folder = tempfile::tempdir().unwrap();
    let body = |text: &str| format!("{{\"messages\": [\"{text}\"]}}\n");
    for (name, content) in
        [("b.jsonl", body("2") + &body("3")), ("a.jsonl", String::new()), ("c.jsonl", body("4")), ("d.txt", body("5"))]
    {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let dataset = open(FilePlan::new(folder.path(), FileFormat::RawPayload)).unwrap();
    let found = all(&dataset);
    let shape: Vec<_> = found.iter().map(|one| (one.session_id.as_str(), one.turns.len())).collect();
    // A file without rows uses up a number.
    assert_eq!(shape, [("session_000001", 2), ("session_000002", 1)]);
    assert!(found.iter().all(|one| one.context_mode == Some(ContextMode::MessageArrayWithResponses)));
    assert_eq!(found[0].turns[1].raw_payload.as_ref().unwrap()["messages"][0], "3");
    assert!(dataset.place_of_turn(0, 1).unwrap().ends_with("b.jsonl:2"));
    let error = open(FilePlan::new(folder.path(), FileFormat::SingleTurn)).unwrap_err().to_string();
    assert!(error.contains("is a folder"), "{error}");
}

#[test]
fn unused_members_are_noted_once() {
    let dataset =
        read("{\"text\": \"a\"}\n{\"text\": \"b\", \"promt\": 1}\n{\"text\": \"c\", \"promt\": 2, \"id\": 3}").unwrap();
    let [note] = dataset.notes() else { panic!("{:?}", dataset.notes()) };
    assert!(note.ends_with("d.jsonl:2: members that mean nothing here are ignored: promt, id"), "{note}");
    assert!(read("{\"text\": \"a\"}").unwrap().notes().is_empty());
}

#[test]
fn bad_rows_are_refused_by_file_and_line() {
    let first = |row: &str| {
        let error = read(format!("{{\"text\": \"a\"}}\n{row}\n")).unwrap_err();
        error.strip_prefix("d.jsonl:2: ").unwrap_or_else(|| panic!("{error}")).lines().next().unwrap().to_owned()
    };
    for (row, what) in [
        ("{x", "is not JSON: key must be a string at column 2"),
        ("[1]", "is a list, and a row of single_turn is a JSON object"),
        (r#"{"type": "multi_turn", "text": "a"}"#, "type \"multi_turn\" is not that of a row of single_turn"),
        (r#"{"session_id": "x"}"#, "has no content"),
        (r#"{"text": ""}"#, "has no content"),
        (r#"{"session_id": "x", "txt": "a"}"#, "has no content: txt is not a member with content"),
        (r#"{"text": 5}"#, "text must be a text, not a number"),
        (r#"{"texts": ["a", 1]}"#, "each of texts must be a text, not a number"),
        (r#"{"texts": [{"contents": 1}]}"#, "texts: invalid type: integer `1`, expected a sequence"),
        (r#"{"text": "a", "texts": ["b"]}"#, "text and texts exclude each other"),
        (r#"{"text": "a", "timestamp": 1, "delay": 2}"#, "timestamp and delay exclude each other"),
        (r#"{"text": "a", "delay": -1}"#, "delay -1 is below 0"),
        (r#"{"text": "a", "delay": "nan"}"#, "delay must be a number, not a text"),
        (r#"{"text": "a", "timestamp": "inf"}"#, "timestamp must be a number, not a text"),
        (r#"{"text": "a", "timestamp": 1e400}"#, "is not JSON: number out of range at column 32"),
        (r#"{"text": "a", "output_length": 0}"#, "output_length 0 must be a whole number of at least 1"),
        (r#"{"text": "a", "output_length": 1.5}"#, "output_length 1.5 must be a whole number of at least 1"),
        (r#"{"text": "a", "output_length": true}"#, "output_length must be a number, not true or false"),
        (r#"{"text": "a", "extra": []}"#, "extra must be an object, not a list"),
        (r#"{"image": "x.png"}"#, "image 'x.png' is no file"),
        (r#"{"image": "http://"}"#, "image 'http://' is a URL without a scheme or a host"),
        (r#"{"images": ["http://h/i"], "image_uuids": ["u", "v"]}"#, "image_uuids has 2 ids for 1 images"),
        (r#"{"image": "http://h/i", "image_uuids": ["u"]}"#, "image_uuids needs images"),
        (r#"{"text": "a", "image_uuids": [""]}"#, "image_uuids has an empty id"),
    ] {
        assert_eq!(first(row), what, "{row}");
    }
}

#[test]
fn an_error_about_a_row_shows_the_way_out() {
    for (rows, what) in [
        (r#"{"txt": "a"}"#, "text"),
        ("[\n{\"text\": \"a\"}\n]", "jq -c '.[]' FILE"),
        ("[{\"text\": \"a\"}]", "jq -c '.[]' FILE"),
        ("{\n  \"text\": \"a\"\n}", "jq -c . FILE"),
        ("hello", "one JSON object a line, as in {\"text\": \"hello\"}"),
        (r#"{"text": "a\ud83d"}"#, "both halves of the pair"),
        (r#"{"text": "a\ud83d b"}"#, "both halves of the pair"),
        (r#"{"text": "a\ude00 b"}"#, "both halves of the pair"),
        (r#"{"text": "a", "output_length": 0}"#, "leave it out"),
        (r#"{"images": ["http://h/i"], "image_uuids": ["u", "v"]}"#, "an id for each"),
        (r#"{"videos": [""]}"#, "a data URI, a URL, or the name of a file"),
    ] {
        let error = read(rows).unwrap_err();
        let (_, way_out) = error.split_once("\n  try: ").unwrap_or_else(|| panic!("{error}"));
        assert!(error.starts_with("d.jsonl:1: ") && way_out.contains(what), "{error}");
    }
    assert!(read(r#"{"videos": [""]}"#).unwrap_err().contains("a video is empty"));
    let error = read(r#"{"image": "://u:TOPSECRET1@h"}"#).unwrap_err();
    assert!(!error.contains("TOPSECRET1"), "{error}");
}

fn opened_within(path: &Path, format: FileFormat, room: u64) -> Result<Dataset, String> {
    let plan = DatasetPlan::File(FilePlan::new(path, format));
    let dataset = Dataset::of(&plan, Making { room: Some(room), ..Making::new(&Draws::new(Some(7), ""), tokenizer()) });
    dataset.map_err(|error| error.to_string().replace(&format!("{}/", path.parent().unwrap().display()), ""))
}

#[test]
fn files_larger_than_their_memory_limit_are_refused_while_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.jsonl");
    let rows = "{\"text\": \"a\"}\n".repeat(100_000);
    std::fs::write(&path, &rows).unwrap();
    let refused = |path: &Path, format| opened_within(path, format, 1_000_000).map(|_| ()).unwrap_err();
    let error = refused(&path, FileFormat::SingleTurn);
    assert!(error.starts_with("d.jsonl: it takes 1.4 MB of memory, and 1.0 MB of 1.0 MB are left\n"), "{error}");
    assert!(error.contains("\n  try: fewer of its rows"), "{error}");
    // What rows take beside their text counts too.
    let error = opened_within(&path, FileFormat::SingleTurn, 2_000_000).map(|_| ()).unwrap_err();
    assert!(error.contains(": another row takes "), "{error}");
    assert!(opened_within(&path, FileFormat::SingleTurn, 100_000_000).is_ok());
    // So do the shapes of turns, and names.
    let refused_at = |rows: String, format, room| {
        std::fs::write(&path, rows).unwrap();
        opened_within(&path, format, room).map(|_| ()).unwrap_err()
    };
    let turns = format!("{{\"turns\": [{}]}}\n", ["{\"text\": \"a\"}"; 10].join(", "));
    let error = refused_at(turns.repeat(1000), FileFormat::MultiTurn, 1000 * (turns.len() as u64 + 700));
    assert!(error.contains(": another row takes "), "{error}");
    let named = |number| format!("{{\"text\": \"a\", \"session_id\": \"{number:0>1000}\"}}\n");
    let error = refused_at((0..1000).map(named).collect(), FileFormat::SingleTurn, 2_000_000);
    assert!(error.contains(": another row takes "), "{error}");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(rows.as_bytes()).unwrap();
    std::fs::write(&path, packed.finish().unwrap()).unwrap();
    let error = refused(&path, FileFormat::SingleTurn);
    assert!(error.starts_with("d.jsonl: its text, as far as it was read, takes "), "{error}");
    let bodies = folder.path().join("bodies");
    std::fs::create_dir(&bodies).unwrap();
    for name in ["a.jsonl", "b.jsonl"] {
        std::fs::write(bodies.join(name), format!("{{\"messages\": [\"{}\"]}}", "a".repeat(600_000))).unwrap();
    }
    let error = refused(&bodies, FileFormat::RawPayload);
    assert!(error.starts_with("bodies/b.jsonl: it takes 0.6 MB of memory, and 0.4 MB of 1.0 MB are left"), "{error}");
}

#[test]
fn media_and_requests_that_do_not_fit_into_memory_are_refused_by_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.jsonl");
    std::fs::write(folder.path().join("a.wav"), vec![0; 600_000]).unwrap();
    std::fs::write(folder.path().join("b.wav"), vec![0; 600_000]).unwrap();
    let within = |rows: &str, room| {
        std::fs::write(&path, rows).unwrap();
        opened_within(&path, FileFormat::SingleTurn, room).map(|_| ()).unwrap_err()
    };
    let error = within("{\"audio\": \"a.wav\"}\n{\"audio\": \"b.wav\"}", 5_000_000);
    assert!(error.starts_with("d.jsonl:2: a request of 0.8 MB, while it is made, takes 4.0 MB"), "{error}");
    let error = within("{\"audios\": [\"a.wav\", \"b.wav\"]}", 1_000_000);
    assert!(error.starts_with("d.jsonl:1: audio 'b.wav' takes 0.8 MB of memory"), "{error}");
    assert!(error.contains("\n  try: fewer or smaller media"), "{error}");
}

#[test]
fn the_type_and_size_of_a_media_file_are_checked_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["huge.png", "huge.mp4"] {
        std::fs::File::create(folder.path().join(name)).unwrap().set_len(5_000_000_000).unwrap();
    }
    let path = folder.path().join("d.jsonl");
    let refused = |row: &str| {
        std::fs::write(&path, row).unwrap();
        opened_within(&path, FileFormat::SingleTurn, u64::MAX).map(|_| ()).unwrap_err()
    };
    let error = refused(r#"{"image": "huge.png"}"#);
    assert!(error.starts_with("d.jsonl:1: image 'huge.png' is neither PNG nor JPEG\n  try: "), "{error}");
    let error = refused(r#"{"video": "huge.mp4"}"#);
    assert!(error.starts_with("d.jsonl:1: video 'huge.mp4' has 5.0 GB, and one may have 256.0 MB\n  try: "), "{error}");
}

#[test]
fn a_row_that_is_too_large_for_a_request_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.jsonl");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(b"{\"text\": \"a\"}\n{\"text\": \"").unwrap();
    // The unwritten part reads as NUL, and is never read.
    file.set_len(300_000_000).unwrap();
    let error = opened_within(&path, FileFormat::SingleTurn, u64::MAX).map(|_| ()).unwrap_err();
    assert!(
        error.starts_with("d.jsonl:2: a row of ")
            && error.contains(" MB, and one may have 256.0 MB\n  try: smaller rows"),
        "{error}"
    );
}

#[test]
fn entries_named_like_files_of_bodies_that_are_none_are_noted_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jsonl"), "{\"messages\": []}").unwrap();
    std::fs::create_dir(folder.path().join("b.jsonl")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("c.jsonl")).unwrap();
    let dataset = open(FilePlan::new(folder.path(), FileFormat::RawPayload)).unwrap();
    let [note] = dataset.notes() else { panic!("{:?}", dataset.notes()) };
    assert!(note.ends_with(": not read, because they are no files: b.jsonl, c.jsonl"), "{note}");
}

#[test]
fn files_without_rows_and_files_that_are_not_text_are_refused_by_name() {
    let first = |content: &[u8]| read(content).unwrap_err().lines().next().unwrap().to_owned();
    assert_eq!(first(b""), "d.jsonl: has no rows");
    assert_eq!(first(b"\xef\xbb\xbf\n \n"), "d.jsonl: has no rows");
    assert_eq!(first(b"{\"text\": \"a\"}\n{\"text\": \"\xff\"}"), "d.jsonl:2: is not UTF-8 text");
    assert!(first(b"\x1f\x8b\0").starts_with("d.jsonl: is compressed, and cannot be uncompressed: "));
    let missing = open(FilePlan::new("/nonexistent/d.jsonl", FileFormat::SingleTurn)).unwrap_err();
    assert_eq!(missing.to_string(), "/nonexistent/d.jsonl: no such file");
}

#[test]
fn a_body_without_messages_is_refused() {
    let raw = |row: &[u8]| {
        opened(&[("d.jsonl", row)], |plan| FilePlan { format: FileFormat::RawPayload, ..plan }).map(|read| all(&read))
    };
    let error = raw(b"{\"prompt\": 1}").unwrap_err();
    assert!(error.starts_with("d.jsonl:1: a body of raw_payload has a list of messages, and it has none"), "{error}");
    let body = r#"{"z": 1.0, "messages": [], "a": null}"#;
    let sent = raw(body.as_bytes()).unwrap()[0].turns[0].raw_payload.clone();
    assert_eq!(serde_json::to_string(&sent).unwrap(), body.replace(": ", ":").replace(", ", ","));
}

#[test]
fn queries_come_with_passages_to_rank() {
    let length = |mean| Distribution::fixed(mean);
    let plan = RankingsPlan {
        entries: 3,
        corpus: Corpus::Sonnet,
        passages: length(4.0),
        passage_tokens: length(12.0),
        query_tokens: length(5.0),
    };
    let dataset =
        Dataset::of(&DatasetPlan::Rankings(plan), Making::new(&Draws::new(Some(7), ""), tokenizer())).unwrap();
    assert_eq!(dataset.len(), 3);
    for conversation in all(&dataset) {
        let [query, passages] = conversation.turns[0].texts.as_slice() else { panic!("{conversation:?}") };
        assert_eq!((query.name.as_str(), passages.name.as_str()), ("query", "passages"));
        let tokens = |text: &String| tokenizer().count(text);
        assert_eq!(query.contents.iter().map(tokens).collect::<Vec<_>>(), [5]);
        assert_eq!(passages.contents.iter().map(tokens).collect::<Vec<_>>(), [12; 4]);
        assert_ne!(passages.contents[0], passages.contents[1]);
    }
}

/// Rows of members that the formats know, with values that may fit or not.
fn rows() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "text",
        "texts",
        "image",
        "images",
        "image_uuids",
        "audio",
        "videos",
        "session_id",
        "role",
        "output_length",
        "timestamp",
        "delay",
        "extra",
        "type",
        "messages",
        "turns",
        "data",
        "payloads",
        "captureData",
        "eventMetadata",
        "question_id",
        "category",
        "x",
    ]);
    let value = prop::sample::select(vec![
        "null",
        "true",
        "0",
        "-1",
        "1e400",
        "2.5",
        "\"\"",
        "\"a\"",
        "\"http://h/x\"",
        "\"data:,\"",
        "\"wav,\"",
        "[]",
        "[\"a\"]",
        "[1]",
        "[\"\"]",
        "[{}]",
        "[{\"contents\":[\"q\"]},1]",
        "{}",
        "{\"a\":[]}",
        "\"\\u0000\"",
        "\"5\"",
        "[{\"text\":\"a\",\"delay\":2},{\"role\":\"system\",\"text\":\"b\",\"timestamp\":3}]",
        "\"single_turn\"",
        "[{\"role\":\"user\",\"content\":\"a\"}]",
        "[{\"session_id\":\"s\",\"payloads\":[{}]}]",
        "{\"inferenceTime\":\"2026-01-31T12:00:00Z\"}",
        "{\"endpointInput\":{\"data\":\"{\\\"messages\\\":[1]}\",\"encoding\":\"JSON\"}}",
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
    ]);
    let member = (name, value).prop_map(|(name, value)| format!("\"{name}\":{value}"));
    let row = prop::collection::vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(",")));
    prop::collection::vec(row, 0..4).prop_map(|rows| rows.join("\n"))
}

fn packed(content: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(content).unwrap();
    gzip.finish().unwrap()
}

fn holds(content: &[u8]) {
    // One SPEED-Bench format with a category and one without represent all of them.
    for format in FileFormat::all().take(8) {
        let entries = (format == FileFormat::RandomPool).then_some(3);
        let read = opened(&[("d.jsonl", content)], |plan| FilePlan { format, entries, ..plan });
        match read {
            Ok(dataset) => {
                for (index, conversation) in all(&dataset).iter().enumerate() {
                    assert!(!conversation.turns.is_empty() && !conversation.session_id.is_empty());
                    assert!(dataset.place(index).is_some());
                    assert_eq!(dataset.shapes().turns(index as u32) as usize, conversation.turns.len());
                }
            }
            Err(error) => assert!(error.starts_with("d.jsonl"), "{error}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_content_of_a_file_causes_a_panic(content in prop::collection::vec(any::<u8>(), 0..200)) {
        holds(&content);
    }

    #[test]
    fn rows_are_read_or_refused_by_location(content in rows()) {
        holds(content.as_bytes());
    }

    #[test]
    fn truncated_or_mixed_files_are_read_or_refused(
        content in rows(),
        end in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        is_packed in any::<bool>(),
    ) {
        let mut bytes = if is_packed { packed(content.as_bytes()) } else { content.into_bytes() };
        bytes.truncate(end.index(bytes.len() + 1));
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        holds(&bytes);
    }
}
