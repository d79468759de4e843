//! Responses made beforehand, to measure how fast a client can be.
//!
//! Only the parts of a request that decide which bytes to send are parsed: its path, its length and whether it streams.
//! A response is one write. The default stream, 32 tokens, is 34 events of about 160 bytes, then usage and `[DONE]`:
//! about 5.8 KB.

use std::sync::Arc;

use memchr::memmem;

use crate::apis::{
    APIS, Api, Ask, Finish, Jobs, Length, Output, Pen, PlannedResponse, Route, Span, Streams, accepts_events,
};
use crate::config::SimConfig;
use crate::http::{Fields, Head, Heads, LAST_CHUNK, Request, Status, join, write_chunk};
use crate::metrics::{FinishReason, Metrics, RequestLabels, RequestSizes, RequestTimes};
use crate::script::Script;
use crate::vocabulary;

/// Prompt tokens reported for every request: the prompt is not read.
const PROMPT_TOKENS: u32 = 1;

struct CannedResponse {
    stream: Vec<u8>,
    whole: Vec<u8>,
    /// Bodies alone, for HTTP/2.
    stream_body: Vec<u8>,
    whole_body: Vec<u8>,
    /// The type of the whole body.
    content_type: &'static str,
}

/// The responses, and how many were sent since they were last counted.
pub(crate) struct CannedResponses {
    canned: [CannedResponse; APIS.len()],
    /// By kind, whole and streamed.
    given: [[u64; 2]; APIS.len()],
    tokens: u32,
    stream_member: memmem::Finder<'static>,
}

