//! One request being answered: which event comes next, and when.

use rand_chacha::ChaCha8Rng;

use crate::events::{self, Choice, Events, Finish, Piece, Usage};
use crate::fault::Fault;
use crate::http::{Head, Status};
use crate::inference::{ApiError, Endpoint, InferenceRequest};
use crate::metrics::{Answered, Finished, Metrics, RequestSizes, RequestTimes};
use crate::reply::{Extent, Outlet, Reply};
use crate::script::{Length, Purpose, Script};
use crate::truth::{Payload, TruthRecord};
use crate::vocabulary;

/// How far an exchange has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its response head is held back.
    HeadHeld,
    /// Waits for a place in the running batch.
    Waiting,
    /// Produces tokens.
    Running,
    /// Everything was handed to the socket.
    Over,
}

/// What an exchange wants after a step.
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

/// The things an exchange works with.
pub(crate) struct Context<'a> {
    pub(crate) script: &'a Script,
    pub(crate) outlet: Outlet<'a>,
    pub(crate) metrics: &'a mut Metrics,
}

/// A request and the answer it gets.
pub(crate) struct Exchange {
    pub(crate) stage: Stage,
    pub(crate) truth: Option<Box<TruthRecord>>,
    pub(crate) reply: Reply,
    endpoint: Endpoint,
    request: InferenceRequest,
    model: String,
    number: u64,
    created: u64,
    fault: Option<Fault>,
    random: ChaCha8Rng,
    length: Length,
    events: Events,
    /// Content events sent.
    sent: u32,
    /// Tokens of each choice produced.
    produced: u32,
    arrived_ns: u64,
    started_ns: u64,
    first_ns: u64,
    latest_ns: u64,
    due_ns: u64,
    /// The second half of a whole answer that stalled after the first.
    rest: Option<Vec<u8>>,
}

/// What is known of a request before its answer is planned.
pub(crate) struct ReceivedRequest {
    pub(crate) endpoint: Endpoint,
    pub(crate) request: InferenceRequest,
    pub(crate) number: u64,
    pub(crate) reply: Reply,
    pub(crate) fault: Option<Fault>,
    pub(crate) now_ns: u64,
    pub(crate) truth: Option<Box<TruthRecord>>,
}

