//! One exchange parsed, counted and measured: everything a metric may depend on.

use crate::requests::Requests;
use crate::trace::http_trace;
use aiperf_dialect::Answer;
use aiperf_metrics::{CONTEXT_OVERFLOW_PHRASES, invalid_result, says_context_overflow};
use aiperf_plan::Plan;
use aiperf_tokenize::Tokenizer;
use aiperf_transport::body;
use aiperf_types::{
    Exchange, HttpTiming, Measured, MonoNs, Parsed, PhaseId, RecordMeta, RequestError, TokenCounts, Usage, WallAnchor,
};
use std::sync::Arc;

/// Turns exchanges into records. One a run, shared by the record threads.
pub struct Reader {
    pub plan: Arc<Plan>,
    pub requests: Arc<Requests>,
    /// Counts tokens; `None` when the server's counts are used.
    pub tokenizer: Option<Tokenizer>,
    /// From monotonic to wall time, for the whole run.
    pub anchor: WallAnchor,
    /// The phases' identities, by index.
    pub phases: Vec<Arc<PhaseId>>,
}

/// What came of one exchange.
pub struct Record {
    pub meta: RecordMeta,
    pub measured: Measured,
    /// The answer as read. The content marks of a valid record moved into `measured`, its error too.
    pub parsed: Parsed,
    /// A stream was asked for and a whole body came.
    pub did_not_stream: bool,
    /// The server's token counts were to be used, and it gave none.
    pub without_counts: bool,
}

impl Reader {
    /// Reads one exchange.
    pub fn read(&self, exchange: &Exchange, record_thread: u16) -> Record {
        let mut did_not_stream = false;
        let (mut parsed, error) = match self.failure(exchange) {
            Some(error) => (unread(exchange), Some(error)),
            None => {
                let is_stream = body::is_event_stream(exchange);
                did_not_stream = self.plan.endpoint.streaming && !is_stream;
                self.answer(exchange, is_stream)
            }
        };
        let timeline = &exchange.timeline;
        let start = timeline.start;
        let end = parsed.last_response.taken().or(timeline.end.taken()).unwrap_or(start).max(start);
        let error = error.or_else(|| invalid_result(start, end, parsed.responses, &parsed.content));
        let anchor = self.anchor;
        let traces = self.plan.artifacts.records_hold_traces();
        let is_success = exchange.status.is_some_and(|status| (200..300).contains(&status));
        let head = timeline.head.taken().filter(|_| is_success);
        let measured = Measured {
            number: exchange.tag.number,
            start_wall: anchor.wall(start),
            start,
            end,
            head,
            credit_issued: timeline.issued.taken().map(|at| anchor.wall(at)),
            credit_drop: Some(start.since(timeline.issued).0),
            tokens: self.count(exchange, &parsed, error.is_some()),
            usage: if error.is_some() { Usage::default() } else { parsed.usage.unwrap_or_default() },
            requested_osl: exchange.tag.requested_osl,
            http: Some(http_timing(exchange)),
            http_trace: traces.then(|| Box::new(http_trace(exchange, &self.requests, anchor))),
            context_overflow: error.as_ref().is_some_and(is_context_overflow),
            content: if error.is_some() { Vec::new() } else { std::mem::take(&mut parsed.content) },
            spec_decode: parsed.spec_decode.take().filter(|_| error.is_none()),
            error,
            ..Measured::default()
        };
        let request_end = anchor.wall(end);
        let meta = RecordMeta {
            session_num: exchange.tag.number,
            request_id: exchange.tag.request_id,
            correlation_id: exchange.tag.correlation_id,
            conversation_id: exchange.tag.session_id.clone(),
            turn_index: exchange.tag.turn,
            credit_issued: measured.credit_issued,
            request_start: measured.start_wall,
            request_ack: head.map(|at| anchor.wall(at)),
            request_end,
            worker: exchange.tag.worker,
            record_thread,
            phase: self.phases[exchange.tag.phase.0 as usize].clone(),
            was_cancelled: exchange.was_cancelled,
            cancelled_at: exchange.was_cancelled.then_some(request_end),
        };
        let counts = measured.tokens.input.or(measured.tokens.output);
        let without_counts = self.tokenizer.is_none() && measured.error.is_none() && counts.is_none();
        Record { meta, measured, parsed, did_not_stream, without_counts }
    }

    /// Why there is no answer to read.
    fn failure(&self, exchange: &Exchange) -> Option<RequestError> {
        if let Some(error) = &exchange.error {
            return Some(error.clone());
        }
        match exchange.status {
            Some(200..300) => None,
            Some(status) => {
                let text = body::collect(exchange);
                Some(RequestError::status(status, &body::reason(exchange), String::from_utf8_lossy(&text)))
            }
            None => Some(RequestError::exception("ServerDisconnectedError", "Server disconnected", &[])),
        }
    }

