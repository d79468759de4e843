//! Whether the prompts of a run fit into the free memory. Otherwise the kernel would kill the run during its
//! preparation, without a message.
//!
//! Of what a seed defines, about 64 MB of texts are kept. Bodies are encoded beforehand up to a gigabyte, or the user's
//! limit, and at most a quarter of the free memory. Beyond that, a prompt is made shortly before its use, so only the
//! longest one counts. The size of files is counted while they are read.

use aiperf_dataset::in_order::cores;
use aiperf_engine::requests::EncodingBudget;
use aiperf_plan::{DatasetPlan, Plan};
use std::fs::read_to_string;
use thiserror::Error;

/// Peak bytes per token of all prompts: texts, bodies and the memory for writing them. Measured: the peak memory of
/// `aiperf profile --isl 1000 --request-count 2 --num-dataset-entries 5100` against that of 100.
const BYTES_A_TOKEN: f64 = 20.0;
/// Bytes per token of the one prompt in the making. Measured: `--isl 1000000` against `--isl 1000`.
const BYTES_IN_THE_MAKING: f64 = 50.0;
/// The most memory of prompts whose texts are kept, for any number of prompts.
const MOST_KEPT: f64 = 400e6;
/// Bytes per token of a body alone.
const BYTES_OF_A_BODY: f64 = 8.0;
/// The share of the free memory that prompts may take.
const SHARE: f64 = 0.8;
/// The share of the free memory that prompts in the making may take together.
const SHARE_IN_THE_MAKING: f64 = 0.25;
/// Bodies encoded beforehand may take one part in this many of the free memory.
const PART_OF_BODIES: u64 = 4;

/// Copies of a conversation's media that may exist while they are made: pixels, encoded, in base64, in a message, in a
/// body, in a line of `inputs.json`.
const MEDIA_COPIES: f64 = 6.0;

/// Bodies made ahead of their use may take one part in this many of the bytes of bodies. The bounds are about a hundred
/// bodies of 10,000 and of 100,000 tokens.
const PART_AHEAD: u64 = 4;
const LEAST_AHEAD: u64 = 64 << 20;
const MOST_AHEAD: u64 = 256 << 20;

/// The prompts or media need more memory than is free.
#[derive(Debug, Error, PartialEq)]
pub enum MemoryError {
    #[error(
        "the prompts of this run need some {:.1} GB of memory, and {:.1} GB are free\n  \
         {entries} {what} of {mean} tokens take {:.1} GB, and one of up to {longest} tokens takes {:.1} GB while it is \
         made\n  \
         try: {way_out}, or a machine with more memory",
        (kept + making) / 1e9, free / 1e9, kept / 1e9, making / 1e9
    )]
    Prompts {
        entries: u32,
        /// What `entries` counts: prompts, or conversations of several prompts.
        what: &'static str,
        /// Tokens per entry.
        mean: f64,
        /// Bytes of all prompts that are kept.
        kept: f64,
        /// Tokens of the longest prompt; `making`: its bytes while it is made.
        longest: f64,
        making: f64,
        free: f64,
        way_out: &'static str,
    },
    #[error(
        "the media of this run need some {:.1} GB of memory, and {:.1} GB are free\n  \
         those of one conversation take {:.1} GB while they are made and encoded\n  \
         try: fewer or smaller images, audio and videos, fewer turns, or a machine with more memory",
        need / 1e9, free / 1e9, need / 1e9
    )]
    Media { need: f64, free: f64 },
}

/// Rejects a plan whose prompts do not fit into the memory of this machine, container or shell.
pub(crate) fn check(plan: &Plan) -> Result<(), MemoryError> {
    let Some(free) = free_now() else { return Ok(()) };
    let bodies = bodies_within(plan.runtime.prepared_bytes, Some(free));
    if let DatasetPlan::Synthetic(plan) = &plan.dataset {
        media_fit(plan.media.most_bytes() * plan.turns.count.largest().max(1.0), free)?;
    }
    prompts(&plan.dataset).map_or(Ok(()), |prompts| fits(&prompts, bodies, free))
}

