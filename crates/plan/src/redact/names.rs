//! Which names are those of secrets: one list for headers, parameters of URLs, extra inputs and texts.

use crate::url::percent_decoded;

/// A word that makes a name that of a secret. Separators and letter case do not count, so `api-key` stands for
/// `apiKey`, `API_KEY` and `apikey` too.
struct Word {
    word: &'static str,
    reach: Reach,
}

/// How much of a name a word must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// All of it: inside longer names the word is an everyday one (`key`, `top_k_token`).
    Whole,
    /// Its end, as in `x-goog-signature`.
    End,
    /// Any part of a header's name, and of no other: a header holds nothing that a reader of files needs.
    PartOfHeader,
    /// Its end, or any part of a header's name.
    EndOrPartOfHeader,
}

const WORDS: &[Word] = &[
    word("key", Reach::Whole),
    word("sig", Reach::Whole),
    word("jwt", Reach::Whole),
    word("pwd", Reach::End),
    word("auth", Reach::Whole),
    word("auth", Reach::PartOfHeader),
    word("token", Reach::Whole),
    word("token", Reach::PartOfHeader),
    word("session", Reach::PartOfHeader),
    word("api-token", Reach::End),
    word("access-token", Reach::End),
    word("auth-token", Reach::End),
    word("bearer-token", Reach::End),
    word("id-token", Reach::End),
    word("refresh-token", Reach::End),
    word("session-token", Reach::End),
    word("security-token", Reach::End),
    word("csrf-token", Reach::End),
    word("xsrf-token", Reach::End),
    word("hf-token", Reach::End),
    word("secret-token", Reach::End),
    word("bearer", Reach::Whole),
    word("authorization", Reach::End),
    word("secret", Reach::EndOrPartOfHeader),
    word("secret-key", Reach::End),
    word("password", Reach::EndOrPartOfHeader),
    word("passwd", Reach::EndOrPartOfHeader),
    word("passphrase", Reach::End),
    word("credential", Reach::EndOrPartOfHeader),
    word("credentials", Reach::End),
    word("cookie", Reach::EndOrPartOfHeader),
    word("signature", Reach::EndOrPartOfHeader),
    word("api-key", Reach::EndOrPartOfHeader),
    word("sas-key", Reach::EndOrPartOfHeader),
    word("access-key", Reach::EndOrPartOfHeader),
    word("access-key-id", Reach::End),
    word("private-key", Reach::EndOrPartOfHeader),
    word("subscription-key", Reach::End),
    word("functions-key", Reach::End),
    word("google-access-id", Reach::End),
];

const fn word(word: &'static str, reach: Reach) -> Word {
    Word { word, reach }
}

/// Whether a parameter, a member of a body or a word of a text holds a secret by its name.
pub fn is_secret_name(name: &str) -> bool {
    let name = squeezed(&percent_decoded(name));
    WORDS.iter().any(|Word { word, reach }| match reach {
        Reach::Whole => before(&name, word) == Some(0),
        Reach::End | Reach::EndOrPartOfHeader => before(&name, word).is_some(),
        Reach::PartOfHeader => false,
    })
}

/// Whether a name could be that of a secret, by its last two letters: most names are told apart so, and cheaply.
pub(super) fn may_be_secret_name(name: &str) -> bool {
    let [.., a, b] = name.as_bytes() else { return false };
    let is_letters = a.is_ascii_alphabetic() && b.is_ascii_alphabetic();
    // Anything else may be a separator or an escape, behind which a word ends.
    !is_letters
        || WORDS.iter().any(|Word { word, .. }| word.as_bytes()[word.len() - 2..].eq_ignore_ascii_case(&[*a, *b]))
}

/// How many bytes of a name stand before the word that it ends in.
fn before(name: &str, word: &str) -> Option<usize> {
    let mut name = name.bytes().rev();
    let ends_so = word.bytes().rev().filter(|byte| *byte != b'-').all(|byte| name.next() == Some(byte));
    ends_so.then(|| name.len())
}

/// Whether a header's value must not be shown.
pub fn is_sensitive_header(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let joined = squeezed(name);
    let within = |Word { word, reach }: &Word| {
        let is_part = matches!(reach, Reach::PartOfHeader | Reach::EndOrPartOfHeader);
        // A word of its own must not be made by taking separators out: `X-Plateau-Theme` is no `auth`.
        is_part && if word.contains('-') { joined.contains(&squeezed(word)) } else { lower.contains(word) }
    };
    is_secret_name(name) || WORDS.iter().any(within)
}

/// Whether a header's value is a secret that must not be shown elsewhere either. Names that only happen to contain a
/// word (`X-Tokenizer`, `X-Author`) hold everyday values, which other texts may say.
pub(super) fn is_secret_header(name: &str) -> bool {
    let parts = || name.split(['-', '_', ' ', '.']).map(str::to_ascii_lowercase);
    let of_header = |Word { reach, .. }: &&Word| matches!(reach, Reach::PartOfHeader | Reach::EndOrPartOfHeader);
    is_secret_name(name) || WORDS.iter().filter(of_header).any(|Word { word, .. }| parts().any(|part| part == *word))
}

fn squeezed(name: &str) -> String {
    name.chars().filter(|c| !"-_ .+".contains(*c)).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_secrets_are_known_in_every_spelling() {
        for name in [
            "api_key",
            "apiKey",
            "apikey",
            "API-KEY",
            "api%5Fkey",
            "api+key",
            "accesstoken",
            "access_token",
            "hf_token",
            "AWSAccessKeyId",
            "aws_secret_access_key",
            "x-amz-security-token",
            "X-Amz-Credential",
            "X-Amz-Signature",
            "X-Goog-Signature",
            "X-Goog-Credential",
            "GoogleAccessId",
            "sig",
            "key",
            "token",
            "client_secret",
            "Ocp-Apim-Subscription-Key",
            "x-functions-key",
            "db_password",
            "Authorization",
            "Set-Cookie",
        ] {
            assert!(may_be_secret_name(name) && is_secret_name(name), "{name}");
            assert!(is_sensitive_header(name), "{name}");
        }
    }

    #[test]
    fn everyday_names_are_none() {
        for name in
            ["max_tokens", "token_count", "eos_token", "tokenizer", "top_k", "keys", "monkey", "author", "session"]
        {
            assert!(!is_secret_name(name), "{name}");
        }
        for name in ["X-Correlation-ID", "Accept", "X-Plateau-Theme", "User-Agent", "X-Monkey"] {
            assert!(!is_sensitive_header(name), "{name}");
        }
    }

    #[test]
    fn headers_that_hold_everyday_values_are_hidden_where_they_stand_and_nowhere_else() {
        for name in ["X-Author", "X-Tokenizer", "X-Tokens-Per-Sec"] {
            assert!(is_sensitive_header(name) && !is_secret_header(name), "{name}");
        }
        assert!(is_secret_header("X-My-Token") && is_secret_header("x-api-key"));
    }
}
