//! Which tokenizer a model gets when none is named.

use crate::builtin::BUILTIN;

/// Words that are only placeholders for a model's name.
const PLACEHOLDER_WORDS: &[&str] = &["test", "mock", "fake", "dummy", "example", "sample", "placeholder"];

/// Neighbouring words that are only placeholders for a model's name.
const PLACEHOLDER_PAIRS: &[(&str, &str)] = &[("your", "model"), ("my", "model"), ("model", "name"), ("model", "id")];

/// A tokenizer's name and a message to the user about how it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub name: String,
    /// To be shown once.
    pub warning: Option<String>,
}

impl Choice {
    /// The named tokenizer, else the one of the model.
    pub fn of(tokenizer: Option<&str>, model: &str) -> Self {
        match tokenizer {
            Some(name) => Self { name: name.to_owned(), warning: None },
            None if is_placeholder(model) => Self {
                name: BUILTIN.to_owned(),
                warning: Some(format!(
                    "Model name '{model}' looks like a placeholder; defaulting tokenizer to 'builtin' (tiktoken \
                     o200k_base). Pass --tokenizer <name> to override."
                )),
            },
            None => Self { name: model.to_owned(), warning: None },
        }
    }
}

/// Whether a model name is a placeholder, such as `mock-model`: no tokenizer is published under it.
pub fn is_placeholder(model: &str) -> bool {
    if model.contains(['/', '\\']) || model.starts_with(['.', '~']) {
        return false;
    }
    let name = model.to_lowercase();
    let words: Vec<&str> = name.split(['-', '_']).collect();
    let is_pair = |pair: &[&str]| {
        let (first, second) = (pair[0], pair[1]);
        PLACEHOLDER_PAIRS.iter().any(|&(a, b)| a == first && (b == second || second.strip_suffix('s') == Some(b)))
    };
    words.iter().any(|word| PLACEHOLDER_WORDS.contains(word)) || words.windows(2).any(is_pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_decide_and_not_letters_inside_words() {
        for name in ["test_llm", "dummy-model", "my-models", "a-test"] {
            assert!(is_placeholder(name), "{name}");
        }
        for name in ["", "latest-model", "contest-7b", "mymodel", "modelname"] {
            assert!(!is_placeholder(name), "{name}");
        }
    }

    #[test]
    fn a_named_tokenizer_is_taken_as_it_is() {
        assert_eq!(Choice::of(Some("x/y"), "mock"), Choice { name: "x/y".into(), warning: None });
        let fallback = Choice::of(None, "mock");
        assert_eq!(fallback.name, "builtin");
        assert!(fallback.warning.unwrap().contains("'mock'"));
        assert_eq!(Choice::of(None, "Qwen/Qwen3-0.6B").name, "Qwen/Qwen3-0.6B");
    }
}
