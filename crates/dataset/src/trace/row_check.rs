//! Checks one by one whether a run could send rows: the checks of a run, without its file.

use std::collections::HashMap;

use super::entry::{Content, Mode, Session};
use super::{Layout, blocks, fields, mooncake};

/// Checks the rows of a mooncake trace, in order.
#[derive(Debug)]
pub(crate) struct RowCheck {
    block_size: u64,
    /// The form of the rows of each session.
    modes: HashMap<String, Mode>,
}

impl RowCheck {
    /// With the tokens per hash id; `None` is the default of the format.
    pub(crate) fn new(block_size: Option<u64>) -> Self {
        Self { block_size: block_size.unwrap_or(mooncake::FORMAT.block_size), modes: HashMap::new() }
    }

    /// Refuses a row that a run would refuse.
    pub(crate) fn check(&mut self, text: &str) -> Result<(), String> {
        let Some(entry) = (mooncake::FORMAT.read)(&Layout::default(), text)? else { return Ok(()) };
        entry.extra.map(|extra| fields::object("extra", extra)).transpose()?;
        match &entry.content {
            Content::Made { hash_ids } => blocks::check_row(entry.input_tokens, hash_ids, self.block_size)?,
            Content::Messages { messages, tools } => {
                fields::list("messages", messages)?;
                tools.map(|tools| fields::list("tools", tools)).transpose()?;
            }
            Content::Payload(payload) => drop(fields::object("payload", payload)?),
            Content::Text(_) | Content::Hinted { .. } => {}
        }
        let Session::Named(session) = entry.session else { return Ok(()) };
        let found = entry.content.mode();
        match self.modes.get(&*session) {
            Some(mode) => mode.check_same(found),
            None => {
                self.modes.insert(session.into_owned(), found);
                Ok(())
            }
        }
    }
}
