//! Makes items on all cores, in the order of their numbers. The result does not depend on the number of threads.

use std::convert::identity;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread::{Builder, available_parallelism, scope};
use std::time::{Duration, Instant};

/// Work that is worth another thread: about four times what the start of a thread takes.
const WORTH_A_THREAD: Duration = Duration::from_micros(100);
/// With fewer items for each thread, all threads start at once: the first item may take long.
const MANY_A_THREAD: usize = 8;
/// The most items that a thread takes at a time. They share the cost of taking.
const MOST_AT_A_TIME: usize = 16;
/// Every thread takes at least so often, if there are enough items, so that all end at about the same time.
const LEAST_TAKES: usize = 64;
/// Bytes of items that are handed over together.
const BYTES_AT_A_TIME: usize = 1 << 16;
/// Parts of groups of one thread that may wait.
const GROUPS_AHEAD: usize = 2;

/// The number of threads that can run at the same time.
pub fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Consecutive items with their weights, and the number of the first.
type Made<T, E> = (usize, Vec<Result<(T, usize), E>>);

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
    // If the weight is limited, a thread takes no item before it knows the weight of the last one.
    let most_at_a_time = if wanted == usize::MAX { MOST_AT_A_TIME } else { 1 };
    let at_a_time = (count / (LEAST_TAKES * threads.max(1))).clamp(1, most_at_a_time);
    // Threads take numbers in order. A thread that took a number makes its item, unless an earlier item failed. So no
    // item that counts is missing.
    let take = |made: &mut Vec<Made<T, E>>| {
        if weight.load(Relaxed) >= wanted {
            return false;
        }
        let first = next.fetch_add(at_a_time, Relaxed);
        if first >= count {
            return false;
        }
        let mut things = Vec::with_capacity(at_a_time);
        for index in first..count.min(first + at_a_time) {
            if index > first_fault.load(Relaxed) {
                break;
            }
            let thing = make(index);
            match &thing {
                Ok((_, weighs)) => weight.fetch_add(*weighs, Relaxed),
                Err(_) => first_fault.fetch_min(index, Relaxed),
            };
            things.push(thing);
        }
        made.push((first, things));
        first_fault.load(Relaxed) == usize::MAX
    };
    let work = || {
        let mut made = Vec::new();
        while take(&mut made) {}
        made
    };
    let mut made = scope(|scope| {
        let (began, mut others, mut may_start) = (Instant::now(), Vec::new(), true);
        let mut made = Vec::new();
        let are_many = count > MANY_A_THREAD * threads;
        loop {
            let left = count.saturating_sub(next.load(Relaxed)).div_ceil(at_a_time);
            let elapsed = (began.elapsed().as_nanos() / WORTH_A_THREAD.as_nanos()) as usize;
            let worth = if are_many { elapsed } else { threads };
            let threads_now = worth.min(threads.saturating_sub(1)).min(others.len() + left);
            while may_start && others.len() < threads_now {
                // If no more threads can be started, fewer do the work.
                let other = Builder::new().name("aiperf-make".into()).spawn_scoped(scope, work);
                may_start = other.is_ok();
                others.extend(other);
            }
            if !take(&mut made) {
                break;
            }
        }
        for other in others {
            made.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        made
    });
    made.sort_unstable_by_key(|(first, _)| *first);
    let mut weighed = 0_usize;
    let counts = |thing: Result<(T, usize), E>| {
        let is_wanted = weighed < wanted;
        weighed = weighed.saturating_add(thing.as_ref().map_or(0, |(_, weighs)| *weighs));
        is_wanted.then(|| thing.map(|(thing, _)| thing))
    };
    made.into_iter().flat_map(|(_, things)| things).map(counts).map_while(identity).collect()
}

/// Some items of a group, in order.
struct Part<T> {
    things: Vec<T>,
    is_last: bool,
}

