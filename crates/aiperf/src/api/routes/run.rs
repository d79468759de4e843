//! The configuration of the run, and its progress.

use super::super::answer::{Answer, JSON};
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
            answers: &[Returns(
                200,
                JSON,
                "as `input_config` of the summary; what is not set is left out, and so is `api_key`",
            )],
            handler: Read(|asked| Answer::json(&asked.hub.about().config)),
        },
        Route {
            method: Get,
            path: "/api/run",
            about: "Which run this is.",
            answers: &[Returns(
                200,
                JSON,
                "as `run_info` of the summary: `benchmark_id`, `random_seed`, `trial`, `run_label`, `variation_label`, \
                 `variation_index`, `variation_values`, `cli_command`",
            )],
            handler: Read(|asked| Answer::json(&asked.hub.about().run_info)),
        },
        Route {
            method: Get,
            path: "/api/progress",
            about: "How far each phase is.",
            answers: &[Returns(
                200,
                JSON,
                "`phases`: by name, requests and records with their rates and the time left, null where it is not known; `workers`: how many; \
                 `results_exported`; `system_state`: `configuring`, `ready`, `profiling`, `processing`, `stopping`; \
                 `messages`: the latest warnings and errors",
            )],
            handler: Read(|asked| Answer::json(&views::progress(&asked.hub.state().live))),
        },
        Route {
            method: Get,
            path: "/api/workers",
            about: "What each worker did so far.",
            answers: &[Returns(
                200,
                JSON,
                "`workers`: by the `worker_id` of the records `status`, `task_stats`, requests in flight, bytes; \
                 `worker_groups`: all of them, as the group `local`",
            )],
            handler: Read(|asked| Answer::json(&views::workers(&asked.hub.state().live))),
        },
        Route {
            method: Post,
            path: "/api/shutdown",
            about: "Ends the API of a run that is over, which ends the process.",
            answers: &[
                Returns(200, JSON, "`{\"status\":\"shutting_down\"}`, and it ends half a second later"),
                Returns(403, JSON, "a page of another origin asked"),
                Returns(409, JSON, "the run is still on"),
            ],
            handler: Act(|asked| {
                if asked.hub.state().live.outcome.is_none() {
                    let words = "Benchmark is still running. Cannot shut down API service.";
                    return Answer::refusal(StatusCode::CONFLICT, words);
                }
                asked.hub.request_stop();
                Answer::json(&json!({ "status": "shutting_down" }))
            }),
        },
    ],
};
