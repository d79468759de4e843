//! Whether a finished request is a result: what makes one fail that no error was reported for.

use aiperf_types::{ContentMark, MonoNs, RequestError};

/// Instants at or past this are not times.
const LAST: u64 = i64::MAX as u64;

/// What is wrong with a request that ended without an error, if anything.
///
/// A result has content, takes some time, and all its instants are times. `responses` is the number of raw responses,
/// those without content included.
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

/// What servers say when a prompt is longer than the model takes.
pub const CONTEXT_OVERFLOW_PHRASES: &[&str] =
    &["context length", "maximum context", "context_length_exceeded", "prompt is too long"];

/// How often a message may be JSON within JSON.
const NESTED: usize = 3;

/// Whether an error message says that the context was too long. Letter case does not matter, nor do escapes of JSON.
pub fn says_context_overflow<'p>(message: &str, phrases: impl IntoIterator<Item = &'p str>) -> bool {
    let mut texts = vec![message.to_owned()];
    while let Some(plain) =
        texts.last().filter(|text| text.contains('\\') && texts.len() <= NESTED).map(|text| unescaped(text))
    {
        texts.push(plain);
    }
    texts.iter_mut().for_each(|text| *text = text.to_lowercase());
    phrases.into_iter().map(str::to_lowercase).any(|phrase| texts.iter().any(|text| text.contains(&phrase)))
}

/// A text with the escapes of JSON taken out once; what is none stays.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let code = after.strip_prefix('u').and_then(|hex| u32::from_str_radix(hex.get(..4)?, 16).ok());
        (out, rest) = match (code, after.chars().next()) {
            // Halves of characters outside the first plane are in no phrase.
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
    fn a_message_is_searched_in_any_letter_case() {
        let says = |message| says_context_overflow(message, CONTEXT_OVERFLOW_PHRASES.iter().copied());
        assert!(says(r#"{"error":{"message":"This model's Maximum Context Length is 4096 tokens"}}"#));
        assert!(!says("rate limited"));
    }

    #[test]
    fn a_phrase_is_found_behind_escapes_of_json() {
        let says = |message| says_context_overflow(message, CONTEXT_OVERFLOW_PHRASES.iter().copied());
        assert!(says(r#"{"error":"maximum\u0020context of 4096"}"#));
        assert!(says(r#"{"error":"the prompt\nis too\tlong: prompt is\u0020too long"}"#));
        assert!(says(r#"{"detail":"{\"error\":\"context\\u0020length\"}"}"#));
        for message in ["\\", r"\u", r"\u00", r"\ud83d\ude00", r"\é", "context\\ length"] {
            let _ = says(message);
        }
        assert!(!says(r"rate\u0020limited"));
    }
}
