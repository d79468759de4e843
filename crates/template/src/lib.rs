//! Bounds of templates: a chat template, a payload template or a value of a configuration file is data that others wrote,
//! and rendering it must neither run for ever, nor fill the memory, nor go deeper than the stack.
//!
//! The engine counts instructions (its fuel) and limits the calls of macros. It counts neither what one instruction
//! makes nor how deep values are nested, and it drops, prints and compares nested values by recursion. So [`guarded`]
//! puts checks into the source, by filters that the engine calls like any other ([`hold`]): each operand that is joined,
//! multiplied, compared, indexed or looped over, each list and map, each result of a call, filter or slice, each value that is printed or kept
//! in a namespace, and each round of a loop is charged to the room of the rendering before it is used.
//!
//! # Layout
//! - `lexer`: the code between the braces
//! - `guard`: [`guarded`], the checks in the source; more nesting than the engine's parser bears is refused
//! - `measure`: how large and how deep a value is, and the room of a rendering
//! - `held`: [`hold`], filters and methods that make much of little
//! - `render`: [`render`], [`FileBudget`] for all templates of a configuration, and [`explained`], the line and the
//!   reason of an error
//!
//! # Invariants
//! - The crate is pure: no socket, no clock, no file, no async.
//! - This is the only place that bounds templates: those of configuration files, of request bodies and of chats.
//! - The source of a template is rewritten. Every operation that creates, joins, compares or stores a value first
//!   charges the room of the rendering.

mod guard;
mod held;
mod lexer;
mod measure;
mod render;

pub use guard::{Refusal, guarded};
pub use held::hold;
pub use measure::charge_json;
pub use render::{FileBudget, MOST, explained, render};

#[cfg(test)]
mod tests;