/// Makes `count` items, each with its size in bytes, and hands them to `take` in order, on the calling thread, until it
/// returns `false`. Only a few items of each thread are in memory at a time.
pub fn hand_over<T: Send>(
    threads: usize,
    count: usize,
    make: impl Fn(usize) -> (T, usize) + Sync,
    mut take: impl FnMut(T) -> bool,
) {
    let (began, mut next, mut bytes) = (Instant::now(), 0, 0);
    // Other threads are not worth their start if all is made within a moment.
    while next < count && (threads < 2 || began.elapsed() < WORTH_A_THREAD) {
        let (thing, size) = make(next);
        (next, bytes) = (next + 1, bytes + size);
        if !take(thing) {
            return;
        }
    }
    let at_a_time = (BYTES_AT_A_TIME / (bytes / next.max(1)).max(1)).clamp(1, MOST_AT_A_TIME);
    let groups = (count - next).div_ceil(at_a_time);
    let group = |number: usize| next + number * at_a_time..count.min(next + (number + 1) * at_a_time);
    scope(|scope| {
        // The threads make the groups in turn.
        let threads = threads.min(groups);
        let mut makers = Vec::with_capacity(threads);
        for thread in 0..threads {
            let (send, receive) = mpsc::sync_channel(GROUPS_AHEAD);
            let (make, group) = (&make, &group);
            let work = move || {
                for number in (thread..groups).step_by(threads) {
                    let (mut things, mut bytes) = (Vec::new(), 0);
                    for index in group(number) {
                        let (thing, size) = make(index);
                        things.push(thing);
                        bytes += size;
                        // Items may be larger than those that set the size of a group.
                        if bytes >= BYTES_AT_A_TIME {
                            bytes = 0;
                            if send.send(Part { things: std::mem::take(&mut things), is_last: false }).is_err() {
                                return;
                            }
                        }
                    }
                    // The receiver is gone if the caller has stopped.
                    if send.send(Part { things, is_last: true }).is_err() {
                        return;
                    }
                }
            };
            let spawned = Builder::new().name("aiperf-make".into()).spawn_scoped(scope, work);
            makers.push(spawned.ok().map(|thread| (thread, receive)));
        }
        for number in 0..groups {
            let maker = &mut makers[number % threads];
            loop {
                let received = maker.as_ref().map(|(_, receive)| receive.recv());
                let Part { things, is_last } = match received {
                    Some(Ok(part)) => part,
                    // A thread ends early only by a panic.
                    Some(Err(_)) => match maker.take().map(|(thread, _)| thread.join()) {
                        Some(Err(panic)) => resume_unwind(panic),
                        _ => return,
                    },
                    // The thread could not be started.
                    None => Part { things: group(number).map(|index| make(index).0).collect(), is_last: true },
                };
                if !things.into_iter().all(&mut take) {
                    return;
                }
                if is_last {
                    break;
                }
            }
        }
    });
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
            let make = |index: usize| {
                // Long enough for all threads to start.
                std::thread::sleep(Duration::from_micros(if index == 0 { 500 } else { 0 }));
                weights[index].map(|weighs| (index, weighs)).map_err(|_| index)
            };
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
    fn items_are_handed_over_in_order_until_one_is_the_last() {
        for (threads, bytes) in [(1, 1), (2, 1), (5, 1), (2, BYTES_AT_A_TIME / 4), (3, BYTES_AT_A_TIME)] {
            for (count, last) in [(0, 0), (1, 1), (1000, 1000), (1000, 333)] {
                let make = |index: usize| {
                    std::thread::sleep(Duration::from_micros(if index.is_multiple_of(100) { 200 } else { 0 }));
                    // Later items are larger.
                    (index, if index > 200 { bytes } else { 1 })
                };
                let mut taken = Vec::new();
                hand_over(threads, count, make, |index| {
                    taken.push(index);
                    taken.len() < last
                });
                assert!(taken.iter().copied().eq(0..last), "{threads} threads, {count} items: {taken:?}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "the item")]
    fn a_panic_while_an_item_is_made_reaches_the_caller() {
        let make = |index: usize| {
            std::thread::sleep(Duration::from_micros(200));
            assert!(index < 50, "the item");
            (index, 1)
        };
        hand_over(3, 100, make, |_| true);
    }

    #[test]
    fn of_several_faults_the_first_is_returned() {
        let make = |index: usize| if index % 7 == 3 { Err(index) } else { Ok((index, 0)) };
        assert_eq!(up_to(4, usize::MAX, 100, make), Err(3));
        assert_eq!(in_order(2, 3, |index| Ok::<_, ()>(2 * index)), Ok(vec![0, 2, 4]));
    }
}
