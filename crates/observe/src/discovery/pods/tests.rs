use super::*;
use proptest::prelude::*;
use serde_json::json;

fn endpoints<'a>(pods: impl IntoIterator<Item = &'a Value>, is_selected: bool) -> Endpoints {
    let mut endpoints = Endpoints::default();
    pods.into_iter().for_each(|pod| endpoints.add(pod, is_selected));
    endpoints
}

fn texts(urls: &[MetricsUrl]) -> Vec<String> {
    urls.iter().map(MetricsUrl::shown).collect()
}

/// The URLs of one pod, which no selector found.
fn urls(pod: &Value) -> Vec<String> {
    texts(&endpoints([pod], false).into_urls())
}

/// A pod of an inference server, with annotations.
fn annotated(annotations: Value) -> Value {
    json!({
        "metadata": {"name": "p", "namespace": "n", "annotations": annotations},
        "spec": {"containers": [{"image": "vllm/vllm-openai:v1", "ports": [{"containerPort": 8000}]}]},
        "status": {"podIP": "10.0.0.1"},
    })
}

fn faults(pods: &[Value]) -> Vec<(LogLevel, String)> {
    endpoints(pods, false).notices().collect()
}

#[test]
fn a_server_is_known_by_its_image() {
    for image in [
        "docker.io/vllm/vllm-openai:latest",
        "lmsysorg/SGLang:v0.4",
        "nvcr.io/nvidia/tritonserver:25.01-py3",
        "my/triton-server",
        "my/triton-inference-server:1",
        "nvcr.io/TensorRT-LLM/release",
        "a/tensorrtllm",
        "a/trt-llm",
        "a/trtllm:2",
        "nvcr.io/nvidia/ai-dynamo/runtime",
    ] {
        let mut pod = annotated(json!({}));
        pod["spec"]["containers"][0]["image"] = image.into();
        assert_eq!(urls(&pod), ["http://10.0.0.1:8000/metrics"], "{image}");
    }
    let mut pod = annotated(json!({}));
    pod["spec"]["containers"][0]["image"] = "nginx".into();
    assert!(urls(&pod).is_empty());
    pod["spec"]["containers"].as_array_mut().unwrap().push(json!({"image": "sidecar/vllm"}));
    assert_eq!(urls(&pod).len(), 1, "any container will do");
}

#[test]
fn a_pod_without_a_server_is_known_by_label_annotation_or_selector() {
    let pod = |labels: Value, annotations: Value| {
        let mut pod = annotated(annotations);
        pod["spec"]["containers"][0]["image"] = "nginx".into();
        pod["metadata"]["labels"] = labels;
        pod
    };
    let none = json!({});
    let enabled = |value: &str| pod(json!({"nvidia.com/metrics-enabled": value}), none.clone());
    for value in ["true", "True", "TRUE"] {
        assert_eq!(urls(&enabled(value)).len(), 1, "{value}");
    }
    for value in ["false", "1", "yes", ""] {
        assert!(urls(&enabled(value)).is_empty(), "{value}");
    }
    assert_eq!(urls(&pod(none.clone(), json!({"aiperf.nvidia.com/metrics-paths": "/m"}))).len(), 1);
    assert!(urls(&pod(none.clone(), json!({"aiperf.nvidia.com/metrics-paths": ""}))).is_empty());
    let plain = pod(none.clone(), json!({"prometheus.io/scrape": "true", "prometheus.io/port": "1"}));
    assert!(urls(&plain).is_empty(), "what Prometheus scrapes is not looked at for that");
    assert_eq!(endpoints([&plain], true).len(), 1);
}

