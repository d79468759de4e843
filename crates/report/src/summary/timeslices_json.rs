//! Time slices as JSON: the results of the requests that started in each, and the configuration of the run.
//!
//! A slice takes about 25 KB, and a long run has tens of thousands: one at a time is in memory as text.

use super::json::{in_file_order, push_metric};
use crate::export::Exporter;
use crate::format::json::Pretty;
use crate::run::RunResult;
use aiperf_metrics::Slice;
use std::io::{self, Write};

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "timeslices_json",
    label: "Timeslice JSON Export",
    file: |names| &names.timeslices_json,
    applies: Some(|run| !run.slices.is_empty()),
    needs_observers: false,
    write: |run, folder| {
        folder.write(&run.artifacts.names.timeslices_json, |out| write_timeslices_json(out, run));
    },
};

/// Writes the slices of a run in which a request started. Slice numbers count from the start of the run, so that a gap
/// is visible.
pub fn write_timeslices_json(out: &mut impl Write, run: &RunResult) -> io::Result<()> {
    let mut json = Pretty::default();
    json.begin_object();
    json.key("timeslices");
    json.begin_list();
    for slice in &run.slices {
        push_slice(&mut json, slice);
        out.write_all(&json.take())?;
    }
    json.end_list();
    json.key("input_config");
    json.value(&run.input_config);
    json.end_object();
    out.write_all(&json.finish())
}

fn push_slice(json: &mut Pretty, slice: &Slice) {
    json.begin_object();
    for (key, number) in [("start_ns", slice.start.0), ("end_ns", slice.end.0), ("index", slice.index)] {
        json.key(key);
        json.int(number);
    }
    if !slice.complete {
        json.key("is_complete");
        json.bool(false);
    }
    let (leading, others) = in_file_order(&slice.summary);
    leading.iter().chain(&others).for_each(|metric| push_metric(json, metric));
    json.end_object();
}
