//! The `/metrics` page, with the names, labels and order of a vLLM server's.

use std::fmt::Write;

use crate::metrics::{Finished, Histogram, KV_CACHE_TOKENS, Metrics};

/// What the page says beside the counts.
pub(crate) struct Server<'a> {
    pub(crate) model: &'a str,
    /// When the server was started, in seconds since the epoch.
    pub(crate) started: f64,
    /// Processor time used so far, in seconds.
    pub(crate) cpu_seconds: f64,
}

/// The page's content type.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=1.0.0; charset=utf-8";

pub(crate) fn page(metrics: &Metrics, server: &Server<'_>) -> String {
    let mut page = Page { out: String::with_capacity(32 << 10), model: escaped(server.model), created: server.started };
    page.write_plain(
        "process_start_time_seconds",
        "gauge",
        "Start time of the process since unix epoch in seconds.",
        server.started,
    );
    page.write_plain(
        "process_cpu_seconds_total",
        "counter",
        "Total user and system CPU time spent in seconds.",
        server.cpu_seconds,
    );

    page.write_gauge(
        "num_requests_running",
        "Number of requests in model execution batches.",
        &[(None, metrics.running as f64)],
    );
    page.write_gauge(
        "num_requests_waiting",
        "Number of requests waiting to be processed.",
        &[(None, metrics.waiting as f64)],
    );
    page.write_gauge(
        "num_requests_waiting_by_reason",
        "Number of waiting requests by reason. Sum of all reasons equals vllm:num_requests_waiting.",
        &[(Some(("reason", "capacity")), metrics.waiting as f64), (Some(("reason", "deferred")), 0.0)],
    );
    let kv_usage = (metrics.kv_tokens as f64 / KV_CACHE_TOKENS as f64).min(1.0);
    page.write_gauge("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", &[(None, kv_usage)]);
    page.write_counter(
        "prefix_cache_queries",
        "Prefix cache queries, in terms of number of queried tokens.",
        metrics.prompt_tokens,
    );
    page.write_counter("prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.", 0);
    page.write_counter("num_preemptions", "Cumulative number of preemption from the engine.", 0);
    page.write_counter("prompt_tokens", "Number of prefill tokens processed.", metrics.prompt_tokens);
    page.write_counter("generation_tokens", "Number of generation tokens processed.", metrics.generation_tokens);
    page.write_finished(metrics);

    for (name, help, histogram) in [
        ("request_prompt_tokens", "Number of prefill tokens processed.", &metrics.request_prompt_tokens),
        ("request_generation_tokens", "Number of generation tokens processed.", &metrics.request_generation_tokens),
        (
            "request_max_num_generation_tokens",
            "Histogram of maximum number of requested generation tokens.",
            &metrics.request_max_num_generation_tokens,
        ),
        ("request_params_n", "Histogram of the n request parameter.", &metrics.request_params_n),
        (
            "request_params_max_tokens",
            "Histogram of the max_tokens request parameter.",
            &metrics.request_params_max_tokens,
        ),
        ("time_to_first_token_seconds", "Histogram of time to first token in seconds.", &metrics.time_to_first_token),
        ("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", &metrics.inter_token_latency),
        (
            "request_time_per_output_token_seconds",
            "Histogram of time_per_output_token_seconds per request.",
            &metrics.time_per_output_token,
        ),
        ("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", &metrics.e2e_request_latency),
        ("request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", &metrics.queue_time),
        (
            "request_inference_time_seconds",
            "Histogram of time spent in RUNNING phase for request.",
            &metrics.inference_time,
        ),
        (
            "request_prefill_time_seconds",
            "Histogram of time spent in PREFILL phase for request.",
            &metrics.prefill_time,
        ),
        ("request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", &metrics.decode_time),
    ] {
        page.write_histogram(name, help, histogram);
    }
    page.write_http(metrics);
    page.out
}

/// A label beside those that every sample has.
type Label<'a> = Option<(&'a str, &'a str)>;

struct Page {
    out: String,
    model: String,
    created: f64,
}

impl Page {
    fn write_header(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn write_plain(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.write_header(name, kind, help);
        let _ = writeln!(self.out, "{name} {value:?}");
    }

    fn write_sample(&mut self, name: &str, label: Label<'_>, value: f64) {
        let _ = write!(self.out, "vllm:{name}{{engine=\"0\"");
        let (before, after) = label.into_iter().partition::<Vec<_>, _>(|(label, _)| *label < "model_name");
        for (label, value) in before.into_iter().chain([("model_name", self.model.as_str())]).chain(after) {
            let _ = write!(self.out, ",{label}=\"{value}\"");
        }
        let _ = writeln!(self.out, "}} {value:?}");
    }

    fn write_gauge(&mut self, name: &str, help: &str, samples: &[(Label<'_>, f64)]) {
        self.write_header(&format!("vllm:{name}"), "gauge", help);
        for (label, value) in samples {
            self.write_sample(name, *label, *value);
        }
    }

    fn write_created(&mut self, name: &str, help: &str, labels: &[Label<'_>]) {
        let name = format!("{name}_created");
        self.write_header(&format!("vllm:{name}"), "gauge", help);
        for label in labels {
            self.write_sample(&name, *label, self.created);
        }
    }

    fn write_counter(&mut self, name: &str, help: &str, value: u64) {
        self.write_header(&format!("vllm:{name}_total"), "counter", help);
        self.write_sample(&format!("{name}_total"), None, value as f64);
        self.write_created(name, help, &[None]);
    }

    fn write_finished(&mut self, metrics: &Metrics) {
        let (name, help) = ("request_success", "Count of successfully processed requests.");
        self.write_header(&format!("vllm:{name}_total"), "counter", help);
        let labels = Finished::ALL.map(|(_, reason)| Some(("finished_reason", reason)));
        for (label, count) in labels.iter().zip(metrics.finished) {
            self.write_sample(&format!("{name}_total"), *label, count as f64);
        }
        self.write_created(name, help, &labels);
    }

    fn write_histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.write_header(&format!("vllm:{name}"), "histogram", help);
        for (bound, count) in histogram.cumulative() {
            let bound = if bound.is_infinite() { "+Inf".to_owned() } else { format!("{bound:?}") };
            self.write_sample(&format!("{name}_bucket"), Some(("le", &bound)), count as f64);
        }
        self.write_sample(&format!("{name}_count"), None, histogram.count() as f64);
        self.write_sample(&format!("{name}_sum"), None, histogram.sum());
        self.write_created(name, help, &[None]);
    }

    fn write_http(&mut self, metrics: &Metrics) {
        self.write_header("http_requests_total", "counter", "Total number of requests by method, status and handler.");
        for (answer, count) in &metrics.http {
            let _ = writeln!(
                self.out,
                r#"http_requests_total{{handler="{}",method="{}",status="{}xx"}} {:?}"#,
                answer.handler, answer.method, answer.status_class, *count as f64
            );
        }
    }
}

fn escaped(label: &str) -> String {
    label.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}