impl CannedResponses {
    pub(crate) fn new(script: &Script) -> Self {
        CannedResponses {
            canned: APIS.each_ref().map(|api| make_response(api, script)),
            given: [[0; 2]; APIS.len()],
            tokens: script.config.osl.get(),
            stream_member: memmem::Finder::new(br#""stream""#),
        }
    }

    /// The whole response to a request.
    pub(crate) fn response(&mut self, route: Route, request: &Request<'_>) -> &[u8] {
        let streamed = self.count(route, request);
        let canned = &self.canned[route.index];
        if streamed { &canned.stream } else { &canned.whole }
    }

    /// The head and body of a response, without framing.
    pub(crate) fn response_parts(&mut self, route: Route, request: &Request<'_>) -> (Head<'static>, &[u8]) {
        let streamed = self.count(route, request);
        let canned = &self.canned[route.index];
        if streamed {
            (Head::STREAM, &canned.stream_body)
        } else {
            (Head { content_type: canned.content_type, ..Head::json(Status::OK) }, &canned.whole_body)
        }
    }

    /// Counts a request; returns whether it asks for a stream.
    fn count(&mut self, route: Route, request: &Request<'_>) -> bool {
        let streamed = match route.api.streams {
            Streams::Never => false,
            Streams::ByMember => self.asks_for_stream(request.body),
            Streams::ByPath(path) => path == route.path,
            Streams::ByAccept => accepts_events(request.fields.accept),
        };
        self.given[route.index][usize::from(streamed)] += 1;
        streamed
    }

    /// Whether the body has `"stream":true`. Inside a JSON string the quotes would be escaped.
    fn asks_for_stream(&self, body: &[u8]) -> bool {
        let Some(found) = self.stream_member.find(body) else { return false };
        let mut rest = body[found + br#""stream""#.len()..].iter().filter(|byte| !byte.is_ascii_whitespace());
        rest.next() == Some(&b':') && b"true".iter().all(|letter| rest.next() == Some(letter))
    }

    /// Adds the counted responses to the metrics.
    pub(crate) fn count_into(&mut self, metrics: &mut Metrics) {
        for (api, given) in APIS.iter().zip(&mut self.given) {
            let [whole, streamed] = std::mem::take(given);
            let times = whole + streamed;
            if times == 0 {
                continue;
            }
            metrics.record_http_response(api.paths[0], api.method, 200, times);
            if api.output == Output::Lookup {
                continue;
            }
            let generated = if matches!(api.output, Output::Text { .. }) { self.tokens } else { 0 };
            metrics.prompt_tokens += u64::from(PROMPT_TOKENS) * times;
            metrics.generation_tokens += u64::from(generated) * times;
            metrics.time_to_first_token.observe_many(0.0, times);
            metrics.inter_token_latency.observe_many(0.0, u64::from(generated.saturating_sub(1)) * times);
            let sizes =
                RequestSizes { prompt_tokens: PROMPT_TOKENS, generated, choices: 1, n: 1, max_tokens: generated };
            metrics.record_completed(FinishReason::Length, sizes, RequestTimes::default(), times);
            for (streamed, times) in [(false, whole), (true, streamed)].into_iter().filter(|(_, times)| *times > 0) {
                metrics.record_answered(RequestLabels { endpoint: api.name, streamed, succeeded: true }, times);
            }
        }
    }
}

fn make_response(api: &'static Api, script: &Script) -> CannedResponse {
    let config = &script.config;
    let fields = Fields { content_type: Some(api.example.content_type), ..Fields::default() };
    let jobs = Arc::new(Jobs::all_done(config.listed_model()));
    let (path, body) = (api.paths[0], api.example.body.as_bytes());
    let read = (api.read)(&Ask { api, path, number: 0, fields, body, script, jobs: &jobs });
    let Ok((mut request, mut wording)) = read else { unreachable!("every kind reads its example") };
    request.prompt_tokens = PROMPT_TOKENS;
    let tokens = match api.output {
        Output::Text { .. } => config.osl.get(),
        Output::Pictures => 1,
        Output::Result | Output::Lookup => 0,
    };
    let planned = PlannedResponse {
        request,
        model: config.listed_model().to_owned(),
        number: 0,
        created: crate::clock::wall_ns() / 1_000_000_000,
        length: Length { tokens, reasoning: 0, drafts: config.draft_tokens, finish: Finish::Length },
    };
    let body = wording.whole(&planned);
    let mut whole = Vec::new();
    let head = Head { content_type: body.content_type, ..Head::json(Status::OK) };
    Heads::default().write_response(&mut whole, &head, true, &body.bytes);
    let mut made = CannedResponse {
        stream: Vec::new(),
        whole,
        stream_body: Vec::new(),
        whole_body: body.bytes,
        content_type: body.content_type,
    };
    if api.streams == Streams::Never {
        return made;
    }
    Heads::default().write_stream_head(&mut made.stream, &Head::STREAM, true);
    for (out, frame) in [(&mut made.stream, write_chunk as fn(&mut Vec<u8>, &[&[u8]])), (&mut made.stream_body, join)] {
        match short_shape(api) {
            Some(shape) => write_short_stream(out, frame, shape, config, planned.created),
            None => {
                let pen = &mut Pen::into_buffer(out, frame);
                wording.open(pen, &planned);
                for from in 0..tokens {
                    let last = from + 1 == tokens;
                    wording.tokens(pen, &planned, Span { from, to: from + 1, reasoning: false, last });
                }
                wording.close(pen, &planned);
            }
        }
    }
    made.stream.extend_from_slice(LAST_CHUNK);
    made
}

/// The members of a stream that is shorter than a real server's.
struct ShortShape {
    object: &'static str,
    text_before: &'static str,
    text_after: &'static str,
    opening: Option<&'static str>,
}

/// Clients are measured with chat and completions.
fn short_shape(api: &Api) -> Option<&'static ShortShape> {
    match api.name {
        "chat_completions" => Some(&ShortShape {
            object: "chat.completion.chunk",
            text_before: r#""delta":{"content":""#,
            text_after: r#""}"#,
            opening: Some(r#""delta":{"role":"assistant","content":""}"#),
        }),
        "completions" => Some(&ShortShape {
            object: "text_completion",
            text_before: r#""text":""#,
            text_after: r#"""#,
            opening: None,
        }),
        _ => None,
    }
}

/// A stream with the members that every client reads and few others.
fn write_short_stream(
    out: &mut Vec<u8>,
    frame: fn(&mut Vec<u8>, &[&[u8]]),
    shape: &ShortShape,
    config: &SimConfig,
    created: u64,
) {
    let model = serde_json::Value::from(config.listed_model());
    let tokens = config.osl.get();
    let ShortShape { object, text_before, text_after, opening } = shape;
    let mut event = |members: &str| {
        let data = format!(
            "data: {{\"id\":\"sim-0\",\"object\":\"{object}\",\"created\":{created},\"model\":{model},{members}}}\n\n"
        );
        frame(out, &[data.as_bytes()]);
    };
    let mut choice = |inner: &str, finish: &str| {
        event(&format!(r#""choices":[{{"index":0,{inner},"finish_reason":{finish}}}]"#));
    };
    if let Some(opening) = opening {
        choice(opening, "null");
    }
    for position in 0..tokens {
        choice(&format!("{text_before}{}{text_after}", vocabulary::word(0, position)), "null");
    }
    choice(&format!("{text_before}{text_after}"), r#""length""#);
    let total = tokens + PROMPT_TOKENS;
    event(&format!(
        r#""choices":[],"usage":{{"prompt_tokens":{PROMPT_TOKENS},"total_tokens":{total},"completion_tokens":{tokens}}}"#
    ));
    frame(out, &[b"data: [DONE]\n\n"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_member_named_stream_asks_for_a_stream() {
        let canned = CannedResponses::new(&Script::new(SimConfig::default()).unwrap());
        for (body, expected) in [
            (r#"{"stream":true}"#, true),
            (r#"{"stream" : true}"#, true),
            (r#"{"stream":false}"#, false),
            (r#"{"stream_options":{"include_usage":true}}"#, false),
            (r#"{"content":"\"stream\":true"}"#, false),
            ("{}", false),
        ] {
            assert_eq!(canned.asks_for_stream(body.as_bytes()), expected, "{body}");
        }
    }
}
