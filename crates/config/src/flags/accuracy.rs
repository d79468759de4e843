//! Flags: Accuracy.

use super::flag::Status::NotYet;
use super::flag::{FlagType, Takes, To, flags};
use crate::choice::Choice;
use crate::sections::process;

flags! { ACCURACY_FLAGS:
    ACCURACY_BENCHMARK {
        name: "--accuracy-benchmark",
        kind: FlagType::Choice(process::AccuracyBenchmark::NAMES),
        to: To::Key("accuracy.benchmark"),
        status: NotYet("responses are not graded"),
        summary: "Accuracy benchmark to run; enables accuracy mode",
    }
    ACCURACY_TASKS {
        name: "--accuracy-tasks",
        kind: FlagType::Texts,
        takes: Takes::Many { comma: true, space: false },
        to: To::Key("accuracy.tasks"),
        status: NotYet("responses are not graded"),
    }
    ACCURACY_N_SHOTS {
        name: "--accuracy-n-shots",
        kind: FlagType::Int,
        to: To::Key("accuracy.n_shots"),
        status: NotYet("responses are not graded"),
    }
    ACCURACY_ENABLE_COT {
        name: "--accuracy-enable-cot",
        kind: FlagType::Bool,
        negation: Some("--accuracy-no-enable-cot"),
        takes: Takes::Nothing,
        to: To::Key("accuracy.enable_cot"),
        status: NotYet("responses are not graded"),
    }
    ACCURACY_GRADER {
        name: "--accuracy-grader",
        kind: FlagType::Choice(process::Grader::NAMES),
        to: To::Key("accuracy.grader"),
        status: NotYet("responses are not graded"),
    }
    ACCURACY_SYSTEM_PROMPT {
        name: "--accuracy-system-prompt",
        kind: FlagType::Text,
        to: To::Key("accuracy.system_prompt"),
        status: NotYet("responses are not graded"),
    }
    ACCURACY_VERBOSE {
        name: "--accuracy-verbose",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("accuracy.verbose"),
        status: NotYet("responses are not graded"),
    }
}
