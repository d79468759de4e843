//! One metric: its name, when it exists, how it is computed. A row of the registry.

use crate::curves::curve::Curve;
use crate::facts::Fact;
use crate::registry::flags::Flags;
use crate::registry::rules::{FloatFn, IntFn};
use crate::registry::scope::Scope;
use crate::registry::unit::Unit;
use aiperf_types::Stats;

/// The console table that shows a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleGroup {
    None,
    Default,
    /// Server-reported usage: exported, in no table.
    Usage,
    /// Time-weighted curves over the whole window.
    Effective,
    /// Time-weighted curves over the time with load.
    Active,
    SpecDecode,
    /// Efficiency of NVIDIA GPUs: exported, in no table.
    GpuNvidia,
    /// Efficiency of AMD GPUs: exported, in no table.
    GpuAmd,
}

impl ConsoleGroup {
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Default => "default",
            Self::Usage => "usage",
            Self::Effective => "effective",
            Self::Active => "active",
            Self::SpecDecode => "spec_decode",
            Self::GpuNvidia => "gpu_power_efficiency_nvidia",
            Self::GpuAmd => "gpu_power_efficiency_amd",
        }
    }

    /// Whether the console has a table for it. The other groups are for exports only.
    pub const fn has_table(self) -> bool {
        !matches!(self, Self::None | Self::Usage | Self::GpuNvidia | Self::GpuAmd)
    }
}

/// How the values of records are combined into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    Sum,
    Min,
    Max,
}

/// The kind of number: decides which statistics are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricType {
    /// One value per record, exported as a distribution.
    Record,
    /// Several values per record, pooled into one distribution.
    List,
    /// One value per run, folded from the records.
    Aggregate(Fold),
    /// One value per run, computed from other metrics.
    Derived,
    /// A pass over the whole run: a distribution that no single record has.
    Analysis,
}

impl MetricType {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::List => "list",
            Self::Aggregate(Fold::Sum) => "aggregate (sum)",
            Self::Aggregate(Fold::Min) => "aggregate (min)",
            Self::Aggregate(Fold::Max) => "aggregate (max)",
            Self::Derived => "derived",
            Self::Analysis => "analysis",
        }
    }
}

/// Which records a metric uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Population {
    Valid,
    Failed,
    Every,
}

impl Population {
    /// Whether it includes records that failed, or records that did not.
    pub const fn takes(self, failed: bool) -> bool {
        match self {
            Self::Valid => !failed,
            Self::Failed => failed,
            Self::Every => true,
        }
    }
}

