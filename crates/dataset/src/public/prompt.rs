//! Sets with a prompt in a column, plain or in a template, with or without an image.

use super::image;
use super::kind::{BLANK, Found, RowReader, With, text_turn};
use super::row::{Fault, Row, text};

pub(super) struct Prompt {
    pub(super) column: &'static str,
    pub(super) image: Option<&'static str>,
    pub(super) template: Option<Template>,
}

/// A text around the prompt and another column.
pub(super) struct Template {
    pub(super) text: &'static str,
    /// The other column; the text contains both in braces.
    pub(super) other: &'static str,
}

/// A code file and the change to make.
pub(super) const EDIT: Template = Template {
    text: "Given a code file, please apply the change requests and generate the new file.\n\nOriginal \
           file:\n```python\n{code}\n```\n\nChange request:\n{change_request}\n\nPlease generate the new code file in the \
           \"New file\" section below.",
    other: "code",
};

impl Prompt {
    pub(super) const fn of(column: &'static str) -> Self {
        Self { column, image: None, template: None }
    }
}

impl RowReader for Prompt {
    fn columns(&self) -> Option<Vec<&'static str>> {
        let other = self.template.as_ref().map(|template| template.other);
        Some([Some(self.column), self.image, other].into_iter().flatten().collect())
    }

    fn read(&self, row: Row, _: With<'_>) -> Result<Found, Fault> {
        let prompt = row.column(self.column)?.and_then(text).unwrap_or_default();
        if prompt.trim().is_empty() {
            return Ok(Found::dropped(BLANK));
        }
        let prompt = match &self.template {
            None => prompt,
            Some(Template { text: template, other }) => {
                let other_text = row.column(other)?.and_then(text).unwrap_or_default();
                // One pass, so that braces in the data stay as they are.
                let (before, after) = template.split_once(&format!("{{{other}}}")).unwrap_or((template, ""));
                let (between, end) = after.split_once(&format!("{{{}}}", self.column)).unwrap_or((after, ""));
                [before, &other_text, between, &prompt, end].concat()
            }
        };
        let mut turn = text_turn(prompt);
        turn.images = self.image.and_then(|column| row.get(column)).and_then(image::first).into_iter().collect();
        Ok(Found::turn(turn))
    }
}
