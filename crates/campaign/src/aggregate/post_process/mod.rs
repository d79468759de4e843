//! Steps over the results of a sweep: a knee, a curve, a surface, a front.
//!
//! A handler takes the cells of a sweep and its own parameters, and returns a document, which is written next to the
//! sweep's files. If a handler fails, its error is written instead.
//!
//! # Layout
//! - [`Handler`]: one kind of step; one file per kind; [`HANDLERS`] lists them
//! - `params`: the parameters of a handler; `points`: cells as points

pub mod degradation_knee_detect;
pub mod itl_surface_fit;
mod params;
pub mod pareto_sweep_export;
mod points;
pub mod sla_breach_knee;
pub mod ttft_curve_fit;

use aiperf_plan::PostProcess;
use aiperf_report::aggregate::SweepCell;
use params::Params;
use serde_json::{Value, json};
use std::path::{Component, Path};

/// Written if a handler fails.
pub const ERRORS_FILE: &str = "post_process_errors.json";

/// Every handler, by name.
pub const HANDLERS: &[&Handler] = &[
    &degradation_knee_detect::HANDLER,
    &sla_breach_knee::HANDLER,
    &ttft_curve_fit::HANDLER,
    &itl_surface_fit::HANDLER,
    &pareto_sweep_export::HANDLER,
];

/// One kind of step over the results of a sweep.
pub struct Handler {
    pub name: &'static str,
    make: fn(&[SweepCell], &Params<'_>) -> Result<Made, String>,
}

/// A document, and messages about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Made {
    pub document: Value,
    /// The answer to the question of the sweep, in a sentence.
    pub answer: Option<String>,
    pub warning: Option<String>,
}

impl From<Value> for Made {
    fn from(document: Value) -> Self {
        Self { document, ..Self::default() }
    }
}

/// The file to write: the document, or the error.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub file: String,
    pub document: Value,
    pub answer: Option<String>,
    pub warning: Option<String>,
}

/// Executes the step that a plan asks for.
pub fn post_process(wanted: &PostProcess, cells: &[SweepCell]) -> Output {
    match made(wanted, cells) {
        Ok(Made { mut document, answer, warning }) => {
            add_doubted(&mut document, cells);
            Output { file: wanted.output_filename.clone(), document, answer, warning }
        }
        Err(error) => Output {
            file: ERRORS_FILE.to_owned(),
            answer: None,
            warning: Some(format!("{} was not written: {error}", wanted.output_filename)),
            // AIPerf's name of the error for any wrong value.
            document: json!({
                "handler": wanted.handler,
                "output_filename": wanted.output_filename,
                "error": error,
                "type": "ValueError",
            }),
        },
    }
}

/// Lists the cells whose runs are not trustworthy, so that a reader of the document does not take their numbers for
/// those of the server.
fn add_doubted(document: &mut Value, cells: &[SweepCell]) {
    let doubted = cells.iter().filter(|cell| cell.verdicts.has_doubts());
    let doubted = doubted.filter_map(|cell| {
        Some(json!({"parameters": cell.parameters, "measurement_verdict": cell.verdicts.grade()?.name()}))
    });
    let doubted: Vec<Value> = doubted.collect();
    if let Some(members) = document.as_object_mut().filter(|_| !doubted.is_empty()) {
        members.insert("not_trustworthy".to_owned(), doubted.into());
    }
}

/// Whether this is the name of a file and not a path.
pub(crate) fn is_file_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// The document, or why there is none.
pub fn made(wanted: &PostProcess, cells: &[SweepCell]) -> Result<Made, String> {
    if !is_file_name(&wanted.output_filename) {
        return Err(format!("{}: output_filename '{}' is no file name", wanted.handler, wanted.output_filename));
    }
    let known = HANDLERS.iter().find(|handler| handler.name == wanted.handler);
    let handler = known.ok_or_else(|| {
        let names: Vec<&str> = HANDLERS.iter().map(|handler| handler.name).collect();
        format!("there is no post-process handler '{}'; there are {}", wanted.handler, names.join(", "))
    })?;
    (handler.make)(cells, &Params { handler: handler.name, given: &wanted.params })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::{Grade, Stats, Verdict};
    use aiperf_report::aggregate::{CellMetrics, CellStats, RunVerdicts};
    use serde_json::Map;

    fn wanted(handler: &str, file: &str) -> PostProcess {
        let (handler, output_filename) = (handler.to_owned(), file.to_owned());
        PostProcess { handler, params: Map::new(), output_filename }
    }

    #[test]
    fn a_failure_is_written_with_the_name_of_its_handler() {
        let output = post_process(&wanted("pareto_sweep_export", "pareto.json"), &[]);
        assert_eq!(output.file, "post_process_errors.json");
        assert_eq!(output.document["handler"], "pareto_sweep_export");
        assert_eq!(output.document["output_filename"], "pareto.json");
        assert!(output.document["error"].as_str().is_some_and(|error| error.contains("x_metric")), "{output:?}");
        assert!(output.warning.is_some());
    }

    #[test]
    fn a_knee_at_a_run_that_is_not_trustworthy_is_marked() {
        let cell = |concurrency: u64, latency: f64, grade| {
            let stats = CellStats { unit: "ms".to_owned(), stats: Stats::of(latency) };
            let verdict = Verdict { grade, reasons: Vec::new() };
            SweepCell {
                label: String::new(),
                parameters: Map::from_iter([("concurrency".to_owned(), json!(concurrency))]),
                metrics: CellMetrics::One(vec![("request_latency".to_owned(), stats)]),
                verdicts: RunVerdicts { runs: vec![("run".to_owned(), verdict)] },
            }
        };
        let params = json!({
            "metric_tag": "request_latency", "stat": "avg", "swept_param": "concurrency", "threshold_pct": 0.5,
        });
        let params = params.as_object().cloned().unwrap_or_default();
        let asked = PostProcess { params, ..wanted("degradation_knee_detect", "knee.json") };
        let cells = [cell(1, 10.0, Grade::Trustworthy), cell(8, 20.0, Grade::ClientBound)];
        let output = post_process(&asked, &cells);
        let answer = output.answer.unwrap_or_default();
        assert!(answer.starts_with("knee_concurrency: 8 (client-bound); "), "{answer}");
        let doubted = json!([{"parameters": {"concurrency": 8}, "measurement_verdict": "client-bound"}]);
        assert_eq!(output.document["not_trustworthy"], doubted);
        let sure = post_process(&asked, &cells[..1]);
        assert!(sure.document.get("not_trustworthy").is_none(), "{sure:?}");
    }

    #[test]
    fn nothing_is_written_outside_the_folder_or_by_an_unknown_handler() {
        for file in ["../x.json", "/x.json", "a/b.json", "", ".", ".."] {
            assert!(made(&wanted("ttft_curve_fit", file), &[]).is_err_and(|error| error.contains("no file name")));
        }
        assert!(made(&wanted("x", "a.json"), &[]).is_err_and(|error| error.contains("itl_surface_fit")));
    }
}
