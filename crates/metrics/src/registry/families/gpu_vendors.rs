//! The efficiency metrics of one vendor's GPUs, under the tags of AIPerf 0.13: exported, but in no console table. Each
//! vendor has the same rows.

use crate::registry::flags::Flags;
use crate::registry::metric::Compute::Gpu;
use crate::registry::metric::{ConsoleGroup, Metric};
use crate::registry::unit::Unit;

const SMALLER: &[Flags] = &[Flags::NO_SLICES];
const SMALLER_OF_TOKENS: &[Flags] = &[Flags::PRODUCES_TOKENS_ONLY, Flags::NO_SLICES];
const LARGER: &[Flags] = &[Flags::LARGER_IS_BETTER, Flags::NO_SLICES];
const LARGER_OF_TOKENS: &[Flags] = &[Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER, Flags::NO_SLICES];

/// The rows of a vendor, in the order of output. Display orders count from `$first`.
macro_rules! rows {
    ($vendor:literal, $group:ident, $first:literal) => {
        &[
            Metric::new(concat!($vendor, "_total_gpu_power"), "Total GPU Power", Unit::Watts, Gpu)
                .group(ConsoleGroup::$group)
                .flags(SMALLER)
                .order($first + 40)
                .formula("sum over GPUs of the mean power in the profiling window")
                .absent("no GPU of the vendor reported power in the window"),
            Metric::new(concat!($vendor, "_average_gpu_power"), "Average GPU Power", Unit::Watts, Gpu)
                .group(ConsoleGroup::$group)
                .flags(SMALLER)
                .order($first + 20)
                .needs(&[concat!($vendor, "_total_gpu_energy")])
                .formula(concat!(
                    $vendor,
                    "_total_gpu_energy / seconds of the profiling window; the total power where energy is power times \
                     time"
                ))
                .absent("no energy"),
            Metric::new(concat!($vendor, "_total_gpu_energy"), "Total GPU Energy", Unit::Joules, Gpu)
                .group(ConsoleGroup::$group)
                .flags(SMALLER)
                .order($first + 30)
                .formula(
                    "sum over GPUs of the energy counter's increase over the profiling window plus a grace period; \
                     without a counter, total power times the seconds of the window",
                )
                .absent("neither counters nor power of the whole window, or 0"),
            Metric::new(
                concat!($vendor, "_output_tokens_per_joule"),
                "Output Tokens per Joule",
                Unit::TokensPerJoule,
                Gpu,
            )
            .group(ConsoleGroup::$group)
            .flags(LARGER_OF_TOKENS)
            .order($first + 60)
            .needs(&[concat!($vendor, "_total_gpu_energy"), "total_osl"])
            .formula(concat!("total_osl / ", $vendor, "_total_gpu_energy"))
            .absent("no tokens or energy"),
            Metric::new(
                concat!($vendor, "_energy_per_output_token"),
                "Energy per Output Token",
                Unit::MillijoulesPerToken,
                Gpu,
            )
            .group(ConsoleGroup::$group)
            .flags(SMALLER_OF_TOKENS)
            .order($first + 50)
            .needs(&[concat!($vendor, "_total_gpu_energy"), "total_osl"])
            .formula(concat!($vendor, "_total_gpu_energy * 1000 / total_osl"))
            .absent("no tokens or energy"),
            Metric::new(
                concat!($vendor, "_energy_per_total_token"),
                "Energy per Total Token",
                Unit::MillijoulesPerToken,
                Gpu,
            )
            .group(ConsoleGroup::$group)
            .flags(SMALLER)
            .order($first + 45)
            .needs(&[concat!($vendor, "_total_gpu_energy")])
            .uses(&["total_isl", "total_osl"])
            .formula(concat!($vendor, "_total_gpu_energy * 1000 / (total_isl + total_osl)"))
            .absent("no tokens or energy"),
            Metric::new(concat!($vendor, "_energy_per_request"), "Energy per Request", Unit::JoulesPerRequest, Gpu)
                .group(ConsoleGroup::$group)
                .flags(SMALLER)
                .order($first + 55)
                .needs(&[concat!($vendor, "_total_gpu_energy"), "request_count"])
                .formula(concat!($vendor, "_total_gpu_energy / request_count"))
                .absent("no requests or energy"),
            Metric::new(concat!($vendor, "_energy_per_user"), "Energy per User", Unit::JoulesPerUser, Gpu)
                .group(ConsoleGroup::$group)
                .flags(SMALLER)
                .order($first + 65)
                .needs(&[concat!($vendor, "_total_gpu_energy")])
                .formula(concat!($vendor, "_total_gpu_energy / concurrency of the profiling phase"))
                .absent("no concurrency (rate-only runs) or no energy"),
            Metric::new(concat!($vendor, "_energy_delay_product"), "Energy Delay Product", Unit::JouleSeconds, Gpu)
                .group(ConsoleGroup::$group)
                .flags(SMALLER)
                .order($first)
                .needs(&[concat!($vendor, "_energy_per_request"), "request_latency"])
                .formula(concat!($vendor, "_energy_per_request * mean request_latency in seconds"))
                .absent("no requests or energy"),
            Metric::new(
                concat!($vendor, "_performance_per_watt"),
                "Performance per Watt",
                Unit::RequestsPerSecPerWatt,
                Gpu,
            )
            .group(ConsoleGroup::$group)
            .flags(LARGER)
            .order($first + 10)
            .needs(&[concat!($vendor, "_average_gpu_power"), "request_throughput"])
            .formula(concat!("request_throughput / ", $vendor, "_average_gpu_power"))
            .absent("no average power"),
            Metric::new(
                concat!($vendor, "_output_tps_per_watt"),
                "Output Tokens per Second per Watt",
                Unit::TokensPerSecPerWatt,
                Gpu,
            )
            .group(ConsoleGroup::$group)
            .flags(LARGER_OF_TOKENS)
            .order($first + 12)
            .needs(&[concat!($vendor, "_average_gpu_power"), "output_token_throughput"])
            .formula(concat!("output_token_throughput / ", $vendor, "_average_gpu_power"))
            .absent("no average power"),
            Metric::new(
                concat!($vendor, "_goodput_per_watt"),
                "Goodput per Watt",
                Unit::GoodRequestsPerSecPerWatt,
                Gpu,
            )
            .group(ConsoleGroup::$group)
            .flags(LARGER)
            .order($first + 14)
            .needs(&[concat!($vendor, "_average_gpu_power"), "goodput"])
            .formula(concat!("goodput / ", $vendor, "_average_gpu_power"))
            .absent("no average power or no goodput"),
        ]
    };
}

pub(super) const NVIDIA: &[Metric] = rows!("nvidia", GpuNvidia, 700);
pub(super) const AMD: &[Metric] = rows!("amd", GpuAmd, 800);