    fn answer(&self, exchange: &Exchange, is_stream: bool) -> (Parsed, Option<RequestError>) {
        if let Some(error) = encoded(exchange) {
            return (unread(exchange), Some(error));
        }
        let mut answer = Answer::new(self.requests.dialect(), exchange.timeline.start);
        if is_stream {
            let mut on = true;
            body::for_each_span(exchange, |read, span| on = on && answer.feed_stream(span, read.at));
            if on {
                answer.end_stream(exchange.timeline.end);
            }
        } else {
            let text = body::collect(exchange);
            if let Some(error) = unreadable(exchange, &text) {
                return (Parsed::default(), Some(error));
            }
            answer.feed_body(&text, exchange.timeline.end);
        }
        let mut parsed = answer.finish();
        let error = parsed.error.take();
        (parsed, error)
    }

    fn count(&self, exchange: &Exchange, parsed: &Parsed, failed: bool) -> TokenCounts {
        let Some(tokenizer) = &self.tokenizer else {
            let counts = server_counts(parsed, failed);
            let first = parsed.first_content_tokens.filter(|_| self.plan.endpoint.per_chunk_usage && !failed);
            return TokenCounts { first_content_chunk_tokens: first, ..counts };
        };
        let input = self.requests.input_tokens(exchange.tag.conversation, &exchange.request_body, tokenizer);
        if failed {
            return TokenCounts { input, ..TokenCounts::default() };
        }
        let count = |text: &Option<String>| text.as_ref().map(|text| tokenizer.count(text) as u64);
        TokenCounts {
            input,
            output: count(&parsed.output_text),
            reasoning: count(&parsed.reasoning_text),
            first_content_chunk_tokens: None,
        }
    }
}

/// Nothing is read of an exchange that failed: its end is when it did.
fn unread(exchange: &Exchange) -> Parsed {
    Parsed { last_response: exchange.timeline.end, ..Parsed::default() }
}

fn server_counts(parsed: &Parsed, failed: bool) -> TokenCounts {
    let usage = parsed.usage.unwrap_or_default();
    if failed {
        return TokenCounts::default();
    }
    TokenCounts {
        input: usage.prompt_tokens,
        output: usage.completion_tokens.map(|all| all.saturating_sub(usage.reasoning_tokens.unwrap_or(0))),
        reasoning: usage.reasoning_tokens,
        first_content_chunk_tokens: None,
    }
}

/// A body that is encoded, which was not asked for.
fn encoded(exchange: &Exchange) -> Option<RequestError> {
    let coding = body::header(exchange, "content-encoding")?;
    if coding.is_empty() || coding.eq_ignore_ascii_case("identity") {
        return None;
    }
    let message = format!("the server sent Content-Encoding '{coding}', which was not asked for");
    Some(RequestError::exception("ClientPayloadError", message, &["ContentEncodingError"]))
}

/// A body that should be text and is not UTF-8.
fn unreadable(exchange: &Exchange, text: &[u8]) -> Option<RequestError> {
    let kind = body::media_type(exchange);
    let is_binary = ["video/", "image/", "audio/"].iter().any(|prefix| kind.starts_with(prefix));
    if is_binary || kind == "application/octet-stream" {
        return None;
    }
    let error = std::str::from_utf8(text).err()?;
    let message = format!("the response body is not UTF-8 from byte {}", error.valid_up_to());
    Some(RequestError::exception("UnicodeDecodeError", message, &[]))
}

fn is_context_overflow(error: &RequestError) -> bool {
    says_context_overflow(&error.message, CONTEXT_OVERFLOW_PHRASES.iter().copied())
}

fn http_timing(exchange: &Exchange) -> HttpTiming {
    let t = &exchange.timeline;
    let span = |(from, to): (MonoNs, MonoNs)| match (from.taken(), to.taken()) {
        (None, _) => Some(0),
        (Some(from), Some(to)) => Some(to.since(from).0),
        (Some(_), None) => None,
    };
    let between = |from: MonoNs, to: MonoNs| Some(to.taken()?.since(from.taken()?).0);
    let last = t.reads.last().map_or(MonoNs(0), |read| read.at);
    HttpTiming {
        blocked: span(t.pool_wait),
        dns_lookup: if t.reused { Some(0) } else { span(t.dns) },
        connecting: if t.reused { Some(0) } else { between(t.connect.0, t.connect.1) },
        tls_handshaking: Some(0),
        sending: between(t.send_start, t.send_end),
        waiting: between(t.send_end, t.body_start),
        receiving: match t.body_reads {
            0 => None,
            1 => Some(0),
            _ => between(t.body_start, last),
        },
        duration: between(t.send_start, last),
        reused: Some(t.reused),
        data_sent: Some(t.bytes_sent),
        chunks_sent: Some(u64::from(t.writes)),
        data_received: Some(t.bytes_received),
        chunks_received: Some(u64::from(t.body_reads)),
    }
}
