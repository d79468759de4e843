//! `aiperf validate mooncake-trace FILE`: whether a run could send the rows of a trace.

use crate::exit::{self, Exit};
use aiperf_campaign::trace_tools::validate::Validation;
use aiperf_report::{literal, thousands};
use std::num::NonZeroU32;
use std::path::Path;

/// Prints the faults in the rows of a file, line by line. A hash id stands for 512 tokens, unless `block_size` is
/// given.
pub(crate) fn run(file: &Path, block_size: Option<NonZeroU32>) -> Exit {
    let found = match Validation::read(file, block_size.map(|size| u64::from(size.get()))) {
        Ok(found) => found,
        Err(error) => return exit::refuse(error),
    };
    if found.fault_count == 0 {
        let rows = thousands(found.rows);
        return exit::print(&format!("Validation passed: {rows} rows are Mooncake-compatible.\n"));
    }
    match exit::print(&failed(file, &found)) {
        Exit::Success => Exit::Usage,
        unwritten => unwritten,
    }
}

/// The first faults, one per line.
pub(crate) fn failed(file: &Path, found: &Validation) -> String {
    let mut out = format!("Validation failed with {} error(s): {}\n", thousands(found.fault_count), file.display());
    for fault in &found.faults {
        out.push_str(&format!("  Line {}: {}\n", fault.line, fault.what));
    }
    let more = found.fault_count - found.faults.len() as u64;
    if more > 0 {
        out.push_str(&format!("  and {} more\n", thousands(more)));
    }
    literal(&out)
}
