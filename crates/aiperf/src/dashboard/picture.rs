//! A screen as SVG.

use aiperf_figures::escape_markup;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use std::fmt::Write;

/// Size of a cell in pixels.
const WIDTH: f64 = 8.4;
const HEIGHT: u32 = 18;
const SIZE: u32 = 14;

pub(crate) fn svg(buffer: &Buffer) -> String {
    let area = buffer.area;
    let (width, height) = (f64::from(area.width) * WIDTH, u32::from(area.height) * HEIGHT);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height}\" font-family=\"monospace\" \
         font-size=\"{SIZE}\" xml:space=\"preserve\">\n<rect width=\"100%\" height=\"100%\" fill=\"#1a1a1a\"/>\n"
    );
    for y in 0..area.height {
        // Adjacent cells of one style become one text, stretched to the width of its cells.
        let mut x = 0;
        while x < area.width {
            let first = &buffer[(x, y)];
            let look = (first.fg, first.modifier);
            let (mut text, mut end) = (String::new(), x);
            while end < area.width {
                let cell = &buffer[(end, y)];
                if (cell.fg, cell.modifier) != look {
                    break;
                }
                text.push_str(cell.symbol());
                end += 1;
            }
            if !text.trim().is_empty() {
                let weight = if look.1.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
                let _ = writeln!(
                    out,
                    "<text x=\"{:.1}\" y=\"{}\" textLength=\"{:.1}\" fill=\"{}\"{weight}>{}</text>",
                    f64::from(x) * WIDTH,
                    u32::from(y) * HEIGHT + SIZE,
                    f64::from(end - x) * WIDTH,
                    colour(look.0),
                    escape_markup(&text)
                );
            }
            x = end;
        }
    }
    out + "</svg>\n"
}

fn colour(colour: Color) -> String {
    match colour {
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        _ => "#e8e8e8".to_owned(),
    }
}
