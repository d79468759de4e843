//! The CPU and memory use of this process, from the kernel.

use std::collections::BTreeMap;
use std::time::Instant;

/// The CPU use of one thread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThreadUse {
    pub(crate) id: u32,
    pub(crate) name: String,
    /// Percent of a core since the last reading; `None` at the first.
    pub(crate) cpu: Option<f64>,
}

/// Reads the use of threads at intervals.
#[derive(Default)]
pub(crate) struct Threads {
    before: BTreeMap<u32, u64>,
    looked: Option<Instant>,
}

/// The kernel's clock ticks per second: the same on every Linux.
const TICKS: f64 = 100.0;

impl Threads {
    /// The use of all threads, and the resident memory of the process in bytes.
    pub(crate) fn look(&mut self) -> (Vec<ThreadUse>, Option<u64>) {
        let now = Instant::now();
        let seconds = self.looked.replace(now).map(|before| now.duration_since(before).as_secs_f64());
        let seconds = seconds.filter(|seconds| *seconds > 0.0);
        let before = std::mem::take(&mut self.before);
        let folders = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let mut threads: Vec<ThreadUse> = folders
            .filter_map(|folder| {
                let (id, name, ticks) = parse(&std::fs::read_to_string(folder.path().join("stat")).ok()?)?;
                self.before.insert(id, ticks);
                let cpu = before.get(&id).zip(seconds).map(|(had, seconds)| {
                    let used = ticks.saturating_sub(*had) as f64 / TICKS;
                    100.0 * used / seconds
                });
                Some(ThreadUse { id, name, cpu })
            })
            .collect();
        threads.sort_by_key(|thread| thread.id);
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        (threads, resident(&status))
    }
}

/// Bytes of memory, from lines such as `VmRSS:     1234 kB`: the unit does not depend on the page size.
fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Id, name and used ticks, from a line such as `12 (a name) S 1 ...`.
fn parse(stat: &str) -> Option<(u32, String, u64)> {
    let (id, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    // The state is field 3 of the line; the times in user and system mode are fields 14 and 15.
    let mut ticks = rest.split(' ').skip(11).map(|ticks| ticks.parse::<u64>().ok());
    Some((id.parse().ok()?, name.to_owned(), ticks.next()?? + ticks.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_may_have_any_name() {
        let line = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 40 2 0 0 20 0 1 0";
        assert_eq!(parse(line), Some((7, "a) b (c".to_owned(), 42)));
    }

    #[test]
    fn cpu_use_is_known_from_the_second_reading_on() {
        let mut threads = Threads::default();
        let (new, _) = threads.look();
        assert!(!new.is_empty() && new.iter().all(|thread| thread.cpu.is_none()), "{new:?}");
        let (seen, memory) = threads.look();
        assert!(seen.iter().any(|thread| thread.cpu.is_some()), "{seen:?}");
        assert!(memory.is_some_and(|bytes| bytes > 0));
    }
}
