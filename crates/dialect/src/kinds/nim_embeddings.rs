//! Embeddings of NIM: texts, images, or both in one.

use super::Dialect;
use crate::kinds::shared::vectors;
use crate::request::inputs;
use crate::request::{DialectError, Frame, Request};
use crate::response::reader::Stateless;
use aiperf_types::EndpointKind;

pub const DIALECT: Dialect = Dialect {
    inputs: inputs::of_texts_with_images,
    ignores_max_tokens: true,
    embeds_each_input: true,
    ..Dialect::new(EndpointKind::NimEmbeddings, frame, |_| Box::new(Stateless(|json, _| vectors::read(json))))
};

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let mut frame = Frame::default();
    frame.set("model", request.model());
    frame.set("input", input(request)?);
    frame.extend(request.extras());
    Ok(frame)
}

fn input(request: &Request<'_>) -> Result<Vec<String>, DialectError> {
    let texts: Vec<&str> = request.texts().collect();
    let images: Vec<&str> = request.images().collect();
    match (texts.len(), images.len()) {
        (_, 0) => Ok(texts.into_iter().map(str::to_owned).collect()),
        (0, _) => Ok(images.into_iter().map(str::to_owned).collect()),
        (text_count, image_count) if text_count == image_count => {
            Ok(texts.iter().zip(images).map(|(text, image)| format!("{text} {image}")).collect())
        }
        (text_count, image_count) => Err(DialectError::Malformed(format!(
            "the nim_embeddings endpoint pairs each text with an image: this turn has {text_count} texts and {image_count} images"
        ))),
    }
}
