//! Results of several runs against golden data: trials, sweeps, and steps over their results.

mod convergence;
mod post_process;
mod recorded;
mod runs;
mod sweeps;
mod trials;
