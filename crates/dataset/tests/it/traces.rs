//! Traces: files and the conversations that the reference makes of them, and other files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aiperf_dataset::{Dataset, DatasetError, Making};
use aiperf_golden::kinds::datasets::{BASETEN_TRACE, INPUT_FILE};
use aiperf_golden::{has, skips_mark};
use aiperf_plan::{DatasetPlan, Distribution, Draws, Pace, TimestampWindow, TraceFormat, TracePlan};
use aiperf_tokenize::Tokenizer;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::shown_turn;
use aiperf_testkit::plan::synthesis;

fn open(plan: TracePlan) -> Result<Dataset, DatasetError> {
    let (draws, tokenizer) = (Draws::new(Some(1), ""), Tokenizer::builtin());
    Dataset::of(&DatasetPlan::Trace(plan), Making::new(&draws, &tokenizer))
}

/// A trace of some rows, with changes to the plan.
fn opened(rows: &str, format: TraceFormat, change: impl FnOnce(&mut TracePlan)) -> Result<Dataset, DatasetError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    std::fs::write(&path, rows).unwrap();
    let mut plan = TracePlan::new(path, format);
    change(&mut plan);
    open(plan)
}

fn mooncake(rows: &str, change: impl FnOnce(&mut TracePlan)) -> Dataset {
    opened(rows, TraceFormat::Mooncake, change).unwrap()
}

fn refused(rows: &str, format: TraceFormat) -> String {
    opened(rows, format, |_| ()).unwrap_err().to_string()
}

fn tokens(dataset: &Dataset, index: usize, turn: usize) -> Vec<u32> {
    Tokenizer::builtin().encode(&dataset.conversation(index).unwrap().turns[turn].texts[0].contents[0])
}

/// A turn as the reference shows it; a generated text as its number of tokens.
fn shown_turn(turn: &Value, is_made: bool) -> Value {
    let mut out = shown_turn::shown_turn(turn);
    if let Some(texts) = out.get_mut("texts").filter(|_| is_made) {
        for text in texts.as_array_mut().unwrap() {
            if let Some(contents) = text.as_object_mut().unwrap().remove("contents") {
                let counts =
                    contents.as_array().unwrap().iter().map(|text| Tokenizer::builtin().count(text.as_str().unwrap()));
                text["synth_token_count"] = counts.collect();
            }
        }
    }
    Value::Object(out)
}

/// Members that the reference's errors name.
const MEMBERS: &[&str] = &[
    "session",
    "input_length",
    "output_length",
    "hash_ids",
    "messages",
    "role",
    "tools",
    "Response tokens",
    "input_tokens",
];

fn compare(case: &Value, read: Result<Dataset, DatasetError>) {
    let Some(wanted) = case["conversations"].as_array() else {
        let error = read.expect_err("refused").to_string();
        assert!(error.starts_with(&*std::env::temp_dir().to_string_lossy()), "{error}");
        let why = case["error"]["message"].as_str().unwrap();
        let mut named = MEMBERS.iter().filter(|name| why.contains(**name)).peekable();
        assert!(named.peek().is_some() && named.any(|name| error.contains(name)), "{error}: {why}");
        return;
    };
    let dataset = read.unwrap();
    let shown = |conversation: &Value| {
        let is_made = case["synth_text"] == true;
        let turns: Value =
            conversation["turns"].as_array().unwrap().iter().map(|turn| shown_turn(turn, is_made)).collect();
        json!([conversation["session_id"], conversation["context_mode"], turns])
    };
    let found = (0..dataset.len()).map(|index| serde_json::to_value(&*dataset.conversation(index).unwrap()).unwrap());
    let found: Vec<Value> = found.map(|conversation| shown(&conversation)).collect();
    assert_eq!(found, wanted.iter().map(shown).collect::<Vec<_>>());
}

fn format(case: &Value) -> Option<TraceFormat> {
    serde_json::from_value(case["format"].clone()).ok()
}

