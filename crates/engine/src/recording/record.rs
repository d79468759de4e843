//! One exchange, parsed, counted and measured: all inputs of metrics.

use crate::failure_names;
use crate::queue::FinishedExchange;
use crate::reading::Reading;
use crate::recording::http_trace::http_trace;
use crate::requests::Requests;
use crate::requests::prompt_counts::{PromptHistory, RefusedByTemplate};
use aiperf_dialect::KnownMessages;
use aiperf_metrics::{CONTEXT_OVERFLOW_PHRASES, invalid_result, reports_context_overflow};
use aiperf_plan::Plan;
use aiperf_tokenize::{GivenUp, Tokenizers};
use aiperf_transport::encoding::{self, Decoded};
use aiperf_transport::{body, charset};
use aiperf_types::{
    Exchange, Failure, Measured, Nanos, Parsed, PhaseId, Read, RecordMeta, RequestError, ResponseTokens, TokenCounts,
    Usage, WallAnchor,
};
use std::sync::Arc;

/// The most bytes of a decoded error. No reader needs more, and each copy has as many.
const MOST_OF_ERROR: usize = 4 << 20;

/// The thread that computes a record.
#[derive(Clone, Copy)]
pub(crate) struct OnThread<'a> {
    pub(crate) number: u16,
    /// What it learned from earlier responses.
    pub(crate) known: Option<&'a KnownMessages>,
}

impl From<u16> for OnThread<'_> {
    fn from(number: u16) -> Self {
        Self { number, known: None }
    }
}

/// Computes records of exchanges. One per run, shared by the record threads.
pub struct Reader {
    pub plan: Arc<Plan>,
    pub requests: Arc<Requests>,
    /// The tokenizers by model; `None` if the server's counts are used.
    pub tokenizers: Option<Tokenizers>,
    /// Converts monotonic to wall time, for the whole run.
    pub anchor: WallAnchor,
    /// The phases' identities, by index.
    pub phases: Vec<Arc<PhaseId>>,
}

/// The record of one exchange, with what is noted about it.
pub struct Record {
    pub meta: RecordMeta,
    pub measured: Measured,
    /// The parsed response. Content marks of a valid record and errors are moved to `measured`.
    pub parsed: Parsed,
    /// The request asked for a stream, and the response was a whole body.
    pub did_not_stream: bool,
    /// The server's token counts are required, and it sent none.
    pub without_counts: bool,
    /// A valid response to messages that the chat template refuses, so that their tokens are not counted.
    pub refused_by_chat_template: bool,
    /// A valid response with fewer vectors than its request had inputs.
    pub lacks_vectors: bool,
    /// The server's token counts are used, and are inconsistent.
    pub has_doubtful_usage: bool,
    /// Why its tokens were not counted, if counting was given up.
    pub uncounted: Option<GivenUp>,
}

impl Reader {
    /// Reads one exchange.
    pub fn read(&self, exchange: &Exchange, record_thread: u16) -> Record {
        self.read_with(exchange, None, record_thread.into(), self.counts())
    }

    /// Reads one exchange. Its prompt may be counted from the count of the prompt before it.
    pub(crate) fn read_finished(&self, finished: &FinishedExchange, thread: OnThread<'_>) -> Record {
        self.read_with(finished, finished.prompt.as_ref(), thread, self.counts())
    }

    /// Reads one exchange without counting tokens, which is most of the work. The server's counts are kept.
    pub fn read_uncounted(&self, exchange: &Exchange, record_thread: u16, why: GivenUp) -> Record {
        let counts = match self.counts() {
            Counts::Ours => Counts::LeftOut(why),
            counts => counts,
        };
        self.read_with(exchange, None, record_thread.into(), counts)
    }

