//! Input files and what is made of them, traces, tokenizers.

use super::all_have;
use crate::Found::{Case, List, Whole};
use crate::has;
use serde_json::Value;

const OVERHEADS: &str = "chat_template_overheads_fixed_wrap";
const BUILTIN_OVERHEADS: &str = "chat_template_overheads_builtin";

kinds! {
    /// Files, and the conversations that they give.
    INPUT_FILE = ["datasets"], ["dataset"],
        Case(|case| has(case, "files") && has(case, "input") && has(case, "format"));
    /// Rows of a trace of Baseten, and the conversations that they give.
    BASETEN_TRACE = ["datasets"], ["dataset"],
        Case(|case| has(case, "rows.0.prompt") || has(case, "rows") && has(case, "options"));
    /// Rows of a public dataset, and what is made of them.
    PUBLIC_DATASET = ["datasets"], ["dataset"], Case(is_public);
    /// What keeps a request out of caches.
    CACHE_MARKER = ["datasets", "load"], ["dataset"], Case(|case| {
        has(case, "target") && has(case, "recycle_pass") && (has(case, "marker") || has(case, "expected"))
    });
    /// How many tokens such a marker costs.
    MARKER_COST = ["datasets"], ["dataset"],
        Case(|case| has(case, "target") && has(case, "estimated_marker_tokens_builtin"));
    /// The trace that a conversation belongs to.
    TRACE_ID = ["datasets"], ["dataset"], Case(|case| has(case, "conversation_id") && has(case, "base_trace_id"));
    /// Instants of a trace, under a cap on idle time.
    CAPPED_GAPS = ["datasets", "load"], ["dataset"], Case(|case| has(case, "timestamps_ms"));
    /// Delays of turns, under a cap.
    CAPPED_DELAYS = ["datasets"], ["dataset"], Case(|case| has(case, "delays_ms") && has(case, "cap_seconds"));
    /// Requests by hashes of blocks, and their tokens.
    HASH_BLOCKS = ["datasets"], ["dataset"],
        Case(|case| has(case, "block_size") && has(case, "requests") && has(case, "results"));
    /// A trace reshaped.
    RESHAPED_TRACE = ["datasets"], ["dataset"],
        Case(|case| has(case, "params") && has(case, "rows") && has(case, "ok"));
    /// A trace, and the report about it.
    TRACE_REPORT = ["datasets"], ["dataset"],
        Case(|case| has(case, "rows") && has(case, "block_size") && has(case, "report.total_requests"));
    /// Sequences of blocks, and a number for each block with all that is before it.
    NUMBERED_PREFIXES = ["datasets"], ["dataset"], Case(|case| {
        case["ids"].is_array() && (has(case, "text_block_sequences") || has(case, "token_block_sequences"))
    });
    /// The prompt of an agentic session, and its ids.
    AGENTIC_PROMPT = ["datasets"], ["dataset"],
        Case(|case| has(case, "session_index") && has(case, "hash_ids") && has(case, "prefix_tokens"));
    /// Agentic sessions, and the rows that are written of them.
    AGENTIC_ROWS = ["datasets"], ["dataset"], Case(|case| has(case, "sessions") && has(case, "dataset_jsonl"));
    /// A mean and a median, and the distribution that has them.
    LOGNORMAL = ["datasets"], ["dataset"], Case(|case| has(case, "lognormal_mean") && has(case, "mu"));
    /// Pairs of lengths as a flag has them.
    LENGTH_PAIRS = ["datasets"], ["config"], List(|cases| cases.iter().all(is_length_pairs));
    /// A ratio, and the range of lengths that it gives.
    RANGE_RATIO = ["datasets"], ["config"], List(|cases| all_have(cases, &["ratio", "style", "isl", "osl", "ok"]));
    /// A file of which no format is given, and its layout.
    LAYOUT = ["datasets"], ["config"], List(|cases| {
        let is_named = |case: &Value| has(case, "detected") || has(case, "error");
        all_have(cases, &["files", "input"]) && cases.iter().all(|case| is_named(case) && !has(case, "format"))
    });
    /// A text, and its ids in the builtin vocabulary.
    BUILTIN_IDS = ["datasets"], ["tokenize"],
        Case(|case| has(case, "text") && has(case, "ids") && has(case, "decode_equals_text"));
    /// A text, and its ids in an encoding of tiktoken.
    ENCODING_IDS = ["encodings"], ["tokenize"],
        Case(|case| has(case, "encoding") && has(case, "text") && has(case, "ids"));
    /// A name of a model, and whether it stands for none.
    PLACEHOLDER_NAME = ["datasets"], ["tokenize"],
        Case(|case| has(case, "name") && case["is_placeholder"].is_boolean());
    /// The folder of a tokenizer that cases beside it are about.
    LOCAL_TOKENIZER = ["datasets"], ["tokenize"],
        Whole(|file| file.path.with_file_name("tokenizer.json").is_file());
    /// A text, and its ids in such a tokenizer.
    LOCAL_IDS = ["datasets"], ["tokenize"], Case(|case| has(case, "ids") && has(case, "decoded"));
    /// Properties of such a tokenizer.
    LOCAL_PROPERTIES = ["datasets"], ["tokenize"], Case(|case| has(case, "properties.ordinary_id_count"));
    /// The tokens that its template adds.
    LOCAL_OVERHEADS = ["datasets"], ["tokenize"], Case(|case| has(case, OVERHEADS));
    /// The tokens that the template of the builtin tokenizer adds.
    BUILTIN_TEMPLATE_OVERHEADS = ["datasets"], ["tokenize"], Case(|case| has(case, BUILTIN_OVERHEADS));
    /// Messages, and the prompt that its template makes of them.
    LOCAL_TEMPLATE = ["datasets"], ["tokenize"], Case(|case| has(case, "messages") && has(case, "rendered"));
    /// A table in a columnar file, and its rows beside it.
    COLUMNAR_TABLE = ["columns"], ["dataset"],
        Whole(|file| file.has_extension(&["parquet", "arrow", "ipc", "json"]));
}

/// The kinds of cases about public datasets, each with the member that holds what comes out.
pub const PUBLIC_OUTPUTS: &[(&str, &str)] = &[
    ("sharegpt_pairs", "pairs"),
    ("first_user_message", "prompt"),
    ("mmvu_prompt", "prompt"),
    ("valid_sequence", "valid"),
    ("exgentic_messages", "out"),
    ("exgentic_system", "out"),
    ("exgentic_tools", "out"),
    ("exgentic_extra", "out"),
    ("exgentic_model", "out"),
];

fn is_public(case: &Value) -> bool {
    PUBLIC_OUTPUTS.iter().any(|(kind, out)| case["kind"] == *kind && (has(case, out) || has(case, "error")))
}

fn is_length_pairs(case: &Value) -> bool {
    case["input"].is_string() && case["ok"].is_boolean() && (case["ok"] == false || case["pairs"].is_array())
}
