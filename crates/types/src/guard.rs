//! Code of others that may panic on the content of a file.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs it; `None` where it panics.
pub fn guarded<T>(run: impl FnOnce() -> T) -> Option<T> {
    let before = IS_GUARDED.replace(true);
    let made = catch_unwind(AssertUnwindSafe(run)).ok();
    IS_GUARDED.set(before);
    made
}

/// Whether this thread runs guarded code. For panic hooks: such a panic ends nothing.
pub fn is_guarded() -> bool {
    IS_GUARDED.get()
}

/// Hides panics of guarded code: the caller reports what is wrong.
pub fn silence_guarded() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !is_guarded() {
            before(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_nothing_and_what_follows_is_guarded_no_more() {
        assert_eq!(guarded(|| 3), Some(3));
        assert_eq!(guarded(is_guarded), Some(true));
        assert_eq!(guarded(|| -> u32 { guarded(|| panic!("inside")).unwrap_or(4) }), Some(4));
        assert_eq!(guarded(|| -> u32 { panic!("expected") }), None);
        assert!(!is_guarded());
    }
}
