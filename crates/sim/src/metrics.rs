//! The counts of the server, for any kind of page.

use std::collections::BTreeMap;

/// Tokens the pretended KV cache holds; its usage is a share of it.
pub(crate) const KV_CACHE_TOKENS: u64 = 1 << 20;

/// Why a request left the engine, in the order the page lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FinishReason {
    Stop,
    Length,
    Abort,
    Error,
}

impl FinishReason {
    pub(crate) const ALL: [(FinishReason, &'static str); 4] = [
        (FinishReason::Stop, "stop"),
        (FinishReason::Length, "length"),
        (FinishReason::Abort, "abort"),
        (FinishReason::Error, "error"),
    ];
}

/// Upper bounds of buckets, one list for each thing that is counted in buckets. Times are in seconds.
#[derive(Debug)]
pub(crate) struct Bounds {
    pub(crate) prompt_tokens: &'static [f64],
    pub(crate) generation_tokens: &'static [f64],
    pub(crate) choices: &'static [f64],
    pub(crate) first_token: &'static [f64],
    pub(crate) between_tokens: &'static [f64],
    pub(crate) whole_request: &'static [f64],
    pub(crate) queue: &'static [f64],
    pub(crate) inference: &'static [f64],
    pub(crate) prefill: &'static [f64],
    pub(crate) decode: &'static [f64],
}

/// A Prometheus histogram: counts by bucket, and a sum.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    bounds: &'static [f64],
    /// One for each bound, and one beyond the last.
    counts: Vec<u64>,
    /// The latest value of each bucket.
    latest: Vec<Option<f64>>,
    sum: f64,
}

/// One bucket of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bucket {
    pub(crate) bound: f64,
    /// Values up to the bound.
    pub(crate) cumulative: u64,
    pub(crate) latest: Option<f64>,
}

impl Histogram {
    pub(crate) fn new(bounds: &'static [f64]) -> Self {
        let buckets = bounds.len() + 1;
        Histogram { bounds, counts: vec![0; buckets], latest: vec![None; buckets], sum: 0.0 }
    }

    pub(crate) fn observe_many(&mut self, value: f64, times: u64) {
        if times == 0 {
            return;
        }
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket] += times;
        self.latest[bucket] = Some(value);
        self.sum += value * times as f64;
    }

    fn add(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        for (latest, other) in self.latest.iter_mut().zip(&other.latest) {
            *latest = other.or(*latest);
        }
        self.sum += other.sum;
    }

    fn subtract(&mut self, earlier: &Histogram) {
        for ((count, less), latest) in self.counts.iter_mut().zip(&earlier.counts).zip(&mut self.latest) {
            *count -= less;
            *latest = latest.filter(|_| *count > 0);
        }
        // Rounding must not leave something of nothing.
        self.sum = if self.count() == 0 { 0.0 } else { (self.sum - earlier.sum).max(0.0) };
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(crate) fn sum(&self) -> f64 {
        self.sum
    }

    /// The buckets in order; the last bound is infinite.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        bounds.zip(&self.counts).zip(&self.latest).scan(0, |total, ((bound, count), latest)| {
            *total += count;
            Some(Bucket { bound, cumulative: *total, latest: *latest })
        })
    }
}

/// A response of the HTTP side, whatever happened in the engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HttpLabels {
    pub(crate) handler: &'static str,
    pub(crate) method: &'static str,
    pub(crate) status_class: u16,
}

/// A finished inference request, as the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RequestLabels {
    /// The name of its kind.
    pub(crate) endpoint: &'static str,
    pub(crate) streamed: bool,
    pub(crate) succeeded: bool,
}

/// How long the parts of a finished request took, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestTimes {
    pub(crate) queued: f64,
    pub(crate) prefill: f64,
    pub(crate) decode: f64,
}

