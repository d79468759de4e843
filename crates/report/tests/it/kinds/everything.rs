//! Every endpoint type, with records that contain everything a record can: metrics that do not fit the type are not
//! shown.

use crate::kinds::bench::{Bench, counted, refused, three_streams};
use aiperf_metrics::{Flags, Metric, registry};
use aiperf_testkit::vocabulary::*;
use aiperf_types::{EndpointKind, Measured, TokenCounts, Usage};

/// Three streams and a failure, with every number that some endpoint could report.
fn everything() -> Vec<Measured> {
    let mut records = counted(three_streams(), 40, Some(5));
    for record in &mut records {
        record.tokens.reasoning = Some(4);
        record.tokens.first_content_chunk_tokens = Some(2);
        record.requested_osl = Some(9);
        record.images = 2;
        record.audio_seconds = Some(2.0);
        record.video_inference_seconds = Some(1.5);
        record.video_peak_memory_mb = Some(512.0);
        record.scheduled_send_ms = Some(1.0);
        record.usage = Usage {
            prompt_tokens: Some(40),
            prompt_cache_read_tokens: Some(10),
            prompt_cache_write_tokens: Some(20),
            prompt_cache_miss_tokens: Some(30),
            prompt_audio_tokens: Some(5),
            tool_use_prompt_tokens: Some(6),
            prompt_audio_seconds: Some(2.0),
            completion_tokens: Some(9),
            reasoning_tokens: Some(4),
            completion_audio_tokens: Some(3),
            accepted_prediction_tokens: Some(2),
            rejected_prediction_tokens: Some(1),
            total_tokens: Some(49),
        };
    }
    let tokens = TokenCounts { input: Some(40), ..TokenCounts::default() };
    records.push(Measured { tokens, ..refused(3) });
    records
}

/// In every run of these records, for any endpoint: only the server reports cache and tool use.
const ALWAYS: &[Group] =
    &[SENT, CURVES, ANSWERED, HTTP, USAGE_CACHE_READ, USAGE_CACHE_WRITE, USAGE_TOOLS, FAILED, ADJUSTED];
/// Endpoints that tokenize their input.
const READS: &[Group] = &[INPUT, USAGE_PROMPT, USAGE_CACHE_SHARE, FAILED_INPUT];
/// Endpoints that produce tokens.
const WRITES: &[Group] =
    &[OUTPUT, OUTPUT_TEXT, REASONING, ASKED_LENGTH, USAGE_COMPLETION, USAGE_REASONING, USAGE_PREDICTION];
/// The same, streamed.
const STREAMS: &[Group] = &[STREAM, STREAM_OUTPUT, STREAM_GAPS, ADJUSTED_STREAM];
/// Client-side counts of the input compared with the server's.
const READS_DIFFER: &[Group] = &[PROMPT_DIFFERENCE];
/// Client-side counts of responses that are not text.
const COUNTS_NONE: &[Group] = &[EMPTY_OUTPUT];
/// Client-side counts of the output compared with the server's.
const WRITES_DIFFER: &[Group] = &[COMPLETION_DIFFERENCE, REASONING_DIFFERENCE];
/// Endpoints that accept audio, and those of them that produce tokens.
const HEARS: &[Group] = &[AUDIO, USAGE_AUDIO];
const SPEAKS: &[Group] = &[USAGE_AUDIO_OUT];
/// Endpoints that accept or produce images.
const SEES: &[Group] = &[IMAGES];
/// Endpoints that produce video.
const FILMS: &[Group] = &[VIDEO];

/// What an endpoint type shows of these records besides the common metrics: with whole responses, and what streaming
/// and client-side counts add.
struct Kind {
    endpoint: EndpointKind,
    shows: &'static [&'static [Group]],
    /// `None` for a type that cannot stream.
    streamed: Option<&'static [&'static [Group]]>,
    counted_here: &'static [&'static [Group]],
}

const BOTH_DIFFER: &[&[Group]] = &[READS_DIFFER, WRITES_DIFFER];

const fn kind(
    endpoint: EndpointKind,
    shows: &'static [&'static [Group]],
    streamed: Option<&'static [&'static [Group]]>,
    counted_here: &'static [&'static [Group]],
) -> Kind {
    Kind { endpoint, shows, streamed, counted_here }
}

