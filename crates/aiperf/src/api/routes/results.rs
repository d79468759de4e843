//! The results of the run, and its files.

use super::super::files::{self, Unavailable};
use super::super::live::SystemState;
use super::super::response::{ApiResponse, JSON};
use super::super::views;
use super::Handler::Read;
use super::Method::Get;
use super::{Asked, Group, Returns, Route};
use hyper::StatusCode;
use hyper::header::{self, HeaderName};
use serde_json::{Value, json};

pub(super) const GROUP: Group = Group {
    title: "Results",
    routes: &[
        Route {
            method: Get,
            path: "/api/results",
            about: "The final results, when all files of the run are written.",
            responses: &[Returns(
                200,
                JSON,
                "`status`: `running`, `complete`, `cancelled`, or `incomplete` if the run failed without results; \
                 `results`: null until then",
            )],
            handler: Read(|asked| ApiResponse::json(&views::results(&asked.hub.state().live))),
        },
        Route {
            method: Get,
            path: "/api/results/list",
            about: "The files of the run, when it is over.",
            responses: &[Returns(
                200,
                JSON,
                "`files`: `name` and `size` of each file, including those in folders; `ready`, `processing`, `partial`, \
                 `failed_exporters`",
            )],
            handler: Read(list),
        },
        Route {
            method: Get,
            path: "/api/results/files/{path}",
            about: "One of these files. Symbolic links are not followed.",
            responses: &[
                Returns(
                    200,
                    "application/octet-stream",
                    "the file, as an attachment; its name decides the content type",
                ),
                Returns(400, JSON, "not a valid path below the artifact directory"),
                Returns(404, JSON, "there is no such file, or the run is still on"),
            ],
            handler: Read(file),
        },
    ],
};

fn list(asked: &Asked<'_>) -> ApiResponse {
    let (ready, is_processing, is_partial, failed) = {
        let live = &asked.hub.state().live;
        let done = live.outcome.as_ref().filter(|outcome| outcome.results.is_some());
        let failed = done.map(|outcome| outcome.failed_exporters.clone()).unwrap_or_default();
        let is_partial = done.is_some_and(|outcome| outcome.is_partial);
        (done.is_some(), live.state == SystemState::Processing, is_partial, failed)
    };
    let listed = if ready { files::list(&asked.hub.directory) } else { Vec::new() };
    let listed: Vec<Value> = listed.iter().map(|file| json!({ "name": file.name, "size": file.size })).collect();
    ApiResponse::json(&json!({
        "files": listed,
        "ready": ready,
        "processing": is_processing,
        "partial": is_partial,
        "failed_exporters": failed,
    }))
}

fn file(asked: &Asked<'_>) -> ApiResponse {
    let missing = || {
        let words = format!("Result file not found: {}", asked.rest.escape_debug());
        ApiResponse::refusal(StatusCode::NOT_FOUND, words)
    };
    let is_ready = asked.hub.state().live.outcome.as_ref().is_some_and(|outcome| outcome.results.is_some());
    match files::open_below(&asked.hub.directory, asked.rest) {
        Err(Unavailable::Escapes) => {
            let words = format!("no path of a result file: {}", asked.rest.escape_debug());
            ApiResponse::refusal(StatusCode::BAD_REQUEST, words)
        }
        Err(Unavailable::Missing) => missing(),
        Ok(_) if !is_ready => missing(),
        Ok((file, size)) => {
            let name = asked.rest.rsplit('/').next().unwrap_or_default();
            let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
            let saved: String = name.chars().map(plain).collect();
            ApiResponse::file(files::content_type(name), file, size)
                .with(header::CONTENT_DISPOSITION, &format!("attachment; filename=\"{saved}\""))
                .with(HeaderName::from_static("x-filename"), &saved)
        }
    }
}
