//! Flags: accuracy.

use super::Status::*;
use super::*;

pub(super) const ACCURACY: &[Flag] = &[
    Flag {
        name: "--accuracy-benchmark",
        kind: Kind::Choice(&[
            "mmlu",
            "mmlu_pro",
            "aime",
            "hellaswag",
            "bigbench",
            "aime24",
            "aime25",
            "math_500",
            "gsm8k",
            "gpqa_diamond",
            "lcb_codegeneration",
        ]),
        path: "accuracy.benchmark",
        status: NotYet("its feature does not exist yet"),
        summary: "Accuracy benchmark to run; enables accuracy mode",
        ..BASE
    },
    Flag {
        name: "--accuracy-tasks",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: false },
        path: "accuracy.tasks",
        status: NotYet("its feature does not exist yet"),
        summary: "Subset of benchmark tasks",
        ..BASE
    },
    Flag {
        name: "--accuracy-n-shots",
        kind: Kind::Int(between(0.0, true, 32.0, true)),
        path: "accuracy.n_shots",
        status: NotYet("its feature does not exist yet"),
        summary: "Few-shot examples; default set by the benchmark",
        ..BASE
    },
    Flag {
        name: "--accuracy-enable-cot",
        kind: Kind::Bool,
        negation: Some("--accuracy-no-enable-cot"),
        takes: Takes::Nothing,
        path: "accuracy.enable_cot",
        status: NotYet("its feature does not exist yet"),
        summary: "Chain-of-thought prompting on or off; default set by the benchmark",
        ..BASE
    },
    Flag {
        name: "--accuracy-grader",
        kind: Kind::Choice(&[
            "exact_match",
            "math",
            "multiple_choice",
            "code_execution",
            "lighteval_expr",
            "lighteval_latex",
            "lighteval_gpqa",
            "lighteval_gsm8k",
            "mmlu_pro",
        ]),
        path: "accuracy.grader",
        status: NotYet("its feature does not exist yet"),
        summary: "Replaces the benchmark's grader",
        ..BASE
    },
    Flag {
        name: "--accuracy-system-prompt",
        kind: Kind::Text,
        path: "accuracy.system_prompt",
        status: NotYet("its feature does not exist yet"),
        summary: "Replaces the benchmark's system prompt",
        ..BASE
    },
    Flag {
        name: "--accuracy-verbose",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "accuracy.verbose",
        status: NotYet("its feature does not exist yet"),
        summary: "Show each graded problem",
        ..BASE
    },
];
