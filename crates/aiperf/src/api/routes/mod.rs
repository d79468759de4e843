//! Every route in one table: its handler, and the responses it may return. The router, `/openapi.json`, `/docs` and
//! docs/api.md are generated from it.

mod cluster;
mod health;
mod metrics;
mod pages;
mod results;
mod run;
mod stream;

use super::hub::Hub;
use super::response::ApiResponse;

pub(super) struct Route {
    pub(super) method: Method,
    /// `{name}` matches one segment of a path. `{path}`, at the end, matches the rest.
    pub(super) path: &'static str,
    pub(super) about: &'static str,
    pub(super) responses: &'static [Returns],
    pub(super) handler: Handler,
}

/// A response that a route may return: its status, its content type if it has one, and its content.
pub(super) struct Returns(pub(super) u16, pub(super) &'static str, pub(super) &'static str);

/// The HTTP method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Post,
}

impl Method {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }

    /// The value for the `Allow` header field.
    pub(super) fn allowed(self) -> &'static str {
        match self {
            Self::Get => "GET, HEAD",
            Self::Post => "POST",
        }
    }

    pub(super) fn is(self, method: &hyper::Method) -> bool {
        match self {
            Self::Get => method == hyper::Method::GET || method == hyper::Method::HEAD,
            Self::Post => method == hyper::Method::POST,
        }
    }
}

/// How a route responds.
pub(super) enum Handler {
    /// Changes nothing.
    Read(fn(&Asked<'_>) -> ApiResponse),
    /// Changes something: pages of other origins may not call it.
    Act(fn(&Asked<'_>) -> ApiResponse),
    /// Upgrades to a WebSocket.
    Socket,
}

/// The request that a handler gets.
pub(super) struct Asked<'a> {
    pub(super) hub: &'a Hub,
    /// The part of the path that `{path}` matched, as in the URL.
    pub(super) rest: &'a str,
}

/// A group of routes.
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) routes: &'static [Route],
}

/// Every route, in the order of the documentation.
pub(super) const GROUPS: &[Group] =
    &[pages::GROUP, health::GROUP, metrics::GROUP, run::GROUP, results::GROUP, stream::GROUP, cluster::GROUP];

pub(super) fn all() -> impl Iterator<Item = &'static Route> {
    GROUPS.iter().flat_map(|group| group.routes)
}

/// The routes of a path, one per method, each with the part that matched its last segment.
pub(super) fn find(path: &str) -> Vec<(&'static Route, &str)> {
    all().filter_map(|route| Some((route, matched(route.path, path)?))).collect()
}

fn matched<'p>(pattern: &str, path: &'p str) -> Option<&'p str> {
    let (mut pattern, mut path) = (pattern, path);
    loop {
        let Some(open) = pattern.find('{') else { return (pattern == path).then_some("") };
        path = path.strip_prefix(&pattern[..open])?;
        let (name, after) = pattern[open + 1..].split_once('}')?;
        if name == "path" {
            return Some(path);
        }
        let end = path.find('/').unwrap_or(path.len());
        if end == 0 {
            return None;
        }
        if after.is_empty() {
            return (end == path.len()).then_some(path);
        }
        (pattern, path) = (after, &path[end..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(path: &str) -> Vec<(&'static str, &str)> {
        find(path).into_iter().map(|(route, rest)| (route.path, rest)).collect()
    }

    #[test]
    fn paths_match_their_routes() {
        assert_eq!(found("/api/run"), [("/api/run", "")]);
        assert_eq!(found("/api/results/files/a/b.json"), [("/api/results/files/{path}", "a/b.json")]);
        assert_eq!(found("/api/results/files/"), [("/api/results/files/{path}", "")]);
        assert_eq!(found("/api/tokenizer/gpt2/bundle").len(), 1);
        for nowhere in
            ["", "/api", "/api/run/", "/api/runs", "/api/tokenizer//bundle", "/api/tokenizer/a/b/bundle", "//"]
        {
            assert!(found(nowhere).is_empty(), "{nowhere}");
        }
    }

    #[test]
    fn each_method_and_path_has_one_route() {
        let mut seen = std::collections::BTreeSet::new();
        for route in all() {
            assert!(seen.insert((route.method.name(), route.path)), "{} {}", route.method.name(), route.path);
            assert!(!route.responses.is_empty() && !route.about.is_empty(), "{}", route.path);
        }
    }

    proptest! {
        #[test]
        fn any_path_is_found_or_not(path in "/(api|results|files|tokenizer|bundle|/|\\{|\\}|\\PC){0,12}") {
            find(&path);
        }
    }
}
