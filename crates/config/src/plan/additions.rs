//! What is added to conversations of every source: a system prompt, and markers against a server's cache.

use super::subject;
use crate::choice::Choice;
use crate::context::Context;
use crate::error::Problem;
use crate::os_text;
use crate::resolve::Tree;
use crate::sections::dataset::{CacheBustTarget, Dataset};
use crate::small_file;
use aiperf_plan::{Additions, CacheBust, DatasetPlan, FileFormat, MarkerKind, PhasePlan};
use aiperf_types::PhaseKind;

/// What a dataset adds to all of its conversations.
pub(super) fn additions(
    tree: &Tree,
    ctx: &Context<'_>,
    dataset: &DatasetPlan,
    phases: &[PhasePlan],
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Additions {
    let Some(section) = tree.benchmark.datasets.as_ref().and_then(|datasets| datasets.first()) else {
        return Additions::default();
    };
    let (system_prompt, set_by) = system_prompt(section, ctx);
    let (cache_bust, marked_by) = cache_bust(section);
    let is_verbatim = matches!(dataset, DatasetPlan::File(file) if file.format == FileFormat::RawPayload);
    for at in [system_prompt.as_ref().and(set_by), cache_bust.and(Some(marked_by))].into_iter().flatten() {
        if is_verbatim {
            let at = format!("benchmark.datasets.0.{at}");
            problems.push(
                Problem::new(format!("{} cannot be put into whole bodies", subject(tree, &at)))
                    .because("bodies of raw_payload are sent as they are")
                    .hint("rows of single_turn or multi_turn, or leave it out")
                    .at(at),
            );
        }
    }
    let is_about_warmup = cache_bust.is_some_and(|bust| bust.marker == MarkerKind::Warmup);
    if is_about_warmup && !phases.iter().any(|phase| phase.kind == PhaseKind::Warmup) {
        let what = subject(tree, &format!("benchmark.datasets.0.{marked_by}"));
        notes.push(format!("{what} has no effect: there is no warmup phase to isolate"));
    }
    Additions { system_prompt, cache_bust }
}

/// The text, and the key that sets it. An unreadable file was refused before.
fn system_prompt(dataset: &Dataset, ctx: &Context<'_>) -> (Option<String>, Option<&'static str>) {
    if let Some(text) = &dataset.system_prompt {
        return (Some(text.clone()), Some("system_prompt"));
    }
    let path = dataset.system_prompt_file.as_deref().map(|file| ctx.cwd.join(os_text::path(file)));
    (path.and_then(|path| small_file::text(&path, small_file::SETTINGS).ok()), Some("system_prompt_file"))
}

/// The position of a marker, and the key that sets it.
fn cache_bust(dataset: &Dataset) -> (Option<CacheBust>, &'static str) {
    let of_prompts = dataset.prompts.as_ref().and_then(|prompts| prompts.cache_bust.as_ref());
    let (bust, at) = match of_prompts {
        Some(bust) => (Some(bust), "prompts.cache_bust.target"),
        None => (dataset.cache_bust.as_ref(), "cache_bust.target"),
    };
    let target = bust.map_or(CacheBustTarget::None, |bust| bust.target());
    (CacheBust::ALL.into_iter().find(|known| known.target() == target.name()), at)
}
