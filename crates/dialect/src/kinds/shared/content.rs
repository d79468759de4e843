//! The content of a message: a turn as a string or as parts.

use crate::request::DialectError;
use crate::settings::ApiSettings;
use crate::text::data_uri::data_uri;
use aiperf_types::{Media, Turn};
use serde_json::{Value, json};
use std::borrow::Cow;

/// How an API writes the parts of a content.
pub(crate) struct Parts {
    pub(crate) text: &'static str,
    pub(crate) image: fn(&str) -> Value,
    /// Whether images may have ids.
    pub(crate) image_ids: bool,
    pub(crate) audio: bool,
    pub(crate) video: bool,
}

/// One message of a turn that has none of its own: its role and content.
pub(crate) fn message(api: &ApiSettings, turn: &Turn, parts: &Parts) -> Result<Value, DialectError> {
    Ok(json!({"role": role(turn), "content": content(api, turn, parts)?}))
}

/// The role and the text of a turn whose message is nothing else.
pub(crate) fn text_message<'a>(api: &ApiSettings, turn: &'a Turn) -> Option<(&'a str, &'a str)> {
    let is_made = turn.raw_messages.is_none() && turn.raw_payload.is_none();
    is_made.then(|| Some((role(turn), only_text(api, turn)?))).flatten()
}

fn role(turn: &Turn) -> &str {
    turn.role.as_deref().filter(|role| !role.is_empty()).unwrap_or("user")
}

fn only_text<'a>(api: &ApiSettings, turn: &'a Turn) -> Option<&'a str> {
    let is_text = turn.images.is_empty() && turn.audios.is_empty() && turn.videos.is_empty();
    match (turn.texts.as_slice(), is_text && !api.endpoint.force_content_parts) {
        ([Media { contents, .. }], true) => match contents.as_slice() {
            [only] => Some(only),
            _ => None,
        },
        _ => None,
    }
}

fn content(api: &ApiSettings, turn: &Turn, parts: &Parts) -> Result<Value, DialectError> {
    if let Some(only) = only_text(api, turn) {
        return Ok(only.into());
    }
    let name = api.endpoint.kind.name();
    let mut list: Vec<Value> = filled(&turn.texts).map(|text| json!({"type": parts.text, "text": text})).collect();
    for image in &turn.images {
        add_images(&mut list, image, parts)?;
    }
    for audio in filled(&turn.audios) {
        if !parts.audio {
            return Err(DialectError::Unsupported(name, "audio"));
        }
        let (format, data) = audio_of(audio)?;
        list.push(json!({"type": "input_audio", "input_audio": {"data": data, "format": format}}));
    }
    for url in filled(&turn.videos) {
        if !parts.video {
            return Err(DialectError::Unsupported(name, "video"));
        }
        list.push(json!({"type": "video_url", "video_url": {"url": url}}));
    }
    Ok(if list.is_empty() { "".into() } else { Value::Array(list) })
}

/// Contents that are not empty.
fn filled(media: &[Media]) -> impl Iterator<Item = &str> {
    media.iter().flat_map(|media| &media.contents).map(String::as_str).filter(|content| !content.is_empty())
}

/// A server that knows an image by its id needs no content of it.
fn add_images(list: &mut Vec<Value>, image: &Media, parts: &Parts) -> Result<(), DialectError> {
    let Media { contents, uuids, .. } = image;
    if !uuids.is_empty() && !contents.is_empty() && uuids.len() != contents.len() {
        let (ids, images) = (uuids.len(), contents.len());
        return Err(DialectError::Malformed(format!("{images} images have {ids} uuids: each needs one, or none has")));
    }
    if uuids.iter().any(String::is_empty) {
        return Err(DialectError::Malformed("the uuid of an image is empty".into()));
    }
    if uuids.is_empty() || !parts.image_ids {
        list.extend(contents.iter().filter(|content| !content.is_empty()).map(|content| (parts.image)(content)));
        return Ok(());
    }
    for (at, uuid) in uuids.iter().enumerate() {
        let mut part = (parts.image)(contents.get(at).map_or("", String::as_str));
        part["uuid"] = uuid.as_str().into();
        list.push(part);
    }
    Ok(())
}

/// Format and data of `wav,<base64>` or `data:audio/wav;base64,<base64>`.
fn audio_of(text: &str) -> Result<(&str, &str), DialectError> {
    let Some((head, data)) = text.split_once(',') else {
        let shown: Cow<'_, str> = match text.char_indices().nth(40) {
            Some((end, _)) => format!("{}...", &text[..end]).into(),
            None => text.into(),
        };
        let wanted = "'wav,<base64>' or 'data:audio/wav;base64,<base64>'";
        return Err(DialectError::Malformed(format!("audio without a format: '{shown}' is not of the form {wanted}")));
    };
    let format = match data_uri(text).and_then(|uri| uri.subtype("audio")) {
        Some(format) => Some(format).filter(|format| !format.is_empty()).unwrap_or("wav"),
        None => head,
    };
    Ok((format, data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::api;
    use aiperf_types::EndpointKind;

    const PARTS: Parts = Parts {
        text: "text",
        image: |url| json!({"type": "image_url", "image_url": {"url": url}}),
        image_ids: true,
        audio: true,
        video: true,
    };

    fn media(contents: &[&str], uuids: &[&str]) -> Vec<Media> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        vec![Media { name: String::new(), contents: owned(contents), uuids: owned(uuids) }]
    }

    fn of(turn: &Turn, parts: &Parts) -> Result<Value, DialectError> {
        content(&api(EndpointKind::Chat), turn, parts)
    }

    #[test]
    fn each_image_has_an_id_or_none_has() {
        let with = |contents: &[&str], uuids: &[&str]| {
            let parts = of(&Turn { images: media(contents, uuids), ..Turn::default() }, &PARTS)?;
            Ok::<usize, DialectError>(parts.as_array().map_or(0, Vec::len))
        };
        assert_eq!(with(&["a", ""], &["1", "2"]), Ok(2));
        assert_eq!(with(&[], &["1", "2"]), Ok(2));
        assert_eq!(with(&["a", ""], &[]), Ok(1));
        assert!(matches!(with(&["a"], &["1", "2"]), Err(DialectError::Malformed(_))));
        assert!(matches!(with(&["a"], &[""]), Err(DialectError::Malformed(_))));
    }

    #[test]
    fn what_a_type_cannot_carry_is_refused() {
        let deaf = Parts { audio: false, video: false, ..PARTS };
        for turn in [
            Turn { audios: media(&["wav,AA"], &[]), ..Turn::default() },
            Turn { videos: media(&["v"], &[]), ..Turn::default() },
        ] {
            assert!(matches!(of(&turn, &deaf), Err(DialectError::Unsupported("chat", _))));
        }
    }

    #[test]
    fn audio_names_its_format() {
        assert_eq!(audio_of("mp3,AA"), Ok(("mp3", "AA")));
        assert_eq!(audio_of("data:audio/flac;base64,AA,A"), Ok(("flac", "AA,A")));
        assert_eq!(audio_of("data:audio/;base64,AA"), Ok(("wav", "AA")));
        assert_eq!(audio_of("DATA:Audio/x-wav;base64,AA"), Ok(("wav", "AA")));
        let long = "\u{e9}".repeat(100);
        assert!(audio_of(&long).is_err_and(|error| error.to_string().chars().count() < 200));
    }
}
