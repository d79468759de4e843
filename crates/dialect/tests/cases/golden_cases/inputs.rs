//! The texts and media of a request body.

use crate::golden_cases::decided;
use crate::golden_cases::shapes::kind;
use aiperf_dialect::dialect;
use aiperf_golden::cases::Trial;
use aiperf_golden::kinds::endpoints::INPUT_TEXTS;
use serde_json::json;

pub(crate) fn golden_request_bodies_give_their_input_texts() -> Vec<Trial> {
    INPUT_TEXTS.trials(decided::inputs, |case| {
        let wanted = &case["expected"];
        let got = dialect(kind(case)).inputs_of(case["payload"].to_string().as_bytes()).unwrap_or_default();
        assert_eq!(json!(got.texts), wanted["texts"]);
        assert_eq!(json!(got.tool_texts), wanted["tool_texts"]);
        assert_eq!(json!(got.messages), wanted["messages"]);
        let number = |a: &str, b: &str| wanted[a].as_u64().or(wanted[b].as_u64());
        assert_eq!(Some(u64::from(got.images)), number("image_count", "images"));
        assert_eq!(Some(u64::from(got.audios)), number("audio_count", "audios"));
        assert_eq!(Some(u64::from(got.videos)), number("video_count", "videos"));
        assert_eq!(Some(got.pretokenised), number("pretokenised_token_count", "pretokenised"));
    })
}
