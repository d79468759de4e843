//! Flags: output, http trace.

use super::Status::*;
use super::*;

pub(super) const OUTPUT: &[Flag] = &[
    Flag {
        name: "--output-artifact-dir",
        kind: Kind::Path,
        aliases: &["--artifact-dir"],
        default: Some("artifacts"),
        path: "artifacts.dir",
        status: Acts,
        summary: "Output directory, used as given when set",
        ..BASE
    },
    Flag {
        name: "--profile-export-prefix",
        kind: Kind::Path,
        aliases: &["--profile-export-file"],
        path: "artifacts.prefix",
        status: Acts,
        summary: "Base name of all export files; a file extension is removed",
        ..BASE
    },
    Flag {
        name: "--export-level",
        kind: Kind::Choice(&["summary", "records", "raw"]),
        aliases: &["--profile-export-level"],
        default: Some("records"),
        path: "artifacts.records / .raw",
        status: Acts,
        summary: "Detail of exports",
        ..BASE
    },
    Flag {
        name: "--slice-duration",
        kind: Kind::Float(more_than(0.0)),
        path: "artifacts.slice_duration",
        status: NotYet("its feature does not exist yet"),
        summary: "Seconds per timeslice; enables timeslice exports",
        ..BASE
    },
    Flag {
        name: "--auto-plot",
        kind: Kind::Bool,
        negation: Some("--no-auto-plot"),
        takes: Takes::Nothing,
        path: "artifacts.auto_plot",
        status: NotYet("its feature does not exist yet"),
        summary: "Plot after the run; unset means the recipe decides",
        ..BASE
    },
    Flag {
        name: "--plot-required",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "artifacts.plot_required",
        status: NotYet("its feature does not exist yet"),
        summary: "Make plotting failures fatal",
        ..BASE
    },
    Flag {
        name: "--export-outputs-json",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "artifacts.export_outputs_json",
        status: NotYet("its feature does not exist yet"),
        summary: "Write response texts to outputs.json",
        ..BASE
    },
    Flag {
        name: "--otel-url",
        kind: Kind::Text,
        path: "otel.metrics_url",
        status: NotYet("its feature does not exist yet"),
        summary: "OTLP/HTTP metrics endpoint; enables streaming",
        ..BASE
    },
    Flag {
        name: "--stream",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: true },
        path: "otel.stream_metrics_enabled / .stream_timing_enabled",
        status: NotYet("its feature does not exist yet"),
        summary: "Which record kinds to stream",
        ..BASE
    },
    Flag {
        name: "--otel-resource-attributes",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: true },
        path: "otel.custom_resource_attributes",
        status: NotYet("its feature does not exist yet"),
        summary: "Extra resource attributes, key=value",
        ..BASE
    },
    Flag {
        name: "--gen-ai-provider",
        kind: Kind::Text,
        path: "otel.gen_ai_provider",
        status: NotYet("its feature does not exist yet"),
        summary: "Provider name in GenAI attributes",
        ..BASE
    },
    Flag {
        name: "--mlflow-tracking-uri",
        kind: Kind::Text,
        path: "mlflow.tracking_uri",
        status: NotYet("its feature does not exist yet"),
        summary: "MLflow server; enables upload",
        ..BASE
    },
    Flag {
        name: "--mlflow-experiment",
        kind: Kind::Text,
        path: "mlflow.experiment",
        status: NotYet("its feature does not exist yet"),
        summary: "MLflow experiment name",
        ..BASE
    },
    Flag {
        name: "--mlflow-run-name",
        kind: Kind::Text,
        path: "mlflow.run_name",
        status: NotYet("its feature does not exist yet"),
        summary: "MLflow run name",
        ..BASE
    },
    Flag {
        name: "--mlflow-tag",
        kind: Kind::Tags,
        takes: Takes::Many { comma: true, space: true },
        path: "mlflow.tags",
        status: NotYet("its feature does not exist yet"),
        summary: "MLflow tags, key:value",
        ..BASE
    },
    Flag {
        name: "--mlflow-parent-run-id",
        kind: Kind::Text,
        path: "mlflow.parent_run_id",
        status: NotYet("its feature does not exist yet"),
        summary: "MLflow parent run",
        ..BASE
    },
    Flag {
        name: "--mlflow-artifact-glob",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: true },
        path: "mlflow.artifact_globs",
        status: NotYet("its feature does not exist yet"),
        summary: "Which files to upload",
        ..BASE
    },
    Flag {
        name: "--wandb-project",
        kind: Kind::Text,
        path: "wandb.project",
        status: NotYet("its feature does not exist yet"),
        summary: "W&B project; enables upload",
        ..BASE
    },
    Flag {
        name: "--wandb-entity",
        kind: Kind::Text,
        path: "wandb.entity",
        status: NotYet("its feature does not exist yet"),
        summary: "W&B team or user",
        ..BASE
    },
    Flag {
        name: "--wandb-run-name",
        kind: Kind::Text,
        path: "wandb.run_name",
        status: NotYet("its feature does not exist yet"),
        summary: "W&B run name",
        ..BASE
    },
    Flag {
        name: "--wandb-tag",
        kind: Kind::Texts,
        takes: Takes::Many { comma: true, space: true },
        path: "wandb.tags",
        status: NotYet("its feature does not exist yet"),
        summary: "W&B tags",
        ..BASE
    },
];

pub(super) const HTTP_TRACE: &[Flag] = &[
    Flag {
        name: "--export-http-trace",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "artifacts.trace",
        status: NotYet("its feature does not exist yet"),
        summary: "Add HTTP trace data to record exports",
        ..BASE
    },
    Flag {
        name: "--show-trace-timing",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "artifacts.show_trace_timing",
        status: NotYet("its feature does not exist yet"),
        summary: "Show the HTTP timing table on the console",
        ..BASE
    },
];
