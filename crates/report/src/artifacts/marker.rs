//! The ready marker: written last, so that programs that wait for a run know that its files are complete.

use crate::format::json::push_str;

/// The marker's text. A run is partial when an exporter failed or records are lost.
pub(crate) fn ready_marker(was_cancelled: bool, has_lost_records: bool, failed_exporters: &[&str]) -> Vec<u8> {
    let partial = has_lost_records || !failed_exporters.is_empty();
    let mut out = format!("{{\"ready\":true,\"was_cancelled\":{was_cancelled},\"partial\":{partial}").into_bytes();
    for (at, name) in failed_exporters.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b",\"failed_exporters\":[" } else { b"," });
        push_str(&mut out, name);
    }
    out.extend_from_slice(if failed_exporters.is_empty() { b"}" } else { b"]}" });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marker_names_exporters_only_when_some_failed() {
        assert_eq!(ready_marker(false, false, &[]), br#"{"ready":true,"was_cancelled":false,"partial":false}"#);
        assert_eq!(
            ready_marker(true, false, &["csv", "json"]),
            br#"{"ready":true,"was_cancelled":true,"partial":true,"failed_exporters":["csv","json"]}"#
        );
    }

    #[test]
    fn a_run_with_lost_records_is_partial() {
        assert_eq!(ready_marker(false, true, &[]), br#"{"ready":true,"was_cancelled":false,"partial":true}"#);
    }
}
