//! Which names mark secrets: one list for headers, parameters of URLs, extra inputs, rows and texts.
//!
//! The rule: a name marks a secret if it *ends* in a word that means one (`api_key`, `X-Goog-Signature`,
//! `client_secret`), or in the plural of such a word (`api_keys`, `credentials`). `key` counts as the last word of any
//! name, except keys that only find something ([`FINDING_KEYS`]: `primary_key`, `prompt_cache_key`, `Idempotency-Key`).
//! So does `token`, except tokens of a model ([`ORDINARY_TOKENS`]: `eos_token`, `max_token`). Words that are ordinary
//! inside longer names (`auth`) count only as the whole name. So `max_tokens`, `stop_token_ids` and `tokenizer` are
//! none. `tokens` and `keys` are some only as members that hold texts. Digits at the end of a name do not count
//! (`password1`, `api_key_2`).
//!
//! Readers of files do not need the values of headers, so more headers count: any with such a word *in* it. In URLs,
//! `code` counts too: Azure's functions take their key by it. Elsewhere it is a status or a program.

use crate::percent::percent_decoded;
use std::borrow::Cow;

/// A word that marks a secret name. Separators and letter case do not count, so `api-key` covers `apiKey`, `API_KEY`
/// and `apikey` too.
struct Word {
    word: &'static str,
    reach: Reach,
}

/// Which part of a name the word must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// All of it: inside longer names the word is ordinary (`top_k_token`).
    Whole,
    /// All of the name of a URL's parameter, and of no other name.
    Parameter,
    /// All of the name of a member that holds texts. Numbers under it are ordinary, and so is the word in prose.
    TextsOf,
    /// Its end, as in `x-goog-signature`, also in the plural.
    End,
    /// Any part of a header's name, and of no other name: readers of files do not need the values of headers.
    PartOfHeader,
    /// Its last word, but for [`FINDING_KEYS`] and [`ORDINARY_TOKENS`].
    Last,
    /// The last word of a header's name, and of no other name.
    LastOfHeader,
    /// Its end, or any part of a header's name.
    EndOrPartOfHeader,
}

