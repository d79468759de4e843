//! `single_turn`: one request per line, by its contents: texts, images, audio and video.

use aiperf_plan::FileFormat;
use aiperf_plan::nearest::nearest;
use aiperf_types::{ContextMode, Media, Turn};
use serde_json::Value;

use super::contents::is_web;
use super::fault::Fault;
use super::layout::Layout;
use super::media::MediaKind;
use super::row::{Encode, Row, wrong};
use super::wav;
use super::{Folder, Format, ReadRow};
use crate::turn_shape::{FARTHEST_MS, LONGEST_MS};

pub(super) const FORMAT: Format = Format {
    name: FileFormat::SingleTurn.name(),
    example: r#"{"text": "hello"}"#,
    layout: Layout::Lines,
    folder: Folder::Refused,
    // Rows with the same id are separate requests, not turns that build on each other.
    context_mode: |turns| (turns > 1).then_some(ContextMode::MessageArrayWithResponses),
    hoists_system: false,
    unique_names: false,
    relative_times: false,
    read,
};

/// Members with contents, singular and plural.
const CONTENT_MEMBERS: &[(MediaKind, &str, &str)] = &[
    (MediaKind::Text, "text", "texts"),
    (MediaKind::Image, "image", "images"),
    (MediaKind::Audio, "audio", "audios"),
    (MediaKind::Video, "video", "videos"),
];

/// A row that is one turn.
pub(super) struct TurnRow {
    pub(super) session_id: Option<String>,
    pub(super) turn: Turn,
    pub(super) ignored: Vec<String>,
}

fn read(row: Row, encode: Encode<'_>) -> Result<ReadRow, Fault> {
    let TurnRow { session_id, turn, ignored } = read_turn(row, encode)?;
    Ok(ReadRow { session_id, turns: vec![turn], ignored, ..ReadRow::default() })
}

pub(super) fn read_turn(mut row: Row, encode: Encode<'_>) -> Result<TurnRow, Fault> {
    row.check_type(FORMAT.name)?;
    let mut turn = read_contents(&mut row, encode)?;
    turn.timestamp_ms = row.number("timestamp")?;
    if let Some(timestamp) = turn.timestamp_ms.filter(|timestamp| timestamp.abs() > FARTHEST_MS) {
        return Err(Fault(format!(
            "timestamp {timestamp:e} is no time: one is at most {FARTHEST_MS:e} and at least -{FARTHEST_MS:e}\n  try: \
             milliseconds, from any zero"
        )));
    }
    turn.delay_ms = row.number("delay")?;
    if let Some(delay) = turn.delay_ms.filter(|delay| *delay > LONGEST_MS) {
        return Err(Fault(format!(
            "delay {delay:e} is too long: one is at most {LONGEST_MS:e}, thirty years\n  try: milliseconds"
        )));
    }
    if let Some(delay) = turn.delay_ms.filter(|delay| *delay < 0.0) {
        return Err(Fault(format!(
            "delay {delay} is below 0\n  a turn is sent so many milliseconds after the response to the one before\n  try: 0, or \
             leave it out, to send it at once"
        )));
    }
    let is_set = |time: Option<f64>| time.is_some_and(|time| time != 0.0);
    if is_set(turn.timestamp_ms) && is_set(turn.delay_ms) {
        return Err(Fault("timestamp and delay exclude each other\n  try: one of them".into()));
    }
    turn.role = row.string("role")?;
    turn.max_tokens = row.count("output_length")?;
    turn.extra_body = row.object("extra")?;
    Ok(TurnRow { session_id: row.session_id()?, turn, ignored: row.rest() })
}

/// Takes only the contents of a row.
pub(super) fn read_contents(row: &mut Row, encode: Encode<'_>) -> Result<Turn, Fault> {
    let uuids = uuids(row)?;
    let mut turn = Turn::default();
    for (kind, one, many) in CONTENT_MEMBERS {
        let uuids = uuids.as_deref().filter(|_| *kind == MediaKind::Image);
        let contents = contents(row, *kind, one, many, uuids, encode)?;
        *match kind {
            MediaKind::Text => &mut turn.texts,
            MediaKind::Image => &mut turn.images,
            MediaKind::Audio => &mut turn.audios,
            MediaKind::Video => &mut turn.videos,
        } = contents;
    }
    if [&turn.texts, &turn.images, &turn.audios, &turn.videos].into_iter().all(Vec::is_empty) {
        return Err(no_content(row));
    }
    turn.audio_duration_seconds = turn.audios.first().and_then(|audio| wav::seconds(audio.contents.first()?));
    Ok(turn)
}

