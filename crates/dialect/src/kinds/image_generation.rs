//! OpenAI image generation.

use super::{Carries, Dialect};
use crate::request::{DialectError, Frame, Request};
use crate::response::reader::{Data, Images, Piece, Stateless, error_of, usage_of};
use aiperf_types::EndpointKind;
use serde_json::{Map, Value};

pub const DIALECT: Dialect = Dialect {
    carries: Carries::LastTurn,
    sends_first_of: &["texts"],
    ..Dialect::new(EndpointKind::ImageGeneration, frame, |_| Box::new(Stateless(|json, _| read(json))))
};

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let kind = request.api.endpoint.kind.name();
    let prompt = Request::first(&request.turn.texts).ok_or(DialectError::Missing(kind, "a text prompt"))?;
    let mut frame = Frame::default();
    frame.set("prompt", prompt);
    frame.set("model", request.model());
    frame.set("response_format", "b64_json");
    frame.set("n", 1);
    if request.streaming() {
        frame.set("stream", true);
    }
    frame.extend(request.extras());
    Ok(frame)
}

fn read(json: &str) -> Option<Piece<'_>> {
    let mut value: Value = serde_json::from_str(json).ok()?;
    let object = value.as_object_mut()?;
    let images = match object.contains_key("b64_json") {
        // An event: the image is the whole of it.
        true => vec![image(object, &["b64_json", "partial_image_index"])],
        false => images_of(object),
    };
    Some(piece(images, object))
}

/// The images of a whole body.
pub(crate) fn images_of(object: &mut Map<String, Value>) -> Vec<Map<String, Value>> {
    let Some(Value::Array(data)) = object.get_mut("data") else { return Vec::new() };
    let objects = data.iter_mut().filter_map(Value::as_object_mut);
    objects.map(|entry| image(entry, &["url", "b64_json", "revised_prompt"])).collect()
}

/// A response with images, if there is one among them that can be seen.
pub(crate) fn piece(images: Vec<Map<String, Value>>, object: &Map<String, Value>) -> Piece<'static> {
    let has = |image: &Map<String, Value>, member: &str| image[member].as_str().is_some_and(|text| !text.is_empty());
    let is_seen = images.iter().any(|image| has(image, "url") || has(image, "b64_json"));
    let data = is_seen.then(|| {
        let settings = ["size", "quality", "output_format", "background"];
        let settings = settings.map(|member| (member.to_owned(), object.get(member).cloned().unwrap_or_default()));
        Data::Images(Box::new(Images { images, settings: settings.into_iter().collect() }))
    });
    Piece { data, usage: usage_of(object), error: error_of(object), ..Piece::default() }
}

/// The members of an image that are `wanted`, taken out of where they are: an image is large.
fn image(from: &mut Map<String, Value>, wanted: &[&str]) -> Map<String, Value> {
    let members = ["url", "b64_json", "revised_prompt", "partial_image_index"];
    let take = |member: &str| if wanted.contains(&member) { from.get_mut(member).map(Value::take) } else { None };
    let taken = members.map(take).map(Option::unwrap_or_default);
    members.into_iter().map(str::to_owned).zip(taken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_without_an_image_has_no_content() {
        for json in
            [r#"{"data":[]}"#, r#"{"data":null}"#, r#"{"data":[{}]}"#, r#"{"b64_json":null}"#, r#"{"data":[1]}"#]
        {
            assert_eq!(read(json), Some(Piece::default()), "{json}");
        }
    }

    #[test]
    fn an_error_object_in_place_of_images_is_an_error() {
        let piece = read(r#"{"error":{"message":"policy","code":400}}"#).unwrap();
        assert!(piece.data.is_none() && piece.error.is_some());
    }
}
