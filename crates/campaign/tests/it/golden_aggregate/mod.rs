//! Many runs against golden data: trials, sweeps, and what is made of them.

mod convergence;
mod post_process;
mod recorded;
mod runs;
mod sweeps;
mod trials;
