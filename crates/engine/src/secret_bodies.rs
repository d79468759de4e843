//! Bodies that only the server that the user named may get.

use aiperf_plan::redact::Redactor;
use aiperf_transport::PrivateBodies;
use aiperf_types::Body;
use std::borrow::Cow;
use std::sync::Arc;

/// Knows bodies with secrets: members with such names, and the user's own wherever they stand.
#[derive(Debug, Default)]
pub(crate) struct SecretBodies(pub(crate) Arc<Redactor>);

impl PrivateBodies for SecretBodies {
    fn is_private(&self, body: &Body) -> bool {
        matches!(self.0.body(&body.payload()), Cow::Owned(_))
    }
}
