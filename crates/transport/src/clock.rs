//! The two clocks, and a timer with absolute deadlines.

use crate::sys::{self, Timer};
use aiperf_types::{MonoNs, Nanos, WallAnchor, WallNs};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId, clock_gettime};
use std::io;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;

fn read(clock: ClockId) -> u64 {
    // Both clocks exist on every Linux; a zero would show at once in every figure.
    clock_gettime(clock).map_or(0, |t| t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
}

/// CLOCK_MONOTONIC now.
pub fn mono_now() -> MonoNs {
    MonoNs(read(ClockId::CLOCK_MONOTONIC))
}

/// CLOCK_REALTIME now.
pub fn wall_now() -> WallNs {
    WallNs(read(ClockId::CLOCK_REALTIME))
}

/// Both clocks at one moment.
pub fn anchor() -> WallAnchor {
    anchor_within().0
}

/// Both clocks at one moment, and how far apart the two readings can be: the narrowest of a few tries, so that a
/// preemption between them does not shift every exported time of a run.
pub fn anchor_within() -> (WallAnchor, Nanos) {
    let once = || {
        let before = mono_now();
        let wall = wall_now();
        let after = mono_now();
        let width = after.since(before);
        (WallAnchor { wall, mono: MonoNs(before.0 + width.0 / 2) }, width)
    };
    (0..5).map(|_| once()).min_by_key(|(_, width)| *width).unwrap_or_default()
}

/// Cost of one clock read in nanoseconds, by reading it a thousand times.
pub fn read_cost() -> f64 {
    let start = mono_now();
    let mut last = start;
    for _ in 0..1000 {
        last = mono_now();
    }
    last.since(start).0 as f64 / 1000.0
}

/// A timerfd on CLOCK_MONOTONIC: fires at an absolute instant, to within microseconds where tokio's wheel has 1 ms.
pub struct DeadlineTimer {
    fd: AsyncFd<Timer>,
    armed: Option<MonoNs>,
}

impl DeadlineTimer {
    /// A timer that is not set. Needs a tokio runtime.
    pub fn new() -> io::Result<Self> {
        let fd = TimerFd::new(TimerClock::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        Ok(Self { fd: sys::register(fd)?, armed: None })
    }

    /// Sets the instant to fire at, or none.
    pub fn set(&mut self, deadline: Option<MonoNs>) -> io::Result<()> {
        if deadline == self.armed {
            return Ok(());
        }
        match deadline {
            Some(at) => {
                // Zero would disarm: an instant already past still has to fire.
                let at = at.0.max(1);
                let spec = TimeSpec::new((at / 1_000_000_000) as i64, (at % 1_000_000_000) as i64);
                self.fd.get_ref().0.set(Expiration::OneShot(spec), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            }
            None => self.fd.get_ref().0.unset()?,
        }
        self.armed = deadline;
        Ok(())
    }

    /// Ready once the deadline has passed; the timer is then not set.
    pub fn poll_fired(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.fd.poll_read_ready(cx))?;
            let mut count = [0u8; 8];
            match nix::unistd::read(self.fd.get_ref(), &mut count) {
                Ok(_) => {
                    self.armed = None;
                    return Poll::Ready(Ok(()));
                }
                Err(nix::errno::Errno::EAGAIN) => guard.clear_ready(),
                Err(errno) => return Poll::Ready(Err(errno.into())),
            }
        }
    }
}
