//! The JSON of streamed chunks: what earlier chunks looked like changes nothing, and the short way of reading one says
//! what its whole tree says.
#![no_main]

use aiperf_dialect::{ResponseParser, Api};
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_types::{EndpointKind, MonoNs, Parsed};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fn stream(api: &Api, chunks: &[&str]) -> Parsed {
    let mut parser = ResponseParser::new(api, MonoNs(1));
    for (i, chunk) in chunks.iter().enumerate() {
        if !parser.feed_stream(format!("data: {chunk}\n\n").as_bytes(), MonoNs(2 + i as u64)) {
            break;
        }
    }
    parser.finish()
}

/// A stream read as a whole says what its chunks say one by one.
fn check_shapes(api: &Api, chunks: &[&str]) {
    let whole = stream(api, chunks);
    let (mut output, mut reasoning, mut content, mut failed) = (String::new(), String::new(), 0, false);
    for chunk in chunks {
        let one = stream(api, &[chunk]);
        output.push_str(one.output_text.as_deref().unwrap_or_default());
        reasoning.push_str(one.reasoning_text.as_deref().unwrap_or_default());
        content += one.content.len();
        failed = one.error.is_some();
        if failed {
            break;
        }
    }
    assert_eq!(whole.output_text.unwrap_or_default(), output);
    assert_eq!(whole.reasoning_text.unwrap_or_default(), reasoning);
    assert_eq!((whole.content.len(), whole.error.is_some()), (content, failed));
}

/// A key given twice is read as a tree, in which the second one counts: the same chunk by the other way.
fn check_tree(api: &Api, chunk: &str) {
    let Ok(Value::Object(mut object)) = serde_json::from_str::<Value>(chunk) else { return };
    object.entry("usage").or_insert(Value::Null);
    let short = Value::Object(object).to_string();
    let tree = format!("{{\"usage\":null,{}", &short[1..]);
    let (short, tree) = (stream(api, &[&short]), stream(api, &[&tree]));
    assert_eq!(short.output_text.unwrap_or_default(), tree.output_text.unwrap_or_default());
    assert_eq!(short.reasoning_text.unwrap_or_default(), tree.reasoning_text.unwrap_or_default());
    assert_eq!(short.content, tree.content);
    assert_eq!(short.usage, tree.usage);
    assert_eq!(short.error, tree.error);
}

fuzz_target!(|input: &str| {
    let chunks: Vec<&str> = input.split(['\n', '\r']).collect();
    for kind in [EndpointKind::Chat, EndpointKind::Completions] {
        let url = BaseUrl::parse("http://localhost").expect("a URL");
        let api = Api::new(&EndpointPlan::new(kind, vec![url]), "m").expect("an endpoint");
        check_shapes(&api, &chunks);
        for chunk in &chunks {
            check_tree(&api, chunk);
        }
    }
});
