//! Parts of pictures in SVG: scales, labels, texts in markup. Data in, text out.
//!
//! The crate is pure and has no dependency. It escapes texts of users and servers.
//!
//! # Layout
//! - `text`: texts in markup; numbers as short labels; how wide a text is
//! - `axis`: scales with round steps

mod axis;
mod text;

pub use axis::{Axis, Frame, time_unit};
pub use text::{cut, escape_markup, number, width};
