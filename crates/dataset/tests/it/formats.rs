//! Formats of files besides plain rows: pools, documents, captures, questions, and rows of a configuration.

use aiperf_dataset::{Dataset, FetchMedia, Fetched, Making};
use aiperf_plan::{BatchSizes, DatasetPlan, Draws, FileFormat, FilePlan, FileSource, MediaFetching, RecordList};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Conversation, Turn};
use serde_json::{Value, json};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn tokenizer() -> &'static Tokenizer {
    static LOADED: OnceLock<Tokenizer> = OnceLock::new();
    LOADED.get_or_init(Tokenizer::builtin)
}

fn with(plan: FilePlan, seed: u64, media: Option<&dyn FetchMedia>) -> Result<Dataset, String> {
    let draws = Draws::new(Some(seed), "");
    let making = Making { media, ..Making::new(&draws, tokenizer()) };
    Dataset::of(&DatasetPlan::File(plan), making).map_err(|error| error.to_string())
}

/// A dataset of files; the first names what is read: the file, or its folder if it is in one.
fn opened(format: &str, files: &[(&str, &str)], plan: impl FnOnce(FilePlan) -> FilePlan) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let first = files[0].0.split('/').next().unwrap();
    let plan = plan(FilePlan::new(folder.path().join(first), FileFormat::parse(format).unwrap()));
    with(plan, 7, None).map_err(|error| error.replace(&format!("{}/", folder.path().display()), ""))
}

fn all(dataset: &Dataset) -> Vec<Conversation> {
    (0..dataset.len()).map(|index| dataset.conversation(index).unwrap().into_owned()).collect()
}

fn turns(dataset: &Dataset) -> Vec<Turn> {
    all(dataset).into_iter().flat_map(|conversation| conversation.turns).collect()
}

fn records(format: &str, lists: &[(&str, &[Value])]) -> FilePlan {
    let lists = lists.iter().map(|(name, rows)| RecordList { name: (*name).to_owned(), rows: rows.to_vec() }).collect();
    FilePlan::of(FileSource::Records { place: "run.yaml".into(), lists }, FileFormat::parse(format).unwrap())
}

#[test]
fn each_conversation_gets_a_row_of_the_pool_the_same_with_the_same_seed() {
    let rows: Vec<Value> = (0..20).map(|number| json!({"text": format!("row {number}")})).collect();
    let plan = || FilePlan { entries: Some(50), ..records("random_pool", &[("", &rows)]) };
    let texts =
        |seed| turns(&with(plan(), seed, None).unwrap()).iter().map(|turn| turn.texts[0].clone()).collect::<Vec<_>>();
    let (one, other) = (texts(1), texts(2));
    assert_eq!(one, texts(1));
    assert_ne!(one, other);
    assert_eq!(one.len(), 50);
    let mut drawn: Vec<&str> = one.iter().map(|text| text.contents[0].as_str()).collect();
    drawn.sort_unstable();
    drawn.dedup();
    assert!((10..=20).contains(&drawn.len()), "{drawn:?}");
    // The default is a hundred.
    assert_eq!(with(records("random_pool", &[("", &rows)]), 1, None).unwrap().len(), 100);
}

#[test]
fn pools_of_a_folder_are_merged_in_the_order_of_their_names() {
    let files = [("p/b.jsonl", "{\"text\": \"q\"}\n"), ("p/a.jsonl", "{\"image\": \"data:,\"}\n"), ("p/.hidden", "no")];
    let dataset = opened("random_pool", &files, |plan| FilePlan { entries: Some(2), ..plan }).unwrap();
    for turn in turns(&dataset) {
        assert_eq!((turn.images[0].name.as_str(), turn.texts[0].name.as_str()), ("a", "b"));
    }
    let empty = opened("random_pool", &[files[0], ("p/z.jsonl", " \n")], |plan| plan).unwrap_err();
    assert!(empty.starts_with("p/z.jsonl: has no rows"), "{empty}");
}

#[test]
fn batches_draw_from_all_contents_of_a_pool() {
    let rows = [json!({"texts": ["a", "b"]}), json!({"text": "c", "image": "data:,i"})];
    let batches = BatchSizes { texts: 4, images: 0, ..BatchSizes::default() };
    let plan = FilePlan { entries: Some(40), batches, ..records("random_pool", &[("", &rows)]) };
    let turns = turns(&with(plan, 3, None).unwrap());
    assert!(turns.iter().all(|turn| turn.texts[0].contents.len() == 4 && turn.images.is_empty()));
    let mut drawn: Vec<&String> = turns.iter().flat_map(|turn| &turn.texts[0].contents).collect();
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn, ["a", "b", "c"]);
    let two = records("random_pool", &[("a", &rows), ("b", &rows)]);
    let error = with(FilePlan { batches, ..two }, 3, None).unwrap_err();
    assert!(error.contains("has 2 pools, and batches are drawn from one"), "{error}");
}

