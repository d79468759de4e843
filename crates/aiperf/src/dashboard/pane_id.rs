//! The names of panes.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaneId {
    Progress,
    Metrics,
    Workers,
    Gpu,
    Logs,
    Trends,
    Latencies,
    Server,
}

impl PaneId {
    pub(crate) const COUNT: usize = Self::Server as usize + 1;
}
