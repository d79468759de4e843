//! Embeddings of chat messages.

use super::{Carries, Dialect, chat};
use crate::kinds::shared::vectors;
use crate::response::reader::{Data, Piece, Stateless, error_of, usage_of};
use crate::text::json;
use aiperf_types::EndpointKind;
use serde_json::{Map, Value};

pub const DIALECT: Dialect = Dialect {
    carries: Carries::History(&chat::HISTORY),
    ..Dialect::new(EndpointKind::ChatEmbeddings, chat::frame, |_| Box::new(Stateless(|json, _| parse(json))))
};

fn parse(json: &str) -> Option<Piece<'_>> {
    let object: Map<String, Value> = json::read(json)?;
    let data = vectors::embeddings_in(&object).map(|vectors| Data::Embeddings(vectors.into()));
    Some(Piece { data, usage: usage_of(&object), error: error_of(&object), ..Piece::default() })
}
