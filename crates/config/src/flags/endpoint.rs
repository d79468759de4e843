//! Flags: Endpoint, Tokenizer.

use super::flag::Status::{Acts, NoEffect};
use super::flag::{FlagType, Takes, To, WhenAbsent, flags};
use crate::choice::Choice;
use crate::sections::{endpoint, models};
use aiperf_plan::{ReadinessMode, ReuseStrategy, Transport};
use aiperf_types::EndpointKind;

flags! { ENDPOINT_FLAGS:
    MODEL_NAMES {
        name: "--model-names",
        kind: FlagType::Texts,
        aliases: &["--model", "-m"],
        value_name: Some("NAME"),
        takes: Takes::Many { comma: true, space: false },
        to: To::Rule("models.items"),
        status: Acts,
        summary: "Models to send requests to; the first one also names the artifact directory, and its tokenizer generates prompts",
    }
    MODEL_SELECTION_STRATEGY {
        name: "--model-selection-strategy",
        kind: FlagType::Choice(models::ModelStrategy::NAMES),
        to: To::Key("models.strategy"),
        status: Acts,
    }
    CUSTOM_ENDPOINT {
        name: "--custom-endpoint",
        kind: FlagType::Text,
        aliases: &["--endpoint"],
        to: To::Key("endpoint.path"),
        status: Acts,
    }
    ENDPOINT_TYPE {
        name: "--endpoint-type",
        kind: FlagType::Choice(EndpointKind::NAMES),
        to: To::Key("endpoint.type"),
        status: Acts,
    }
    STREAMING {
        name: "--streaming",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("endpoint.streaming"),
        status: Acts,
    }
    URL {
        name: "--url",
        kind: FlagType::Urls,
        aliases: &["-u"],
        takes: Takes::Many { comma: true, space: true },
        to: To::Key("endpoint.urls"),
        status: Acts,
    }
    URL_STRATEGY {
        name: "--url-strategy",
        kind: FlagType::Choice(endpoint::UrlStrategy::NAMES),
        to: To::Key("endpoint.url_strategy"),
        status: Acts,
    }
    REQUEST_TIMEOUT_SECONDS {
        name: "--request-timeout-seconds",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Key("endpoint.timeout"),
        status: Acts,
    }
    UNREACHABLE_TIMEOUT {
        name: "--unreachable-timeout",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Key("endpoint.unreachable_timeout"),
        status: Acts,
    }
    WAIT_FOR_MODEL_TIMEOUT {
        name: "--wait-for-model-timeout",
        kind: FlagType::Float,
        to: To::Key("endpoint.wait_for_model_timeout"),
        status: Acts,
    }
    WAIT_FOR_MODEL_MODE {
        name: "--wait-for-model-mode",
        kind: FlagType::Literal(ReadinessMode::NAMES),
        to: To::Key("endpoint.wait_for_model_mode"),
        status: Acts,
    }
    WAIT_FOR_MODEL_INTERVAL {
        name: "--wait-for-model-interval",
        kind: FlagType::Float,
        to: To::Key("endpoint.wait_for_model_interval"),
        status: Acts,
    }
    RESET_KV_CACHE {
        name: "--reset-kv-cache",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Rule("endpoint.reset_kv_cache"),
        status: Acts,
        summary: "POST a prefix-cache reset once per benchmark cell before it starts",
    }
    RESET_KV_CACHE_TIMEOUT_SECONDS {
        name: "--reset-kv-cache-timeout-seconds",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Key("endpoint.reset_kv_cache.timeout_seconds"),
        status: Acts,
        summary: "Timeout of the cache-reset POST; implies the reset",
    }
    RESET_KV_CACHE_PATH {
        name: "--reset-kv-cache-path",
        kind: FlagType::Text,
        to: To::Key("endpoint.reset_kv_cache.path"),
        status: Acts,
        summary: "Path of the cache-reset POST (/reset_prefix_cache when unset); implies the reset",
    }
    SERVER_PROFILER {
        name: "--server-profiler",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Rule("endpoint.server_profiler"),
        status: Acts,
        summary: "POST profiler start and stop around each profiling phase",
    }
    SERVER_PROFILER_TIMEOUT_SECONDS {
        name: "--server-profiler-timeout-seconds",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Key("endpoint.server_profiler.timeout_seconds"),
        status: Acts,
        summary: "Timeout of profiler POSTs; implies the hook",
    }
    SERVER_PROFILER_START_PATH {
        name: "--server-profiler-start-path",
        kind: FlagType::Text,
        to: To::Key("endpoint.server_profiler.start_path"),
        status: Acts,
        summary: "Profiler start path (/start_profile when unset); implies the hook",
    }
    SERVER_PROFILER_STOP_PATH {
        name: "--server-profiler-stop-path",
        kind: FlagType::Text,
        to: To::Key("endpoint.server_profiler.stop_path"),
        status: Acts,
        summary: "Profiler stop path (/stop_profile when unset); implies the hook",
    }
    API_KEY {
        name: "--api-key",
        kind: FlagType::Text,
        to: To::Key("endpoint.api_key"),
        status: Acts,
    }
    TRANSPORT {
        name: "--transport",
        kind: FlagType::Choice(Transport::NAMES),
        aliases: &["--transport-type"],
        to: To::Key("endpoint.transport"),
        status: Acts,
    }
    USE_LEGACY_MAX_TOKENS {
        name: "--use-legacy-max-tokens",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("endpoint.use_legacy_max_tokens"),
        status: Acts,
    }
    USE_SERVER_TOKEN_COUNT {
        name: "--use-server-token-count",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("endpoint.use_server_token_count"),
        status: Acts,
    }
    PER_CHUNK_USAGE {
        name: "--per-chunk-usage",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("endpoint.per_chunk_usage"),
        status: Acts,
    }
    CONNECTION_REUSE_STRATEGY {
        name: "--connection-reuse-strategy",
        kind: FlagType::Choice(ReuseStrategy::NAMES),
        to: To::Key("endpoint.connection_reuse"),
        status: Acts,
    }
    DOWNLOAD_VIDEO_CONTENT {
        name: "--download-video-content",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("endpoint.download_video_content"),
        status: Acts,
    }
    REQUEST_CONTENT_TYPE {
        name: "--request-content-type",
        kind: FlagType::Choice(endpoint::ContentType::NAMES),
        to: To::Key("endpoint.request_content_type"),
        status: Acts,
    }
    SESSION_HEADER {
        name: "--session-header",
        kind: FlagType::Text,
        to: To::Key("endpoint.session_header"),
        status: Acts,
    }
    UUID_AND_STRIP {
        name: "--uuid-and-strip",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("endpoint.uuid_and_strip"),
        status: Acts,
        summary: "Send an image with image_uuids once in a session of single_turn rows, then its id; chat only",
    }
}

flags! { TOKENIZER_FLAGS:
    TOKENIZER {
        name: "--tokenizer",
        kind: FlagType::Text,
        default: Some(WhenAbsent::Words("the name of the model")),
        to: To::Key("tokenizer.name"),
        status: Acts,
    }
    TOKENIZER_REVISION {
        name: "--tokenizer-revision",
        kind: FlagType::Text,
        to: To::Key("tokenizer.revision"),
        status: Acts,
    }
    TOKENIZER_TRUST_REMOTE_CODE {
        name: "--tokenizer-trust-remote-code",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("tokenizer.trust_remote_code"),
        status: NoEffect("a tokenizer is data: no code of its repository is run"),
    }
    APPLY_CHAT_TEMPLATE {
        name: "--apply-chat-template",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("tokenizer.apply_chat_template"),
        status: Acts,
    }
}
