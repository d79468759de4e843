//! A plan outside of the process: complete for machines, without secrets for people.

use aiperf_plan::form::secret_places;
use aiperf_plan::{
    BaseUrl, CacheReset, Cadence, DcgmExporter, DiscoveryMode, EndpointPlan, GpuSource, GpuTelemetryPlan,
    MetricsEndpoint, MetricsUrl, OtlpPlan, Plan, PodDiscovery, Proxy, ServerMetricsFormats, ServerMetricsPlan,
    ServerProfiler,
};
use aiperf_testkit::plan::plan;
use aiperf_types::{FormError, Nanos};
use serde_json::{Value, json};

const SECRET: &str = "sk-hunter2-hunter2";

/// A plan with something in every part that may contain a secret, and no secret.
fn full_plan() -> Plan {
    let page = || MetricsUrl::parse("http://h:1/metrics?x=1").unwrap();
    let mut plan = plan("http://h:1/v1?x=1");
    plan.server_metrics = Some(server_metrics(page()));
    plan.gpu_telemetry = Some(GpuTelemetryPlan {
        source: GpuSource::Exporters(vec![DcgmExporter { url: page(), is_guess: false }]),
        is_requested: true,
        metrics_file: None,
        interval: Nanos(1),
        reachability_timeout: Nanos(1),
        read_timeout: Nanos(1),
        grace: Nanos(1),
    });
    plan.otlp = Some(OtlpPlan {
        url: page(),
        metrics: true,
        timing: true,
        usual_attributes: Vec::new(),
        attributes: Vec::new(),
        provider: "openai".into(),
        headers: Vec::new(),
        gzip: false,
        ca_file: None,
        identity: None,
        every: Nanos(1),
        timeout: Nanos(1),
    });
    plan
}

fn server_metrics(url: MetricsUrl) -> ServerMetricsPlan {
    let cadence = Cadence {
        interval: Nanos(1),
        flush: Nanos(1),
        reachability_timeout: Nanos(1),
        scrape_timeout: Nanos(1),
        read_timeout: Nanos(1),
        publish_interval: Nanos(1),
        cancel_wait: Nanos(1),
        settle_limit: Nanos(1),
    };
    let discovery =
        PodDiscovery { mode: DiscoveryMode::Disabled, label_selector: None, namespace: None, timeout: Nanos(1) };
    ServerMetricsPlan {
        endpoints: vec![MetricsEndpoint { url, fallback: None, is_named: true }],
        formats: ServerMetricsFormats { json: true, csv: false, jsonl: false, parquet: false },
        discovery,
        cadence,
    }
}

type Put = fn(&mut Plan);

