//! All runs of a benchmark.

use super::cells::{Planning, hex, hide};
use super::{not_yet, points};
use crate::advice;
use crate::choice::Choice;
use crate::context::Context;
use crate::error::Problem;
use crate::flags::{SEARCH_RECIPE, SEARCH_STYLE};
use crate::given::GivenFlags;
use crate::os_text;
use crate::resolve::{RunVariation, Tree};
use crate::sections::runs::{ConvergenceMode as Mode, MultiRun};
use crate::sections::sweep::{IterationOrder, SearchStyle, Sweep, SweepType};
use crate::sections::{limits, scale, until};
use crate::setting::List;
use crate::sweep::{Searches, design, searches, trade_off};
use crate::tree::Node;
use aiperf_plan::redact::Redactor;
use aiperf_plan::{CampaignPlan, Cell, Convergence, ConvergenceMode, MakeCell, Order, PostProcess, SweepPlan, Trials};
use aiperf_types::{Limit, Nanos, Precision, SlaFilter, SlaOp};
use serde_json::Value;
use std::sync::Arc;

pub(super) fn plan(
    tree: &Tree,
    ctx: &Context<'_>,
    args: &[String],
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<CampaignPlan> {
    let sweep = tree.envelope.sweep.as_ref();
    if let Some(SweepType::AdaptiveSearch) = sweep.and_then(|sweep| sweep.r#type) {
        if problems.is_empty() {
            problems.extend(refused_search(&tree.flags, Some(&tree.node)));
        }
        return None;
    }
    let trials = trials(&tree.envelope.multi_run.clone().unwrap_or_default());
    let sources: Vec<Option<&RunVariation>> = match tree.variations.as_slice() {
        [] => vec![None],
        runs => runs.iter().map(Some).collect(),
    };
    let planning = Planning { tree, ctx, args, trials: trials.count };
    let mut cells = Vec::new();
    let mut seen: Vec<Problem> = Vec::new();
    for (index, run) in sources.iter().enumerate() {
        let (mut noted, mut found) = (Vec::new(), Vec::new());
        let planned = planning.cell(index, *run, &mut noted, &mut found);
        noted.retain(|note| !notes.contains(note));
        notes.extend(noted);
        // A problem of every run is reported once.
        found.retain(|problem| !seen.iter().any(|other| other.what == problem.what));
        seen.extend(found.iter().cloned());
        let of_run = |problem: Problem| match run {
            Some(run) if sources.len() > 1 => problem.because(format!("in the run {}", run.label)),
            _ => problem,
        };
        problems.extend(found.into_iter().map(of_run));
        cells.extend(planned);
    }
    let redactor = Redactor::new(cells.iter().flat_map(|cell: &Cell| cell.plan.all_secrets()));
    cells.iter_mut().for_each(|cell| hide(cell, &redactor));
    let base = cells.first()?.plan.clone();
    let dir = base.artifacts.dir.clone();
    let resumes = tree.envelope.resume();
    let id = (!tree.single_run()).then(|| uuid(&ctx.benchmark_id));
    if sweep.is_some_and(|sweep| sweep.recipe_name.is_some()) {
        notes.extend(never_full(&cells));
    }
    let sweep = sweep.map(|sweep| sweep_plan(tree, sweep, &cells));
    let junit = tree.envelope.junit.as_deref().map(|path| ctx.cwd.join(os_text::path(path)));
    let is_whole = cells.len() == sources.len();
    let (listed, make_cell) = (Vec::new(), MakeCell::none());
    let mut campaign = CampaignPlan { base, listed, make_cell, trials, sweep, dir, id, resumes, junit };
    if is_whole && !campaign.is_single() {
        for (cell, run) in cells.iter_mut().zip(sources) {
            planning.render_user_files(&campaign, cell, run, problems);
        }
    }
    campaign.listed = cells.into_iter().map(Arc::new).collect();
    if campaign.sweep.is_some() {
        campaign.make_cell = points::make_cell(&planning, &campaign);
    }
    is_whole.then_some(campaign)
}

/// A note about cells of a recipe with fewer requests than their concurrency: they pass at a load that they never
/// reach.
fn never_full(cells: &[Cell]) -> Option<String> {
    let phases = cells.iter().flat_map(|cell| cell.plan.profiling());
    let short = phases.filter_map(|phase| phase.requests().zip(phase.concurrency).filter(|(n, c)| *n < u64::from(*c)));
    let (requests, concurrency) = short.max_by_key(|(_, concurrency)| *concurrency)?;
    Some(format!(
        "{requests} requests are fewer than a concurrency of {concurrency}: runs above {requests} never have that many \
         in flight, and the answer of the recipe does not hold for them; set --request-count to twice the highest \
         concurrency, or --benchmark-duration"
    ))
}

/// Searches are not implemented: a recipe or a sweep that searches is refused, with an alternative at fixed steps.
pub(super) fn refused_search(flags: &GivenFlags, document: Option<&Node>) -> Option<Problem> {
    let reason = "settings are not searched";
    if let Some(name) = flags.text(SEARCH_RECIPE) {
        let grid = format!("{} {}", SEARCH_STYLE.name, SearchStyle::Grid.name());
        let problem = match (searches(name, flags.choice(SEARCH_STYLE)), flags.text(SEARCH_STYLE)) {
            (Searches::Never, _) => return None,
            (Searches::Always, _) => not_yet(&format!("--search-recipe {name}"), reason)
                .hint(advice::without_flag("--search-recipe", reason)),
            (Searches::UnlessGrid, style) => {
                let what = match style {
                    Some(style) => format!("{} {style}", SEARCH_STYLE.name),
                    None => format!("--search-recipe {name} without {grid}"),
                };
                not_yet(&what, reason).hint(format!("{grid}, which runs fixed steps of the concurrency"))
            }
        };
        return Some(problem.at("sweep"));
    }
    let sweep = document?.get("sweep")?;
    let adaptive = sweep.choice("type") == Some(SweepType::AdaptiveSearch);
    adaptive.then(|| not_yet("an adaptive search", reason).hint(advice::without_key("sweep", reason)).at("sweep"))
}

fn trials(multi: &MultiRun) -> Trials {
    Trials {
        count: u32::try_from(multi.num_runs()).unwrap_or(1),
        cooldown: Nanos::from_secs_f64(multi.cooldown_seconds()),
        warmup_once: multi.disable_warmup_after_first(),
        confidence_level: multi.confidence_level(),
        convergence: multi.convergence.as_ref().map(|convergence| {
            // Two trials may agree by chance; if there are no more, they must be enough.
            let usual_least = convergence.min_runs().min(multi.num_runs());
            let mode = match convergence.mode() {
                Mode::CiWidth => ConvergenceMode::CiWidth,
                Mode::Cv => ConvergenceMode::Cv,
                Mode::Distribution => ConvergenceMode::Distribution,
            };
            Convergence {
                metric: convergence.metric.clone().unwrap_or_default(),
                stat: convergence.stat().name().to_owned(),
                mode,
                threshold: convergence.threshold.unwrap_or(mode.usual_threshold()),
                min_runs: u32::try_from(convergence.min_runs.unwrap_or(usual_least)).unwrap_or(u32::MAX),
            }
        }),
    }
}

fn sweep_plan(tree: &Tree, sweep: &Sweep, cells: &[Cell]) -> SweepPlan {
    let List(filters) = sweep.sla_filters.clone().unwrap_or_default();
    SweepPlan {
        order: match sweep.iteration_order() {
            IterationOrder::Repeated => Order::Repeated,
            IterationOrder::Independent => Order::Independent,
        },
        cooldown: Nanos::from_secs_f64(sweep.cooldown_seconds()),
        sla_filters: filters.iter().map(sla_filter).collect(),
        post_process: sweep.post_process.as_ref().map(|post| PostProcess {
            handler: post.handler.clone().unwrap_or_default(),
            params: post.params.as_ref().and_then(Value::as_object).cloned().unwrap_or_default(),
            output_filename: post.output_filename.clone().unwrap_or_default(),
        }),
        pareto_axes: sweep.recipe_name.as_deref().and_then(trade_off),
        design: design(sweep, cells.iter().map(|cell| &cell.values)),
        shows_table: !tree.envelope.no_sweep_table(),
    }
}

fn sla_filter(filter: &scale::SlaFilter) -> SlaFilter {
    SlaFilter {
        metric_tag: filter.metric_tag.clone().unwrap_or_default(),
        stat: filter.stat().name().to_owned(),
        op: comparison(filter.op),
        threshold: filter.threshold.unwrap_or_default(),
    }
}

pub(super) fn limit(limit: &limits::Limit) -> Limit {
    Limit {
        metric: limit.metric.clone().unwrap_or_default(),
        stat: limit.stat.map(|stat| stat.name().to_owned()),
        op: comparison(limit.op),
        threshold: limit.threshold.unwrap_or_default(),
        unit: limit.unit.clone(),
    }
}

pub(super) fn precision(precision: &until::Precision) -> Precision {
    Precision {
        metric: precision.metric.clone().unwrap_or_default(),
        stat: precision.stat.map(|stat| stat.name().to_owned()).unwrap_or_default(),
        half_width: precision.percent.unwrap_or_default() / 100.0,
    }
}

fn comparison(op: Option<scale::Comparison>) -> SlaOp {
    match op {
        Some(scale::Comparison::Le) => SlaOp::Le,
        Some(scale::Comparison::Gt) => SlaOp::Gt,
        Some(scale::Comparison::Ge) => SlaOp::Ge,
        Some(scale::Comparison::Lt) | None => SlaOp::Lt,
    }
}

/// The id of all runs together, derived from the id of this command.
fn uuid(id: &str) -> String {
    let digits = hex(&format!("{id}:runs"));
    let variant = ['8', '9', 'a', 'b'][usize::from(digits.as_bytes()[16]) % 4];
    format!("{}-{}-4{}-{variant}{}-{}", &digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..32])
}
