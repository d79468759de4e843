//! The conversations of a run.

use super::distribution::Distribution;
use super::layout::Layout;
use super::media::{Audio, Images, Video};
use crate::choice::{Choice, choices};
use crate::range::{at_least, between, more_than};
use crate::setting::{List, section};
use aiperf_plan::{RandomStyle, Sampling};
use serde_json::Value;

choices! {
    /// Where conversations come from.
    DatasetType {
        Synthetic = "synthetic",
        File = "file",
        Public = "public",
    }
    /// Text that prompts are cut from.
    Corpus {
        Sonnet = "sonnet",
        Coding = "coding",
        Random = "random",
    }
    /// Where a unique marker goes, so that no prompt is in the server's cache.
    CacheBustTarget {
        None = "none",
        SystemPrefix = "system_prefix",
        SystemSuffix = "system_suffix",
        FirstTurnPrefix = "first_turn_prefix",
        FirstTurnSuffix = "first_turn_suffix",
        WarmupIsolationSystem = "warmup_isolation_system",
        WarmupIsolationFirstTurn = "warmup_isolation_first_turn",
    }
    /// A dataset that is downloaded.
    PublicDataset {
        ExgenticV2 = "exgentic_v2",
        Exgentic = "exgentic",
        Sharegpt = "sharegpt",
        Aimo = "aimo",
        Mmstar = "mmstar",
        Mmvu = "mmvu",
        VisionArena = "vision_arena",
        LlavaOnevision = "llava_onevision",
        AimoAime = "aimo_aime",
        AimoNuminaCot = "aimo_numina_cot",
        AimoNumina15 = "aimo_numina_1_5",
        SpecBench = "spec_bench",
        SpecAlGsm8k = "spec_al_gsm8k",
        SpecAlMath500 = "spec_al_math500",
        SpecAlHumaneval = "spec_al_humaneval",
        SpecAlMbpp = "spec_al_mbpp",
        SpecAlMtbench = "spec_al_mtbench",
        InstructCoder = "instruct_coder",
        Blazedit5k = "blazedit_5k",
        Blazedit10k = "blazedit_10k",
        Librispeech = "librispeech",
        Voxpopuli = "voxpopuli",
        Gigaspeech = "gigaspeech",
        Ami = "ami",
        Spgispeech = "spgispeech",
        SemianalysisCcTracesWeka = "semianalysis_cc_traces_weka",
        SemianalysisCcTracesWekaNoSubagents = "semianalysis_cc_traces_weka_no_subagents",
        SemianalysisCcTracesWekaWithSubagents = "semianalysis_cc_traces_weka_with_subagents",
        SemianalysisCcTracesWekaWithSubagents256k = "semianalysis_cc_traces_weka_with_subagents_256k",
        SemianalysisCcTracesWekaWithSubagents060226 = "semianalysis_cc_traces_weka_with_subagents_060226",
        SemianalysisCcTracesWekaWithSubagents060226256k = "semianalysis_cc_traces_weka_with_subagents_060226_256k",
        SemianalysisCcTracesWekaWithSubagents060526 = "semianalysis_cc_traces_weka_with_subagents_060526",
        SemianalysisCcTracesWekaWithSubagents060526256k = "semianalysis_cc_traces_weka_with_subagents_060526_256k",
        SemianalysisCcTracesWekaWithSubagents060826 = "semianalysis_cc_traces_weka_with_subagents_060826",
        SemianalysisCcTracesWekaWithSubagents060826256k = "semianalysis_cc_traces_weka_with_subagents_060826_256k",
        SemianalysisCcTracesWeka061326 = "semianalysis_cc_traces_weka_061326",
        SemianalysisCcTracesWeka061326256k = "semianalysis_cc_traces_weka_061326_256k",
        SemianalysisCcTracesWeka061526 = "semianalysis_cc_traces_weka_061526",
        SemianalysisCcTracesWeka061526256k = "semianalysis_cc_traces_weka_061526_256k",
        SemianalysisCcTracesWeka062126 = "semianalysis_cc_traces_weka_062126",
        SemianalysisCcTracesWeka062126256k = "semianalysis_cc_traces_weka_062126_256k",
        WekaHf = "weka_hf",
    }
}

/// Default number of generated conversations.
pub(crate) const SYNTHETIC_ENTRIES: i64 = 100;

/// Default number of tokens in a prompt.
pub(crate) const INPUT_TOKENS: f64 = 550.0;

/// Default mean number of turns, also if only a deviation is set.
pub(crate) const MEAN_TURNS: f64 = 1.0;

