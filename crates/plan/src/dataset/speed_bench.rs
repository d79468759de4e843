//! Types of SPEED-Bench: one row per split, or per category of a split.

/// A split of SPEED-Bench, or the rows of one category in it.
#[derive(Debug, PartialEq, Eq)]
pub struct SpeedBench {
    /// The name that users choose it by.
    pub name: &'static str,
    /// The published name of its split.
    pub file: &'static str,
    /// The category of its rows; `None` for all rows.
    pub category: Option<&'static str>,
}

const QUALITATIVE: &str = "qualitative.jsonl";
const THROUGHPUT_1K: &str = "throughput_1k.jsonl";
const THROUGHPUT_2K: &str = "throughput_2k.jsonl";
const THROUGHPUT_8K: &str = "throughput_8k.jsonl";
const THROUGHPUT_16K: &str = "throughput_16k.jsonl";
const THROUGHPUT_32K: &str = "throughput_32k.jsonl";

const fn all(name: &'static str, file: &'static str) -> SpeedBench {
    SpeedBench { name, file, category: None }
}

const fn of(name: &'static str, file: &'static str, category: &'static str) -> SpeedBench {
    SpeedBench { name, file, category: Some(category) }
}

pub static SPEED_BENCH: &[SpeedBench] = &[
    all("speed_bench_qualitative", QUALITATIVE),
    of("speed_bench_coding", QUALITATIVE, "coding"),
    of("speed_bench_humanities", QUALITATIVE, "humanities"),
    of("speed_bench_math", QUALITATIVE, "math"),
    of("speed_bench_multilingual", QUALITATIVE, "multilingual"),
    of("speed_bench_qa", QUALITATIVE, "qa"),
    of("speed_bench_rag", QUALITATIVE, "rag"),
    of("speed_bench_reasoning", QUALITATIVE, "reasoning"),
    of("speed_bench_roleplay", QUALITATIVE, "roleplay"),
    of("speed_bench_stem", QUALITATIVE, "stem"),
    of("speed_bench_summarization", QUALITATIVE, "summarization"),
    of("speed_bench_writing", QUALITATIVE, "writing"),
    all("speed_bench_throughput_1k", THROUGHPUT_1K),
    all("speed_bench_throughput_2k", THROUGHPUT_2K),
    all("speed_bench_throughput_8k", THROUGHPUT_8K),
    all("speed_bench_throughput_16k", THROUGHPUT_16K),
    all("speed_bench_throughput_32k", THROUGHPUT_32K),
    of("speed_bench_throughput_1k_low_entropy", THROUGHPUT_1K, "low_entropy"),
    of("speed_bench_throughput_1k_mixed", THROUGHPUT_1K, "mixed"),
    of("speed_bench_throughput_1k_high_entropy", THROUGHPUT_1K, "high_entropy"),
    of("speed_bench_throughput_2k_low_entropy", THROUGHPUT_2K, "low_entropy"),
    of("speed_bench_throughput_2k_mixed", THROUGHPUT_2K, "mixed"),
    of("speed_bench_throughput_2k_high_entropy", THROUGHPUT_2K, "high_entropy"),
    of("speed_bench_throughput_8k_low_entropy", THROUGHPUT_8K, "low_entropy"),
    of("speed_bench_throughput_8k_mixed", THROUGHPUT_8K, "mixed"),
    of("speed_bench_throughput_8k_high_entropy", THROUGHPUT_8K, "high_entropy"),
    of("speed_bench_throughput_16k_low_entropy", THROUGHPUT_16K, "low_entropy"),
    of("speed_bench_throughput_16k_mixed", THROUGHPUT_16K, "mixed"),
    of("speed_bench_throughput_16k_high_entropy", THROUGHPUT_16K, "high_entropy"),
    of("speed_bench_throughput_32k_low_entropy", THROUGHPUT_32K, "low_entropy"),
    of("speed_bench_throughput_32k_mixed", THROUGHPUT_32K, "mixed"),
    of("speed_bench_throughput_32k_high_entropy", THROUGHPUT_32K, "high_entropy"),
];
