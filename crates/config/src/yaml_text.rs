//! Texts as YAML.

use serde_json::Value;

/// A text as YAML: bare where it can only be read as that text.
pub(crate) fn plain(text: &str) -> String {
    let bare = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:@+".contains(c))
        && !text.ends_with(':');
    let word = ["true", "false", "yes", "no", "on", "off", "null"].contains(&text.to_ascii_lowercase().as_str());
    if bare && !word { text.to_owned() } else { Value::from(text).to_string() }
}
