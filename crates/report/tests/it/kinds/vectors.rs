//! Endpoints that read tokens and produce none: embeddings and rankings.

use crate::kinds::bench::{Bench, counted, three_whole, with_usage};
use aiperf_testkit::vocabulary::*;
use aiperf_types::{EndpointKind, Usage};

const EMBEDDINGS: &[EndpointKind] =
    &[EndpointKind::Embeddings, EndpointKind::ChatEmbeddings, EndpointKind::NimEmbeddings];
const RANKINGS: &[EndpointKind] =
    &[EndpointKind::CohereRankings, EndpointKind::HfTeiRankings, EndpointKind::NimRankings];

/// Usage of an embedding: no completion, but a total.
fn usage() -> Usage {
    Usage { prompt_tokens: Some(20), total_tokens: Some(20), ..Usage::default() }
}

#[test]
fn embeddings_have_a_length_of_input_and_a_length_of_output_of_0() {
    for &kind in EMBEDDINGS {
        let run = Bench::of(kind, false).run(&with_usage(counted(three_whole(), 16, Some(0)), usage()));
        run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, EMPTY_OUTPUT, USAGE_PROMPT, PROMPT_DIFFERENCE]);
        assert_eq!((run.avg("output_sequence_length"), run.value(0, "output_sequence_length")), (0.0, 0.0));
        assert_eq!((run.avg("input_sequence_length"), run.avg("total_isl")), (16.0, 48.0));
        // Responses after 10, 20 and 40 ms, the last request sent after 200 ms.
        assert!((run.avg("input_token_throughput") - 48.0 / 0.24).abs() < 1e-9);
        assert_eq!((run.stat("request_latency", "p50"), run.avg("usage_prompt_tokens_diff_pct")), (20.0, 25.0));
    }
}

#[test]
fn embeddings_counted_by_the_server_have_no_difference_to_it() {
    for &kind in EMBEDDINGS {
        let bench = Bench::of(kind, false).with(|traits| traits.server_token_count = true);
        let run = bench.run(&with_usage(counted(three_whole(), 20, None), usage()));
        run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, USAGE_PROMPT]);
        assert_eq!(run.avg("total_usage_prompt_tokens"), 60.0);
    }
}

#[test]
fn embeddings_of_images_have_a_latency_an_image() {
    for kind in [EndpointKind::ChatEmbeddings, EndpointKind::NimEmbeddings] {
        let mut records = counted(three_whole(), 16, Some(0));
        records.iter_mut().for_each(|record| record.images = 2);
        let run = Bench::of(kind, false).run(&records);
        run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, EMPTY_OUTPUT, IMAGES]);
        assert_eq!((run.value(0, "image_latency"), run.value(0, "image_throughput")), (5.0, 200.0));
    }
}

#[test]
fn rankings_of_every_dialect_have_a_length_of_input_and_a_length_of_output_of_0() {
    for &kind in RANKINGS {
        let run = Bench::of(kind, false).run(&counted(three_whole(), 64, Some(0)));
        run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, EMPTY_OUTPUT]);
        assert_eq!((run.avg("output_sequence_length"), run.value(0, "output_sequence_length")), (0.0, 0.0));
        assert_eq!((run.avg("input_sequence_length"), run.stat("input_sequence_length", "std")), (64.0, 0.0));
        assert_eq!(run.stat("request_latency", "max"), 40.0);
    }
}

#[test]
fn rankings_with_usage_have_a_difference_of_input_alone() {
    for &kind in RANKINGS {
        let run = Bench::of(kind, false).run(&with_usage(counted(three_whole(), 64, Some(0)), usage()));
        run.shows(&[SENT, CURVES, ANSWERED, HTTP, INPUT, EMPTY_OUTPUT, USAGE_PROMPT, PROMPT_DIFFERENCE]);
        assert_eq!(run.avg("usage_discrepancy_count"), 3.0);
    }
}
