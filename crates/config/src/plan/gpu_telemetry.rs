//! What is collected of GPUs, and how.

use super::idle_variables;
use crate::choice::Choice;
use crate::context::Context;
use crate::error::Problem;
use crate::resolve::Tree;
use crate::sections::observe::{GpuCollector, GpuMode, GpuTelemetry};
use crate::tree::Origin;
use crate::{os_text, small_file};
use aiperf_plan::{DcgmExporter, GpuMetricsFile, GpuSource, GpuTelemetryPlan, MetricsUrl, UiKind};
use aiperf_types::Nanos;

const SECTION: &str = "benchmark.gpu_telemetry";
const VARIABLES: &str = "AIPERF_GPU_";
const USUAL: &str = "AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS";
/// A read timeout this many times as long as the interval is probably a mistake.
const LONG_READ: f64 = 100.0;

pub(super) fn plan(
    tree: &Tree,
    ctx: &Context<'_>,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<GpuTelemetryPlan> {
    let section = tree.benchmark.gpu_telemetry.clone().unwrap_or_default();
    if !section.enabled() {
        notes.extend(idle_variables(tree, VARIABLES, "GPU telemetry is off"));
        return None;
    }
    let source = match section.collector() {
        GpuCollector::Dcgm => GpuSource::Exporters(exporters(tree, &section, problems)),
        GpuCollector::Local(source) => GpuSource::Local(source),
    };
    if let (GpuSource::Local(_), Some(name)) = (&source, &section.metrics_file) {
        let (file, collector) = (asked(tree, "metrics_file", name), section.collector().name());
        problems.push(
            Problem::new(format!("{file} cannot be used with {collector}"))
                .because("it lists fields of DCGM, which only DCGM exporters provide")
                .hint(format!("{collector} alone, or the file with a DCGM exporter"))
                .at(format!("{SECTION}.metrics_file")),
        );
    }
    let file = section.metrics_file.as_deref().filter(|_| matches!(source, GpuSource::Exporters(_)));
    let metrics_file =
        file.and_then(|name| match small_file::text(&ctx.cwd.join(os_text::path(name)), small_file::SETTINGS) {
            Ok(text) => Some(GpuMetricsFile { name: name.to_owned(), text }),
            Err(rule) => {
                let what = match rule == "no such file" {
                    true => format!("GPU metrics file not found: {name}"),
                    false => format!("GPU metrics file {name} {rule}"),
                };
                problems.push(
                    Problem::new(what)
                        .because("it lists fields of DCGM, a row `FIELD, gauge|counter, help text` each")
                        .hint(format!("an existing file, or no {}", asked(tree, "metrics_file", name)))
                        .at(format!("{SECTION}.metrics_file")),
                );
                None
            }
        });
    let (gpus, scrapes) = (&tree.environment.gpus, &tree.environment.scrapes);
    if scrapes.read_timeout > LONG_READ * gpus.interval {
        notes.push(format!(
            "AIPERF_HTTP_METRICS_SCRAPE_READ_TIMEOUT ({} s) is more than {LONG_READ} times \
             AIPERF_GPU_COLLECTION_INTERVAL ({} s): a page that hangs costs many samples",
            scrapes.read_timeout, gpus.interval
        ));
    }
    Some(GpuTelemetryPlan {
        source,
        is_requested: is_requested(tree),
        metrics_file,
        interval: Nanos::from_secs_f64(gpus.interval),
        reachability_timeout: Nanos::from_secs_f64(gpus.reachability_timeout),
        read_timeout: Nanos::from_secs_f64(scrapes.read_timeout),
        grace: gpus.grace,
    })
}

/// Whether the dashboard opens with its GPU pane; there must be a dashboard.
pub(super) fn opens_pane(tree: &Tree, ui: UiKind, notes: &mut Vec<String>) -> bool {
    let section = tree.benchmark.gpu_telemetry.clone().unwrap_or_default();
    let is_wanted = section.enabled() && section.mode() == GpuMode::RealtimeDashboard;
    if is_wanted && ui != UiKind::Dashboard {
        let asked = asked(tree, "mode", "dashboard");
        notes
            .push(format!("{asked}: there is no dashboard (--ui {}); GPUs are shown at the end of the run", ui.name()));
    }
    is_wanted
}

/// The default exporters, then the user's.
fn exporters(tree: &Tree, section: &GpuTelemetry, problems: &mut Vec<Problem>) -> Vec<DcgmExporter> {
    let mut exporters: Vec<DcgmExporter> = Vec::new();
    for text in &tree.environment.gpus.usual {
        match MetricsUrl::parse(text) {
            Ok(url) if exporters.iter().all(|known| known.url != url) => {
                exporters.push(DcgmExporter { url, is_guess: true });
            }
            Ok(_) => {}
            Err(error) => problems.push(Problem::new(format!("{USUAL}: {error}")).hint("http://HOST:PORT/metrics")),
        }
    }
    for (index, text) in section.urls.iter().flat_map(|urls| &urls.0).enumerate() {
        match MetricsUrl::parse(text) {
            Ok(url) => match exporters.iter_mut().find(|known| known.url == url) {
                Some(known) => known.is_guess = false,
                None => exporters.push(DcgmExporter { url, is_guess: false }),
            },
            // The rules have already refused it, unless they could not see it.
            Err(error) => problems.push(
                Problem::new(error.to_string()).hint("http://HOST:PORT/metrics").at(format!("{SECTION}.urls.{index}")),
            ),
        }
    }
    exporters
}

/// The origin of the request: the flag with its item, or the key of a file.
fn asked(tree: &Tree, key: &str, item: &str) -> String {
    let path = format!("{SECTION}.{key}");
    match tree.node.find(&path) {
        Some(node) => match &node.origin {
            Origin::Flag(spelled) => format!("{spelled} {item}"),
            _ => format!("{}: {item}", tree.places.subject_key(node, &path)),
        },
        None => item.to_owned(),
    }
}

/// Whether a flag or a file sets it.
fn is_requested(tree: &Tree) -> bool {
    let node = tree.node.find(SECTION);
    node.is_some_and(|node| {
        let is_given = |origin: &Origin| !matches!(origin, Origin::Rule);
        is_given(&node.origin) || node.entries().iter().any(|(_, entry)| is_given(&entry.origin))
    })
}
