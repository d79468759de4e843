//! Settings from `AIPERF_*` variables.

use crate::error::Problem;
use crate::nearest::nearest;
use aiperf_plan::HttpSettings;
use std::collections::BTreeMap;

/// A variable this design has a use for.
struct Variable {
    name: &'static str,
    low: u32,
    high: u32,
    set: fn(&mut HttpSettings, u32),
}

const NUMBERS: &[Variable] = &[
    Variable { name: "AIPERF_HTTP_CONNECTION_LIMIT", low: 1, high: 65_000, set: |http, n| http.connection_limit = n },
    Variable {
        name: "AIPERF_HTTP_KEEPALIVE_TIMEOUT",
        low: 0,
        high: 10_000,
        set: |http, n| http.keepalive_timeout_seconds = n.into(),
    },
    Variable { name: "AIPERF_HTTP_SO_RCVBUF", low: 1024, high: i32::MAX as u32, set: |http, n| http.recv_buffer = n },
    Variable { name: "AIPERF_HTTP_SO_SNDBUF", low: 1024, high: i32::MAX as u32, set: |http, n| http.send_buffer = n },
    Variable { name: "AIPERF_HTTP_TCP_KEEPCNT", low: 1, high: 100, set: |http, n| http.keep_count = n },
    Variable { name: "AIPERF_HTTP_TCP_KEEPIDLE", low: 1, high: 100_000, set: |http, n| http.keep_idle = n },
    Variable { name: "AIPERF_HTTP_TCP_KEEPINTVL", low: 1, high: 100_000, set: |http, n| http.keep_interval = n },
    Variable { name: "AIPERF_HTTP_TCP_USER_TIMEOUT", low: 1, high: 1_000_000, set: |http, n| http.user_timeout_ms = n },
];
const AFFINITY: &str = "AIPERF_HTTP_X_SESSION_AFFINITY_FROM_CORRELATION_ID";

/// HTTP settings from the environment, and a note for each variable nobody knows.
pub(crate) fn http(env: &BTreeMap<String, String>) -> Result<(HttpSettings, Vec<String>), Vec<Problem>> {
    let mut http = HttpSettings::default();
    let (mut problems, mut notes) = (Vec::new(), Vec::new());
    for (key, value) in env {
        let name = key.to_ascii_uppercase();
        if !name.starts_with("AIPERF_") {
            continue;
        }
        if let Some(variable) = NUMBERS.iter().find(|variable| variable.name == name) {
            match value.trim().parse::<u32>() {
                Ok(n) if (variable.low..=variable.high).contains(&n) => (variable.set)(&mut http, n),
                _ => problems.push(Problem::new(format!(
                    "{name}={value} must be a whole number between {} and {}",
                    variable.low, variable.high
                ))),
            }
        } else if name == AFFINITY {
            match boolean(value) {
                Some(on) => http.session_affinity = on,
                None => problems.push(Problem::new(format!("{name}={value} is neither true nor false"))),
            }
        } else {
            let known = NUMBERS.iter().map(|variable| variable.name).chain([AFFINITY]);
            notes.push(match nearest(&name, known) {
                Some(near) => format!("unknown environment variable {key} is not used; did you mean {near}?"),
                None => format!("unknown environment variable {key} is not used"),
            });
        }
    }
    if problems.is_empty() { Ok((http, notes)) } else { Err(problems) }
}

fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Some(true),
        "false" | "0" | "no" | "off" | "f" | "n" => Some(false),
        _ => None,
    }
}