/// Puts a secret into each place of the table.
const PUT: &[(&str, Put)] = &[
    ("API key", |plan| plan.endpoint.api_key = Some(SECRET.into())),
    ("headers", |plan| plan.endpoint.headers.push(("X-Api-Key".into(), SECRET.into()))),
    ("headers", |plan| plan.endpoint.headers.push(("X-To".into(), format!("https://u:{SECRET}@h/?a=b")))),
    ("URLs", |plan| plan.endpoint.urls.push(url("http://u:S@h:1/v1"))),
    ("URLs", |plan| plan.endpoint.urls.push(url("http://h:1/v1?api_key=S"))),
    ("path", |plan| plan.endpoint.path = Some(format!("/v1/chat?api_key={SECRET}&x=1"))),
    ("paths of hooks", |plan| {
        let (timeout, max_retry) = (Nanos(1), Nanos(1));
        plan.endpoint.cache_reset = Some(CacheReset { path: text("/reset?token=S"), timeout, max_retry });
    }),
    ("paths of hooks", |plan| {
        let (start_path, stop_path) = (text("/start?api_key=S"), text("/stop?api_key=S"));
        plan.endpoint.server_profiler = Some(ServerProfiler { start_path, stop_path, timeout: Nanos(1) });
    }),
    ("proxies", |plan| plan.endpoint.http.proxies.https = Some(Proxy::parse(&text("http://u:S@p:1")).unwrap())),
    ("extra inputs", |plan| {
        plan.endpoint.extra.insert("auth".into(), json!({"token": SECRET, "kind": "x"}));
    }),
    ("extra inputs", |plan| {
        plan.endpoint.extra.insert("image".into(), json!(format!("https://u:{SECRET}@h/a.png")));
    }),
    ("template", |plan| plan.endpoint.template = Some(format!(r#"{{"api_key": "{SECRET}", "x": 1}}"#))),
    ("server metrics", |plan| {
        plan.server_metrics.as_mut().unwrap().endpoints.push(MetricsEndpoint::of_server(&url("http://u:S@h:2/v1")));
    }),
    ("GPU exporters", |plan| {
        let exporter = DcgmExporter { url: MetricsUrl::parse(&text("http://h/?token=S")).unwrap(), is_guess: false };
        plan.gpu_telemetry.as_mut().unwrap().source = GpuSource::Exporters(vec![exporter]);
    }),
    ("OTLP receiver", |plan| {
        plan.otlp.as_mut().unwrap().url = MetricsUrl::verbatim(&text("http://u:S@h:3/v1/metrics")).unwrap();
    }),
    ("OTLP headers", |plan| plan.otlp.as_mut().unwrap().headers.push(("X-Team".into(), SECRET.into()))),
    ("OTLP attributes", |plan| plan.otlp.as_mut().unwrap().attributes.push(("my_api_key".into(), SECRET.into()))),
    ("OTLP attributes", |plan| {
        plan.otlp.as_mut().unwrap().usual_attributes.push(("api_key".into(), SECRET.into()));
    }),
    ("variables", |plan| plan.secrets.push(SECRET.into())),
];

/// A URL with the secret in place of `S`.
fn text(url: &str) -> String {
    url.replace('S', SECRET)
}

fn url(url: &str) -> BaseUrl {
    BaseUrl::parse(&text(url)).unwrap()
}

/// All of a plan, in a comparable form.
fn whole(plan: &Plan) -> Value {
    serde_json::to_value(plan).unwrap()
}

fn sent(plan: &Plan) -> Plan {
    Plan::from_machine(&plan.to_machine().unwrap()).unwrap()
}

#[test]
fn every_place_of_the_table_has_a_sample() {
    for place in secret_places() {
        assert!(PUT.iter().any(|(name, _)| *name == place), "{place}");
    }
    assert!(PUT.iter().all(|(name, _)| secret_places().any(|place| place == *name)));
}

#[test]
fn a_plan_that_is_sent_to_another_machine_carries_every_secret() {
    for (place, put) in PUT {
        let mut plan = full_plan();
        put(&mut plan);
        let received = sent(&plan);
        assert_eq!(whole(&received), whole(&plan), "{place}");
        assert!(whole(&received).to_string().contains(SECRET), "{place}");
        // The other machine hides the secret too.
        assert!(!received.redactor().hide(&format!("got {SECRET}")).contains(SECRET), "{place}");
    }
    let received = sent(&Plan { endpoint: with_credentials(), ..full_plan() });
    assert_eq!(received.endpoint.urls, with_credentials().urls);
}

fn with_credentials() -> EndpointPlan {
    let mut endpoint = full_plan().endpoint;
    let credentials = url("http://u:S@h").credentials().cloned();
    endpoint.urls = ["http://a%20b:p%40:q@h:1/v1?x=1#y", "HTTPS://u@[::1]:8443", "http://:@h", "unix:///run/llm.sock"]
        .map(|url| BaseUrl::parse(url).unwrap().or_credentials(credentials.clone()))
        .to_vec();
    endpoint
}

#[test]
fn a_plan_that_is_written_for_people_carries_no_secret() {
    for (place, put) in PUT {
        let mut plan = full_plan();
        put(&mut plan);
        // A secret as a part of another text is hidden too.
        plan.models.push(format!("model-of-{SECRET}"));
        let shown = plan.for_people().unwrap().to_string();
        assert!(!shown.contains(SECRET), "{place}: {shown}");
        assert!(shown.contains("<redacted>"), "{place}");
    }
}

#[test]
fn a_plan_without_secrets_is_the_same_for_people_and_machines() {
    let plan = full_plan();
    assert_eq!(plan.for_people().unwrap(), whole(&plan));
}

#[test]
fn bytes_that_are_no_plan_are_refused() {
    assert!(matches!(Plan::from_machine(b"{}"), Err(FormError::Unreadable(_))));
    let bytes = full_plan().to_machine().unwrap();
    assert!(Plan::from_machine(&bytes[..bytes.len() - 1]).is_err());
}