const WORDS: &[Word] = &[
    word("key", Reach::Last),
    word("keys", Reach::LastOfHeader),
    word("keys", Reach::TextsOf),
    word("tokens", Reach::TextsOf),
    word("sig", Reach::Whole),
    word("sas", Reach::Whole),
    word("pat", Reach::Whole),
    word("pw", Reach::Parameter),
    word("refresh", Reach::Parameter),
    word("hdnts", Reach::Parameter),
    word("code", Reach::Parameter),
    word("code-verifier", Reach::Parameter),
    word("assertion", Reach::Parameter),
    word("session", Reach::Parameter),
    word("sid", Reach::Parameter),
    word("ticket", Reach::Parameter),
    word("jwt", Reach::EndOrPartOfHeader),
    word("hmac", Reach::EndOrPartOfHeader),
    word("pwd", Reach::End),
    word("auth", Reach::Whole),
    word("auth", Reach::PartOfHeader),
    word("token", Reach::Whole),
    word("token", Reach::Last),
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
    word("sas-token", Reach::End),
    word("secret-token", Reach::End),
    word("bearer", Reach::Whole),
    word("authorization", Reach::End),
    word("secret", Reach::EndOrPartOfHeader),
    word("secret-key", Reach::End),
    word("password", Reach::EndOrPartOfHeader),
    word("passwd", Reach::EndOrPartOfHeader),
    word("passphrase", Reach::End),
    word("secret-id", Reach::End),
    word("secret-value", Reach::End),
    word("cred", Reach::Last),
    word("creds", Reach::Last),
    word("credential", Reach::EndOrPartOfHeader),
    word("cookie", Reach::EndOrPartOfHeader),
    word("signature", Reach::EndOrPartOfHeader),
    word("api-key", Reach::EndOrPartOfHeader),
    word("app-key", Reach::End),
    word("auth-key", Reach::End),
    word("sas-key", Reach::EndOrPartOfHeader),
    word("access-key", Reach::EndOrPartOfHeader),
    word("access-key-id", Reach::End),
    word("account-key", Reach::End),
    word("private-key", Reach::EndOrPartOfHeader),
    word("private-key-pem", Reach::End),
    word("credential-json", Reach::End),
    word("credentials-json", Reach::End),
    word("encryption-key", Reach::End),
    word("ssh-key", Reach::End),
    word("subscription-key", Reach::End),
    word("google-access-id", Reach::End),
    word("connection-string", Reach::End),
    word("dsn", Reach::Last),
    word("auth-header", Reach::End),
    word("basic-auth", Reach::End),
    word("authentication", Reach::Whole),
    word("oauth", Reach::Whole),
    word("pass", Reach::Whole),
    word("db-pass", Reach::End),
    word("user-pass", Reach::End),
    word("passcode", Reach::End),
    word("access-code", Reach::End),
    word("pin-code", Reach::End),
    word("otp", Reach::Whole),
    word("github-pat", Reach::End),
    word("service-account-json", Reach::End),
    word("saml-assertion", Reach::End),
    word("saml-response", Reach::End),
    word("csrf", Reach::PartOfHeader),
    word("dpop", Reach::PartOfHeader),
    word("oidc", Reach::PartOfHeader),
    word("saml", Reach::PartOfHeader),
    word("xsrf", Reach::PartOfHeader),
    word("access", Reach::LastOfHeader),
    word("api", Reach::LastOfHeader),
    word("assertion", Reach::LastOfHeader),
    word("bearer", Reach::LastOfHeader),
    word("cert", Reach::LastOfHeader),
    word("license", Reach::LastOfHeader),
    word("login", Reach::LastOfHeader),
    word("otp", Reach::LastOfHeader),
    word("pass", Reach::LastOfHeader),
    word("pat", Reach::LastOfHeader),
    word("pin", Reach::LastOfHeader),
    word("sas", Reach::LastOfHeader),
    word("sig", Reach::LastOfHeader),
    word("subscription", Reach::LastOfHeader),
];

/// The word before `key` in names of what finds something again and opens nothing.
const FINDING_KEYS: &[&str] = &[
    "cache",
    "dedup",
    "foreign",
    "group",
    "idempotency",
    "index",
    "lookup",
    "object",
    "partition",
    "primary",
    "public",
    "routing",
    "shard",
    "sort",
];

/// The word before `token` in names of a model's tokens, and of places in a list.
const ORDINARY_TOKENS: &[&str] = &[
    "audio",
    "begin",
    "bos",
    "cls",
    "continuation",
    "end",
    "eod",
    "eom",
    "eos",
    "eot",
    "first",
    "image",
    "input",
    "k",
    "last",
    "logprob",
    "logprobs",
    "mask",
    "max",
    "min",
    "next",
    "output",
    "pad",
    "page",
    "per",
    "prompt",
    "sep",
    "special",
    "start",
    "stop",
    "text",
    "think",
    "thinking",
    "tool",
    "top",
    "unk",
    "video",
    "vision",
];

/// The words before a last word with which it marks no secret.
fn ordinary_before(word: &str) -> &'static [&'static str] {
    match word {
        "key" | "keys" => FINDING_KEYS,
        "token" => ORDINARY_TOKENS,
        _ => &[],
    }
}

const fn word(word: &'static str, reach: Reach) -> Word {
    Word { word, reach }
}

/// Whether the name of a member of a body, or of a value in a text, marks a secret.
pub fn is_secret_name(name: &str) -> bool {
    marks(name, |_| true)
}

/// Whether the name of a member of a document marks a secret.
pub(crate) fn is_secret_member(name: &str) -> bool {
    is_secret_name(name) || holds_only_texts(name)
}

/// Whether only texts under a name are secrets: `tokens` and `keys` also name counts and places.
pub(crate) fn holds_only_texts(name: &str) -> bool {
    WORDS.iter().any(|Word { word, reach }| *reach == Reach::TextsOf && name.eq_ignore_ascii_case(word))
}

