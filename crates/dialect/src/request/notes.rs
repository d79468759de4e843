//! Notes on contents of conversations that are not sent, or not as expected, for the user before a run.

use crate::kinds::dialect;
use crate::kinds::shared::rankings::{is_passages, is_query, named};
use aiperf_types::{Conversation, EndpointKind, Turn};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// A note on a turn.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// The type has no limit of output to put it into.
    MaxTokensUnused,
    /// A text whose name the type does not know.
    TextIgnored(String),
    /// Only the first is sent.
    ManyQueries,
    NoPassages,
    /// Of several contents of a kind only the first is sent.
    OnlyFirst(&'static str),
    /// Contents of a kind are not sent at all.
    Unsent(&'static str),
    /// An extra member of the body that only what a turn holds can set.
    Reserved(String),
}

impl Note {
    /// Notes on a turn that a type sends.
    pub fn of(kind: EndpointKind, turn: &Turn) -> Vec<Self> {
        if turn.raw_payload.is_some() {
            return Vec::new();
        }
        let mut notes = Vec::new();
        let (dialect, traits) = (dialect(kind), kind.traits());
        if turn.max_tokens.is_some() && dialect.ignores_max_tokens {
            notes.push(Self::MaxTokensUnused);
        }
        if traits.ranks {
            let is_other = |name: &&str| !is_query(name) && !is_passages(name);
            let others = turn.texts.iter().map(|text| text.name.as_str()).filter(is_other);
            notes.extend(others.map(|name| Self::TextIgnored(name.to_owned())));
            if named(turn, is_query).nth(1).is_some() {
                notes.push(Self::ManyQueries);
            }
            if named(turn, is_passages).next().is_none() {
                notes.push(Self::NoPassages);
            }
        }
        let media = [("texts", &turn.texts), ("images", &turn.images), ("audios", &turn.audios)];
        for (what, media) in media {
            let contents = media.iter().flat_map(|media| &media.contents).filter(|text| !text.is_empty()).count();
            if contents > 1 && dialect.sends_first_of.contains(&what) {
                notes.push(Self::OnlyFirst(what));
            } else if contents > 0 && what == "texts" && !traits.tokenizes_input {
                notes.push(Self::Unsent(what));
            }
        }
        let extra = turn.extra_body.iter().flat_map(|extra| extra.keys());
        notes.extend(Self::reserved(kind, extra));
        notes
    }

    fn reserved<'a>(kind: EndpointKind, extra: impl Iterator<Item = &'a String>) -> impl Iterator<Item = Self> {
        extra.filter(move |member| dialect(kind).reserved.contains(&member.as_str())).cloned().map(Self::Reserved)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaxTokensUnused => f.write_str("an output length is given, which this endpoint type does not send"),
            Self::TextIgnored(name) => {
                write!(f, "texts named '{name}' are not sent; name them 'query' or 'passages'")
            }
            Self::ManyQueries => f.write_str("there is more than one query; only the first is sent"),
            Self::NoPassages => f.write_str("there are no texts named 'passages'; an empty list is sent"),
            Self::OnlyFirst(what) => write!(f, "there are several {what}; only the first is sent"),
            Self::Unsent(what) => write!(f, "{what} are not sent by this endpoint type"),
            Self::Reserved(member) => {
                write!(f, "the extra input '{member}' is not sent: it is set from what a turn holds")
            }
        }
    }
}

/// The notes of a whole dataset, each once.
#[derive(Clone, Debug)]
pub struct Notes {
    kind: EndpointKind,
    turns: BTreeMap<Note, u64>,
}

impl Notes {
    pub fn new(kind: EndpointKind) -> Self {
        Self { kind, turns: BTreeMap::new() }
    }

    /// Takes the extra members that the plan adds to every body.
    pub fn take_extra(&mut self, extra: &Map<String, Value>) {
        for note in Note::reserved(self.kind, extra.keys()) {
            self.turns.entry(note).or_default();
        }
    }

