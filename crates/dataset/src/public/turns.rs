//! Sets whose rows are lists of prompts: all are turns of one conversation (MT-Bench), or only the first is used
//! (Spec-Bench).

use super::kind::{BLANK, Found, RowReader, With, text_turn};
use super::row::{Fault, Row, list, text};

pub(super) struct Turns {
    pub(super) column: &'static str,
    pub(super) first_only: bool,
}

impl RowReader for Turns {
    fn columns(&self) -> Option<Vec<&'static str>> {
        Some(vec![self.column])
    }

    fn read(&self, row: Row, _: With<'_>) -> Result<Found, Fault> {
        let prompts = row.get(self.column).and_then(list).unwrap_or_default();
        let most = if self.first_only { 1 } else { prompts.len() };
        let texts = prompts.iter().take(most).filter_map(text);
        let turns: Vec<_> = texts.filter(|text| !text.trim().is_empty()).map(|text| text_turn(text.trim())).collect();
        Ok(if turns.is_empty() { Found::dropped(BLANK) } else { Found::turns(turns) })
    }
}
