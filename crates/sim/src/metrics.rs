//! What the server counts about itself, in the sets vLLM keeps.

use std::collections::BTreeMap;

/// Tokens the pretended KV cache holds; `kv_cache_usage_perc` is a share of it.
pub(crate) const KV_CACHE_TOKENS: u64 = 1 << 20;

/// Why a request left the engine, in the order the page lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finished {
    Stop,
    Length,
    Abort,
    Error,
}

impl Finished {
    pub(crate) const ALL: [(Finished, &'static str); 4] = [
        (Finished::Stop, "stop"),
        (Finished::Length, "length"),
        (Finished::Abort, "abort"),
        (Finished::Error, "error"),
    ];
}

const TOKENS: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];
const FIRST_TOKEN: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
    160.0, 640.0, 2560.0,
];
const BETWEEN_TOKENS: &[f64] =
    &[0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0];
const WHOLE_REQUEST: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0,
    1920.0, 7680.0,
];
const CHOICES: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0];

/// A Prometheus histogram: counts by bucket, and a sum.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    bounds: &'static [f64],
    /// One for each bound, and one beyond the last.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Histogram { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    pub(crate) fn observe_many(&mut self, value: f64, times: u64) {
        self.counts[self.bounds.partition_point(|bound| *bound < value)] += times;
        self.sum += value * times as f64;
    }

    fn add(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.sum += other.sum;
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(crate) fn sum(&self) -> f64 {
        self.sum
    }

    /// Upper bounds with the number of values up to them; the last bound is infinite.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        bounds.zip(&self.counts).scan(0, |total, (bound, count)| {
            *total += count;
            Some((bound, *total))
        })
    }
}

/// An answer given by the HTTP side, whatever became of it in the engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HttpAnswer {
    pub(crate) handler: &'static str,
    pub(crate) method: &'static str,
    pub(crate) status_class: u16,
}

/// How long the parts of a finished request took, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestTimes {
    pub(crate) queued: f64,
    pub(crate) prefill: f64,
    pub(crate) decode: f64,
}

/// How much a finished request was about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestSizes {
    pub(crate) prompt_tokens: u32,
    /// Of all choices together.
    pub(crate) generated: u32,
    pub(crate) choices: u32,
    pub(crate) n: u32,
    pub(crate) max_tokens: u32,
}

macro_rules! metrics {
    (counts { $($count:ident,)* } histograms { $($histogram:ident: $bounds:ident,)* }) => {
        /// Everything counted by one serving thread.
        #[derive(Debug, Clone)]
        pub(crate) struct Metrics {
            $(pub(crate) $count: u64,)*
            pub(crate) finished: [u64; Finished::ALL.len()],
            $(pub(crate) $histogram: Histogram,)*
            pub(crate) http: BTreeMap<HttpAnswer, u64>,
        }

        impl Metrics {
            pub(crate) fn new() -> Self {
                Metrics {
                    $($count: 0,)*
                    finished: [0; Finished::ALL.len()],
                    $($histogram: Histogram::new($bounds),)*
                    http: BTreeMap::new(),
                }
            }

            /// Adds what another thread counted.
            pub(crate) fn add(&mut self, other: &Metrics) {
                $(self.$count += other.$count;)*
                for (count, more) in self.finished.iter_mut().zip(other.finished) {
                    *count += more;
                }
                $(self.$histogram.add(&other.$histogram);)*
                for (answer, count) in &other.http {
                    *self.http.entry(answer.clone()).or_default() += count;
                }
            }
        }
    };
}

metrics! {
    counts {
        running,
        waiting,
        kv_tokens,
        prompt_tokens,
        generation_tokens,
    }
    histograms {
        request_prompt_tokens: TOKENS,
        request_generation_tokens: TOKENS,
        request_max_num_generation_tokens: TOKENS,
        request_params_n: CHOICES,
        request_params_max_tokens: TOKENS,
        time_to_first_token: FIRST_TOKEN,
        inter_token_latency: BETWEEN_TOKENS,
        time_per_output_token: BETWEEN_TOKENS,
        e2e_request_latency: WHOLE_REQUEST,
        queue_time: WHOLE_REQUEST,
        inference_time: WHOLE_REQUEST,
        prefill_time: WHOLE_REQUEST,
        decode_time: WHOLE_REQUEST,
    }
}

impl Metrics {
    /// A request was taken from the queue into the running batch.
    pub(crate) fn record_start(&mut self, prompt_tokens: u32) {
        self.running += 1;
        self.kv_tokens += u64::from(prompt_tokens);
    }

    /// The first tokens of a request came: so many of each choice.
    pub(crate) fn record_first_tokens(&mut self, prompt_tokens: u32, tokens: u32, choices: u32, latency: f64) {
        self.prompt_tokens += u64::from(prompt_tokens);
        self.time_to_first_token.observe_many(latency, u64::from(choices));
        self.record_tokens(tokens, choices);
    }

    /// Further tokens of a request came, this long after those before.
    pub(crate) fn record_next_tokens(&mut self, tokens: u32, choices: u32, latency: f64) {
        self.inter_token_latency.observe_many(latency, u64::from(choices));
        self.record_tokens(tokens, choices);
    }

    fn record_tokens(&mut self, tokens: u32, choices: u32) {
        let all = u64::from(tokens) * u64::from(choices);
        self.generation_tokens += all;
        self.kv_tokens += all;
    }

    /// A running request left the batch.
    pub(crate) fn record_stop(&mut self, prompt_tokens: u32, generated: u32) {
        self.running -= 1;
        self.kv_tokens -= u64::from(prompt_tokens) + u64::from(generated);
    }

    /// A request left the engine before it was done.
    pub(crate) fn record_abandoned(&mut self, finished: Finished) {
        self.finished[finished as usize] += 1;
    }

    /// A number of alike requests, one each choice in the engine's eyes, were answered to the end.
    pub(crate) fn record_completed(
        &mut self,
        finished: Finished,
        sizes: RequestSizes,
        times: RequestTimes,
        requests: u64,
    ) {
        let choices = u64::from(sizes.choices) * requests;
        let generated = sizes.generated / sizes.choices.max(1);
        self.finished[finished as usize] += choices;
        self.request_prompt_tokens
            .observe_many(f64::from(sizes.prompt_tokens) / f64::from(sizes.choices.max(1)), choices);
        self.request_generation_tokens.observe_many(f64::from(generated), choices);
        self.request_max_num_generation_tokens.observe_many(f64::from(generated), choices);
        self.request_params_n.observe_many(f64::from(sizes.n), requests);
        self.request_params_max_tokens.observe_many(f64::from(sizes.max_tokens), requests);
        if generated > 1 {
            self.time_per_output_token.observe_many(times.decode / f64::from(generated - 1), choices);
        }
        let inference = times.prefill + times.decode;
        self.e2e_request_latency.observe_many(times.queued + inference, choices);
        self.queue_time.observe_many(times.queued, choices);
        self.inference_time.observe_many(inference, choices);
        self.prefill_time.observe_many(times.prefill, choices);
        self.decode_time.observe_many(times.decode, choices);
    }

    /// The HTTP side answered.
    pub(crate) fn record_http_response(
        &mut self,
        handler: &'static str,
        method: &'static str,
        status: u16,
        times: u64,
    ) {
        *self.http.entry(HttpAnswer { handler, method, status_class: status / 100 }).or_default() += times;
    }
}
