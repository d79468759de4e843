//! Secrets that only the server that the user named may get.

use aiperf_plan::redact::{Redactor, is_sensitive_header};
use aiperf_transport::Private;
use aiperf_types::Body;
use std::borrow::Cow;
use std::sync::Arc;

/// Knows what files redact: header fields and body members with secret names, and the user's own secrets wherever they
/// occur.
#[derive(Debug, Default)]
pub(crate) struct Secrets(pub(crate) Arc<Redactor>);

impl Private for Secrets {
    fn header(&self, name: &str, value: &str) -> bool {
        is_sensitive_header(name) || self.0.hide_in_name(name).is_some() || matches!(self.0.hide(value), Cow::Owned(_))
    }

    fn body(&self, body: &Body) -> bool {
        matches!(self.0.body(&body.payload()), Cow::Owned(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_files_redact_is_private() {
        let secrets = Secrets(Arc::new(Redactor::new(["sk-live-1234567".to_owned()])));
        let mut fields = Vec::new();
        for (name, value, is_private) in [
            ("X-Passphrase", "open", true),
            ("X-Db-Pwd", "open", true),
            ("Sig", "open", true),
            ("Bearer", "open", true),
            ("Authorization", "Bearer x", true),
            ("X-Note", "a sk-live-1234567 b", true),
            ("X-Note", "a b", false),
            ("Idempotency-Key", "7", false),
            ("Content-Type", "application/json", false),
            ("Accept", "text/event-stream", false),
        ] {
            assert_eq!(secrets.header(name, value), is_private, "{name}: {value}");
            fields.push((name.to_owned(), value.to_owned()));
            let shown = fields.clone();
            secrets.0.headers(&mut fields);
            assert_eq!(shown != fields, is_private, "{name}: {value}: as in files");
            fields.clear();
        }
    }
}
