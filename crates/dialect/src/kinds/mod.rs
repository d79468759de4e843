//! Endpoint types: one file each, and the table that lists them; [`shared`] is what several have in common.

pub mod audio_transcription;
pub mod chat;
pub mod chat_embeddings;
pub mod cohere_rankings;
pub mod completions;
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

use crate::api::Api;
use crate::request::inputs::Inputs;
use crate::request::{DialectError, Frame, Request, inputs};
use crate::response::capture::{Capture, TextCapture};
use crate::response::reader::Reader;
use aiperf_types::{EndpointKind, Turn};
use serde_json::{Map, Value};

/// What an endpoint type must give.
pub struct Dialect {
    pub kind: EndpointKind,
    pub carries: Carries,
    /// The members of a body.
    pub frame: fn(&Request<'_>) -> Result<Frame, DialectError>,
    /// What reads the responses of one exchange.
    pub reader: fn(&Api) -> Box<dyn Reader>,
    /// What gathers the reply out of them, where a later turn needs it.
    pub capture: fn(&Api) -> Box<dyn Capture>,
    /// What a body says, for counting.
    pub inputs: fn(&Map<String, Value>) -> Inputs,
    /// Members of a body that extra inputs cannot set: only a turn can.
    pub reserved: &'static [&'static str],
    /// Contents (`texts`, `images`, `audios`) of which only the first is sent.
    pub sends_first_of: &'static [&'static str],
    /// Beside its items a body says only what the endpoint, the tools and the settings of its turn say (model and output
    /// limit): it is encoded once for turns that agree in these.
    pub has_steady_frame: bool,
    /// A limit of output has no place in its bodies, and a user should know.
    pub ignores_max_tokens: bool,
    /// What bodies and answers look like is the user's to say, by a template and a response field.
    pub is_free: bool,
    pub ending: Ending,
    /// An answer holds a vector for each input of its request.
    pub embeds_each_input: bool,
}

/// What marks the end of a stream, besides the end of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Unmarked,
    /// `[DONE]`, or a finish reason.
    Done,
    /// An event of its own kind.
    Event,
}

impl Dialect {
    /// A type with what each has to give, and nothing special about it.
    const fn new(
        kind: EndpointKind,
        frame: fn(&Request<'_>) -> Result<Frame, DialectError>,
        reader: fn(&Api) -> Box<dyn Reader>,
    ) -> Self {
        Self {
            kind,
            carries: Carries::OneTurn,
            frame,
            reader,
            capture: |_| Box::new(TextCapture::default()),
            inputs: inputs::of_messages,
            reserved: &[],
            sends_first_of: &[],
            has_steady_frame: false,
            ignores_max_tokens: false,
            is_free: false,
            ending: Ending::Unmarked,
            embeds_each_input: false,
        }
    }
}

/// How much of a conversation a request carries.
pub enum Carries {
    /// All turns, as a list of items.
    History(&'static History),
    /// The last turn.
    LastTurn,
    /// One turn, and a conversation has no other.
    OneTurn,
}

/// A list that grows turn by turn.
pub struct History {
    /// The items that a turn adds.
    pub items: fn(&Api, &Turn) -> Result<Vec<Value>, DialectError>,
    /// How a message ends whose content is one text, behind it.
    pub text_end: &'static str,
    /// What comes before the first of them.
    pub opening: for<'a> fn(&Request<'a>, Option<&Value>) -> Opening,
}

/// What comes before the items of turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Opening {
    pub items: Vec<Value>,
    /// Its last item takes the place of the turns' first, which is part of it.
    pub replaces_first: bool,
}

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
