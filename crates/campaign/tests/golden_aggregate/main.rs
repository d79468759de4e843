//! Many runs against golden data: trials, sweeps, and what is made of them.
#![expect(clippy::unwrap_used, reason = "golden data that cannot be read is a failed test")]

mod convergence;
mod post_process;
mod recorded;
mod runs;
mod sweeps;
mod trials;