    pub fn take(&mut self, conversation: &Conversation) {
        self.add(self.of(conversation));
    }

    /// Notes on the turns of a conversation, to be added later.
    pub fn of(&self, conversation: &Conversation) -> Vec<Note> {
        conversation.turns.iter().flat_map(|turn| Note::of(self.kind, turn)).collect()
    }

    pub fn add(&mut self, notes: Vec<Note>) {
        notes.into_iter().for_each(|note| *self.turns.entry(note).or_default() += 1);
    }

    /// A line for each note, with the number of turns, if it is about turns.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let kind = self.kind.name();
        self.turns.iter().map(move |(note, turns)| match turns {
            0 => format!("{kind}: {note}"),
            1 => format!("{kind}: {note} (1 turn)"),
            _ => format!("{kind}: {note} ({turns} turns)"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::Media;
    use serde_json::json;

    fn text(name: &str, contents: &[&str]) -> Media {
        let contents = contents.iter().map(|content| (*content).to_owned()).collect();
        Media { name: name.into(), contents, ..Media::default() }
    }

    #[test]
    fn contents_that_do_not_go_out_are_named() {
        let media = |contents: &[&str]| {
            let contents = contents.iter().map(|&content| content.to_owned()).collect();
            vec![aiperf_types::Media { contents, ..aiperf_types::Media::default() }]
        };
        let turn = Turn { texts: media(&["a", "b"]), images: media(&["c", "", "d"]), ..Turn::default() };
        let edit = Note::of(EndpointKind::ImageEdit, &turn);
        assert_eq!(edit, [Note::OnlyFirst("texts"), Note::OnlyFirst("images")]);
        assert_eq!(Note::of(EndpointKind::ImageRetrieval, &turn), [Note::Unsent("texts")]);
        assert_eq!(Note::of(EndpointKind::Chat, &turn), []);
    }

    #[test]
    fn rankings_note_what_they_leave_out() {
        let texts = vec![text("queries", &["a", "b"]), text("other", &["c"])];
        let turn = Turn { texts, max_tokens: Some(3), ..Turn::default() };
        let notes = Note::of(EndpointKind::CohereRankings, &turn);
        let other = Note::TextIgnored("other".into());
        assert_eq!(notes, [Note::MaxTokensUnused, other, Note::ManyQueries, Note::NoPassages]);
        assert_eq!(Note::of(EndpointKind::Embeddings, &turn), [Note::MaxTokensUnused]);
        assert_eq!(Note::of(EndpointKind::Chat, &turn), []);
    }

    #[test]
    fn members_that_only_a_turn_can_set_are_noted() {
        let extra = |members: Value| members.as_object().cloned().unwrap();
        let turn = Turn { extra_body: Some(extra(json!({"file": 1, "prompt": 2}))), ..Turn::default() };
        assert_eq!(Note::of(EndpointKind::AudioTranscription, &turn), [Note::Reserved("file".into())]);
        let mut notes = Notes::new(EndpointKind::ImageEdit);
        notes.take_extra(&extra(json!({"mask": "x", "size": "1x1"})));
        notes.take(&Conversation { turns: vec![turn], ..Conversation::default() });
        let noted = |member: &str| {
            format!("image_edit: the extra input '{member}' is not sent: it is set from what a turn holds")
        };
        assert_eq!(notes.lines().collect::<Vec<_>>(), [noted("mask"), format!("{} (1 turn)", noted("prompt"))]);
    }

    #[test]
    fn a_note_is_shown_once_with_its_turns() {
        let turn = Turn { texts: vec![text("query", &["a"])], ..Turn::default() };
        let mut notes = Notes::new(EndpointKind::NimRankings);
        notes.take(&Conversation { turns: vec![turn.clone(), turn], ..Conversation::default() });
        let lines: Vec<String> = notes.lines().collect();
        assert_eq!(lines, ["nim_rankings: there are no texts named 'passages'; an empty list is sent (2 turns)"]);
    }
}
