//! Routes that machines of a cluster use among each other. Here everything is one process.

use super::super::response::{ApiResponse, JSON};
use super::Handler::{Act, Read};
use super::Method::{Get, Post};
use super::{Asked, Group, Method, Returns, Route};
use hyper::StatusCode;

pub(super) const GROUP: Group = Group {
    title: "Clusters",
    routes: &[
        of_clusters(Post, "/api/results/upload/{name}"),
        of_clusters(Get, "/api/dataset/data"),
        of_clusters(Get, "/api/dataset/index"),
        of_clusters(Get, "/api/dataset/state"),
        of_clusters(Get, "/api/tokenizer/{name}/bundle"),
        of_clusters(Get, "/api/debug/pod-states"),
        of_clusters(Get, "/api/debug/worker-startup-states"),
    ],
};

const fn of_clusters(method: Method, path: &'static str) -> Route {
    let handler = match method {
        Get => Read(refused),
        Post => Act(refused),
    };
    let responses = &[Returns(404, JSON, "always")];
    Route { method, path, about: "Used by AIPerf in clusters; not here.", responses, handler }
}

fn refused(_: &Asked<'_>) -> ApiResponse {
    let words =
        "this route belongs to deployments in clusters: this run is one process, and its workers share its memory";
    ApiResponse::refusal(StatusCode::NOT_FOUND, words)
}
