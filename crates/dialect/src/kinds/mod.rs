//! Endpoint types: one file each, and the table that lists them. `dialect` is the interface of a type, [`shared`] the
//! code that several types share.

pub mod audio_transcription;
pub mod chat;
pub mod chat_embeddings;
pub mod cohere_rankings;
pub mod completions;
mod dialect;
pub mod embeddings;
pub mod hf_tei_rankings;
pub mod huggingface_generate;
pub mod image_edit;
pub mod image_generation;
pub mod image_retrieval;
pub mod messages;
pub mod nim_embeddings;
pub mod nim_rankings;
pub mod raw;
pub mod responses;
pub mod shared;
pub mod solido_rag;
pub mod template;
pub mod video_generation;

pub use dialect::{Carries, Dialect, Ending, History, Opening};

use aiperf_types::EndpointKind;

/// Every endpoint type, in the order of [`EndpointKind::ALL`].
pub const DIALECTS: &[&Dialect] = &[
    &chat::DIALECT,
    &completions::DIALECT,
    &responses::DIALECT,
    &messages::DIALECT,
    &embeddings::DIALECT,
    &chat_embeddings::DIALECT,
    &nim_embeddings::DIALECT,
    &cohere_rankings::DIALECT,
    &hf_tei_rankings::DIALECT,
    &nim_rankings::DIALECT,
    &huggingface_generate::DIALECT,
    &image_generation::DIALECT,
    &image_edit::DIALECT,
    &image_retrieval::DIALECT,
    &video_generation::DIALECT,
    &audio_transcription::DIALECT,
    &solido_rag::DIALECT,
    &raw::DIALECT,
    &template::DIALECT,
];

const _: () = {
    assert!(DIALECTS.len() == EndpointKind::ALL.len());
    let mut at = 0;
    while at < DIALECTS.len() {
        assert!(DIALECTS[at].kind as usize == at, "a dialect out of order");
        at += 1;
    }
};

/// The dialect of an endpoint type.
pub fn dialect(kind: EndpointKind) -> &'static Dialect {
    DIALECTS[kind as usize]
}
