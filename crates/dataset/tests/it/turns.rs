//! Conversations of several turns: their contents, and their shapes for the schedule.

use aiperf_dataset::{Dataset, DatasetError, Making};
use aiperf_plan::{
    DatasetPlan, Distribution, Draws, FileFormat, FilePlan, ScheduleZero, SyntheticPlan, TimestampWindow, Turns,
};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{ContextMode, Conversation, Nanos, TurnShape};
use proptest::prelude::*;
use std::sync::OnceLock;

fn tokenizer() -> &'static Tokenizer {
    static LOADED: OnceLock<Tokenizer> = OnceLock::new();
    LOADED.get_or_init(Tokenizer::builtin)
}

fn of(plan: &DatasetPlan) -> Result<Dataset, DatasetError> {
    Dataset::of(plan, Making::new(&Draws::new(Some(7), ""), tokenizer()))
}

/// A dataset of rows; errors name the file `d.jsonl`.
fn read_as(rows: &str, format: FileFormat, plan: impl FnOnce(FilePlan) -> FilePlan) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.jsonl");
    std::fs::write(&path, rows).unwrap();
    let plan = plan(FilePlan::new(path, format));
    of(&DatasetPlan::File(plan))
        .map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
}

fn read(rows: &str) -> Result<Dataset, String> {
    read_as(rows, FileFormat::MultiTurn, |plan| plan)
}

fn within(rows: &str, format: FileFormat, start_ms: Option<f64>, end_ms: Option<f64>) -> Result<Dataset, String> {
    read_as(rows, format, |plan| FilePlan { window: TimestampWindow { start_ms, end_ms }, ..plan })
}

fn all(dataset: &Dataset) -> Vec<Conversation> {
    (0..dataset.len()).map(|index| dataset.conversation(index).unwrap().into_owned()).collect()
}

/// The name and the texts of each conversation.
fn texts_of(dataset: &Dataset) -> Vec<(String, Vec<String>)> {
    let texts = |one: &Conversation| one.turns.iter().map(|turn| turn.texts[0].contents[0].clone()).collect();
    all(dataset).iter().map(|one| (one.session_id.clone(), texts(one))).collect()
}

fn owned(conversations: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    conversations.iter().map(|(name, of)| ((*name).to_owned(), texts(of))).collect()
}

fn shapes_agree(dataset: &Dataset) {
    let shapes = dataset.shapes();
    assert_eq!(shapes.len() as usize, dataset.len());
    for (index, conversation) in all(dataset).iter().enumerate() {
        let index = index as u32;
        let found: Vec<TurnShape> = (0..shapes.turns(index)).map(|turn| shapes.turn(index, turn)).collect();
        let delay = |ms: f64| Nanos((ms * 1e6).round() as u64);
        let shape = conversation
            .turns
            .iter()
            .map(|turn| TurnShape { delay: turn.delay_ms.map(delay), timestamp_ms: turn.timestamp_ms });
        assert_eq!(found, shape.collect::<Vec<_>>(), "conversation {index}");
    }
}

#[test]
fn rows_of_one_session_are_one_conversation_whose_turns_build_on_each_other() {
    let rows = r#"{"session_id": "s", "turns": [{"text": "a"}, {"text": "b", "delay": 5}]}
{"turns": [{"text": "x", "output_length": 9}]}
{"session_id": "s", "turns": [{"text": "c", "extra": {"k": 1}}], "type": "multi_turn"}"#;
    let dataset = read(rows).unwrap();
    assert_eq!(texts_of(&dataset), owned(&[("s", &["a", "b", "c"]), ("session_000000", &["x"])]));
    assert!(all(&dataset).iter().all(|one| one.context_mode.is_none()));
    let lines: Vec<_> = (0..3).map(|turn| dataset.place_of_turn(0, turn).unwrap()).collect();
    assert!(lines.iter().zip([":1", ":1", ":3"]).all(|(place, line)| place.ends_with(line)), "{lines:?}");
    shapes_agree(&dataset);
}

