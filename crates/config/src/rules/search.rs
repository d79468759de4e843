//! The requirements of a search, whether flags or a file ask for it.

use crate::error::Problem;
use crate::parse::sweep_path;
use crate::sections::scale::Stat;
use crate::sections::sweep::{DimensionKind, OptunaSampler, Planner, Pooling, SearchDimension, Sweep};
use crate::tree::{Node, Origin, Places};
use std::collections::BTreeSet;

/// A sweep of type adaptive_search, and its location.
pub(super) struct Search<'a> {
    pub sweep: &'a Sweep,
    pub node: &'a Node,
    pub places: &'a Places,
}

impl Search<'_> {
    pub(super) fn check(&self, problems: &mut Vec<Problem>) {
        self.complete(problems);
        for (index, dimension) in self.sweep.search_space.iter().flat_map(|space| space.0.iter()).enumerate() {
            self.dimension(index, dimension, problems);
        }
        self.planner(problems);
        self.tiers(problems);
    }

    /// The name of a setting of the sweep: the flag that set it, or its location and key.
    fn named(&self, key: &str) -> String {
        match self.node.find(key) {
            Some(node) => self.places.subject(node, &format!("sweep.{key}")),
            None => format!("sweep.{key}"),
        }
    }

    fn problem(&self, key: &str, what: String) -> Problem {
        Problem::new(what).at(format!("sweep.{key}"))
    }

    /// Checks that the space, the objective and the end of the search are set.
    fn complete(&self, problems: &mut Vec<Problem>) {
        let place = self.places.prefix(&self.node.origin);
        let sweep = self.sweep;
        let wanted = sweep.objectives.as_ref().is_some_and(|list| !list.is_empty())
            || sweep.sla_filters.as_ref().is_some_and(|list| !list.is_empty())
            || sweep.sla_tiers.as_ref().is_some_and(|list| !list.is_empty());
        for (there, key, why, hint) in [
            (
                sweep.search_space.as_ref().is_some_and(|space| !space.is_empty()),
                "search_space",
                "there is nothing to search",
                "search_space: [{path: phases.profiling.concurrency, lo: 1, hi: 500, kind: int}]",
            ),
            (
                wanted,
                "objectives",
                "a search needs to know what is better",
                "objectives: [{metric: output_token_throughput, direction: maximize}]",
            ),
            (
                sweep.max_iterations.is_some(),
                "max_iterations",
                "a search needs to know when to stop",
                "max_iterations: 20",
            ),
        ] {
            if !there {
                problems
                    .push(self.problem(key, format!("{place}an adaptive search needs {key}")).because(why).hint(hint));
            }
        }
        for (index, objective) in sweep.objectives.iter().flat_map(|list| list.0.iter()).enumerate() {
            let at = format!("objectives.{index}");
            let place = self.node.find(&at).map_or(String::new(), |node| self.places.prefix(&node.origin));
            for (there, key) in [(objective.metric.is_some(), "metric"), (objective.direction.is_some(), "direction")] {
                if !there {
                    problems.push(self.problem(&at, format!("{place}sweep.{at} needs {key}")));
                }
            }
        }
    }

    fn dimension(&self, index: usize, dimension: &SearchDimension, problems: &mut Vec<Problem>) {
        let at = format!("search_space.{index}");
        let node = self.node.find(&at);
        let from = match node.map(|node| &node.origin) {
            Some(Origin::Flag(_)) => "--search-space".to_owned(),
            Some(origin) => format!("{}sweep.{at}", self.places.prefix(origin)),
            None => format!("sweep.{at}"),
        };
        let path = dimension.path.as_deref().unwrap_or_default();
        let mut refuse = |rule: String| problems.push(self.problem(&at, format!("{from} {rule}")));
        let whole = match sweep_path(path) {
            Ok(whole) => whole,
            Err(why) => return refuse(format!("cannot vary '{path}': {why}")),
        };
        let before = self.sweep.search_space.iter().flat_map(|space| space.0.iter()).take(index);
        if before.filter_map(|other| sweep_path(other.path.as_deref()?).ok()).any(|other| other == whole) {
            refuse(format!("names {whole} twice"));
        }
        let (Some(lo), Some(hi)) = (dimension.lo, dimension.hi) else {
            return refuse("needs lo and hi".to_owned());
        };
        if !lo.is_finite() || !hi.is_finite() {
            return refuse(format!("{path} has an infinite bound"));
        }
        if hi <= lo {
            return refuse(format!("{path} ends at {hi}, which is not above its start {lo}"));
        }
        match whole.strip_prefix("phases.profiling.") {
            Some("rate_series") => refuse("cannot vary rate_series: it is a series, not a number".to_owned()),
            Some(setting @ ("rate" | "smoothness" | "rate_ramp")) if lo <= 0.0 => {
                refuse(format!("{setting} must start above 0"));
            }
            Some(setting @ ("users" | "concurrency")) if lo < 1.0 => {
                refuse(format!("{setting} must be whole numbers of at least 1"));
            }
            Some("users") if dimension.kind() != DimensionKind::Int => {
                refuse("users must be whole numbers of at least 1".to_owned());
            }
            _ => {}
        }
    }

    fn planner(&self, problems: &mut Vec<Problem>) {
        let sweep = self.sweep;
        let points = sweep.n_initial_points();
        if let Some(most) = sweep.max_iterations
            && matches!(sweep.planner(), Planner::Bayesian | Planner::Optuna)
            && points >= most
        {
            let shown = |key: &str, value: i64| match self.node.get(key) {
                Some(node) => self.places.mention(node, key),
                None => format!("{key} {value}"),
            };
            let place = self.node.get("max_iterations").map_or(String::new(), |node| self.places.prefix(&node.origin));
            let (few, many) = (shown("n_initial_points", points), shown("max_iterations", most));
            problems.push(
                self.problem("n_initial_points", format!("{place}{few} must be less than {many}"))
                    .because("the planner takes over after the initial points")
                    .hint(format!("fewer of them, or {} iterations or more", points + 1)),
            );
        }
        let Some(acquisition) = sweep.optuna_acquisition else { return self.pooling(problems) };
        let named = self.named("optuna_acquisition");
        if sweep.optuna_sampler() != OptunaSampler::Botorch {
            problems.push(
                self.problem("optuna_acquisition", format!("{named} needs the optuna sampler botorch"))
                    .because("only this sampler has acquisitions"),
            );
        }
        if acquisition.is_of_several_objectives() && sweep.objectives.as_ref().is_none_or(|list| list.len() < 2) {
            problems.push(
                self.problem("optuna_acquisition", format!("{named} is for several objectives"))
                    .because("the search has one")
                    .hint("qlogei"),
            );
        }
        self.pooling(problems);
    }

    fn pooling(&self, problems: &mut Vec<Problem>) {
        let mut objectives = self.sweep.objectives.iter().flat_map(|list| list.0.iter());
        let averaged = objectives.any(|objective| objective.stat() == Stat::Avg);
        if self.sweep.objective_pooling == Some(Pooling::Pooled) && averaged {
            problems.push(
                self.problem(
                    "objective_pooling",
                    format!("{} needs the statistic p50, p90, p95 or p99", self.named("objective_pooling")),
                )
                .because("only percentiles are pooled"),
            );
        }
    }

    fn tiers(&self, problems: &mut Vec<Problem>) {
        let Some(tiers) = &self.sweep.sla_tiers else { return };
        let node = self.node.get("sla_tiers");
        let from = node.map_or("sweep.sla_tiers".to_owned(), |node| self.places.subject_key(node, "sweep.sla_tiers"));
        if !tiers.is_empty() && !(2..=10).contains(&tiers.len()) {
            problems.push(
                self.problem("sla_tiers", format!("{from} has {} tiers", tiers.len()))
                    .because("a search compares 2 to 10 tiers"),
            );
        }
        let mut labels = BTreeSet::new();
        for label in tiers.iter().filter_map(|tier| tier.label.as_deref()) {
            if !labels.insert(label) {
                problems.push(self.problem("sla_tiers", format!("{from}: two tiers are named {label}")));
            }
        }
    }
}