/// Whether a number under a secret name is ordinary: `my_token` may be the number of a token. `token` alone and names
/// such as `access_token` hold numbers that are secrets.
pub(crate) fn is_number_ordinary(name: &str) -> bool {
    let is_last_token = |Word { word, reach }: &Word| *word == "token" && *reach == Reach::Last;
    marks(name, is_last_token) && !marks(name, |word| !is_last_token(word))
}

/// Whether one of the words that count marks a name.
fn marks(name: &str, counts: impl Fn(&Word) -> bool) -> bool {
    let decoded = if name.contains('%') { Cow::Owned(percent_decoded(name)) } else { Cow::Borrowed(name) };
    let bare = unnumbered(&decoded);
    let name = squeezed(bare);
    let singular = name.strip_suffix('s').unwrap_or(&name);
    let last = |text: &str| text.as_bytes().last().copied();
    let lasts = [last(&name), last(singular)];
    // Most words end in another letter: that is cheap to see.
    let mut words = WORDS.iter().filter(|word| lasts.contains(&last(word.word)) && counts(word));
    words.any(|Word { word, reach }| match reach {
        Reach::Last => opens(bare, word),
        Reach::Whole => before(&name, word) == Some(0),
        Reach::End | Reach::EndOrPartOfHeader => before(&name, word).or(before(singular, word)).is_some(),
        Reach::Parameter | Reach::TextsOf | Reach::PartOfHeader | Reach::LastOfHeader => false,
    })
}

/// A name without the number at its end: `api_key_2` is an `api_key`.
fn unnumbered(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if bare.len() == name.len() { name } else { bare.trim_end_matches(SEPARATORS) }
}

/// Whether the name of a URL's parameter marks a secret.
pub fn is_secret_parameter(name: &str) -> bool {
    let decoded = percent_decoded(name);
    let squeezed = squeezed(&decoded);
    let is_one = |Word { word, reach }: &Word| *reach == Reach::Parameter && before(&squeezed, word) == Some(0);
    // `auth[token]` is a member of an object; its last name counts.
    let member = decoded.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')).map(|(_, member)| member);
    is_secret_name(name) || member.is_some_and(is_secret_name) || WORDS.iter().any(is_one)
}

/// The last two letters of words for members: they rule out most names without a look at every word.
const ENDINGS: [[bool; 26]; 26] = {
    let mut endings = [[false; 26]; 26];
    let mut at = 0;
    while at < WORDS.len() {
        let word = WORDS[at].word.as_bytes();
        if !matches!(WORDS[at].reach, Reach::Parameter | Reach::PartOfHeader | Reach::LastOfHeader) {
            endings[(word[word.len() - 2] - b'a') as usize][(word[word.len() - 1] - b'a') as usize] = true;
        }
        at += 1;
    }
    endings
};

/// Whether a name may mark a secret, by its last letters. This must be cheap: it runs for every name of every body.
pub(crate) fn may_be_secret_name(name: &str) -> bool {
    let ends_so = |a: u8, b: u8| {
        let index = |letter: u8| usize::from(letter.to_ascii_lowercase() - b'a');
        // Anything but a letter may be a separator or an escape, after which a word ends.
        !(a.is_ascii_alphabetic() && b.is_ascii_alphabetic()) || ENDINGS[index(a)][index(b)]
    };
    let may_be = match name.trim_end_matches(|c: char| c.is_ascii_digit()).as_bytes() {
        [.., a, b, b's' | b'S'] => ends_so(*a, *b) || ends_so(*b, b's'),
        [.., a, b] => ends_so(*a, *b),
        _ => false,
    };
    may_be && !USUAL_NAMES.contains(&name)
}

/// Names that end as secret ones do, and are in many bodies.
const USUAL_NAMES: [&str; 7] =
    ["max_completion_tokens", "max_output_tokens", "max_tokens", "min_tokens", "stream_options", "temperature", "user"];

/// The number of bytes of a name before the word at its end.
fn before(name: &str, word: &str) -> Option<usize> {
    let mut name = name.bytes().rev();
    let ends_so = word.bytes().rev().filter(|byte| *byte != b'-').all(|byte| name.next() == Some(byte));
    ends_so.then(|| name.len())
}

