//! The whole configuration: one benchmark, its repetitions and its sweep.

use super::artifacts::Artifacts;
use super::dataset::Dataset;
use super::endpoint::Endpoint;
use super::limits::Limits;
use super::models::Models;
use super::observe::{GpuTelemetry, Mlflow, NetworkLatency, Otel, ServerMetrics, Wandb};
use super::phases::Phase;
use super::process::{Accuracy, Logging, Metrics, Runtime, Tokenizer};
use super::runs::MultiRun;
use super::sweep::Sweep;
use super::until::Until;
use crate::range::at_least;
use crate::setting::{List, section};
use serde_json::Value;

section! {
    /// All settings of a file.
    Envelope {
        /// Version of this layout
        schema_version: String = "2.0";
        /// What is run
        benchmark: Benchmark;
        /// Runs over a range of settings
        sweep: Sweep;
        /// Repeated runs
        multi_run: MultiRun;
        /// Plots: a file, or the settings themselves
        plot: Value;
        /// Values that templates use
        variables: Value;
        /// Seed of every random draw
        random_seed: i64 [at_least(0.0)];
        /// Run only what an earlier command left undone
        resume: bool = false;
        /// Do not log the per-cell sweep table
        no_sweep_table: bool = false;
        /// Limits that fail a run: exit code 3
        limits: Limits;
        /// Statistics that end the profiling phases when they are known so exactly
        until: Until;
        /// File for CI with the result of each limit, as JUnit XML
        junit: String;
    }
    /// What is run.
    Benchmark {
        /// Models to request
        models: Models;
        /// Where requests go
        endpoint: Endpoint;
        /// Conversations; exactly one dataset
        datasets: List<Dataset>;
        /// When they are sent
        phases: List<Phase>;
        /// What is written
        artifacts: Artifacts;
        /// Objectives a good request meets
        slos: Vec<(String, f64)>;
        /// What counts tokens
        tokenizer: Tokenizer;
        /// What the GPUs report during the run
        gpu_telemetry: GpuTelemetry;
        /// Metrics of the server
        server_metrics: ServerMetrics;
        /// Round-trip time of the network
        network_latency: NetworkLatency;
        /// Metrics sent by OTLP
        otel: Otel;
        /// Results sent to MLflow
        mlflow: Mlflow;
        /// Results sent to Weights & Biases
        wandb: Wandb;
        /// How the process behaves
        runtime: Runtime;
        /// What is logged
        logging: Logging;
        /// No settings
        metrics: Metrics;
        /// Grading of responses
        accuracy: Accuracy;
        /// Named lock of benchmark invariants
        scenario: String;
        /// Turn scenario lock errors into warnings
        unsafe_override: bool = false;
    }
}
