//! Statistics held against scipy, against the reference and against simulated runs.

mod alarms;
mod coverage;
mod golden_convergence;
mod scipy;
mod sequential;
