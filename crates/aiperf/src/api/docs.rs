//! docs/api.md, generated from the tables. `UPDATE_DOCS=1 cargo test -p aiperf docs` writes it.

use super::mailbox::MOST_WAITING;
use super::messages::KINDS;
use super::routes::{self, GROUPS, Returns};
use super::server::{LONGEST_BODY, LONGEST_HEAD, MOST_CONNECTIONS, READING_TIME, REQUEST_TIME};
use super::socket::LONGEST_MESSAGE;

const BEFORE: &str = "\
# The live API

After this page you can read a run from a script while it is on: every route, every WebSocket message and every limit of
the API is listed here. These commands need no server:

    aiperf demo --request-count 5000 --api-port 8080 > demo.log 2>&1 &
    sleep 2
    curl http://localhost:8080/api/progress

`--api-port` starts the API. It stays for a few seconds after the run. [telemetry.md](telemetry.md#live-api) explains
how to use it, and who may send requests to it.

Responses are compressed with zstd or gzip if the client accepts it. An error response is a JSON object; its `detail`
gives the reason.
";

const MESSAGES: &str = "
## Messages of the WebSocket

A client gets only the kinds of messages that it subscribed to:

| client sends | reply |
| --- | --- |
| `{\"type\":\"subscribe\",\"message_types\":[\"realtime_metrics\"]}` | `{\"type\":\"subscribed\",\"message_types\":[...]}`; `\"*\"` subscribes to every kind |
| `{\"type\":\"unsubscribe\",\"message_types\":[...]}` | `{\"type\":\"unsubscribed\",\"message_types\":[...]}` |
| `{\"type\":\"ping\"}` | `{\"type\":\"pong\"}` |
| anything but a JSON object, or `message_types` that are not a list of strings | `{\"type\":\"error\",\"message\":\"...\"}` |
| any other `type` | none |

Every message has `message_type`, `service_id` and the fields of the table. It has `request_ns` (nanoseconds since 1970)
if the time is known. Fields without a value are omitted.

A message marked \"latest only\" is a snapshot. A client that reads slowly gets only the newest one. No other message is
skipped. The API closes a connection with one of these codes:

| code | reason |
| --- | --- |
| 1001 | the API ends |
| 1002, 1007, 1009 | the client broke the protocol, sent text that is not UTF-8, or sent a message that is too long |
| 1008 | the client reads too slowly: too many messages wait for it |
| 1013 | too many WebSocket clients (`AIPERF_API_SERVER_WEBSOCKET_MAX_CONNECTIONS`) |

| `message_type` | when | fields |
| --- | --- | --- |
";

fn made() -> String {
    let mut out = BEFORE.to_owned();
    for group in GROUPS {
        out += &format!("\n## {}\n\n| route | content | responses |\n| --- | --- | --- |\n", group.title);
        for route in group.routes {
            let described = |Returns(status, _, holds): &Returns| format!("{status}: {holds}");
            let responses = route.responses.iter().map(described).collect::<Vec<_>>().join("<br>");
            out += &format!("| `{} {}` | {} | {responses} |\n", route.method.name(), route.path, route.about);
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

| what | limit |
| --- | --- |
| head of a request | at most {} KiB |
| time for the head of a request to arrive; time that a connection may be idle | {} s |
| body of a request | at most {} KiB |
| client that reads nothing of its response | closed after {} s |
| connections | at most {MOST_CONNECTIONS}, in addition to those for WebSockets |
| message from a WebSocket client | at most {} KiB |
| messages that wait for one WebSocket client | at most {} MiB |
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
