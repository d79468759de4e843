//! Metrics of the run so far, and those of the servers.

use super::super::answer::{Answer, JSON, PROMETHEUS};
use super::super::hub::State;
use super::super::prometheus::{self, Shown};
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
            about: "The metrics of the profiling phases so far, a second old at most, for Prometheus to scrape.",
            answers: &[Returns(200, PROMETHEUS, "`aiperf_info`, then of each metric a summary and gauges")],
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
                Answer::new(StatusCode::OK, PROMETHEUS, page)
            }),
        },
        Route {
            method: Get,
            path: "/api/metrics",
            about: "The same as JSON, with the run that they belong to.",
            answers: &[Returns(
                200,
                JSON,
                "`aiperf_version`, `benchmark_id`, `model`, `endpoint_type`, `streaming`, `concurrency`, `request_rate`, \
                 `metrics`: by tag `header`, `unit` and statistics; `telemetry_metrics`: what GPUs reported, where they did",
            )],
            handler: Read(|asked| {
                let State { about, live, .. } = &*asked.hub.state();
                Answer::json(&views::metrics_by_tag(live, about))
            }),
        },
        Route {
            method: Get,
            path: "/api/server-metrics",
            about: "The servers' own metrics, over the profiling phases so far.",
            answers: &[Returns(
                200,
                JSON,
                "`snapshot`: values by the names of the live display; `endpoint_summaries`: by endpoint `endpoint_url`, \
                 `info`, and `metrics` by name with `type`, `description` and `series`, each with `labels` and `stats`. \
                 Statistics are since the phase began: of a gauge `current`; of a counter `total`, `rate`; of a \
                 histogram `count`, `sum`, `avg`, `count_rate`, `sum_rate`; of the first 1000 series of a page. Once \
                 the run is over they are all those of `server_metrics_export.json`",
            )],
            handler: Read(|asked| {
                let none = || json!({ "endpoint_summaries": {}, "message": "No server metrics available yet" });
                Answer::json(&views::server_metrics(&asked.hub.state().live).unwrap_or_else(none))
            }),
        },
    ],
};