/// A number per scope, from the other metrics of the scope.
pub type ScopeFn = fn(&Scope<'_>) -> Option<f64>;

#[derive(Clone, Copy, Debug)]
pub enum Compute {
    Ints(IntFn),
    Floats(FloatFn),
    /// The gaps between content responses of a record.
    Gaps,
    /// Integers of records, folded.
    Fold(Fold, IntFn),
    /// The sum of a record metric.
    Total(&'static str),
    /// From other metrics of the scope.
    Derived(ScopeFn),
    /// An integer of every record that only the run uses.
    Pass(IntFn),
    /// A percentile of the schedule lag of requests, in milliseconds.
    ReplayLag(u8),
    /// A record metric minus the network's round-trip time.
    NetworkAdjusted(&'static str),
    NetworkRtt,
    /// A record metric with one infinite value for each failed record.
    ErrorAdjusted(&'static str),
    /// A time-weighted curve over the window.
    Effective(Curve),
    /// A time-weighted curve over the time in which it has users.
    Active(Curve),
    Gpu,
    /// The judgement of a whole run.
    Verdict,
}

#[derive(Debug)]
pub struct Metric {
    /// The name in every export.
    pub tag: &'static str,
    /// The name for people.
    pub header: &'static str,
    /// A shorter name, for dashboards.
    pub short: Option<&'static str>,
    /// Dashboards show the header without its unit.
    pub hide_unit: bool,
    /// The unit of computation.
    pub unit: Unit,
    /// The unit of display.
    pub display: Unit,
    pub population: Population,
    /// When it exists.
    pub flags: Flags,
    pub group: ConsoleGroup,
    /// Its position there; `None` is last.
    pub order: Option<u32>,
    /// Metrics that it requires.
    pub needs: &'static [&'static str],
    /// Metrics that it uses if they exist.
    pub uses: &'static [&'static str],
    /// Base facts that it reads itself, in addition to those of `needs` and `uses`.
    pub facts: &'static [Fact],
    /// The formula, in words.
    pub formula: &'static str,
    /// When there is no value, in words.
    pub absent: &'static str,
    pub compute: Compute,
}

/// Whether dashboards put the unit after a short header.
#[derive(Clone, Copy)]
pub(crate) enum Short {
    WithUnit,
    Bare,
}

impl Metric {
    pub(crate) const fn new(tag: &'static str, header: &'static str, unit: Unit, compute: Compute) -> Self {
        Self {
            tag,
            header,
            short: None,
            hide_unit: false,
            unit,
            display: unit,
            population: match compute {
                Compute::Pass(_) => Population::Every,
                _ => Population::Valid,
            },
            flags: Flags::NONE,
            group: ConsoleGroup::None,
            order: None,
            needs: &[],
            uses: &[],
            facts: &[],
            formula: "",
            absent: "",
            compute,
        }
    }

    pub(crate) const fn short(mut self, short: &'static str, unit: Short) -> Self {
        self.short = Some(short);
        self.hide_unit = matches!(unit, Short::Bare);
        self
    }

    pub(crate) const fn without_unit(mut self) -> Self {
        self.hide_unit = true;
        self
    }

    pub(crate) const fn shown_in(mut self, display: Unit) -> Self {
        self.display = display;
        self
    }

    pub(crate) const fn flags(mut self, flags: &[Flags]) -> Self {
        let mut at = 0;
        while at < flags.len() {
            self.flags = self.flags.and(flags[at]);
            at += 1;
        }
        if self.flags.has(Flags::ERROR_ONLY) {
            self.population = Population::Failed;
        }
        self
    }

    pub(crate) const fn of_every_record(mut self) -> Self {
        self.population = Population::Every;
        self
    }

    pub(crate) const fn group(mut self, group: ConsoleGroup) -> Self {
        self.group = group;
        self
    }

    pub(crate) const fn order(mut self, order: u32) -> Self {
        self.order = Some(order);
        self
    }

    pub(crate) const fn needs(mut self, tags: &'static [&'static str]) -> Self {
        self.needs = tags;
        self
    }

    pub(crate) const fn uses(mut self, tags: &'static [&'static str]) -> Self {
        self.uses = tags;
        self
    }

    pub(crate) const fn facts(mut self, facts: &'static [Fact]) -> Self {
        self.facts = facts;
        self
    }

    pub(crate) const fn formula(mut self, formula: &'static str) -> Self {
        self.formula = formula;
        self
    }

    pub(crate) const fn absent(mut self, absent: &'static str) -> Self {
        self.absent = absent;
        self
    }

    pub const fn kind(&self) -> MetricType {
        match self.compute {
            Compute::Ints(_) | Compute::Floats(_) => MetricType::Record,
            Compute::Gaps => MetricType::List,
            Compute::Fold(fold, _) => MetricType::Aggregate(fold),
            Compute::Total(_)
            | Compute::Derived(_)
            | Compute::ReplayLag(_)
            | Compute::NetworkAdjusted(_)
            | Compute::NetworkRtt
            | Compute::Gpu
            | Compute::Verdict => MetricType::Derived,
            Compute::Pass(_) | Compute::ErrorAdjusted(_) | Compute::Effective(_) | Compute::Active(_) => {
                MetricType::Analysis
            }
        }
    }

    /// The statistics that a summary may have of it.
    pub const fn statistics(&self) -> &'static [&'static str] {
        match self.compute {
            Compute::Fold(..)
            | Compute::Total(_)
            | Compute::Derived(_)
            | Compute::ReplayLag(_)
            | Compute::Gpu
            | Compute::Verdict => &["avg"],
            Compute::Effective(_) | Compute::Active(_) => &["avg", "min", "max", "p50", "p90", "p95", "p99", "std"],
            Compute::ErrorAdjusted(_) => &["min", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "count"],
            Compute::NetworkAdjusted(_) | Compute::NetworkRtt => &Stats::NAMES,
            Compute::Ints(_) | Compute::Floats(_) | Compute::Gaps | Compute::Pass(_) => &Stats::ALL,
        }
    }

    /// The factor from the base unit to the display unit.
    pub fn scale(&self) -> f64 {
        if self.unit == self.display { 1.0 } else { self.unit.factor_to(self.display) }
    }

    /// Whether a larger value is better; `None` if neither is: for curves, and for metrics derived from another one by
    /// analysis.
    pub fn larger_is_better(&self) -> Option<bool> {
        (self.kind() != MetricType::Analysis).then(|| self.flags.has(Flags::LARGER_IS_BETTER))
    }
}
