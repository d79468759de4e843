//! Flags: Output, HTTP Trace.

use super::flag::Status::{Acts, NotYet};
use super::flag::{FlagType, Takes, To, WhenAbsent, flags};
use crate::choice::Choice;
use aiperf_plan::ExportLevel;

flags! { OUTPUT_FLAGS:
    OUTPUT_ARTIFACT_DIR {
        name: "--output-artifact-dir",
        kind: FlagType::Path,
        aliases: &["--artifact-dir"],
        default: Some(WhenAbsent::Words("artifacts/<model>-<service>-<type>-<load>")),
        to: To::Key("artifacts.dir"),
        status: Acts,
        summary: "Output directory, used as given when set",
    }
    PROFILE_EXPORT_PREFIX {
        name: "--profile-export-prefix",
        kind: FlagType::Path,
        aliases: &["--profile-export-file"],
        to: To::Rule("artifacts.prefix"),
        status: Acts,
        summary: "Base name of all export files; a file extension is removed",
    }
    EXPORT_LEVEL {
        name: "--export-level",
        kind: FlagType::Choice(ExportLevel::NAMES),
        aliases: &["--profile-export-level"],
        default: Some(WhenAbsent::Made(|| ExportLevel::default().name().to_owned())),
        to: To::Rule("artifacts.records"),
        status: Acts,
        summary: "Detail of exports: the summary; also one record per request; also raw requests and responses",
    }
    NO_RECORDS_PARQUET {
        name: "--no-records-parquet",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Rule("artifacts.records"),
        status: Acts,
        summary: "Write records as JSON lines only, without Parquet",
    }
    SLICE_DURATION {
        name: "--slice-duration",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Key("artifacts.slice_duration"),
        status: Acts,
        summary: "Seconds per timeslice; enables timeslice exports",
    }
    AUTO_PLOT {
        name: "--auto-plot",
        kind: FlagType::Bool,
        negation: Some("--no-auto-plot"),
        takes: Takes::Nothing,
        to: To::Rule("artifacts.auto_plot"),
        status: NotYet("plots are not drawn"),
        summary: "Plot after the run; unset means the recipe decides",
    }
    PLOT_REQUIRED {
        name: "--plot-required",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Rule("artifacts.plot_required"),
        status: NotYet("plots are not drawn"),
        summary: "Make plotting failures fatal",
    }
    EXPORT_OUTPUTS_JSON {
        name: "--export-outputs-json",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("artifacts.export_outputs_json"),
        status: Acts,
    }
    OTEL_URL {
        name: "--otel-url",
        kind: FlagType::Text,
        to: To::Rule("otel.metrics_url"),
        status: Acts,
        summary: "Send metrics by OTLP over HTTP to this URL during the run; /v1/metrics is added",
    }
    STREAM {
        name: "--stream",
        kind: FlagType::Texts,
        takes: Takes::Many { comma: true, space: true },
        to: To::Rule("otel.stream_metrics_enabled"),
        status: Acts,
        summary: "What is sent to --otel-url: metrics, timing, default (both) or none",
    }
    OTEL_RESOURCE_ATTRIBUTES {
        name: "--otel-resource-attributes",
        kind: FlagType::Texts,
        takes: Takes::Many { comma: true, space: true },
        to: To::Rule("otel.custom_resource_attributes"),
        status: Acts,
        summary: "Resource attributes for --otel-url, key=value",
    }
    GEN_AI_PROVIDER {
        name: "--gen-ai-provider",
        kind: FlagType::Text,
        to: To::Key("otel.gen_ai_provider"),
        status: Acts,
    }
    MLFLOW_TRACKING_URI {
        name: "--mlflow-tracking-uri",
        kind: FlagType::Text,
        to: To::Key("mlflow.tracking_uri"),
        status: NotYet("results are not sent to MLflow"),
        summary: "MLflow server; enables upload",
    }
    MLFLOW_EXPERIMENT {
        name: "--mlflow-experiment",
        kind: FlagType::Text,
        to: To::Key("mlflow.experiment"),
        status: NotYet("results are not sent to MLflow"),
    }
    MLFLOW_RUN_NAME {
        name: "--mlflow-run-name",
        kind: FlagType::Text,
        to: To::Key("mlflow.run_name"),
        status: NotYet("results are not sent to MLflow"),
    }
    MLFLOW_TAG {
        name: "--mlflow-tag",
        kind: FlagType::Tags,
        takes: Takes::Many { comma: false, space: true },
        to: To::Rule("mlflow.tags"),
        status: NotYet("results are not sent to MLflow"),
        summary: "MLflow tags, key:value",
    }
    MLFLOW_PARENT_RUN_ID {
        name: "--mlflow-parent-run-id",
        kind: FlagType::Text,
        to: To::Key("mlflow.parent_run_id"),
        status: NotYet("results are not sent to MLflow"),
    }
    MLFLOW_ARTIFACT_GLOB {
        name: "--mlflow-artifact-glob",
        kind: FlagType::Texts,
        takes: Takes::Many { comma: true, space: true },
        to: To::Key("mlflow.artifact_globs"),
        status: NotYet("results are not sent to MLflow"),
    }
    WANDB_PROJECT {
        name: "--wandb-project",
        kind: FlagType::Text,
        to: To::Key("wandb.project"),
        status: NotYet("results are not sent to Weights & Biases"),
        summary: "W&B project; enables upload",
    }
    WANDB_ENTITY {
        name: "--wandb-entity",
        kind: FlagType::Text,
        to: To::Key("wandb.entity"),
        status: NotYet("results are not sent to Weights & Biases"),
    }
    WANDB_RUN_NAME {
        name: "--wandb-run-name",
        kind: FlagType::Text,
        to: To::Key("wandb.run_name"),
        status: NotYet("results are not sent to Weights & Biases"),
    }
    WANDB_TAG {
        name: "--wandb-tag",
        kind: FlagType::Texts,
        takes: Takes::Many { comma: true, space: true },
        to: To::Key("wandb.tags"),
        status: NotYet("results are not sent to Weights & Biases"),
    }
}

flags! { HTTP_TRACE_FLAGS:
    EXPORT_HTTP_TRACE {
        name: "--export-http-trace",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("artifacts.trace"),
        status: Acts,
    }
    SHOW_TRACE_TIMING {
        name: "--show-trace-timing",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("artifacts.show_trace_timing"),
        status: Acts,
    }
}
