//! Flags: input, fixed schedule, goodput.

use super::Status::*;
use super::*;

pub(super) const INPUT: &[Flag] = &[
    Flag {
        name: "--extra-inputs",
        kind: Kind::Pairs,
        takes: Takes::Many { comma: true, space: true },
        path: "endpoint.extra",
        status: Acts,
        summary: "Extra request-body fields as key:value or JSON",
        ..BASE
    },
    Flag {
        name: "--header",
        kind: Kind::Headers,
        aliases: &["-H"],
        takes: Takes::Many { comma: false, space: true },
        path: "endpoint.headers",
        status: Acts,
        summary: "Extra HTTP headers as Name:Value or JSON",
        ..BASE
    },
    Flag {
        name: "--input-file",
        kind: Kind::ExistingPath,
        path: "datasets[0].path",
        status: NotYet("its feature does not exist yet"),
        summary: "Existing dataset file or directory; selects a file dataset",
        ..BASE
    },
    Flag {
        name: "--public-dataset",
        kind: Kind::Choice(&[
            "exgentic_v2",
            "exgentic",
            "sharegpt",
            "aimo",
            "mmstar",
            "mmvu",
            "vision_arena",
            "llava_onevision",
            "aimo_aime",
            "aimo_numina_cot",
            "aimo_numina_1_5",
            "spec_bench",
            "spec_al_gsm8k",
            "spec_al_math500",
            "spec_al_humaneval",
            "spec_al_mbpp",
            "spec_al_mtbench",
            "instruct_coder",
            "blazedit_5k",
            "blazedit_10k",
            "librispeech",
            "voxpopuli",
            "gigaspeech",
            "ami",
            "spgispeech",
            "semianalysis_cc_traces_weka",
            "semianalysis_cc_traces_weka_no_subagents",
            "semianalysis_cc_traces_weka_with_subagents",
            "semianalysis_cc_traces_weka_with_subagents_256k",
            "semianalysis_cc_traces_weka_with_subagents_060226",
            "semianalysis_cc_traces_weka_with_subagents_060226_256k",
            "semianalysis_cc_traces_weka_with_subagents_060526",
            "semianalysis_cc_traces_weka_with_subagents_060526_256k",
            "semianalysis_cc_traces_weka_with_subagents_060826",
            "semianalysis_cc_traces_weka_with_subagents_060826_256k",
            "semianalysis_cc_traces_weka_061326",
            "semianalysis_cc_traces_weka_061326_256k",
            "semianalysis_cc_traces_weka_061526",
            "semianalysis_cc_traces_weka_061526_256k",
            "semianalysis_cc_traces_weka_062126",
            "semianalysis_cc_traces_weka_062126_256k",
            "weka_hf",
        ]),
        path: "datasets[0].dataset",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Named public dataset; selects a public dataset",
        ..BASE
    },
    Flag {
        name: "--hf-subset",
        kind: Kind::Text,
        path: "datasets[0].hf_subset",
        status: NotYet("its feature does not exist yet"),
        summary: "Subset override for hub-backed public datasets",
        ..BASE
    },
    Flag {
        name: "--hf-weka-dataset",
        kind: Kind::Text,
        path: "datasets[0].hf_weka_dataset",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Hub repository for the generic Weka loader; implies public dataset weka_hf",
        ..BASE
    },
    Flag {
        name: "--dataset-filter",
        kind: Kind::Texts,
        takes: Takes::Many { comma: false, space: true },
        path: "datasets[0].filters",
        status: NotYet("its feature does not exist yet"),
        summary: "key=value filters for public datasets that support them",
        ..BASE
    },
    Flag {
        name: "--custom-dataset-type",
        kind: Kind::Choice(&[
            "burst_gpt_trace",
            "bailian_trace",
            "baseten_trace",
            "mooncake_trace",
            "raw_payload",
            "inputs_json",
            "dag_jsonl",
            "sagemaker_data_capture",
            "multi_turn",
            "random_pool",
            "single_turn",
            "speed_bench_qualitative",
            "speed_bench_coding",
            "speed_bench_humanities",
            "speed_bench_math",
            "speed_bench_multilingual",
            "speed_bench_qa",
            "speed_bench_rag",
            "speed_bench_reasoning",
            "speed_bench_roleplay",
            "speed_bench_stem",
            "speed_bench_summarization",
            "speed_bench_writing",
            "speed_bench_throughput_1k",
            "speed_bench_throughput_2k",
            "speed_bench_throughput_8k",
            "speed_bench_throughput_16k",
            "speed_bench_throughput_32k",
            "speed_bench_throughput_1k_low_entropy",
            "speed_bench_throughput_1k_mixed",
            "speed_bench_throughput_1k_high_entropy",
            "speed_bench_throughput_2k_low_entropy",
            "speed_bench_throughput_2k_mixed",
            "speed_bench_throughput_2k_high_entropy",
            "speed_bench_throughput_8k_low_entropy",
            "speed_bench_throughput_8k_mixed",
            "speed_bench_throughput_8k_high_entropy",
            "speed_bench_throughput_16k_low_entropy",
            "speed_bench_throughput_16k_mixed",
            "speed_bench_throughput_16k_high_entropy",
            "speed_bench_throughput_32k_low_entropy",
            "speed_bench_throughput_32k_mixed",
            "speed_bench_throughput_32k_high_entropy",
            "tracelab",
            "weka_trace",
        ]),
        path: "datasets[0].format",
        status: NotYet("its feature does not exist yet"),
        summary: "Format of the input file; detected when absent",
        ..BASE
    },
    Flag {
        name: "--ignore-trace-delays",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "datasets[0].ignore_trace_delays",
        status: NotYet("its feature does not exist yet"),
        summary: "Discard recorded timestamps and delays at load",
        ..BASE
    },
    Flag {
        name: "--use-think-time-only",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "datasets[0].use_think_time_only",
        status: NotYet("its feature does not exist yet"),
        summary: "Weka replay: keep only recorded think time as the delay",
        ..BASE
    },
    Flag {
        name: "--max-context-length",
        kind: Kind::Int(at_least(1.0)),
        path: "datasets[0].max_context_length",
        status: NotYet("its feature does not exist yet"),
        summary: "Weka replay: drop traces whose recorded peak context is larger",
        ..BASE
    },
    Flag {
        name: "--dataset-sampling-strategy",
        kind: Kind::Choice(&["random", "sequential", "shuffle"]),
        path: "datasets[0].sampling",
        status: NotYet("its feature does not exist yet"),
        summary: "Order in which dataset entries are drawn",
        ..BASE
    },
    Flag {
        name: "--allow-dataset-wrap",
        kind: Kind::Bool,
        negation: Some("--no-allow-dataset-wrap"),
        takes: Takes::Nothing,
        path: "datasets[0].synthesis.allow_dataset_wrap",
        status: NotYet("its feature does not exist yet"),
        summary: "Let replay reuse traces when concurrency exceeds the pool",
        ..BASE
    },
    Flag {
        name: "--random-seed",
        kind: Kind::Int(at_least(0.0)),
        path: "random_seed; datasets[0].random_seed",
        status: Acts,
        summary: "Seed for all random choices",
        ..BASE
    },
    Flag {
        name: "--trace-session-sample-ratio",
        kind: Kind::Float(between(0.0, false, 1.0, true)),
        path: "datasets[0].trace_session_sample_ratio",
        status: NotYet("its feature does not exist yet"),
        summary: "Baseten trace: share of whole sessions kept",
        ..BASE
    },
    Flag {
        name: "--config",
        kind: Kind::Path,
        aliases: &["-f"],
        path: "(file to load)",
        status: NotYet("its feature does not exist yet"),
        summary: "YAML configuration used as the base under the flags",
        ..BASE
    },
];

