//! Whether a run could send the rows of a mooncake trace.

use super::lines::Lines;
use crate::error::DatasetError;
use crate::trace::RowCheck;
use std::path::Path;

/// The result for a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validation {
    pub rows: u64,
    /// The first faults.
    pub faults: Vec<RowFault>,
    /// The number of all faults.
    pub fault_count: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RowFault {
    pub line: u64,
    /// What is wrong, and in which field: one line.
    pub what: String,
}

impl Validation {
    /// Faults that are listed one by one.
    pub const MOST_LISTED: usize = 10;

    /// Checks a file whose hash ids have `block_size` tokens; `None` is the default of the format. Refuses a file
    /// without rows.
    pub fn read(path: &Path, block_size: Option<u64>) -> Result<Self, DatasetError> {
        Self::of(Lines::open(path)?, block_size)
    }

    pub(super) fn of(mut lines: Lines, block_size: Option<u64>) -> Result<Self, DatasetError> {
        let mut found = Self::default();
        let mut rows = RowCheck::new(block_size);
        while let Some((line, text)) = lines.next()? {
            found.rows += 1;
            let Err(fault) = rows.check(text) else { continue };
            found.fault_count += 1;
            if found.faults.len() < Self::MOST_LISTED {
                let what = fault.lines().next().unwrap_or_default().to_owned();
                found.faults.push(RowFault { line, what });
            }
        }
        if found.rows == 0 { Err(lines.empty()) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_golden::kinds::datasets::INPUT_FILE;
    use aiperf_golden::skips_mark;
    use proptest::prelude::*;
    use serde_json::Value;
    use std::io::Cursor;

    fn read(text: impl Into<Vec<u8>>) -> Result<Validation, DatasetError> {
        Validation::of(Lines::of("t".into(), Cursor::new(text.into()))?, None)
    }

    fn found(text: &str) -> Validation {
        read(text).unwrap()
    }

    fn faults(text: &str) -> Vec<String> {
        found(text).faults.into_iter().map(|fault| format!("{}: {}", fault.line, fault.what)).collect()
    }

    fn skip(case: &Value) -> Option<String> {
        let floors = |error: &Value| error["message"].as_str().is_some_and(|text| text.contains("max_tokens"));
        if case["format"] != "mooncake_trace" {
            return Some("has another format".into());
        }
        floors(&case["error"]).then(|| "a length of 0 is valid here".into()).or_else(|| skips_mark(&case["files"]))
    }

    #[test]
    fn golden_traces_are_right_where_they_are_read() {
        INPUT_FILE.run(skip, |case| {
            let text = case["files"][case["input"].as_str().unwrap()].as_str().unwrap().to_owned();
            let lines = Lines::of("t".into(), Cursor::new(text));
            let found = lines.and_then(|lines| Validation::of(lines, case["options"]["block_size"].as_u64()));
            let is_right = found.is_ok_and(|found| found.fault_count == 0);
            assert_eq!(is_right, case["conversations"].as_array().is_some_and(|all| !all.is_empty()), "{case}");
        });
    }

    #[test]
    fn rows_of_every_kind_are_valid() {
        let text = "\u{feff}{\"input_length\": 5, \"output_length\": \"7\", \"hash_ids\": [1], \"timestamp\": 1.5}\n\n\
                    {\"text_input\": \"a\", \"session_id\": \"s\", \"delay\": 3, \"more\": 1}\n\
                    {\"messages\": [{\"role\": \"user\"}], \"tools\": [{}], \"type\": \"mooncake_trace\"}\n\
                    {\"payload\": {\"a\": 1}, \"extra\": {}}\n{\"text_input\": \"a\", \"session_id\": 7}";
        assert_eq!(found(text), Validation { rows: 5, ..Validation::default() });
    }

    #[test]
    fn every_fault_names_its_line_and_field() {
        let long = "s".repeat(1025);
        let text = format!(
            "{{\"input_length\": 5.5}}\n{{\"input_length\": 5, \"text_input\": \"x\"}}\n[1]\n{{\"output_length\": 1}}\n\
             {{\"text_input\": \"a\", \"hash_ids\": [1]}}\n{{\"messages\": [{{\"content\": 1}}]}}\nx\n\
             {{\"input_length\": -1}}\n{{\"text_input\": \"a\", \"delay\": -1}}\n\
             {{\"text_input\": \"a\", \"session_id\": \"{long}\"}}"
        );
        let wanted = [
            "1: input_length must be a whole number, not a number of another kind",
            "2: a row has one of input_length, text_input, messages and payload, and this has input_length and text_input",
            "3: is no JSON object",
            "4: a row has one of input_length, text_input, messages and payload, and this has none",
            "5: hash_ids stand for text of input_length, and this row has text_input",
            "6: messages[0] has no role",
            "7: is no JSON object",
            "8: input_length -1 is no number of tokens: 0 to 10000000",
            "9: delay -1 is below 0",
            "10: session_id has 1025 bytes, and one may have 1024",
        ];
        assert_eq!(faults(&text), wanted);
    }

    #[test]
    fn rows_that_a_run_refuses_only_when_it_sends_them_are_faulty() {
        for row in [
            r#"{"payload": {"a": 1e999}}"#,
            r#"{"messages": [{"role": "user", "content": "\ud800"}]}"#,
            r#"{"text_input": "a", "extra": {"a": 1e999}}"#,
        ] {
            assert_eq!(found(row).fault_count, 1, "{row}");
        }
    }

    #[test]
    fn the_number_of_hash_ids_must_match_the_length() {
        let text = "{\"input_length\": 40, \"hash_ids\": [1, 2, 3]}";
        assert_eq!(faults(text), ["1: 3 hash_ids of 512 tokens are more than an input_length of 40 has"]);
        let lines = Lines::of("t".into(), Cursor::new(text)).unwrap();
        assert_eq!(Validation::of(lines, Some(16)).unwrap().fault_count, 0);
    }

    #[test]
    fn all_faults_are_counted_and_the_first_ones_listed() {
        let found = found(&"{}\n".repeat(30));
        assert_eq!((found.fault_count, found.faults.len()), (30, 10));
    }

    #[test]
    fn a_session_has_rows_of_one_form() {
        let text = "{\"session_id\": \"s\", \"input_length\": 1}\n{\"session_id\": \"s\", \"text_input\": \"a\"}\n\
                    {\"session_id\": \"s\", \"messages\": [{\"role\": \"user\"}]}";
        assert_eq!(faults(text), ["3: is a row of messages, and its session has text"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_valid_or_faulty(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(bytes);
        }

        #[test]
        fn a_truncated_row_is_faulty(cut in 1_usize..60) {
            let row = "{\"input_length\": 5, \"hash_ids\": [1], \"session_id\": \"\u{e9}\"}";
            let cut = (0..=cut.min(row.len() - 1)).rev().find(|at| row.is_char_boundary(*at)).unwrap_or(0);
            prop_assume!(cut > 0);
            prop_assert_eq!(found(&row[..cut]).fault_count, 1);
        }
    }
}
