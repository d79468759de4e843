//! - [`story`]: a run as it is told, event by event
//! - [`models`]: what is known after which events, and what keys do
//! - [`screens`]: what is shown, at several sizes
//! - [`golden`]: what the reference's screens name

mod golden;
mod models;
mod screens;
mod story;
