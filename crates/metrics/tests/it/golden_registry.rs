//! The registry compared with the list of metrics it was written from, and which of them a run has.

use crate::support;

use aiperf_golden::kinds::metrics::LISTED_METRIC;
use aiperf_metrics::metric::Fold;
use aiperf_metrics::{Flags, Metric, MetricType, RunTraits, Slo, registry};
use aiperf_types::EndpointKind;
use serde_json::Value;
use std::collections::BTreeMap;
use support::each_case;

/// Listed and not in the registry, with the reason.
const NOT_REGISTERED: &[(&str, &str)] = &[
    ("theoretical_prefix_cache_hit", "made by a pass over the dataset's block counts"),
    ("skipped_context_overflow_count", "counted by agentic replay"),
    ("accuracy.overall", "made by graders"),
    ("accuracy.task.<task>", "made by graders"),
    ("accuracy.unparsed", "made by graders"),
    ("accuracy.unparsed.task.<task>", "made by graders"),
];

/// Our own metrics: in the registry and not in the reference's list, with the reason.
const OURS: &[(&str, &str)] = &[
    ("intended_request_latency", "latency from when the schedule wanted a request sent"),
    ("intended_time_to_first_token", "the same of the first token"),
    ("verdict", "the run's own judgement of its numbers"),
];

/// Listed as not exported, but exported by decision, for programs that read the reference's files.
fn is_vendor_twin(listed: &Value) -> bool {
    ["gpu_power_efficiency_amd", "gpu_power_efficiency_nvidia"].contains(&text(listed, "console_group"))
}

/// Listed as internal, but exported by decision: the duration is computed from them.
const DECIDED_NOT_INTERNAL: [&str; 2] = ["min_request_timestamp", "max_response_timestamp"];

/// Internal, and listed for slices; the metrics computed from it are not, so it is not computed there either.
const DECIDED_NOT_IN_SLICES: &str = "replay_send_schedule_offset";

/// Listed for endpoints that produce tokens, but 0 by decision, as in the reference, for embeddings and rankings.
const DECIDED_TO_BE_ZERO: &str = "output_sequence_length";

fn text<'a>(listed: &'a Value, key: &str) -> &'a str {
    listed[key].as_str().unwrap_or_default()
}

