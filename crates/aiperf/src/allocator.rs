//! The memory allocator.

/// mimalloc, because exchanges are freed on other threads than those that allocated them, and mimalloc is built for
/// that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Returns memory that a run no longer needs to the system. The threads of the run have ended, so they cannot do it.
#[expect(unsafe_code, reason = "mimalloc is a C library, and its crate leaves this call out")]
pub(crate) fn give_back() {
    // SAFETY: the call takes no pointer, and any thread may make it at any time.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
