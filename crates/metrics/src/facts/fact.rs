//! The base facts of one record: integers from which every record metric is computed.
//!
//! A record is turned into facts once, when it ends, and its metrics are computed from them at once. The same functions
//! compute them again, one column at a time, when the run is summarised.

use aiperf_types::{ContentMark, Measured, Nanos, SpecDecode, Uncertainty};
use serde::{Deserialize, Serialize};

macro_rules! facts {
    ($($(#[$doc:meta])* $fact:ident,)*) => {
        /// A base fact. Times are nanoseconds; instants count from the record's start.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Fact { $($(#[$doc])* $fact,)* }

        impl Fact {
            /// Every fact, in the order of the columns.
            pub const ALL: &[Self] = &[$(Self::$fact,)*];
        }
    };
}

facts! {
    /// Wall clock at the start.
    Start,
    /// Bits of [`Facts::FAILED`], [`Facts::OVERFLOW`] and [`Facts::UNORDERED`].
    Status,
    /// End: last raw response, or else the error.
    End,
    First,
    /// From the first to the second content response.
    SecondGap,
    Last,
    /// How much earlier the first content response may have arrived, and the last; absent if its instant is exact.
    FirstWidth,
    LastWidth,
    /// Bits of [`Facts::FIRST_LATE`], [`Facts::FIRST_UNSTAMPED`], [`Facts::LAST_LATE`] and [`Facts::LAST_UNSTAMPED`].
    WidthCauses,
    /// First content response with output.
    FirstOutput,
    Chunks,
    Head,
    /// From the conductor's release to the start; signed.
    Credit,
    CreditDrop,
    /// From when the schedule wanted it sent to the start; absent in a closed loop.
    ScheduleDelay,
    Input,
    Output,
    Reasoning,
    /// Tokens of the first content chunk.
    FirstChunkTokens,
    RequestedOsl,
    UsagePrompt,
    /// Usage: prompt tokens read from a cache.
    UsageCacheRead,
    /// Usage: prompt tokens written to a cache.
    UsageCacheWrite,
    /// Usage: prompt tokens that missed a cache.
    UsageCacheMiss,
    /// Usage: audio tokens of the prompt.
    UsagePromptAudio,
    /// Usage: prompt tokens of tool use.
    UsageToolUse,
    /// Usage: seconds of audio in the prompt; a float.
    UsageAudioSeconds,
    UsageCompletion,
    UsageReasoning,
    /// Usage: audio tokens of the completion.
    UsageCompletionAudio,
    UsageAccepted,
    UsageRejected,
    UsageTotal,
    Images,
    /// Seconds of audio sent; a float.
    AudioSeconds,
    /// Inference seconds that a video server reported; a float.
    VideoSeconds,
    /// Peak memory in MB that a video server reported; a float.
    VideoMemory,
    /// Start minus scheduled time; signed.
    ScheduleOffset,
    /// HTTP: waiting for a connection.
    HttpBlocked,
    HttpDns,
    HttpConnecting,
    HttpTls,
    HttpSending,
    HttpWaiting,
    HttpReceiving,
    /// HTTP: exchange without connecting.
    HttpDuration,
    /// HTTP: 1 on a pooled connection.
    HttpReused,
    HttpSent,
    HttpWrites,
    HttpReceived,
    HttpReads,
    /// Speculative decoding: mean acceptance length; a float.
    SpecLength,
    /// Speculative decoding: draft acceptance rate; a float.
    SpecRate,
    SpecAccepted,
    SpecDraft,
    SpecSteps,
}

pub const FACTS: usize = Fact::ALL.len();

/// Every fact of one record; see [`Fact`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts([u64; FACTS]);

/// Which facts are valid in a run. A fact that no metric of the run may use is not read: metrics that depend on it have
/// no value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Applies {
    pub(crate) streaming: bool,
    pub(crate) chunks: bool,
    pub(crate) output: bool,
    /// Responses are not text: their length in tokens is 0.
    pub(crate) empty_output: bool,
    pub(crate) input: bool,
    pub(crate) schedule: bool,
    pub(crate) open_loop: bool,
}

/// Flips the sign bit, so that signed facts keep their order as unsigned ones and pack like them.
const SIGN: u64 = 1 << 63;

impl Default for Facts {
    fn default() -> Self {
        Self([Self::ABSENT; FACTS])
    }
}

fn width(uncertainty: Uncertainty) -> Option<u64> {
    Some(uncertainty.width.0).filter(|width| *width > 0)
}

fn width_causes(m: &Measured) -> Option<u64> {
    let bits = |of: Uncertainty, late: u64, unstamped: u64| match of.width {
        Nanos::ZERO => 0,
        _ => (u64::from(of.is_late) * late) | (u64::from(of.is_unstamped) * unstamped),
    };
    let first = bits(m.first_uncertainty, Facts::FIRST_LATE, Facts::FIRST_UNSTAMPED);
    Some(first | bits(m.last_uncertainty, Facts::LAST_LATE, Facts::LAST_UNSTAMPED)).filter(|bits| *bits > 0)
}

impl Facts {
    /// A fact that is not known. As a float it is a NaN, which no fact is.
    pub(crate) const ABSENT: u64 = u64::MAX;
    /// Status bit: the record failed.
    pub const FAILED: u64 = 1;
    /// Status bit: the error reports that the context was too long.
    pub const OVERFLOW: u64 = 2;
    /// Status bit: a content response is stamped before its predecessor, so there are no gaps between them.
    pub const UNORDERED: u64 = 4;
    /// Cause bits: this client read the first, or the last, content response late, or without a stamp.
    pub const FIRST_LATE: u64 = 1;
    pub const FIRST_UNSTAMPED: u64 = 2;
    pub const LAST_LATE: u64 = 4;
    pub const LAST_UNSTAMPED: u64 = 8;

    /// The facts of a record, and the gaps between its content responses.
    pub(crate) fn read(&mut self, m: &Measured, applies: Applies, gaps: &mut Vec<u64>) {
        *self = Self::default();
        gaps.clear();
        self.set(Fact::Start, Some(m.start_wall.0));
        self.set(Fact::End, Some(m.end.since(m.start).0));
        self.set_signed(Fact::Credit, m.credit_issued.map(|issued| m.start_wall.0.wrapping_sub(issued.0) as i64));
        self.set(Fact::Input, m.tokens.input.filter(|_| applies.input));
        let failed = if m.error.is_some() { Self::FAILED } else { 0 };
        let overflow = if m.error.is_some() && m.context_overflow { Self::OVERFLOW } else { 0 };
        let mut status = failed | overflow;
        if failed == 0 {
            self.read_content(m, applies, gaps, &mut status);
            self.read_rest(m, applies);
        }
        self.set(Fact::Status, Some(status));
    }

    fn read_content(&mut self, m: &Measured, applies: Applies, gaps: &mut Vec<u64>, status: &mut u64) {
        let after_start = |mark: &ContentMark| mark.at.0.checked_sub(m.start.0);
        let Some(first) = m.content.first() else { return };
        self.set(Fact::Chunks, Some(m.content.len() as u64));
        self.set(Fact::Last, m.content.last().and_then(after_start));
        self.set(Fact::LastWidth, width(m.last_uncertainty));
        self.set(Fact::WidthCauses, width_causes(m));
        if !applies.chunks {
            return;
        }
        self.set(Fact::First, after_start(first));
        self.set(Fact::FirstWidth, width(m.first_uncertainty));
        self.set(Fact::SecondGap, m.content.get(1).and_then(|second| second.at.0.checked_sub(first.at.0)));
        self.set(Fact::FirstOutput, m.content.iter().find(|mark| mark.output).and_then(after_start));
        gaps.extend(m.content.windows(2).map_while(|pair| pair[1].at.0.checked_sub(pair[0].at.0)));
        if gaps.len() + 1 < m.content.len() {
            gaps.clear();
            *status |= Self::UNORDERED;
        }
    }

    fn read_rest(&mut self, m: &Measured, applies: Applies) {
        if applies.streaming {
            let head = m.head.and_then(|at| at.taken()).filter(|_| m.start.0 != 0);
            self.set(Fact::Head, head.and_then(|at| at.0.checked_sub(m.start.0)));
        }
        self.set(Fact::CreditDrop, m.credit_drop);
        if applies.open_loop {
            self.set(Fact::ScheduleDelay, m.schedule_delay.map(|delay| delay.0));
        }
        if applies.output {
            self.set(Fact::Output, m.tokens.output);
            self.set(Fact::Reasoning, m.tokens.reasoning);
        } else if applies.empty_output {
            self.set(Fact::Output, Some(0));
        }
        self.set(Fact::FirstChunkTokens, m.tokens.first_content_chunk_tokens);
        self.set(Fact::RequestedOsl, m.requested_osl.map(u64::from));
        self.set(Fact::Images, (m.images > 0).then_some(u64::from(m.images)));
        self.set_float(Fact::AudioSeconds, m.audio_seconds);
        self.set_float(Fact::VideoSeconds, m.video_inference_seconds);
        self.set_float(Fact::VideoMemory, m.video_peak_memory_mb);
        if applies.schedule {
            let scheduled = m.scheduled_send_ms.filter(|ms| ms.is_finite()).map(|ms| (ms * 1e6).trunc() as i64);
            self.set_signed(Fact::ScheduleOffset, scheduled.map(|at| (m.start_wall.0 as i64).wrapping_sub(at)));
        }
        self.read_usage(m);
        self.read_http(m);
        if let Some(spec) = m.spec_decode.as_deref() {
            self.read_spec_decode(spec);
        }
    }

    fn read_usage(&mut self, m: &Measured) {
        let usage = &m.usage;
        for (fact, value) in [
            (Fact::UsagePrompt, usage.prompt_tokens),
            (Fact::UsageCacheRead, usage.prompt_cache_read_tokens),
            (Fact::UsageCacheWrite, usage.prompt_cache_write_tokens),
            (Fact::UsageCacheMiss, usage.prompt_cache_miss_tokens),
            (Fact::UsagePromptAudio, usage.prompt_audio_tokens),
            (Fact::UsageToolUse, usage.tool_use_prompt_tokens),
            (Fact::UsageCompletion, usage.completion_tokens),
            (Fact::UsageReasoning, usage.reasoning_tokens),
            (Fact::UsageCompletionAudio, usage.completion_audio_tokens),
            (Fact::UsageAccepted, usage.accepted_prediction_tokens),
            (Fact::UsageRejected, usage.rejected_prediction_tokens),
            (Fact::UsageTotal, usage.total_tokens),
        ] {
            self.set(fact, value);
        }
        self.set_float(Fact::UsageAudioSeconds, usage.prompt_audio_seconds);
    }

    fn read_http(&mut self, m: &Measured) {
        let Some(http) = &m.http else { return };
        for (fact, value) in [
            (Fact::HttpBlocked, http.blocked),
            (Fact::HttpDns, http.dns_lookup),
            (Fact::HttpConnecting, http.connecting),
            (Fact::HttpTls, http.tls_handshaking),
            (Fact::HttpSending, http.sending),
            (Fact::HttpWaiting, http.waiting),
            (Fact::HttpReceiving, http.receiving),
            (Fact::HttpDuration, http.duration),
            (Fact::HttpReused, http.reused.map(u64::from)),
            (Fact::HttpSent, http.data_sent),
            (Fact::HttpWrites, http.chunks_sent),
            (Fact::HttpReceived, http.data_received),
            (Fact::HttpReads, http.chunks_received),
        ] {
            self.set(fact, value);
        }
    }

    fn read_spec_decode(&mut self, spec: &SpecDecode) {
        self.set_float(Fact::SpecLength, spec.mean_acceptance_length);
        self.set_float(Fact::SpecRate, spec.draft_acceptance_rate);
        self.set(Fact::SpecAccepted, spec.num_accepted_draft_tokens);
        self.set(Fact::SpecDraft, spec.num_draft_tokens);
        self.set(Fact::SpecSteps, spec.num_spec_steps);
    }

    pub(crate) fn raw(&self, fact: Fact) -> u64 {
        self.0[fact as usize]
    }

    pub(crate) fn set_raw(&mut self, fact: Fact, raw: u64) {
        self.0[fact as usize] = raw;
    }

    fn set(&mut self, fact: Fact, value: Option<u64>) {
        self.0[fact as usize] = value.unwrap_or(Self::ABSENT);
    }

    fn set_signed(&mut self, fact: Fact, value: Option<i64>) {
        self.set(fact, value.map(|value| value as u64 ^ SIGN));
    }

    fn set_float(&mut self, fact: Fact, value: Option<f64>) {
        self.set(fact, value.filter(|value| value.is_finite()).map(f64::to_bits));
    }

    #[inline]
    pub fn get(&self, fact: Fact) -> Option<u64> {
        let raw = self.raw(fact);
        (raw != Self::ABSENT).then_some(raw)
    }

    #[inline]
    pub fn signed(&self, fact: Fact) -> Option<i64> {
        self.get(fact).map(|raw| (raw ^ SIGN) as i64)
    }

    #[inline]
    pub fn float(&self, fact: Fact) -> Option<f64> {
        self.get(fact).map(f64::from_bits)
    }

    #[inline]
    pub fn failed(&self) -> bool {
        self.raw(Fact::Status) & Self::FAILED != 0
    }

    /// Number of gaps between content responses; zero if they are out of order.
    #[inline]
    pub(crate) fn gaps(&self) -> usize {
        match self.get(Fact::Chunks) {
            Some(chunks) if self.raw(Fact::Status) & Self::UNORDERED == 0 => (chunks as usize).saturating_sub(1),
            _ => 0,
        }
    }
}
