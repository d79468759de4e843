//! Whether any server is reachable. If none ever accepts a connection, the run ends after a while instead of failing
//! requests for hours.

use aiperf_transport::ConnectPace;
use aiperf_types::{MonoNs, Nanos};
use std::sync::Arc;

/// The most servers that a reason names.
const MOST_NAMED: usize = 3;

/// The connections to all servers together.
pub(crate) struct Reach {
    /// How long the run continues after the first failed connection; `None` for ever.
    pub(crate) timeout: Option<Nanos>,
    pub(crate) pace: Arc<ConnectPace>,
}

impl Reach {
    /// When the run ends, unless a server accepts a connection before.
    pub(crate) fn deadline(&self) -> Option<MonoNs> {
        Some(self.pace.unreachable_since()?.plus(self.timeout?))
    }

    /// Why the run ends, if the deadline has passed.
    pub(crate) fn given_up(&self, now: MonoNs) -> Option<String> {
        let timeout = self.timeout.filter(|_| self.deadline().is_some_and(|deadline| now >= deadline))?;
        let addresses = self.pace.failed_addresses();
        let mut named = addresses.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
        if addresses.len() > MOST_NAMED {
            named.push_str(&format!(" and {} more", addresses.len() - MOST_NAMED));
        }
        let seconds = timeout.as_secs_f64();
        Some(format!(
            "No server accepted a connection within {seconds} s of the first failed connection ({named}): the run was ended early. \
             --unreachable-timeout 0 goes on."
        ))
    }
}