/// The prompts of a dataset that a seed defines.
fn prompts(dataset: &DatasetPlan) -> Option<Prompts> {
    match dataset {
        DatasetPlan::Synthetic(plan) => {
            let ((mean, longest), turns) = (plan.tokens_a_turn()?, &plan.turns.count);
            Some(Prompts {
                entries: plan.entries,
                mean: mean * turns.mean().max(1.0),
                longest: longest * turns.largest().max(1.0),
                has_turns: turns.largest() >= 2.0,
            })
        }
        DatasetPlan::Rankings(plan) => {
            let (mean, longest) = (plan.tokens().max(1.0), plan.most_tokens().max(1.0));
            Some(Prompts { entries: plan.entries, mean, longest, has_turns: false })
        }
        DatasetPlan::File(_) | DatasetPlan::Public(_) | DatasetPlan::Trace(_) => None,
    }
}

/// Whether the media of one conversation per core can be made.
fn media_fit(bytes: f64, free: u64) -> Result<(), MemoryError> {
    let (need, free) = (bytes * (MEDIA_COPIES + 2.0 * (cores() as f64 - 1.0)), free as f64);
    if need <= free * SHARE { Ok(()) } else { Err(MemoryError::Media { need, free }) }
}

/// Bytes that are free now; `None` if that is unknown.
pub(crate) fn free_now() -> Option<u64> {
    free_bytes(&|path| read_to_string(path).ok())
}

/// Bytes that files of conversations may take; `None` if the free memory is unknown.
pub fn room() -> Option<u64> {
    room_of(free_now())
}

pub(crate) fn room_of(free: Option<u64>) -> Option<u64> {
    free.map(|free| (free as f64 * SHARE) as u64)
}

/// How much is encoded beforehand, by the memory that is free now.
pub(crate) fn encoding_budget(plan: &Plan) -> EncodingBudget {
    let free = free_now();
    let bytes = bodies_within(plan.runtime.prepared_bytes, free);
    let ahead = bodies_within((bytes / PART_AHEAD).clamp(LEAST_AHEAD, MOST_AHEAD), free);
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    EncodingBudget { bytes: size(bytes), ahead_bytes: size(ahead), threads: makers(plan, free) }
}

/// How many threads may make prompts at the same time: one per core, fewer if that many prompts do not fit into the
/// free memory.
pub(crate) fn makers(plan: &Plan, free: Option<u64>) -> usize {
    prompts(&plan.dataset).zip(free).map_or_else(cores, |(prompts, free)| makers_within(prompts.longest, free, cores()))
}

fn makers_within(longest: f64, free: u64, cores: usize) -> usize {
    let fit = free as f64 * SHARE_IN_THE_MAKING / (longest * BYTES_IN_THE_MAKING);
    (fit as usize).clamp(1, cores)
}

fn bodies_within(wanted: u64, free: Option<u64>) -> u64 {
    free.map_or(wanted, |free| wanted.min(free / PART_OF_BODIES))
}

/// Prompts to make, with the tokens of each conversation.
struct Prompts {
    entries: u32,
    mean: f64,
    longest: f64,
    has_turns: bool,
}

fn fits(prompts: &Prompts, bodies: u64, free: u64) -> Result<(), MemoryError> {
    let (free, &Prompts { entries, mean, longest, has_turns }) = (free as f64, prompts);
    let making = longest * BYTES_IN_THE_MAKING;
    let tokens = f64::from(entries) * mean;
    let kept = (tokens * BYTES_A_TOKEN).min(MOST_KEPT).max((tokens * BYTES_OF_A_BODY).min(bodies as f64));
    if kept + making <= free * SHARE {
        return Ok(());
    }
    let what = if has_turns { "conversations" } else { "prompts" };
    let way_out = if has_turns {
        "fewer conversations (--num-dataset-entries N), fewer turns (--session-turns-mean N), a smaller --isl"
    } else if kept > making {
        "fewer prompts (--num-dataset-entries N), a smaller --isl"
    } else if longest > 2.0 * mean {
        "a smaller --isl-stddev, a smaller --isl"
    } else {
        "a smaller --isl"
    };
    Err(MemoryError::Prompts { entries, what, mean, kept, longest, making, free, way_out })
}

