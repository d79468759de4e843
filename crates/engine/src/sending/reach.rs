//! Whether any server is there: a run in which none ever accepted a connection ends after a while, and does not fail
//! requests for hours.

use aiperf_transport::ConnectPace;
use aiperf_types::{MonoNs, Nanos};
use std::sync::Arc;

/// Servers that a reason names.
const MOST_NAMED: usize = 3;

/// What is known of all servers together.
pub(crate) struct Reach {
    /// How long after the first failed connection the run goes on; `None` for ever.
    pub(crate) timeout: Option<Nanos>,
    pub(crate) pace: Arc<ConnectPace>,
}

impl Reach {
    /// When the run is given up, unless a server accepts a connection before.
    pub(crate) fn deadline(&self) -> Option<MonoNs> {
        Some(self.pace.unreachable_since()?.plus(self.timeout?))
    }

    /// Why the run is given up, where it is by now.
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
