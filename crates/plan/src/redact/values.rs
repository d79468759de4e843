//! Which values can be looked for in any text.

/// Shorter values are everywhere in ordinary text: to hide them would hide nothing and spoil everything.
pub(super) const SHORTEST: usize = 4;
/// Values of fewer characters may well be words (`user`, `EMPTY`): those that are all letters are looked for as words
/// of their own, and short ones only in what others say; all others anywhere.
pub(super) const LONG: usize = 8;

pub(super) fn is_word(value: &str) -> bool {
    value.chars().all(char::is_alphabetic)
}