/// A member with a similar name is probably a mistyped one.
fn no_content(row: &Row) -> Fault {
    let names = || CONTENT_MEMBERS.iter().flat_map(|(_, one, many)| [*one, *many]);
    let meant = row.left().find_map(|name| Some((name, nearest(name, names())?)));
    Fault(match meant {
        Some((name, near)) => {
            format!("has no content: {} is not a member with content\n  try: {near}", name.escape_debug())
        }
        None => "has no content\n  try: a member text, image, audio or video, or one of their plurals".to_owned(),
    })
}

/// Ids of images; none may be empty.
fn uuids(row: &mut Row) -> Result<Option<Vec<String>>, Fault> {
    let Some(items) = row.list("image_uuids")? else { return Ok(None) };
    let id = |item: Value| match item {
        Value::String(id) if !id.is_empty() => Ok(id),
        Value::String(_) => Err(Fault("image_uuids has an empty id\n  try: an id for each image".into())),
        other => Err(wrong("an id of image_uuids", "a text", &other)),
    };
    items.into_iter().map(id).collect::<Result<_, _>>().map(Some)
}

/// The contents of one kind.
fn contents(
    row: &mut Row,
    kind: MediaKind,
    one: &str,
    many: &str,
    uuids: Option<&[String]>,
    encode: Encode<'_>,
) -> Result<Vec<Media>, Fault> {
    let single = row.string(one)?.filter(|text| !text.is_empty());
    let several = row.list(many)?.filter(|items| !items.is_empty());
    let media = |contents| Media { name: String::new(), contents, uuids: uuids.unwrap_or_default().to_vec() };
    match (single, several, uuids) {
        (Some(_), Some(_), _) => {
            Err(Fault(format!("{one} and {many} exclude each other\n  try: {many} for all of them")))
        }
        (Some(_), None, Some(_)) => Err(Fault(format!("image_uuids needs {many}\n  try: {many} in place of {one}"))),
        (Some(text), None, None) => Ok(vec![media(vec![encode(kind, text)?])]),
        (None, None, Some(ids)) if !ids.is_empty() => Ok(vec![media(vec![String::new(); ids.len()])]),
        (None, None, _) => Ok(Vec::new()),
        (None, Some(items), None) if items[0].is_object() => {
            items.into_iter().map(|item| named(item, kind, many, encode)).collect()
        }
        (None, Some(items), _) => {
            if let Some(ids) = uuids.filter(|ids| ids.len() != items.len()) {
                let (ids, items) = (ids.len(), items.len());
                return Err(Fault(format!("image_uuids has {ids} ids for {items} {many}\n  try: an id for each")));
            }
            let text = |item| match item {
                // An image that the server knows by its id may be left out.
                Value::String(text) if text.is_empty() && uuids.is_some() => Ok(text),
                Value::String(text) => encode(kind, text),
                other => Err(wrong(&format!("each of {many}"), "a text", &other)),
            };
            Ok(vec![media(items.into_iter().map(text).collect::<Result<_, _>>()?)])
        }
    }
}

/// Contents with a name, taken as they are, except for images on the web.
fn named(item: Value, kind: MediaKind, many: &str, encode: Encode<'_>) -> Result<Media, Fault> {
    if !item.is_object() {
        return Err(wrong(&format!("each of {many}, as the first is,"), "an object", &item));
    }
    let mut media: Media = serde_json::from_value(item)
        .map_err(|error| Fault(format!("{many}: {error}\n  try: {{\"name\": \"query\", \"contents\": [\"...\"]}}")))?;
    for content in media.contents.iter_mut().filter(|content| kind == MediaKind::Image && is_web(content)) {
        *content = encode(kind, std::mem::take(content))?;
    }
    let (ids, contents) = (media.uuids.len(), media.contents.len());
    match ids {
        0 => Ok(media),
        _ if media.uuids.iter().any(String::is_empty) => {
            Err(Fault(format!("{many} has an empty id among uuids\n  try: an id for each content")))
        }
        _ if contents == 0 => Ok(Media { contents: vec![String::new(); ids], ..media }),
        _ if contents != ids => {
            Err(Fault(format!("{many} has {ids} uuids for {contents} contents\n  try: an id for each content")))
        }
        _ => Ok(media),
    }
}
