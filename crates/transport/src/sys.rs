//! The few system calls that have no safe wrapper in `nix`.
#![expect(
    unsafe_code,
    reason = "TCP_INFO, TCP_QUICKACK, sched_setscheduler, sched_setattr and setpriority have no safe wrapper in nix and only fill or read a plain value; tokio cannot prove that a descriptor outlives its registration"
)]

use nix::sys::timerfd::TimerFd;
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use tokio::io::unix::AsyncFd;

/// What the kernel counted on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounters {
    /// Segments sent again over the connection's life.
    pub total_retransmits: u32,
    /// Its smoothed round-trip time, taken where segments arrive; `None` where none could be taken.
    pub round_trip_us: Option<u32>,
}

/// The variation, in microseconds, of a connection without a round trip: a quarter of the kernel's first timeout, 1 s.
const NO_ROUND_TRIP_YET: u32 = 250_000;

/// The kernel's counters of a TCP socket. Right after a connect its retransmits are SYNs.
pub fn tcp_counters(fd: BorrowedFd<'_>) -> io::Result<TcpCounters> {
    // SAFETY: `tcp_info` is plain integers, for which all zeroes is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into `info`, which lives until the call returns.
    let rc = unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut len)
    };
    if rc != 0 {
        return Err(io::Error::last_os_error());
    }
    let round_trip_us = match info.tcpi_rtt {
        0 if info.tcpi_rttvar >= NO_ROUND_TRIP_YET => None,
        // Over loopback it may be less than the kernel counts.
        taken => Some(taken.max(1)),
    };
    Ok(TcpCounters { total_retransmits: info.tcpi_total_retrans, round_trip_us })
}

/// Has a TCP socket acknowledge at once, for now: the kernel goes back to its own ways after a while.
pub(crate) fn acknowledge_at_once(fd: BorrowedFd<'_>) {
    let on: libc::c_int = 1;
    // SAFETY: the kernel reads one integer, which lives until the call returns. A socket that cannot do it stays as it
    // is.
    unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_QUICKACK,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}

/// Puts the calling thread under SCHED_IDLE: it runs when nothing else wants the core, and the kernel counts a core
/// that runs only such work as idle. There is no way back for an unprivileged thread.
pub fn set_idle_priority() -> io::Result<()> {
    set_scheduler(Pid::from_raw(0), libc::SCHED_IDLE, 0)
}

/// Gives the calling thread real-time priority, the lowest there is: it runs before every thread without one. Threads
/// that it starts do not inherit it.
pub fn set_realtime_priority() -> io::Result<()> {
    set_scheduler(Pid::from_raw(0), libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, 1)
}

/// Gives a thread of this process the priority that threads usually have. The thread keeps its mark that threads do not
/// inherit from it: only a privileged process may clear it.
pub fn set_normal_priority(thread: Pid) -> io::Result<()> {
    set_scheduler(thread, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0)
}

/// Gives the calling thread normal priority if it has real-time priority. Threads that it starts would inherit that.
pub fn leave_realtime_priority() -> io::Result<()> {
    let this = Pid::from_raw(0);
    // SAFETY: nothing but a number is passed.
    match unsafe { libc::sched_getscheduler(this.as_raw()) } & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_RR | libc::SCHED_FIFO => set_normal_priority(this),
        _ => Ok(()),
    }
}

fn set_scheduler(thread: Pid, policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads `param` before the call returns, and nothing else but numbers is passed.
    if unsafe { libc::sched_setscheduler(thread.as_raw(), policy, &raw const param) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Asks for short time slices for a thread, which then waits less for a core. Linux 6.12 and later grants it to every
/// thread. Earlier kernels ignore it.
pub fn ask_for_short_slices(thread: Pid) -> io::Result<()> {
    /// The shortest that the kernel grants.
    const SLICE_NS: u64 = 100_000;
    let size = size_of::<libc::sched_attr>() as u32;
    // SAFETY: `sched_attr` is plain integers, for which all zeroes is a value.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes at most `size` bytes into `attributes`, which lives until the call returns.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, thread.as_raw(), &raw mut attributes, size, 0) };
    if got != 0 {
        return Err(io::Error::last_os_error());
    }
    attributes.sched_runtime = SLICE_NS;
    // SAFETY: the kernel reads `attributes` before the call returns.
    if unsafe { libc::syscall(libc::SYS_sched_setattr, thread.as_raw(), &raw const attributes, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Puts the calling thread behind all others of ordinary priority, without letting it starve.
pub fn set_lowest_niceness() -> io::Result<()> {
    const NICEST: libc::c_int = 19;
    // SAFETY: id 0 is the calling thread, and nothing but numbers is passed.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICEST) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A timer under tokio's eyes. `nix` gives its timer no raw descriptor, which tokio asks for.
pub struct Timer(pub(crate) TimerFd);

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

/// Registers a timer with the runtime of the calling thread.
pub(crate) fn register(timer: TimerFd) -> io::Result<AsyncFd<Timer>> {
    // SAFETY: the `AsyncFd` owns the timer, which owns one descriptor and keeps it open and unchanged until dropped.
    unsafe { AsyncFd::register(Timer(timer)) }.map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Policy and marks of the calling thread.
    fn scheduler() -> libc::c_int {
        // SAFETY: nothing but a number is passed.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn an_unprivileged_thread_can_leave_real_time_priority() {
        std::thread::spawn(|| {
            let Ok(()) = set_realtime_priority() else { return };
            assert_eq!(scheduler(), libc::SCHED_RR | libc::SCHED_RESET_ON_FORK);
            leave_realtime_priority().unwrap();
            // To clear the mark, a process needs CAP_SYS_NICE. The limit `ulimit -r` does not give it.
            assert_eq!(scheduler(), libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_of_normal_priority_stays_as_it_is() {
        std::thread::spawn(|| {
            let before = scheduler();
            leave_realtime_priority().unwrap();
            assert_eq!(scheduler(), before);
        })
        .join()
        .unwrap();
    }
}
