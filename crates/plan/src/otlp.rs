//! Metrics sent by OTLP: the receiver, the metrics, and their names.

use crate::metrics_url::MetricsUrl;
use crate::url::BaseUrl;
use aiperf_types::{EndpointKind, Nanos};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is sent by OTLP over HTTP, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtlpPlan {
    /// The URL of the receiver, including `/v1/metrics`.
    pub url: MetricsUrl,
    /// Sends the metrics of records.
    pub metrics: bool,
    /// Sends the progress of phases.
    pub timing: bool,
    /// Attributes of the resource that those of the run override.
    pub usual_attributes: Vec<(String, String)>,
    /// Attributes that override all others.
    pub attributes: Vec<(String, String)>,
    /// The provider of the server, as a GenAI attribute.
    pub provider: String,
    /// Headers of every request. All of their values are secrets.
    pub headers: Vec<(String, String)>,
    pub gzip: bool,
    /// The certificates that verify the receiver; `None`: those for servers.
    pub ca_file: Option<NamedFile>,
    /// The client certificate.
    pub identity: Option<ClientIdentity>,
    /// Between exports.
    pub every: Nanos,
    /// The time limit of one export.
    pub timeout: Nanos,
}

/// Files in PEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientIdentity {
    pub certificate: NamedFile,
    pub key: NamedFile,
}

/// A file, and the variable that names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFile {
    pub name: String,
    pub path: PathBuf,
}

/// `gen_ai.operation.name` of an endpoint type.
pub fn operation_name(endpoint: EndpointKind) -> &'static str {
    match endpoint {
        EndpointKind::Completions => "text_completion",
        EndpointKind::Embeddings => "embeddings",
        _ => "chat",
    }
}

/// `gen_ai.provider.name` of an unknown host.
pub const OTHER_PROVIDER: &str = "_OTHER";

/// Hosts and their providers; `*` matches one or more characters.
const PROVIDERS: &[(&str, &str)] = &[
    ("api.openai.com", "openai"),
    ("api.anthropic.com", "anthropic"),
    ("api.deepseek.com", "deepseek"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.cohere.ai", "cohere"),
    ("api.cohere.com", "cohere"),
    ("api.x.ai", "x_ai"),
    ("api.groq.com", "groq"),
    ("api.perplexity.ai", "perplexity"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("*-aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("bedrock-runtime.*.amazonaws.com", "aws.bedrock"),
    ("*.openai.azure.com", "azure.ai.openai"),
    ("*.services.ai.azure.com", "azure.ai.inference"),
    ("*.ibm.com", WATSONX),
];

/// IBM has many hosts; only paths of watsonx count.
const WATSONX: &str = "ibm.watsonx.ai";
const WATSONX_PATHS: [&str; 2] = ["watsonx", "/ml/v1"];

/// `gen_ai.provider.name` by the first URL with a known host.
pub fn provider_of(urls: &[BaseUrl], path: Option<&str>) -> &'static str {
    urls.iter().find_map(|url| known_provider(url, path)).unwrap_or(OTHER_PROVIDER)
}

fn known_provider(url: &BaseUrl, path: Option<&str>) -> Option<&'static str> {
    let host = url.host().to_ascii_lowercase();
    let paths = format!("{}\n{}", url.path(), path.unwrap_or_default()).to_ascii_lowercase();
    let is_watsonx = || WATSONX_PATHS.iter().any(|known| paths.contains(known));
    let known = PROVIDERS.iter().find(|(pattern, _)| matches(pattern, &host))?.1;
    (known != WATSONX || is_watsonx()).then_some(known)
}

/// Whether a host matches a pattern with at most one `*`, which stands for at least one character.
fn matches(pattern: &str, host: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == host,
        Some((start, end)) => host.len() > start.len() + end.len() && host.starts_with(start) && host.ends_with(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(url: &str) -> &'static str {
        provider_of(&[BaseUrl::parse(url).unwrap()], None)
    }

    #[test]
    fn a_host_must_match_as_a_whole() {
        assert_eq!(provider("https://api.openai.com/v1"), "openai");
        assert_eq!(provider("https://evilapi.openai.com"), OTHER_PROVIDER);
        assert_eq!(provider("https://api.openai.com.evil.example"), OTHER_PROVIDER);
        assert_eq!(provider("https://.openai.azure.com"), OTHER_PROVIDER);
    }

    #[test]
    fn ibm_is_watsonx_on_its_paths_only() {
        assert_eq!(provider("https://us-south.ml.cloud.ibm.com/ml/v1"), WATSONX);
        assert_eq!(provider("https://www.ibm.com/"), OTHER_PROVIDER);
        let urls = [BaseUrl::parse("https://x.ibm.com").unwrap()];
        assert_eq!(provider_of(&urls, Some("/api/Watsonx/chat")), WATSONX);
    }

    #[test]
    fn the_first_known_host_counts() {
        let urls = ["http://127.0.0.1:8000", "https://api.x.ai"].map(|url| BaseUrl::parse(url).unwrap());
        assert_eq!(provider_of(&urls, None), "x_ai");
    }
}
