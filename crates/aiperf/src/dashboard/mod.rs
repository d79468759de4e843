//! `--ui dashboard`: a run on a full screen.
//!
//! What there is to show is a value ([`model`]), a screen is a function of it ([`draw`]), and only [`driver`],
//! [`canvas`] and [`threads`] touch the world.
//!
//! # Layout
//! - [`model`]: what is known of the run and how it is looked at; `phases`, `logs`, `trends`, `workers`: its parts
//! - [`keys`]: what keys and the mouse do
//! - [`layout`]: which pane is where; [`panes`]: one file a pane, and the table of them; [`pane_id`]: their names
//! - [`draw`]: header, panes, footer, and what lies over them; [`theme`]: colours; [`shapes`]: bars
//! - [`picture`]: a screen as a file
//! - [`driver`]: events and keys in, frames out; [`canvas`]: the terminal while it is ours, [`hold`]: whether it
//!   is, [`bounds`]: how much of it is drawn on; [`threads`]: what our threads use

mod bounds;
mod canvas;
mod draw;
mod driver;
mod hold;
mod keys;
mod layout;
mod logs;
mod model;
mod pane_id;
mod panes;
mod phases;
mod picture;
mod shapes;
mod theme;
mod threads;
mod trends;
mod workers;

#[cfg(test)]
mod tests;

pub(crate) use canvas::Canvas;
pub(crate) use driver::{Dashboard, interest};
pub(crate) use workers::{Health, Worker, Workers};
