//! Requests for the pods of a cluster, page by page, and the meaning of a refusal.

use super::cluster::Access;
use super::pods::Endpoints;
use super::shown;
use aiperf_plan::redact::percent::percent_encoded;
use aiperf_transport::FetchError;
use aiperf_types::{Failure, Nanos};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;

/// Pods per page: some megabytes of JSON.
const PAGE: usize = 250;
/// The longest name of a namespace.
const LONGEST_NAMESPACE: usize = 63;
/// Characters of a server's message to show, and bytes of a response in which to look for one.
const LONGEST_MESSAGE: usize = 300;
const LONGEST_REFUSAL: usize = 64 << 10;

/// Where pods are searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Everywhere,
    Namespace(String),
}

impl Scope {
    /// The configured namespace, or else the program's own.
    pub(super) fn new(configured: Option<&str>, own: Option<&str>) -> Result<Self, String> {
        let configured = configured.map(str::trim).filter(|name| !name.is_empty());
        let Some(name) = configured.or(own) else {
            return Err("the program's own namespace is not known; name one, or '*' for all, with \
                        server_metrics.discovery.namespace or AIPERF_NAMESPACE"
                .to_owned());
        };
        if name == "*" {
            return Ok(Self::Everywhere);
        }
        let is_of_a_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.len() > LONGEST_NAMESPACE || !name.bytes().all(is_of_a_name) {
            return Err(format!(
                "'{}' is no name of a namespace: those are lower-case letters, digits and hyphens, {LONGEST_NAMESPACE} \
                 at most; '*' is for all",
                shown(name, LONGEST_MESSAGE)
            ));
        }
        Ok(Self::Namespace(name.to_owned()))
    }

    /// The path and query of a page: the first, or the one that a token of the previous page names.
    pub(super) fn path(&self, label_selector: Option<&str>, token: Option<&str>) -> String {
        let mut path = match self {
            Self::Everywhere => "/api/v1/pods".to_owned(),
            Self::Namespace(name) => format!("/api/v1/namespaces/{}/pods", percent_encoded(name)),
        };
        path.push_str(&format!("?fieldSelector={}&limit={PAGE}", percent_encoded("status.phase=Running")));
        for (name, value) in [("labelSelector", label_selector), ("continue", token)] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", percent_encoded(value)));
            }
        }
        path
    }

    /// A role that allows its holder to list pods here, in one line of YAML.
    fn role(&self) -> String {
        let (kind, metadata) = match self {
            Self::Everywhere => ("ClusterRole", "{name: aiperf-discovery}".to_owned()),
            Self::Namespace(name) => ("Role", format!("{{name: aiperf-discovery, namespace: {name}}}")),
        };
        format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: {kind}, metadata: {metadata}, \
             rules: [{{apiGroups: [\"\"], resources: [pods], verbs: [list]}}]}}, with a {kind}Binding"
        )
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everywhere => f.write_str("all namespaces"),
            Self::Namespace(name) => write!(f, "namespace '{name}'"),
        }
    }
}

/// Reads a page and returns the token of the next, if there is one. A pod that cannot be read is skipped.
pub(super) fn read_page(body: &[u8], is_selected: bool, found: &mut Endpoints) -> Result<Option<String>, String> {
    let no_list = |error: serde_json::Error| format!("the API server's response is no list of pods: {error}");
    let page: BTreeMap<String, &RawValue> = serde_json::from_slice(body).map_err(no_list)?;
    let items = page.get("items").ok_or("the API server's response is no list of pods: it has no items")?;
    // An empty list may be written as null.
    let pods: Option<Vec<&RawValue>> = serde_json::from_str(items.get()).map_err(no_list)?;
    // One tree at a time: the trees of a whole page take many times its text.
    for pod in pods.unwrap_or_default() {
        if let Ok(pod) = serde_json::from_str::<Value>(pod.get()) {
            found.add(&pod, is_selected);
        }
    }
    let metadata: Value = page.get("metadata").and_then(|it| serde_json::from_str(it.get()).ok()).unwrap_or_default();
    Ok(metadata["continue"].as_str().filter(|token| !token.is_empty()).map(str::to_owned))
}

/// The meaning of a response other than a list.
pub(super) fn refusal(status: u16, body: &[u8], access: &Access, scope: &Scope) -> String {
    let body: Option<Value> =
        body.get(..body.len().min(LONGEST_REFUSAL)).and_then(|it| serde_json::from_slice(it).ok());
    let message = body.as_ref().and_then(|body| body["message"].as_str()).unwrap_or_default();
    // Before it is cut: half a token is too much, too.
    let message = shown(access.token.hidden_in(message).trim(), LONGEST_MESSAGE);
    let response = if message.is_empty() { format!("HTTP {status}") } else { format!("HTTP {status}: {message}") };
    match status {
        400 => format!("{response}; is server_metrics.discovery.label_selector one of Kubernetes?"),
        401 => format!(
            "the API server does not accept the service account's token ({response}); it may have expired, or be of \
             another cluster"
        ),
        403 => format!(
            "the service account lacks the verb 'list' on the resource 'pods' in {scope} ({response}); give it {}",
            scope.role()
        ),
        300..400 => format!("{response}; redirects of the API server are not followed"),
        _ => response,
    }
}

/// The meaning of a missing response.
pub(super) fn failure(error: &FetchError, access: &Access, timeout: Nanos) -> String {
    match error {
        FetchError::TimedOut(_) => timed_out(access, timeout),
        FetchError::Failed { failure: Failure::Certificate { address, reason }, .. } => {
            // The advice at the end of a reason is for servers that receive requests.
            let reason = reason.split(';').next().unwrap_or_default();
            let authorities = access.authorities.display();
            format!("connect to {address} failed: {reason}; the cluster's authorities are those of '{authorities}'")
        }
        other => other.to_string(),
    }
}

pub(super) fn timed_out(access: &Access, timeout: Nanos) -> String {
    let (address, seconds) = (access.origin.address(), timeout.as_secs_f64());
    format!(
        "{address} gave no complete response within {seconds} s; server_metrics.discovery.timeout_seconds allows more"
    )
}

#[cfg(test)]
mod tests;
