//! One request and its response: which event comes next, and when.

use rand_chacha::ChaCha8Rng;

use crate::apis::{
    Api, ApiError, ErrorBody, Finish, InferenceRequest, Output, Pen, PlannedResponse, Route, Span, WholeBody, Wording,
};
use crate::fault::Fault;
use crate::http::{Head, Status};
use crate::metrics::{FinishReason, Metrics, RequestLabels, RequestSizes, RequestTimes};
use crate::reply::{Extent, Outlet, Reply};
use crate::script::{Purpose, Script};
use crate::truth::{Asked, Payload, TruthRecord};

/// The most events of a response besides those with tokens.
const EVENTS_AROUND: usize = 16;

/// The state of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its response head is held back.
    HeadHeld,
    /// Waits for a place in the running batch.
    Waiting,
    /// Produces tokens, or waits to end its stream.
    Running,
    /// Everything was handed to the socket.
    Over,
}

/// The next action after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// To be called again at this moment.
    At(u64),
    /// Nothing, ever: the client has to give up.
    Never,
    Over,
    /// The connection shall be closed here.
    Close,
    /// The connection shall be reset here.
    Reset,
}

/// The context of an exchange's step.
pub(crate) struct Context<'a> {
    pub(crate) script: &'a Script,
    pub(crate) outlet: Outlet<'a>,
    pub(crate) metrics: &'a mut Metrics,
}

/// A request and the response it gets.
pub(crate) struct Exchange {
    pub(crate) stage: Stage,
    pub(crate) truth: Option<Box<TruthRecord>>,
    pub(crate) reply: Reply,
    route: Route,
    planned: PlannedResponse,
    wording: Box<dyn Wording>,
    fault: Option<Fault>,
    random: ChaCha8Rng,
    /// Content events sent.
    sent: u32,
    /// Tokens of each choice produced.
    produced: u32,
    arrived_ns: u64,
    started_ns: u64,
    first_ns: u64,
    latest_ns: u64,
    due_ns: u64,
    /// The second half of a whole response that stalled after the first.
    rest: Option<Vec<u8>>,
}

/// The pen of an exchange: it borrows only some of its members.
macro_rules! pen {
    ($exchange:ident, $context:ident) => {
        Pen::new(&mut $exchange.reply, &mut $context.outlet, $exchange.truth.as_deref_mut())
    };
}

/// What is known of a request before its response is planned.
pub(crate) struct ReceivedRequest {
    pub(crate) route: Route,
    pub(crate) request: InferenceRequest,
    pub(crate) wording: Box<dyn Wording>,
    pub(crate) number: u64,
    pub(crate) reply: Reply,
    pub(crate) fault: Option<Fault>,
    pub(crate) now_ns: u64,
    pub(crate) truth: Option<Box<TruthRecord>>,
}

impl Exchange {
    /// Plans the response. An error comes with the record of the request.
    pub(crate) fn plan(
        script: &Script,
        received: ReceivedRequest,
    ) -> Result<Self, (ApiError, Option<Box<TruthRecord>>)> {
        let ReceivedRequest { route, request, wording, number, reply, fault, now_ns, mut truth } = received;
        let planned = match PlannedResponse::plan(route.api, script, request, number) {
            Ok(planned) => planned,
            Err(error) => return Err((error, truth)),
        };
        if let Some(truth) = &mut truth {
            truth.chunks.reserve_exact(planned.length.tokens as usize + EVENTS_AROUND);
            let InferenceRequest { stream, prompt_tokens, ref noted, .. } = planned.request;
            truth.asked = Some(Asked { streamed: stream, prompt_tokens, output_tokens: 0, noted: noted.clone() });
        }
        Ok(Exchange {
            stage: if matches!(fault, Some(Fault::SlowHeaders(_))) { Stage::HeadHeld } else { Stage::Waiting },
            truth,
            reply,
            random: script.random(Purpose::Latency, number),
            route,
            planned,
            wording,
            fault,
            sent: 0,
            produced: 0,
            arrived_ns: now_ns,
            started_ns: 0,
            first_ns: 0,
            latest_ns: 0,
            due_ns: 0,
            rest: None,
        })
    }

    /// Sends the head of a stream: before the first token, as servers do.
    pub(crate) fn open(&mut self, context: &mut Context<'_>) {
        self.stage = Stage::Waiting;
        if self.planned.request.stream {
            self.reply.stream_head(&mut context.outlet, self.truth.as_deref_mut(), &Head::STREAM);
            self.wording.open(&mut pen!(self, context), &self.planned);
        }
    }

    /// Enters the running batch; returns the moment of the first token.
    pub(crate) fn start(&mut self, now_ns: u64, script: &Script, metrics: &mut Metrics) -> u64 {
        self.stage = Stage::Running;
        self.started_ns = now_ns;
        if !self.is_inference() {
            self.due_ns = now_ns;
            return now_ns;
        }
        self.due_ns = script.rounded_up(now_ns + script.config.ttft.draw_ns(&mut self.random));
        metrics.record_start(self.planned.request.prompt_tokens);
        self.due_ns
    }