#[test]
fn a_system_turn_that_leads_a_conversation_is_its_system_message() {
    let rows = r#"{"session_id": "s", "turns": [{"role": "system", "texts": ["A", "B"]}]}
{"session_id": "s", "turns": [{"text": "u"}, {"role": "system", "text": "later"}]}"#;
    let dataset = read(rows).unwrap();
    assert_eq!(all(&dataset)[0].system_message.as_deref(), Some("A\nB"));
    assert_eq!(texts_of(&dataset), owned(&[("s", &["u", "later"])]));
    assert!(dataset.place_of_turn(0, 0).unwrap().ends_with(":2"));
    shapes_agree(&dataset);
    // If the endpoint sends no system message, it stays a turn.
    let dataset = read_as(rows, FileFormat::MultiTurn, |plan| FilePlan { hoist_system: false, ..plan }).unwrap();
    assert_eq!((dataset.shapes().turns(0), &all(&dataset)[0].system_message), (3, &None));
}

#[test]
fn a_system_turn_with_a_time_a_limit_or_another_after_it_is_a_turn() {
    for turns in [
        r#"[{"role": "system", "text": "S"}]"#,
        r#"[{"role": "system", "text": "S"}, {"role": "system", "text": "T"}]"#,
        r#"[{"role": "system", "text": "S", "timestamp": 0}, {"text": "u"}]"#,
        r#"[{"role": "system", "text": "S", "output_length": 5}, {"text": "u"}]"#,
        r#"[{"role": "system", "text": "S", "extra": {}}, {"text": "u"}]"#,
        r#"[{"role": "System", "text": "S"}, {"text": "u"}]"#,
    ] {
        let dataset = read(&format!("{{\"turns\": {turns}}}")).unwrap();
        let conversation = dataset.conversation(0).unwrap();
        assert_eq!((conversation.turns[0].texts[0].contents[0].as_str(), &conversation.system_message), ("S", &None));
        shapes_agree(&dataset);
    }
    // Rows of single_turn are independent requests.
    let rows =
        "{\"session_id\": \"s\", \"role\": \"system\", \"text\": \"S\"}\n{\"session_id\": \"s\", \"text\": \"u\"}";
    assert_eq!(read_as(rows, FileFormat::SingleTurn, |plan| plan).unwrap().shapes().turns(0), 2);
}

