//! Whether the prompts of a run fit into the memory there is: a run that is too large would be killed while it prepares, and
//! nobody told why. Texts are kept up to some 64 MB and encoded bodies likewise; past that a prompt is made when it is needed, so
//! what counts then is the longest one.

use aiperf_plan::{DatasetPlan, Plan};
use std::fs::read_to_string;
use thiserror::Error;

/// Peak bytes for each token of all prompts: their texts, their bodies, and what writing them takes. By the peak memory
/// of `aiperf profile --isl 1000 --request-count 2 --num-dataset-entries 5100` against that of 100.
const BYTES_A_TOKEN: f64 = 20.0;
/// Bytes for each token of the one prompt that is being put together: those of `--isl 1000000` against `--isl 1000`.
const BYTES_IN_THE_MAKING: f64 = 50.0;
/// Most that prompts kept take, however many there are.
const MOST_KEPT: f64 = 400e6;
/// Of the free memory, what prompts may take.
const SHARE: f64 = 0.8;

/// More prompts than memory.
#[derive(Debug, Error, PartialEq)]
#[error(
    "the prompts of this run need some {needed:.1} GB of memory, and {free:.1} GB are free\n  \
     a prompt of {tokens} tokens takes {each:.1} GB while it is made\n  \
     try: a smaller --isl, or a machine with more memory"
)]
pub struct MemoryError {
    needed: f64,
    free: f64,
    tokens: f64,
    each: f64,
}

/// Refuses a plan whose prompts would not fit into the memory of this machine, container or shell.
pub(crate) fn check(plan: &Plan) -> Result<(), MemoryError> {
    free_bytes().map_or(Ok(()), |free| fits(plan, free))
}

fn fits(plan: &Plan, free: u64) -> Result<(), MemoryError> {
    let DatasetPlan::Synthetic(synthetic) = &plan.dataset;
    let tokens = synthetic.isl.map_or(0.0, |isl| (isl.mean + isl.stddev).max(1.0));
    let making = tokens * BYTES_IN_THE_MAKING;
    let needed = (f64::from(synthetic.entries) * tokens * BYTES_A_TOKEN).min(MOST_KEPT) + making;
    if needed <= free as f64 * SHARE {
        return Ok(());
    }
    Err(MemoryError { needed: needed / 1e9, free: free as f64 / 1e9, tokens, each: making / 1e9 })
}

/// Bytes that this process may still take: of the machine, of its cgroup, of its own limit. `None` where nothing says.
fn free_bytes() -> Option<u64> {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| number(&text, "MemAvailable:"));
    let cgroup = |name: &str| read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok();
    let group = cgroup("memory.max").map(|most| most.saturating_sub(cgroup("memory.current").unwrap_or(0)));
    let limits = read_to_string("/proc/self/limits").ok();
    let own = limits.and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("Max address space"))?;
        line.split_whitespace().nth(3)?.parse::<u64>().ok()
    });
    [machine.map(|kib| kib.saturating_mul(1024)), group, own].into_iter().flatten().min()
}

/// The number after a name at the beginning of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_how_much_is_free() {
        assert_eq!(number("MemTotal: 5 kB\nMemAvailable:   123 kB\n", "MemAvailable:"), Some(123));
        assert!(free_bytes().is_none_or(|free| free > 1 << 20));
    }
}