#[test]
fn a_document_of_inputs_is_sent_again_as_it_is() {
    let document = json!({"data": [
        {"session_id": "a", "payloads": [{"x": 1}, {"x": 2}]},
        {"session_id": "b", "payloads": [{"y": 1}]},
    ]});
    let text = format!("\u{feff}{}", serde_json::to_string_pretty(&document).unwrap());
    let found = all(&opened("inputs_json", &[("inputs.json", &text)], |plan| plan).unwrap());
    assert_eq!(found.iter().map(|one| one.session_id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(found[0].turns[1].raw_payload.as_ref().unwrap()["x"], 2);
    for (text, wanted) in [
        (r#"{"data": [{"session_id": "a", "payloads": [1]}]}"#, "inputs.json: data[0]: payloads[0] is a number"),
        (r#"{"data": [{"session_id": "a", "payloads": []}]}"#, "inputs.json: data[0]: has no payloads"),
        (r#"{"data": [{"payloads": [{}]}]}"#, "inputs.json: data[0]: has no session_id"),
        (r#"{"data": 5}"#, "inputs.json: has no list 'data'"),
        ("", "inputs.json: is empty"),
        ("[1]", "inputs.json: is no JSON object"),
        (r#"{"data": []}"#, "inputs.json: has no rows"),
    ] {
        let error = opened("inputs_json", &[("inputs.json", text)], |plan| plan).unwrap_err();
        assert!(error.starts_with(wanted), "{text}: {error}");
        assert!(error.contains("try: "), "{error}");
    }
    let twice = r#"{"data": [{"session_id": "a", "payloads": [{}]}, {"session_id": "a", "payloads": [{}]}]}"#;
    let error = opened("inputs_json", &[("inputs.json", twice)], |plan| plan).unwrap_err();
    assert!(error.starts_with("inputs.json: data[1]: has the session_id of one before it"), "{error}");
}

fn capture(time: &str, body: &Value, prompt_tokens: u64) -> String {
    let input = json!({"data": body.to_string(), "encoding": "JSON"});
    let output = json!({"data": json!({"usage": {"prompt_tokens": prompt_tokens}}).to_string(), "encoding": "JSON"});
    let data = json!({"endpointInput": input, "endpointOutput": output});
    json!({"captureData": data, "eventMetadata": {"eventId": "e", "inferenceTime": time}}).to_string()
}

#[test]
fn captures_are_sent_in_the_order_of_their_times_from_the_first() {
    let body = |text: &str| json!({"messages": [{"role": "user", "content": text}], "max_tokens": 9, "tools": [1]});
    let late = capture("2026-01-01T00:00:02.5Z", &body("late"), 50);
    let early = capture("2026-01-01T01:00:01+01:00", &body("early"), 5);
    let files = [("c/x/a.jsonl", late.as_str()), ("c/b.jsonl", early.as_str())];
    let found = turns(&opened("sagemaker_data_capture", &files, |plan| plan).unwrap());
    let shown: Vec<_> =
        found.iter().map(|turn| (turn.timestamp_ms, turn.max_tokens, turn.raw_tools.is_some())).collect();
    assert_eq!(shown, [(Some(0.0), Some(9), true), (Some(1500.0), Some(9), true)]);
    assert_eq!(found[0].raw_messages.as_ref().unwrap()[0]["content"], "early");
    let short = opened("sagemaker_data_capture", &files, |plan| FilePlan { max_isl: Some(10), ..plan }).unwrap();
    assert_eq!(short.len(), 1);
    assert_eq!(short.notes(), ["rows of more than 10 input tokens are left out: 1"]);
    let other = capture("2026-01-01T00:00:02Z", &json!({"prompt": "x"}), 1);
    let error = opened("sagemaker_data_capture", &[("d.jsonl", &other)], |plan| plan).unwrap_err();
    assert!(error.starts_with("d.jsonl:1: captureData.endpointInput has to hold a list of messages"), "{error}");
}

#[test]
fn questions_of_a_category_are_kept_and_the_others_counted() {
    let row = |id: &str, category: &str| {
        let messages = json!([{"role": "system", "content": "S"}, {"role": "user", "content": "u"}]);
        json!({"question_id": id.repeat(32), "category": category, "messages": messages}).to_string()
    };
    let rows = format!("{}\n{}\n", row("a", "coding"), row("b", "math"));
    let all_of = |format: &str| opened(format, &[("d.jsonl", rows.as_str())], |plan| plan);
    let found = all(&all_of("speed_bench_qualitative").unwrap());
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].turns[0].role.as_deref(), Some("system"));
    let math = all_of("speed_bench_math").unwrap();
    assert_eq!((math.len(), all(&math)[0].session_id.as_str()), (1, "b".repeat(32).as_str()));
    assert_eq!(math.notes(), ["rows of other categories than math are left out: 1"]);
    let none = all_of("speed_bench_rag").unwrap_err();
    assert!(none.contains("has no rows of category rag\n  its categories are coding, math"), "{none}");
    let short = opened("speed_bench_math", &[("d.jsonl", r#"{"question_id": "q"}"#)], |plan| plan).unwrap_err();
    assert!(short.starts_with("d.jsonl:1: question_id has 1 characters, and one has 32"), "{short}");
}

#[test]
fn rows_of_a_configuration_are_named_by_their_number() {
    let rows = [json!({"text": "a"}), json!({"txt": "b"})];
    let good = with(records("single_turn", &[("", &rows[..1])]), 7, None).unwrap();
    assert_eq!(turns(&good)[0].texts[0].contents, ["a"]);
    let error = with(records("single_turn", &[("", &rows)]), 7, None).unwrap_err();
    assert!(error.starts_with("run.yaml: records[1]: has no content"), "{error}");
    let error = with(records("random_pool", &[("q", &rows)]), 7, None).unwrap_err();
    assert!(error.starts_with("run.yaml: records.q[1]: has no content"), "{error}");
    let bodies = [json!({"session_id": "s", "payloads": [{"a": 1}]})];
    assert_eq!(turns(&with(records("inputs_json", &[("", &bodies)]), 7, None).unwrap()).len(), 1);
}

#[test]
fn an_image_that_was_sent_is_later_sent_by_its_id_only() {
    let row = |ids: &[&str], image: &str| {
        let images = vec![image; ids.len()];
        json!({"session_id": "s", "text": "t", "images": images, "image_uuids": ids}).to_string()
    };
    let rows =
        [row(&["u"], ""), row(&["u"], "data:,a"), row(&["u", "v"], "data:,b"), row(&["v"], "data:,c")].join("\n");
    let strip = |strip_known_images| {
        let dataset = opened("single_turn", &[("d.jsonl", &rows)], |plan| FilePlan { strip_known_images, ..plan });
        turns(&dataset.unwrap()).iter().map(|turn| turn.images[0].contents.clone()).collect::<Vec<_>>()
    };
    assert_eq!(strip(false), [vec![""], vec!["data:,a"], vec!["data:,b", "data:,b"], vec!["data:,c"]]);
    // An id without its image does not show that the server knows the image.
    assert_eq!(strip(true), [vec![""], vec!["data:,a"], vec!["", "data:,b"], vec![""]]);
}

/// Returns the same bytes for every image, and counts the calls.
struct Images(&'static [u8], AtomicUsize);

impl FetchMedia for Images {
    fn each(&self, urls: &[&str], fetched: Fetched<'_>) {
        for (at, url) in urls.iter().enumerate() {
            self.1.fetch_add(1, Relaxed);
            let answer =
                if url.ends_with("missing") { Err("cannot be fetched: 404".to_owned()) } else { Ok(self.0.to_vec()) };
            if !fetched(at, answer) {
                return;
            }
        }
    }
}

#[test]
fn images_by_url_are_fetched_once_each_and_sent_inline() {
    let plan = |rows: &[Value]| FilePlan {
        inline_images: Some(MediaFetching::default()),
        ..records("single_turn", &[("", rows)])
    };
    let png = Images(b"\x89PNG\r\n\x1a\nrest", AtomicUsize::new(0));
    let rows = [json!({"image": "http://h/a"}), json!({"images": ["http://h/a", "data:,b"]})];
    let dataset = with(plan(&rows), 7, Some(&png)).unwrap();
    let images = turns(&dataset).into_iter().flat_map(|turn| turn.images).flat_map(|image| image.contents);
    assert_eq!(
        images.collect::<Vec<_>>(),
        ["data:image/png;base64,iVBORw0KGgpyZXN0"; 2].into_iter().chain(["data:,b"]).collect::<Vec<_>>()
    );
    assert_eq!(png.1.load(Relaxed), 1);
    assert!(dataset.check_images_are_inline().is_ok());
    let refused = |rows: &[Value], with_it: Option<&dyn FetchMedia>| with(plan(rows), 7, with_it).unwrap_err();
    let missing = refused(&[json!({"text": "t"}), json!({"image": "http://h/missing"})], Some(&png));
    assert!(missing.starts_with("run.yaml: records[1]: image 'http://h/missing' cannot be fetched: 404"), "{missing}");
    let text = Images(b"<html>", AtomicUsize::new(0));
    let error = refused(&rows, Some(&text));
    assert!(error.contains("image 'http://h/a' is neither PNG nor JPEG"), "{error}");
    assert!(refused(&rows, None).contains("nothing is downloaded here"));
}

#[test]
fn every_example_of_the_documentation_is_read_as_its_layout() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/datasets.md")).unwrap();
    let mut layouts = Vec::new();
    for block in text.split("\n```json").skip(1) {
        let (words, rows) = block.split_once('\n').unwrap();
        let layout = words.trim_start_matches('l').trim();
        let rows = rows.split("\n```").next().unwrap();
        let dataset = opened(layout, &[("d.jsonl", rows)], |plan| plan).unwrap();
        assert!(!dataset.notes().iter().any(|note| note.contains("ignored")), "{layout}: {:?}", dataset.notes());
        layouts.push(layout);
    }
    let is_shown = |format: FileFormat| layouts.contains(&format.name());
    assert!(FileFormat::all().take(7).all(is_shown), "{layouts:?}");
}
