//! Embeddings of chat messages.

use super::{Carries, Dialect, chat};
use crate::kinds::shared::vectors;
use crate::request::inputs;
use crate::response::capture::TextCapture;
use crate::response::reader::{Data, Piece, Stateless, error_of, usage_of};
use crate::text::json;
use aiperf_types::EndpointKind;
use serde_json::{Map, Value};

pub const DIALECT: Dialect = Dialect {
    kind: EndpointKind::ChatEmbeddings,
    carries: Carries::History(&chat::HISTORY),
    frame: chat::frame,
    reader: |_| Box::new(Stateless(|json, _| parse(json))),
    capture: |_| Box::new(TextCapture::default()),
    inputs: inputs::of_messages,
    is_free: false,
};

fn parse(json: &str) -> Option<Piece<'_>> {
    let object: Map<String, Value> = json::read(json)?;
    let data = vectors::embeddings_in(&object).map(|vectors| Data::Embeddings(vectors.into()));
    Some(Piece { data, usage: usage_of(&object), error: error_of(&object), ..Piece::default() })
}
