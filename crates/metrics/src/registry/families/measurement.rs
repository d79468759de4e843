//! The run's own judgement of its numbers.

use crate::registry::flags::Flags;
use crate::registry::metric::{Compute, Metric};
use crate::registry::unit::Unit;

/// In the order of output.
pub(super) const METRICS: &[Metric] = &[Metric::new("verdict", "Verdict", Unit::Count, Compute::Verdict)
    .flags(&[Flags::NO_SLICES])
    .formula("0 trustworthy, 1 doubtful, 2 client-bound: whether the numbers are those of the server (docs/truth.md)")
    .absent("never, in the results of a whole run")];