pub(super) const FIXED_SCHEDULE: &[Flag] = &[
    Flag {
        name: "--fixed-schedule",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "phases[profiling].type=fixed_schedule",
        status: NotYet("its feature does not exist yet"),
        summary: "Send each request at its recorded timestamp",
        ..BASE
    },
    Flag {
        name: "--no-fixed-schedule",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "(suppresses promotion)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Keep the chosen timing mode for timestamped traces",
        ..BASE
    },
    Flag {
        name: "--fixed-schedule-auto-offset",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "phases[profiling].auto_offset",
        status: NotYet("its feature does not exist yet"),
        summary: "Shift timestamps so the first is zero",
        ..BASE
    },
    Flag {
        name: "--fixed-schedule-start-offset",
        kind: Kind::Int(at_least(0.0)),
        path: "phases[profiling].start_offset",
        status: NotYet("its feature does not exist yet"),
        summary: "Skip records before this millisecond offset",
        ..BASE
    },
    Flag {
        name: "--fixed-schedule-end-offset",
        kind: Kind::Int(at_least(0.0)),
        path: "phases[profiling].end_offset",
        status: NotYet("its feature does not exist yet"),
        summary: "Skip records after this millisecond offset",
        ..BASE
    },
];

pub(super) const GOODPUT: &[Flag] = &[Flag {
    name: "--goodput",
    kind: Kind::Goodput,
    path: "slos",
    status: NotYet("its feature does not exist yet"),
    summary: "Per-metric thresholds a request must all meet to count as good",
    ..BASE
}];
