//! Objectives, and a load that climbs until one fails.

use crate::choice::choices;
use crate::error::Problem;
use crate::range::{at_least, more_than};
use crate::setting::{List, Reader, Seconds, Setting, join, section};
use crate::tree::{Datum, Node};
use serde_json::{Value, json};

choices! {
    /// A statistic of a metric.
    Stat {
        Avg = "avg",
        P1 = "p1",
        P5 = "p5",
        P10 = "p10",
        P25 = "p25",
        P50 = "p50",
        P75 = "p75",
        P90 = "p90",
        P95 = "p95",
        P99 = "p99",
        Min = "min",
        Max = "max",
    }
    /// How a value is compared.
    Comparison {
        Lt = "lt",
        Le = "le",
        Gt = "gt",
        Ge = "ge",
    }
    /// What is raised.
    ScaleVariable {
        Concurrency = "concurrency",
        PrefillConcurrency = "prefill_concurrency",
        RequestRate = "request_rate",
        Users = "users",
    }
    /// How it is raised.
    ScaleStrategyKind {
        RampUntilFail = "ramp_until_fail",
    }
    /// How large a step is.
    StepPolicy {
        SlaMargin = "sla_margin",
        FixedPercentStep = "fixed_percent_step",
    }
}

section! {
    /// One objective.
    SlaFilter {
        /// Metric
        metric_tag: String;
        /// Its statistic
        stat: Stat = Stat::P95;
        /// How it is compared
        op: Comparison;
        /// Threshold
        threshold: f64;
    }
    /// Raise the load until an objective fails.
    AdaptiveScale {
        /// On or off
        enabled: bool = true;
        /// What is raised, and its range
        control: ScaleControl;
        /// How it is raised
        strategy: ScaleStrategy;
        /// Length of a step
        window: Seconds [at_least(1.0)];
        /// Requests a step must complete
        min_completed_requests: i64 [at_least(1.0)] = 1;
        /// How long the last good step is kept
        sustain_duration: Seconds [more_than(0.0)];
        /// Objectives
        sla: Sla;
    }
    /// What is raised.
    ScaleControl {
        /// Which setting
        variable: ScaleVariable;
        /// Where it starts
        min: f64 = 1.0;
        /// Where it ends
        max: f64;
    }
    /// How it is raised.
    ScaleStrategy {
        /// The strategy
        r#type: ScaleStrategyKind = ScaleStrategyKind::RampUntilFail;
        /// How large a step is
        step_policy: StepPolicy;
        /// Step of policy sla_margin
        base_step: f64 [more_than(0.0)] = 10.0;
        /// Largest step as a multiple of it
        max_step_multiplier: f64 [at_least(1.0)] = 4.0;
        /// Step of policy fixed_percent_step, percent
        step_percent: f64 [more_than(0.0)] = 25.0;
    }
}

/// Objectives: a list, or `{metric: {stat: {op: threshold}}}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sla(pub List<SlaFilter>);

impl Setting for Sla {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        let list = match &node.datum {
            Datum::List(_) => node.clone(),
            Datum::Map(metrics) => {
                let mut items = Vec::new();
                for (metric, stats) in metrics {
                    for (stat, ops) in stats.entries() {
                        for (op, threshold) in ops.entries() {
                            let mut item = Node::map(threshold.origin.clone());
                            item.put("metric_tag", Node::new(metric.as_str().into(), threshold.origin.clone()));
                            item.put("stat", Node::new(stat.as_str().into(), threshold.origin.clone()));
                            item.put("op", Node::new(op.as_str().into(), threshold.origin.clone()));
                            item.put("threshold", threshold.clone());
                            items.push(item);
                        }
                    }
                }
                Node::new(Datum::List(items), node.origin.clone())
            }
            _ => {
                reader.refuse(node, path, "must be a list of objectives");
                return None;
            }
        };
        let filters = List::<SlaFilter>::read(&list, path, reader)?;
        for (index, filter) in filters.iter().enumerate() {
            let item = &list.items()[index];
            let complete = filter.metric_tag.as_deref().is_some_and(|tag| !tag.trim().is_empty())
                && filter.op.is_some()
                && filter.threshold.is_some_and(f64::is_finite);
            if !complete {
                let what = format!(
                    "{} is not a whole objective",
                    reader.places.subject_key(item, &join(path, &index.to_string()))
                );
                let problem = Problem::new(what).because("an objective needs metric_tag, op and a finite threshold");
                reader.problems.push(problem.at(join(path, &index.to_string())));
            }
        }
        Some(Self(filters))
    }
    fn write(&self) -> Value {
        self.0.write()
    }
    fn full(&self) -> Value {
        self.0.full()
    }
    fn schema() -> Value {
        json!({"anyOf": [List::<SlaFilter>::schema(), {"type": "object"}]})
    }
}