    /// The deadline has arrived: produces the next tokens.
    pub(crate) fn advance(&mut self, now_ns: u64, context: &mut Context<'_>) -> Next {
        if let Some(rest) = self.rest.take() {
            self.reply.rest(&mut context.outlet, self.truth.as_deref_mut(), &rest);
            return self.complete(context);
        }
        if self.has_sent_all() {
            return self.end_stream(context);
        }
        if self.planned.request.stream
            && self.sent == self.midway(context.script)
            && let Some(fault) = self.fault.take()
            && let Some(next) = self.meet(fault, context)
        {
            return next;
        }
        let tokens = self.next_tokens(context.script);
        self.account(now_ns, tokens, context.metrics);
        let from = self.produced;
        self.produced += tokens;
        self.sent += 1;
        let length = self.planned.length;
        if self.planned.request.stream {
            let (reasoning, last) = (from < length.reasoning, self.produced == length.tokens);
            let span = Span { from, to: self.produced, reasoning, last };
            self.wording.tokens(&mut pen!(self, context), &self.planned, span);
        }
        if self.produced < length.tokens {
            let coming = self.next_tokens(context.script);
            self.due_ns += context.script.interval_ns(coming, &mut self.random);
            return Next::At(self.due_ns);
        }
        if !self.planned.request.stream {
            return self.send_whole(context);
        }
        let delay_ns = context.script.config.end_delay.as_nanos() as u64;
        if delay_ns > 0 {
            self.due_ns = now_ns + delay_ns;
            return Next::At(self.due_ns);
        }
        self.end_stream(context)
    }

    fn end_stream(&mut self, context: &mut Context<'_>) -> Next {
        self.wording.close(&mut pen!(self, context), &self.planned);
        self.complete(context)
    }

    /// The client or a fault ended it early.
    pub(crate) fn abandon(&mut self, why: FinishReason, metrics: &mut Metrics) {
        match self.stage {
            Stage::Running => self.leave_batch(metrics),
            Stage::Waiting => metrics.waiting -= 1,
            Stage::HeadHeld => {}
            Stage::Over => return,
        }
        self.stage = Stage::Over;
        self.record_failure(why, metrics);
    }

    fn record_failure(&self, why: FinishReason, metrics: &mut Metrics) {
        if !self.is_inference() {
            return;
        }
        metrics.record_abandoned(why);
        metrics.record_answered(self.answered(false), 1);
    }

    fn answered(&self, succeeded: bool) -> RequestLabels {
        RequestLabels { endpoint: self.api().name, streamed: self.planned.request.stream, succeeded }
    }

