//! The configuration of the run, and its progress.

use super::super::response::{ApiResponse, JSON};
use super::super::views;
use super::Handler::{Act, Read};
use super::Method::{Get, Post};
use super::{Group, Returns, Route};
use hyper::StatusCode;
use serde_json::json;

pub(super) const GROUP: Group = Group {
    title: "Run",
    routes: &[
        Route {
            method: Get,
            path: "/api/config",
            about: "The resolved configuration, without secrets.",
            responses: &[Returns(
                200,
                JSON,
                "as `input_config` of the summary, without `api_key` and settings that are not set",
            )],
            handler: Read(|asked| ApiResponse::json(&asked.hub.about().config)),
        },
        Route {
            method: Get,
            path: "/api/run",
            about: "The identity of the run.",
            responses: &[Returns(
                200,
                JSON,
                "as `run_info` of the summary: `benchmark_id`, `random_seed`, `trial`, `run_label`, `variation_label`, \
                 `variation_index`, `variation_values`, `cli_command`",
            )],
            handler: Read(|asked| ApiResponse::json(&asked.hub.about().run_info)),
        },
        Route {
            method: Get,
            path: "/api/progress",
            about: "The progress of each phase.",
            responses: &[Returns(
                200,
                JSON,
                "`phases`: for each name its requests and records, their rates, and the time left (null if it is not \
                 known); `workers`: their number; `results_exported`; `system_state`: `configuring`, `ready`, `profiling`, `processing`, `stopping`; \
                 `messages`: the latest warnings and errors",
            )],
            handler: Read(|asked| ApiResponse::json(&views::progress(&asked.hub.state().live))),
        },
        Route {
            method: Get,
            path: "/api/workers",
            about: "The work of each worker so far.",
            responses: &[Returns(
                200,
                JSON,
                "`workers`: for each `worker_id` of the records `status`, `task_stats`, requests in flight and bytes; \
                 `worker_groups`: all workers, as the group `local`",
            )],
            handler: Read(|asked| ApiResponse::json(&views::workers(&asked.hub.state().live))),
        },
        Route {
            method: Post,
            path: "/api/shutdown",
            about: "Ends the API, and with it the process, when the run is over.",
            responses: &[
                Returns(200, JSON, "`{\"status\":\"shutting_down\"}`; the API ends half a second later"),
                Returns(403, JSON, "the request comes from a page of another origin"),
                Returns(409, JSON, "the run is still on"),
            ],
            handler: Act(|asked| {
                if asked.hub.state().live.outcome.is_none() {
                    let words = "Benchmark is still running. Cannot shut down API service.";
                    return ApiResponse::refusal(StatusCode::CONFLICT, words);
                }
                asked.hub.request_stop();
                ApiResponse::json(&json!({ "status": "shutting_down" }))
            }),
        },
    ],
};