/// Where a version of cgroups has the limit and the usage of a group.
struct Cgroups {
    /// The controllers in the line of `/proc/self/cgroup`.
    controller: &'static str,
    root: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// The line of `memory.stat` with the page cache. It counts as usage, but the kernel frees it when memory is short.
    cache: &'static str,
}

const CGROUPS: &[Cgroups] = &[
    Cgroups {
        controller: "",
        root: "/sys/fs/cgroup",
        limit: "memory.max",
        usage: "memory.current",
        cache: "inactive_file ",
    },
    Cgroups {
        controller: "memory",
        root: "/sys/fs/cgroup/memory",
        limit: "memory.limit_in_bytes",
        usage: "memory.usage_in_bytes",
        cache: "total_inactive_file ",
    },
];

/// Reads files of the system.
type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Bytes that this process may still take: by the machine, its cgroups and its own limit. `None` if none is known.
fn free_bytes(read: Read<'_>) -> Option<u64> {
    let machine = read("/proc/meminfo").and_then(|text| number(&text, "MemAvailable:"));
    let groups = CGROUPS.iter().filter_map(|cgroups| free_in_groups(cgroups, read)).min();
    let own = read("/proc/self/limits").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("Max address space"))?;
        let limit = line.split_whitespace().nth(3)?.parse::<u64>().ok()?;
        let taken = read("/proc/self/status").and_then(|text| number(&text, "VmSize:")).unwrap_or(0);
        Some(limit.saturating_sub(taken.saturating_mul(1024)))
    });
    [machine.map(|kib| kib.saturating_mul(1024)), groups, own].into_iter().flatten().min()
}

/// The least free memory of this process's group and its parents. In a container, the group may have a name of the
/// host, and only the root is readable.
fn free_in_groups(cgroups: &Cgroups, read: Read<'_>) -> Option<u64> {
    let own = read("/proc/self/cgroup").unwrap_or_default();
    let path = own.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|controller| controller == cgroups.controller).then_some(path)
    });
    let mut path = path.unwrap_or_default().trim_end_matches('/');
    let mut least = None;
    loop {
        let free = free_in_group(cgroups, &format!("{}{path}", cgroups.root), read);
        least = least.into_iter().chain(free).min();
        match path.rsplit_once('/') {
            Some((outer, _)) => path = outer,
            None => return least,
        }
    }
}

fn free_in_group(cgroups: &Cgroups, folder: &str, read: Read<'_>) -> Option<u64> {
    let value = |name: &str| read(&format!("{folder}/{name}"))?.trim().parse::<u64>().ok();
    let limit = value(cgroups.limit)?;
    let stat = read(&format!("{folder}/memory.stat"));
    let cache = stat.and_then(|text| number(&text, cgroups.cache)).unwrap_or(0);
    let used = value(cgroups.usage).unwrap_or(0).saturating_sub(cache);
    Some(limit.saturating_sub(used))
}

