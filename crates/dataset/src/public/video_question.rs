//! Multiple-choice questions about a video: MMVU.

use aiperf_types::Media;

use super::kind::{BLANK, Found, RowReader, With, text_turn, unnamed};
use super::row::{Fault, Row, member, text};
use crate::columns::Cell;

pub(super) struct VideoQuestion;

const NO_VIDEO: &str = "rows without a video";

impl RowReader for VideoQuestion {
    fn columns(&self) -> Option<Vec<&'static str>> {
        Some(vec!["question", "choices", "video"])
    }

    fn read(&self, row: Row, _: With<'_>) -> Result<Found, Fault> {
        let question = row.column("question")?.and_then(text).unwrap_or_default();
        let prompt = prompt(&question, row.get("choices"));
        if prompt.is_empty() {
            return Ok(Found::dropped(BLANK));
        }
        let Some(video) = row.get("video").and_then(video) else { return Ok(Found::dropped(NO_VIDEO)) };
        let mut turn = text_turn(prompt);
        turn.videos = vec![video];
        Ok(Found::turn(turn))
    }
}

/// The question and the choices, each with its letter.
pub(super) fn prompt(question: &str, choices: Option<&Cell>) -> String {
    let members = match choices {
        Some(Cell::Object(members)) => members.as_slice(),
        _ => &[],
    };
    let choices = members.iter().filter_map(|(letter, choice)| {
        let choice = text(choice).filter(|choice| !choice.is_empty())?;
        Some(format!("{letter}.{choice}"))
    });
    let question = Some(question.trim().to_owned()).filter(|question| !question.is_empty());
    question.into_iter().chain(choices).collect::<Vec<_>>().join(" ")
}

/// A video by URL; a path without a scheme is a file on the server.
fn video(cell: &Cell) -> Option<Media> {
    let url = text(cell).or_else(|| member(cell, "url").and_then(text))?;
    let url = url.trim();
    let is_url = url.contains("://") || url.starts_with("data:");
    (!url.is_empty()).then(|| unnamed(if is_url { url.to_owned() } else { format!("file://{url}") }))
}
