//! Adds exchanges to the costs of reading and sending.

use crate::recording::record::Record;
use aiperf_metrics::Quality;
use aiperf_tokenize::GivenUp;
use aiperf_types::{Exchange, Failure, MonoNs, Nanos, Read, Timeline};

/// A request that takes longer from its start to its first attempt to connect has waited.
const STEPS_BEFORE_CONNECT: Nanos = Nanos(1_000_000);

/// Adds one exchange.
pub(crate) fn add(quality: &mut Quality, exchange: &Exchange, record: &Record) {
    let timeline = &exchange.timeline;
    for read in &timeline.reads {
        if read.lag == Read::NO_STAMP {
            quality.unstamped_reads += 1;
        } else {
            quality.receive_lag.add(u64::from(read.lag));
        }
    }
    let parsed = &record.parsed;
    quality.events += record.measured.content.len() as u64;
    // A failed request has no instants of content, so none of them is in doubt.
    if record.measured.error.is_none() {
        quality.merged_events += u64::from(parsed.merged);
        quality.merged_late += u64::from(parsed.merged_late);
        quality.merged_width_sum += u128::from(parsed.merged_width_sum);
        quality.merged_width_max = quality.merged_width_max.max(parsed.merged_width_max);
    }
    quality.left_open += u64::from(timeline.left_open);
    quality.schedule_lateness.add(timeline.issued.since(timeline.intended).0);
    if timeline.send_start != MonoNs(0) {
        let to_wire = timeline.send_start.since(timeline.issued).0;
        if timeline.reused {
            quality.issue_to_wire.add(to_wire);
        } else {
            quality.issue_to_wire_connecting.add(to_wire);
        }
    }
    if let Some(wait) = exchange.tag.body_wait {
        quality.late_bodies.add(wait.0);
    }
    if timeline.connect_wait.0 != MonoNs(0) {
        quality.connect_wait.add(timeline.connect_wait.1.since(timeline.connect_wait.0).0);
    }
    add_place_wait(quality, timeline);
    quality.connection_retries += u64::from(timeline.connection_retries);
    quality.syn_retransmits += u64::from(timeline.syn_retransmits);
    quality.tls_handshakes += u64::from(timeline.tls.1 != MonoNs(0));
    quality.tls_resumed += u64::from(timeline.tls_resumed);
    quality.redirects += timeline.earlier_legs.iter().filter(|leg| leg.status.is_some()).count() as u64;
    quality.no_room += u64::from(matches!(exchange.failure, Some(Failure::NoRoom { .. })));
    quality.not_streamed += u64::from(record.did_not_stream);
    quality.unreadable_events += u64::from(parsed.unreadable);
    quality.unfinished_streams += u64::from(parsed.is_unfinished && record.measured.error.is_none());
    quality.short_of_vectors += u64::from(record.lacks_vectors);
    quality.unreadable_usage += u64::from(parsed.unreadable_usage);
    quality.doubtful_usage += u64::from(record.has_doubtful_usage);
    quality.without_counts += u64::from(record.without_counts);
    quality.refused_by_chat_template += u64::from(record.refused_by_chat_template);
    quality.uncounted_after_stop += u64::from(record.uncounted == Some(GivenUp::Stopped));
    quality.too_long_to_count += u64::from(record.uncounted == Some(GivenUp::TooLong));
    quality.uncountable += u64::from(record.uncounted == Some(GivenUp::Uncountable));
    if let Some(fault) = parsed.spec_decode_fault {
        quality.spec_decode_faults.add(record.measured.start_wall, fault);
    }
}

/// Adds one that the run itself cut off. It shows nothing of the server.
pub(crate) fn add_cut_off(quality: &mut Quality, exchange: &Exchange) {
    if exchange.failure == Some(Failure::NeverBegun) {
        quality.never_begun += 1;
        return;
    }
    quality.cut_off += 1;
    add_place_wait(quality, &exchange.timeline);
}

fn add_place_wait(quality: &mut Quality, timeline: &Timeline) {
    if let Some(wait) = place_wait(timeline) {
        quality.place_wait.add(wait.0);
    }
}

/// How long a request waited because all connections were in use, if it did.
fn place_wait(timeline: &Timeline) -> Option<Nanos> {
    let (since, until) = timeline.blocked;
    let connect = timeline.connect_wait.0;
    match (until, connect) {
        (MonoNs(0), _) => None,
        (until, MonoNs(0)) => Some(until.since(since)),
        // A wait to connect followed; the microseconds before it may be those of the code between.
        (_, connect) => Some(connect.since(since)).filter(|wait| *wait > STEPS_BEFORE_CONNECT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_connection_is_not_waiting_to_open_one() {
        let at = |ms: u64| MonoNs(1_000_000_000 + ms * 1_000_000);
        let none = (MonoNs(0), MonoNs(0));
        let wait = |blocked, connect_wait| {
            place_wait(&Timeline { leg_start: at(0), blocked, connect_wait, ..Timeline::default() })
        };
        assert_eq!(wait(none, none), None);
        assert_eq!(wait((at(0), at(30)), none), Some(Nanos(30_000_000)));
        assert_eq!(wait((at(0), at(30)), (at(0), at(30))), None);
        assert_eq!(wait((at(0), at(30)), (at(20), at(30))), Some(Nanos(20_000_000)));
    }
}
