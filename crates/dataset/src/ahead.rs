//! Work in parts, done by several threads and taken in order.

use std::sync::mpsc::sync_channel;
use std::thread;

/// Does parts on all cores, ahead of `take`, which gets them in order until it fails. Each thread is two parts ahead at
/// most, so that memory is not a matter of how many there are.
pub(crate) fn in_order<T: Send, E>(
    parts: usize,
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(parts);
    if threads < 2 {
        return (0..parts).try_for_each(|part| take(work(part)));
    }
    thread::scope(|scope| {
        let work = &work;
        let started: Vec<_> = (0..threads)
            .map(|first| {
                let (send, done) = sync_channel(1);
                // It ends when nobody takes any more.
                let job = move || (first..parts).step_by(threads).try_for_each(|part| send.send(work(part)));
                scope.spawn(job);
                done
            })
            .collect();
        for part in 0..parts {
            match started[part % threads].recv() {
                Ok(done) => take(done)?,
                // Its thread panicked, which is told when all of them are over.
                Err(_) => break,
            }
        }
        drop(started);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_taken_in_order_until_one_is_refused() {
        let mut taken = Vec::new();
        let stopped = in_order(
            1000,
            |part| part * 2,
            |done| {
                taken.push(done);
                if done < 1200 { Ok(()) } else { Err("enough") }
            },
        );
        assert_eq!(stopped, Err("enough"));
        assert_eq!(taken, (0..=600).map(|part| part * 2).collect::<Vec<_>>());
        assert_eq!(in_order(0, |_| (), |()| Err(())), Ok(()));
    }
}
