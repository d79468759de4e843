//! Which pods serve metrics, and at which URLs.

use super::shown;
use aiperf_plan::MetricsUrl;
use aiperf_types::LogLevel;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU16;

const ENABLED_LABEL: &str = "nvidia.com/metrics-enabled";
const PATHS: &str = "aiperf.nvidia.com/metrics-paths";
const PORT: &str = "prometheus.io/port";
const SCHEME: &str = "prometheus.io/scheme";
const PATH: &str = "prometheus.io/path";

/// Parts of the image names of inference servers, in lower case.
const SERVER_IMAGES: &[&str] = &[
    "vllm",
    "sglang",
    "tritonserver",
    "triton-server",
    "triton-inference-server",
    "tensorrt-llm",
    "tensorrtllm",
    "trt-llm",
    "trtllm",
    "dynamo",
];

/// Characters of a pod's name to show: as many as the API allows, even if a server sends more.
const LONGEST_NAME: usize = 253;

/// The pages of all pods seen, and the pods that should have some and have none.
#[derive(Default)]
pub(super) struct Endpoints {
    /// By their text, which is their order.
    urls: BTreeMap<String, MetricsUrl>,
    left_out: BTreeMap<Fault, LeftOut>,
}

/// Pods that share a fault.
struct LeftOut {
    first: String,
    others: usize,
}

/// Why a pod is left out, or one of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Address,
    NoPort,
    Port,
    Scheme,
    Path,
}

impl Fault {
    /// A mistake in an annotation is for its author to fix; the other faults occur in healthy pods.
    fn level(self) -> LogLevel {
        match self {
            Self::Address => LogLevel::Debug,
            Self::NoPort => LogLevel::Info,
            Self::Port | Self::Scheme | Self::Path => LogLevel::Warning,
        }
    }

    fn reason(self) -> String {
        match self {
            Self::Address => "no IP address yet".to_owned(),
            Self::NoPort => format!("no container port; the annotation {PORT} can name one"),
            Self::Port => format!("the annotation {PORT} is outside 1..65535"),
            Self::Scheme => format!("the annotation {SCHEME} is neither http nor https"),
            Self::Path => format!(
                "a path in the annotation {PATHS} or {PATH} has white space or a character that must be written with \
                 percent signs, as in %20"
            ),
        }
    }
}

impl Endpoints {
    /// Adds a pod; one that the user's label selector found needs no other sign.
    pub(super) fn add(&mut self, pod: &Value, is_selected: bool) {
        let pod = Pod(pod);
        if !is_selected && !pod.is_marked() {
            return;
        }
        let (origin, paths) = match pod.origin() {
            Ok(origin) => (origin, pod.paths()),
            Err(fault) => return self.leave_out(fault, &pod),
        };
        let mut has_bad_path = false;
        for path in paths {
            // A fragment is never sent: two pages that differ in it are one.
            let path = path.split('#').next().unwrap_or_default();
            let slash = if path.starts_with('/') { "" } else { "/" };
            let text = format!("{origin}{slash}{path}");
            match MetricsUrl::verbatim(&text) {
                Ok(url) => drop(self.urls.insert(text, url)),
                Err(_) => has_bad_path = true,
            }
        }
        if has_bad_path {
            self.leave_out(Fault::Path, &pod);
        }
    }

    fn leave_out(&mut self, fault: Fault, pod: &Pod<'_>) {
        let known = self.left_out.entry(fault);
        known.and_modify(|left| left.others += 1).or_insert_with(|| LeftOut { first: pod.name(), others: 0 });
    }

    pub(super) fn len(&self) -> usize {
        self.urls.len()
    }

    /// Messages about pods that should have a page and have none.
    pub(super) fn notices(&self) -> impl Iterator<Item = (LogLevel, String)> {
        self.left_out.iter().map(|(fault, LeftOut { first, others })| {
            let others = match others {
                0 => String::new(),
                1 => " and one other".to_owned(),
                others => format!(" and {others} others"),
            };
            (fault.level(), format!("metrics of pod {first}{others} are not collected: {}", fault.reason()))
        })
    }

    /// The URLs in order, without duplicates.
    pub(super) fn into_urls(self) -> Vec<MetricsUrl> {
        self.urls.into_values().collect()
    }
}

/// The signs by which pods are found, for messages.
pub(super) fn signs() -> String {
    format!("the label {ENABLED_LABEL}=true, the annotation {PATHS}, or the image of an inference server")
}

/// A pod from the API, in which anything may be missing or have another type.
struct Pod<'a>(&'a Value);

impl<'a> Pod<'a> {
    fn is_marked(&self) -> bool {
        let metadata = &self.0["metadata"];
        let is_enabled = metadata["labels"][ENABLED_LABEL].as_str().is_some_and(|is| is.eq_ignore_ascii_case("true"));
        let has_paths = metadata["annotations"][PATHS].as_str().is_some_and(|paths| !paths.is_empty());
        is_enabled || has_paths || self.containers().any(is_inference_server)
    }

    fn containers(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.0["spec"]["containers"].as_array().into_iter().flatten()
    }

    /// An annotation that is not empty.
    fn annotation(&self, name: &str) -> Option<&'a str> {
        self.0["metadata"]["annotations"][name].as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    /// Scheme, address and port, as in a URL.
    fn origin(&self) -> Result<String, Fault> {
        let address = self.0["status"]["podIP"].as_str().and_then(|ip| ip.trim().parse::<IpAddr>().ok());
        let host = match address.ok_or(Fault::Address)? {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let port = self.port()?;
        let scheme = self.annotation(SCHEME).unwrap_or("http").to_ascii_lowercase();
        if !["http", "https"].contains(&scheme.as_str()) {
            return Err(Fault::Scheme);
        }
        Ok(format!("{scheme}://{host}:{port}"))
    }

    fn port(&self) -> Result<NonZeroU16, Fault> {
        if let Some(text) = self.annotation(PORT).filter(|text| is_integer(text)) {
            return text.parse().map_err(|_| Fault::Port);
        }
        let ports = self.containers().flat_map(|container| container["ports"].as_array().into_iter().flatten());
        let numbered = ports.filter_map(|port| Some((port, container_port(port)?)));
        let (mut first, mut named) = (None, None);
        for (port, number) in numbered {
            first = first.or(Some(number));
            named = named.or_else(|| (port["name"] == "metrics").then_some(number));
        }
        named.or(first).ok_or(Fault::NoPort)
    }

    fn paths(&self) -> Vec<&'a str> {
        let listed = self.annotation(PATHS).unwrap_or_default().split(',').map(str::trim);
        let listed: Vec<_> = listed.filter(|path| !path.is_empty()).collect();
        if listed.is_empty() { vec![self.annotation(PATH).unwrap_or("/metrics")] } else { listed }
    }

    /// Namespace and name.
    fn name(&self) -> String {
        let part = |key: &str| shown(self.0["metadata"][key].as_str().unwrap_or("?"), LONGEST_NAME);
        format!("{}/{}", part("namespace"), part("name"))
    }
}

fn is_inference_server(container: &Value) -> bool {
    let image = container["image"].as_str().unwrap_or_default().to_lowercase();
    SERVER_IMAGES.iter().any(|name| image.contains(name))
}

fn container_port(port: &Value) -> Option<NonZeroU16> {
    let number = port["containerPort"].as_u64()?;
    NonZeroU16::new(u16::try_from(number).ok()?)
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