#[test]
fn a_port_is_the_annotations_then_the_one_named_metrics_then_the_first() {
    let pod = |annotation: Value, containers: Value| {
        let mut pod = annotated(json!({"prometheus.io/port": annotation}));
        pod["spec"]["containers"] = containers;
        pod
    };
    let first = json!({"image": "vllm", "ports": [{"containerPort": 8000}, {"name": "http", "containerPort": 8001}]});
    let second = json!({"image": "x", "ports": [{"name": "metrics", "containerPort": 9400}]});
    let none = json!({"image": "vllm"});
    for (annotation, containers, port) in [
        (json!("9090"), json!([first, second]), Some(9090)),
        (json!(" 9090 "), json!([first]), Some(9090)),
        (json!("abc"), json!([first, second]), Some(9400)),
        (json!("90.5"), json!([first]), Some(8000)),
        (Value::Null, json!([none, first]), Some(8000)),
        (json!(""), json!([none]), None),
        (json!("0"), json!([first]), None),
        (json!("-1"), json!([first]), None),
        (json!("65536"), json!([first]), None),
        (json!("99999999999999999999"), json!([first]), None),
        (Value::Null, json!([{"image": "vllm", "ports": [{"containerPort": "x"}, {"containerPort": 70000}]}]), None),
    ] {
        let expected: Vec<_> = port.iter().map(|port| format!("http://10.0.0.1:{port}/metrics")).collect();
        assert_eq!(urls(&pod(annotation.clone(), containers)), expected, "{annotation}");
    }
}

#[test]
fn schemes_are_http_and_https() {
    for (scheme, url) in [
        ("https", Some("https://10.0.0.1:8000/metrics")),
        ("HTTPS", Some("https://10.0.0.1:8000/metrics")),
        ("", Some("http://10.0.0.1:8000/metrics")),
        ("unix", None),
        ("ftp", None),
        ("http://evil/", None),
    ] {
        let pod = annotated(json!({"prometheus.io/scheme": scheme}));
        assert_eq!(urls(&pod), Vec::from_iter(url), "{scheme}");
    }
}

#[test]
fn paths_are_listed_or_one_or_the_usual_one_and_are_used_as_they_are() {
    let listed = |paths: &str, path: &str| {
        urls(&annotated(json!({"aiperf.nvidia.com/metrics-paths": paths, "prometheus.io/path": path})))
    };
    let at = |path: &str| format!("http://10.0.0.1:8000{path}");
    assert_eq!(listed("", ""), [at("/metrics")]);
    assert_eq!(listed("", "stats"), [at("/stats")]);
    assert_eq!(listed("b, /a ,,b", "/c"), [at("/a"), at("/b")]);
    assert_eq!(listed(" , ", "/c"), [at("/c")]);
    assert_eq!(listed("/x/?format=prometheus#top", ""), [at("/x/?format=prometheus")]);
    assert_eq!(listed("/", ""), [at("/")]);
    assert_eq!(listed("@evil:1/x,//evil/x", ""), [at("//evil/x"), at("/@evil:1/x")], "no path leads to another host");
}

#[test]
fn a_path_that_cannot_be_sent_costs_itself() {
    let pod = annotated(json!({"aiperf.nvidia.com/metrics-paths": "/a b,/good,/ü,/x\r\ny"}));
    assert_eq!(urls(&pod), ["http://10.0.0.1:8000/good"]);
    let [(level, text)] = &faults(&[pod])[..] else { panic!("one notice") };
    assert_eq!(*level, LogLevel::Warning);
    assert!(text.contains("pod n/p") && text.contains("%20"), "{text}");
}

#[test]
fn ipv6_gets_brackets_and_what_is_no_address_is_left_out() {
    let pod = |ip: Value| {
        let mut pod = annotated(json!({}));
        pod["status"]["podIP"] = ip;
        pod
    };
    assert_eq!(urls(&pod(json!("fd00:0::1"))), ["http://[fd00::1]:8000/metrics"]);
    for ip in [json!(""), Value::Null, json!("host"), json!("10.0.0.1@evil"), json!(7)] {
        assert!(urls(&pod(ip.clone())).is_empty(), "{ip}");
        assert_eq!(faults(&[pod(ip)])[0].0, LogLevel::Debug);
    }
}

#[test]
fn pods_that_share_a_fault_share_a_notice() {
    let bad = annotated(json!({"prometheus.io/scheme": "ftp"}));
    let mut other = annotated(json!({}));
    other["spec"]["containers"][0]["ports"] = json!([]);
    assert_eq!(
        faults(&[bad.clone(), other, bad.clone(), bad]),
        [
            (
                LogLevel::Info,
                "metrics of pod n/p are not collected: no container port; the annotation prometheus.io/port can name one"
                    .to_owned()
            ),
            (
                LogLevel::Warning,
                "metrics of pod n/p and 2 others are not collected: the annotation prometheus.io/scheme is neither http \
                 nor https"
                    .to_owned()
            ),
        ]
    );
}