    fn read_with(
        &self,
        exchange: &Exchange,
        prompt: Option<&Arc<PromptHistory>>,
        thread: OnThread<'_>,
        counted: Counts,
    ) -> Record {
        let mut did_not_stream = false;
        let (mut parsed, error) = match self.failure(exchange) {
            Some(error) => (self.unread(exchange), Some(error)),
            None => {
                let is_stream = body::is_event_stream(exchange);
                did_not_stream = self.plan.endpoint.streaming && !is_stream;
                let mut parsed = match &exchange.parsed {
                    Some(parsed) => Parsed::clone(parsed),
                    None => Reading { known: thread.known, ..self.reading() }.read_as(exchange, is_stream),
                };
                let error = parsed.error.take();
                (parsed, error)
            }
        };
        let timeline = &exchange.timeline;
        let start = timeline.start;
        let end = parsed.last_response.taken().or(timeline.end.taken()).unwrap_or(start).max(start);
        let error = error.or_else(|| invalid_result(start, end, parsed.responses, &parsed.content));
        let anchor = self.anchor;
        // A request that was never made has no trace.
        let was_made = !matches!(exchange.failure, Some(Failure::Unbuildable { .. } | Failure::NeverBegun));
        let traces = self.plan.artifacts.records_hold_traces() && was_made;
        let head = timeline.head.taken().filter(|_| exchange.is_success());
        let video = parsed.video.unwrap_or_default();
        let (tokens, is_refused) = self.count(exchange, &parsed, counted, error.is_some(), prompt);
        let measured = Measured {
            number: exchange.tag.number,
            start_wall: anchor.wall(start),
            start,
            end,
            head,
            credit_issued: timeline.issued.taken().map(|at| anchor.wall(at)),
            credit_drop: Some(start.since(timeline.issued).0),
            schedule_delay: self.schedule_delay(exchange),
            tokens,
            usage: if error.is_some() { Usage::default() } else { parsed.usage.unwrap_or_default() },
            requested_osl: exchange.tag.requested_osl,
            scheduled_send_ms: exchange.tag.scheduled_send_ms,
            images: exchange.tag.images,
            audio_seconds: exchange.tag.audio_seconds,
            video_inference_seconds: video.inference_seconds,
            video_peak_memory_mb: video.peak_memory_mb,
            http: was_made.then(|| timeline.http_timing()),
            http_trace: traces.then(|| Box::new(http_trace(exchange, anchor))),
            context_overflow: error.as_ref().is_some_and(is_context_overflow),
            content: if error.is_some() { Vec::new() } else { std::mem::take(&mut parsed.content) },
            first_uncertainty: parsed.first_uncertainty,
            last_uncertainty: parsed.last_uncertainty,
            receive_lag: Read::longest_lag(&timeline.reads),
            spec_decode: parsed.spec_decode.take().filter(|_| error.is_none()),
            error,
        };
        let request_end = anchor.wall(end);
        let was_cancelled = exchange.was_cut_off() || matches!(exchange.failure, Some(Failure::Cancelled { .. }));
        let meta = RecordMeta {
            session_num: exchange.tag.number,
            request_id: exchange.tag.request_id,
            correlation_id: exchange.tag.correlation_id.clone(),
            conversation_id: exchange.tag.session_id.clone(),
            turn_index: exchange.tag.turn,
            credit_issued: measured.credit_issued,
            request_start: measured.start_wall,
            request_ack: head.map(|at| anchor.wall(at)),
            request_end,
            worker: exchange.tag.worker,
            record_thread: thread.number,
            phase: self.phases[exchange.tag.phase.0 as usize].clone(),
            was_cancelled,
            cancelled_at: was_cancelled.then_some(request_end),
        };
        let counts = measured.tokens.input.or(measured.tokens.output);
        // Impossible counts are reported separately, as unreadable.
        let gave_none = counts.is_none() && !parsed.unreadable_usage;
        let has_tokens = self.plan.endpoint.kind.traits().has_tokens();
        let is_missed = has_tokens && counted == Counts::Servers;
        let without_counts = is_missed && measured.error.is_none() && gave_none;
        let refused_by_chat_template = is_refused && measured.error.is_none();
        let uncounted = match counted {
            Counts::LeftOut(why) if measured.error.is_none() => Some(why),
            _ => None,
        };
        let lacks_vectors =
            measured.error.is_none() && parsed.vectors.is_some_and(|came| exchange.tag.vectors > Some(came));
        let has_doubtful_usage = is_missed && measured.error.is_none() && measured.usage.response_tokens().is_doubtful;
        Record {
            meta,
            measured,
            parsed,
            did_not_stream,
            without_counts,
            refused_by_chat_template,
            lacks_vectors,
            has_doubtful_usage,
            uncounted,
        }
    }

    /// The time from the scheduled instant to the start. A closed loop has no scheduled instants.
    fn schedule_delay(&self, exchange: &Exchange) -> Option<Nanos> {
        let phase = self.plan.phases.get(usize::from(exchange.tag.phase.0))?;
        let intended = exchange.timeline.intended.taken().filter(|_| !phase.arrival.is_closed_loop())?;
        Some(exchange.timeline.start.since(intended))
    }