impl Exchange {
    /// Plans the answer. An error comes back with the record of the request.
    pub(crate) fn plan(
        script: &Script,
        received: ReceivedRequest,
    ) -> Result<Self, (ApiError, Option<Box<TruthRecord>>)> {
        let ReceivedRequest { endpoint, request, number, reply, fault, now_ns, mut truth } = received;
        let planned = script.model(&request).and_then(|model| Ok((model, script.length(endpoint, &request, number)?)));
        let (model, length) = match planned {
            Ok(planned) => planned,
            Err(error) => return Err((error, truth)),
        };
        let created = crate::clock::wall_ns() / 1_000_000_000;
        if let Some(truth) = &mut truth {
            truth.chunks.reserve_exact(length.tokens as usize + 4);
        }
        Ok(Exchange {
            stage: if matches!(fault, Some(Fault::SlowHeaders(_))) { Stage::HeadHeld } else { Stage::Waiting },
            truth,
            events: Events::new(endpoint, number, created, &model, reply.framing()),
            reply,
            random: script.random(Purpose::Latency, number),
            endpoint,
            request,
            model,
            number,
            created,
            fault,
            length,
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
        if self.request.stream {
            self.reply.stream_head(&mut context.outlet, self.truth.as_deref_mut(), &Head::STREAM);
        }
    }

    /// Enters the running batch; gives the moment of the first token.
    pub(crate) fn start(&mut self, now_ns: u64, script: &Script, metrics: &mut Metrics) -> u64 {
        self.stage = Stage::Running;
        self.started_ns = now_ns;
        self.due_ns = script.rounded_up(now_ns + script.config.ttft.draw_ns(&mut self.random));
        metrics.record_start(self.request.prompt_tokens);
        self.due_ns
    }

    /// The deadline came: produces the next tokens.
    pub(crate) fn advance(&mut self, now_ns: u64, context: &mut Context<'_>) -> Next {
        if let Some(rest) = self.rest.take() {
            self.reply.rest(&mut context.outlet, self.truth.as_deref_mut(), &rest);
            return self.complete(context);
        }
        if self.request.stream
            && self.sent == self.midway(context.script)
            && let Some(fault) = self.fault.take()
            && let Some(next) = self.meet(fault, context)
        {
            return next;
        }
        let tokens = self.next_tokens(context.script);
        self.account(now_ns, tokens, context.metrics);
        let reasoning = self.produced < self.length.reasoning;
        self.produced += tokens;
        self.sent += 1;
        if self.request.stream {
            self.send_tokens(tokens, reasoning, context);
        }
        if self.produced < self.length.tokens {
            let coming = self.next_tokens(context.script);
            self.due_ns += context.script.interval_ns(coming, &mut self.random);
            return Next::At(self.due_ns);
        }
        if self.request.stream { self.end_stream(context) } else { self.send_whole(context) }
    }

    /// The client or a fault ended it before its time.
    pub(crate) fn abandon(&mut self, why: Finished, metrics: &mut Metrics) {
        match self.stage {
            Stage::Running => self.leave_batch(metrics),
            Stage::Waiting => metrics.waiting -= 1,
            Stage::HeadHeld => {}
            Stage::Over => return,
        }
        self.stage = Stage::Over;
        self.record_failure(why, metrics);
    }

    fn record_failure(&self, why: Finished, metrics: &mut Metrics) {
        metrics.record_abandoned(why);
        metrics.record_answered(self.answered(false), 1);
    }

    fn answered(&self, succeeded: bool) -> Answered {
        Answered { endpoint: self.endpoint, streamed: self.request.stream, succeeded }
    }

    fn choices(&self) -> u32 {
        if self.endpoint == Endpoint::Embeddings { 1 } else { self.request.n * self.request.prompts.max(1) }
    }

    /// Tokens of the next event: no event mixes reasoning and text.
    fn next_tokens(&self, script: &Script) -> u32 {
        let end = if self.produced < self.length.reasoning { self.length.reasoning } else { self.length.tokens };
        script.config.tokens_per_chunk.get().min(end - self.produced)
    }

    /// Content events after which a midway fault strikes.
    fn midway(&self, script: &Script) -> u32 {
        self.length.tokens.div_ceil(script.config.tokens_per_chunk.get()) / 2
    }

    fn account(&mut self, now_ns: u64, tokens: u32, metrics: &mut Metrics) {
        let choices = self.choices();
        if self.sent == 0 {
            self.first_ns = now_ns;
            metrics.record_first_tokens(self.request.prompt_tokens, tokens, choices, seconds(now_ns - self.arrived_ns));
        } else {
            metrics.record_next_tokens(tokens, choices, seconds(now_ns - self.latest_ns));
        }
        self.latest_ns = now_ns;
    }

    /// Token counts so far, of one choice.
    fn usage_so_far(&self) -> Option<Usage> {
        (self.request.include_usage && self.request.continuous_usage).then(|| Usage {
            prompt: self.request.prompt_tokens,
            completion: self.produced,
            reasoning: self.produced.min(self.length.reasoning),
            drafts: 0,
        })
    }

    fn usage(&self) -> Usage {
        Usage {
            prompt: self.request.prompt_tokens,
            completion: self.length.tokens * self.choices(),
            reasoning: self.length.reasoning * self.choices(),
            drafts: self.length.drafts,
        }
    }

    fn text(&self, choice: u32, from: u32, to: u32) -> String {
        (from..to).map(|position| self.word(choice, position)).collect()
    }

    fn word(&self, choice: u32, position: u32) -> &'static str {
        vocabulary::word(self.number.wrapping_add(u64::from(choice)), position)
    }

    fn send_tokens(&mut self, tokens: u32, reasoning: bool, context: &mut Context<'_>) {
        let usage = self.usage_so_far();
        if self.sent == 1 {
            let opening = usage.map(|usage| Usage { completion: 0, reasoning: 0, ..usage });
            for choice in 0..self.choices() {
                context.outlet.scratch.clear();
                if self.events.write_role(context.outlet.scratch, choice, opening) {
                    self.reply.event(&mut context.outlet, self.truth.as_deref_mut(), Payload::Nothing);
                }
            }
        }
        let last = self.produced == self.length.tokens;
        let finish = (last && self.length.finish == Finish::Length).then_some(Finish::Length);
        let payload = if reasoning { Payload::Reasoning } else { Payload::Content };
        for choice in 0..self.choices() {
            let several;
            let text = if tokens == 1 {
                self.word(choice, self.produced - 1)
            } else {
                several = self.text(choice, self.produced - tokens, self.produced);
                &several
            };
            context.outlet.scratch.clear();
            self.events.write_piece(context.outlet.scratch, Piece { choice, text, reasoning, finish, usage });
            self.reply.event(&mut context.outlet, self.truth.as_deref_mut(), payload);
        }
    }

    fn end_stream(&mut self, context: &mut Context<'_>) -> Next {
        if self.length.finish == Finish::Stop {
            for choice in 0..self.choices() {
                let finish = Some(Finish::Stop);
                let usage = self.usage_so_far();
                context.outlet.scratch.clear();
                self.events
                    .write_piece(context.outlet.scratch, Piece { choice, text: "", reasoning: false, finish, usage });
                self.reply.event(&mut context.outlet, self.truth.as_deref_mut(), Payload::Nothing);
            }
        }
        if self.request.include_usage {
            context.outlet.scratch.clear();
            self.events.write_usage(context.outlet.scratch, self.usage());
            self.reply.event(&mut context.outlet, self.truth.as_deref_mut(), Payload::Nothing);
        }
        self.send_done(context);
        self.complete(context)
    }

    fn send_done(&mut self, context: &mut Context<'_>) {
        context.outlet.scratch.clear();
        self.events.write_done(context.outlet.scratch);
        self.reply.last_event(&mut context.outlet, self.truth.as_deref_mut(), Payload::Nothing);
    }

    fn send_whole(&mut self, context: &mut Context<'_>) -> Next {
        let fault = self.fault.take();
        if matches!(fault, Some(Fault::ErrorEvent | Fault::ErrorData)) {
            return self.fail(ApiError::of_status(Status(500)), context);
        }
        let mut body = self.whole_body(context.script);
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
        let (outlet, truth, head) = (&mut context.outlet, self.truth.as_deref_mut(), Head::json(Status::OK));
        let rest = self.reply.whole(outlet, truth, Payload::Content, &head, (&body, extent));
        match early_end {
            Some(next) => {
                self.rest = Some(rest);
                next
            }
            None => self.complete(context),
        }
    }

    fn whole_body(&self, script: &Script) -> Vec<u8> {
        if self.endpoint == Endpoint::Embeddings {
            let dimension = script.config.embedding_dim.get();
            let (prompts, tokens) = (self.request.prompts, self.request.prompt_tokens);
            return events::embeddings(self.number, self.created, &self.model, prompts, dimension, tokens);
        }
        let Length { tokens, reasoning, finish, .. } = self.length;
        let choices: Vec<Choice> = (0..self.choices())
            .map(|choice| Choice {
                text: self.text(choice, reasoning, tokens),
                reasoning: (reasoning > 0).then(|| self.text(choice, 0, reasoning)),
                finish,
            })
            .collect();
        events::whole(self.endpoint, self.number, self.created, &self.model, &choices, self.usage())
    }

    /// Does what a midway fault says; `None` when the stream goes on after it.
    fn meet(&mut self, fault: Fault, context: &mut Context<'_>) -> Option<Next> {
        context.outlet.scratch.clear();
        match fault {
            Fault::ResetMidway => return Some(Next::Reset),
            Fault::Cut => return Some(Next::Close),
            Fault::Stall(None) => return Some(Next::Never),
            Fault::Stall(Some(time)) => {
                self.due_ns += time.as_nanos() as u64;
                return Some(Next::At(self.due_ns));
            }
            Fault::MalformedSse => self.events.write_broken_sse(context.outlet.scratch),
            Fault::MalformedJson => self.events.write_broken_json(context.outlet.scratch),
            Fault::ErrorEvent | Fault::ErrorData => {
                self.events.write_error(context.outlet.scratch, fault == Fault::ErrorEvent);
                self.reply.event(&mut context.outlet, self.truth.as_deref_mut(), Payload::Nothing);
                self.send_done(context);
                self.leave_batch(context.metrics);
                self.stage = Stage::Over;
                self.record_failure(Finished::Error, context.metrics);
                context.metrics.record_http_response(self.endpoint.path(), "POST", 200, 1);
                return Some(Next::Over);
            }
            // These strike before the stream begins.
            Fault::Refuse
            | Fault::HookStatus { .. }
            | Fault::Reset
            | Fault::Status(_)
            | Fault::Redirect(_)
            | Fault::Goaway
            | Fault::SlowHeaders(_) => return None,
        }
        self.reply.event(&mut context.outlet, self.truth.as_deref_mut(), Payload::Nothing);
        None
    }

    fn fail(&mut self, error: ApiError, context: &mut Context<'_>) -> Next {
        if let Some(truth) = &mut self.truth {
            truth.status = error.status.0;
        }
        self.reply.drop_encoding();
        let (body, head) = (error.body(), Head::json(error.status));
        let truth = self.truth.as_deref_mut();
        self.reply.whole(&mut context.outlet, truth, Payload::Nothing, &head, (body.as_bytes(), Extent::All));
        self.leave_batch(context.metrics);
        self.stage = Stage::Over;
        self.record_failure(Finished::Error, context.metrics);
        context.metrics.record_http_response(self.endpoint.path(), "POST", error.status.0, 1);
        Next::Over
    }

    fn leave_batch(&self, metrics: &mut Metrics) {
        metrics.record_stop(self.request.prompt_tokens, self.produced * self.choices(), self.sent > 0);
    }

    fn complete(&mut self, context: &mut Context<'_>) -> Next {
        self.stage = Stage::Over;
        self.leave_batch(context.metrics);
        if let Some(truth) = &mut self.truth {
            truth.finished = true;
        }
        let finished = match self.length.finish {
            Finish::Length => Finished::Length,
            Finish::Stop => Finished::Stop,
        };
        let sizes = RequestSizes {
            prompt_tokens: self.request.prompt_tokens,
            generated: self.length.tokens * self.choices(),
            choices: self.choices(),
            n: self.request.n,
            max_tokens: self.request.max_tokens.unwrap_or(self.length.tokens),
        };
        let times = RequestTimes {
            queued: seconds(self.started_ns - self.arrived_ns),
            prefill: seconds(self.first_ns - self.started_ns),
            decode: seconds(self.latest_ns - self.first_ns),
        };
        context.metrics.record_completed(finished, sizes, times, 1);
        context.metrics.record_answered(self.answered(true), 1);
        context.metrics.record_http_response(self.endpoint.path(), "POST", 200, 1);
        Next::Over
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
