//! `--ui dashboard`: a run on a full screen.
//!
//! The state is a value ([`model`]), and a screen is a function of it ([`draw`]). Only [`driver`], [`canvas`] and
//! [`threads`] have side effects.
//!
//! # Layout
//! - [`model`]: the state of the run and of the view; `phases`, `logs`, `trends`, `workers`: its parts
//! - [`keys`]: the effects of keys and the mouse
//! - [`layout`]: the positions of panes; [`panes`]: one file per pane, and their table; `pane_id`: their names
//! - [`draw`]: header, panes, footer, and boxes over them; [`theme`]: colours; [`shapes`]: bars
//! - [`picture`]: a screen as a file
//! - [`driver`]: events and keys in, frames out; [`canvas`]: the terminal while it is ours, [`hold`]: whether it is
//!   ours, [`bounds`]: the size of the drawn area; [`threads`]: the CPU use of our threads

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