    /// The parsed response of a failed exchange: only the generated text, if a file needs it. It ends at the failure.
    fn unread(&self, exchange: &Exchange) -> Parsed {
        let wanted = self.plan.artifacts.outputs;
        let [reasoning_text, output_text] =
            if wanted { self.reading().texts_before_failure(exchange) } else { [None, None] };
        Parsed { last_response: exchange.timeline.end, reasoning_text, output_text, ..Parsed::default() }
    }

    fn reading(&self) -> Reading<'_> {
        let (api, limit) = (self.requests.api(), self.plan.endpoint.http.kept_body_limit);
        Reading { api, limit, captures: false, known: None }
    }

    /// Why there is no response to read.
    fn failure(&self, exchange: &Exchange) -> Option<RequestError> {
        if let Some(failure) = &exchange.failure {
            return Some(failure_names::error_of(failure));
        }
        match exchange.status {
            Some(200..300) => None,
            Some(status) => {
                let limit = self.plan.endpoint.http.kept_body_limit.min(MOST_OF_ERROR);
                let Decoded { exchange, failure } = encoding::decode(exchange, limit);
                let text = charset::text_lossy(&exchange, &body::collect(&exchange));
                let unread =
                    failure.filter(|_| text.is_empty()).map(|failure| failure_names::error_of(&failure).message);
                Some(RequestError::status(status, &body::reason(&exchange), unread.unwrap_or(text)))
            }
            None => Some(failure_names::error_of(&Failure::Disconnected)),
        }
    }

    fn counts(&self) -> Counts {
        if self.plan.endpoint.server_token_count {
            Counts::Servers
        } else if self.plan.endpoint.kind.traits().has_tokens() {
            Counts::Ours
        } else {
            Counts::None
        }
    }

    /// The tokens of an exchange, and whether the chat template refuses its messages.
    fn count(
        &self,
        exchange: &Exchange,
        parsed: &Parsed,
        counted: Counts,
        failed: bool,
        prompt: Option<&Arc<PromptHistory>>,
    ) -> (TokenCounts, bool) {
        let tokenizer = match (counted, &self.tokenizers) {
            (Counts::Servers, _) => {
                let first = parsed.first_content_tokens.filter(|_| self.plan.endpoint.per_chunk_usage && !failed);
                return (TokenCounts { first_content_chunk_tokens: first, ..server_counts(parsed, failed) }, false);
            }
            // A request without a model uses the first tokenizer.
            (Counts::Ours, Some(tokenizers)) => tokenizers.of(exchange.tag.model.as_deref().unwrap_or_default()),
            (Counts::Ours, None) | (Counts::LeftOut(_) | Counts::None, _) => return Default::default(),
        };
        let (input, is_refused) = match self.requests.input_tokens_of(exchange, prompt, tokenizer) {
            Ok(input) => (input, false),
            Err(RefusedByTemplate) => (None, true),
        };
        if failed {
            return (TokenCounts { input, ..TokenCounts::default() }, is_refused);
        }
        let count = |text: &str| tokenizer.count(text) as u64;
        let tokens = TokenCounts {
            input,
            output: choices(&parsed.output_text, &parsed.choice_ends).map(|texts| texts.map(count).sum()),
            reasoning: choices(&parsed.reasoning_text, &parsed.reasoning_ends).map(|texts| texts.map(count).sum()),
            first_content_chunk_tokens: None,
        };
        (tokens, is_refused)
    }
}

/// The source of token counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    Servers,
    Ours,
    /// Ours, but counting was given up.
    LeftOut(GivenUp),
    /// Such requests have no tokens.
    None,
}

/// The text or reasoning of a response by choice. Choices are tokenized separately: no token spans two of them.
fn choices<'a>(text: &'a Option<String>, ends: &'a [usize]) -> Option<impl Iterator<Item = &'a str>> {
    let text = text.as_deref()?;
    let is_one = ends.is_empty();
    let mut start = 0;
    let each = ends.iter().filter_map(move |&end| {
        let choice = text.get(start..end);
        start = end;
        choice
    });
    Some(each.chain(is_one.then_some(text)))
}

fn server_counts(parsed: &Parsed, failed: bool) -> TokenCounts {
    let usage = parsed.usage.unwrap_or_default();
    if failed {
        return TokenCounts::default();
    }
    let ResponseTokens { output, reasoning, .. } = usage.response_tokens();
    TokenCounts { input: usage.prompt_tokens, output, reasoning, first_content_chunk_tokens: None }
}

