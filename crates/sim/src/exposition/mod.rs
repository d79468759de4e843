//! Metrics pages: the counts of the simulated server, with the names, labels and form of other servers.
//!
//! A kind of page is a file with its families, its bucket bounds and the style of its library. Metrics that a simulated
//! server has no notion of (preemptions, caches beyond the first, GPUs) are present and stay 0.

mod dynamo;
mod family;
mod sglang;
mod triton;
mod trtllm;
mod vllm;
mod write;

use std::str::FromStr;

use thiserror::Error;

pub(crate) use self::family::Families;
pub use self::family::FamilyType;
pub(crate) use self::trtllm::iteration_stats;
pub(crate) use self::write::OPENMETRICS_END;
use self::write::{OPENMETRICS_CONTENT_TYPE, Style};
use crate::metrics::{Bounds, Metrics};

/// The values of a page, taken at one instant.
pub(crate) struct Snapshot<'a> {
    pub(crate) metrics: &'a Metrics,
    pub(crate) model: &'a str,
    /// When counting began, in seconds since the epoch.
    pub(crate) started: f64,
    /// Seconds since then.
    pub(crate) uptime: f64,
    /// Processor time used so far, in seconds.
    pub(crate) cpu_seconds: f64,
    /// Tokens generated a second since the page before.
    pub(crate) generation_rate: f64,
}

/// A kind of page.
pub(crate) struct PageKind {
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
    pub(crate) bounds: Bounds,
    style: Style,
    pub(crate) families: fn(&Snapshot<'_>) -> Families,
}

/// Which server's metrics page is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MetricsKind {
    #[default]
    Vllm,
    Sglang,
    /// The page is at `/prometheus/metrics`; `/metrics` is a JSON array of iteration statistics.
    Trtllm,
    Dynamo,
    Triton,
    /// There is no page.
    None,
}

impl MetricsKind {
    pub const ALL: [MetricsKind; 6] = [
        MetricsKind::Vllm,
        MetricsKind::Sglang,
        MetricsKind::Trtllm,
        MetricsKind::Dynamo,
        MetricsKind::Triton,
        MetricsKind::None,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.kind().map_or("none", |kind| kind.name)
    }

    pub(crate) fn kind(self) -> Option<&'static PageKind> {
        match self {
            MetricsKind::Vllm => Some(&vllm::KIND),
            MetricsKind::Sglang => Some(&sglang::KIND),
            MetricsKind::Trtllm => Some(&trtllm::KIND),
            MetricsKind::Dynamo => Some(&dynamo::KIND),
            MetricsKind::Triton => Some(&triton::KIND),
            MetricsKind::None => None,
        }
    }

    /// How values are put into buckets.
    pub(crate) fn bounds(self) -> &'static Bounds {
        self.kind().map_or(&vllm::KIND.bounds, |kind| &kind.bounds)
    }
}

impl FromStr for MetricsKind {
    type Err = MetricsKindError;

    fn from_str(text: &str) -> Result<Self, MetricsKindError> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| MetricsKindError(text.to_owned()))
    }
}

/// Text that is no kind of page.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is none of {known}", known = MetricsKind::ALL.map(MetricsKind::name).join(", "))]
pub struct MetricsKindError(String);

/// How a page is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MetricsFormat {
    /// The Prometheus text format.
    #[default]
    Text,
    /// OpenMetrics 1.0, with exemplars.
    Openmetrics,
}

impl MetricsFormat {
    pub(crate) fn content_type(self, kind: &PageKind) -> &'static str {
        match self {
            MetricsFormat::Text => kind.style.content_type,
            MetricsFormat::Openmetrics => OPENMETRICS_CONTENT_TYPE,
        }
    }

    /// The page without its end.
    pub(crate) fn write(self, kind: &PageKind, families: &Families) -> String {
        match self {
            MetricsFormat::Text => write::text(families, &kind.style),
            MetricsFormat::Openmetrics => write::openmetrics(families),
        }
    }

    pub(crate) fn end(self) -> &'static str {
        match self {
            MetricsFormat::Text => "",
            MetricsFormat::Openmetrics => OPENMETRICS_END,
        }
    }
}

impl FromStr for MetricsFormat {
    type Err = MetricsFormatError;

    fn from_str(text: &str) -> Result<Self, MetricsFormatError> {
        match text {
            "text" => Ok(MetricsFormat::Text),
            "openmetrics" => Ok(MetricsFormat::Openmetrics),
            other => Err(MetricsFormatError(other.to_owned())),
        }
    }
}

/// Text that is no format.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is neither text nor openmetrics")]
pub struct MetricsFormatError(String);
