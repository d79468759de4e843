//! One request being answered: which event comes next, and when.

use rand_chacha::ChaCha8Rng;

use crate::ask::{Ask, Endpoint, Refusal};
use crate::events::{self, Choice, Events, Finish, Piece, Usage};
use crate::fault::Fault;
use crate::http::{Heads, Status};
use crate::metrics::{Finished, Metrics, RequestSizes, RequestTimes};
use crate::script::{Length, Purpose, Script};
use crate::truth::{Carries, TruthRecord};
use crate::vocabulary;
use crate::wire::Wire;

/// How far an exchange has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its response head is held back.
    HeadHeld,
    /// Waits for a place in the running batch.
    Waiting,
    /// Produces tokens.
    Running,
    /// Everything was handed to the wire.
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
pub(crate) struct Tools<'a> {
    pub(crate) script: &'a Script,
    pub(crate) wire: &'a mut Wire,
    pub(crate) heads: &'a mut Heads,
    pub(crate) metrics: &'a mut Metrics,
    pub(crate) scratch: &'a mut Vec<u8>,
}

/// A request and the answer it gets.
pub(crate) struct Exchange {
    pub(crate) stage: Stage,
    pub(crate) truth: Option<Box<TruthRecord>>,
    pub(crate) keep_alive: bool,
    endpoint: Endpoint,
    ask: Ask,
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
pub(crate) struct Arrived {
    pub(crate) endpoint: Endpoint,
    pub(crate) ask: Ask,
    pub(crate) number: u64,
    pub(crate) keep_alive: bool,
    pub(crate) fault: Option<Fault>,
    pub(crate) now_ns: u64,
    pub(crate) truth: Option<Box<TruthRecord>>,
}

impl Exchange {
    /// Plans the answer. A refusal comes back with the record of the request.
    pub(crate) fn plan(script: &Script, arrived: Arrived) -> Result<Self, (Refusal, Option<Box<TruthRecord>>)> {
        let Arrived { endpoint, ask, number, keep_alive, fault, now_ns, mut truth } = arrived;
        let planned = script.model(&ask).and_then(|model| Ok((model, script.length(endpoint, &ask, number)?)));
        let (model, length) = match planned {
            Ok(planned) => planned,
            Err(refusal) => return Err((refusal, truth)),
        };
        let created = crate::clock::wall_ns() / 1_000_000_000;
        if let Some(truth) = &mut truth {
            truth.chunks.reserve_exact(length.tokens as usize + 4);
        }
        Ok(Exchange {
            stage: if matches!(fault, Some(Fault::SlowHeaders(_))) { Stage::HeadHeld } else { Stage::Waiting },
            truth,
            keep_alive,
            events: Events::new(endpoint, number, created, &model),
            random: script.random(Purpose::Latency, number),
            endpoint,
            ask,
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
    pub(crate) fn open(&mut self, tools: &mut Tools<'_>) {
        self.stage = Stage::Waiting;
        if self.ask.stream {
            tools.scratch.clear();
            tools.heads.stream(tools.scratch, self.keep_alive);
            tools.wire.send(tools.scratch, self.truth.as_deref_mut(), Carries::Head);
        }
    }

    /// Enters the running batch; gives the moment of the first token.
    pub(crate) fn start(&mut self, now_ns: u64, script: &Script, metrics: &mut Metrics) -> u64 {
        self.stage = Stage::Running;
        self.started_ns = now_ns;
        self.due_ns = script.rounded_up(now_ns + script.config.ttft.draw_ns(&mut self.random));
        metrics.started(self.ask.prompt_tokens);
        self.due_ns
    }

    /// The deadline came: produces the next tokens.
    pub(crate) fn advance(&mut self, now_ns: u64, tools: &mut Tools<'_>) -> Next {
        if let Some(rest) = self.rest.take() {
            tools.wire.send(&rest, self.truth.as_deref_mut(), Carries::Content);
            return self.complete(tools);
        }
        if self.ask.stream
            && self.sent == self.midway(tools.script)
            && let Some(fault) = self.fault.take()
            && let Some(next) = self.meet(fault, tools)
        {
            return next;
        }
        let tokens = self.next_tokens(tools.script);
        self.account(now_ns, tokens, tools.metrics);
        let reasoning = self.produced < self.length.reasoning;
        self.produced += tokens;
        self.sent += 1;
        if self.ask.stream {
            self.send_tokens(tokens, reasoning, tools);
        }
        if self.produced < self.length.tokens {
            let coming = self.next_tokens(tools.script);
            self.due_ns += tools.script.interval_ns(coming, &mut self.random);
            return Next::At(self.due_ns);
        }
        if self.ask.stream { self.end_stream(tools) } else { self.send_whole(tools) }
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
        metrics.gave_up(why);
    }

    fn choices(&self) -> u32 {
        if self.endpoint == Endpoint::Embeddings { 1 } else { self.ask.n * self.ask.prompts.max(1) }
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
            metrics.first_tokens(self.ask.prompt_tokens, tokens, choices, seconds(now_ns - self.arrived_ns));
        } else {
            metrics.next_tokens(tokens, choices, seconds(now_ns - self.latest_ns));
        }
        self.latest_ns = now_ns;
    }

    /// Token counts so far, of one choice.
    fn usage_so_far(&self) -> Option<Usage> {
        (self.ask.include_usage && self.ask.continuous_usage).then(|| Usage {
            prompt: self.ask.prompt_tokens,
            completion: self.produced,
            reasoning: self.produced.min(self.length.reasoning),
            drafts: 0,
        })
    }

    fn usage(&self) -> Usage {
        Usage {
            prompt: self.ask.prompt_tokens,
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

    fn send_tokens(&mut self, tokens: u32, reasoning: bool, tools: &mut Tools<'_>) {
        let usage = self.usage_so_far();
        if self.sent == 1 {
            let opening = usage.map(|usage| Usage { completion: 0, reasoning: 0, ..usage });
            for choice in 0..self.choices() {
                tools.scratch.clear();
                if self.events.role(tools.scratch, choice, opening) {
                    tools.wire.send(tools.scratch, self.truth.as_deref_mut(), Carries::Nothing);
                }
            }
        }
        let last = self.produced == self.length.tokens;
        let finish = (last && self.length.finish == Finish::Length).then_some(Finish::Length);
        let carries = if reasoning { Carries::Reasoning } else { Carries::Content };
        for choice in 0..self.choices() {
            let several;
            let text = if tokens == 1 {
                self.word(choice, self.produced - 1)
            } else {
                several = self.text(choice, self.produced - tokens, self.produced);
                &several
            };
            tools.scratch.clear();
            self.events.piece(tools.scratch, Piece { choice, text, reasoning, finish, usage });
            tools.wire.send(tools.scratch, self.truth.as_deref_mut(), carries);
        }
    }

    fn end_stream(&mut self, tools: &mut Tools<'_>) -> Next {
        if self.length.finish == Finish::Stop {
            for choice in 0..self.choices() {
                let finish = Some(Finish::Stop);
                let usage = self.usage_so_far();
                tools.scratch.clear();
                self.events.piece(tools.scratch, Piece { choice, text: "", reasoning: false, finish, usage });
                tools.wire.send(tools.scratch, self.truth.as_deref_mut(), Carries::Nothing);
            }
        }
        if self.ask.include_usage {
            tools.scratch.clear();
            self.events.usage(tools.scratch, self.usage());
            tools.wire.send(tools.scratch, self.truth.as_deref_mut(), Carries::Nothing);
        }
        self.send_done(tools);
        self.complete(tools)
    }

    fn send_done(&mut self, tools: &mut Tools<'_>) {
        tools.scratch.clear();
        self.events.done(tools.scratch);
        tools.wire.send(tools.scratch, self.truth.as_deref_mut(), Carries::Nothing);
    }

    fn send_whole(&mut self, tools: &mut Tools<'_>) -> Next {
        let fault = self.fault.take();
        if matches!(fault, Some(Fault::ErrorEvent | Fault::ErrorData)) {
            return self.fail(Refusal::of_status(Status(500)), tools);
        }
        let mut body = self.whole_body(tools.script);
        if matches!(fault, Some(Fault::MalformedJson | Fault::MalformedSse)) {
            body.truncate(body.len() / 2);
        }
        let mut response = Vec::with_capacity(body.len() + 256);
        tools.heads.whole(&mut response, Status::OK, "application/json", self.keep_alive, &body);
        let early_end = match fault {
            Some(Fault::Stall(Some(time))) => Next::At(self.due_ns + time.as_nanos() as u64),
            Some(Fault::Stall(None)) => Next::Never,
            Some(Fault::Cut) => Next::Close,
            Some(Fault::ResetMidway) => Next::Reset,
            _ => {
                tools.wire.send(&response, self.truth.as_deref_mut(), Carries::Content);
                return self.complete(tools);
            }
        };
        let rest = response.split_off(response.len() - body.len() / 2);
        tools.wire.send(&response, self.truth.as_deref_mut(), Carries::Content);
        self.rest = Some(rest);
        early_end
    }

    fn whole_body(&self, script: &Script) -> Vec<u8> {
        if self.endpoint == Endpoint::Embeddings {
            let dimension = script.config.embedding_dim.get();
            let (prompts, tokens) = (self.ask.prompts, self.ask.prompt_tokens);
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
    fn meet(&mut self, fault: Fault, tools: &mut Tools<'_>) -> Option<Next> {
        tools.scratch.clear();
        match fault {
            Fault::ResetMidway => return Some(Next::Reset),
            Fault::Cut => return Some(Next::Close),
            Fault::Stall(None) => return Some(Next::Never),
            Fault::Stall(Some(time)) => {
                self.due_ns += time.as_nanos() as u64;
                return Some(Next::At(self.due_ns));
            }
            Fault::MalformedSse => events::broken_sse(tools.scratch),
            Fault::MalformedJson => self.events.broken_json(tools.scratch),
            Fault::ErrorEvent | Fault::ErrorData => {
                events::error_event(tools.scratch, fault == Fault::ErrorEvent);
                tools.wire.send(tools.scratch, self.truth.as_deref_mut(), Carries::Nothing);
                self.send_done(tools);
                self.leave_batch(tools.metrics);
                self.stage = Stage::Over;
                tools.metrics.gave_up(Finished::Error);
                tools.metrics.answered(self.endpoint.path(), "POST", 200, 1);
                return Some(Next::Over);
            }
            // These strike before the stream begins.
            Fault::Refuse | Fault::Reset | Fault::Status(_) | Fault::SlowHeaders(_) => return None,
        }
        tools.wire.send(tools.scratch, self.truth.as_deref_mut(), Carries::Nothing);
        None
    }

    fn fail(&mut self, refusal: Refusal, tools: &mut Tools<'_>) -> Next {
        tools.scratch.clear();
        let body = refusal.body();
        tools.heads.whole(tools.scratch, refusal.status, "application/json", self.keep_alive, body.as_bytes());
        if let Some(truth) = &mut self.truth {
            truth.status = refusal.status.0;
        }
        tools.wire.send(tools.scratch, self.truth.as_deref_mut(), Carries::Nothing);
        self.leave_batch(tools.metrics);
        self.stage = Stage::Over;
        tools.metrics.gave_up(Finished::Error);
        tools.metrics.answered(self.endpoint.path(), "POST", refusal.status.0, 1);
        Next::Over
    }

    fn leave_batch(&self, metrics: &mut Metrics) {
        metrics.stopped(self.ask.prompt_tokens, self.produced * self.choices());
    }

    fn complete(&mut self, tools: &mut Tools<'_>) -> Next {
        self.stage = Stage::Over;
        self.leave_batch(tools.metrics);
        if let Some(truth) = &mut self.truth {
            truth.finished = true;
        }
        let finished = match self.length.finish {
            Finish::Length => Finished::Length,
            Finish::Stop => Finished::Stop,
        };
        let sizes = RequestSizes {
            prompt_tokens: self.ask.prompt_tokens,
            generated: self.length.tokens * self.choices(),
            choices: self.choices(),
            n: self.ask.n,
            max_tokens: self.ask.max_tokens.unwrap_or(self.length.tokens),
        };
        let times = RequestTimes {
            queued: seconds(self.started_ns - self.arrived_ns),
            prefill: seconds(self.first_ns - self.started_ns),
            decode: seconds(self.latest_ns - self.first_ns),
        };
        tools.metrics.completed(finished, sizes, times, 1);
        tools.metrics.answered(self.endpoint.path(), "POST", 200, 1);
        Next::Over
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
