//! The attributes of points.

use super::messages::{KeyValue, Value};
use crate::records::metadata::RunIds;
use aiperf_plan::otlp::operation_name;
use aiperf_plan::{OtlpPlan, Plan};
use aiperf_types::{HistogramPoint, PhaseId, PhaseTargets};

/// The common attributes of the points of one run.
#[derive(Clone, Debug)]
pub(super) struct Attributes {
    ids: RunIds,
    /// The attributes that the conventions for generative AI require.
    conventions: [KeyValue; 3],
    /// By index: phases that share their kind with another, and so need their name.
    named: Vec<bool>,
}

impl Attributes {
    pub(super) fn of(plan: &Plan, otlp: &OtlpPlan) -> Self {
        let model = plan.models.first().map_or("", String::as_str);
        let of_kind = |kind| plan.phases.iter().filter(|phase| phase.kind == kind).count();
        Self {
            ids: RunIds::new(&plan.run.benchmark_id),
            conventions: [
                KeyValue::text("gen_ai.operation.name", operation_name(plan.endpoint.kind)),
                KeyValue::text("gen_ai.provider.name", otlp.provider.as_str()),
                KeyValue::text("gen_ai.request.model", model),
            ],
            named: plan.phases.iter().map(|phase| of_kind(phase.kind) > 1).collect(),
        }
    }

    pub(super) fn of_point(&self, point: &HistogramPoint, is_convention: bool) -> Vec<KeyValue> {
        let mut out = vec![KeyValue::text("aiperf.worker.id", self.ids.worker_id(point.worker))];
        let processor = point.record_thread.map(|number| self.ids.record_processor_id(number));
        out.extend(processor.map(|id| KeyValue::text("aiperf.record_processor.id", id)));
        out.extend(self.of_phase(&point.phase));
        out.push(KeyValue::new("aiperf.was_cancelled", Value::Bool(point.was_cancelled)));
        out.push(KeyValue::new("aiperf.has_error", Value::Bool(point.has_error)));
        if is_convention {
            out.extend(self.conventions.iter().cloned());
            out.extend(point.error_type.map(|kind| KeyValue::text("error.type", kind)));
            out.extend(point.token_type.map(|kind| KeyValue::text("gen_ai.token.type", kind)));
        }
        out
    }

    pub(super) fn of_timing(&self, phase: &PhaseId, targets: &PhaseTargets) -> Vec<KeyValue> {
        let count = |key: &str, count: u64| KeyValue::new(key, Value::Int(i64::try_from(count).unwrap_or(i64::MAX)));
        let mut out = self.of_phase(phase);
        out.extend(targets.requests.map(|requests| count("aiperf.total_expected_requests", requests)));
        let seconds = targets.length.map(|length| Value::Double(length.as_secs_f64()));
        out.extend(seconds.map(|seconds| KeyValue::new("aiperf.expected_duration_sec", seconds)));
        out.extend(targets.sessions.map(|sessions| count("aiperf.expected_num_sessions", sessions)));
        out.extend(self.conventions.iter().cloned());
        out
    }

    fn of_phase(&self, phase: &PhaseId) -> Vec<KeyValue> {
        let mut out = vec![KeyValue::text("aiperf.benchmark_phase", phase.kind.name())];
        if self.named.get(usize::from(phase.index)).copied().unwrap_or_default() {
            out.push(KeyValue::text("aiperf.phase_name", &*phase.name));
        }
        out
    }
}