/// Default mean milliseconds between turns, also if only a deviation is set.
pub(crate) const MEAN_TURN_DELAY: f64 = 0.0;

section! {
    /// The conversations of a run.
    Dataset {
        /// Name that sweeps refer to
        name: String;
        /// Where conversations come from
        r#type: DatasetType = DatasetType::Synthetic;
        /// Verbatim system message for every conversation
        system_prompt: String;
        /// File holding the verbatim system message
        system_prompt_file: String;
        /// Seed of the draws for this dataset
        random_seed: i64 [at_least(0.0)];
        /// Order in which dataset entries are drawn
        sampling: Sampling = Sampling::Sequential;
        /// Unique dataset entries to generate or read; files and public datasets are read whole by default
        entries: i64 [at_least(1.0)];
        /// Text of prompts
        prompts: Prompts;
        /// Text before prompts
        prefix_prompts: PrefixPrompts;
        /// Turns per conversation
        turns: Distribution;
        /// Milliseconds between a reply and the next turn
        turn_delay: Distribution;
        /// Factor applied to every turn pause
        turn_delay_ratio: f64 [at_least(0.0)] = 1.0;
        /// Images in requests
        images: Images;
        /// Audio in requests
        audio: Audio;
        /// Video in requests
        video: Video;
        /// Passages and queries of ranking requests
        rankings: Rankings;
        /// File or directory with conversations
        path: String;
        /// Inline conversations
        records: Value;
        /// Layout of the file; detected from its first row if unset
        format: Layout;
        /// Output length where the data has none
        osl: Distribution;
        /// Changes to a trace
        synthesis: Synthesis;
        /// Tokens per hash block of a trace
        block_size: i64 [at_least(1.0)];
        /// Prompts per request, with random_pool
        prompt_batch_size: i64 [at_least(0.0)];
        /// Images per request, with random_pool
        image_batch_size: i64 [at_least(0.0)];
        /// Clips per request, with random_pool
        audio_batch_size: i64 [at_least(0.0)];
        /// Videos per request, with random_pool
        video_batch_size: i64 [at_least(0.0)];
        /// Baseten trace: share of whole sessions kept
        trace_session_sample_ratio: f64 [between(0.0, false, 1.0, true)];
        /// Upper bound on replayed turn delays, seconds
        inter_turn_delay_cap_seconds: f64 [at_least(0.0)];
        /// Baseten trace: shrink global idle gaps to this many replay seconds
        max_idle_gap_cap_seconds: f64 [more_than(0.0)];
        /// Baseten trace: replay this many times faster
        replay_speedup: f64 [more_than(0.0)];
        /// Baseten trace: start sessions at absolute recorded times
        open_loop_replay: bool = true;
        /// Baseten trace: treat every row as its own session at its own time
        open_loop_strict: bool = false;
        /// Baseten trace: leave hash_ids and block_size out of bodies
        omit_kv_hints: bool = false;
        /// Baseten trace: set min_tokens to the recorded output length
        force_min_tokens: bool = true;
        /// Shrink gaps in which a trace has no request to this many seconds
        trace_idle_gap_cap_seconds: f64 [at_least(0.0)];
        /// Discard recorded timestamps and delays at load
        ignore_trace_delays: bool = false;
        /// Weka replay: keep only recorded think time as the delay
        use_think_time_only: bool = false;
        /// Weka replay: drop traces whose recorded peak context is larger
        max_context_length: i64 [at_least(1.0)];
        /// Where a unique marker goes
        cache_bust: CacheBust;
        /// Which public dataset
        dataset: PublicDataset;
        /// Subset override for hub-backed public datasets
        hf_subset: String;
        /// Filters of its rows
        filters: Vec<(String, String)>;
        /// Repository of dataset weka_hf
        hf_weka_dataset: String;
    }
    /// Text of prompts.
    Prompts {
        /// Input length in tokens
        isl: Distribution;
        /// Requested output length in tokens
        osl: Distribution;
        /// Tokens per hash-id block
        block_size: i64 [at_least(1.0)];
        /// Text inputs per request
        batch_size: i64 [at_least(1.0)] = 1;
        /// Where a unique marker goes
        cache_bust: CacheBust;
        /// Source text for generated prompts
        corpus: Corpus;
        /// Pairs of lengths with their shares
        sequence_distribution: List<LengthPair>;
        /// How far random lengths deviate from the mean
        random_range_ratio: Value;
        /// Which window formula the ratio uses, and whether random prompts hold special tokens
        random_corpus_style: RandomStyle = RandomStyle::Vllm;
    }
    /// A marker that keeps prompts out of the server's cache.
    CacheBust {
        /// Where a per-conversation cache-defeating marker goes
        target: CacheBustTarget = CacheBustTarget::None;
    }
    /// One pair of lengths.
    LengthPair {
        /// Input length in tokens
        isl: Distribution;
        /// Output length in tokens
        osl: Distribution;
        /// Share in percent
        probability: f64 [between(0.0, true, 100.0, true)];
        /// Deviation of the input length
        isl_stddev: f64 [at_least(0.0)];
        /// Deviation of the output length
        osl_stddev: f64 [at_least(0.0)];
    }
    /// Text before prompts.
    PrefixPrompts {
        /// How many distinct prefixes to build; 0 is none
        pool_size: i64 [at_least(0.0)];
        /// Tokens per pooled prefix; 0 is none
        length: i64 [at_least(0.0)];
        /// Tokens of a generated system prompt shared by all sessions
        shared_system_length: i64 [at_least(1.0)];
        /// Tokens of a generated per-session context prefix
        user_context_length: i64 [at_least(1.0)];
    }
    /// Passages and queries of ranking requests.
    Rankings {
        /// Passages per request
        passages: Distribution = 10.0;
        /// Tokens per passage
        passage_tokens: Distribution = 128.0;
        /// Tokens per query
        query_tokens: Distribution = 32.0;
    }
    /// Changes to a trace.
    Synthesis {
        /// Divide trace timestamps by this factor
        speedup_ratio: f64 [more_than(0.0)] = 1.0;
        /// Scale shared-prefix lengths of a trace
        prefix_len_multiplier: f64 [more_than(0.0)] = 1.0;
        /// Spread a trace over this many independent prefix trees
        prefix_root_multiplier: i64 [at_least(1.0)] = 1;
        /// Scale unique prompt lengths of a trace
        prompt_len_multiplier: f64 [more_than(0.0)] = 1.0;
        /// Scale output lengths of a trace
        output_len_multiplier: f64 [at_least(0.0)] = 1.0;
        /// Skip trace rows with longer inputs
        max_isl: i64 [at_least(1.0)];
        /// Cap trace output lengths
        max_osl: i64 [at_least(1.0)];
        /// Let replay reuse traces when concurrency exceeds the pool
        allow_dataset_wrap: bool = false;
    }
}

