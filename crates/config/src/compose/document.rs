//! The document that flags without a file are laid over: the defaults.

use crate::choice::Choice;
use crate::sections::dataset::Dataset;
use crate::sections::endpoint::Endpoint;
use crate::sections::observe::ServerMetrics;
use crate::sections::phases::PhaseType;
use crate::setting::Setting;
use crate::tree::{Node, Origin};
use aiperf_types::PhaseKind;
use serde_json::json;

/// One dataset and one profiling phase, with the defaults that are always exported.
pub(crate) fn empty() -> Node {
    let profiling = PhaseKind::Profiling.name();
    let formats = ServerMetrics::default().formats().write();
    let document = json!({"benchmark": {
        "models": {"items": []},
        "endpoint": {"urls": Endpoint::default().urls().write()},
        "datasets": [{"name": "main", "type": Dataset::default().r#type().name()}],
        "phases": [{"name": profiling, "kind": profiling, "type": PhaseType::DEFAULT.name()}],
        "artifacts": {"auto_plot": false, "plot_required": false},
        "tokenizer": {},
        "gpu_telemetry": {"enabled": true},
        "server_metrics": {"enabled": true, "urls": [], "formats": formats},
        "otel": {},
        "mlflow": {},
        "wandb": {},
    }});
    Node::from_json(&document, &Origin::Rule)
}
