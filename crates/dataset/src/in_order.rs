//! Makes items on all cores, in the order of their numbers. The result does not depend on the number of threads.

use std::convert::identity;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{Builder, available_parallelism, scope};

/// The number of threads that can run at the same time.
pub fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// An item with its number and its weight.
type Made<T, E> = (usize, Result<(T, usize), E>);

/// Makes `count` items on `threads` threads. If several fail, the error is that of the first.
pub fn in_order<T, E>(threads: usize, count: usize, make: impl Fn(usize) -> Result<T, E> + Sync) -> Result<Vec<T>, E>
where
    T: Send,
    E: Send,
{
    up_to(threads, usize::MAX, count, |index| make(index).map(|thing| (thing, 0)))
}

/// Makes items, each with a weight, until their total weight reaches `wanted` or all are made. Failures of later items
/// are ignored.
pub fn up_to<T, E>(
    threads: usize,
    wanted: usize,
    count: usize,
    make: impl Fn(usize) -> Result<(T, usize), E> + Sync,
) -> Result<Vec<T>, E>
where
    T: Send,
    E: Send,
{
    let (next, weight, first_fault) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    // Threads take numbers in order. A thread that took a number makes its item, unless an earlier item failed. So no
    // item that counts is missing.
    let work = || {
        let mut made: Vec<Made<T, E>> = Vec::new();
        while weight.load(Relaxed) < wanted {
            let index = next.fetch_add(1, Relaxed);
            if index >= count || index > first_fault.load(Relaxed) {
                break;
            }
            let thing = make(index);
            match &thing {
                Ok((_, weighs)) => weight.fetch_add(*weighs, Relaxed),
                Err(_) => first_fault.fetch_min(index, Relaxed),
            };
            made.push((index, thing));
        }
        made
    };
    let mut made = scope(|scope| {
        // If no more threads can be started, fewer do the work.
        let spawn = |_| Builder::new().name("aiperf-make".into()).spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads.min(count)).filter_map(spawn).collect();
        let mut made = work();
        for other in others {
            made.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        made
    });
    made.sort_unstable_by_key(|(index, _)| *index);
    let mut weighed = 0_usize;
    let counts = |(_, thing): Made<T, E>| {
        let is_wanted = weighed < wanted;
        weighed = weighed.saturating_add(thing.as_ref().map_or(0, |(_, weighs)| *weighs));
        is_wanted.then(|| thing.map(|(thing, _)| thing))
    };
    made.into_iter().map(counts).map_while(identity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_number_of_threads_makes_the_same(
            weights in prop::collection::vec(prop::result::maybe_err(0..9_usize, 0..9_usize), 0..60),
            wanted in prop::sample::select(vec![0, 1, 20, 60, usize::MAX]),
            threads in 2..6_usize,
        ) {
            let make = |index: usize| weights[index].map(|weighs| (index, weighs)).map_err(|_| index);
            let alone = up_to(1, wanted, weights.len(), make);
            prop_assert_eq!(&up_to(threads, wanted, weights.len(), make), &alone);
            if let Ok(made) = alone {
                prop_assert!(made.iter().copied().eq(0..made.len()));
                let weighed = |count: usize| made[..count].iter().map(|at| weights[*at].unwrap_or(0)).sum::<usize>();
                prop_assert!(made.is_empty() || weighed(made.len() - 1) < wanted);
                prop_assert!(made.len() == weights.len() || weighed(made.len()) >= wanted);
            }
        }
    }

    #[test]
    fn of_several_faults_the_first_is_returned() {
        let make = |index: usize| if index % 7 == 3 { Err(index) } else { Ok((index, 0)) };
        assert_eq!(up_to(4, usize::MAX, 100, make), Err(3));
        assert_eq!(in_order(2, 3, |index| Ok::<_, ()>(2 * index)), Ok(vec![0, 2, 4]));
    }
}
