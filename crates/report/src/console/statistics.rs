//! A table of distributions of numbers, outside of runs.

use super::page::{Page, Style};
use super::table::{Cell, Column, Table};
use super::text::Align;
use crate::format::number::grouped;

/// Statistics of one row, in the order of `COLUMNS`; `None` if it has no values.
pub type StatisticsRow<'a> = (&'a str, Option<[f64; COLUMNS.len()]>);

const COLUMNS: [&str; 7] = ["Mean", "Std Dev", "Min", "P25", "Median", "P75", "Max"];
/// Columns that a narrow screen omits, in this order.
const GIVE_WAY: [&str; 3] = ["Std Dev", "P25", "P75"];
/// The narrowest wrapped label.
const LABEL_WIDTH: usize = 12;

/// The table, as wide as the page allows.
pub fn statistics_table(title: &str, rows: &[StatisticsRow<'_>], page: Page) -> String {
    let column = |title, wraps| Column { title, align: Align::Right, wraps };
    let cell = |text: String| Cell { text, style: Style::PLAIN };
    let row = |(label, values): &StatisticsRow<'_>| {
        let number = |at: usize| grouped(values.map(|values| values[at])).unwrap_or_else(|| "N/A".into());
        let numbers = (0..COLUMNS.len()).map(|at| cell(number(at)));
        std::iter::once(cell((*label).to_owned())).chain(numbers).collect()
    };
    let mut table = Table {
        title: title.to_owned(),
        title_style: Style::ITALIC,
        columns: std::iter::once(column("Metric", true)).chain(COLUMNS.map(|title| column(title, false))).collect(),
        rows: rows.iter().map(row).collect(),
    };
    let mut left_out = Vec::new();
    for name in GIVE_WAY {
        if page.is_screen() && table.least_width(LABEL_WIDTH) > page.width() {
            table.remove(name);
            left_out.push(name);
        }
    }
    let mut out = table.draw(page);
    if !left_out.is_empty() {
        out.push_str(&format!("No room at this width for {}\n", left_out.join(", ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [StatisticsRow<'_>; 2] = [
        ("Input Length", Some([1200.0, 355.9, 700.0, 1050.0, 1400.0, 1450.0, 1500.0])),
        ("Theoretical Hit Rates", None),
    ];

    #[test]
    fn numbers_have_commas_and_a_row_without_values_is_marked() {
        let text = statistics_table("Trace Statistics", &ROWS, Page::file());
        for wanted in [
            "┃                Metric ┃     Mean ┃ Std Dev ┃    Min ┃      P25 ┃   Median ┃      P75 ┃      Max ┃",
            "│          Input Length │ 1,200.00 │  355.90 │ 700.00 │ 1,050.00 │ 1,400.00 │ 1,450.00 │ 1,500.00 │",
            "│ Theoretical Hit Rates │      N/A │     N/A │    N/A │      N/A │      N/A │      N/A │      N/A │",
        ] {
            assert!(text.lines().any(|line| line == wanted), "{text}");
        }
    }

    #[test]
    fn a_narrow_screen_shows_whole_numbers_and_names_what_is_missing() {
        let text = statistics_table("Trace Statistics", &ROWS, Page::screen(60));
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.contains(" 1,200.00 ") && text.contains(" 1,500.00 "), "{text}");
        assert!(text.ends_with("No room at this width for Std Dev, P25, P75\n"), "{text}");
    }
}
