//! hf_tei_rankings.

use super::{Carries, Dialect};
use crate::capture::TextCapture;
use crate::inputs;
use crate::reader::Stateless;
use crate::request::DialectError;
use aiperf_types::EndpointKind;

pub const DIALECT: Dialect = Dialect {
    kind: EndpointKind::HfTeiRankings,
    carries: Carries::OneTurn,
    frame: |_| Err(DialectError::Encode("not there yet".into())),
    reader: |_| Box::new(Stateless(|_, _| None)),
    capture: |_| Box::new(TextCapture::default()),
    inputs: inputs::of_messages,
};
