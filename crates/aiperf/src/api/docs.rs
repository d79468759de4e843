//! docs/api.md, generated from the tables. `UPDATE_DOCS=1 cargo test -p aiperf docs` writes it.

use super::mailbox::MOST_WAITING;
use super::messages::KINDS;
use super::routes::{self, GROUPS, Returns};
use super::server::{LONGEST_BODY, LONGEST_HEAD, MOST_CONNECTIONS, READING_TIME, REQUEST_TIME};
use super::socket::LONGEST_MESSAGE;

const BEFORE: &str = "\
# The live API

`--api-port` has a run answer over HTTP while it is on, and for some seconds after it: [how to use it](telemetry.md#live-api). Made from the
tables of routes and messages by `UPDATE_DOCS=1 cargo test -p aiperf docs`.

    aiperf profile ... --api-port 8080
    curl http://localhost:8080/api/progress

Answers are compressed by zstd or gzip where a client takes them so. Refusals are JSON with a `detail` in words.
";

const MESSAGES: &str = "
## Messages of the WebSocket

A client subscribes to kinds of messages. It gets none before:

| client | answer |
| --- | --- |
| `{\"type\":\"subscribe\",\"message_types\":[\"realtime_metrics\"]}` | `{\"type\":\"subscribed\",\"message_types\":[...]}`; `\"*\"` is everything |
| `{\"type\":\"unsubscribe\",\"message_types\":[...]}` | `{\"type\":\"unsubscribed\",\"message_types\":[...]}` |
| `{\"type\":\"ping\"}` | `{\"type\":\"pong\"}` |
| anything that is no JSON object, or a list that is none | `{\"type\":\"error\",\"message\":\"...\"}` |
| any other `type` | nothing |

Messages have `message_type`, `service_id`, `request_ns` if the time is known (nanoseconds since 1970), and the fields of the table;
null fields are left out. Of snapshots (\"the latest only\") a client that reads slowly gets the newest; all other messages reach it, or
it is closed (1008). A client past the limit is closed with 1013, one that breaks the protocol with 1002, 1007 or 1009, and when the API
ends with 1001.

| `message_type` | when | holds |
| --- | --- | --- |
";

fn made() -> String {
    let mut out = BEFORE.to_owned();
    for group in GROUPS {
        out += &format!("\n## {}\n\n| route | what | answers |\n| --- | --- | --- |\n", group.title);
        for route in group.routes {
            let described = |Returns(status, _, holds): &Returns| format!("{status}: {holds}");
            let answers = route.answers.iter().map(described).collect::<Vec<_>>().join("<br>");
            out += &format!("| `{} {}` | {} | {answers} |\n", route.method.name(), route.path, route.about);
        }
    }
    out += MESSAGES;
    for kind in KINDS {
        out += &format!("| `{}` | {} | {} |\n", kind.name, kind.when, kind.holds);
    }
    out + &limits()
}

fn limits() -> String {
    let kib = |bytes: usize| bytes / 1024;
    format!(
        "
## Limits

| | |
| --- | --- |
| head of a request | {} KiB, within {} s; an idle connection as long |
| body of a request | {} KiB |
| a client that takes nothing of its answer | closed after {} s |
| connections | {MOST_CONNECTIONS}, and as many more as there may be WebSockets |
| message of a WebSocket client | {} KiB |
| messages that wait for one | {} MiB |
",
        kib(LONGEST_HEAD),
        REQUEST_TIME.as_secs(),
        LONGEST_BODY / 1024,
        READING_TIME.as_secs(),
        kib(LONGEST_MESSAGE),
        kib(MOST_WAITING) / 1024,
    )
}

#[test]
fn docs_match_the_tables() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, made()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == made(), "docs/api.md is out of date: UPDATE_DOCS=1 cargo test -p aiperf docs");
}

#[test]
fn examples_request_routes_that_exist() {
    let text = include_str!("../../../../docs/telemetry.md");
    let mut asked = text.split("localhost:8080").skip(1).filter_map(|rest| rest.split([' ', '`', '"', '\n']).next());
    assert!(asked.clone().count() > 5);
    assert!(asked.all(|path| path.is_empty() || !routes::find(path).is_empty()));
}
