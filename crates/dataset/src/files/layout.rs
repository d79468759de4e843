//! How a file has its rows.

/// How rows stand in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One a line.
    Lines,
    /// One an item of a list, which is a member of one document.
    Items(&'static str),
}
