//! Artifacts, screen and log.

use crate::choice::Choice;
use crate::context::Context;
use crate::error::Problem;
use crate::flags::{
    AUTO_PLOT, EXPORT_LEVEL, EXTRA_VERBOSE, LOG_LEVEL, NO_RECORDS_PARQUET, PLOT_REQUIRED, PROFILE_EXPORT_PREFIX,
    UI_TYPE, VERBOSE, ZMQ_DUAL_BIND, ZMQ_HOST, ZMQ_IPC_PATH,
};
use crate::given::GivenFlags;
use crate::sections::artifacts::RecordFormat;
use crate::sections::process::CommunicationKind;
use crate::tree::{Datum, Node, Origin, Places};
use aiperf_plan::{ExportLevel, LogLevel, UiKind};
use serde_json::json;

const NO_TERMINAL: &str =
    "--ui dashboard requires an interactive terminal; stdout is not a TTY, falling back to --ui simple";

const NOT_DRAWN_ON: &str = "--ui dashboard requires a terminal that can position the cursor";

/// What is written, from flags.
pub(super) fn artifacts(benchmark: &mut Node, flags: &GivenFlags, places: &Places, problems: &mut Vec<Problem>) {
    for (flag, key) in [(AUTO_PLOT, "artifacts.auto_plot"), (PLOT_REQUIRED, "artifacts.plot_required")] {
        if let Some(node) = flags.node(flag) {
            benchmark.place(key, node);
        }
    }
    if let Some(level) = flags.choice::<ExportLevel>(EXPORT_LEVEL) {
        let origin = Origin::Flag(flags.spelled(EXPORT_LEVEL).to_owned());
        let records = if level == ExportLevel::Summary { json!(false) } else { json!(RecordFormat::NAMES) };
        benchmark.place("artifacts.records", Node::from_json(&records, &origin));
        benchmark.place("artifacts.raw", Node::from_json(&json!(level == ExportLevel::Raw), &origin));
    }
    if flags.on(NO_RECORDS_PARQUET) {
        problems.extend(without_parquet(benchmark, flags.spelled(NO_RECORDS_PARQUET), places).err());
    }
    if let Some(prefix) = flags.text(PROFILE_EXPORT_PREFIX) {
        let last = if prefix.starts_with('/') { prefix.rsplit('/').next().unwrap_or(prefix) } else { prefix };
        benchmark.place("artifacts.prefix", Node::flag(&json!(last), flags.spelled(PROFILE_EXPORT_PREFIX)));
    }
}

/// Records without those in Parquet. If the file asks for Parquet only, flag and file contradict each other.
fn without_parquet(benchmark: &mut Node, spelled: &str, places: &Places) -> Result<(), Problem> {
    const AT: &str = "artifacts.records";
    let is_parquet = |node: &Node| node.text().and_then(RecordFormat::parse) == Some(RecordFormat::Parquet);
    let origin = Origin::Flag(spelled.to_owned());
    let rest = match benchmark.find(AT).map(|node| (node, &node.datum)) {
        None | Some((_, Datum::Null)) => json!([RecordFormat::Jsonl.name()]),
        Some((_, Datum::List(items))) if items.iter().any(|item| !is_parquet(item)) => {
            items.iter().filter(|item| !is_parquet(item)).map(Node::to_json).collect()
        }
        Some((node, Datum::List(items))) if !items.is_empty() => return Err(contradicts(node, spelled, places)),
        Some((node, _)) if is_parquet(node) => return Err(contradicts(node, spelled, places)),
        // Nothing is written anyway, or the value is refused elsewhere.
        Some(_) => return Ok(()),
    };
    benchmark.place(AT, Node::from_json(&rest, &origin));
    Ok(())
}

fn contradicts(records: &Node, spelled: &str, places: &Places) -> Problem {
    let at = "benchmark.artifacts.records";
    Problem::new(format!("{} contradicts {spelled}", places.subject(records, at)))
        .because("together they leave no format for records")
        .hint(format!("records: [jsonl], or no {spelled}; for no records --export-level summary"))
        .at(at)
}

/// Screen and log. A flag overrides a file. Without either, a run whose output goes to a file or pipe shows nothing.
pub(super) fn screen(benchmark: &mut Node, flags: &GivenFlags, ctx: &Context<'_>, notes: &mut Vec<String>) {
    let verbose =
        [(EXTRA_VERBOSE, LogLevel::Trace), (VERBOSE, LogLevel::Debug)].into_iter().find(|(flag, _)| flags.on(flag));
    if let Some((flag, level)) = verbose {
        let spelled = flags.spelled(flag);
        benchmark.place("logging.level", Node::flag(&level.name().into(), spelled));
        benchmark.place("runtime.ui", Node::flag(&UiKind::Simple.name().into(), spelled));
    } else {
        if let Some(level) = flags.node(LOG_LEVEL) {
            benchmark.place("logging.level", level);
        }
        match flags.choice::<UiKind>(UI_TYPE) {
            Some(ui) => benchmark.place("runtime.ui", Node::flag(&ui.name().into(), flags.spelled(UI_TYPE))),
            None if !ctx.stdout_is_terminal && benchmark.find("runtime.ui").is_none() => {
                benchmark.place("runtime.ui", Node::rule(UiKind::None));
            }
            None => {}
        }
        without_terminal(benchmark, ctx, notes);
    }
    communication(benchmark, flags);
}

/// Replaces a dashboard that cannot be shown with lines, with a note if the user requested it.
fn without_terminal(benchmark: &mut Node, ctx: &Context<'_>, notes: &mut Vec<String>) {
    let Some(runtime) = benchmark.get_mut("runtime").filter(|_| !ctx.stdout_can_be_drawn_on()) else { return };
    if runtime.choice("ui") == Some(UiKind::Dashboard)
        && let Some(ui) = runtime.get_mut("ui")
    {
        ui.datum = UiKind::Simple.into();
        notes.push(match (ctx.stdout_is_terminal, ctx.terminal_kind()) {
            (false, _) => NO_TERMINAL.to_owned(),
            (true, "") => format!("{NOT_DRAWN_ON}; TERM is not set, falling back to --ui simple"),
            (true, kind) => format!("{NOT_DRAWN_ON}; TERM is {kind}, falling back to --ui simple"),
        });
    }
}

fn communication(benchmark: &mut Node, flags: &GivenFlags) {
    let by = if let Some(path) = flags.text(ZMQ_IPC_PATH) {
        Some((json!({"type": CommunicationKind::Ipc.name(), "path": path}), ZMQ_IPC_PATH))
    } else if let Some(host) = flags.text(ZMQ_HOST) {
        Some((json!({"type": CommunicationKind::Tcp.name(), "host": host}), ZMQ_HOST))
    } else if flags.on(ZMQ_DUAL_BIND) {
        Some((json!({"type": CommunicationKind::Dual.name()}), ZMQ_DUAL_BIND))
    } else {
        None
    };
    if let Some((value, flag)) = by {
        benchmark.place("runtime.communication", Node::flag(&value, flag.name));
    }
}
