//! The places of a plan that contain secrets: one table, one row per place. The redactor takes its secrets from it, and
//! plans for people are hidden by it.

use crate::url::{BaseUrl, Credentials};
use crate::{MetricsUrl, OtlpPlan, Plan};
use aiperf_redact::{
    REDACTED, Redactor, is_secret_name, is_sensitive_header, secrets_in_header, secrets_in_members,
    secrets_in_template, secrets_in_url, secrets_in_value, template, url, urls, visit_secret_members, visit_texts,
};
use serde_json::Value;

/// A place of a plan that contains secrets.
pub(crate) struct SecretPlace {
    pub(crate) name: &'static str,
    /// Its secrets, in the forms in which they are sent.
    secrets: fn(&Plan) -> Vec<String>,
    /// Replaces them with [`REDACTED`].
    hide: fn(&mut Plan),
}

/// Every place of a plan that contains secrets.
pub(crate) const SECRET_PLACES: &[SecretPlace] = &[
    SecretPlace {
        name: "API key",
        secrets: |plan| plan.endpoint.api_key.iter().cloned().collect(),
        hide: |plan| plan.endpoint.api_key.iter_mut().for_each(hide_all),
    },
    SecretPlace {
        name: "headers",
        secrets: |plan| plan.endpoint.headers.iter().flat_map(|(name, value)| secrets_in_header(name, value)).collect(),
        hide: |plan| {
            for (name, value) in &mut plan.endpoint.headers {
                if is_sensitive_header(name) { hide_all(value) } else { *value = urls(value) }
            }
        },
    },
    SecretPlace {
        name: "URLs",
        secrets: |plan| plan.endpoint.urls.iter().flat_map(secrets_of_server).collect(),
        hide: |plan| plan.endpoint.urls.iter_mut().for_each(BaseUrl::hide_secrets),
    },
    SecretPlace {
        name: "path",
        secrets: |plan| plan.endpoint.path.iter().flat_map(|path| secrets_in_url(path)).collect(),
        hide: |plan| plan.endpoint.path.iter_mut().for_each(|path| *path = url(path)),
    },
    SecretPlace {
        name: "paths of hooks",
        secrets: |plan| {
            let reset = plan.endpoint.cache_reset.iter().map(|reset| &reset.path);
            let profiler = plan.endpoint.server_profiler.iter();
            let profiler = profiler.flat_map(|profiler| [&profiler.start_path, &profiler.stop_path]);
            reset.chain(profiler).flat_map(|path| secrets_in_url(path)).collect()
        },
        hide: |plan| {
            plan.endpoint.cache_reset.iter_mut().for_each(|reset| reset.path = url(&reset.path));
            if let Some(profiler) = &mut plan.endpoint.server_profiler {
                profiler.start_path = url(&profiler.start_path);
                profiler.stop_path = url(&profiler.stop_path);
            }
        },
    },
    SecretPlace {
        name: "proxies",
        secrets: |plan| {
            let proxies = plan.endpoint.http.proxies.all();
            proxies.filter_map(|proxy| proxy.credentials()).flat_map(Credentials::secrets).collect()
        },
        hide: |plan| plan.endpoint.http.proxies.all_mut().for_each(|proxy| proxy.url_mut().hide_secrets()),
    },
    SecretPlace {
        name: "extra inputs",
        secrets: |plan| secrets_in_members(&plan.endpoint.extra),
        hide: |plan| {
            let mut extra = Value::Object(std::mem::take(&mut plan.endpoint.extra));
            visit_secret_members(&mut extra, &mut |_, value| *value = REDACTED.into());
            visit_texts(&mut extra, &mut |text| *text = urls(text));
            if let Value::Object(extra) = extra {
                plan.endpoint.extra = extra;
            }
        },
    },
    SecretPlace {
        name: "template",
        secrets: |plan| plan.endpoint.template.iter().flat_map(|text| secrets_in_template(text)).collect(),
        hide: |plan| plan.endpoint.template.iter_mut().for_each(|text| *text = template(text).into_owned()),
    },
    SecretPlace {
        name: "server metrics",
        secrets: |plan| {
            let endpoints = plan.server_metrics.iter().flat_map(|watched| &watched.endpoints);
            endpoints.flat_map(|endpoint| secrets_of_page(&endpoint.url)).collect()
        },
        hide: |plan| {
            for endpoint in plan.server_metrics.iter_mut().flat_map(|watched| &mut watched.endpoints) {
                endpoint.url.hide_secrets();
                endpoint.fallback.iter_mut().for_each(MetricsUrl::hide_secrets);
            }
        },
    },
    SecretPlace {
        name: "GPU exporters",
        secrets: |plan| {
            let exporters = plan.gpu_telemetry.iter().flat_map(|watched| watched.source.exporters());
            exporters.flat_map(|exporter| secrets_of_page(&exporter.url)).collect()
        },
        hide: |plan| {
            let exporters = plan.gpu_telemetry.iter_mut().flat_map(|watched| watched.source.exporters_mut());
            exporters.for_each(|exporter| exporter.url.hide_secrets());
        },
    },
    SecretPlace {
        name: "OTLP receiver",
        secrets: |plan| plan.otlp.iter().flat_map(|otlp| secrets_of_page(&otlp.url)).collect(),
        hide: |plan| plan.otlp.iter_mut().for_each(|otlp| otlp.url.hide_secrets()),
    },
    SecretPlace {
        name: "OTLP headers",
        secrets: |plan| {
            let headers = plan.otlp.iter().flat_map(|otlp| &otlp.headers);
            headers.flat_map(|(_, value)| secrets_in_value(value)).collect()
        },
        hide: |plan| {
            let headers = plan.otlp.iter_mut().flat_map(|otlp| &mut otlp.headers);
            headers.for_each(|(_, value)| hide_all(value));
        },
    },
    SecretPlace {
        name: "OTLP attributes",
        secrets: |plan| {
            let attributes = plan.otlp.iter().flat_map(|otlp| otlp.attributes.iter().chain(&otlp.usual_attributes));
            attributes.filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value.clone()).collect()
        },
        hide: |plan| {
            if let Some(OtlpPlan { attributes, usual_attributes, .. }) = &mut plan.otlp {
                let all = attributes.iter_mut().chain(usual_attributes);
                all.filter(|(name, _)| is_secret_name(name)).for_each(|(_, value)| hide_all(value));
            }
        },
    },
    SecretPlace { name: "variables", secrets: |plan| plan.secrets.clone(), hide: |plan| plan.secrets.clear() },
];

impl Plan {
    /// All its secrets.
    pub fn all_secrets(&self) -> impl Iterator<Item = String> {
        SECRET_PLACES.iter().flat_map(|place| (place.secrets)(self))
    }

    /// Hides all its secrets, wherever text leaves the program.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.all_secrets())
    }
}

/// Hides all secrets of a plan in their places.
pub(crate) fn hide_secrets(plan: &mut Plan) {
    SECRET_PLACES.iter().for_each(|place| (place.hide)(plan));
}

fn hide_all(value: &mut String) {
    REDACTED.clone_into(value);
}

fn secrets_of_server(url: &BaseUrl) -> Vec<String> {
    let credentials = url.credentials().into_iter().flat_map(Credentials::secrets);
    credentials.chain(secrets_in_url(url.as_str())).collect()
}

fn secrets_of_page(url: &MetricsUrl) -> Vec<String> {
    let credentials = url.server().credentials().into_iter().flat_map(Credentials::secrets);
    credentials.chain(secrets_in_url(url.path())).collect()
}