#[test]
fn golden_traces_give_the_recorded_conversations_or_are_refused() {
    let skip = |case: &Value| {
        if format(case).is_none() {
            return Some(format!("{} is not a trace format", case["format"].as_str().unwrap_or_default()));
        }
        let asks_for_none = case["error"]["message"].as_str().is_some_and(|message| message.contains("max_tokens"));
        let zero = asks_for_none.then(|| "a response of 0 tokens is requested as one of 1".into());
        zero.or_else(|| skips_mark(&case["files"]))
    };
    let run = |case: &Value| {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in case["files"].as_object().unwrap() {
            std::fs::write(folder.path().join(name), content.as_str().unwrap()).unwrap();
        }
        let mut plan = TracePlan::new(folder.path().join(case["input"].as_str().unwrap()), format(case).unwrap());
        let options = &case["options"];
        plan.synthesis = synthesis(&options["synthesis"]);
        let osl = &options["osl"];
        plan.osl = osl["mean"].as_f64().or(osl.as_f64()).map(|mean| Distribution::normal(mean, 0.0));
        plan.delay_cap_ms = options["inter_turn_delay_cap_seconds"].as_f64().map(|cap| cap * 1e3);
        plan.block_size = options["block_size"].as_u64().map(|size| size as u32);
        let offset = |name: &str| case["phases"][0][name].as_f64();
        plan.window = TimestampWindow { start_ms: offset("start_offset"), end_ms: offset("end_offset") };
        compare(case, open(plan));
    };
    INPUT_FILE.run(skip, run);
}

