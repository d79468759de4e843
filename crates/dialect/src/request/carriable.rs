//! Whether an endpoint type can carry the contents of a turn.

use super::DialectError;
use aiperf_types::{EndpointKind, Media, Turn};

/// Fails if a turn has media that the type does not accept: a request without them would measure something else.
///
/// A whole payload, or messages in place of the contents, belong to the user and are sent as they are.
pub fn carriable(kind: EndpointKind, turn: &Turn) -> Result<(), DialectError> {
    if turn.raw_payload.is_some() || turn.raw_messages.is_some() {
        return Ok(());
    }
    let traits = kind.traits();
    let media = [
        (&turn.images, traits.accepts_images, "images"),
        (&turn.audios, traits.accepts_audio, "audio"),
        (&turn.videos, traits.accepts_video, "video"),
    ];
    match media.iter().find(|(media, is_accepted, _)| !is_accepted && holds_any(media)) {
        Some((_, _, name)) => Err(DialectError::Unsupported(kind.name(), name)),
        None => Ok(()),
    }
}

fn holds_any(media: &[Media]) -> bool {
    media.iter().flat_map(|media| &media.contents).any(|content| !content.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_image(content: &str) -> Turn {
        let image = Media { contents: vec![content.to_owned()], ..Media::default() };
        Turn { images: vec![image], ..Turn::text("a") }
    }

    #[test]
    fn media_that_a_type_cannot_carry_is_an_error() {
        let error = carriable(EndpointKind::Completions, &with_image("data:image/png;base64,AA")).unwrap_err();
        assert_eq!(error.to_string(), "the completions endpoint cannot carry images");
        assert_eq!(carriable(EndpointKind::Chat, &with_image("data:image/png;base64,AA")), Ok(()));
    }

    #[test]
    fn empty_media_and_media_beside_a_whole_payload_are_no_matter() {
        assert_eq!(carriable(EndpointKind::Completions, &with_image("")), Ok(()));
        let turn = Turn { raw_payload: Some(serde_json::Map::new()), ..with_image("http://host/a.png") };
        assert_eq!(carriable(EndpointKind::Completions, &turn), Ok(()));
    }
}
