//! Where memory comes from.

/// Exchanges are freed on other threads than they were made on; mimalloc is built for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Gives back to the system what a run no longer needs. Its threads are gone, and with them whoever would do it by and by.
#[expect(unsafe_code, reason = "mimalloc is a C library, and its crate leaves this call out")]
pub(crate) fn give_back() {
    // SAFETY: it takes no pointer, and may be called at any time by any thread.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
