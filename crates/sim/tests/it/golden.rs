//! Responses have the members, in order, of those captured from a real vLLM server. What to ask for is read from the
//! captured response itself.

use std::num::NonZeroU32;

use aiperf_golden::kinds::servers::{CAPTURED_PAGE, CAPTURED_RESPONSE};
use aiperf_golden::{GoldenKind, Tally};
use aiperf_sim::SimConfig;
use serde_json::Value;

use crate::client::{CHAT, COMPLETIONS, Client, Response, chat, quick, serve};

/// A response as it was received, with CRLF as LF.
struct Captured {
    status: u16,
    body: String,
}

/// What asks for a response of the captured shape.
#[derive(Debug)]
enum Ask {
    Post(&'static str, String),
    Get(&'static str),
}

fn captured(text: &str) -> Option<Captured> {
    let text = text.replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.split(' ').next()?.parse().ok()?;
    Some(Captured { status, body: body.to_owned() })
}

fn captures(kind: &GoldenKind) -> Vec<(String, Captured)> {
    kind.whole_files().iter().map(|file| (file.name(), captured(&file.text).unwrap())).collect()
}

impl Captured {
    /// The data of each event, or the whole body.
    fn data(&self) -> Vec<&str> {
        let data_of = |event| {
            let (_, data): (&str, &str) = str::split_once(event, "data: ").unwrap();
            data
        };
        match self.body.starts_with("data: ") || self.body.starts_with("event: ") {
            true => self.body.trim_end().split("\n\n").map(data_of).collect(),
            false => vec![&self.body],
        }
    }

    fn ask(&self) -> Option<Ask> {
        let values: Vec<Value> = self.data().iter().filter_map(|data| serde_json::from_str(data).ok()).collect();
        let first = values.first()?;
        match first["object"].as_str() {
            Some("chat.completion" | "chat.completion.chunk") => {
                Some(Ask::Post(CHAT, chat(&format!(r#""n":{},{}"#, choices(&values), members(&values)))))
            }
            Some("text_completion") => {
                let prompts = vec!["a b c"; choices(&values)];
                Some(Ask::Post(COMPLETIONS, format!(r#"{{"prompt":{prompts:?},{}}}"#, members(&values))))
            }
            Some("response") => responses(first["max_output_tokens"].as_u64()?, false),
            _ if first["type"] == "response.created" => responses(
                values.iter().filter(|event| event["type"] == "response.output_text.delta").count() as u64,
                true,
            ),
            _ if first["type"] == "message" => messages(first["usage"]["output_tokens"].as_u64()?, false),
            _ if first["type"] == "message_start" => {
                messages(values.iter().filter(|event| event["delta"]["type"] == "text_delta").count() as u64, true)
            }
            Some("list") if first["data"][0]["object"] == "model" => Some(Ask::Get("/v1/models")),
            _ => match (self.status, first["error"]["param"].as_str()?) {
                (400, "max_tokens") => Some(Ask::Post(CHAT, chat(r#""max_tokens":999999"#))),
                (404, "model") => Some(Ask::Post(CHAT, format!(r#"{{"model":"not-{SERVED}","messages":[]}}"#))),
                // Where in the body the JSON broke.
                (400, place) if place.starts_with("body.") => Some(Ask::Post(CHAT, "{nonsense".to_owned())),
                _ => None,
            },
        }
    }
}

fn responses(tokens: u64, stream: bool) -> Option<Ask> {
    Some(Ask::Post("/v1/responses", format!(r#"{{"input":"a b","max_output_tokens":{tokens},"stream":{stream}}}"#)))
}

fn messages(tokens: u64, stream: bool) -> Option<Ask> {
    let body = format!(r#"{{"messages":[],"max_tokens":{tokens},"stream":{stream}}}"#);
    Some(Ask::Post("/v1/messages", body))
}

/// How many choices a response has.
fn choices(values: &[Value]) -> usize {
    let listed = values.iter().flat_map(|value| value["choices"].as_array().into_iter().flatten());
    listed.filter_map(|choice| choice["index"].as_u64()).max().map_or(1, |last| last as usize + 1)
}

/// The members that ask for as many tokens and as much usage as came.
fn members(values: &[Value]) -> String {
    let is_stream = values.len() > 1;
    let has_choice = |value: &&Value| value["choices"].as_array().is_some_and(|choices| !choices.is_empty());
    let counted = values.iter().filter_map(|value| value["usage"]["completion_tokens"].as_u64()).max();
    let texts = || {
        values.iter().filter(|value| {
            let choice = &value["choices"][0];
            choice["delta"]["content"].as_str().or(choice["text"].as_str()).is_some_and(|text| !text.is_empty())
        })
    };
    let tokens = counted.unwrap_or_else(|| texts().count() as u64) / choices(values) as u64;
    let usage = values.iter().any(|value| !has_choice(&value) && value["usage"].is_object());
    let continuous = is_stream && values.iter().any(|value| has_choice(&value) && value["usage"].is_object());
    let options = match is_stream {
        true => format!(r#","stream_options":{{"include_usage":{usage},"continuous_usage_stats":{continuous}}}"#),
        false => String::new(),
    };
    format!(r#""max_tokens":{tokens},"stream":{is_stream}{options}"#)
}

/// Member names in order, with the kind of each value.
fn skeleton(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<_> = members.iter().map(|(name, value)| format!("{name}:{}", skeleton(value))).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(skeleton).collect::<Vec<_>>().join(",")),
        Value::String(_) => "text".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Null => "null".to_owned(),
    }
}

/// The skeletons of a body: of each event of a stream, or of the one value. Events are sorted, because a server with
/// two choices interleaves them as it pleases.
fn skeletons(captured: &Captured) -> Vec<String> {
    let described = |data: &&str| serde_json::from_str(data).map_or((*data).to_owned(), |event| skeleton(&event));
    let mut found: Vec<String> = captured.data().iter().map(described).collect();
    found.sort();
    found
}

const SERVED: &str = "the-model-here";

#[test]
fn golden_responses_have_the_shape_of_a_real_server() {
    let any_model = serve(SimConfig { max_model_len: NonZeroU32::new(2048), ..quick() });
    let one_model = serve(SimConfig { model: Some(SERVED.into()), ..quick() });
    let mut tally = Tally::of(CAPTURED_RESPONSE);
    for (name, real) in &captures(CAPTURED_RESPONSE) {
        let Some(ask) = real.ask() else {
            tally.skip("not there yet: an answer that the simulated server does not give");
            continue;
        };
        let server = if real.status == 404 { &one_model } else { &any_model };
        tally.run(name, || {
            let mut client = Client::connect(server.addr);
            let response: Response = match &ask {
                Ask::Post(path, body) => client.post(path, body),
                Ask::Get(path) => client.get(path),
            };
            let ours = Captured { status: response.status, body: response.text().to_owned() };
            assert_eq!(ours.status, real.status, "{ask:?}");
            assert_eq!(skeletons(&ours), skeletons(real), "{ask:?}");
        });
    }
    tally.finish();
}

/// Names, types and labels of the series of a page.
fn series(page: &str) -> Vec<String> {
    page.lines()
        .filter(|line| line.starts_with("# TYPE vllm:") || line.starts_with("vllm:"))
        .map(|line| match line.split_once('{') {
            Some((name, rest)) => {
                let labels = rest.rsplit_once('}').unwrap().0;
                let names: Vec<_> = labels.split("\",").map(|label| label.split('=').next().unwrap()).collect();
                format!("{name} {}", names.join(","))
            }
            None => line.to_owned(),
        })
        .collect()
}

#[test]
fn golden_metrics_have_the_names_types_and_labels_of_a_real_server() {
    let server = serve(quick());
    let ours = series(Client::connect(server.addr).get("/metrics").text());
    assert!(ours.len() > 100);
    let mut tally = Tally::of(CAPTURED_PAGE);
    for (name, page) in &captures(CAPTURED_PAGE) {
        let real = series(&page.body);
        tally.run(name, || {
            let invented: Vec<&String> = ours.iter().filter(|line| !real.contains(line)).collect();
            assert!(invented.is_empty(), "not in a real page: {invented:?}");
        });
    }
    tally.finish();
}
