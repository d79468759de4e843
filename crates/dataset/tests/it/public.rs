//! Public datasets: downloaded files, and the conversations in them.

use aiperf_dataset::{Dataset, DatasetError, Downloads, Making, Repository};
use aiperf_plan::{DatasetPlan, Distribution, Draws, PublicPlan, PublicSet};
use aiperf_tokenize::Tokenizer;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::LazyLock;
use tempfile::TempDir;

/// Every download returns this one file.
struct OneFile {
    folder: TempDir,
    name: String,
}

impl OneFile {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("rows"), bytes).unwrap();
        Self { folder, name: name.to_owned() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("rows")
    }
}

impl Downloads for OneFile {
    fn list(&self, _: &str, _: &str) -> Result<Repository, String> {
        Ok(Repository { commit: "c".into(), files: vec![self.name.clone()], configs: Value::Null })
    }

    fn file(&self, _: &str, _: &str, _: &str) -> Result<PathBuf, String> {
        Ok(self.path())
    }

    fn url(&self, _: &str, _: &str) -> Result<PathBuf, String> {
        Ok(self.path())
    }
}

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(Tokenizer::builtin);

fn read(plan: PublicPlan, bytes: &[u8]) -> Result<Dataset, DatasetError> {
    let subset = plan.subset.clone().unwrap_or_default();
    let split = if plan.set == PublicSet::Aimo { "train" } else { "test" };
    let file = OneFile::new(&format!("{subset}/clean/main/full/en/xs/ihm/{split}/sharegpt4o/rows.jsonl"), bytes);
    let draws = Draws::new(Some(1), "");
    Dataset::of(&DatasetPlan::Public(plan), Making { public_files: &file, ..Making::new(&draws, &TOKENIZER) })
}

fn texts(dataset: &Dataset) -> Vec<String> {
    let text = |index| dataset.conversation(index).unwrap().turns[0].texts[0].contents[0].clone();
    (0..dataset.len()).map(text).collect()
}

fn lines(rows: &[Value]) -> Vec<u8> {
    rows.iter().map(|row| format!("{row}\n")).collect::<String>().into_bytes()
}

#[test]
fn rows_keep_their_order_on_any_number_of_cores_and_those_left_out_are_counted() {
    let row =
        |number: usize| if number % 7 == 3 { json!({"text": null}) } else { json!({"text": format!("p{number}")}) };
    let rows: Vec<Value> = (0..2000).map(row).collect();
    let dataset = read(PublicPlan::new(PublicSet::SpecAlMbpp), &lines(&rows)).unwrap();
    let wanted: Vec<String> = (0..2000).filter(|number| number % 7 != 3).map(|number| format!("p{number}")).collect();
    assert_eq!(texts(&dataset), wanted);
    assert!(dataset.notes()[0].contains("rows without a prompt: 286"), "{:?}", dataset.notes());
    assert_eq!(dataset.conversation(0).unwrap().session_id, "session_000000");
    assert!(dataset.place(3).unwrap().ends_with(": row 5"), "{:?}", dataset.place(3));
}

#[test]
fn the_number_of_entries_limits_the_rows() {
    let rows: Vec<Value> = (0..50).map(|number| json!({"text": format!("p{number}")})).collect();
    for entries in [1, 7, 50, 500] {
        let plan = PublicPlan { entries: Some(entries), ..PublicPlan::new(PublicSet::SpecAlMbpp) };
        assert_eq!(read(plan, &lines(&rows)).unwrap().len() as u64, entries.min(50));
    }
}

#[test]
fn a_turn_without_an_output_length_gets_that_of_the_plan() {
    let plan = PublicPlan { osl: Some(Distribution::fixed(9.0)), ..PublicPlan::new(PublicSet::Aimo) };
    let dataset = read(plan, &lines(&[json!({"problem": "x"})])).unwrap();
    assert_eq!(dataset.conversation(0).unwrap().turns[0].max_tokens, Some(9));
}

#[test]
fn an_error_names_what_a_file_lacks() {
    for (bytes, wanted) in [
        (lines(&[json!({"x": 1, "y": 2})]), "has no column 'problem': its columns are x, y"),
        (b"{\"problem\": ".to_vec(), "is no JSON"),
        (Vec::new(), "has no rows"),
        (lines(&[json!({"problem": "  "})]), "rows without a prompt: 1"),
    ] {
        let error = read(PublicPlan::new(PublicSet::Aimo), &bytes).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("try: "), "{error}");
    }
}

/// JSON of any shape, with the names of row members.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("2026-01-01T00:00:00Z")),
        Just(json!("[{\"role\":\"user\",\"parts\":[]}]")),
    ];
    let name = prop_oneof![
        Just("conversations"),
        Just("conversation"),
        Just("from"),
        Just("value"),
        Just("problem"),
        Just("question"),
        Just("image"),
        Just("bytes"),
        Just("choices"),
        Just("video"),
        Just("turns"),
        Just("prompt"),
        Just("audio"),
        Just("harness"),
        Just("session_id"),
        Just("models"),
        Just("spans"),
        Just("attributes"),
        Just("start_time"),
        Just("end_time"),
        Just("gen_ai.input.messages"),
        Just("gen_ai.operation.name"),
        Just("code"),
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..6).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Value>()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_row_is_too_strange(rows in proptest::collection::vec(json_value(), 1..4)) {
        for set in PublicSet::ALL {
            let _ = read(PublicPlan::new(*set), &lines(&rows));
            let _ = read(PublicPlan { is_scheduled: true, ..PublicPlan::new(*set) }, &lines(&rows));
        }
    }
}
