//! - [`story`]: the events of a run
//! - [`models`]: the state after events and keys
//! - [`screens`]: the screens, at several sizes
//! - [`golden`]: the names on the reference's screens

mod golden;
mod models;
mod screens;
mod story;