/// The number after a name at the beginning of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The free memory of a machine with these files.
    fn free(files: &[(&str, &str)]) -> Option<u64> {
        free_bytes(&|path| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned()))
    }

    #[test]
    fn the_machine_the_group_and_the_shell_limit_what_is_free() {
        let machine = ("/proc/meminfo", "MemTotal: 5 kB\nMemAvailable:   123 kB\n");
        assert_eq!(free(&[machine]), Some(123 * 1024));
        let shell = ("/proc/self/limits", "Max cpu time  1 2 s\nMax address space   4000   unlimited   bytes\n");
        assert_eq!(free(&[machine, shell]), Some(4000));
        assert_eq!(free(&[machine, shell, ("/proc/self/status", "Name: x\nVmSize:  3 kB\n")]), Some(4000 - 3 * 1024));
        let group = [("/proc/self/cgroup", "0::/\n"), ("/sys/fs/cgroup/memory.max", "900\n")];
        assert_eq!(free(&[machine, shell, group[0], group[1]]), Some(900));
        assert_eq!(free(&[("/sys/fs/cgroup/memory.max", "max\n")]), None);
        assert_eq!(free(&[]), None);
    }

    #[test]
    fn page_cache_that_the_kernel_can_free_counts_as_free() {
        let files = [
            ("/sys/fs/cgroup/memory.max", "1000\n"),
            ("/sys/fs/cgroup/memory.current", "1000\n"),
            ("/sys/fs/cgroup/memory.stat", "anon 100\nfile 900\ninactive_file 700\n"),
        ];
        assert_eq!(free(&files), Some(700));
    }

    #[test]
    fn the_narrowest_of_the_groups_around_the_process_decides() {
        let files = [
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/a/b/memory.max", "max"),
            ("/sys/fs/cgroup/a/memory.max", "500"),
            ("/sys/fs/cgroup/a/memory.current", "100"),
            ("/sys/fs/cgroup/memory.max", "5000"),
        ];
        assert_eq!(free(&files), Some(400));
        let old = [
            ("/proc/self/cgroup", "5:cpu,memory:/host/name\n0::/\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "500"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "400"),
            ("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file 50"),
        ];
        assert_eq!(free(&old), Some(150));
    }

    #[test]
    fn the_message_names_what_does_not_fit() {
        let prompts = |entries, mean, stddev| Prompts { entries, mean, longest: mean + 6.0 * stddev, has_turns: false };
        // 2 MB for all and 50 kB for one in the making; four fifths of the free memory must be enough.
        assert_eq!(fits(&prompts(100, 1000.0, 0.0), 0, 2_562_500), Ok(()));
        let refusal = |prompts, free| fits(&prompts, 0, free).unwrap_err().to_string();
        let many = refusal(prompts(100, 1000.0, 0.0), 2_562_499);
        assert!(many.contains("100 prompts of 1000 tokens") && many.contains("--num-dataset-entries"), "{many}");
        let long = refusal(prompts(1, 1e7, 0.0), 100_000_000);
        assert!(
            long.contains("need some 0.7 GB") && long.contains("one of up to 10000000 tokens takes 0.5 GB"),
            "{long}"
        );
        assert!(long.contains("try: a smaller --isl, or"), "{long}");
        let wide = refusal(prompts(1, 1000.0, 1e6), 100_000_000);
        assert!(wide.contains("one of up to 6001000 tokens") && wide.contains("--isl-stddev"), "{wide}");
        let turns = Prompts { has_turns: true, ..prompts(10, 100_000.0, 0.0) };
        let talk = refusal(turns, 10_000_000);
        assert!(talk.contains("10 conversations of 100000 tokens") && talk.contains("--session-turns-mean"), "{talk}");
        // However many there are, only a part is kept.
        assert_eq!(fits(&prompts(u32::MAX, 1000.0, 0.0), 150_000_000, 600_000_000), Ok(()));
    }

    #[test]
    fn media_of_one_conversation_fit_or_are_refused() {
        assert_eq!(media_fit(0.0, 0), Ok(()));
        assert_eq!(media_fit(1e6, 64 << 30), Ok(()));
        let refusal = media_fit(1e9, 1_000_000_000).unwrap_err().to_string();
        assert!(
            refusal.starts_with("the media of this run need some") && refusal.contains("1.0 GB are free"),
            "{refusal}"
        );
    }

    #[test]
    fn bodies_take_a_quarter_of_the_free_memory_at_most() {
        assert_eq!(bodies_within(1 << 30, Some(1000)), 250);
        assert_eq!((bodies_within(1 << 30, Some(64 << 30)), bodies_within(7, None)), (1 << 30, 7));
    }

    #[test]
    fn as_many_prompts_are_made_at_the_same_time_as_fit_and_at_least_one() {
        assert_eq!(makers_within(1000.0, 1 << 30, 16), 16);
        assert_eq!(makers_within(1e6, 1_000_000_000, 16), 5);
        assert_eq!(makers_within(1e9, 1 << 30, 16), 1);
    }
}