fn texts<'a>(listed: &'a Value, key: &str) -> Vec<&'a str> {
    listed[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Every listed metric by its tag.
fn listed() -> BTreeMap<String, Value> {
    let lists = LISTED_METRIC.lists();
    let metrics = lists.iter().flat_map(|list| list.cases()).filter(|case| LISTED_METRIC.is(case));
    metrics.map(|metric| (text(metric, "tag").to_owned(), metric.clone())).collect()
}

/// Checks the list entry of every metric that the registry has.
#[track_caller]
fn each_registered(check: impl Fn(&Value, &'static Metric)) {
    let find = |listed: &Value| registry::find(text(listed, "tag"));
    let skip =
        |listed: &Value| find(listed).is_none().then(|| "not in the registry, for a reason given above".to_owned());
    LISTED_METRIC.run(skip, |listed| check(listed, find(listed).unwrap()));
}

/// The capabilities of an endpoint type that matter for metrics.
#[derive(Clone, Copy)]
struct Can {
    endpoint: EndpointKind,
    produces_tokens: bool,
    tokenizes_input: bool,
    images: bool,
    accepts_audio: bool,
    produces_video: bool,
}

const fn can(endpoint: EndpointKind, does: [u8; 5]) -> Can {
    let [produces_tokens, tokenizes_input, images, accepts_audio, produces_video] = does;
    Can {
        endpoint,
        produces_tokens: produces_tokens == 1,
        tokenizes_input: tokenizes_input == 1,
        images: images == 1,
        accepts_audio: accepts_audio == 1,
        produces_video: produces_video == 1,
    }
}

/// Produces tokens, tokenizes input, accepts or produces images, accepts audio, produces video.
const ENDPOINTS: &[Can] = &[
    can(EndpointKind::AudioTranscription, [0, 0, 0, 1, 0]),
    can(EndpointKind::Chat, [1, 1, 1, 1, 0]),
    can(EndpointKind::CohereRankings, [0, 1, 0, 0, 0]),
    can(EndpointKind::Completions, [1, 1, 0, 0, 0]),
    can(EndpointKind::Responses, [1, 1, 1, 1, 0]),
    can(EndpointKind::Messages, [1, 1, 1, 0, 0]),
    can(EndpointKind::ChatEmbeddings, [0, 1, 1, 0, 0]),
    can(EndpointKind::Embeddings, [0, 1, 0, 0, 0]),
    can(EndpointKind::HfTeiRankings, [0, 1, 0, 0, 0]),
    can(EndpointKind::HuggingfaceGenerate, [1, 1, 0, 0, 0]),
    can(EndpointKind::ImageGeneration, [0, 1, 1, 0, 0]),
    can(EndpointKind::ImageEdit, [0, 1, 1, 0, 0]),
    can(EndpointKind::VideoGeneration, [0, 1, 0, 0, 1]),
    can(EndpointKind::ImageRetrieval, [0, 0, 1, 0, 0]),
    can(EndpointKind::NimEmbeddings, [0, 1, 1, 0, 0]),
    can(EndpointKind::NimRankings, [0, 1, 0, 0, 0]),
    can(EndpointKind::SolidoRag, [1, 1, 0, 0, 0]),
    can(EndpointKind::Raw, [1, 1, 1, 1, 0]),
    can(EndpointKind::Template, [1, 1, 1, 1, 0]),
];

/// One possible setup of a run.
struct Setting {
    can: Can,
    streaming: bool,
    server_token_count: bool,
    slos: bool,
    fixed_schedule: bool,
    accuracy: bool,
    internal: bool,
    experimental: bool,
}

impl Setting {
    fn every() -> impl Iterator<Item = Self> {
        ENDPOINTS.iter().flat_map(|&can| {
            (0..1_u32 << 7).map(move |bits| {
                let on = |bit: u32| bits >> bit & 1 == 1;
                Self {
                    can,
                    streaming: on(0),
                    server_token_count: on(1),
                    slos: on(2),
                    fixed_schedule: on(3),
                    accuracy: on(4),
                    internal: on(5),
                    experimental: on(6),
                }
            })
        })
    }

    fn traits(&self) -> RunTraits {
        let mut traits = RunTraits::new(self.can.endpoint, self.streaming);
        traits.server_token_count = self.server_token_count;
        traits.fixed_schedule = self.fixed_schedule;
        traits.accuracy = self.accuracy;
        traits.show_internal = self.internal;
        traits.show_experimental = self.experimental;
        traits.slos = if self.slos { vec![Slo { tag: "request_latency".into(), threshold: 1.0 }] } else { Vec::new() };
        traits
    }

    fn counts_empty_outputs(&self) -> bool {
        let is_vector = ["embeddings", "rankings"].iter().any(|kind| self.can.endpoint.name().contains(kind));
        is_vector && !self.server_token_count
    }

    /// Whether a flag of the list allows a metric in the run.
    fn allows_flag(&self, flag: &str) -> bool {
        match flag {
            "STREAMING_ONLY" => self.streaming,
            "PRODUCES_TOKENS_ONLY" => self.can.produces_tokens,
            "TOKENIZES_INPUT_ONLY" => self.can.tokenizes_input,
            "SUPPORTS_AUDIO_ONLY" => self.can.accepts_audio,
            "SUPPORTS_IMAGE_ONLY" => self.can.images,
            "PRODUCES_VIDEO_ONLY" => self.can.produces_video,
            "USAGE_DIFF_ONLY" => !self.server_token_count,
            "EXPERIMENTAL" => self.experimental,
            "FIXED_SCHEDULE_ONLY" => self.fixed_schedule,
            "GOODPUT" => self.slos,
            "DISABLE_ON_ACCURACY" => !self.accuracy,
            "ERROR_ONLY"
            | "LARGER_IS_BETTER"
            | "INTERNAL"
            | "SUPPORTS_REASONING"
            | "NO_INDIVIDUAL_RECORDS"
            | "HTTP_TRACE_ONLY"
            | "PERCENTILE_INCLUDES_FAILED_REQUESTS" => true,
            unknown => panic!("an unknown flag: {unknown}"),
        }
    }

    /// Whether the run meets a condition of the list, given in words. Conditions on records are not up to the run.
    fn fulfils(&self, condition: &str) -> bool {
        match condition {
            "streaming enabled" => self.streaming,
            "endpoint produces tokens" => self.can.produces_tokens,
            "endpoint tokenizes input" => self.can.tokenizes_input,
            "endpoint accepts audio" => self.can.accepts_audio,
            "endpoint accepts or produces images" => self.can.images,
            "endpoint produces video" => self.can.produces_video,
            "client token counting in use" => !self.server_token_count,
            "developer mode" => self.experimental,
            "profiling phase replays a fixed schedule" => self.fixed_schedule,
            "SLOs configured" => self.slos,
            "not accuracy mode" => !self.accuracy,
            "failed records only" | "HTTP trace data on the record" => true,
            unknown => panic!("an unknown condition: {unknown}"),
        }
    }
}

/// Whether a run has a metric, by the list alone. An error-adjusted twin exists if its base does.
fn listed_for(setting: &Setting, listed: &Value, all: &BTreeMap<String, Value>) -> bool {
    let by_flags = texts(listed, "flags").into_iter().all(|flag| setting.allows_flag(flag));
    let by_conditions = texts(listed, "conditions").into_iter().all(|condition| setting.fulfils(condition));
    assert_eq!(by_flags, by_conditions, "{}: its flags and its conditions differ", text(listed, "tag"));
    by_flags && all.get(text(listed, "base_tag")).is_none_or(|base| listed_for(setting, base, all))
}

#[test]
fn golden_conditions_decide_which_metrics_a_run_has_and_exports() {
    let all = listed();
    assert!(EndpointKind::ALL.iter().all(|kind| ENDPOINTS.iter().any(|can| can.endpoint == *kind)));
    each_registered(|listed, metric| {
        let internal = texts(listed, "flags").contains(&"INTERNAL") && !DECIDED_NOT_INTERNAL.contains(&metric.tag);
        for setting in Setting::every() {
            let traits = setting.traits();
            let decided = metric.tag == DECIDED_TO_BE_ZERO && setting.counts_empty_outputs();
            assert_eq!(traits.has(metric), decided || listed_for(&setting, listed, &all), "in {traits:?}");
            assert_eq!(traits.exports(metric), setting.internal || !internal, "exported by {traits:?}");
        }
    });
}

#[test]
fn golden_every_listed_metric_is_registered_or_known_not_to_be() {
    each_case(LISTED_METRIC, |listed| {
        let tag = text(listed, "tag");
        let known_not_to_be = NOT_REGISTERED.iter().any(|(known, _)| *known == tag);
        assert_eq!(registry::find(tag).is_none(), known_not_to_be, "whether it is left out");
    });
}

#[test]
fn golden_every_metric_is_listed_or_one_of_our_own() {
    let all = listed();
    let is_ours = |tag: &str| OURS.iter().any(|(own, _)| *own == tag);
    let unlisted =
        registry::all().iter().map(|metric| metric.tag).filter(|tag| !all.contains_key(*tag) && !is_ours(tag));
    let unlisted: Vec<&str> = unlisted.collect();
    assert!(all.is_empty() || unlisted.is_empty(), "neither listed nor our own: {unlisted:?}");
    for (tag, reason) in OURS {
        assert!(registry::find(tag).is_some(), "{tag} does not exist ({reason})");
        assert!(!all.contains_key(*tag), "{tag} is listed: it is not our own ({reason})");
    }
}

/// A metric that is not listed as exported is internal or experimental, unless decided otherwise.
#[test]
fn golden_what_is_listed_as_exported_is_what_a_run_with_everything_exports() {
    each_registered(|listed, metric| {
        let shown = !metric.flags.has(Flags::INTERNAL) && !metric.flags.has(Flags::EXPERIMENTAL);
        let decided = DECIDED_NOT_INTERNAL.contains(&metric.tag) || is_vendor_twin(listed);
        assert_eq!(shown, listed["exported"].as_bool().unwrap() || decided, "{}", metric.tag);
        // In the export of single records: metrics of one record, unless that is switched off.
        let per_record = match metric.kind() {
            MetricType::Record | MetricType::List | MetricType::Aggregate(_) => {
                !metric.flags.has(Flags::NO_INDIVIDUAL_RECORDS)
            }
            MetricType::Derived | MetricType::Analysis => false,
        };
        assert_eq!(shown && per_record, listed["per_record_export"].as_bool().unwrap(), "{}", metric.tag);
        let in_slices = !metric.flags.has(Flags::NO_SLICES) || metric.tag == DECIDED_NOT_IN_SLICES;
        assert_eq!(in_slices, listed["timeslice"].as_bool().unwrap(), "{}", metric.tag);
    });
}

fn kind_of(metric: &Metric) -> (&'static str, &'static str, Option<&'static str>) {
    match metric.kind() {
        MetricType::Record => ("record", "scalar", None),
        MetricType::List => ("record", "list", None),
        MetricType::Aggregate(Fold::Sum) => ("aggregate", "scalar", Some("sum")),
        MetricType::Aggregate(Fold::Min) => ("aggregate", "scalar", Some("min")),
        MetricType::Aggregate(Fold::Max) => ("aggregate", "scalar", Some("max")),
        MetricType::Derived => ("derived", "scalar", None),
        MetricType::Analysis => ("analyzer", "scalar", None),
    }
}

#[test]
fn golden_names_units_and_places_are_those_listed() {
    each_registered(|listed, metric| {
        let tag = metric.tag;
        // The number of GPUs is added when it is known.
        assert_eq!(metric.header, text(listed, "header").trim_end_matches(" (<n> GPUs)"), "{tag}");
        assert_eq!(metric.short, listed["short_header"].as_str(), "{tag}");
        assert_eq!(Some(metric.hide_unit), listed["short_header_hide_unit"].as_bool(), "{tag}");
        assert_eq!(metric.display.name(), text(listed, "display_unit"), "{tag}");
        assert_eq!(metric.group.name(), text(listed, "console_group"), "{tag}");
        assert_eq!(metric.order.map(u64::from), listed["display_order"].as_u64(), "{tag}");
        let (kind, values, fold) = kind_of(metric);
        assert_eq!(kind, text(listed, "type"), "{tag}");
        assert_eq!(values, text(listed, "value_type"), "{tag}");
        assert_eq!(fold, listed["aggregation"].as_str(), "{tag}");
        assert_eq!(metric.larger_is_better(), listed["larger_is_better"].as_bool(), "{tag}");
        if metric.kind() == MetricType::Analysis {
            // Listed in the display unit; here they are stored as integers.
            return;
        }
        assert_eq!(metric.unit.name(), text(listed, "unit"), "{tag}");
        if listed.get("injected").is_some() {
            // Listed without their inputs.
            return;
        }
        for (here, key) in [(metric.needs, "required"), (metric.uses, "optional")] {
            let (mut here, mut theirs) = (here.to_vec(), texts(listed, key));
            here.sort_unstable();
            theirs.sort_unstable();
            assert_eq!(here, theirs, "{tag}: {key}");
        }
    });
}
