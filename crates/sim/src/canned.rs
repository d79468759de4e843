//! Answers made beforehand, for finding out how fast a client can go.
//!
//! Only what decides which bytes to send is read of a request: its path, its length and whether it streams. An answer
//! is one write. The default stream, 32 tokens, is 34 events of about 160 bytes, then usage and `[DONE]`: some 5.8 KB.

use memchr::memmem;

use crate::config::SimConfig;
use crate::events::{self, Choice, Finish, Usage};
use crate::http::{Head, Heads, LAST_CHUNK, Status, join, write_chunk};
use crate::inference::Endpoint;
use crate::metrics::{Answered, Finished, Metrics, RequestSizes, RequestTimes};
use crate::vocabulary;

const ENDPOINTS: [Endpoint; 3] = [Endpoint::Chat, Endpoint::Completions, Endpoint::Embeddings];

/// Prompt tokens reported for every request: the prompt is not read.
const PROMPT_TOKENS: u32 = 1;

struct CannedResponse {
    stream: Vec<u8>,
    whole: Vec<u8>,
    /// Bodies alone, for HTTP/2.
    stream_body: Vec<u8>,
    whole_body: Vec<u8>,
}

/// The answers, and how many were given since they were last counted.
pub(crate) struct CannedResponses {
    canned: [CannedResponse; ENDPOINTS.len()],
    /// By endpoint, whole and streamed.
    given: [[u64; 2]; ENDPOINTS.len()],
    tokens: u32,
    stream_member: memmem::Finder<'static>,
}

impl CannedResponses {
    pub(crate) fn new(config: &SimConfig) -> Self {
        let created = crate::clock::wall_ns() / 1_000_000_000;
        CannedResponses {
            canned: ENDPOINTS.map(|endpoint| make_response(endpoint, config, created)),
            given: [[0; 2]; ENDPOINTS.len()],
            tokens: config.osl.get(),
            stream_member: memmem::Finder::new(br#""stream""#),
        }
    }

    /// The whole response to a request.
    pub(crate) fn answer(&mut self, endpoint: Endpoint, body: &[u8]) -> &[u8] {
        let streamed = self.asks_for_stream(body);
        self.given[endpoint as usize][usize::from(streamed)] += 1;
        let canned = &self.canned[endpoint as usize];
        if streamed { &canned.stream } else { &canned.whole }
    }

    /// The head and body of a response, without framing.
    pub(crate) fn answer_parts(&mut self, endpoint: Endpoint, body: &[u8]) -> (Head<'static>, &[u8]) {
        let streamed = self.asks_for_stream(body);
        self.given[endpoint as usize][usize::from(streamed)] += 1;
        let canned = &self.canned[endpoint as usize];
        if streamed && endpoint != Endpoint::Embeddings {
            (Head::STREAM, &canned.stream_body)
        } else {
            (Head::json(Status::OK), &canned.whole_body)
        }
    }

    /// Whether the body has `"stream":true`. Inside a JSON string the quotes would be escaped.
    fn asks_for_stream(&self, body: &[u8]) -> bool {
        let Some(found) = self.stream_member.find(body) else { return false };
        let mut rest = body[found + br#""stream""#.len()..].iter().filter(|byte| !byte.is_ascii_whitespace());
        rest.next() == Some(&b':') && b"true".iter().all(|letter| rest.next() == Some(letter))
    }

    /// Moves the answers given into the metrics.
    pub(crate) fn count_into(&mut self, metrics: &mut Metrics) {
        for (endpoint, given) in ENDPOINTS.iter().zip(&mut self.given) {
            let [whole, streamed] = std::mem::take(given);
            let times = whole + streamed;
            if times == 0 {
                continue;
            }
            let generated = if *endpoint == Endpoint::Embeddings { 0 } else { self.tokens };
            metrics.prompt_tokens += u64::from(PROMPT_TOKENS) * times;
            metrics.generation_tokens += u64::from(generated) * times;
            metrics.time_to_first_token.observe_many(0.0, times);
            metrics.inter_token_latency.observe_many(0.0, u64::from(generated.saturating_sub(1)) * times);
            let sizes =
                RequestSizes { prompt_tokens: PROMPT_TOKENS, generated, choices: 1, n: 1, max_tokens: generated };
            metrics.record_completed(Finished::Length, sizes, RequestTimes::default(), times);
            for (streamed, times) in [(false, whole), (true, streamed)].into_iter().filter(|(_, times)| *times > 0) {
                metrics.record_answered(Answered { endpoint: *endpoint, streamed, succeeded: true }, times);
            }
            metrics.record_http_response(endpoint.path(), "POST", 200, times);
        }
    }
}

fn make_response(endpoint: Endpoint, config: &SimConfig, created: u64) -> CannedResponse {
    let model = config.listed_model();
    let tokens = config.osl.get();
    let usage = Usage { prompt: PROMPT_TOKENS, completion: tokens, reasoning: 0, drafts: config.draft_tokens };
    let text = (0..tokens).map(|position| vocabulary::word(0, position)).collect();
    let body = match endpoint {
        Endpoint::Embeddings => events::embeddings(0, created, model, 1, config.embedding_dim.get(), PROMPT_TOKENS),
        _ => {
            let choice = Choice { text, reasoning: None, finish: Finish::Length };
            events::whole(endpoint, 0, created, model, &[choice], usage)
        }
    };
    let mut whole = Vec::new();
    Heads::default().write_response(&mut whole, &Head::json(Status::OK), true, &body);
    if endpoint == Endpoint::Embeddings {
        return CannedResponse { stream: whole.clone(), whole, stream_body: body.clone(), whole_body: body };
    }
    let mut chunked = Vec::new();
    Heads::default().write_stream_head(&mut chunked, &Head::STREAM, true);
    write_stream(&mut chunked, write_chunk, endpoint, config, created);
    chunked.extend_from_slice(LAST_CHUNK);
    let mut stream_body = Vec::new();
    write_stream(&mut stream_body, join, endpoint, config, created);
    CannedResponse { stream: chunked, whole, stream_body, whole_body: body }
}

/// A stream with the members every client reads and few others.
fn write_stream(
    out: &mut Vec<u8>,
    frame: fn(&mut Vec<u8>, &[&[u8]]),
    endpoint: Endpoint,
    config: &SimConfig,
    created: u64,
) {
    let model = serde_json::Value::from(config.listed_model());
    let tokens = config.osl.get();
    let (object, text_before, text_after, opening) = match endpoint {
        Endpoint::Completions => ("text_completion", r#""text":""#, r#"""#, None),
        _ => (
            "chat.completion.chunk",
            r#""delta":{"content":""#,
            r#""}"#,
            Some(r#""delta":{"role":"assistant","content":""}"#.to_owned()),
        ),
    };
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
        choice(&opening, "null");
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
        let canned = CannedResponses::new(&SimConfig::default());
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
