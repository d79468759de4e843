//! The metrics of GPUs: their vendor, and one table per GPU.

use super::metrics::{NUMBERS, give_way, left_out};
use super::page::{Page, Style};
use super::panel::Panel;
use super::table::{Cell, Column, Table};
use super::text::{Align, one_line};
use crate::format::number::grouped;
use crate::run::{GpuTelemetryResult, RunResult};
use aiperf_observe::gpu::{GpuStats, GpuSummary};
use aiperf_types::{GpuVendor, Stats};

/// From here on numbers are shown in powers of ten.
const LARGE: f64 = 1e6;

/// Characters of a name to show.
const LONGEST_NAME: usize = 200;

const COMPARING: &str =
    "Metric semantics are platform-specific; cross-platform comparisons require workload and collector validation.";
const NOTHING: &str = "No GPU telemetry data collected during the benchmarking run.";

/// GPUs that were seen, or that the user asked for.
fn result(run: &RunResult) -> Option<&GpuTelemetryResult> {
    let result = run.gpu_telemetry.as_deref()?;
    (result.is_requested || result.has_data()).then_some(result)
}

/// The vendor of the GPUs.
pub(crate) fn platform(run: &RunResult, page: Page) -> Option<String> {
    let platforms: Vec<&str> = result(run)?.telemetry.vendors().into_iter().map(GpuVendor::name).collect();
    let platforms = if platforms.is_empty() { "unknown".to_owned() } else { platforms.join(", ") };
    let lines = [format!("Platform: {platforms}"), COMPARING.to_owned()];
    let panel = Panel {
        title: "GPU Telemetry Platform".to_owned(),
        border: Style::YELLOW,
        lines: lines.into_iter().map(|line| (line, Style::PLAIN)).collect(),
    };
    Some(format!("\n\n{}", panel.draw(page)))
}

/// One table per GPU; the first is below the list of sources.
pub(crate) fn tables(run: &RunResult, page: Page) -> Option<String> {
    let result = result(run)?;
    if !result.telemetry.has_gpus() {
        return Some(nothing(result, page));
    }
    let gpus = result
        .telemetry
        .endpoints
        .iter()
        .flat_map(|endpoint| endpoint.gpus.iter().map(move |gpu| table(&endpoint.display_name, gpu, result, page)));
    let tables: Vec<Table> = gpus.collect();
    let mut out = "\n\n".to_owned();
    for (at, table) in tables.iter().enumerate() {
        if at == 0 {
            out.push_str(&table.draw_below(&sources(result), page));
        } else {
            out.push_str(&format!("\n{}", table.draw(page)));
        }
    }
    Some(out + &left_out(&tables, run, page).unwrap_or_default())
}

fn nothing(result: &GpuTelemetryResult, page: Page) -> String {
    let mut out = format!("\n\n{}\n", page.paint(Style::DIM_ITALIC, NOTHING));
    for (state, title) in
        [(SourceState::Unreachable, "Unreachable endpoints:"), (SourceState::WithoutGpu, "Endpoints without a GPU:")]
    {
        let of_state = named(result).into_iter().filter(|(_, known)| *known == state);
        let names: Vec<String> = of_state.map(|(name, _)| format!("  • {name}\n")).collect();
        if !names.is_empty() {
            out.push_str(&format!("\n{}\n", page.paint(Style::DIM_ITALIC, title)));
            out.push_str(&names.concat());
        }
    }
    out
}

/// The number of sources, and their names.
fn sources(result: &GpuTelemetryResult) -> Vec<(String, Style)> {
    let named = named(result);
    let there = named.iter().filter(|(_, state)| *state != SourceState::Unreachable).count();
    let style = match there {
        0 => Style::RED,
        _ if there == named.len() => Style::GREEN,
        _ => Style::YELLOW,
    };
    let reachable = format!("{there}/{} telemetry sources reachable", named.len());
    let source = |(name, state): (String, SourceState)| match state {
        SourceState::HasGpus => (format!("• {name} ✔"), Style::GREEN),
        SourceState::WithoutGpu => (format!("• {name} ✘ (without a GPU)"), Style::YELLOW),
        SourceState::Unreachable => (format!("• {name} ✘ (unreachable)"), Style::RED),
    };
    let head = [("AIPerf | GPU Telemetry Summary".to_owned(), Style::BOLD), (reachable, style)];
    head.into_iter().chain(named.into_iter().map(source)).chain([(String::new(), Style::PLAIN)]).collect()
}

/// The state of a source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SourceState {
    HasGpus,
    /// It responded, but its page has no GPUs.
    WithoutGpu,
    Unreachable,
}

/// Sources by the names in tables, with their states.
fn named(result: &GpuTelemetryResult) -> Vec<(String, SourceState)> {
    let telemetry = &result.telemetry;
    let name = |url: &str| {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        one_line(rest.strip_suffix("/metrics").unwrap_or(rest), LONGEST_NAME)
    };
    let state = |url| match (telemetry.successful.contains(url), telemetry.reached.contains(url)) {
        (true, _) => SourceState::HasGpus,
        (false, true) => SourceState::WithoutGpu,
        (false, false) => SourceState::Unreachable,
    };
    telemetry.configured.iter().map(|url| (name(url), state(url))).collect()
}

fn table(endpoint: &str, summary: &GpuSummary, result: &GpuTelemetryResult, page: Page) -> Table<'static> {
    let number = summary.key.strip_prefix("gpu_").unwrap_or(&summary.key);
    let title = one_line(&format!("{endpoint} | GPU {number} | {}", summary.gpu.model), LONGEST_NAME);
    let column = |title, wraps| Column { title, align: Align::Right, wraps };
    let columns = std::iter::once(column("Metric", true)).chain(NUMBERS.map(|title| column(title, false))).collect();
    let row = |stats: &GpuStats| {
        let label = Cell { text: result.telemetry.table.metric(stats.metric).label(), style: Style::CYAN };
        std::iter::once(label).chain(numbers(&stats.stats)).collect()
    };
    let rows = summary.metrics.iter().map(row).collect();
    let mut table = Table { title, title_style: Style::ITALIC, columns, rows };
    give_way(&mut table, page);
    table
}

fn numbers(stats: &Stats) -> [Cell; 7] {
    NUMBERS.map(|name| match gpu_number(stats.get(name)) {
        Some(text) => Cell { text, style: Style::GREEN },
        None => Cell { text: "N/A".into(), style: Style::DIM },
    })
}

/// A number for tables of GPUs: large ones in powers of ten.
pub fn gpu_number(value: Option<f64>) -> Option<String> {
    let value = value.filter(|value| value.is_finite())?;
    if value.abs() < LARGE {
        return grouped(Some(value));
    }
    let text = format!("{value:.2e}");
    let (digits, power) = text.split_once('e')?;
    Some(format!("{digits}e+{power:0>2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_shown_in_powers_of_ten() {
        for (value, text) in [
            (0.0, "0.00"),
            (999_999.0, "999,999.00"),
            (1_234_567.0, "1.23e+06"),
            (-1e12, "-1.00e+12"),
            (1e100, "1.00e+100"),
        ] {
            assert_eq!(gpu_number(Some(value)).unwrap(), text);
        }
        assert_eq!((gpu_number(None), gpu_number(Some(f64::NAN))), (None, None));
    }
}
