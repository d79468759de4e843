//! Flags: Input, Fixed Schedule, Goodput.

use super::flag::Status::{Acts, NotYet};
use super::flag::{FlagType, Takes, To, WhenAbsent, flags};
use crate::choice::Choice;
use crate::sections::dataset;
use crate::sections::layout::Layout;
use aiperf_plan::Sampling;

flags! { INPUT_FLAGS:
    EXTRA_INPUTS {
        name: "--extra-inputs",
        kind: FlagType::Pairs,
        takes: Takes::Many { comma: true, space: true },
        to: To::Key("endpoint.extra"),
        status: Acts,
        summary: "Extra request-body fields as key:value or JSON",
    }
    HEADER {
        name: "--header",
        kind: FlagType::Headers,
        aliases: &["-H"],
        takes: Takes::Many { comma: false, space: true },
        to: To::Key("endpoint.headers"),
        status: Acts,
        summary: "Extra HTTP headers as Name:Value or JSON",
    }
    INPUT_FILE {
        name: "--input-file",
        kind: FlagType::ExistingPath,
        to: To::Dataset("path"),
        status: Acts,
        summary: "Existing dataset file or directory; selects a file dataset",
    }
    PUBLIC_DATASET {
        name: "--public-dataset",
        kind: FlagType::Choice(dataset::PublicDataset::NAMES),
        to: To::Dataset("dataset"),
        with_file: false,
        status: Acts,
        summary: "Public dataset by name, downloaded once and cached; selects a public dataset",
        limited_to: Some("Weka traces are not replayed so far"),
    }
    HF_SUBSET {
        name: "--hf-subset",
        kind: FlagType::Text,
        to: To::Dataset("hf_subset"),
        status: Acts,
    }
    HF_WEKA_DATASET {
        name: "--hf-weka-dataset",
        kind: FlagType::Text,
        to: To::Dataset("hf_weka_dataset"),
        with_file: false,
        status: NotYet("Weka traces are not replayed"),
        summary: "Hub repository for the generic Weka loader; implies public dataset weka_hf",
    }
    DATASET_FILTER {
        name: "--dataset-filter",
        kind: FlagType::Texts,
        takes: Takes::Many { comma: false, space: true },
        to: To::Dataset("filters"),
        status: Acts,
        summary: "key=value filters for public datasets that support them (exgentic, exgentic_v2)",
    }
    CUSTOM_DATASET_TYPE {
        name: "--custom-dataset-type",
        kind: FlagType::Choice(Layout::NAMES),
        default: Some(WhenAbsent::Words("detected")),
        to: To::Dataset("format"),
        status: Acts,
        summary: "Format of the input file",
        limited_to: Some("dag_jsonl, weka_trace and tracelab are not read so far"),
    }
    IGNORE_TRACE_DELAYS {
        name: "--ignore-trace-delays",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Dataset("ignore_trace_delays"),
        status: Acts,
    }
    USE_THINK_TIME_ONLY {
        name: "--use-think-time-only",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Dataset("use_think_time_only"),
        status: NotYet("agentic traces are not replayed"),
    }
    MAX_CONTEXT_LENGTH {
        name: "--max-context-length",
        kind: FlagType::Int,
        to: To::Dataset("max_context_length"),
        status: NotYet("agentic traces are not replayed"),
    }
    DATASET_SAMPLING_STRATEGY {
        name: "--dataset-sampling-strategy",
        kind: FlagType::Choice(Sampling::NAMES),
        to: To::Dataset("sampling"),
        status: Acts,
    }
    ALLOW_DATASET_WRAP {
        name: "--allow-dataset-wrap",
        kind: FlagType::Bool,
        negation: Some("--no-allow-dataset-wrap"),
        takes: Takes::Nothing,
        to: To::Dataset("synthesis.allow_dataset_wrap"),
        status: NotYet("agentic traces are not replayed"),
    }
    RANDOM_SEED {
        name: "--random-seed",
        kind: FlagType::Int,
        to: To::EnvelopeRule("random_seed"),
        status: Acts,
        summary: "Seed for all random choices",
    }
    TRACE_SESSION_SAMPLE_RATIO {
        name: "--trace-session-sample-ratio",
        kind: FlagType::Float,
        to: To::Dataset("trace_session_sample_ratio"),
        status: Acts,
    }
    CONFIG {
        name: "--config",
        kind: FlagType::Path,
        aliases: &["-f"],
        to: To::NoKey,
        status: Acts,
        summary: "YAML configuration used as the base under the flags",
    }
}

flags! { FIXED_SCHEDULE_FLAGS:
    FIXED_SCHEDULE {
        name: "--fixed-schedule",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Rule("phases.profiling.type"),
        status: Acts,
        summary: "Send each request of --input-file at its recorded timestamp",
    }
    NO_FIXED_SCHEDULE {
        name: "--no-fixed-schedule",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Rule("phases.profiling.type"),
        with_file: false,
        status: Acts,
        summary: "Keep the chosen timing mode for timestamped traces",
    }
    FIXED_SCHEDULE_AUTO_OFFSET {
        name: "--fixed-schedule-auto-offset",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        default: Some(WhenAbsent::Words("true without --fixed-schedule-start-offset")),
        to: To::Profiling("auto_offset"),
        status: Acts,
    }
    FIXED_SCHEDULE_START_OFFSET {
        name: "--fixed-schedule-start-offset",
        kind: FlagType::Int,
        value_name: Some("MS"),
        to: To::Profiling("start_offset"),
        status: Acts,
    }
    FIXED_SCHEDULE_END_OFFSET {
        name: "--fixed-schedule-end-offset",
        kind: FlagType::Int,
        value_name: Some("MS"),
        to: To::Profiling("end_offset"),
        status: Acts,
    }
}

flags! { GOODPUT_FLAGS:
    GOODPUT {
        name: "--goodput",
        kind: FlagType::Goodput,
        to: To::Key("slos"),
        status: Acts,
        summary: "Per-metric thresholds a request must all meet to count as good",
    }
}
