//! Rules of the plan that golden data cover.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod form;
mod golden;
