//! Images made from an image, as OpenAI has it: a form with a text and a picture.

use super::{Carries, Dialect, image_generation};
use crate::request::{DialectError, Frame, Request};
use crate::request::{inputs, multipart};
use crate::response::reader::{Piece, Stateless};
use crate::text::data_uri::{DataUri, data_uri};
use crate::text::json;
use aiperf_types::EndpointKind;
use serde_json::{Map, Value};

pub const DIALECT: Dialect = Dialect {
    carries: Carries::LastTurn,
    inputs: inputs::of_image_form,
    reserved: &["prompt", "image", "url", "mask"],
    sends_first_of: &["texts", "images"],
    ..Dialect::new(EndpointKind::ImageEdit, frame, |_| Box::new(Stateless(|text, _| read(text))))
};

/// The first base64 characters of picture formats, and their types.
const MAGIC: &[(&str, &str)] = &[
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGODlh", "image/gif"),
    ("R0lGODdh", "image/gif"),
    ("UklGR", "image/webp"),
    ("Qk", "image/bmp"),
];

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let missing = |what| DialectError::Missing("image_edit", what);
    let prompt = Request::first(&request.turn.texts).ok_or_else(|| missing("a text"))?;
    let image =
        Request::first(&request.turn.images).filter(|image| !image.is_empty()).ok_or_else(|| missing("an image"))?;
    let mut frame = Frame::default();
    frame.set("prompt", prompt);
    frame.set("model", request.model());
    frame.set("response_format", "b64_json");
    frame.set("n", 1);
    if starts_with(image, "http://") || starts_with(image, "https://") {
        frame.set("url", image);
    } else {
        frame.set("image", picture(image)?);
    }
    frame.extend(request.extras().filter(|(member, _)| !DIALECT.reserved.contains(&member.as_str())));
    Ok(frame)
}

fn starts_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// A picture as a file: from a data URL, or from its base64 alone.
fn picture(image: &str) -> Result<Value, DialectError> {
    let (declared, data) = match data_uri(image) {
        Some(DataUri { data: None, .. }) => {
            return Err(DialectError::Malformed(format!("the data URL '{}' of an image has no comma", shown(image))));
        }
        Some(DataUri { media_type, data: Some(data), is_base64 }) => {
            let declared = Some(media_type).filter(|kind| is_base64 && starts_with(kind, "image/"));
            (declared.map(str::to_ascii_lowercase), data)
        }
        None => (None, image),
    };
    let sniffed = || MAGIC.iter().find(|(start, _)| data.starts_with(start)).map(|(_, kind)| (*kind).to_owned());
    let kind = declared.or_else(sniffed).ok_or_else(|| {
        let known = "a data URL of an image, or a PNG, JPEG, GIF, WebP or BMP in base64";
        DialectError::Malformed(format!("the image '{}' is neither a URL nor {known}", shown(image)))
    })?;
    let subtype = kind["image/".len()..].split('+').next().unwrap_or_default();
    let extension = if subtype == "jpeg" { "jpg" } else { subtype };
    let content_type = match extension {
        "jpg" => "image/jpeg".to_owned(),
        "png" | "webp" | "gif" | "bmp" => format!("image/{extension}"),
        _ => kind.clone(),
    };
    Ok(multipart::file(data, &format!("image.{extension}"), &content_type))
}

fn shown(content: &str) -> String {
    content.chars().take(40).collect()
}

fn read(text: &str) -> Option<Piece<'_>> {
    let mut object: Map<String, Value> = json::read(text)?;
    let images = image_generation::images_of(&mut object);
    Some(image_generation::piece(images, &object))
}
