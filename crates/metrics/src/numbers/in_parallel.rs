//! Computes several results at once.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{Builder, scope};

/// The results of `compute` for all numbers below `count`, on at most `threads` threads. Each thread has its own
/// scratch, so that its memory is reused.
pub(crate) fn in_parallel<S, T>(threads: usize, count: usize, compute: impl Fn(&mut S, usize) -> T + Sync) -> Vec<T>
where
    S: Default,
    T: Send,
{
    let next = AtomicUsize::new(0);
    let work = || {
        let mut scratch = S::default();
        let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Relaxed)).filter(|number| *number < count));
        numbers.map(|number| (number, compute(&mut scratch, number))).collect::<Vec<(usize, T)>>()
    };
    let mut computed = scope(|scope| {
        // If no more threads can be started, fewer do the work.
        let spawn = |_| Builder::new().name("aiperf-summary".into()).spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads.min(count)).filter_map(spawn).collect();
        let mut computed = work();
        for other in others {
            computed.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        computed
    });
    computed.sort_unstable_by_key(|(number, _)| *number);
    computed.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_for_any_number_of_threads() {
        for threads in [0, 1, 2, 50] {
            let squares = in_parallel(threads, 9, |calls: &mut usize, number| {
                *calls += 1;
                assert!(*calls <= 9);
                number * number
            });
            assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36, 49, 64], "{threads}");
        }
        assert!(in_parallel(3, 0, |(): &mut (), number| number).is_empty());
    }
}
