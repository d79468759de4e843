//! Flags: endpoint, tokenizer.

use super::Status::*;
use super::*;

pub(super) const ENDPOINT: &[Flag] = &[
    Flag {
        name: "--model-names",
        kind: Kind::Texts,
        aliases: &["--model", "-m"],
        takes: Takes::Many { comma: true, space: false },
        path: "models.items[].name",
        status: Acts,
        summary: "Models to send requests to; first one also names the artifact directory and default tokenizer",
        ..BASE
    },
    Flag {
        name: "--model-selection-strategy",
        kind: Kind::Choice(&["round_robin", "random", "weighted"]),
        default: Some("round_robin"),
        path: "models.strategy",
        status: NotYet("its feature does not exist yet"),
        summary: "Rule that picks a model for each prompt; weighted needs YAML weights",
        ..BASE
    },
    Flag {
        name: "--custom-endpoint",
        kind: Kind::Text,
        aliases: &["--endpoint"],
        path: "endpoint.path",
        status: Acts,
        summary: "Replaces the default URL path of the endpoint type; must begin with a slash",
        ..BASE
    },
    Flag {
        name: "--endpoint-type",
        kind: Kind::Choice(&[
            "audio_transcription",
            "chat",
            "cohere_rankings",
            "completions",
            "responses",
            "messages",
            "chat_embeddings",
            "embeddings",
            "hf_tei_rankings",
            "huggingface_generate",
            "image_generation",
            "image_edit",
            "video_generation",
            "image_retrieval",
            "nim_embeddings",
            "nim_rankings",
            "solido_rag",
            "raw",
            "template",
        ]),
        default: Some("chat"),
        path: "endpoint.type",
        status: Acts,
        summary: "Wire format of requests and responses",
        ..BASE
    },
    Flag {
        name: "--streaming",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "endpoint.streaming",
        status: Acts,
        summary: "Ask for a streamed reply; forced off with a warning where unsupported",
        ..BASE
    },
    Flag {
        name: "--url",
        kind: Kind::Urls,
        aliases: &["-u"],
        takes: Takes::Many { comma: true, space: true },
        default: Some("http://localhost:8000"),
        path: "endpoint.urls",
        status: Acts,
        summary: "Base server URLs; http:// is added when no scheme is present",
        ..BASE
    },
    Flag {
        name: "--url-strategy",
        kind: Kind::Choice(&["round_robin"]),
        default: Some("round_robin"),
        path: "endpoint.url_strategy",
        status: NotYet("its feature does not exist yet"),
        summary: "How requests are spread over several URLs",
        ..BASE
    },
    Flag {
        name: "--request-timeout-seconds",
        kind: Kind::Float(more_than(0.0)),
        default: Some("21600"),
        path: "endpoint.timeout",
        status: Acts,
        summary: "Whole-request time limit in seconds",
        ..BASE
    },
    Flag {
        name: "--wait-for-model-timeout",
        kind: Kind::Float(at_least(0.0)),
        path: "endpoint.wait_for_model_timeout",
        status: NotYet("its feature does not exist yet"),
        summary: "Per-probe readiness wait before the run; 0 skips probing",
        ..BASE
    },
    Flag {
        name: "--wait-for-model-mode",
        kind: Kind::Literal(&["models", "inference", "both"]),
        default: Some("inference"),
        path: "endpoint.wait_for_model_mode",
        status: NotYet("its feature does not exist yet"),
        summary: "Which readiness probe is used",
        ..BASE
    },
    Flag {
        name: "--wait-for-model-interval",
        kind: Kind::Float(more_than(0.0)),
        default: Some("5.0"),
        path: "endpoint.wait_for_model_interval",
        status: NotYet("its feature does not exist yet"),
        summary: "Pause between readiness probes, seconds",
        ..BASE
    },
    Flag {
        name: "--reset-kv-cache",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "endpoint.reset_kv_cache",
        status: NotYet("its feature does not exist yet"),
        summary: "POST a prefix-cache reset once per benchmark cell before it starts",
        ..BASE
    },
    Flag {
        name: "--reset-kv-cache-timeout-seconds",
        kind: Kind::Float(more_than(0.0)),
        path: "endpoint.reset_kv_cache.timeout_seconds",
        status: NotYet("its feature does not exist yet"),
        summary: "Timeout of the cache-reset POST; implies the reset",
        ..BASE
    },
    Flag {
        name: "--reset-kv-cache-path",
        kind: Kind::Text,
        path: "endpoint.reset_kv_cache.path",
        status: NotYet("its feature does not exist yet"),
        summary: "Path of the cache-reset POST (/reset_prefix_cache when unset); implies the reset",
        ..BASE
    },
    Flag {
        name: "--server-profiler",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "endpoint.server_profiler",
        status: NotYet("its feature does not exist yet"),
        summary: "POST profiler start and stop around each profiling phase",
        ..BASE
    },
    Flag {
        name: "--server-profiler-timeout-seconds",
        kind: Kind::Float(more_than(0.0)),
        path: "endpoint.server_profiler.timeout_seconds",
        status: NotYet("its feature does not exist yet"),
        summary: "Timeout of profiler POSTs; implies the hook",
        ..BASE
    },
    Flag {
        name: "--server-profiler-start-path",
        kind: Kind::Text,
        path: "endpoint.server_profiler.start_path",
        status: NotYet("its feature does not exist yet"),
        summary: "Profiler start path (/start_profile when unset); implies the hook",
        ..BASE
    },
    Flag {
        name: "--server-profiler-stop-path",
        kind: Kind::Text,
        path: "endpoint.server_profiler.stop_path",
        status: NotYet("its feature does not exist yet"),
        summary: "Profiler stop path (/stop_profile when unset); implies the hook",
        ..BASE
    },
    Flag {
        name: "--api-key",
        kind: Kind::Text,
        path: "endpoint.api_key",
        status: Acts,
        summary: "Secret sent as a bearer Authorization header; always redacted in output",
        ..BASE
    },
    Flag {
        name: "--transport",
        kind: Kind::Choice(&["http"]),
        aliases: &["--transport-type"],
        path: "endpoint.transport",
        status: NotYet("its feature does not exist yet"),
        summary: "Forces the transport instead of deriving it from the URL scheme",
        ..BASE
    },
    Flag {
        name: "--use-legacy-max-tokens",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "endpoint.use_legacy_max_tokens",
        status: Acts,
        summary: "Send max_tokens rather than max_completion_tokens",
        ..BASE
    },
    Flag {
        name: "--use-server-token-count",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "endpoint.use_server_token_count",
        status: Acts,
        summary: "Take token counts from the server usage object instead of the tokenizer",
        ..BASE
    },
    Flag {
        name: "--per-chunk-usage",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "endpoint.per_chunk_usage",
        status: NotYet("its feature does not exist yet"),
        summary: "Request cumulative usage on every stream chunk; chat, streaming and server counts required",
        ..BASE
    },
    Flag {
        name: "--connection-reuse-strategy",
        kind: Kind::Choice(&["pooled", "never", "sticky-user-sessions"]),
        default: Some("pooled"),
        path: "endpoint.connection_reuse",
        status: NotYet("its feature does not exist yet"),
        summary: "Pooled, one per request, or one per session connections",
        ..BASE
    },
    Flag {
        name: "--download-video-content",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "endpoint.download_video_content",
        status: NotYet("its feature does not exist yet"),
        summary: "Fetch the generated video and count that time in latency",
        ..BASE
    },
    Flag {
        name: "--request-content-type",
        kind: Kind::Choice(&["application/json", "multipart/form-data"]),
        path: "endpoint.request_content_type",
        status: NotYet("its feature does not exist yet"),
        summary: "Body encoding; multipart only for form-data endpoints, where it is the default",
        ..BASE
    },
    Flag {
        name: "--session-header",
        kind: Kind::Text,
        path: "endpoint.session_header",
        status: NotYet("its feature does not exist yet"),
        summary: "Header name that replaces X-Correlation-ID for the session id",
        ..BASE
    },
    Flag {
        name: "--uuid-and-strip",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "endpoint.uuid_and_strip",
        status: NotYet("its feature does not exist yet"),
        summary: "Drop repeated image content after its first use in a session; chat only",
        ..BASE
    },
];

pub(super) const TOKENIZER: &[Flag] = &[
    Flag {
        name: "--tokenizer",
        kind: Kind::Text,
        path: "tokenizer.name",
        status: Acts,
        summary: "Tokenizer id or path; builtin means offline o200k_base",
        ..BASE
    },
    Flag {
        name: "--tokenizer-revision",
        kind: Kind::Text,
        default: Some("main"),
        path: "tokenizer.revision",
        status: NotYet("its feature does not exist yet"),
        summary: "Tokenizer branch, tag or commit",
        ..BASE
    },
    Flag {
        name: "--tokenizer-trust-remote-code",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "tokenizer.trust_remote_code",
        status: NotYet("its feature does not exist yet"),
        summary: "Permit custom tokenizer code from the repository",
        ..BASE
    },
    Flag {
        name: "--apply-chat-template",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "tokenizer.apply_chat_template",
        status: NotYet("its feature does not exist yet"),
        summary: "Count input tokens including the chat template wrapper",
        ..BASE
    },
];
