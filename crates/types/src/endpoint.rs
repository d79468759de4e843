//! Endpoint types and their capabilities: one table, read by help, validation, metrics and reports.

use serde::{Deserialize, Serialize};

/// How a request body is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    #[default]
    Json,
    Multipart,
}

/// Header fields that an API wants beside the user's own.
#[derive(Clone, Copy, Debug)]
pub struct ApiHeaders {
    /// The field of the API key, and the text before the key in it.
    pub key: (&'static str, &'static str),
    /// Fields that the user's replace.
    pub before: &'static [(&'static str, &'static str)],
    /// Fields that are sent unless the user gives them.
    pub usual: &'static [(&'static str, &'static str)],
}

const OPENAI: ApiHeaders = ApiHeaders { key: ("Authorization", "Bearer "), before: &[], usual: &[] };
const ANTHROPIC: ApiHeaders = ApiHeaders {
    key: ("x-api-key", ""),
    before: &[("content-type", "application/json")],
    usual: &[("anthropic-version", "2023-06-01")],
};

/// What an endpoint type can do.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// The name as stored and exported: lower case with underscores.
    pub name: &'static str,
    /// Path appended to the base URL; `None` uses the URL as it is.
    pub path: Option<&'static str>,
    /// Path used instead when streaming.
    pub streaming_path: Option<&'static str>,
    /// Whether it can answer as a stream.
    pub streams: bool,
    pub produces_tokens: bool,
    pub produces_images: bool,
    pub produces_videos: bool,
    /// Whether input text is tokenised.
    pub tokenizes_input: bool,
    pub accepts_images: bool,
    pub accepts_audio: bool,
    pub accepts_video: bool,
    pub body: BodyKind,
    pub headers: ApiHeaders,
    /// Whether a system message is sent.
    pub system_message: bool,
    /// Whether its requests are queries with passages to rank.
    pub ranks: bool,
    /// Whether its responses are embeddings.
    pub embeds: bool,
    /// What its requests hold that is generated only if the user asks for it, if at all: else it comes from a file.
    pub needs_file: Option<NeedsFile>,
    /// Whether it takes images themselves alone, and none by URL.
    pub inline_images: bool,
    /// Title of its metric table.
    pub title: &'static str,
}

/// What a request holds besides text: it comes from a file, or is generated if the user asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedsFile {
    /// An image, and a text that describes the edit.
    EditedImage,
    Images,
    Audio,
    /// A body as it is sent, which is never made.
    WholeBody,
}

impl Traits {
    /// Whether anything about it is counted in tokens.
    pub const fn has_tokens(&self) -> bool {
        self.produces_tokens || self.tokenizes_input
    }

    /// Whether its responses are numbers, whose length in tokens is 0.
    pub const fn has_empty_output(&self) -> bool {
        self.embeds || self.ranks
    }
}

const TEXT: Traits = Traits {
    name: "",
    path: None,
    streaming_path: None,
    streams: true,
    produces_tokens: true,
    produces_images: false,
    produces_videos: false,
    tokenizes_input: true,
    accepts_images: false,
    accepts_audio: false,
    accepts_video: false,
    body: BodyKind::Json,
    headers: OPENAI,
    system_message: false,
    ranks: false,
    embeds: false,
    needs_file: None,
    inline_images: false,
    title: "LLM Metrics",
};
const VECTOR: Traits = Traits { streams: false, produces_tokens: false, ..TEXT };
const EMBEDDING: Traits = Traits { embeds: true, title: "Embeddings Metrics", ..VECTOR };
const RANKING: Traits = Traits { ranks: true, title: "Ranking Metrics", ..VECTOR };

