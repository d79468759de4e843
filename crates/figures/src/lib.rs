//! Figures as SVG: data in, text out. One set of scales and labels for every picture and page.
//!
//! The crate is pure and has no dependency. Texts of users and servers are escaped here.
//!
//! # Layout
//! - [`text`]: texts in markup; numbers as short labels; how wide a text is
//! - [`axis`]: scales with round steps

pub mod axis;
pub mod text;

pub use axis::{Axis, Frame, time_unit};
pub use text::{escape_markup, number};
