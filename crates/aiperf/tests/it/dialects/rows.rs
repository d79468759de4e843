//! The endpoint types, and their requests.

use crate::bench::{Bench, Run};
pub(crate) use crate::logged::Server;

pub(crate) const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
pub(crate) const SILENCE: &str = "wav,UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// An endpoint type.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The path of requests, streamed and not.
    pub(crate) path: &'static str,
    pub(crate) streamed_path: Option<&'static str>,
    pub(crate) makes_tokens: bool,
    /// A line of a file that it accepts; `PIXEL` and `SILENCE` stand for media.
    line: &'static str,
    args: &'static [&'static str],
}

const TEXT: &str = r#"{"text": "what is a benchmark", "output_length": 8}"#;
const PASSAGES: &str =
    r#"{"texts": [{"name": "query", "contents": ["what is it"]}, {"name": "passages", "contents": ["this", "that"]}]}"#;
const PAYLOAD: &str =
    r#"{"model": "m", "messages": [{"role": "user", "content": "what is it"}], "max_tokens": 8, "stream": STREAM}"#;
const TEMPLATE: &str =
    r#"{"payload_template": "{\"prompt\": {{ text|tojson }}, \"max_tokens\": 8, \"stream\": {{ stream|tojson }}}"}"#;
const TEXT_ROW: Row = Row { name: "", path: "", streamed_path: None, makes_tokens: false, line: TEXT, args: &[] };

/// Types that generate tokens stream at the same path, except one.
const fn tokens(name: &'static str, path: &'static str) -> Row {
    Row { name, path, streamed_path: Some(path), makes_tokens: true, ..TEXT_ROW }
}

pub(crate) const ROWS: &[Row] = &[
    tokens("chat", "/v1/chat/completions"),
    tokens("completions", "/v1/completions"),
    tokens("responses", "/v1/responses"),
    tokens("messages", "/v1/messages"),
    Row { streamed_path: Some("/generate_stream"), ..tokens("huggingface_generate", "/generate") },
    tokens("solido_rag", "/rag/api/prompt"),
    Row { name: "embeddings", path: "/v1/embeddings", ..TEXT_ROW },
    Row {
        name: "chat_embeddings",
        path: "/v1/embeddings",
        line: r#"{"texts": ["a pixel"], "images": ["PIXEL"]}"#,
        ..TEXT_ROW
    },
    Row { name: "nim_embeddings", path: "/v1/embeddings", ..TEXT_ROW },
    Row { name: "cohere_rankings", path: "/v2/rerank", line: PASSAGES, ..TEXT_ROW },
    Row { name: "hf_tei_rankings", path: "/rerank", line: PASSAGES, ..TEXT_ROW },
    Row { name: "nim_rankings", path: "/v1/ranking", line: PASSAGES, ..TEXT_ROW },
    Row {
        name: "image_generation",
        path: "/v1/images/generations",
        streamed_path: Some("/v1/images/generations"),
        ..TEXT_ROW
    },
    Row {
        name: "image_edit",
        path: "/v1/images/edits",
        line: r#"{"text": "make it blue", "image": "PIXEL"}"#,
        ..TEXT_ROW
    },
    Row { name: "image_retrieval", path: "/v1/infer", line: r#"{"image": "PIXEL"}"#, ..TEXT_ROW },
    Row { name: "video_generation", path: "/v1/videos", ..TEXT_ROW },
    Row { name: "audio_transcription", path: "/v1/audio/transcriptions", line: r#"{"audio": "SILENCE"}"#, ..TEXT_ROW },
    Row { line: PAYLOAD, args: &["--custom-dataset-type", "raw_payload"], ..tokens("raw", "/v1/chat/completions") },
    Row { args: &["--extra-inputs", TEMPLATE], ..tokens("template", "/v1/completions") },
];

impl Row {
    /// Whether the URL is used as it is.
    fn is_pathless(&self) -> bool {
        matches!(self.name, "raw" | "template")
    }

    fn line(&self, streaming: bool) -> String {
        let stream = if streaming { "true" } else { "false" };
        self.line.replace("PIXEL", PIXEL).replace("SILENCE", SILENCE).replace("STREAM", stream)
    }
}

/// Runs a check for every endpoint type, several at once. A thread that panics has the name of its type.
pub(crate) fn in_every_dialect(check: impl Fn(&'static Row) + Sync) {
    for some in ROWS.chunks(4) {
        std::thread::scope(|scope| {
            for row in some {
                let check = &check;
                std::thread::Builder::new().name(row.name.to_owned()).spawn_scoped(scope, move || check(row)).unwrap();
            }
        });
    }
}

/// The same, streamed and not, for types that can stream.
pub(crate) fn in_every_way(check: impl Fn(&'static Row, bool) + Sync) {
    in_every_dialect(|row| {
        check(row, false);
        if row.streamed_path.is_some() {
            check(row, true);
        }
    });
}

impl Server {
    /// A benchmark of one endpoint type, with its line as the file.
    pub(crate) fn bench_row(&self, row: &Row, streaming: bool) -> Bench {
        let file = self.write(&format!("{}-{streaming}.jsonl", row.name), &row.line(streaming));
        let bench = self.bench_of(row.name, if row.is_pathless() { row.path } else { "" });
        let bench = bench.with(&["--input-file", &file]).with(row.args);
        if streaming { bench.with(&["--streaming"]) } else { bench }
    }

    /// A benchmark of one endpoint type, without a file.
    pub(crate) fn bench_of(&self, kind: &str, path: &str) -> Bench {
        let url = format!("{}{path}", self.url());
        let quietly = ["--ui", "none", "--no-server-metrics", "--no-gpu-telemetry"];
        let bench = Bench::bare().with(&["--model", "m", "--url", &url, "--endpoint-type", kind]).with(&quietly);
        // A type without text needs no tokenizer.
        let has_text = !matches!(kind, "image_retrieval" | "audio_transcription");
        if has_text { bench.with(&["--tokenizer", "builtin"]) } else { bench }
    }
}

/// Runs to the end, with a time limit.
pub(crate) fn run(bench: Bench) -> Run {
    bench.start().finish_soon()
}
