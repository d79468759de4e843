//! Statistics held against scipy and against the reference.

mod alarms;
mod golden_convergence;
mod scipy;