/// Whether a header's value must not be shown.
pub fn is_sensitive_header(name: &str) -> bool {
    let (lower, joined) = (name.to_ascii_lowercase(), squeezed(name));
    // Removing separators must not create a word: `X-Plateau-Theme` is no `auth`.
    is_header_of(name, |word| if word.contains('-') { joined.contains(&squeezed(word)) } else { lower.contains(word) })
}

/// Whether a header's value is a secret that must not be shown elsewhere either. Names that only happen to contain a
/// word (`X-Tokenizer`, `X-Author`) have ordinary values, which other texts may contain.
pub(crate) fn is_secret_header(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_header_of(name, |word| parts(&lower).any(|part| part == word))
}

/// Whether one of the words marks a header. `has_part` decides for words that may be anywhere in its name.
fn is_header_of(name: &str, has_part: impl Fn(&str) -> bool) -> bool {
    let is_one = |Word { word, reach }: &Word| match reach {
        Reach::PartOfHeader | Reach::EndOrPartOfHeader => has_part(word),
        Reach::LastOfHeader => opens(unnumbered(name), word),
        Reach::Whole | Reach::Parameter | Reach::TextsOf | Reach::End | Reach::Last => false,
    };
    is_secret_name(name) || WORDS.iter().any(is_one)
}

/// Whether a name's last part is this word, and the part before does not make it an ordinary one.
fn opens(name: &str, word: &str) -> bool {
    before_last(name, word).is_some_and(|before| {
        let before = before.trim_end_matches(SEPARATORS);
        !ordinary_before(word).iter().any(|known| before_last(before, known).is_some())
    })
}

/// What precedes the last part of a name, if that part is this word.
fn before_last<'n>(name: &'n str, word: &str) -> Option<&'n str> {
    let (before, last) = name.split_at_checked(name.len().checked_sub(word.len())?)?;
    let is_small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    // `accountKey` has two parts, `monkey` has one.
    let is_own = before.is_empty()
        || before.ends_with(SEPARATORS)
        || (last.starts_with(|c: char| c.is_ascii_uppercase()) && before.ends_with(is_small));
    (is_own && last.eq_ignore_ascii_case(word)).then_some(before)
}

/// What separates the parts of a name.
const SEPARATORS: [char; 5] = ['-', '_', ' ', '.', '+'];

fn parts(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    name.split(SEPARATORS)
}

