//! Metrics of the run so far, and those of the servers.

use super::super::hub::State;
use super::super::prometheus::{self, Shown};
use super::super::response::{ApiResponse, JSON, PROMETHEUS};
use super::super::views;
use super::Handler::Read;
use super::Method::Get;
use super::{Group, Returns, Route};
use hyper::StatusCode;
use serde_json::json;

pub(super) const GROUP: Group = Group {
    title: "Metrics",
    routes: &[
        Route {
            method: Get,
            path: "/metrics",
            about: "Metrics of the profiling phases so far, for Prometheus. They are at most one second old.",
            responses: &[Returns(200, PROMETHEUS, "`aiperf_info`; a summary and gauges for each metric")],
            handler: Read(|asked| {
                let State { about, live, .. } = &*asked.hub.state();
                let shown = live.metrics().iter().map(|metric| Shown {
                    tag: &metric.tag,
                    header: &metric.header,
                    unit: metric.unit,
                    stats: metric.stats,
                    current: None,
                });
                let page = prometheus::text(shown, Some(&about.labels()), about.version);
                ApiResponse::new(StatusCode::OK, PROMETHEUS, page)
            }),
        },
        Route {
            method: Get,
            path: "/api/metrics",
            about: "The same metrics as JSON, with the run they belong to.",
            responses: &[Returns(
                200,
                JSON,
                "`aiperf_version`, `benchmark_id`, `model`, `endpoint_type`, `streaming`, `concurrency`, `request_rate`, \
                 `metrics`: for each tag `header`, `unit` and statistics; `verdict`: whether the numbers so far are those of \
                 the server (`is`, `reasons`), as in the summary. During the run, it is computed from means only, \
                 without unsent requests and clock errors; `telemetry_metrics`: GPU metrics, if there are any",
            )],
            handler: Read(|asked| {
                let State { about, live, .. } = &*asked.hub.state();
                ApiResponse::json(&views::metrics_by_tag(live, about))
            }),
        },
        Route {
            method: Get,
            path: "/api/server-metrics",
            about: "The servers' own metrics, of the profiling phases so far.",
            responses: &[Returns(
                200,
                JSON,
                "`snapshot`: the values of the live display, by name; `endpoint_summaries`: for each endpoint \
                 `endpoint_url`, `info` and `metrics`. A metric has `type`, `description` and `series`, and a series \
                 has `labels` and `stats`. Statistics cover the time since the phase began: `current` of a gauge; \
                 `total`, `rate` of a counter; `count`, `sum`, `avg`, `count_rate`, `sum_rate` of a histogram. Only \
                 the first 1000 series of a page are included. After the run, the statistics are those of \
                 `server_metrics_export.json`, for all series",
            )],
            handler: Read(|asked| {
                let none = || json!({ "endpoint_summaries": {}, "message": "No server metrics available yet" });
                ApiResponse::json(&views::server_metrics(&asked.hub.state().live).unwrap_or_else(none))
            }),
        },
    ],
};
