//! Deadlines: a heap of absolute moments and one timerfd armed for the earliest.
//!
//! A timerfd is a high-resolution kernel timer: it fires within microseconds, where a timer wheel rounds to its tick.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::slots::Task;

pub(crate) struct Timers {
    /// Earliest first; the sequence number keeps equal deadlines in the order they were set.
    heap: BinaryHeap<Reverse<(u64, u64, Task)>>,
    set: u64,
    timer: TimerFd,
    armed_for: Option<u64>,
}

impl Timers {
    pub(crate) fn new() -> nix::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        Ok(Timers { heap: BinaryHeap::new(), set: 0, timer, armed_for: None })
    }

    pub(crate) fn set(&mut self, deadline_ns: u64, task: Task) {
        self.set += 1;
        self.heap.push(Reverse((deadline_ns, self.set, task)));
    }

    /// The next task whose deadline has come, if any.
    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<Task> {
        let Reverse((deadline, _, task)) = *self.heap.peek()?;
        (deadline <= now_ns).then(|| {
            self.heap.pop();
            task
        })
    }

    /// Arms the timer for the earliest deadline. It is watched edge-triggered and never read: setting it again clears
    /// it.
    pub(crate) fn arm(&mut self) -> nix::Result<()> {
        let earliest = self.heap.peek().map(|Reverse((deadline, ..))| *deadline);
        let Some(deadline) = earliest.filter(|_| earliest != self.armed_for) else { return Ok(()) };
        self.armed_for = earliest;
        let moment = TimeSpec::new((deadline / 1_000_000_000) as _, (deadline % 1_000_000_000) as _);
        self.timer.set(Expiration::OneShot(moment), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
    }
}

impl AsFd for Timers {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}
