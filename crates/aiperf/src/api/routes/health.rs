//! Whether the process is alive and ready, for orchestrators.

use super::super::response::{ApiResponse, TEXT};
use super::Handler::Read;
use super::Method::Get;
use super::{Group, Returns, Route};
use hyper::StatusCode;

pub(super) const GROUP: Group = Group {
    title: "Health",
    routes: &[
        Route {
            method: Get,
            path: "/healthz",
            about: "Whether the run is alive.",
            responses: &[
                Returns(200, TEXT, "`ok`"),
                Returns(503, TEXT, "`unhealthy`: the run failed and left no results"),
            ],
            handler: Read(|asked| {
                let live = &asked.hub.state().live;
                state(live.outcome.as_ref().is_none_or(|outcome| outcome.results.is_some()), "unhealthy")
            }),
        },
        Route {
            method: Get,
            path: "/readyz",
            about: "Whether everything is prepared and the run has started.",
            responses: &[Returns(200, TEXT, "`ok`"), Returns(503, TEXT, "`not ready`")],
            handler: Read(|asked| state(asked.hub.state().live.has_started(), "not ready")),
        },
    ],
};

fn state(is_well: bool, otherwise: &'static str) -> ApiResponse {
    match is_well {
        true => ApiResponse::new(StatusCode::OK, TEXT, "ok"),
        false => ApiResponse::new(StatusCode::SERVICE_UNAVAILABLE, TEXT, otherwise),
    }
}
