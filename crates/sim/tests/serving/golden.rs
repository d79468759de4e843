//! Answers have the members, in order, of those captured from a real vLLM server.

use std::num::NonZeroU32;
use std::path::PathBuf;

use aiperf_sim::SimConfig;
use serde_json::Value;

use crate::client::{CHAT, COMPLETIONS, Client, Response, chat, quick, serve};

type Ask = fn(&mut Client) -> Response;

/// What to ask for so that the answer has the shape of a captured one.
const CASES: [(&str, Ask); 9] = [
    ("chat-stream", |client| {
        client.post(CHAT, &chat(r#""stream":true,"max_tokens":8,"stream_options":{"include_usage":true}"#))
    }),
    ("chat-stream-n2-continuous-usage", |client| {
        let options = r#""stream_options":{"include_usage":true,"continuous_usage_stats":true}"#;
        client.post(CHAT, &chat(&format!(r#""stream":true,"n":2,"max_tokens":4,{options}"#)))
    }),
    ("chat", |client| client.post(CHAT, &chat(r#""max_tokens":8"#))),
    ("completions-batch", |client| client.post(COMPLETIONS, r#"{"prompt":["a b c","d e f"],"max_tokens":3}"#)),
    ("completions-stream", |client| {
        let options = r#""stream":true,"stream_options":{"include_usage":true}"#;
        client.post(COMPLETIONS, &format!(r#"{{"prompt":"a","max_tokens":6,{options}}}"#))
    }),
    ("error-400-json", |client| client.post(CHAT, "{nonsense")),
    ("error-400-too-long", |client| client.post(CHAT, &chat(r#""max_tokens":999999"#))),
    ("error-404-model", |client| client.post(CHAT, r#"{"model":"nope","messages":[]}"#)),
    ("models", |client| client.get("/v1/models")),
];

/// A captured response: status and body. `None` where this set of captures lacks it.
fn captured(name: &str) -> Option<(u16, String)> {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let folder = std::env::var_os("AIPERF_GOLDEN_DIR").map_or(own, PathBuf::from);
    let text = std::fs::read_to_string(folder.join("real-vllm-0.32").join(format!("{name}.http"))).ok()?;
    let text = text.replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

/// Member names in order, with only the first entry of lists whose length is a matter of content.
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

/// The skeletons of a body: of each event of a stream, or of the one value. Events are sorted, because a server with two
/// choices interleaves them as it pleases.
fn skeletons(body: &str) -> Vec<String> {
    let mut found: Vec<String> = if body.starts_with("data: ") {
        let events = body.trim_end().split("\n\n").map(|event| event.strip_prefix("data: ").unwrap());
        events.map(|data| serde_json::from_str(data).map_or(data.to_owned(), |event| skeleton(&event))).collect()
    } else {
        vec![skeleton(&serde_json::from_str(body).unwrap())]
    };
    found.sort();
    found
}

#[test]
fn golden_answers_have_the_shape_of_a_real_server() {
    let max_model_len = NonZeroU32::new(2048);
    let any_model = serve(SimConfig { max_model_len, ..quick() });
    let one_model = serve(SimConfig { model: Some("tiny".into()), ..quick() });
    let mut ran = 0;
    for (name, ask) in CASES {
        let Some((status, body)) = captured(name) else { continue };
        let server = if name == "error-404-model" { &one_model } else { &any_model };
        let answer = ask(&mut Client::connect(server.addr));
        assert_eq!(answer.status, status, "{name}");
        assert_eq!(skeletons(answer.text()), skeletons(&body), "{name}");
        ran += 1;
    }
    println!("{ran} cases");
}

#[test]
fn golden_metrics_have_the_names_types_and_labels_of_a_real_server() {
    let Some((_, captured)) = captured("metrics-2") else {
        println!("0 cases");
        return;
    };
    let describe = |page: &str| -> Vec<String> {
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
    };
    let server = serve(quick());
    let real = describe(&captured);
    let ours = describe(Client::connect(server.addr).get("/metrics").text());
    assert!(ours.len() > 100);
    for line in &ours {
        assert!(real.contains(line), "not in a real page: {line}");
    }
    println!("{} cases", ours.len());
}
