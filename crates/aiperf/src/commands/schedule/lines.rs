//! A line of JSON for each dispatch.

use aiperf_campaign::rehearsal::Dispatch;
use aiperf_types::Nanos;
use std::io::{self, Write};

/// Writes one dispatch. Times are seconds from the start of the run, to the nanosecond.
pub(super) fn write(
    out: &mut impl Write,
    phase: &str,
    at: Nanos,
    intended: Nanos,
    dispatch: &Dispatch,
) -> io::Result<()> {
    let Dispatch { number, session, conversation, turn, turns, url, .. } = *dispatch;
    write!(
        out,
        "{{\"t_s\":{},\"intended_s\":{},\"phase\":\"{}\",\"number\":{number},\"session\":{session},\
         \"conversation\":{conversation},\"turn\":{turn},\"turns\":{turns},\"url\":{url},\"cancel_after_ms\":",
        seconds(at),
        seconds(intended),
        escape(phase),
    )?;
    match dispatch.cancel_after {
        Some(after) => write!(out, "{:?}", after.as_millis_f64())?,
        None => write!(out, "null")?,
    }
    match dispatch.scheduled_send_ms {
        Some(ms) if ms.is_finite() => writeln!(out, ",\"scheduled_send_ms\":{ms:?}}}"),
        _ => writeln!(out, ",\"scheduled_send_ms\":null}}"),
    }
}

fn seconds(at: Nanos) -> String {
    format!("{}.{:09}", at.0 / 1_000_000_000, at.0 % 1_000_000_000)
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}
