//! Videos, as OpenAI has it: a form that starts a job. What follows is in [`crate::video`].

use super::{Carries, Dialect};
use crate::request::{DialectError, Frame, Request};
use crate::response::reader::{Data, Piece, Stateless, error_of, usage_of};
use crate::text::json;
use aiperf_types::EndpointKind;
use serde_json::{Map, Value};

pub const DIALECT: Dialect = Dialect {
    carries: Carries::LastTurn,
    sends_first_of: &["texts"],
    ..Dialect::new(EndpointKind::VideoGeneration, frame, |_| Box::new(Stateless(|text, _| read(text))))
};

/// What a server reports of a job.
const MEMBERS: &[&str] = &[
    "object",
    "status",
    "progress",
    "url",
    "size",
    "seconds",
    "quality",
    "model",
    "created_at",
    "completed_at",
    "expires_at",
    "inference_time_s",
    "peak_memory_mb",
    "error",
];

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let prompt = Request::first(&request.turn.texts).ok_or(DialectError::Missing("video_generation", "a text"))?;
    let mut frame = Frame::default();
    frame.set("prompt", prompt);
    frame.set("model", request.model());
    frame.extend(request.extras());
    Ok(frame)
}

fn read(text: &str) -> Option<Piece<'_>> {
    let object = match json::read(text)? {
        Value::Object(object) if !object.is_empty() => object,
        _ => return Some(Piece::default()),
    };
    // A job has an error member too; an error alone is none.
    let is_job = object.contains_key("id") || object.contains_key("status");
    if let Some(error) = error_of(&object).filter(|_| !is_job) {
        return Some(Piece { error: Some(error), ..Piece::default() });
    }
    let copied = |from: &str, to: &str| Some((to.to_owned(), object.get(from)?.clone()));
    let members = MEMBERS.iter().filter_map(|member| copied(member, member));
    let job: Map<String, Value> = copied("id", "video_id").into_iter().chain(members).collect();
    Some(Piece { data: Some(Data::Video(job)), usage: usage_of(&object), ..Piece::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResponseParser;
    use crate::testing::api;
    use aiperf_types::MonoNs;

    #[test]
    fn a_video_that_was_fetched_is_content_at_the_end_of_the_fetch() {
        let mut parser = ResponseParser::new(&api(EndpointKind::VideoGeneration), MonoNs(1));
        parser.feed_body(br#"{"id":"v","status":"queued"}"#, MonoNs(2));
        parser.feed_body(br#"{"id":"v","status":"completed","inference_time_s":1.5}"#, MonoNs(3));
        parser.arrived(MonoNs(4));
        let parsed = parser.finish();
        assert_eq!(parsed.content.iter().map(|mark| mark.at.0).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(parsed.merged, 0, "polls share no read");
        assert_eq!(parsed.video.and_then(|video| video.inference_seconds), Some(1.5));
    }

    #[test]
    fn what_no_video_can_have_taken_is_left_out() {
        let facts = |value: &str| {
            let mut parser = ResponseParser::new(&api(EndpointKind::VideoGeneration), MonoNs(1));
            let job =
                format!(r#"{{"id":"v","status":"completed","inference_time_s":{value},"peak_memory_mb":{value}}}"#);
            parser.feed_body(job.as_bytes(), MonoNs(2));
            let video = parser.finish().video.unwrap_or_default();
            (video.inference_seconds, video.peak_memory_mb)
        };
        for value in ["-1", "-0.001", "1e10", "1e300", "\"nan\"", "null", "[]"] {
            assert_eq!(facts(value), (None, None), "{value}");
        }
        for value in [0.0, 2.5, 80_000.0] {
            assert_eq!(facts(&value.to_string()), (Some(value), Some(value)));
        }
    }
}
