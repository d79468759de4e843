//! Every route in one table: what it answers, and how. The router, `/openapi.json`, `/docs` and docs/api.md are made of
//! it.

mod cluster;
mod health;
mod metrics;
mod pages;
mod results;
mod run;
mod stream;

use super::answer::Answer;
use super::hub::Hub;

/// A route.
pub(super) struct Route {
    pub(super) method: Method,
    /// A `{name}` stands for one part of a path; `{path}`, at the end, for all that follows.
    pub(super) path: &'static str,
    pub(super) about: &'static str,
    pub(super) answers: &'static [Told],
    pub(super) handler: Handler,
}

/// An answer that a route may give: its status, its content type where it has one, and what it holds.
pub(super) struct Told(pub(super) u16, pub(super) &'static str, pub(super) &'static str);

/// How a route is asked.
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

    /// As the `Allow` field lists it.
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

/// What gives the answer.
pub(super) enum Handler {
    /// Changes nothing.
    Read(fn(&Asked<'_>) -> Answer),
    /// Changes something: no page of another origin may ask for it.
    Act(fn(&Asked<'_>) -> Answer),
    /// Goes on as a WebSocket.
    Socket,
}

/// What a handler is asked.
pub(super) struct Asked<'a> {
    pub(super) hub: &'a Hub,
    /// What stands in the place of `{path}`, as the URL has it.
    pub(super) rest: &'a str,
}

/// A part of the API.
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) routes: &'static [Route],
}

/// Every route, in the order in which documents list them.
pub(super) const GROUPS: &[Group] =
    &[pages::GROUP, health::GROUP, metrics::GROUP, run::GROUP, results::GROUP, stream::GROUP, cluster::GROUP];

pub(super) fn all() -> impl Iterator<Item = &'static Route> {
    GROUPS.iter().flat_map(|group| group.routes)
}

/// The routes of a path, one a method, each with what stands in the place of its last part.
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
    fn paths_lead_to_their_routes() {
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
    fn a_method_and_a_path_are_one_route() {
        let mut seen = std::collections::BTreeSet::new();
        for route in all() {
            assert!(seen.insert((route.method.name(), route.path)), "{} {}", route.method.name(), route.path);
            assert!(!route.answers.is_empty() && !route.about.is_empty(), "{}", route.path);
        }
    }

    proptest! {
        #[test]
        fn any_path_is_found_or_not(path in "/(api|results|files|tokenizer|bundle|/|\\{|\\}|\\PC){0,12}") {
            find(&path);
        }
    }
}
