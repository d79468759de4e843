//! Calls to servers around a run, besides its requests: the call, the meaning of a response, and when to call again.
//!
//! # Layout
//! - [`probes`]: whether a server is ready
//! - [`hooks`]: emptying its cache, switching its profiler on and off

pub mod hooks;
pub mod probes;

use aiperf_plan::{BaseUrl, EndpointPlan};

/// One call, ready to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub method: Method,
    /// The server: where to connect to.
    pub server: BaseUrl,
    /// The requested URL, without credentials; for a socket as if it were `http://localhost`.
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
}

impl Method {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome<'a> {
    Answered {
        status: u16,
        body: &'a [u8],
    },
    /// No response: the connection failed, or time was up.
    Failed,
}

/// Header fields of a call: the user's, and the user agent. A call is no request of the benchmark, so it has no ids of
/// one.
fn headers(endpoint: &EndpointPlan, server: &BaseUrl) -> Vec<(String, String)> {
    let mut fields = vec![("Accept".to_owned(), "*/*".to_owned())];
    for (name, value) in &endpoint.headers {
        set(&mut fields, name, value);
    }
    let api = endpoint.kind.traits().headers;
    match (&endpoint.api_key, server.credentials()) {
        (Some(key), _) => set(&mut fields, api.key.0, &format!("{}{key}", api.key.1)),
        (None, Some(credentials)) => add(&mut fields, "Authorization", &credentials.basic()),
        (None, None) => {}
    }
    for (name, value) in api.usual {
        add(&mut fields, name, value);
    }
    fields
}

/// A name has one value, whatever its letter case.
fn set(fields: &mut Vec<(String, String)>, name: &str, value: &str) {
    match fields.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some(field) => *field = (name.to_owned(), value.to_owned()),
        None => fields.push((name.to_owned(), value.to_owned())),
    }
}

/// The same, unless the user gave one.
fn add(fields: &mut Vec<(String, String)>, name: &str, value: &str) {
    if !fields.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
        fields.push((name.to_owned(), value.to_owned()));
    }
}