    fn api(&self) -> &'static Api {
        self.route.api
    }

    /// Whether it is work for the engine, and takes a place in the batch.
    pub(crate) fn is_inference(&self) -> bool {
        self.api().output != Output::Lookup
    }

    /// How many of the things that were sent are tokens.
    fn as_tokens(&self, sent: u32) -> u32 {
        if matches!(self.api().output, Output::Text { .. }) { sent } else { 0 }
    }

    /// The most that one event carries.
    fn per_event(&self, script: &Script) -> u32 {
        if self.api().output == Output::Pictures { 1 } else { script.config.tokens_per_chunk.get() }
    }

    /// Tokens of the next event: no event mixes reasoning and text.
    fn next_tokens(&self, script: &Script) -> u32 {
        let length = self.planned.length;
        let end = if self.produced < length.reasoning { length.reasoning } else { length.tokens };
        self.per_event(script).min(end - self.produced)
    }

    /// A stream whose end is delayed has sent all its tokens. Without tokens, it still has its only event to send.
    fn has_sent_all(&self) -> bool {
        self.planned.request.stream && self.sent > 0 && self.produced == self.planned.length.tokens
    }

    /// Content events after which a midway fault strikes.
    fn midway(&self, script: &Script) -> u32 {
        self.planned.length.tokens.div_ceil(self.per_event(script)) / 2
    }

    fn account(&mut self, now_ns: u64, tokens: u32, metrics: &mut Metrics) {
        if !self.is_inference() {
            return;
        }
        let tokens = self.as_tokens(tokens);
        let InferenceRequest { prompt_tokens, choices, .. } = self.planned.request;
        if self.sent == 0 {
            self.first_ns = now_ns;
            metrics.record_first_tokens(prompt_tokens, tokens, choices, seconds(now_ns - self.arrived_ns));
        } else {
            metrics.record_next_tokens(tokens, choices, seconds(now_ns - self.latest_ns));
        }
        self.latest_ns = now_ns;
    }

    fn send_whole(&mut self, context: &mut Context<'_>) -> Next {
        let fault = self.fault.take();
        if matches!(fault, Some(Fault::ErrorEvent | Fault::ErrorData)) {
            return self.fail(ApiError::of_status(Status(500)), context);
        }
        let WholeBody { content_type, bytes: mut body } = self.wording.whole(&self.planned);
        if matches!(fault, Some(Fault::MalformedJson | Fault::MalformedSse)) {
            body.truncate(body.len() / 2);
        }
        let early_end = match fault {
            Some(Fault::Stall(Some(time))) => Some(Next::At(self.due_ns + time.as_nanos() as u64)),
            Some(Fault::Stall(None)) => Some(Next::Never),
            Some(Fault::Cut) => Some(Next::Close),
            Some(Fault::ResetMidway) => Some(Next::Reset),
            _ => None,
        };
        let extent = if early_end.is_some() { Extent::FirstHalf } else { Extent::All };
        let (outlet, truth, head) =
            (&mut context.outlet, self.truth.as_deref_mut(), Head { content_type, ..Head::json(Status::OK) });
        let rest = self.reply.whole(outlet, truth, Payload::Content, &head, (&body, extent));
        match early_end {
            Some(next) => {
                self.rest = Some(rest);
                next
            }
            None => self.complete(context),
        }
    }

    /// Executes a midway fault; `None` if the stream continues after it.
    fn meet(&mut self, fault: Fault, context: &mut Context<'_>) -> Option<Next> {
        match fault {
            Fault::ResetMidway => Some(Next::Reset),
            Fault::Cut => Some(Next::Close),
            Fault::Stall(None) => Some(Next::Never),
            Fault::Stall(Some(time)) => {
                self.due_ns += time.as_nanos() as u64;
                Some(Next::At(self.due_ns))
            }
            Fault::MalformedSse => {
                pen!(self, context).event(&[b"{\"this line has no field name\n\n"], Payload::Nothing);
                None
            }
            Fault::MalformedJson => {
                self.wording.break_json(&mut pen!(self, context));
                None
            }
            Fault::ErrorEvent | Fault::ErrorData => {
                let api = self.api();
                self.wording.fail(&mut pen!(self, context), api, fault == Fault::ErrorEvent);
                self.leave_batch(context.metrics);
                self.stage = Stage::Over;
                self.record_failure(FinishReason::Error, context.metrics);
                context.metrics.record_http_response(self.route.path, self.api().method, 200, 1);
                Some(Next::Over)
            }
            // These occur before the stream begins.
            Fault::Refuse
            | Fault::HookStatus { .. }
            | Fault::Reset
            | Fault::Status(_)
            | Fault::Redirect(_)
            | Fault::Goaway
            | Fault::SlowHeaders(_) => None,
        }
    }

    fn fail(&mut self, error: ApiError, context: &mut Context<'_>) -> Next {
        if let Some(truth) = &mut self.truth {
            truth.status = error.status.0;
        }
        self.reply.drop_encoding();
        let ErrorBody { content_type, bytes: body } = (self.api().error)(&error);
        let head = Head { content_type, ..Head::json(error.status) };
        let truth = self.truth.as_deref_mut();
        self.reply.whole(&mut context.outlet, truth, Payload::Nothing, &head, (&body, Extent::All));
        self.leave_batch(context.metrics);
        self.stage = Stage::Over;
        self.record_failure(FinishReason::Error, context.metrics);
        context.metrics.record_http_response(self.route.path, self.api().method, error.status.0, 1);
        Next::Over
    }

    fn leave_batch(&mut self, metrics: &mut Metrics) {
        let generated = self.as_tokens(self.produced) * self.planned.request.choices;
        if let Some(asked) = self.truth.as_mut().and_then(|truth| truth.asked.as_mut()) {
            asked.output_tokens = generated;
        }
        if self.is_inference() {
            metrics.record_stop(self.planned.request.prompt_tokens, generated, self.sent > 0);
        }
    }

    fn complete(&mut self, context: &mut Context<'_>) -> Next {
        self.stage = Stage::Over;
        self.leave_batch(context.metrics);
        if let Some(truth) = &mut self.truth {
            truth.finished = true;
        }
        context.metrics.record_http_response(self.route.path, self.api().method, 200, 1);
        if !self.is_inference() {
            return Next::Over;
        }
        let finished = match self.planned.length.finish {
            Finish::Length => FinishReason::Length,
            Finish::Stop => FinishReason::Stop,
        };
        let sizes = RequestSizes {
            prompt_tokens: self.planned.request.prompt_tokens,
            generated: self.as_tokens(self.planned.length.tokens) * self.planned.request.choices,
            choices: self.planned.request.choices,
            n: self.planned.request.n,
            max_tokens: self.planned.request.max_tokens.unwrap_or(self.planned.length.tokens),
        };
        let times = RequestTimes {
            queued: seconds(self.started_ns - self.arrived_ns),
            prefill: seconds(self.first_ns - self.started_ns),
            decode: seconds(self.latest_ns - self.first_ns),
        };
        context.metrics.record_completed(finished, sizes, times, 1);
        context.metrics.record_answered(self.answered(true), 1);
        Next::Over
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