#[test]
fn a_bad_turn_is_refused_by_file_line_and_number() {
    for (row, what) in [
        (r#"{"turns": []}"#, "has no turns"),
        (r#"{"text": "a"}"#, "has no turns"),
        (r#"{"turns": {}}"#, "turns must be a list, not an object"),
        (
            r#"{"turns": [{"text": "a"}], "type": "single_turn"}"#,
            "type \"single_turn\" is not that of a row of multi_turn",
        ),
        (r#"{"turns": [{"text": "a"}, {"delay": 5}]}"#, "turns[1]: has no content"),
        (r#"{"turns": ["a"]}"#, "turns[0]: is a text, and a turn is a JSON object"),
        (
            r#"{"turns": [{"text": "a", "type": "multi_turn"}]}"#,
            "turns[0]: type \"multi_turn\" is not that of a row of single_turn",
        ),
        (
            r#"{"turns": [{"text": "a", "timestamp": 1, "delay": 1}]}"#,
            "turns[0]: timestamp and delay exclude each other",
        ),
        (r#"{"turns": [{"text": "a"}, {"text": "b", "delay": -2}]}"#, "turns[1]: delay -2 is below 0"),
    ] {
        let error = read(&format!("{{\"turns\": [{{\"text\": \"a\"}}]}}\n{row}")).unwrap_err();
        let first = error.strip_prefix("d.jsonl:2: ").unwrap_or_else(|| panic!("{error}")).lines().next();
        assert_eq!(first, Some(what), "{row}");
    }
}

#[test]
fn unused_members_of_turns_are_noted() {
    let dataset = read(r#"{"id": 1, "turns": [{"text": "a", "session_id": "t", "promt": 2}]}"#).unwrap();
    let [note] = dataset.notes() else { panic!("{:?}", dataset.notes()) };
    assert!(
        note.ends_with(":1: members that mean nothing here are ignored: id, turns.session_id, turns.promt"),
        "{note}"
    );
}

#[test]
fn turns_without_a_length_get_one_of_their_own() {
    let rows = r#"{"turns": [{"text": "a"}, {"text": "b", "output_length": 3}, {"text": "c"}]}"#;
    let osl = Some(Distribution::normal(1000.0, 300.0));
    let lengths = |rows: &str| -> Vec<u32> {
        let dataset = read_as(rows, FileFormat::MultiTurn, |plan| FilePlan { osl: osl.clone(), ..plan }).unwrap();
        all(&dataset)[0].turns.iter().map(|turn| turn.max_tokens.unwrap()).collect()
    };
    let drawn = lengths(rows);
    assert_eq!(drawn[1], 3);
    assert_ne!(drawn[0], drawn[2]);
    // The length of one turn does not change the others.
    assert_eq!(lengths(&rows.replace(", \"output_length\": 3", ""))[2], drawn[2]);
}

#[test]
fn delays_are_multiplied_and_then_capped() {
    let rows = r#"{"turns": [{"text": "a"}, {"text": "b", "delay": "10"}, {"text": "c", "delay": 4000}, {"text": "d", "delay": 0}]}"#;
    let delays = |delay_ratio, delay_cap_ms| -> Vec<Option<f64>> {
        let with = |plan| FilePlan { delay_ratio, delay_cap_ms, ..plan };
        let dataset = read_as(rows, FileFormat::MultiTurn, with).unwrap();
        shapes_agree(&dataset);
        all(&dataset)[0].turns.iter().map(|turn| turn.delay_ms).collect()
    };
    assert_eq!(delays(0.5, None), [None, Some(5.0), Some(2000.0), Some(0.0)]);
    assert_eq!(delays(2.0, Some(30.0)), [None, Some(20.0), Some(30.0), Some(0.0)]);
    assert_eq!(delays(0.0, None), [None, Some(0.0), Some(0.0), Some(0.0)]);
}

#[test]
fn delays_of_more_than_a_minute_are_noted_unless_they_are_capped() {
    let rows = r#"{"turns": [{"text": "a"}]}
{"turns": [{"text": "a"}, {"text": "b", "delay": 60000}, {"text": "c", "delay": 60001}, {"text": "d", "delay": 90000}]}"#;
    let dataset = read(rows).unwrap();
    let [note] = dataset.notes() else { panic!("{:?}", dataset.notes()) };
    assert!(note.ends_with("d.jsonl:2: delays of more than 60 s between turns: 2, the longest of 90 s"), "{note}");
    let capped = |plan| FilePlan { delay_cap_ms: Some(70_000.0), ..plan };
    assert!(read_as(rows, FileFormat::MultiTurn, capped).unwrap().notes().is_empty());
}

#[test]
fn rows_outside_the_window_are_left_out_and_both_its_ends_are_inside() {
    let rows = "{\"text\": \"0\", \"timestamp\": 0}\n{\"text\": \"100\", \"timestamp\": \"100\"}\n{\"text\": \"none\"}\n\
                {\"text\": \"200\", \"timestamp\": 200.0}\n{\"text\": \"300\", \"timestamp\": 300}";
    let single = |start, end| within(rows, FileFormat::SingleTurn, start, end);
    let dataset = single(Some(100.0), Some(200.0)).unwrap();
    // The rows that remain are numbered from 0.
    let wanted = [("session_000000", ["100"]), ("session_000001", ["none"]), ("session_000002", ["200"])];
    assert_eq!(texts_of(&dataset), owned(&wanted.each_ref().map(|(name, texts)| (*name, &texts[..]))));
    assert!(dataset.place(2).unwrap().ends_with("d.jsonl:4"));
    shapes_agree(&dataset);
    assert_eq!((single(None, Some(99.0)).unwrap().len(), single(Some(300.0), None).unwrap().len()), (2, 2));
}

#[test]
fn a_turn_without_a_timestamp_is_sent_if_the_turn_before_it_is() {
    let rows = r#"{"session_id": "s", "turns": [{"role": "system", "text": "S"}, {"text": "a", "timestamp": 0}, {"text": "b", "delay": 5}]}
{"session_id": "s", "turns": [{"text": "c", "timestamp": 500}, {"text": "d"}, {"text": "e", "timestamp": 900}]}
{"session_id": "t", "turns": [{"role": "system", "text": "S"}, {"text": "f", "timestamp": 10}]}"#;
    let dataset = within(rows, FileFormat::MultiTurn, Some(400.0), Some(600.0)).unwrap();
    assert_eq!(texts_of(&dataset), owned(&[("s", &["c", "d"])]));
    assert_eq!(all(&dataset)[0].system_message.as_deref(), Some("S"));
    assert!(dataset.place_of_turn(0, 1).unwrap().ends_with("d.jsonl:2"));
    shapes_agree(&dataset);
    dataset.check_timestamps(ScheduleZero::First).unwrap();
}

#[test]
fn an_error_about_an_empty_window_shows_the_range_of_timestamps() {
    let rows = "{\"text\": \"a\", \"timestamp\": 300}\n{\"text\": \"b\", \"timestamp\": 20.5}";
    let error = within(rows, FileFormat::SingleTurn, Some(400.0), Some(600.0)).unwrap_err();
    assert!(error.starts_with("d.jsonl: has no turns with timestamps from 400 ms to 600 ms\n"), "{error}");
    assert!(
        error.contains("\n  its timestamps go from 20.5 ms to 300 ms\n  try: --fixed-schedule-start-offset"),
        "{error}"
    );
    let error = within(rows, FileFormat::SingleTurn, None, Some(1.0)).unwrap_err();
    assert!(error.starts_with("d.jsonl: has no turns with timestamps to 1 ms\n"), "{error}");
}

#[test]
fn the_number_of_entries_counts_the_conversations_that_remain() {
    let rows =
        "{\"text\": \"a\", \"timestamp\": 1}\n{\"text\": \"b\", \"timestamp\": 2}\n{\"text\": \"c\", \"timestamp\": 3}";
    let window = TimestampWindow { start_ms: Some(2.0), end_ms: None };
    let one = |plan| FilePlan { window, entries: Some(1), ..plan };
    let dataset = read_as(rows, FileFormat::SingleTurn, one).unwrap();
    assert_eq!(texts_of(&dataset), owned(&[("session_000000", &["b"])]));
    assert_eq!(dataset.shapes().len(), 1);
}

fn timed_from(zero: ScheduleZero, rows: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.jsonl");
    std::fs::write(&path, rows).unwrap();
    let dataset = of(&DatasetPlan::File(FilePlan::new(path, FileFormat::MultiTurn))).unwrap();
    dataset.check_timestamps(zero).map_err(|error| error.to_string())
}

#[test]
fn times_that_no_run_can_have_are_refused_by_line_and_turn() {
    let second = |time: &str| read(&format!("{{\"turns\": [{{\"text\": \"a\"}}, {{\"text\": \"b\", {time}}}]}}"));
    for timestamp in ["1e18", "9e15", "1e300", "-1e300", "\"1e18\""] {
        let error = second(&format!("\"timestamp\": {timestamp}")).unwrap_err();
        assert!(error.starts_with("d.jsonl:1: turns[1]: timestamp "), "{error}");
        assert!(error.contains("is no time: one is at most 1e13 and at least -1e13\n  try: milliseconds"), "{error}");
    }
    for delay in ["1e18", "1e300", "1000000000001"] {
        let error = second(&format!("\"delay\": {delay}")).unwrap_err();
        assert!(error.starts_with("d.jsonl:1: turns[1]: delay "), "{error}");
        assert!(error.contains("is too long: one is at most 1e12, thirty years"), "{error}");
    }
    for fine in ["\"timestamp\": 1.7e12", "\"timestamp\": -5", "\"delay\": 1e12"] {
        assert!(second(fine).is_ok(), "{fine}");
    }
    let rows = "{\"turns\": [{\"text\": \"a\"}, {\"text\": \"b\", \"delay\": 5}]}";
    let slow = |delay_cap_ms| {
        read_as(rows, FileFormat::MultiTurn, |plan| FilePlan { delay_ratio: 1e300, delay_cap_ms, ..plan })
    };
    assert!(slow(Some(9.0)).is_ok());
    let error = slow(None).unwrap_err();
    assert!(error.starts_with("d.jsonl:1: delay 5 becomes 5e300 at a ratio of 1"), "{error}");
}

#[test]
fn a_schedule_ends_within_the_longest_time_from_its_zero() {
    let row = |first: &str, second: &str| {
        format!(
            "{{\"turns\": [{{\"text\": \"a\", \"timestamp\": {first}}}, {{\"text\": \"b\", \"timestamp\": {second}}}]}}"
        )
    };
    let recent = row("1.7e12", "1.7001e12");
    assert_eq!(timed_from(ScheduleZero::First, &recent), Ok(()));
    assert_eq!(timed_from(ScheduleZero::At(1.7e12), &recent), Ok(()));
    let error = timed_from(ScheduleZero::At(0.0), &recent).unwrap_err();
    assert!(
        error.contains("d.jsonl:1: timestamp 1700000000000 is 1700000000 s after the zero of the schedule, 0"),
        "{error}"
    );
    assert!(error.contains("or --fixed-schedule-auto-offset"), "{error}");
    // The same applies to a later turn of any row.
    let error = timed_from(ScheduleZero::First, &format!("{}\n{}", row("5", "6"), row("7", "1.7e12"))).unwrap_err();
    assert!(error.contains("d.jsonl:2: timestamp 1700000000000 is "), "{error}");
}

#[test]
fn an_id_that_fits_no_header_field_is_refused() {
    let named = |bytes: usize| {
        read(&format!("{{\"session_id\": \"{}\", \"turns\": [{{\"text\": \"a\"}}]}}", "i".repeat(bytes)))
    };
    assert!(named(1024).is_ok());
    let error = named(1025).unwrap_err();
    assert!(error.starts_with("d.jsonl:1: session_id has 1025 bytes, and one may have 1024\n"), "{error}");
}

#[test]
fn an_error_about_a_large_count_names_the_largest() {
    let error = read_as("{\"text\": \"a\", \"output_length\": 1e30}", FileFormat::SingleTurn, |plan| plan).unwrap_err();
    assert!(error.starts_with("d.jsonl:1: output_length 1e30 must be at most 4294967295\n"), "{error}");
}

#[test]
fn a_schedule_by_timestamps_needs_one_in_each_first_turn() {
    let timed =
        "{\"turns\": [{\"text\": \"a\", \"timestamp\": 5}, {\"text\": \"b\"}, {\"text\": \"c\", \"timestamp\": -1}]}";
    let check = |rows: &str| timed_from(ScheduleZero::First, rows);
    assert_eq!(check(timed), Ok(()));
    let untimed = "{\"turns\": [{\"text\": \"a\"}, {\"text\": \"b\", \"timestamp\": 5}]}";
    let error = check(&format!("{timed}\n\n{untimed}")).unwrap_err();
    assert!(error.contains("d.jsonl:3: has no timestamp in its first turn, and a fixed schedule"), "{error}");
    assert!(error.contains("\n  try: a timestamp, in milliseconds"), "{error}");
    let made = of(&synthetic(2, Turns::ONE)).unwrap().check_timestamps(ScheduleZero::First).unwrap_err().to_string();
    assert!(made.starts_with("conversation session_000000: has no timestamp"), "{made}");
}

#[test]
fn rows_of_one_session_stay_independent_requests() {
    let rows = "{\"session_id\": \"s\", \"text\": \"a\", \"timestamp\": 9}\n{\"session_id\": \"s\", \"text\": \"b\", \"timestamp\": 3}";
    let dataset = read_as(rows, FileFormat::SingleTurn, |plan| plan).unwrap();
    assert_eq!(all(&dataset)[0].context_mode, Some(ContextMode::MessageArrayWithResponses));
    // A turn whose time is before that of the turn before it is late, and not a fault.
    assert_eq!(texts_of(&dataset), owned(&[("s", &["a", "b"])]));
    shapes_agree(&dataset);
    // One request of them remains.
    let dataset = within(rows, FileFormat::SingleTurn, Some(5.0), None).unwrap();
    assert_eq!((texts_of(&dataset), all(&dataset)[0].context_mode), (owned(&[("s", &["a"])]), None));
    assert_eq!(dataset.notes(), ["turns outside the offsets of the fixed schedule are left out: 1"]);
}

fn synthetic(entries: u32, turns: Turns) -> DatasetPlan {
    let isl = Some(Distribution::normal(4.0, 2.0));
    DatasetPlan::Synthetic(SyntheticPlan { osl: isl.clone(), isl, turns, ..SyntheticPlan::new(entries) })
}

fn turns(count: (f64, f64), delay_ms: (f64, f64), delay_ratio: f64) -> Turns {
    let length = |(mean, stddev)| Distribution::normal(mean, stddev);
    Turns { count: length(count), delay_ms: length(delay_ms), delay_ratio }
}

#[test]
fn conversations_have_the_turns_and_delays_of_the_plan() {
    let dataset = of(&synthetic(20, turns((3.0, 0.0), (50.0, 0.0), 0.5))).unwrap();
    for conversation in all(&dataset) {
        let delays: Vec<_> = conversation.turns.iter().map(|turn| turn.delay_ms).collect();
        assert_eq!(delays, [None, Some(25.0), Some(25.0)]);
        let texts: std::collections::BTreeSet<_> =
            conversation.turns.iter().map(|turn| &turn.texts[0].contents).collect();
        assert_eq!(texts.len(), 3, "each turn has another text");
        assert!(conversation.turns.iter().all(|turn| turn.max_tokens.is_some()));
    }
    shapes_agree(&dataset);
    let none = of(&synthetic(3, turns((3.0, 0.0), (0.0, 9.0), 1.0))).unwrap();
    assert!(all(&none).iter().flat_map(|one| &one.turns).all(|turn| turn.delay_ms.is_none()));
    let at_once = of(&synthetic(3, turns((2.0, 0.0), (50.0, 9.0), 0.0))).unwrap();
    assert!(all(&at_once).iter().all(|one| one.turns[1].delay_ms == Some(0.0)));
}

#[test]
fn turn_counts_and_delays_have_the_mean_and_deviation_of_the_plan() {
    let dataset = of(&synthetic(4000, turns((8.0, 2.0), (1000.0, 100.0), 1.0))).unwrap();
    let shapes = dataset.shapes();
    let spread = |drawn: &[f64]| {
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        (mean, (drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (drawn.len() - 1) as f64).sqrt())
    };
    let counts: Vec<f64> = (0..4000).map(|index| f64::from(shapes.turns(index))).collect();
    // A draw is rounded up.
    let (mean, deviation) = spread(&counts);
    assert!((mean - 8.5).abs() < 0.15 && (deviation - 2.0).abs() < 0.15, "{mean} {deviation}");
    let delay = |index| shapes.turn(index, 1).delay.map(Nanos::as_millis_f64);
    let (mean, deviation) = spread(&(0..4000).filter_map(delay).collect::<Vec<_>>());
    assert!((mean - 1000.5).abs() < 6.0 && (deviation - 100.0).abs() < 6.0, "{mean} {deviation}");
}

#[test]
fn a_turn_does_not_depend_on_the_number_of_others() {
    let short = of(&synthetic(4, turns((2.0, 0.0), (50.0, 20.0), 1.0))).unwrap();
    let long = of(&synthetic(9, turns((5.0, 0.0), (50.0, 20.0), 1.0))).unwrap();
    let one = of(&synthetic(4, Turns::ONE)).unwrap();
    for index in 0..4 {
        let (short, long) = (short.conversation(index).unwrap(), long.conversation(index).unwrap());
        assert_eq!(short.turns, long.turns[..2]);
        assert_eq!(one.conversation(index).unwrap().turns, short.turns[..1]);
    }
}

#[test]
fn many_conversations_of_several_turns_are_not_kept_in_memory() {
    let many = of(&synthetic(100_000, turns((10.0, 3.0), (50.0, 0.0), 1.0))).unwrap();
    let few = of(&synthetic(3, turns((10.0, 3.0), (50.0, 0.0), 1.0))).unwrap();
    for index in [2, 0] {
        assert_eq!(many.conversation(index).unwrap(), few.conversation(index).unwrap());
        assert_eq!(many.shapes().turns(index as u32), few.shapes().turns(index as u32));
    }
    assert_eq!(many.shapes().turns(99_999) as usize, many.conversation(99_999).unwrap().turns.len());
}

#[test]
fn more_turns_than_can_be_stored_are_refused() {
    let error = of(&synthetic(1000, turns((1e9, 0.0), (0.0, 0.0), 1.0))).unwrap_err().to_string();
    assert!(error.contains("1000 conversations of some 1000000000 turns") && error.contains("try: "), "{error}");
    let nothing = of(&synthetic(1, turns((f64::NAN, 0.0), (0.0, 0.0), 1.0))).unwrap_err().to_string();
    assert!(nothing.starts_with("--conversation-turn-mean needs a finite mean"), "{nothing}");
}

#[derive(Clone, Debug)]
struct Row {
    session: Option<u8>,
    turns: Vec<(Option<u32>, Option<u32>, bool)>,
}

fn rows(turns: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Row>> {
    let turn = (prop::option::of(0_u32..300), prop::option::of(0_u32..300), any::<bool>());
    let row = (prop::option::of(0_u8..4), prop::collection::vec(turn, turns));
    let row = row.prop_map(|(session, turns)| Row { session, turns });
    prop::collection::vec(row, 1..12)
}

/// The rows as a file, each turn with its own text.
fn written(rows: &[Row], format: FileFormat) -> String {
    let line = |(number, row): (usize, &Row)| {
        let turn = |(index, (timestamp, delay, is_system)): (usize, &(Option<u32>, Option<u32>, bool))| {
            let mut turn = serde_json::json!({"text": format!("{number}.{index}")});
            match (timestamp, delay) {
                (Some(timestamp), _) => turn["timestamp"] = (*timestamp).into(),
                (None, Some(delay)) => turn["delay"] = (*delay).into(),
                (None, None) => {}
            }
            if *is_system {
                turn["role"] = "system".into();
            }
            turn
        };
        let mut turns: Vec<_> = row.turns.iter().enumerate().map(turn).collect();
        let mut line = match format {
            FileFormat::SingleTurn => turns.remove(0),
            _ => serde_json::json!({"turns": turns}),
        };
        if let Some(session) = row.session {
            line["session_id"] = format!("s{session}").into();
        }
        line.to_string()
    };
    rows.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// The texts of each session, in the order of the first occurrence.
fn by_session(rows: &[Row]) -> Vec<Vec<String>> {
    let mut sessions: Vec<(Option<u8>, Vec<String>)> = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let texts = (0..row.turns.len()).map(|index| format!("{number}.{index}"));
        match sessions.iter_mut().find(|(session, _)| session.is_some() && *session == row.session) {
            Some((_, known)) => known.extend(texts),
            None => sessions.push((row.session, texts.collect())),
        }
    }
    sessions.into_iter().map(|(_, texts)| texts).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn rows_in_any_order_give_each_session_its_turns_in_the_order_of_the_file(rows in rows(1..4)) {
        let with = |plan| FilePlan { hoist_system: false, ..plan };
        let dataset = read_as(&written(&rows, FileFormat::MultiTurn), FileFormat::MultiTurn, with).unwrap();
        let texts: Vec<_> = texts_of(&dataset).into_iter().map(|(_, texts)| texts).collect();
        prop_assert_eq!(texts, by_session(&rows));
        let single: Vec<Row> = rows.iter().map(|row| Row { turns: row.turns[..1].to_vec(), ..row.clone() }).collect();
        let dataset = read_as(&written(&single, FileFormat::SingleTurn), FileFormat::SingleTurn, |plan| plan).unwrap();
        let texts: Vec<_> = texts_of(&dataset).into_iter().map(|(_, texts)| texts).collect();
        prop_assert_eq!(texts, by_session(&single));
    }

    #[test]
    fn shapes_of_files_agree_with_their_conversations(
        rows in rows(1..4),
        start in prop::option::of(0.0..300.0),
        end in prop::option::of(0.0..300.0),
        hoist_system: bool,
        entries in prop::option::of(1_u64..6),
    ) {
        let window = TimestampWindow { start_ms: start, end_ms: end };
        for format in [FileFormat::MultiTurn, FileFormat::SingleTurn] {
            let with = |plan| FilePlan { window, hoist_system, entries, delay_ratio: 0.3, ..plan };
            match read_as(&written(&rows, format), format, with) {
                Ok(dataset) => shapes_agree(&dataset),
                Err(error) => prop_assert!(error.starts_with("d.jsonl: has no turns with timestamps"), "{}", error),
            }
        }
    }

    #[test]
    fn shapes_of_synthetic_datasets_agree_with_their_conversations(
        count in (1.0..5.0, 0.0..3.0),
        delay in (0.0..90.0, 0.0..20.0),
        ratio in 0.0..2.0,
        is_even: bool,
    ) {
        let even = |(mean, stddev)| if is_even { (mean, 0.0) } else { (mean, stddev) };
        shapes_agree(&of(&synthetic(6, turns(even(count), even(delay), ratio))).unwrap());
    }
}