const KINDS: &[Kind] = &[
    kind(EndpointKind::Chat, &[READS, WRITES, SEES, HEARS, SPEAKS], Some(&[STREAMS]), BOTH_DIFFER),
    kind(EndpointKind::Completions, &[READS, WRITES], Some(&[STREAMS]), BOTH_DIFFER),
    kind(EndpointKind::Responses, &[READS, WRITES, SEES, HEARS, SPEAKS], Some(&[STREAMS]), BOTH_DIFFER),
    kind(EndpointKind::Messages, &[READS, WRITES, SEES], Some(&[STREAMS]), BOTH_DIFFER),
    kind(EndpointKind::Embeddings, &[READS], None, &[READS_DIFFER, COUNTS_NONE]),
    kind(EndpointKind::ChatEmbeddings, &[READS, SEES], None, &[READS_DIFFER, COUNTS_NONE]),
    kind(EndpointKind::NimEmbeddings, &[READS, SEES], None, &[READS_DIFFER, COUNTS_NONE]),
    kind(EndpointKind::CohereRankings, &[READS], None, &[READS_DIFFER, COUNTS_NONE]),
    kind(EndpointKind::HfTeiRankings, &[READS], None, &[READS_DIFFER, COUNTS_NONE]),
    kind(EndpointKind::NimRankings, &[READS], None, &[READS_DIFFER, COUNTS_NONE]),
    kind(EndpointKind::HuggingfaceGenerate, &[READS, WRITES], Some(&[STREAMS]), BOTH_DIFFER),
    kind(EndpointKind::ImageGeneration, &[READS, SEES], Some(&[]), &[READS_DIFFER]),
    kind(EndpointKind::ImageEdit, &[READS, SEES], None, &[READS_DIFFER]),
    kind(EndpointKind::ImageRetrieval, &[SEES], None, &[]),
    kind(EndpointKind::VideoGeneration, &[READS, FILMS], None, &[READS_DIFFER]),
    kind(EndpointKind::AudioTranscription, &[HEARS], None, &[]),
    kind(EndpointKind::SolidoRag, &[READS, WRITES], Some(&[STREAMS]), BOTH_DIFFER),
    kind(EndpointKind::Raw, &[READS, WRITES, SEES, HEARS, SPEAKS], Some(&[STREAMS]), BOTH_DIFFER),
    kind(EndpointKind::Template, &[READS, WRITES, SEES, HEARS, SPEAKS], Some(&[STREAMS]), BOTH_DIFFER),
];

#[test]
fn every_endpoint_type_shows_what_it_is_about_and_nothing_else() {
    assert!(EndpointKind::ALL.iter().all(|kind| KINDS.iter().filter(|known| known.endpoint == *kind).count() == 1));
    let mut checked = 0;
    for kind in KINDS {
        for streaming in [false, true] {
            let Some(streamed) = kind.streamed.or((!streaming).then_some(&[])) else { continue };
            for server_counts in [false, true] {
                let mut expected = [ALWAYS, &kind.shows.concat()].concat();
                if streaming {
                    expected.extend(streamed.concat());
                }
                if !server_counts {
                    expected.extend(kind.counted_here.concat());
                }
                println!("{:?}, streaming: {streaming}, server counts: {server_counts}", kind.endpoint);
                let bench = Bench::of(kind.endpoint, streaming);
                let run = bench.with(|traits| traits.server_token_count = server_counts).run(&everything());
                checked += run.shows(&expected);
            }
        }
    }
    println!("{checked} metrics of {} endpoint types", KINDS.len());
}

#[test]
fn every_metric_that_can_be_shown_is_in_the_vocabulary() {
    let known: Vec<&str> = EVERY_GROUP.iter().flat_map(|group| group.iter().map(|row| row.tag)).collect();
    let shown = |metric: &&&Metric| !metric.flags.has(Flags::INTERNAL) && !metric.flags.has(Flags::EXPERIMENTAL);
    for metric in registry::all().iter().filter(shown) {
        assert!(known.contains(&metric.tag), "{}", metric.tag);
    }
}

#[test]
fn what_is_hidden_is_shown_when_asked_for_on_the_console_in_tables_of_its_own() {
    let chat = [ALWAYS, READS, WRITES, STREAMS, SEES, HEARS, SPEAKS, READS_DIFFER, WRITES_DIFFER].concat();
    let asked = |internal: bool, experimental: bool| {
        let bench = Bench::of(EndpointKind::Chat, true).with(|traits| {
            traits.fixed_schedule = true;
            traits.show_internal = internal;
            traits.show_experimental = experimental;
        });
        bench.run(&everything())
    };
    asked(false, false).shows(&[&chat[..], &[REPLAY]].concat());
    asked(true, false).shows(&[&chat[..], &[REPLAY, INTERNAL, INTERNAL_REPLAY]].concat());
    asked(false, true).shows(&[&chat[..], &[REPLAY, EXPERIMENTAL]].concat());
    let run = asked(true, true);
    run.shows(&[&chat[..], &[REPLAY, INTERNAL, INTERNAL_REPLAY, EXPERIMENTAL]].concat());
    // Released 2 ms before; the head arrived after 1 ms and the first token after 10; 4 tokens of reasoning to 5 of
    // output.
    assert_eq!((run.avg("credit_drop_latency"), run.value(0, "stream_prefill_latency")), (2.0, 9.0));
    assert_eq!((run.avg("thinking_efficiency"), run.avg("overall_thinking_efficiency")), (0.8, 0.8));
}
