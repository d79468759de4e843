//! How sure the numbers of a run are, read from the `measurement` block of its summary.

use aiperf_metrics::verdict::grade_of_reason;
use aiperf_metrics::{Certainty, Grade, Reason, StatisticCertainty, Verdict};
use aiperf_report::RunResult;
use serde_json::Value;

/// How sure the numbers of a finished run are.
pub fn certainty(run: &RunResult) -> Certainty {
    run.measurement.as_ref().map(Certainty::of_run).unwrap_or_default()
}

/// The same from the block in a file. What another version wrote differently is unknown.
pub(crate) fn read(measurement: &Value) -> Certainty {
    let mut certainty = Certainty::new(verdict(&measurement["verdict"]));
    let (bounds, intervals) = (&measurement["error_bound"], &measurement["confidence"]);
    // Other units than this have no meaning here.
    let in_ms = bounds["unit"] == "ms";
    let metrics = [bounds, intervals].into_iter().filter_map(Value::as_object).flatten();
    let metrics = metrics.filter(|(tag, _)| *tag != "causes");
    for (tag, statistics) in metrics {
        for statistic in statistics.as_object().into_iter().flatten().map(|(name, _)| name) {
            let interval = &intervals[tag][statistic];
            let known = StatisticCertainty {
                bound_ms: bounds[tag][statistic]["bound"].as_f64().filter(|bound| in_ms && *bound >= 0.0),
                too_few: interval["n"].as_u64().filter(|_| interval["enough"] == false),
            };
            certainty.add(tag, statistic, known);
        }
    }
    certainty
}

/// A verdict of a file, with its reasons.
pub(crate) fn verdict(block: &Value) -> Option<Verdict> {
    let grade = Grade::parse(block["is"].as_str()?)?;
    // A file may have been edited: a line break in a text would look like a line of this program.
    let text = |value: &Value| {
        let shown = |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
        value.as_str().unwrap_or_default().chars().map(shown).collect::<String>()
    };
    let reason = |reason: &Value| {
        let (code, limit) = (text(&reason["code"]), reason["limit"].as_f64().unwrap_or_default());
        Reason {
            grade: grade_of_reason(&code, limit).unwrap_or(grade),
            code: code.into(),
            value: reason["value"].as_f64().unwrap_or_default(),
            limit,
            text: text(&reason["text"]),
            fix: text(&reason["fix"]).into(),
        }
    };
    let reasons = block["reasons"].as_array().into_iter().flatten().map(reason).collect();
    Some(Verdict { grade, reasons })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reason_cannot_forge_a_line() {
        let reason = json!({"code": "held", "limit": 0.01, "text": "a\nregressions: none\u{1b}[2J", "fix": "b\r\nc"});
        let read = verdict(&json!({"is": "client-bound", "reasons": [reason]})).unwrap();
        assert_eq!(read.reasons[0].text, "a\\nregressions: none\\u{1b}[2J");
        assert_eq!(read.reasons[0].fix, "b\\r\\nc");
    }

    #[test]
    fn what_a_summary_holds_is_read_back() {
        let found = read(&json!({
            "verdict": {"is": "client-bound", "reasons": [
                {"code": "error_bound", "value": 0.3, "limit": 0.1, "text": "off by 12 ms", "fix": "taskset"},
                {"code": "coalesced", "value": 0.5, "limit": 0.05, "text": "together", "fix": "no proxy"},
                {"code": "of another version", "value": 1, "text": "x"},
            ]},
            "error_bound": {
                "unit": "ms",
                "time_to_first_token": {"p99": {"bound": 12.5, "early": 12.5, "late": 0}},
                "causes": {"merged": 12.5},
            },
            "confidence": {"level": 0.95, "time_to_first_token": {
                "avg": {"lo": 1, "hi": 2, "n": 60, "enough": true},
                "p99": {"lo": 1, "hi": null, "n": 60, "enough": false},
            }},
        }));
        let verdict = found.verdict.clone().unwrap();
        let grades: Vec<Grade> = verdict.reasons.iter().map(|reason| reason.grade).collect();
        assert_eq!(grades, [Grade::ClientBound, Grade::Trustworthy, Grade::ClientBound]);
        assert_eq!(verdict.in_words(), "client-bound: off by 12 ms");
        let known = |stat| found.of("time_to_first_token", stat);
        assert_eq!(known("p99"), StatisticCertainty { bound_ms: Some(12.5), too_few: Some(60) });
        assert_eq!((known("avg"), known("p42")), Default::default());
    }

    #[test]
    fn a_run_that_did_not_judge_itself_has_no_verdict() {
        for block in [json!(null), json!({"doubts": []}), json!({"verdict": {"is": "splendid"}})] {
            assert_eq!(read(&block), Certainty::default(), "{block}");
        }
    }
}
