//! Vocabularies, `tokenizer.json` files and chat templates.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod bpe;
mod golden;
mod lookup;
mod template;
mod threads;
