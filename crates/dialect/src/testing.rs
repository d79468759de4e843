//! What tests of this crate share.

use crate::Api;
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_types::EndpointKind;

/// An endpoint of one type, as plain as can be.
pub(crate) fn endpoint(kind: EndpointKind) -> EndpointPlan {
    EndpointPlan::new(kind, vec![BaseUrl::parse("http://localhost:8000").unwrap()])
}

pub(crate) fn api(kind: EndpointKind) -> Api {
    Api::new(&endpoint(kind), "m").unwrap()
}

pub(crate) fn chat() -> Api {
    api(EndpointKind::Chat)
}
