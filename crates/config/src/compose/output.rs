//! Artifacts, screen and log.

use crate::context::Context;
use crate::given::Flags;
use crate::tree::{Node, Origin};
use serde_json::json;

/// What is written, as flags say it.
pub(crate) fn artifacts(benchmark: &mut Node, flags: &Flags) {
    let artifacts = benchmark.child("artifacts");
    level_and_prefix(artifacts, flags);
    for (flag, key) in [("--auto-plot", "auto_plot"), ("--plot-required", "plot_required")] {
        artifacts.put(key, flags.node(flag).unwrap_or_else(|| Node::rule(false)));
    }
}

/// Export level and file prefix.
pub(crate) fn level_and_prefix(artifacts: &mut Node, flags: &Flags) {
    if let Some(said) = flags.get("--export-level") {
        let level = flags.text("--export-level").unwrap_or_default();
        let origin = Origin::Flag(said.spelled.clone());
        let records = if level == "summary" { json!(false) } else { json!(["jsonl"]) };
        artifacts.put("records", Node::from_json(&records, &origin));
        artifacts.put("raw", Node::from_json(&json!(level == "raw"), &origin));
    }
    if let Some(prefix) = flags.text("--profile-export-prefix") {
        let last = if prefix.starts_with('/') { prefix.rsplit('/').next().unwrap_or(prefix) } else { prefix };
        artifacts.put("prefix", Node::flag(&json!(last), flags.spelled("--profile-export-prefix")));
    }
}

/// Screen and log. A file's choice stands unless a flag says otherwise; a run whose output goes to a file or pipe
/// shows nothing unless something was asked for.
pub(crate) fn screen(benchmark: &mut Node, flags: &Flags, ctx: &Context<'_>, notes: &mut Vec<String>) {
    let verbose = [("--extra-verbose", "TRACE"), ("--verbose", "DEBUG")].into_iter().find(|(flag, _)| flags.on(flag));
    if let Some((flag, level)) = verbose {
        let spelled = flags.spelled(flag);
        benchmark.place("logging.level", Node::flag(&json!(level), spelled));
        benchmark.place("runtime.ui", Node::flag(&json!("simple"), spelled));
    } else {
        if let Some(level) = flags.node("--log-level") {
            benchmark.place("logging.level", level);
        }
        match flags.node("--ui-type") {
            Some(ui) if ui.text() == Some("dashboard") && !ctx.stdout_is_terminal => {
                notes.push("the dashboard needs a terminal: showing simple progress instead".to_owned());
                benchmark.place("runtime.ui", Node::flag(&json!("simple"), flags.spelled("--ui-type")));
            }
            Some(ui) => benchmark.place("runtime.ui", ui),
            None if !ctx.stdout_is_terminal && benchmark.find("runtime.ui").is_none() => {
                benchmark.place("runtime.ui", Node::rule("none"));
            }
            None => {}
        }
    }
    communication(benchmark, flags);
}

fn communication(benchmark: &mut Node, flags: &Flags) {
    let by = if let Some(path) = flags.text("--zmq-ipc-path") {
        Some((json!({"type": "ipc", "path": path}), "--zmq-ipc-path"))
    } else if let Some(host) = flags.text("--zmq-host") {
        Some((json!({"type": "tcp", "host": host}), "--zmq-host"))
    } else if flags.on("--zmq-dual-bind") {
        Some((json!({"type": "dual"}), "--zmq-dual-bind"))
    } else {
        None
    };
    if let Some((value, flag)) = by {
        benchmark.place("runtime.communication", Node::flag(&value, flag));
    }
}
