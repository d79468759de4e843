//! Server-sent events, and the usage objects in them.

use aiperf_dialect::{sse, usage};
use aiperf_golden::cases::Trial;
use aiperf_golden::kinds::endpoints::{EVENT_STREAM, USAGE};
use aiperf_types::MonoNs;
use base64::Engine;
use serde_json::{Map, Value, json};

fn chunks(case: &Value) -> Vec<Vec<u8>> {
    let decode = |chunk: &Value| base64::engine::general_purpose::STANDARD.decode(chunk.as_str().unwrap()).unwrap();
    case["chunks_base64"].as_array().unwrap().iter().map(decode).collect()
}

/// Characters at which the reference breaks lines and the standard for event streams does not.
const OTHER_LINE_ENDS: &[char] = &['\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

/// Where the line rules of the standard give other messages than the reference's (transport.md, 10).
fn other_line_rules(case: &Value) -> Option<String> {
    let bytes = chunks(case).concat();
    let follows_cr = |at: usize| at > 0 && bytes[at - 1] == b'\r';
    let bare_cr = bytes.iter().enumerate().any(|(at, byte)| *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
    let bare_lf = bytes.iter().enumerate().any(|(at, byte)| *byte == b'\n' && !follows_cr(at));
    let crlf = bytes.windows(2).any(|pair| pair == b"\r\n");
    let text = String::from_utf8_lossy(&bytes);
    let of_several_lines = |message: &str| message.trim().contains('\n');
    let reason = if bytes.starts_with(b"\xef\xbb\xbf") {
        "do better, transport 9: a byte order mark is skipped"
    } else if bare_cr {
        "do better, transport 9: a CR alone ends a line"
    } else if bare_lf && crlf {
        "do better, transport 9: of several kinds of line ends the earliest empty line counts"
    } else if text.split("\n\n").any(|message| message.contains(OTHER_LINE_ENDS) && of_several_lines(message)) {
        "do better, transport 10: only CR and LF end lines"
    } else {
        return None;
    };
    Some(reason.to_owned())
}

pub(crate) fn golden_event_streams_are_cut_into_messages() -> Vec<Trial> {
    EVENT_STREAM.trials(other_line_rules, |case| {
        let (mut splitter, mut got, mut error) = (sse::Splitter::default(), Vec::new(), None);
        let mut take = |message: &[u8], at: Value| {
            if let Some(text) = sse::error_event(message) {
                error = Some(text);
                return false;
            }
            let fields: Vec<Value> =
                sse::fields(message).into_iter().map(|(name, value)| json!([name, value])).collect();
            let data = String::from_utf8_lossy(&sse::data(message)).into_owned();
            let parsed: Option<Value> = serde_json::from_str(&data).ok();
            got.push(json!({"chunk_index": at, "fields": fields, "data": data, "json": parsed}));
            true
        };
        let mut on = true;
        for (i, chunk) in chunks(case).iter().enumerate() {
            on = on && splitter.feed(chunk, MonoNs(i as u64), |message, at| take(message, json!(at.0)));
        }
        if on {
            splitter.finish(MonoNs(0), |message, _| take(message, json!("eof")));
        }
        assert_eq!(Value::Array(got), case["expected"]["messages"]);
        assert_eq!(error.is_some(), !case["expected"]["error"].is_null());
        if let (Some(text), Some(wanted)) = (error, case["expected"]["error"]["message"].as_str()) {
            assert_eq!(format!("Error occurred in SSE response: {text}"), wanted);
        }
    })
}

/// Whether a count in a usage object is no whole number.
fn has_part_of_a_token(usage: &Value) -> bool {
    match usage {
        Value::Object(members) => {
            members.iter().any(|(name, value)| !name.ends_with("seconds") && has_part_of_a_token(value))
        }
        Value::Number(number) => number.as_f64().is_some_and(|number| number.fract() != 0.0),
        _ => false,
    }
}

pub(crate) fn golden_usage_objects_are_read() -> Vec<Trial> {
    let skip = |case: &Value| {
        has_part_of_a_token(&case["usage"])
            .then(|| "a part of a token is no count: such a field is taken as absent".to_owned())
    };
    USAGE.trials(skip, |case| {
        let none = Map::new();
        let object = case["usage"].as_object().unwrap_or(&none);
        let mut got = serde_json::to_value(usage::read(object)).unwrap();
        got["prompt_uncached_tokens"] = json!(usage::uncached_prompt_tokens(object));
        for (key, wanted) in case["expected"].as_object().unwrap() {
            assert_eq!(got[key].as_f64(), wanted.as_f64(), "{key}");
        }
    })
}
