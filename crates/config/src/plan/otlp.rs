//! What is sent by OTLP, and how: the section `otel`, and the variables that every OpenTelemetry exporter reads.

use super::{idle_variables, subject};
use crate::compose::observe::{attributes, otel_url};
use crate::context::Context;
use crate::error::{Problem, needs};
use crate::os_text;
use crate::resolve::Tree;
use crate::rules::head;
use aiperf_plan::otlp::provider_of;
use aiperf_plan::redact::percent::{percent_decoded, strictly_percent_decoded};
use aiperf_plan::{ClientIdentity, EndpointPlan, MetricsUrl, NamedFile, OtlpPlan};
use aiperf_types::Nanos;

const SECTION: &str = "benchmark.otel";
const URL: &str = "benchmark.otel.metrics_url";
const VARIABLES: &str = "AIPERF_OTEL_";
/// The usual port of gRPC receivers, which are not supported here.
const GRPC_PORT: u16 = 4317;

pub(super) fn plan(
    tree: &Tree,
    ctx: &Context<'_>,
    endpoint: &EndpointPlan,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<OtlpPlan> {
    let section = tree.benchmark.otel.clone().unwrap_or_default();
    let attributes = section.custom_resource_attributes.clone().unwrap_or_default();
    let Some(text) = &section.metrics_url else {
        // Flags are refused by their own names before.
        for (key, is_given) in [
            ("gen_ai_provider", section.gen_ai_provider.is_some()),
            ("custom_resource_attributes", !attributes.is_empty()),
        ] {
            if is_given {
                let at = format!("{SECTION}.{key}");
                problems.push(needs(&subject(tree, &at), "metrics_url", "without it nothing is sent").at(at));
            }
        }
        let why = "without a URL nothing is sent by OTLP\n  try: --otel-url http://localhost:4318";
        notes.extend(idle_variables(tree, VARIABLES, why));
        return None;
    };
    let provider = section.gen_ai_provider.as_deref().map(str::trim);
    if provider == Some("") {
        let at = format!("{SECTION}.gen_ai_provider");
        problems.push(
            Problem::new(format!("{} must not be blank", subject(tree, &at))).hint("a name, as in openai").at(at),
        );
    }
    let at = format!("{SECTION}.custom_resource_attributes");
    for (key, value) in &attributes {
        if key.trim().is_empty() || value.trim().is_empty() {
            let what = format!(
                "{}: attribute '{key}' has no {}",
                subject(tree, &at),
                if key.trim().is_empty() { "name" } else { "value" }
            );
            problems.push(Problem::new(what).hint("key: value").at(at.clone()));
        }
    }
    let url = match otel_url(text).and_then(|url| MetricsUrl::verbatim(&url)) {
        Ok(url) => url,
        Err(rule) => {
            let what = format!("{URL}: {rule}");
            problems.push(Problem::new(what).hint("http://HOST:4318").at(URL));
            return None;
        }
    };
    let (metrics, timing) = (section.stream_metrics_enabled(), section.stream_timing_enabled());
    if !metrics && !timing {
        notes.extend(idle_variables(tree, VARIABLES, "neither metrics nor timing are sent by OTLP"));
        return None;
    }
    if url.server().port() == GRPC_PORT {
        notes.push(format!(
            "{} has port {GRPC_PORT}, the usual port of OTLP over gRPC; OTLP over HTTP usually has 4318",
            url.shown()
        ));
    }
    let usual = &tree.environment.otlp;
    let mut variables = Variables { ctx, problems };
    notes.extend(variables.ignored(&url));
    let headers = variables.headers();
    let gzip = variables.gzip();
    let timeout = usual.timeout.or_else(|| variables.timeout());
    let (ca_file, identity) = variables.certificates(url.server().is_tls(), notes);
    let usual_attributes = variables.attributes();
    Some(OtlpPlan {
        provider: provider
            .map_or_else(|| provider_of(&endpoint.urls, endpoint.path.as_deref()).to_owned(), str::to_owned),
        url,
        metrics,
        timing,
        usual_attributes,
        attributes,
        headers,
        gzip,
        ca_file,
        identity,
        every: Nanos::from_secs_f64(usual.interval),
        timeout: Nanos::from_secs_f64(timeout.unwrap_or(TIMEOUT)),
    })
}

/// The default time limit of an export, in seconds.
const TIMEOUT: f64 = 10.0;

/// A variable that OpenTelemetry exporters read and this one ignores.
struct Ignored {
    name: &'static str,
    /// Values that ask for what is done anyway, in any letter case.
    fits: &'static [&'static str],
    why: &'static str,
}

