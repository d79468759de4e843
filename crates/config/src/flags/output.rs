//! Flags: Output, HTTP Trace.

use super::flag::Status::{Acts, NotYet};
use super::flag::{BASE, Flag, Kind, Takes, To};
use crate::choice::Choice;
use crate::range::more_than;
use aiperf_plan::ExportLevel;

pub(super) static OUTPUT: &[Flag] = &[
    Flag {
        name: "--output-artifact-dir",
        kind: Kind::Path,
        aliases: &["--artifact-dir"],
        default: Some("artifacts/<model>-<service>-<type>-<load>"),
        to: To::Key("artifacts.dir"),
        status: Acts,
        summary: "Output directory, used as given when set",
        ..BASE
    },
    Flag {
        name: "--profile-export-prefix",
        kind: Kind::Path,
        aliases: &["--profile-export-file"],
        to: To::Rule("artifacts.prefix"),
        status: Acts,
        summary: "Base name of all export files; a file extension is removed",
        ..BASE
    },
    Flag {
        name: "--export-level",
        kind: Kind::Choice(ExportLevel::NAMES),
        aliases: &["--profile-export-level"],
        default: Some("records"),
        to: To::Rule("artifacts.records"),
        status: Acts,
        summary: "Detail of exports",
        but: Some("summary and records so far"),
        ..BASE
    },
    Flag {
        name: "--slice-duration",
        kind: Kind::Float(more_than(0.0)),
        to: To::Key("artifacts.slice_duration"),
        status: Acts,
        summary: "Seconds per timeslice; enables timeslice exports",
        ..BASE
    },
    Flag {
        name: "--auto-plot",
        kind: Kind::Bool,
        negation: Some("--no-auto-plot"),
        takes: Takes::Nothing,
        to: To::Rule("artifacts.auto_plot"),
        status: NotYet("plots are not drawn"),
        summary: "Plot after the run; unset means the recipe decides",
        ..BASE
    },
    Flag {
        name: "--plot-required",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        to: To::Rule("artifacts.plot_required"),
        status: NotYet("plots are not drawn"),
        summary: "Make plotting failures fatal",
        ..BASE
    },
    Flag {
        name: "--export-outputs-json",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        to: To::Key("artifacts.export_outputs_json"),
        status: NotYet("generated texts are not kept"),
        summary: "Write response texts to outputs.json",
        ..BASE
    },
    Flag {
        name: "--otel-url",
        kind: Kind::Text,
        to: To::Rule("otel.metrics_url"),
        status: NotYet("metrics are not sent by OTLP"),
        summary: "OTLP/HTTP metrics endpoint; enables streaming",
        ..BASE
    },
    Flag {
        name: "--stream",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: true },
        to: To::Rule("otel.stream_metrics_enabled"),
        status: NotYet("metrics are not sent by OTLP"),
        summary: "Which record kinds to stream",
        ..BASE
    },
    Flag {
        name: "--otel-resource-attributes",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: true },
        to: To::Rule("otel.custom_resource_attributes"),
        status: NotYet("metrics are not sent by OTLP"),
        summary: "Extra resource attributes, key=value",
        ..BASE
    },
    Flag {
        name: "--gen-ai-provider",
        kind: Kind::Text,
        to: To::Key("otel.gen_ai_provider"),
        status: NotYet("metrics are not sent by OTLP"),
        summary: "Provider name in GenAI attributes",
        ..BASE
    },
    Flag {
        name: "--mlflow-tracking-uri",
        kind: Kind::Text,
        to: To::Key("mlflow.tracking_uri"),
        status: NotYet("results are not sent to MLflow"),
        summary: "MLflow server; enables upload",
        ..BASE
    },
    Flag {
        name: "--mlflow-experiment",
        kind: Kind::Text,
        to: To::Key("mlflow.experiment"),
        status: NotYet("results are not sent to MLflow"),
        summary: "MLflow experiment name",
        ..BASE
    },
    Flag {
        name: "--mlflow-run-name",
        kind: Kind::Text,
        to: To::Key("mlflow.run_name"),
        status: NotYet("results are not sent to MLflow"),
        summary: "MLflow run name",
        ..BASE
    },
    Flag {
        name: "--mlflow-tag",
        kind: Kind::Tags,
        takes: Takes::Many { comma: false, space: true },
        to: To::Rule("mlflow.tags"),
        status: NotYet("results are not sent to MLflow"),
        summary: "MLflow tags, key:value",
        ..BASE
    },
    Flag {
        name: "--mlflow-parent-run-id",
        kind: Kind::Text,
        to: To::Key("mlflow.parent_run_id"),
        status: NotYet("results are not sent to MLflow"),
        summary: "MLflow parent run",
        ..BASE
    },
    Flag {
        name: "--mlflow-artifact-glob",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: true },
        to: To::Key("mlflow.artifact_globs"),
        status: NotYet("results are not sent to MLflow"),
        summary: "Which files to upload",
        ..BASE
    },
    Flag {
        name: "--wandb-project",
        kind: Kind::Text,
        to: To::Key("wandb.project"),
        status: NotYet("results are not sent to Weights & Biases"),
        summary: "W&B project; enables upload",
        ..BASE
    },
    Flag {
        name: "--wandb-entity",
        kind: Kind::Text,
        to: To::Key("wandb.entity"),
        status: NotYet("results are not sent to Weights & Biases"),
        summary: "W&B team or user",
        ..BASE
    },
    Flag {
        name: "--wandb-run-name",
        kind: Kind::Text,
        to: To::Key("wandb.run_name"),
        status: NotYet("results are not sent to Weights & Biases"),
        summary: "W&B run name",
        ..BASE
    },
    Flag {
        name: "--wandb-tag",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: true },
        to: To::Key("wandb.tags"),
        status: NotYet("results are not sent to Weights & Biases"),
        summary: "W&B tags",
        ..BASE
    },
];

pub(super) static HTTP_TRACE: &[Flag] = &[
    Flag {
        name: "--export-http-trace",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        to: To::Key("artifacts.trace"),
        status: NotYet("the HTTP trace is not written"),
        summary: "Add HTTP trace data to record exports",
        ..BASE
    },
    Flag {
        name: "--show-trace-timing",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        to: To::Key("artifacts.show_trace_timing"),
        status: Acts,
        summary: "Show the HTTP timing table on the console",
        ..BASE
    },
];
