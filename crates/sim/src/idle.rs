//! Runs a thread only on an otherwise idle core.

/// Makes the calling thread SCHED_IDLE: it gives way to every other thread at once, so that writing the log does not
/// delay the events it is about. Failing is harmless and ignored.
#[expect(unsafe_code, reason = "nix has no wrapper for sched_setscheduler")]
pub(crate) fn run_only_when_idle() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads one initialised struct and changes nothing but the calling thread's policy (thread 0 is
    // the caller).
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters);
    }
}