/// Variables that name a receiver; no note if it equals the URL.
const ENDPOINTS: &[&str] = &["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

const PROTOCOLS: &[&str] = &["http/protobuf"];
const OVER_HTTP: &str = "metrics are sent over HTTP, in protobuf";

// One row per variable.
#[rustfmt::skip]
const IGNORED: &[Ignored] = &[
    Ignored { name: "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", fits: PROTOCOLS, why: OVER_HTTP },
    Ignored { name: "OTEL_EXPORTER_OTLP_PROTOCOL", fits: PROTOCOLS, why: OVER_HTTP },
    Ignored { name: "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", fits: &["cumulative"], why: "all values are cumulative, so a failed export loses nothing" },
    Ignored { name: "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", fits: &["explicit_bucket_histogram"], why: "histograms have fixed bounds" },
    Ignored { name: "OTEL_METRIC_EXPORT_INTERVAL", fits: &[], why: "AIPERF_OTEL_FLUSH_INTERVAL_SECONDS sets how often metrics are sent" },
    Ignored { name: "OTEL_METRIC_EXPORT_TIMEOUT", fits: &[], why: "OTEL_EXPORTER_OTLP_TIMEOUT sets how long an export may take" },
    Ignored { name: "OTEL_METRICS_EXPORTER", fits: &["otlp"], why: "--otel-url enables metrics by OTLP" },
    Ignored { name: "OTEL_SERVICE_NAME", fits: &["aiperf"], why: "the service is aiperf unless --otel-resource-attributes has a service.name" },
    Ignored { name: "OTEL_SDK_DISABLED", fits: &["false"], why: "--otel-url enables metrics" },
];

/// Variables that every OpenTelemetry exporter reads.
struct Variables<'a, 'c> {
    ctx: &'a Context<'c>,
    problems: &'a mut Vec<Problem>,
}

impl Variables<'_, '_> {
    /// A setting by the end of its name: the one for metrics, or the one for all signals; with its whole name.
    fn setting(&self, end: &str) -> Option<(String, String)> {
        let names = ["OTEL_EXPORTER_OTLP_METRICS_", "OTEL_EXPORTER_OTLP_"].map(|start| format!("{start}{end}"));
        names.into_iter().find_map(|name| self.text(&name).map(|value| (name, value)))
    }

    fn text(&self, name: &str) -> Option<String> {
        self.ctx.env.get(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// A note for each set variable without effect. No message shows a value: a URL may have a password.
    fn ignored(&self, url: &MetricsUrl) -> Vec<String> {
        let same =
            |text: &str| otel_url(text).and_then(|text| MetricsUrl::verbatim(&text)).is_ok_and(|named| named == *url);
        let elsewhere = |name: &&&str| self.text(name).is_some_and(|text| !same(&text));
        let other = |ignored: &&Ignored| {
            let fits = |value: String| ignored.fits.iter().any(|fit| value.eq_ignore_ascii_case(fit));
            self.text(ignored.name).is_some_and(|value| !fits(value))
        };
        let endpoints =
            ENDPOINTS.iter().filter(elsewhere).map(|name| (*name, "metrics are sent to the URL of --otel-url"));
        let others = IGNORED.iter().filter(other).map(|ignored| (ignored.name, ignored.why));
        endpoints.chain(others).map(|(name, why)| format!("{name} has no effect: {why}")).collect()
    }

    /// `name=value` items, values with percent escapes. No message shows a value.
    fn headers(&mut self) -> Vec<(String, String)> {
        let Some((variable, text)) = self.setting("HEADERS") else { return Vec::new() };
        let mut headers: Vec<(String, String)> = Vec::new();
        for (index, item) in text.split(',').map(str::trim).filter(|item| !item.is_empty()).enumerate() {
            let split = item.split_once('=').map(|(name, value)| (name.trim(), strictly_percent_decoded(value.trim())));
            let fault = match &split {
                None => Some("is not name=value".to_owned()),
                Some(_) if !os_text::is_text(item) => Some("is not UTF-8".to_owned()),
                Some((_, None)) => Some("has a percent sign that does not begin an escape such as %2C".to_owned()),
                Some((name, Some(value))) => head::field_fault(name, value),
            };
            match (split, fault) {
                (Some((name, Some(value))), None) => {
                    headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
                    headers.push((name.to_owned(), value));
                }
                (_, fault) => self.problems.push(
                    Problem::new(format!("{variable}: item {} {}", index + 1, fault.unwrap_or_default()))
                        .because("items are header fields, sent with every export; their values are not shown here")
                        .hint(format!("{variable}='api-key=VALUE,x-team=perf', with %2C for a comma and %25 for a percent sign in a value")),
                ),
            }
        }
        headers
    }

    fn gzip(&mut self) -> bool {
        let Some((variable, value)) = self.setting("COMPRESSION") else { return false };
        match value.to_ascii_lowercase().as_str() {
            "gzip" => true,
            "none" => false,
            _ => {
                let what = format!("{variable}={} is not one of gzip, none", value.escape_debug());
                self.problems.push(Problem::new(what).hint(format!("{variable}=gzip, or unset it")));
                false
            }
        }
    }

    /// Milliseconds in OpenTelemetry; here in seconds.
    fn timeout(&mut self) -> Option<f64> {
        let (variable, value) = self.setting("TIMEOUT")?;
        match value.parse::<f64>() {
            Ok(millis) if (1.0..=300_000.0).contains(&millis) => Some(millis / 1000.0),
            _ => {
                let what = format!("{variable}={} must be at least 1 and at most 300000", value.escape_debug());
                self.problems.push(
                    Problem::new(what)
                        .because("it is in milliseconds")
                        .hint(format!("unset {variable} for its default, 10000")),
                );
                None
            }
        }
    }

    /// The certificate authority, and the client certificate; both apply to TLS only.
    fn certificates(&mut self, is_tls: bool, notes: &mut Vec<String>) -> (Option<NamedFile>, Option<ClientIdentity>) {
        let named = ["CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"].map(|end| self.setting(end));
        if !is_tls {
            for (variable, _) in named.into_iter().flatten() {
                notes.push(format!("{variable} has no effect: metrics are sent to an http:// URL"));
            }
            return (None, None);
        }
        let cwd = self.ctx.cwd;
        let file =
            |(name, path): &(String, String)| NamedFile { name: name.clone(), path: cwd.join(os_text::path(path)) };
        let [ca_file, certificate, key] = &named;
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some(ClientIdentity { certificate: file(certificate), key: file(key) }),
            (None, None) => None,
            (Some((given, _)), None) => {
                self.problems.push(needs(given, "OTEL_EXPORTER_OTLP_CLIENT_KEY", "a client certificate needs its key"));
                None
            }
            (None, Some((given, _))) => {
                let missing = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE";
                self.problems.push(needs(given, missing, "a client certificate needs its key"));
                None
            }
        };
        (ca_file.as_ref().map(file), identity)
    }

    fn attributes(&mut self) -> Vec<(String, String)> {
        const VARIABLE: &str = "OTEL_RESOURCE_ATTRIBUTES";
        let Some(text) = self.text(VARIABLE) else { return Vec::new() };
        match attributes(&[&text]) {
            Ok(map) => {
                let items = map.as_object().into_iter().flatten();
                items.map(|(key, value)| (key.clone(), percent_decoded(value.as_str().unwrap_or_default()))).collect()
            }
            Err((item, fault)) => {
                self.problems.push(
                    Problem::new(format!("{VARIABLE}: '{item}' {fault}"))
                        .hint(format!("{VARIABLE}=key=value,key=value")),
                );
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_lists_every_variable_without_effect() {
        let guide = include_str!("../../../../docs/telemetry.md");
        for name in IGNORED.iter().map(|ignored| &ignored.name).chain(ENDPOINTS) {
            assert!(guide.contains(&format!("`{name}`")), "{name}");
        }
    }
}
