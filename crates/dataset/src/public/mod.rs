//! Public datasets: published rows, converted to conversations by the kind of their set.
//!
//! [`Downloads`] fetches files. This module decides which files to fetch, how to convert rows and which rows to drop,
//! by functions of file names and rows.
//!
//! # Layout
//! - `sets`: every set with its kind
//! - `choice`: which files of a repository contain its rows; `rows`: the rows of a file; `row`: one row
//! - `kind`: the trait of every kind; one file per kind: `prompt`, `first_message`, `video_question`, `turns`,
//!   `sharegpt`, `speech`, `exgentic`
//! - `image`: images of rows
//! - `gathering`: collects conversations, up to the number that is needed

mod choice;
mod exgentic;
mod first_message;
mod gathering;
#[cfg(test)]
mod golden;
mod image;
mod kind;
mod prompt;
mod row;
mod rows;
mod sets;
mod sharegpt;
mod speech;
mod turns;
mod video_question;

use std::borrow::Cow;
use std::sync::Arc;

use aiperf_plan::{HubSource, PublicPlan, PublicSource};
use aiperf_types::{Conversation, ShapeList, Shapes};
use serde_json::Value;

use self::gathering::Gathering;
use self::kind::With;
use crate::error::DatasetError;
use crate::source::{Downloads, Making, Repository, Source};
use crate::{length, turn_shape};

/// The branch on which the hub stores the rows of every repository as Parquet.
const CONVERTED: &str = "refs/convert/parquet";

/// Conversations of a public dataset, by index.
#[derive(Debug)]
pub(crate) struct Public {
    conversations: Vec<Conversation>,
    /// The file and the row of each conversation.
    places: Vec<(u32, u64)>,
    files: Vec<String>,
    shapes: Arc<Shapes>,
    notes: Vec<String>,
}

impl Public {
    pub(crate) fn open(plan: &PublicPlan, making: Making<'_>) -> Result<Self, DatasetError> {
        if plan.entries == Some(0) {
            return Err(DatasetError::NoEntries);
        }
        let name = plan.set.name();
        let at_fault = |fault| DatasetError::of_file(name, fault);
        let kind = sets::kind(plan.set);
        kind.check_filters(plan).map_err(at_fault)?;
        let mut gathering = Gathering::new(kind, With { plan, tokenizer: making.tokenizer }, making);
        match plan.set.source() {
            PublicSource::Url { url, file } => {
                let path = making.public_files.url(url, file).map_err(at_fault)?;
                gathering.read(&path)?;
            }
            PublicSource::Hub(hub) => {
                let subset = plan.subset.as_deref().or(hub.subset);
                let (commit, files) = files(&hub, subset, making.public_files).map_err(at_fault)?;
                for file in files {
                    let path = making.public_files.file(hub.repo, &commit, &file).map_err(at_fault)?;
                    gathering.read(&path)?;
                    if gathering.is_full() {
                        break;
                    }
                }
            }
        }
        let gathered = gathering.finish()?;
        let mut conversations = gathered.conversations;
        let lengths = making.draws.purpose("dataset.osl");
        for (index, conversation) in conversations.iter_mut().enumerate() {
            let mut draws = lengths.at(index as u64);
            for turn in &mut conversation.turns {
                if let Some(osl) = &plan.osl {
                    // Drawn for every turn, so that no draw depends on the other turns.
                    let drawn = u32::try_from(length::draw(osl, &mut draws)).unwrap_or(u32::MAX);
                    turn.max_tokens.get_or_insert(drawn);
                }
                let cap = |delay: f64| plan.delay_cap_ms.map_or(delay, |cap| delay.min(cap));
                turn.delay_ms = turn.delay_ms.map(cap);
            }
        }
        let mut shapes = ShapeList::default();
        for conversation in &conversations {
            shapes.push(conversation.turns.iter().map(|turn| turn_shape(turn.delay_ms, turn.timestamp_ms)));
        }
        let shapes = Arc::new(shapes.into());
        Ok(Self { conversations, places: gathered.places, files: gathered.files, shapes, notes: gathered.notes })
    }
}

/// The files with the rows, and their commit: the publisher's files, or else those that the hub converted.
fn files(hub: &HubSource, subset: Option<&str>, from: &dyn Downloads) -> Result<(String, Vec<String>), String> {
    let HubSource { repo, revision, split, .. } = hub;
    let own = from.list(repo, revision).and_then(|Repository { commit, files, configs }| {
        let chosen = choice::choose(&files, &configs, subset, split);
        chosen.map(|files| (commit, files)).map_err(|fault| format!("dataset '{repo}' {fault}"))
    });
    if own.is_ok() || *revision != "main" {
        return own;
    }
    let converted = from.list(repo, CONVERTED).ok().and_then(|Repository { commit, files, .. }| {
        let is_there = |folder: &str| files.iter().any(|file| file.starts_with(&format!("{folder}/")));
        let subset = subset.or_else(|| Some("default").filter(|name| is_there(name)));
        Some((commit, choice::choose(&files, &Value::Null, subset, split).ok()?))
    });
    // If both fail, report the fault of the publisher's own files: the user can act on that one.
    converted.map_or(own, Ok)
}

impl Source for Public {
    fn shapes(&self) -> &Arc<Shapes> {
        &self.shapes
    }

    fn conversation(&self, index: usize) -> Result<Cow<'_, Conversation>, DatasetError> {
        Ok(Cow::Borrowed(&self.conversations[index]))
    }

    fn place(&self, index: usize, _: usize) -> Option<String> {
        let (file, row) = self.places[index];
        Some(format!("{}: row {row}", self.files[file as usize]))
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
