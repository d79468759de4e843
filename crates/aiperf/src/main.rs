//! The `aiperf` command.

fn main() {}