macro_rules! endpoints {
    ($($(#[$doc:meta])* $kind:ident => $traits:expr;)*) => {
        /// Every endpoint type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum EndpointKind { $($(#[$doc])* $kind,)* }

        impl EndpointKind {
            /// Every endpoint type, in the order help shows them.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// What this type can do.
            pub const fn traits(self) -> &'static Traits {
                match self { $(Self::$kind => { const T: Traits = $traits; &T })* }
            }
        }
    };
}

endpoints! {
    Chat => Traits { name: "chat", path: Some("/v1/chat/completions"), accepts_images: true, accepts_audio: true,
        accepts_video: true, system_message: true, ..TEXT };
    Completions => Traits { name: "completions", path: Some("/v1/completions"), ..TEXT };
    Responses => Traits { name: "responses", path: Some("/v1/responses"), accepts_images: true, accepts_audio: true,
        system_message: true, ..TEXT };
    /// Anthropic messages.
    Messages => Traits { name: "messages", path: Some("/v1/messages"), accepts_images: true, headers: ANTHROPIC,
        system_message: true, ..TEXT };
    Embeddings => Traits { name: "embeddings", path: Some("/v1/embeddings"), ..EMBEDDING };
    /// Embeddings of chat messages.
    ChatEmbeddings => Traits { name: "chat_embeddings", path: Some("/v1/embeddings"), accepts_images: true,
        system_message: true, ..EMBEDDING };
    NimEmbeddings => Traits { name: "nim_embeddings", path: Some("/v1/embeddings"), accepts_images: true,
        title: "NIM Embeddings Metrics", ..EMBEDDING };
    CohereRankings => Traits { name: "cohere_rankings", path: Some("/v2/rerank"), ..RANKING };
    HfTeiRankings => Traits { name: "hf_tei_rankings", path: Some("/rerank"), ..RANKING };
    NimRankings => Traits { name: "nim_rankings", path: Some("/v1/ranking"), title: "Rankings Metrics", ..RANKING };
    /// Hugging Face text generation inference.
    HuggingfaceGenerate => Traits { name: "huggingface_generate", path: Some("/generate"),
        streaming_path: Some("/generate_stream"), ..TEXT };
    ImageGeneration => Traits { name: "image_generation", path: Some("/v1/images/generations"), streams: true,
        produces_images: true, title: "Image Generation Metrics", ..VECTOR };
    ImageEdit => Traits { name: "image_edit", path: Some("/v1/images/edits"), produces_images: true, accepts_images: true,
        body: BodyKind::Multipart, needs_file: Some(NeedsFile::EditedImage), title: "Image Edit Metrics", ..VECTOR };
    ImageRetrieval => Traits { name: "image_retrieval", path: Some("/v1/infer"), tokenizes_input: false,
        accepts_images: true, needs_file: Some(NeedsFile::Images), inline_images: true,
        title: "Image Retrieval Metrics", ..VECTOR };
    VideoGeneration => Traits { name: "video_generation", path: Some("/v1/videos"), produces_videos: true,
        body: BodyKind::Multipart, title: "Video Generation Metrics", ..VECTOR };
    AudioTranscription => Traits { name: "audio_transcription", path: Some("/v1/audio/transcriptions"),
        tokenizes_input: false, accepts_audio: true, body: BodyKind::Multipart, needs_file: Some(NeedsFile::Audio),
        title: "Audio Transcription Metrics", ..VECTOR };
    SolidoRag => Traits { name: "solido_rag", path: Some("/rag/api/prompt"), title: "SOLIDO RAG Metrics", ..TEXT };
    /// A payload sent as it is.
    Raw => Traits { name: "raw", accepts_images: true, accepts_audio: true, accepts_video: true,
        needs_file: Some(NeedsFile::WholeBody), ..TEXT };
    /// A payload made from a template.
    Template => Traits { name: "template", accepts_images: true, accepts_audio: true, accepts_video: true, ..TEXT };
}

impl EndpointKind {
    pub const fn name(self) -> &'static str {
        self.traits().name
    }

    /// Reads a name: any letter case, `-` and `_` alike.
    pub fn parse(text: &str) -> Option<Self> {
        let wanted = text.to_ascii_lowercase().replace('-', "_");
        Self::ALL.iter().copied().find(|kind| kind.name() == wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_case_with_either_separator() {
        assert_eq!(EndpointKind::parse("Chat-Embeddings"), Some(EndpointKind::ChatEmbeddings));
        assert_eq!(EndpointKind::parse("chat"), Some(EndpointKind::Chat));
        assert_eq!(EndpointKind::parse("chats"), None);
    }

    #[test]
    fn every_type_finds_itself_by_name() {
        for &kind in EndpointKind::ALL {
            assert_eq!(EndpointKind::parse(kind.name()), Some(kind));
        }
    }
}
