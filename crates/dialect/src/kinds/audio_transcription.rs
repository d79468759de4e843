//! Speech to text, as OpenAI has it: a form with an audio file.

use super::{Carries, Dialect};
use crate::request::{DialectError, Frame, Request};
use crate::request::{inputs, multipart};
use crate::response::reader::{Data, Piece, Stateless, error_of, usage_of};
use crate::text::data_uri::data_uri;
use crate::text::json;
use aiperf_types::EndpointKind;
use serde_json::Value;
use std::borrow::Cow;

pub const DIALECT: Dialect = Dialect {
    carries: Carries::LastTurn,
    inputs: inputs::of_audio_form,
    reserved: &["file"],
    sends_first_of: &["audios"],
    ..Dialect::new(EndpointKind::AudioTranscription, frame, |_| Box::new(Stateless(|text, _| Some(read(text)))))
};

/// Formats whose content type is not their name.
const CONTENT_TYPES: &[(&str, &str)] =
    &[("mp3", "audio/mpeg"), ("mpga", "audio/mpeg"), ("m4a", "audio/mp4"), ("mp4", "audio/mp4")];

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let audio = Request::first(&request.turn.audios).filter(|audio| !audio.is_empty());
    let (format, data) = split(audio.ok_or(DialectError::Missing("audio_transcription", "an audio"))?)?;
    let known = CONTENT_TYPES.iter().find(|(name, _)| *name == format);
    let content_type = known.map_or_else(|| format!("audio/{format}"), |(_, kind)| (*kind).to_owned());
    let mut frame = Frame::default();
    frame.set("file", multipart::file(data, &format!("audio.{format}"), &content_type));
    frame.set("model", request.model());
    frame.extend(request.extras().filter(|(member, _)| !DIALECT.reserved.contains(&member.as_str())));
    Ok(frame)
}

/// The format, in lower case, and the base64 of an audio: `wav,UklG...` or `data:audio/wav;base64,UklG...`.
fn split(audio: &str) -> Result<(String, &str), DialectError> {
    let bad = || {
        let shown: String = audio.chars().take(40).collect();
        let known = "'<format>,<base64>' or 'data:audio/<format>;base64,<base64>'";
        DialectError::Malformed(format!("the audio '{shown}' is not of the form {known}"))
    };
    let (format, data) = match data_uri(audio) {
        Some(uri) => uri.subtype("audio").filter(|_| uri.is_base64).zip(uri.data),
        None => audio.split_once(','),
    }
    .ok_or_else(bad)?;
    Ok((format.to_ascii_lowercase(), data))
}

fn read(text: &str) -> Piece<'_> {
    match json::read(text) {
        Some(Value::Object(object)) => {
            let text = object.get("text").and_then(Value::as_str).filter(|text| !text.is_empty());
            let data = text.map(|text| Data::Text(Cow::Owned(text.to_owned())));
            let usage = usage_of(&object).filter(|_| data.is_some());
            Piece { data, usage, error: error_of(&object), ..Piece::default() }
        }
        Some(_) => Piece::default(),
        None if text.is_empty() => Piece::default(),
        None => Piece { data: Some(Data::Text(Cow::Borrowed(text))), ..Piece::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audio_is_a_format_and_its_data_or_a_data_uri() {
        for (audio, wanted) in [
            ("WAV,AA,A=", Some(("wav", "AA,A="))),
            ("data:audio/mpeg;base64,AAAA", Some(("mpeg", "AAAA"))),
            ("DATA:audio/webm;codecs=opus;base64,AAAA", Some(("webm", "AAAA"))),
            ("data:audio/x-wav;base64,AAAA", Some(("wav", "AAAA"))),
            ("data:audio/wav,AAAA", None),
            ("data:video/mp4;base64,AAAA", None),
            ("nocomma", None),
        ] {
            assert_eq!(split(audio).ok(), wanted.map(|(format, data)| (format.to_owned(), data)), "{audio}");
        }
    }
}
