//! Metrics of GPU power and energy, from samples taken during the run. Headers contain the number of GPUs that
//! reported.

use crate::registry::flags::Flags;
use crate::registry::metric::Compute::Gpu;
use crate::registry::metric::{ConsoleGroup, Metric};
use crate::registry::unit::Unit;

/// In the order of output.
pub(super) const METRICS: &[Metric] = &[
    Metric::new("total_gpu_power", "Total GPU Power", Unit::Watts, Gpu)
        .flags(&[Flags::NO_SLICES])
        .group(ConsoleGroup::Default)
        .formula("sum over reporting GPUs of the mean power in the profiling window")
        .absent("no GPU reported power in the window"),
    Metric::new("total_gpu_energy", "Total GPU Energy", Unit::Joules, Gpu)
        .flags(&[Flags::NO_SLICES])
        .group(ConsoleGroup::Default)
        .formula(
            "sum over reporting GPUs of the energy counter's increase over the profiling window plus a grace period",
        )
        .absent("no GPU reported energy in the window"),
    Metric::new("output_tokens_per_joule", "Output Tokens per Joule", Unit::TokensPerJoule, Gpu)
        .flags(&[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER, Flags::NO_SLICES])
        .group(ConsoleGroup::Default)
        .needs(&["total_gpu_energy", "total_output_tokens"])
        .formula("total_output_tokens / total_gpu_energy")
        .absent("total_output_tokens absent; energy absent or 0"),
    Metric::new("energy_per_user", "Energy per User", Unit::JoulesPerUser, Gpu)
        .flags(&[Flags::NO_SLICES])
        .group(ConsoleGroup::Default)
        .needs(&["total_gpu_energy"])
        .formula("total_gpu_energy / concurrency of the profiling phase")
        .absent("no concurrency (rate-only runs) or no energy"),
];