/// The size of a finished request.
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
    (
        gauges { $($gauge:ident,)* }
        counts { $($count:ident,)* }
        histograms { $($histogram:ident: $bounds:ident,)* }
    ) => {
        /// Everything counted by one serving thread.
        #[derive(Debug, Clone)]
        pub(crate) struct Metrics {
            $(pub(crate) $gauge: u64,)*
            $(pub(crate) $count: u64,)*
            pub(crate) finished: [u64; FinishReason::ALL.len()],
            $(pub(crate) $histogram: Histogram,)*
            pub(crate) http: BTreeMap<HttpLabels, u64>,
            pub(crate) answered: BTreeMap<RequestLabels, u64>,
        }

        impl Metrics {
            pub(crate) fn new(bounds: &Bounds) -> Self {
                Metrics {
                    $($gauge: 0,)*
                    $($count: 0,)*
                    finished: [0; FinishReason::ALL.len()],
                    $($histogram: Histogram::new(bounds.$bounds),)*
                    http: BTreeMap::new(),
                    answered: BTreeMap::new(),
                }
            }

            /// Adds what another thread counted.
            pub(crate) fn add(&mut self, other: &Metrics) {
                $(self.$gauge += other.$gauge;)*
                $(self.$count += other.$count;)*
                for (count, more) in self.finished.iter_mut().zip(other.finished) {
                    *count += more;
                }
                $(self.$histogram.add(&other.$histogram);)*
                add_all(&mut self.http, &other.http);
                add_all(&mut self.answered, &other.answered);
            }

            /// Subtracts the counts of an earlier moment. Gauges stay as they are.
            pub(crate) fn subtract(&mut self, earlier: &Metrics) {
                $(self.$count -= earlier.$count;)*
                for (count, less) in self.finished.iter_mut().zip(earlier.finished) {
                    *count -= less;
                }
                $(self.$histogram.subtract(&earlier.$histogram);)*
                subtract_all(&mut self.http, &earlier.http);
                subtract_all(&mut self.answered, &earlier.answered);
            }
        }
    };
}

fn add_all<K: Ord + Clone>(counts: &mut BTreeMap<K, u64>, others: &BTreeMap<K, u64>) {
    for (key, more) in others {
        *counts.entry(key.clone()).or_default() += more;
    }
}

fn subtract_all<K: Ord>(counts: &mut BTreeMap<K, u64>, earlier: &BTreeMap<K, u64>) {
    for (key, count) in counts.iter_mut() {
        *count -= earlier.get(key).copied().unwrap_or_default();
    }
    counts.retain(|_, count| *count > 0);
}

metrics! {
    gauges {
        running,
        waiting,
        // Running, and without a token yet.
        prefilling,
        kv_tokens,
    }
    counts {
        prompt_tokens,
        generation_tokens,
    }
    histograms {
        request_prompt_tokens: prompt_tokens,
        request_generation_tokens: generation_tokens,
        request_max_num_generation_tokens: generation_tokens,
        request_params_n: choices,
        request_params_max_tokens: generation_tokens,
        time_to_first_token: first_token,
        inter_token_latency: between_tokens,
        time_per_output_token: between_tokens,
        e2e_request_latency: whole_request,
        queue_time: queue,
        inference_time: inference,
        prefill_time: prefill,
        decode_time: decode,
    }
}

impl Metrics {
    /// How full the pretended KV cache is, from 0 to 1.
    pub(crate) fn kv_usage(&self) -> f64 {
        (self.kv_tokens as f64 / KV_CACHE_TOKENS as f64).min(1.0)
    }

    pub(crate) fn finished(&self, why: FinishReason) -> u64 {
        self.finished[why as usize]
    }

    /// Requests answered to the end.
    pub(crate) fn succeeded(&self) -> u64 {
        self.finished(FinishReason::Stop) + self.finished(FinishReason::Length)
    }

    /// A request was taken from the queue into the running batch.
    pub(crate) fn record_start(&mut self, prompt_tokens: u32) {
        self.running += 1;
        self.prefilling += 1;
        self.kv_tokens += u64::from(prompt_tokens);
    }

    /// The first tokens of a request came: so many of each choice.
    pub(crate) fn record_first_tokens(&mut self, prompt_tokens: u32, tokens: u32, choices: u32, latency: f64) {
        self.prefilling -= 1;
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

    /// A running request left the batch, before or after its first tokens.
    pub(crate) fn record_stop(&mut self, prompt_tokens: u32, generated: u32, had_tokens: bool) {
        self.running -= 1;
        self.prefilling -= u64::from(!had_tokens);
        self.kv_tokens -= u64::from(prompt_tokens) + u64::from(generated);
    }

    /// A request left the engine before it was done.
    pub(crate) fn record_abandoned(&mut self, finished: FinishReason) {
        self.finished[finished as usize] += 1;
    }

    /// A number of equal requests, one for each choice from the engine's view, were completed.
    pub(crate) fn record_completed(
        &mut self,
        finished: FinishReason,
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

    /// So many alike requests are over.
    pub(crate) fn record_answered(&mut self, labels: RequestLabels, times: u64) {
        *self.answered.entry(labels).or_default() += times;
    }

    /// The HTTP side answered.
    pub(crate) fn record_http_response(
        &mut self,
        handler: &'static str,
        method: &'static str,
        status: u16,
        times: u64,
    ) {
        *self.http.entry(HttpLabels { handler, method, status_class: status / 100 }).or_default() += times;
    }
}
