//! One message with all values: cumulative, from one start.

use super::attributes::Attributes;
use super::messages::{
    Data, ExportMetricsServiceRequest, Histogram, HistogramDataPoint, InstrumentationScope, Metric, Number,
    NumberDataPoint, Resource, ResourceMetrics, ScopeMetrics, Sum, Temporality,
};
use super::resource::resource;
use super::timing::{COUNTERS, GAUGES, PhaseTiming, Timing};
use aiperf_plan::{OtlpPlan, Plan};
use aiperf_types::{Histograms, MonoNs, RunEvent, WallAnchor};
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use std::io::Write;
use std::sync::Arc;

/// The reference's name of the part that measures.
const SCOPE: &str = "aiperf.records";

/// The state of a run to send, as far as it is known.
pub struct Exporting {
    resource: Resource,
    attributes: Attributes,
    anchor: WallAnchor,
    /// The start of all cumulative values.
    start: MonoNs,
    histograms: Option<Arc<Histograms>>,
    /// `None` if it is not enabled.
    timing: Option<Timing>,
    gzip: bool,
}

impl Exporting {
    /// The exporter of a plan; `version` is that of the program.
    pub fn new(plan: &Plan, otlp: &OtlpPlan, version: &str, anchor: WallAnchor, now: MonoNs) -> Self {
        Self {
            resource: resource(plan, otlp, version),
            attributes: Attributes::of(plan, otlp),
            anchor,
            start: now,
            histograms: None,
            timing: otlp.timing.then(Timing::default),
            gzip: otlp.gzip,
        }
    }

    /// Updates the state with an event.
    pub fn hear(&mut self, event: &RunEvent) {
        if let RunEvent::Histograms(histograms) | RunEvent::RecordsComplete(Some(histograms)) = event {
            self.histograms = Some(histograms.clone());
        }
        if let Some(timing) = &mut self.timing {
            timing.hear(event);
        }
    }

    /// The body of an export: all values so far; `None` before there are any.
    pub fn body(&self, now: MonoNs) -> Option<Vec<u8>> {
        let message = self.message(now)?.encode_to_vec();
        if !self.gzip {
            return Some(message);
        }
        let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
        // Writing to memory cannot fail.
        zipped.write_all(&message).and_then(|()| zipped.finish()).ok()
    }

    /// Header fields that describe a body.
    pub fn headers(&self) -> Vec<(String, String)> {
        let plain = [("Content-Type", "application/x-protobuf"), ("Accept", "application/x-protobuf")];
        let zipped = self.gzip.then_some(("Content-Encoding", "gzip"));
        plain.into_iter().chain(zipped).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn message(&self, now: MonoNs) -> Option<ExportMetricsServiceRequest> {
        let mut metrics = self.of_phases(now);
        metrics.extend(self.of_records(now));
        if metrics.is_empty() {
            return None;
        }
        let scope = Some(InstrumentationScope { name: SCOPE.to_owned() });
        let resource = Some(self.resource.clone());
        let scope_metrics = vec![ScopeMetrics { scope, metrics }];
        Some(ExportMetricsServiceRequest { resource_metrics: vec![ResourceMetrics { resource, scope_metrics }] })
    }

    fn of_records(&self, now: MonoNs) -> Vec<Metric> {
        let (start, time) = self.times(now);
        let histograms = self.histograms.iter().flat_map(|histograms| &histograms.histograms);
        let metric = |histogram: &aiperf_types::Histogram| {
            let points = histogram.points.iter().map(|point| HistogramDataPoint {
                start_time_unix_nano: start,
                time_unix_nano: time,
                count: point.count,
                sum: Some(point.sum),
                bucket_counts: point.buckets.clone(),
                explicit_bounds: histogram.bounds.to_vec(),
                attributes: self.attributes.of_point(point, histogram.is_convention),
                min: Some(point.min),
                max: Some(point.max),
            });
            let histogram_data =
                Histogram { data_points: points.collect(), aggregation_temporality: Temporality::Cumulative.into() };
            Metric {
                name: histogram.name.to_string(),
                description: histogram.description.to_string(),
                unit: histogram.unit.to_owned(),
                data: Some(Data::Histogram(histogram_data)),
            }
        };
        histograms.map(metric).collect()
    }

    fn of_phases(&self, now: MonoNs) -> Vec<Metric> {
        let counters = COUNTERS.iter().map(|counter| {
            let sum = self.sum(true, now, |phase| phase.counter(*counter));
            named(counter.0, format!("AIPerf timing counter: {}", counter.1), "1", sum)
        });
        let gauges = GAUGES.iter().enumerate().map(|(place, (name, field, unit, _))| {
            let sum = self.sum(false, now, |phase| phase.gauge(place, now));
            named(name, format!("AIPerf timing gauge metric: {field}"), unit, sum)
        });
        let has_points = |metric: &Metric| matches!(&metric.data, Some(Data::Sum(sum)) if !sum.data_points.is_empty());
        counters.chain(gauges).filter(has_points).collect()
    }

    fn sum(&self, is_monotonic: bool, now: MonoNs, value: impl Fn(&PhaseTiming) -> Option<f64>) -> Sum {
        let (start, time) = self.times(now);
        let point = |phase: &PhaseTiming| {
            Some(NumberDataPoint {
                start_time_unix_nano: start,
                time_unix_nano: time,
                value: Some(Number::Double(value(phase)?)),
                attributes: self.attributes.of_timing(&phase.phase, &phase.targets),
            })
        };
        let phases = self.timing.iter().flat_map(|timing| &timing.phases);
        Sum {
            data_points: phases.filter_map(point).collect(),
            aggregation_temporality: Temporality::Cumulative.into(),
            is_monotonic,
        }
    }

    fn times(&self, now: MonoNs) -> (u64, u64) {
        (self.anchor.wall(self.start).0, self.anchor.wall(now).0)
    }
}

fn named(name: &str, description: String, unit: &str, sum: Sum) -> Metric {
    Metric { name: format!("aiperf.timing.{name}"), description, unit: unit.to_owned(), data: Some(Data::Sum(sum)) }
}
