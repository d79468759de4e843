//! Finds secrets in what a benchmark sends, and hides them in all output.
//!
//! A secret is known by the name that it has (`names`) or by its value: what the user gave as a key, a secret header or
//! a credential is hidden wherever it occurs, in any form.
//!
//! # Layout
//! From the bottom up:
//! - [`percent`]: percent-encoded texts
//! - `names`: which names mark secrets; `values`: which values can be searched in any text
//! - `urls`: the secrets in URLs and credentials, and URLs as they are shown; `texts`: those in any text; `headers`:
//!   those in headers
//! - `members`: walks through JSON documents
//! - `payload`: bodies of requests, and their templates, as texts
//! - `forms`: the forms in which a secret may appear
//! - `index`: the values of secrets, to search for; `row_secrets`: those that only rows contain
//! - `redactor`: the user's secrets, found by their value in all output
//!
//! # Invariants
//! - Text leaves the program through one value: [`Redactor`]. It also hides secrets that a server echoes.
//! - One list defines which names mean a secret (`names`). A list or object under such a name is hidden as a whole.
//! - Bodies and templates are hidden as text, in one pass (`payload`). Requests pass through this, so it is quick.

mod forms;
mod headers;
mod index;
mod members;
mod names;
mod payload;
pub mod percent;
mod redactor;
mod row_secrets;
mod texts;
mod urls;
mod values;

pub use headers::{secrets_in_header, secrets_in_value};
pub use members::{secrets_in_members, visit_secret_members, visit_texts};
pub use names::{is_secret_name, is_secret_parameter, is_sensitive_header};
pub use payload::{secrets_in_body, secrets_in_template, template};
pub use redactor::{LONGEST_ERROR, Redactor};
pub use row_secrets::RowSecrets;
pub use texts::text;
pub use urls::{secrets_in_credentials, secrets_in_url, secrets_in_urls, url, urls};

/// Replaces a secret.
pub const REDACTED: &str = "<redacted>";