/// Writes rows as a Parquet file with their columns.
fn parquet(path: &Path, rows: &[Value]) {
    let mut names: Vec<&str> =
        rows.iter().flat_map(|row| row.as_object().unwrap().keys()).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let kind = |name: &&str| {
        let of = || rows.iter().map(|row| &row[*name]);
        if of().any(Value::is_string) {
            format!("optional binary {name} (UTF8);")
        } else if of().any(Value::is_array) {
            format!("optional group {name} (LIST) {{ repeated group list {{ optional int64 element; }} }}")
        } else {
            format!("optional {} {name};", if of().any(Value::is_f64) { "double" } else { "int64" })
        }
    };
    let schema = format!("message rows {{ {} }}", names.iter().map(kind).collect::<String>());
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let mut file = SerializedFileWriter::new(File::create(path).unwrap(), schema, Default::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    for name in names {
        let of = || rows.iter().map(|row| &row[name]);
        let defined = |is_there: fn(&Value) -> bool| of().map(|value| is_there(value).into()).collect::<Vec<i16>>();
        let mut column = group.next_column().unwrap().unwrap();
        match column.untyped() {
            ColumnWriter::ByteArrayColumnWriter(column) => {
                let values: Vec<_> = of().filter_map(Value::as_str).map(ByteArray::from).collect();
                column.write_batch(&values, Some(&defined(Value::is_string)), None).unwrap();
            }
            ColumnWriter::DoubleColumnWriter(column) => {
                let values: Vec<f64> = of().filter_map(Value::as_f64).collect();
                column.write_batch(&values, Some(&defined(Value::is_number)), None).unwrap();
            }
            ColumnWriter::Int64ColumnWriter(column) if of().any(Value::is_array) => {
                let (mut values, mut defined, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
                for value in of() {
                    let elements = value.as_array().map_or(&[][..], Vec::as_slice);
                    values.extend(elements.iter().filter_map(Value::as_i64));
                    defined.extend(elements.iter().map(|element| if element.is_i64() { 3i16 } else { 2 }));
                    repeats.extend((0..elements.len()).map(|number| i16::from(number > 0)));
                    if elements.is_empty() {
                        defined.push(value.is_array().into());
                        repeats.push(0);
                    }
                }
                column.write_batch(&values, Some(&defined), Some(&repeats)).unwrap();
            }
            ColumnWriter::Int64ColumnWriter(column) => {
                let values: Vec<i64> = of().filter_map(Value::as_i64).collect();
                column.write_batch(&values, Some(&defined(Value::is_i64)), None).unwrap();
            }
            _ => unreachable!("no such column in the schema"),
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
}

/// A Baseten trace of some rows.
fn baseten(rows: &[Value], change: impl FnOnce(&mut TracePlan)) -> Result<Dataset, DatasetError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    parquet(&path, rows);
    let mut plan = TracePlan::new(path, TraceFormat::Baseten);
    change(&mut plan);
    open(plan)
}

#[test]
fn golden_baseten_traces_give_the_recorded_conversations_or_are_refused() {
    let skip = |case: &Value| {
        if !has(case, "rows") || case["rows"].as_array().is_none_or(|rows| rows.iter().any(|row| !has(row, "prompt"))) {
            return Some("not a Baseten trace".into());
        }
        let options = &case["options"];
        let reshapes = ["speedup_ratio", "prefix_len_multiplier", "prefix_root_multiplier", "prompt_len_multiplier"];
        let is_reshaped = reshapes.iter().any(|name| has(options, &format!("synthesis.{name}")));
        let is_both = options["open_loop_strict"] == true && options["open_loop_replay"] == false;
        (is_reshaped || is_both).then(|| "refused when the flags are parsed".into())
    };
    let run = |case: &Value| {
        let options = &case["options"];
        let is_on = |name: &str, default: bool| options[name].as_bool().unwrap_or(default);
        compare(
            case,
            baseten(case["rows"].as_array().unwrap(), |plan| {
                plan.synthesis = synthesis(&options["synthesis"]);
                plan.idle_gap_cap_ms = options["max_idle_gap_cap_seconds"].as_f64().map(|cap| cap * 1e3);
                plan.delay_cap_ms = options["inter_turn_delay_cap_seconds"].as_f64().map(|cap| cap * 1e3);
                plan.baseten.speedup = options["replay_speedup"].as_f64().unwrap_or(1.0);
                plan.baseten.kv_hints = !is_on("omit_kv_hints", false);
                plan.baseten.min_tokens = is_on("force_min_tokens", true);
                plan.baseten.pace = match (is_on("open_loop_replay", true), is_on("open_loop_strict", false)) {
                    (false, _) => Pace::Closed,
                    (true, true) => Pace::OpenStrict,
                    (true, false) => Pace::Open,
                };
            }),
        );
    };
    BASETEN_TRACE.run(skip, run);
}

const SHARED: &str = r#"{"timestamp": 0, "input_length": 40, "output_length": 3, "hash_ids": [1, 2, 3]}
{"timestamp": 1000, "input_length": 44, "output_length": 4, "hash_ids": [1, 2, 4]}
{"timestamp": 9000, "input_length": 20, "output_length": 5}
"#;

fn blocks_of_16(plan: &mut TracePlan) {
    plan.block_size = Some(16);
}

#[test]
fn rows_that_share_ids_share_text() {
    let dataset = mooncake(SHARED, blocks_of_16);
    let [a, b, c] = [0, 1, 2].map(|index| tokens(&dataset, index, 0));
    assert_eq!([a.len(), b.len(), c.len()], [40, 44, 20]);
    assert_eq!(a[..32], b[..32]);
    assert_ne!(a[33..40], b[33..40]);
}

#[test]
fn the_same_trace_gives_the_same_text_and_another_gives_another() {
    let text = |rows: &str| tokens(&mooncake(rows, blocks_of_16), 0, 0);
    assert_eq!(text(SHARED), text(SHARED));
    assert_ne!(text(SHARED), text(&SHARED.replace("9000", "9001")));
}

#[test]
fn prefixes_and_prompts_grow_and_shrink_by_their_factors() {
    let grown = mooncake(SHARED, |plan| {
        blocks_of_16(plan);
        plan.synthesis.prefix_len = 2.0;
        plan.synthesis.prompt_len = 0.5;
    });
    let [a, b] = [0, 1].map(|index| tokens(&grown, index, 0));
    assert_eq!([a.len(), b.len()], [64 + 4, 64 + 6]);
    assert_eq!(a[..64], b[..64]);
    assert_eq!(tokens(&grown, 2, 0).len(), 20);
}

#[test]
fn prefix_trees_share_nothing() {
    let rows = SHARED.lines().take(2).collect::<Vec<_>>().join("\n") + "\n";
    let rows: String = (0..20).map(|_| rows.as_str()).collect();
    let dataset = mooncake(&rows, |plan| {
        blocks_of_16(plan);
        plan.synthesis.prefix_roots = 2;
    });
    let mut begins: Vec<Vec<u32>> = (0..dataset.len()).map(|index| tokens(&dataset, index, 0)[..32].to_vec()).collect();
    begins.sort();
    begins.dedup();
    assert_eq!(begins.len(), 2);
}

#[test]
fn idle_time_is_cut_and_times_are_sped_up() {
    let times = |change: fn(&mut TracePlan)| {
        let dataset = mooncake(SHARED, change);
        (0..3).map(|index| dataset.shapes().turn(index, 0).timestamp_ms.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(times(blocks_of_16), [0.0, 1000.0, 9000.0]);
    assert_eq!(times(|plan| (plan.block_size, plan.idle_gap_cap_ms) = (Some(16), Some(500.0))), [0.0, 500.0, 1000.0]);
    assert_eq!(times(|plan| (plan.block_size, plan.synthesis.speedup) = (Some(16), 4.0)), [0.0, 250.0, 2250.0]);
    let untimed = mooncake(SHARED, |plan| (plan.block_size, plan.ignores_times) = (Some(16), true));
    assert!((0..3).all(|index| untimed.shapes().turn(index, 0).timestamp_ms.is_none()));
}

#[test]
fn outputs_and_inputs_of_0_tokens_are_counted_and_noted() {
    let rows = "{\"input_length\": 5, \"output_length\": 0}\n{\"input_length\": 0}\n";
    let dataset = mooncake(rows, |_| ());
    assert_eq!(dataset.conversation(0).unwrap().turns[0].max_tokens, Some(1));
    assert_eq!(tokens(&dataset, 1, 0).len(), 1);
    let notes = dataset.notes().join("\n");
    assert!(
        notes.contains("0 tokens, which request 1: 1") && notes.contains("0 input tokens, which get 1: 1"),
        "{notes}"
    );
}

#[test]
fn members_that_look_misspelt_are_noted_once_with_what_may_be_meant() {
    let row = |length: &str| format!("{{\"timestamp\": 0, \"input_length\": 5, \"{length}\": 6, \"model\": \"m\"}}\n");
    let rows = row("output_length") + &row("output_lenght") + &row("output_lenght") + &row("outputLength");
    let dataset = mooncake(&rows, |_| ());
    let [note] = dataset.notes() else { panic!("{:?}", dataset.notes()) };
    assert!(
        note.ends_with(
            "trace:2: members that mean nothing here are ignored: output_lenght (is output_length meant?), outputLength (is \
             output_length meant?)"
        ),
        "{note}"
    );
    let rows = "{\"chat_id\": 1, \"parent_chatid\": -1, \"timestamp\": 0, \"input_length\": 5, \"output_length\": 6}";
    let dataset = opened(rows, TraceFormat::Bailian, |_| ()).unwrap();
    assert!(dataset.notes()[0].contains("parent_chatid (is parent_chat_id meant?)"), "{:?}", dataset.notes());
}

#[test]
fn usual_members_of_traces_that_are_not_used_are_not_noted() {
    let mooncake_row = "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 6, \"hash_ids\": [1], \"model\": \"m\", \
                        \"user\": 1, \"input_tokens\": 5, \"timestamps\": [1], \"turn\": 1, \"round\": 2}";
    assert_eq!(mooncake(mooncake_row, |_| ()).notes(), [] as [&str; 0]);
    let bailian_row = "{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 0, \"input_length\": 5, \
                       \"output_length\": 6, \"type\": \"text\", \"turn\": 1, \"hash_ids\": [1]}";
    assert_eq!(opened(bailian_row, TraceFormat::Bailian, |_| ()).unwrap().notes(), [] as [&str; 0]);
}

#[test]
fn columns_that_look_misspelt_are_noted() {
    let mut row = session(1, 0);
    let id = row["provided_session_id"].take();
    row.as_object_mut().unwrap().remove("provided_session_id");
    row["provided_sesion_id"] = id;
    row["model"] = "m".into();
    let dataset = baseten(&[row], |_| ()).unwrap();
    let [note] = dataset.notes() else { panic!("{:?}", dataset.notes()) };
    assert!(note.contains("ignored: provided_sesion_id (is provided_session_id meant?)"), "{note}");
    assert_eq!(baseten(&[session(1, 0)], |_| ()).unwrap().notes(), [] as [&str; 0]);
}

#[test]
fn invalid_rows_of_burst_gpt_are_counted_and_noted() {
    let rows = "Timestamp,Request tokens,Response tokens\n1,5,6\nx,1,2\n2,,3\n3,7,8\n";
    let dataset = opened(rows, TraceFormat::BurstGpt, |_| ()).unwrap();
    assert_eq!(dataset.len(), 2);
    let notes = dataset.notes().join("\n");
    assert!(notes.contains("trace:3: 2") || notes.contains(":3"), "{notes}");
    assert!(notes.ends_with(": 2"), "{notes}");
}

#[test]
fn an_error_about_a_row_names_its_line() {
    use TraceFormat::*;
    for (rows, format, wanted) in [
        ("", Mooncake, "has no rows"),
        ("\n \n", Bailian, "has no rows"),
        ("", BurstGpt, "has no rows"),
        ("{\"input_length\": 3}\n[1]", Mooncake, "trace:2: is no JSON object"),
        ("{\"input_length\": 3}\n\n{\"input_length\": 3", Mooncake, "trace:3: is not JSON"),
        ("{\"input_length\": -3}", Mooncake, "input_length -3 is no number of tokens"),
        ("{\"input_length\": true}", Mooncake, "input_length must be a whole number, not true or false"),
        ("{\"input_length\": 10, \"hash_ids\": [1, 2]}", Mooncake, "2 hash_ids of 512 tokens"),
        ("{\"input_length\": 10, \"hash_ids\": [\"x\"]}", Mooncake, "hash_ids must be a list of whole numbers"),
        ("{\"text_input\": \"x\", \"delay\": -1}", Mooncake, "delay -1 is below 0"),
        ("{\"text_input\": \"x\", \"timestamp\": 1e300}", Mooncake, "timestamp is no time"),
        ("{\"type\": \"single_turn\", \"text_input\": \"x\"}", Mooncake, "type is not that"),
        ("{\"payload\": {}}", Mooncake, "payload must be an object with members"),
        ("{\"chat_id\": 1, \"input_length\": 5, \"output_length\": 1}", Bailian, "has no timestamp"),
        ("a,b\n1,2", BurstGpt, "has no column Timestamp, Request tokens, Response tokens"),
        ("{\"a\": 1}", Baseten, "neither Parquet nor Arrow"),
    ] {
        let error = refused(rows, format);
        assert!(error.contains(wanted), "{rows}: {error}");
    }
}

#[test]
fn an_error_about_an_empty_window_shows_the_range_of_times() {
    let late = |plan: &mut TracePlan| plan.window.start_ms = Some(1e6);
    let error =
        opened("{\"text_input\": \"a\", \"timestamp\": 5}", TraceFormat::Mooncake, late).unwrap_err().to_string();
    assert!(error.contains("go from 5 ms to 5 ms"), "{error}");
}

#[test]
fn a_row_without_a_time_is_sent_if_the_one_before_it_is() {
    let rows = r#"{"session_id": "a", "text_input": "1", "timestamp": 5}
{"session_id": "a", "text_input": "2", "delay": 7}
{"session_id": "b", "text_input": "3", "timestamp": 50}
{"session_id": "b", "text_input": "4", "delay": 8}
"#;
    let dataset = mooncake(rows, |plan| plan.window.start_ms = Some(10.0));
    assert_eq!(dataset.len(), 1);
    let conversation = dataset.conversation(0).unwrap();
    assert_eq!((conversation.session_id.as_str(), conversation.turns.len()), ("b", 2));
    assert_eq!(conversation.turns[1].delay_ms, Some(8.0));
    assert!(dataset.place_of_turn(0, 1).unwrap().ends_with("trace:4"));
}

#[test]
fn the_number_of_entries_limits_the_conversations() {
    assert_eq!(mooncake(SHARED, |plan| (plan.block_size, plan.entries) = (Some(16), Some(2))).len(), 2);
}

#[test]
fn delays_are_multiplied_then_capped_and_long_ones_are_noted() {
    let rows = "{\"session_id\": \"a\", \"text_input\": \"1\"}\n{\"session_id\": \"a\", \"text_input\": \"2\", \"delay\": 70000}\n";
    let delay = |dataset: &Dataset| dataset.conversation(0).unwrap().turns[1].delay_ms;
    let long = mooncake(rows, |_| ());
    assert_eq!(delay(&long), Some(70000.0));
    assert!(
        long.notes()[0].contains("delays of more than 60 s between turns: 1, the longest of 70 s"),
        "{:?}",
        long.notes()
    );
    let capped = mooncake(rows, |plan| (plan.delay_ratio, plan.delay_cap_ms) = (2.0, Some(1500.0)));
    assert_eq!((delay(&capped), capped.notes().len()), (Some(1500.0), 0));
}

fn session(number: i64, time: i64) -> Value {
    json!({"timestamp_start_unix_ms": time, "prompt": format!("p{number}"), "input_tokens": 2, "output_tokens": 3,
           "provided_session_id": format!("s{number}")})
}

#[test]
fn a_share_of_whole_sessions_is_drawn_and_at_least_one() {
    let rows: Vec<Value> = (0..400).map(|row| session(row / 2, row)).collect();
    let drawn = |share: f64| baseten(&rows, |plan| plan.baseten.session_share = Some(share)).unwrap();
    let half = drawn(0.5);
    assert!((60..140).contains(&half.len()), "{} of 200", half.len());
    assert!((0..half.len()).all(|index| half.conversation(index).unwrap().turns.len() == 2));
    assert_eq!(drawn(1e-9).len(), 1);
    assert_eq!(drawn(1.0).len(), 200);
    let names = |dataset: &Dataset| {
        (0..dataset.len()).map(|at| dataset.conversation(at).unwrap().session_id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&half), names(&drawn(0.5)));
}

#[test]
fn a_compressed_trace_is_read_like_the_plain_one() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("trace.jsonl.gz");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, format!("\u{feff}{SHARED}").as_bytes()).unwrap();
    std::fs::write(&path, packed.finish().unwrap()).unwrap();
    let plan = TracePlan { block_size: Some(16), ..TracePlan::new(path, TraceFormat::Mooncake) };
    let dataset = open(plan).unwrap();
    assert_eq!(dataset.len(), 3);
    assert!(dataset.place(1).unwrap().ends_with(".gz:2"), "{:?}", dataset.place(1));
}

#[test]
fn rows_of_many_pieces_keep_their_order_and_locations() {
    let rows: String = (0..60_000)
        .map(|row| format!("{{\"text_input\": \"{row} {}\", \"timestamp\": {row}}}\n", "x".repeat(200)))
        .collect();
    let dataset = mooncake(&rows, |_| ());
    assert_eq!(dataset.len(), 60_000);
    for index in [0, 1, 17_000, 35_123, 59_999] {
        let text = &dataset.conversation(index).unwrap().turns[0].texts[0].contents[0];
        assert!(text.starts_with(&format!("{index} x")), "{text}");
        assert!(dataset.place(index).unwrap().ends_with(&format!(":{}", index + 1)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_are_a_trace_or_an_error(bytes: Vec<u8>, which in 0..3usize) {
        let format = [TraceFormat::Mooncake, TraceFormat::Bailian, TraceFormat::BurstGpt][which];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let header = if format == TraceFormat::BurstGpt { "Timestamp,Request tokens,Response tokens\n" } else { "" };
        std::fs::write(&path, [header.as_bytes(), &bytes].concat()).unwrap();
        let _ = open(TracePlan::new(path, format));
    }

    #[test]
    fn broken_rows_are_errors(cut in any::<prop::sample::Index>(), mark in any::<char>(), at in any::<prop::sample::Index>()) {
        let mut rows: Vec<char> = SHARED.chars().collect();
        let at = at.index(rows.len());
        rows[at] = mark;
        rows.truncate(cut.index(rows.len()) + 1);
        let rows: String = rows.into_iter().collect();
        if let Ok(dataset) = opened(&rows, TraceFormat::Mooncake, blocks_of_16) {
            (0..dataset.len()).for_each(|index| drop(dataset.conversation(index).unwrap()));
        }
    }
}
