//! The table of routes as an OpenAPI document.

use super::routes::{self, GROUPS, Route};
use serde_json::{Map, Value, json};

pub(super) fn document(version: &str) -> Value {
    let mut paths = Map::new();
    for route in routes::all() {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.name().to_ascii_lowercase()] = operation(route);
    }
    let tag = |group: &routes::Group| json!({ "name": group.title });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "AIPerf live API",
            "description": "A benchmark while it runs, and its results when it is over.",
            "version": version,
        },
        "tags": GROUPS.iter().map(tag).collect::<Vec<_>>(),
        "paths": paths,
    })
}

fn operation(route: &Route) -> Value {
    let group = GROUPS
        .iter()
        .find(|group| group.routes.iter().any(|other| (other.method, other.path) == (route.method, route.path)));
    let response = |returns: &routes::Returns| {
        let routes::Returns(status, kind, holds) = returns;
        let mut response = json!({ "description": holds });
        if !kind.is_empty() {
            let essence = kind.split(';').next().unwrap_or(kind);
            response["content"] = json!({ essence: {} });
        }
        (status.to_string(), response)
    };
    let name = route.path.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(name, _)| name);
    let parameter = |name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
    json!({
        "summary": route.about,
        "operationId": format!("{} {}", route.method.name(), route.path),
        "tags": group.map(|group| group.title).into_iter().collect::<Vec<_>>(),
        "parameters": name.map(parameter).into_iter().collect::<Vec<_>>(),
        "responses": route.responses.iter().map(response).collect::<Map<String, Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described() {
        let document = document("1");
        for route in routes::all() {
            let described = &document["paths"][route.path][route.method.name().to_ascii_lowercase()];
            assert_eq!(described["responses"].as_object().unwrap().len(), route.responses.len(), "{}", route.path);
            assert_eq!(described["parameters"].as_array().unwrap().len(), route.path.matches('{').count());
            assert_eq!(described["tags"].as_array().unwrap().len(), 1);
        }
    }
}
