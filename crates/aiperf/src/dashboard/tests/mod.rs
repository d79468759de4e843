//! - [`story`]: a run as it is told, event by event
//! - [`models`]: what is known after which events, and what keys do
//! - [`screens`]: what is shown, at several sizes
//! - [`golden`]: what the reference's screens name

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod golden;
mod models;
mod screens;
mod story;
