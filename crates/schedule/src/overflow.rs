//! Which answers say that a conversation has become longer than its model can take.

/// What servers write in such answers, in lower case.
const SIGNS: [&str; 4] = ["context length", "maximum context", "context_length_exceeded", "prompt is too long"];

/// Whether the body of a failed answer says so, as plain text or anywhere in its JSON.
pub fn is_context_overflow(body: &str) -> bool {
    let body = body.as_bytes();
    let has = |sign: &str| body.windows(sign.len()).any(|part| part.eq_ignore_ascii_case(sign.as_bytes()));
    SIGNS.into_iter().any(has)
}
