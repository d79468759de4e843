//! Pages for browsers. Each is sent as one file that contains its style and its script. A browser runs no other script
//! on them: the policy contains the hash of this one.

use super::messages::KINDS;
use super::response::{ApiResponse, HTML};
use super::routes::{GROUPS, Returns};
use aiperf_figures::escape_markup;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header;
use ring::digest::{SHA256, digest};
use std::sync::OnceLock;

const FRAME: &str = include_str!("frame.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
const BODY: &str = include_str!("dashboard.html");

/// A page and its content security policy.
struct Page {
    html: String,
    policy: String,
}

impl Page {
    fn new(title: &str, body: &str, script: &str) -> Self {
        let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(digest(&SHA256, text.as_bytes())));
        let (script, scripts) = match script.is_empty() {
            true => (String::new(), "'none'".to_owned()),
            false => (format!("<script type=\"module\">{script}</script>"), hash(script)),
        };
        let parts = [("TITLE", title), ("STYLE", STYLE), ("BODY", body), ("SCRIPT", &script)];
        let fill = |html: String, (name, text): &(&str, &str)| html.replacen(&format!("<!-- {name} -->"), text, 1);
        Self {
            html: parts.iter().fold(FRAME.to_owned(), fill),
            policy: format!(
                "default-src 'none'; script-src {scripts}; style-src {}; connect-src 'self'; img-src data:; base-uri \
                 'none'; form-action 'none'; frame-ancestors 'none'",
                hash(STYLE)
            ),
        }
    }

    fn response(&self) -> ApiResponse {
        ApiResponse::new(StatusCode::OK, HTML, self.html.clone()).with(header::CONTENT_SECURITY_POLICY, &self.policy)
    }
}

/// The live view of the run.
pub(super) fn dashboard() -> ApiResponse {
    static PAGE: OnceLock<Page> = OnceLock::new();
    PAGE.get_or_init(|| Page::new("AIPerf", BODY, SCRIPT)).response()
}

/// The page with the tables of routes and messages.
pub(super) fn docs() -> ApiResponse {
    static PAGE: OnceLock<Page> = OnceLock::new();
    PAGE.get_or_init(|| Page::new("AIPerf live API", &tables(), "")).response()
}

fn tables() -> String {
    let mut out =
        "<main><h1>AIPerf live API</h1><p><a href=\"/\">The run</a> · <a href=\"/openapi.json\">OpenAPI</a></p>"
            .to_owned();
    for group in GROUPS {
        out += &format!("<section class=\"card wide\"><h2>{}</h2><table>", group.title);
        for route in group.routes {
            let described =
                |Returns(status, _, holds): &Returns| format!("{status}: {}", escape_markup(holds).replace('`', ""));
            let responses = route.responses.iter().map(described).collect::<Vec<_>>().join("<br>");
            let (method, path, about) = (route.method.name(), route.path, escape_markup(route.about).replace('`', ""));
            out += &format!("<tr><td><code>{method} {path}</code><br>{about}</td><td>{responses}</td></tr>");
        }
        out += "</table></section>";
    }
    out += "<section class=\"card wide\"><h2>Messages of the WebSocket</h2><table>";
    for kind in KINDS {
        let (when, holds) = (escape_markup(kind.when), escape_markup(kind.holds).replace('`', ""));
        out += &format!("<tr><td><code>{}</code><br>{when}</td><td>{holds}</td></tr>", kind.name);
    }
    out + "</table></section></main>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_need_nothing_from_elsewhere() {
        for page in [Page::new("t", BODY, SCRIPT), Page::new("t", &tables(), "")] {
            for outside in ["http://", "https://", "src=", "<link", "@import", "url(", "style=\"", "onclick", "<!-- "] {
                assert!(!page.html.contains(outside), "{outside}");
            }
            assert!(page.policy.contains("default-src 'none'"));
        }
    }

    #[test]
    fn the_policy_names_the_script_that_is_there() {
        let page = Page::new("t", BODY, SCRIPT);
        let (_, script) = page.html.split_once("<script type=\"module\">").unwrap();
        let (script, _) = script.split_once("</script>").unwrap();
        let hash = STANDARD.encode(digest(&SHA256, script.as_bytes()));
        assert!(page.policy.contains(&format!("script-src 'sha256-{hash}'")), "{}", page.policy);
    }
}