impl PublicDataset {
    /// Whether it is a trace in the layout of Weka, which has the length of a context.
    pub fn is_weka(self) -> bool {
        self.name().contains("weka")
    }
}

impl PrefixPrompts {
    /// Whether prompts begin with one of several texts. A size or length of zero is no pool.
    pub fn has_pool(&self) -> bool {
        self.pool_size.is_some_and(|size| size > 0) || self.length.is_some_and(|length| length > 0)
    }
}

impl CacheBustTarget {
    /// Whether it separates warmup from profiling.
    pub fn isolates_warmup(self) -> bool {
        matches!(self, Self::WarmupIsolationSystem | Self::WarmupIsolationFirstTurn)
    }
}

/// Keys that a type of dataset may have, besides those all have.
pub const KEYS_OF: &[(DatasetType, &[&str])] = &[
    (
        DatasetType::Synthetic,
        &[
            "prompts",
            "prefix_prompts",
            "turns",
            "turn_delay",
            "turn_delay_ratio",
            "images",
            "audio",
            "video",
            "rankings",
        ],
    ),
    (
        DatasetType::File,
        &[
            "path",
            "records",
            "format",
            "osl",
            "turn_delay_ratio",
            "synthesis",
            "block_size",
            "prompt_batch_size",
            "image_batch_size",
            "audio_batch_size",
            "video_batch_size",
            "trace_session_sample_ratio",
            "inter_turn_delay_cap_seconds",
            "max_idle_gap_cap_seconds",
            "replay_speedup",
            "open_loop_replay",
            "open_loop_strict",
            "omit_kv_hints",
            "force_min_tokens",
            "trace_idle_gap_cap_seconds",
            "ignore_trace_delays",
            "use_think_time_only",
            "max_context_length",
            "cache_bust",
            "prompts",
        ],
    ),
    (
        DatasetType::Public,
        &[
            "dataset",
            "hf_subset",
            "filters",
            "hf_weka_dataset",
            "inter_turn_delay_cap_seconds",
            "trace_idle_gap_cap_seconds",
            "ignore_trace_delays",
            "use_think_time_only",
            "max_context_length",
            "cache_bust",
            "prompts",
            "synthesis",
            "osl",
        ],
    ),
];

/// Keys every dataset may have.
pub const COMMON_KEYS: &[&str] =
    &["name", "type", "system_prompt", "system_prompt_file", "random_seed", "sampling", "entries"];
