//! Names of settings in a file that no section defines: shorter forms of a key, and `camelCase`.

/// Keys of `benchmark` that are also allowed at the top of a file.
pub(crate) const FLAT: &[&str] = &[
    "model",
    "models",
    "endpoint",
    "dataset",
    "datasets",
    "phases",
    "artifacts",
    "slos",
    "tokenizer",
    "gpu_telemetry",
    "server_metrics",
    "runtime",
    "logging",
    "metrics",
    "accuracy",
];

/// Keys that no section has and a file may use: `file` expands each. List items are written `*`.
const KEYS: &[(&str, &[&str])] = &[
    ("", FLAT),
    ("benchmark", &["model", "dataset", "warmup", "profiling"]),
    ("benchmark.endpoint", &["url"]),
    ("benchmark.gpu_telemetry", &["url"]),
    ("benchmark.server_metrics", &["url"]),
    ("benchmark.datasets.*", &["isl", "osl"]),
];

/// The shorter keys that may be written at a path.
pub(crate) fn shorthands(path: &str) -> impl Iterator<Item = &'static str> {
    let general = |part: &str| part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty();
    let path: Vec<&str> = path.split('.').map(|part| if general(part) { "*" } else { part }).collect();
    let path = path.join(".");
    KEYS.iter().filter(move |(at, _)| *at == path).flat_map(|(_, keys)| keys.iter().copied())
}

/// A name in `snake_case`.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            if !out.is_empty() && !out.ends_with('_') {
                out.push('_');
            }
            out.push(c.to_ascii_lowercase());
        } else {
            out.push(c);
        }
    }
    out
}