fn is_context_overflow(error: &RequestError) -> bool {
    reports_context_overflow(&error.message, CONTEXT_OVERFLOW_PHRASES.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;
    use aiperf_dataset::{Dataset, Making};
    use aiperf_plan::{Arrival, ScheduleZero};
    use aiperf_tokenize::Tokenizer;
    use aiperf_types::{EndpointKind, Media, MonoNs, PhaseKind, Reply, RequestTag, Timeline, Turn, VideoFacts};

    /// Reads records of an endpoint type.
    fn reader(kind: EndpointKind) -> Reader {
        let tokenizer = Tokenizer::builtin();
        let mut plan = plan("http://127.0.0.1:1");
        let dataset = Arc::new(Dataset::of(&plan.dataset, Making::new(&plan.draws(), &tokenizer)).unwrap());
        let requests = Arc::new(Requests::new(Arc::new(plan.clone()), dataset, "1").unwrap());
        plan.endpoint.kind = kind;
        let phase = PhaseId { index: 0, profiling_index: Some(0), name: "p".into(), kind: PhaseKind::Profiling };
        let (plan, anchor, phases) = (Arc::new(plan), WallAnchor::default(), vec![Arc::new(phase)]);
        Reader { plan, requests, tokenizers: Some(tokenizer.into()), anchor, phases }
    }

    /// An exchange that was read where it came in.
    fn exchange(reader: &Reader, parsed: Parsed) -> Exchange {
        Exchange {
            tag: RequestTag { images: 3, audio_seconds: Some(1.5), ..RequestTag::default() },
            timeline: Timeline { start: MonoNs(1), end: MonoNs(9), ..Timeline::default() },
            status: Some(200),
            request_body: reader.requests.request(0).unwrap().encoded.body.clone(),
            parsed: Some(Box::new(parsed)),
            ..Exchange::default()
        }
    }

    fn answered(text: &str) -> Parsed {
        let mark = aiperf_types::ContentMark { at: MonoNs(5), output: true, reasoning: false };
        let (content, output_text) = (vec![mark], Some(text.to_owned()));
        Parsed { content, output_text, responses: 1, last_response: MonoNs(6), ..Parsed::default() }
    }

    #[test]
    fn what_was_read_on_the_way_is_the_record() {
        let reader = reader(EndpointKind::Chat);
        let facts = VideoFacts { inference_seconds: Some(2.0), peak_memory_mb: Some(3.0) };
        let record = reader.read(&exchange(&reader, Parsed { video: Some(facts), ..answered("hello") }), 0);
        let measured = record.measured;
        assert_eq!((measured.error, measured.end, measured.content.len()), (None, MonoNs(6), 1));
        assert_eq!((measured.images, measured.audio_seconds), (3, Some(1.5)));
        assert_eq!((measured.video_inference_seconds, measured.video_peak_memory_mb), (Some(2.0), Some(3.0)));
        assert!(measured.tokens.input > Some(0) && measured.tokens.output > Some(0));
    }

    #[test]
    fn only_a_phase_with_a_schedule_of_its_own_wants_a_request_sent_at_an_instant() {
        let mut reader = reader(EndpointKind::Chat);
        let mut exchange = exchange(&reader, answered("hello"));
        exchange.timeline.start = MonoNs(4);
        exchange.timeline.intended = MonoNs(1);
        let mut delay = |arrival| {
            Arc::make_mut(&mut reader.plan).phases[0].arrival = arrival;
            reader.read(&exchange, 0).measured.schedule_delay
        };
        assert_eq!(delay(Arrival::Concurrency), None);
        assert_eq!(delay(Arrival::UserCentric { users: 1, rate: 1.0 }), Some(Nanos(3)));
        assert_eq!(delay(Arrival::FixedSchedule { zero: ScheduleZero::First }), Some(Nanos(3)));
    }

    #[test]
    fn a_record_knows_the_longest_lag_of_its_reads() {
        let reader = reader(EndpointKind::Chat);
        let mut exchange = exchange(&reader, answered("hello"));
        exchange.timeline.reads = [2, 9, Read::NO_STAMP].map(|lag| Read { lag, ..Read::default() }).into();
        assert_eq!(reader.read(&exchange, 0).measured.receive_lag, Some(Nanos(9)));
    }

    #[test]
    fn an_error_that_was_read_on_the_way_is_the_records() {
        let reader = reader(EndpointKind::Chat);
        let error = RequestError::coded(502, "SSEResponseError", "no");
        let record = reader.read(&exchange(&reader, Parsed { error: Some(error.clone()), ..answered("half") }), 0);
        assert_eq!((record.measured.error, record.measured.content.len()), (Some(error), 0));
    }

    #[test]
    fn chunks_of_a_failed_request_are_neither_events_nor_merged() {
        let reader = reader(EndpointKind::Chat);
        let merged = Parsed { merged: 1, merged_width_sum: 7, merged_width_max: 7, ..answered("half") };
        let failed = Parsed { error: Some(RequestError::coded(502, "SSEResponseError", "no")), ..merged.clone() };
        let mut quality = aiperf_metrics::Quality::default();
        for (parsed, counts) in [(failed, (0, 0, 0, 0)), (merged, (1, 1, 7, 7))] {
            let exchange = exchange(&reader, parsed);
            crate::recording::quality::add(&mut quality, &exchange, &reader.read(&exchange, 0));
            let widths = (quality.merged_width_sum, quality.merged_width_max);
            assert_eq!((quality.events, quality.merged_events, widths.0, widths.1), counts);
        }
    }

    /// A body that broke off, whole for as long as it lasted.
    fn broken(reader: &Reader, media_type: &str, body: &str) -> Exchange {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n\r\n");
        let raw = format!("{head}{body}").into_bytes();
        let (body_at, raw_len) = (head.len(), raw.len());
        let read = aiperf_types::Read { at: MonoNs(5), lag: 0, len: raw_len as u32, ..Default::default() };
        let whole = exchange(reader, Parsed::default());
        let timeline = Timeline { reads: vec![read], ..whole.timeline };
        let failure = Some(Failure::Disconnected);
        Exchange { raw, raw_len, body_at, timeline, failure, parsed: None, ..whole }
    }

    #[test]
    fn what_was_generated_before_a_failure_is_kept_where_a_file_wants_it() {
        let mut reader = reader(EndpointKind::Chat);
        let event = |text| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
        let stream = format!("{}{}data: {{\"choices\":[{{\"del", event("one"), event(" two"));
        let body = r#"{"choices":[{"message":{"role":"assistant","content":"one tw"#;
        let cut = [broken(&reader, "text/event-stream", &stream), broken(&reader, "application/json", body)];
        for exchange in &cut {
            assert_eq!(reader.read(exchange, 0).parsed.output_text, None, "no file needs it");
        }
        Arc::make_mut(&mut reader.plan).artifacts.outputs = true;
        for (exchange, output) in cut.iter().zip([Some("one two"), None]) {
            let Record { parsed, measured, .. } = reader.read(exchange, 0);
            assert_eq!(parsed.output_text.as_deref(), output);
            assert_eq!((measured.end, measured.content.len(), measured.tokens.output), (MonoNs(9), 0, None));
            assert!(measured.error.is_some());
        }
    }

    #[test]
    fn each_choice_is_counted_alone() {
        let reader = reader(EndpointKind::Chat);
        let output = |parsed: Parsed| reader.read(&exchange(&reader, parsed), 0).measured.tokens.output;
        let text = "word";
        let one = output(answered(text)).unwrap();
        let both = Parsed { choice_ends: vec![text.len(), 2 * text.len()], ..answered(&text.repeat(2)) };
        assert_eq!(output(both), Some(2 * one));
        let halves = Parsed { choice_ends: vec![2, text.len()], ..answered(text) };
        assert!(output(halves) > Some(one), "one token is two if its halves are in different choices");
        let thought = |reasoning_ends| {
            let parsed = Parsed { reasoning_text: Some(text.to_owned()), reasoning_ends, ..answered(text) };
            reader.read(&exchange(&reader, parsed), 0).measured.tokens.reasoning
        };
        assert_eq!(thought(vec![]), Some(one));
        assert!(thought(vec![2, text.len()]) > Some(one));
    }

    #[test]
    fn requests_that_have_nothing_to_do_with_tokens_have_no_counts() {
        let reader = reader(EndpointKind::ImageRetrieval);
        let record = reader.read(&exchange(&reader, answered("hello")), 0);
        assert_eq!((record.measured.tokens, record.without_counts), (TokenCounts::default(), false));
    }

    #[test]
    fn a_record_that_is_not_counted_keeps_its_times_and_what_the_server_said() {
        let mut reader = reader(EndpointKind::Chat);
        let usage = Some(Usage { completion_tokens: Some(7), ..Usage::default() });
        let exchange = exchange(&reader, Parsed { usage, ..answered("hello") });
        let (counted, uncounted) = (reader.read(&exchange, 0), reader.read_uncounted(&exchange, 0, GivenUp::Stopped));
        assert_eq!((uncounted.uncounted, counted.uncounted), (Some(GivenUp::Stopped), None));
        let measured = Measured { tokens: counted.measured.tokens, ..uncounted.measured.clone() };
        assert_eq!(uncounted.measured.tokens, TokenCounts::default());
        assert_eq!(uncounted.measured.usage.completion_tokens, Some(7));
        assert_eq!(format!("{measured:?}"), format!("{:?}", counted.measured));
        let mut plan = Plan::clone(&reader.plan);
        plan.endpoint.server_token_count = true;
        reader.plan = Arc::new(plan);
        let servers = reader.read_uncounted(&exchange, 0, GivenUp::Stopped);
        assert_eq!((servers.measured.tokens.output, servers.uncounted), (Some(7), None));
    }

    #[test]
    fn messages_that_the_chat_template_refuses_are_counted_as_such() {
        let mut reader = reader(EndpointKind::Chat);
        let folder = tempfile::tempdir().unwrap();
        let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/data/tiny-model/tokenizer.json");
        std::fs::copy(model, folder.path().join("tokenizer.json")).unwrap();
        std::fs::write(folder.path().join("chat_template.jinja"), "{{ raise_exception('no') }}").unwrap();
        let tokenizer = Tokenizer::load(&folder.path().to_string_lossy(), &Default::default()).unwrap();
        reader.tokenizers = Some(tokenizer.into());
        let plainly = reader.read(&exchange(&reader, answered("hello")), 0);
        assert!(plainly.measured.tokens.input.is_some() && !plainly.refused_by_chat_template);
        let mut plan = Plan::clone(&reader.plan);
        plan.tokenizer.apply_chat_template = true;
        let dataset = Arc::new(Dataset::of(&plan.dataset, Making::new(&plan.draws(), &Tokenizer::builtin())).unwrap());
        reader.requests = Arc::new(Requests::new(Arc::new(plan), dataset, "1").unwrap());
        let mut quality = aiperf_metrics::Quality::default();
        for _ in 0..2 {
            let exchange = exchange(&reader, answered("hello"));
            let record = reader.read(&exchange, 0);
            assert_eq!(record.measured.tokens.input, None);
            assert!(record.measured.tokens.output > Some(0));
            crate::recording::quality::add(&mut quality, &exchange, &record);
        }
        assert_eq!(quality.refused_by_chat_template, 2);
    }

    #[test]
    fn what_could_not_be_built_is_an_error_without_a_trace() {
        let mut reader = reader(EndpointKind::Chat);
        let mut plan = Plan::clone(&reader.plan);
        (plan.artifacts.records.jsonl, plan.artifacts.http_trace) = (true, true);
        reader.plan = Arc::new(plan);
        let record = |failure: Failure| {
            let exchange = Exchange {
                tag: RequestTag { session_id: "s".into(), ..RequestTag::default() },
                timeline: Timeline { start: MonoNs(5), end: MonoNs(5), ..Timeline::default() },
                failure: Some(failure),
                ..Exchange::default()
            };
            reader.read(&exchange, 0)
        };
        for (is_unsupported, kind) in [(false, "ValueError"), (true, "NotImplementedError")] {
            let record = record(Failure::Unbuildable { is_unsupported, message: "conversation s: no".into() });
            let error = record.measured.error.unwrap();
            let wanted = (Some(kind), format!("{kind}('conversation s: no')"));
            assert_eq!((error.kind.as_deref(), error.message), wanted);
            assert!(record.measured.http_trace.is_none() && record.measured.http.is_none());
            assert_eq!(
                (&*record.meta.conversation_id, record.measured.start, record.measured.end),
                ("s", MonoNs(5), MonoNs(5))
            );
            assert_eq!(record.measured.tokens, TokenCounts::default());
        }
        assert!(record(Failure::Disconnected).measured.http_trace.is_some());
    }

    #[test]
    fn a_reply_is_no_part_of_what_is_measured() {
        let reader = reader(EndpointKind::Chat);
        let text = Media { contents: vec!["hello".into()], ..Media::default() };
        let turn = Some(Turn { texts: vec![text], ..Turn::default() });
        let reply = Some(Box::new(Reply { turn, response_id: None }));
        let with = reader.read(&exchange(&reader, Parsed { reply, ..answered("hello") }), 0);
        let without = reader.read(&exchange(&reader, answered("hello")), 0);
        assert_eq!(format!("{:?}", with.measured), format!("{:?}", without.measured));
    }
}
