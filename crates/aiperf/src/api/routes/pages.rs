//! Pages for people, and the OpenAPI document.

use super::super::response::{ApiResponse, HTML, JSON};
use super::super::{openapi, page};
use super::Handler::Read;
use super::Method::Get;
use super::{Asked, Group, Returns, Route};
use hyper::StatusCode;
use hyper::header;

pub(super) const GROUP: Group = Group {
    title: "Pages",
    routes: &[
        Route {
            method: Get,
            path: "/",
            about: "The run, live, for a browser. The page loads nothing from other sites.",
            responses: &[Returns(200, HTML, "the page")],
            handler: Read(dashboard),
        },
        Route {
            method: Get,
            path: "/dashboard",
            about: "The same page.",
            responses: &[Returns(200, HTML, "the page")],
            handler: Read(dashboard),
        },
        Route {
            method: Get,
            path: "/dashboard-v2",
            about: "Redirects to `/dashboard`.",
            responses: &[Returns(307, "", "`Location: /dashboard`")],
            handler: Read(moved),
        },
        Route {
            method: Get,
            path: "/dashboard-v2/",
            about: "Redirects to `/dashboard`.",
            responses: &[Returns(307, "", "`Location: /dashboard`")],
            handler: Read(moved),
        },
        Route {
            method: Get,
            path: "/docs",
            about: "This list of routes, for a browser.",
            responses: &[Returns(200, HTML, "the page")],
            handler: Read(|_| page::docs()),
        },
        Route {
            method: Get,
            path: "/openapi.json",
            about: "This list of routes, for tools.",
            responses: &[Returns(200, JSON, "an OpenAPI 3.1 document")],
            handler: Read(|asked| ApiResponse::json(&openapi::document(asked.hub.about().version))),
        },
    ],
};

fn dashboard(_: &Asked<'_>) -> ApiResponse {
    page::dashboard()
}

fn moved(_: &Asked<'_>) -> ApiResponse {
    let words = "the page of the run is at /dashboard";
    ApiResponse::refusal(StatusCode::TEMPORARY_REDIRECT, words).with(header::LOCATION, "/dashboard")
}
