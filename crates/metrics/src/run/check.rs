//! Whether a finished request is a valid result: faults of requests without a reported error.

use aiperf_types::{ContentMark, MonoNs, RequestError};

/// Instants from here on are not valid times.
const LAST: u64 = i64::MAX as u64;

/// The fault of a request that ended without an error, if there is one.
///
/// A valid result has content and a duration, and all its instants are valid times. `responses` is the number of raw
/// responses, including those without content.
pub fn invalid_result(start: MonoNs, end: MonoNs, responses: u32, content: &[ContentMark]) -> Option<RequestError> {
    let is_time = |at: MonoNs| at.0 > 0 && at.0 < LAST;
    let good_times = content.iter().all(|mark| is_time(mark.at));
    if !content.is_empty() && good_times && start < end && start.0 < LAST {
        return None;
    }
    let mut notes = Vec::new();
    if responses == 0 {
        notes.push("No responses were received".to_owned());
    } else if content.is_empty() {
        notes.push(
            "No responses with actual content were received from the server (only usage/metadata, null/empty data, or \
             [DONE] markers)"
                .to_owned(),
        );
    }
    if !is_time(start) {
        notes.push(format!("Start perf ns timestamp is invalid: {}", start.0));
    }
    for (number, mark) in content.iter().enumerate().filter(|(_, mark)| !is_time(mark.at)) {
        notes.push(format!("Response {number} perf ns timestamp is invalid: {}", mark.at.0));
    }
    let kind = "InvalidInferenceResultError";
    Some(RequestError::exception(kind, format!("Invalid inference result: {}", notes.join(", ")), &[]))
}

/// Phrases of servers when a prompt is longer than the model allows.
pub const CONTEXT_OVERFLOW_PHRASES: &[&str] =
    &["context length", "maximum context", "context_length_exceeded", "prompt is too long"];

/// The most levels of JSON within JSON in a message.
const NESTED: usize = 3;

/// Whether an error message reports that the context was too long. Ignores letter case and escapes in JSON strings; in
/// plain text a backslash is a backslash.
pub fn reports_context_overflow<'p>(message: &str, phrases: impl IntoIterator<Item = &'p str>) -> bool {
    let mut texts = Vec::new();
    add_texts(message, 0, &mut texts);
    phrases.into_iter().map(str::to_lowercase).any(|phrase| texts.iter().any(|text| text.contains(&phrase)))
}

/// Adds a message, and its strings with escapes, in lower case.
fn add_texts(message: &str, depth: usize, texts: &mut Vec<String>) {
    if message.contains('\\') && message.trim_start().starts_with(['{', '[', '"']) && depth < NESTED {
        let escaped = string_literals(message).filter(|literal| literal.contains('\\'));
        escaped.for_each(|literal| add_texts(&unescaped(literal), depth + 1, texts));
    }
    texts.push(message.to_lowercase());
}

/// The content between the quotes of each string of a JSON document, as it is written.
fn string_literals(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        let literal = &rest[rest.find('"')? + 1..];
        let mut is_escaped = false;
        let end = literal.bytes().position(|byte| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        });
        // A truncated string counts too.
        let end = end.unwrap_or(literal.len());
        rest = literal.get(end + 1..).unwrap_or_default();
        Some(&literal[..end])
    })
}

/// A text with one level of JSON escapes resolved; other text stays.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let code = after.strip_prefix('u').and_then(|hex| u32::from_str_radix(hex.get(..4)?, 16).ok());
        (out, rest) = match (code, after.chars().next()) {
            // No phrase contains surrogates.
            (Some(code), _) => (out + char::from_u32(code).unwrap_or(' ').encode_utf8(&mut [0; 4]), &after[5..]),
            (None, Some('n' | 'r' | 't' | 'b' | 'f')) => (out + " ", &after[1..]),
            (None, Some(c)) => (out + c.encode_utf8(&mut [0; 4]), &after[c.len_utf8()..]),
            (None, None) => (out + "\\", after),
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letter_case_of_a_message_does_not_matter() {
        let reports = |message| reports_context_overflow(message, CONTEXT_OVERFLOW_PHRASES.iter().copied());
        assert!(reports(r#"{"error":{"message":"This model's Maximum Context Length is 4096 tokens"}}"#));
        assert!(!reports("rate limited"));
    }

    #[test]
    fn a_phrase_is_found_despite_json_escapes() {
        let reports = |message| reports_context_overflow(message, CONTEXT_OVERFLOW_PHRASES.iter().copied());
        assert!(reports(r#"{"error":"maximum\u0020context of 4096"}"#));
        assert!(reports(r#"{"error":"the prompt\nis too\tlong: prompt is\u0020too long"}"#));
        assert!(reports(r#"{"detail":"{\"error\":\"context\\u0020length\"}"}"#));
        assert!(reports(r#"["a", "say \"so\": prompt is\u0020too long", "cut"#));
        for message in ["\\", r"\u", r"\u00", r"\ud83d\ude00", r"\é"] {
            for message in [message.to_owned(), format!("\"{message}"), format!("[\"{message}\"")] {
                assert!(!reports_context_overflow(&message, CONTEXT_OVERFLOW_PHRASES.iter().copied()), "{message}");
            }
        }
    }

    #[test]
    fn escapes_in_plain_text_are_no_escapes() {
        let reports = |message| reports_context_overflow(message, CONTEXT_OVERFLOW_PHRASES.iter().copied());
        for message in [r"context\u0020length", r"see C:\maximum\u0020context", r"maximum\ncontext {\u0020}"] {
            assert!(!reports(message), "{message}");
        }
        assert!(reports(r"C:\n: the maximum context length"));
        assert!(!reports(r"rate\u0020limited"));
    }
}