fn squeezed(name: &str) -> String {
    name.chars().filter(|c| !SEPARATORS.contains(c)).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_no_secrets() {
        for name in USUAL_NAMES {
            assert!(!is_secret_name(name) && !may_be_secret_name(name), "{name}");
        }
    }

    #[test]
    fn secret_names_are_recognised_in_every_spelling() {
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
            "api_keys",
            "apiKeys",
            "credentials",
            "aws_credentials",
            "access_tokens",
            "passwords",
            "client-secrets",
            "auth",
            "sas",
            "sas_token",
            "hmac",
            "X-Hmac",
            "jwt",
            "X-JWT",
            "X-User-Key",
            "user_key",
            "encryption_key",
            "license_key",
            "OPENAI_KEY",
            "connectionString",
            "auth_header",
            "authentication",
            "oauth",
            "pass",
            "db_pass",
            "passcode",
            "otp",
            "github_pat",
            "X-Custom-Key",
            "my_vendor_key",
            "vendorKey",
            "AccountKey",
            "github_token",
            "SLACK_TOKEN",
            "vault-token",
            "botToken",
            "mcp_token",
            "admin_token",
            "backendToken",
            "developer_token",
            "creds",
            "aws_creds",
            "cred",
            "secret_value",
            "secret_id",
            "basic_auth",
            "dsn",
            "SENTRY_DSN",
            "sshkey",
            "encryptionkey",
            "password1",
            "token2",
            "api_key_2",
            "apiKey1",
            "api-key-10",
            "api_keys2",
            "github_token_1",
            "api_key%5F2",
            "api_key%32",
            "private_key_pem",
            "credential_json",
            "gcp_credentials_json",
            "pat",
        ] {
            assert!(may_be_secret_name(name) && is_secret_name(name), "{name}");
            assert!(is_sensitive_header(name), "{name}");
        }
    }

    #[test]
    fn short_words_count_at_the_end_of_a_header() {
        for name in ["X-Azure-SAS", "X-Webhook-Sig", "X-Bearer", "X-OTP", "X-Access-Code", "X-Userpass"] {
            assert!(is_sensitive_header(name), "{name}");
        }
        for name in [
            "DPoP",
            "X-PAT",
            "X-SAML",
            "X-SAML-Response",
            "X-SAMLResponse",
            "X-User-Assertion",
            "X-Amzn-Oidc-Data",
            "X-Client-Cert",
            "X-Csrf",
            "X-Pat2",
            "X-Access",
            "X-License",
            "X-Login",
            "X-Subscription",
            "Api",
        ] {
            assert!(is_sensitive_header(name) && is_secret_header(name), "{name}");
        }
    }

    #[test]
    fn ordinary_names_are_no_secrets() {
        for name in [
            "max_tokens",
            "tokens",
            "token_count",
            "token_ids",
            "stop_token_ids",
            "logprobs_token",
            "eos_token",
            "bos_token",
            "padToken",
            "additional_special_token",
            "top_k_token",
            "max_token",
            "stop_token_1",
            "token_1_id",
            "tokenizer",
            "top_k",
            "keys",
            "primary_key",
            "prompt_cache_key",
            "foreign-key",
            "cacheKey",
            "object.key",
            "monkey",
            "Monkey",
            "hockey",
            "author",
            "session",
            "code",
            "status_code",
            "kansas",
            "bypass",
            "compass",
            "pin",
            "path",
            "sacred",
            "value",
            "message_id",
            "primary_key_2",
            "top1",
            "1",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
        for name in [
            "X-Correlation-ID",
            "X-Bypass",
            "Accept",
            "X-Plateau-Theme",
            "User-Agent",
            "X-Monkey",
            "X-Keyboard",
            "X-Path",
        ] {
            assert!(!is_sensitive_header(name), "{name}");
        }
    }

    #[test]
    fn headers_with_ordinary_values_are_hidden_in_their_place_only() {
        for name in ["X-Author", "X-Tokenizer", "X-Tokens-Per-Sec"] {
            assert!(is_sensitive_header(name) && !is_secret_header(name), "{name}");
        }
        assert!(is_secret_header("X-My-Token") && is_secret_header("x-api-key"));
    }

    #[test]
    fn a_header_that_ends_in_key_is_secret_unless_the_key_only_finds_something() {
        for name in ["X-User-Key", "x_team_key", "Key", "X-Deployment-Key", "X-My-Keys", "X-JWT", "X-Jwt-Assertion"] {
            assert!(is_sensitive_header(name) && is_secret_header(name), "{name}");
        }
        for name in ["Idempotency-Key", "X-Idempotency-Key", "X-Cache-Key", "Partition-Key", "X-Public-Key"] {
            assert!(!is_sensitive_header(name) && !is_secret_header(name), "{name}");
        }
    }

    #[test]
    fn a_number_is_ordinary_only_where_a_name_just_ends_in_token() {
        for name in ["my_token", "myToken2"] {
            assert!(is_number_ordinary(name), "{name}");
        }
        for name in ["token", "access_token", "api_key", "hf_token_2"] {
            assert!(!is_number_ordinary(name), "{name}");
        }
    }

    #[test]
    fn a_code_is_a_secret_in_urls_only() {
        for name in [
            "code",
            "CODE",
            "sas",
            "hmac",
            "api_key",
            "sid",
            "session",
            "assertion",
            "ticket",
            "code_verifier",
            "pw",
            "pat",
            "refresh",
            "hdnts",
        ] {
            assert!(is_secret_parameter(name), "{name}");
        }
        for name in ["code", "country_code", "postcode", "sid", "session", "session_id", "ticket", "pw", "refresh"] {
            assert!(!is_secret_name(name), "{name}");
        }
        assert!(!is_secret_parameter("country_code"));
    }
}
