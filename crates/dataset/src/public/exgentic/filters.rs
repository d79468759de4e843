//! Which sessions are sent, by harness, model and benchmark.

use super::super::row::Fault;

const HARNESSES: &[&str] =
    &["claude_code", "openai_solo", "smolagents_code", "tool_calling", "tool_calling_with_shortlisting"];
const MODELS: &[&str] =
    &["DeepSeek-V3.2", "Kimi-K2.5", "claude-opus-4-5", "gemini-3-pro-preview", "gpt-4.1", "gpt-5.2-2025-12-11"];
const BENCHMARKS: &[&str] = &["appworld", "browsecompplus", "swebench", "tau2_airline", "tau2_retail", "tau2_telecom"];
/// Providers that precede the name of a model.
const PROVIDERS: &[&str] = &["openai/azure/", "azure/", "aws/", "gcp/"];

/// The models that a harness recorded, if not all of the version: `(version, harness, models)`.
const RECORDED: &[(u8, &str, &[&str])] = &[
    (1, "openai_solo", &["DeepSeek-V3.2", "Kimi-K2.5", "claude-opus-4-5", "gemini-3-pro-preview", "gpt-4.1"]),
    (1, "smolagents_code", &["DeepSeek-V3.2", "Kimi-K2.5", "gpt-4.1"]),
    (1, "tool_calling", &["DeepSeek-V3.2", "Kimi-K2.5", "claude-opus-4-5", "gemini-3-pro-preview", "gpt-4.1"]),
    (1, "tool_calling_with_shortlisting", &["DeepSeek-V3.2", "Kimi-K2.5", "gemini-3-pro-preview"]),
    (2, "tool_calling_with_shortlisting", &["DeepSeek-V3.2", "Kimi-K2.5", "gemini-3-pro-preview"]),
];

#[derive(Debug, Default, PartialEq)]
pub(super) struct Filters {
    harness: Option<&'static str>,
    source_model: Option<&'static str>,
    benchmark: Option<&'static str>,
}

impl Filters {
    /// The filters of the user. An unknown filter or value is an error that lists the known ones.
    pub(super) fn of(given: &[(String, String)], version: u8) -> Result<Self, Fault> {
        let mut filters = Self::default();
        for (key, value) in given {
            match key.as_str() {
                "harness" => filters.harness = Some(one_of(HARNESSES, key, value)?),
                "source_model" => filters.source_model = Some(one_of(models(version), key, source_model(value))?),
                "benchmark" if version == 1 => {
                    let fault = "--dataset-filter benchmark is only supported for exgentic_v2\n  rows of exgentic name no \
                                 benchmark\n  try: --public-dataset exgentic_v2";
                    return Err(fault.into());
                }
                "benchmark" => filters.benchmark = Some(one_of(BENCHMARKS, key, value)?),
                _ => {
                    let fault = format!(
                        "--dataset-filter {key} is no filter of this dataset\n  try: harness, source_model{}",
                        if version == 1 { "" } else { ", benchmark" }
                    );
                    return Err(fault);
                }
            }
        }
        if let (Some(harness), Some(model)) = (filters.harness, filters.source_model) {
            let recorded = RECORDED.iter().find(|(of, name, _)| (*of, *name) == (version, harness));
            if let Some((_, _, models)) = recorded.filter(|(_, _, models)| !models.contains(&model)) {
                return Err(format!(
                    "--dataset-filter harness={harness} source_model={model} matches nothing: {harness} was not recorded \
                     with {model}\n  try: source_model={}",
                    models.join(", ")
                ));
            }
        }
        Ok(filters)
    }

    pub(super) fn match_row(&self, harness: &str, models: &[&str], benchmark: Option<&str>) -> bool {
        self.harness.is_none_or(|wanted| wanted == harness)
            && self.source_model.is_none_or(|wanted| models.contains(&wanted))
            && self.benchmark.is_none_or(|wanted| benchmark == Some(wanted))
    }
}

fn models(version: u8) -> &'static [&'static str] {
    // The first version has a fifth.
    const SECOND: &[&str] =
        &["DeepSeek-V3.2", "Kimi-K2.5", "claude-opus-4-5", "gemini-3-pro-preview", "gpt-5.2-2025-12-11"];
    if version == 1 { MODELS } else { SECOND }
}

fn one_of(known: &'static [&'static str], key: &str, value: &str) -> Result<&'static str, Fault> {
    let found = known.iter().copied().find(|name| name.eq_ignore_ascii_case(value));
    found.ok_or_else(|| {
        format!("--dataset-filter {key}={value} matches nothing: there is no such {key}\n  try: {}", known.join(", "))
    })
}

/// The name of a model without its provider.
pub(in crate::public) fn source_model(name: &str) -> &str {
    let is_of = |provider: &&&str| {
        let start = name.get(..provider.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(provider))
    };
    PROVIDERS.iter().find(is_of).map_or(name, |provider| &name[provider.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &[(&str, &str)], version: u8) -> Result<Filters, Fault> {
        let given: Vec<_> = given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Filters::of(&given, version)
    }

    #[test]
    fn filters_are_those_that_some_session_matches() {
        let filters = of(&[("harness", "CLAUDE_CODE"), ("source_model", "azure/gpt-4.1")], 1).unwrap();
        assert_eq!((filters.harness, filters.source_model), (Some("claude_code"), Some("gpt-4.1")));
        assert!(filters.match_row("claude_code", &["gpt-4.1"], None));
        assert!(!filters.match_row("claude_code", &["Kimi-K2.5"], None));
        assert!(of(&[("benchmark", "swebench")], 2).unwrap().match_row("any", &[], Some("swebench")));
        for (given, version, wanted) in [
            (vec![("harness", "x")], 1, "there is no such harness"),
            (vec![("zz", "1")], 1, "no filter of this dataset"),
            (vec![("benchmark", "swebench")], 1, "exgentic_v2"),
            (vec![("source_model", "gpt-4.1")], 2, "there is no such source_model"),
            (vec![("harness", "smolagents_code"), ("source_model", "claude-opus-4-5")], 1, "was not recorded with"),
        ] {
            let fault = of(&given, version).unwrap_err();
            assert!(fault.contains(wanted) && fault.contains("try: "), "{fault}");
        }
    }
}