#[test]
fn a_name_does_not_act_on_a_terminal() {
    let mut pod = annotated(json!({"prometheus.io/scheme": "ftp"}));
    pod["metadata"]["name"] = "\u{1b}[2J\n".into();
    assert!(faults(&[pod])[0].1.contains(r"pod n/\u{1b}[2J\n are"));
}

/// Values that a field might have, good and bad.
fn field(good: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop_oneof![
        40 => prop::sample::select(good).prop_map(Value::from),
        1 => "\\PC{0,12}".prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(json!({"a": [1]})),
        1 => Just(json!([[], "x"])),
    ]
}

fn object(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let fields: Vec<_> = fields.into_iter().map(|(name, value)| value.prop_map(move |value| (name, value))).collect();
    let whole = fields.prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    prop_oneof![30 => whole.prop_map(Value::Object), 1 => field(&["x"])].boxed()
}

fn list(of: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop_oneof![30 => prop::collection::vec(of, 0..3).prop_map(Value::Array), 1 => field(&["x"])].boxed()
}

fn pod() -> BoxedStrategy<Value> {
    let number = prop_oneof![any::<u16>().prop_map(Value::from), field(&["8000"])].boxed();
    let port = object(vec![("name", field(&["metrics", "http"]).boxed()), ("containerPort", number)]);
    let image = field(&["vllm/vllm-openai", "nginx", "TRTLLM"]).boxed();
    let container = object(vec![("image", image), ("ports", list(port))]);
    let annotations = object(vec![
        (PATHS, field(&["/a,b", "metrics", ",", "/x y,/z", "/q?x=1#f"]).boxed()),
        (PORT, field(&["9000", "abc", "0", "99999"]).boxed()),
        (SCHEME, field(&["http", "https", "ftp"]).boxed()),
        (PATH, field(&["/p", "p", "/p q"]).boxed()),
    ]);
    let labels = object(vec![(ENABLED_LABEL, field(&["true", "false"]).boxed())]);
    let metadata = object(vec![
        ("name", field(&["a", "b"]).boxed()),
        ("namespace", field(&["n"]).boxed()),
        ("labels", labels),
        ("annotations", annotations),
    ]);
    let status = object(vec![("podIP", field(&["10.0.0.1", "10.0.0.2", "fd00::1", ""]).boxed())]);
    object(vec![("metadata", metadata), ("spec", object(vec![("containers", list(container))])), ("status", status)])
}

proptest! {
    #[test]
    fn whatever_pods_there_are_their_urls_are_sorted_and_lead_to_addresses(
        pods in prop::collection::vec(pod(), 0..12),
        is_selected in any::<bool>(),
    ) {
        let found = endpoints(&pods, is_selected);
        let keys: Vec<_> = found.urls.keys().cloned().collect();
        let urls = found.into_urls();
        prop_assert_eq!(urls.len(), keys.len());
        prop_assert!(keys.is_sorted());
        for (url, key) in urls.iter().zip(&keys) {
            prop_assert_eq!(&format!("{}{}", url.server().origin(), url.path()), key);
            prop_assert!(url.server().host().parse::<IpAddr>().is_ok());
            prop_assert!(url.path().starts_with('/'));
        }
        prop_assert!(urls.iter().enumerate().all(|(at, url)| !urls[..at].contains(url)));
    }

    #[test]
    fn a_pod_changes_nothing_of_the_others_whatever_their_order(
        mut pods in prop::collection::vec(pod(), 0..6),
        odd in pod(),
    ) {
        let before = endpoints(&pods, true).into_urls();
        let own = endpoints([&odd], true).into_urls();
        pods.insert(0, odd);
        let forwards = endpoints(&pods, true).into_urls();
        let backwards = endpoints(pods.iter().rev(), true).into_urls();
        prop_assert_eq!(&forwards, &backwards);
        prop_assert!(before.iter().chain(&own).all(|url| forwards.contains(url)));
        prop_assert!(forwards.iter().all(|url| before.contains(url) || own.contains(url)));
    }

    #[test]
    fn a_selector_only_adds(pods in prop::collection::vec(pod(), 0..6)) {
        let selected = endpoints(&pods, true).into_urls();
        prop_assert!(endpoints(&pods, false).into_urls().iter().all(|url| selected.contains(url)));
    }
}
