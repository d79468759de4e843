//! The rows of the registry: one file per family, one row per metric, and the functions of a family below its rows.

mod adjusted;
mod curves;
mod goodput;
mod gpu;
mod gpu_vendors;
mod http;
mod measurement;
mod media;
mod requests;
mod schedule;
mod spec_decode;
mod streaming;
mod tokens;
mod usage;

use crate::registry::metric::Metric;

pub use schedule::DEGRADED_LAG_MS;
pub(crate) use streaming::token_divisor;

/// Every family with its name, in the order of docs and record exports.
pub(crate) const FAMILIES: &[(&str, &[Metric])] = &[
    ("Streaming", streaming::METRICS),
    ("Requests", requests::METRICS),
    ("Tokens", tokens::METRICS),
    ("Goodput", goodput::METRICS),
    ("Images, video and audio", media::METRICS),
    ("Usage", usage::METRICS),
    ("HTTP trace", http::METRICS),
    ("Speculative decoding", spec_decode::METRICS),
    ("Schedule", schedule::METRICS),
    ("Error- and network-adjusted", adjusted::METRICS),
    ("Time-weighted curves", curves::METRICS),
    ("GPU efficiency", gpu::METRICS),
    ("GPU efficiency, NVIDIA", gpu_vendors::NVIDIA),
    ("GPU efficiency, AMD", gpu_vendors::AMD),
    ("Measurement", measurement::METRICS),
];

const NS_PER_SEC: f64 = 1e9;

/// A count or a time as a signed number; `None` if it does not fit, which no measured value does.
#[inline]
fn int(value: Option<u64>) -> Option<i64> {
    value.and_then(|value| i64::try_from(value).ok())
}
