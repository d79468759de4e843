//! The texts and media of a request body.

use crate::shapes::{self, INPUT, kind};
use aiperf_dialect::{dialect, inputs};
use aiperf_golden::Tally;
use aiperf_types::EndpointKind;
use serde_json::{Value, json};

/// Whether bodies of this type have a shape of their own, which is read once the type is spoken.
fn has_its_own_shape(kind: EndpointKind) -> bool {
    let own = [
        EndpointKind::Responses,
        EndpointKind::Messages,
        EndpointKind::ImageRetrieval,
        EndpointKind::CohereRankings,
        EndpointKind::HfTeiRankings,
        EndpointKind::NimRankings,
        EndpointKind::SolidoRag,
    ];
    own.contains(&kind)
}

#[test]
fn golden_request_bodies_give_their_input_texts() {
    let mut tally = Tally::new("input texts");
    let skip = |case: &Value| {
        let is_read = dialect(kind(case)).is_some() || !has_its_own_shape(kind(case));
        (!is_read).then(|| format!("not there yet: bodies of {}", kind(case).name()))
    };
    tally.run_files(&shapes::files(INPUT), INPUT, skip, |case| {
        let wanted = &case["expected"];
        let got = inputs::extract(kind(case), case["payload"].to_string().as_bytes()).unwrap_or_default();
        assert_eq!(json!(got.texts), wanted["texts"]);
        assert_eq!(json!(got.tool_texts), wanted["tool_texts"]);
        assert_eq!(json!(got.messages), wanted["messages"]);
        let number = |a: &str, b: &str| wanted[a].as_u64().or(wanted[b].as_u64());
        assert_eq!(Some(u64::from(got.images)), number("image_count", "images"));
        assert_eq!(Some(u64::from(got.audios)), number("audio_count", "audios"));
        assert_eq!(Some(u64::from(got.videos)), number("video_count", "videos"));
        assert_eq!(Some(got.pretokenised), number("pretokenised_token_count", "pretokenised"));
    });
    tally.finish();
}
