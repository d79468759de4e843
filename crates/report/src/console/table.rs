//! Tables with a heavy head: as narrow as their contents, and never wider than the page.

use super::marks::is_marked;
use super::page::{Page, Style};
use super::text::{Align, centre, fill, width, wrap};

/// A column: its heading and how its cells look.
pub(crate) struct Column<'a> {
    pub(crate) title: &'a str,
    pub(crate) align: Align,
    /// Whether cells wrap at spaces if the page is too narrow; other columns shrink only as a last resort.
    pub(crate) wraps: bool,
}

/// One cell: its text, which may have several lines, and its style.
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// A table ready to be drawn.
pub(crate) struct Table<'a> {
    pub(crate) title: String,
    pub(crate) title_style: Style,
    pub(crate) columns: Vec<Column<'a>>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// Border pieces of one kind of line: left end, line, joint, right end.
struct Rule(&'static str, &'static str, &'static str, &'static str);

const TOP: Rule = Rule("┏", "━", "┳", "┓");
const UNDER_HEAD: Rule = Rule("┡", "━", "╇", "┩");
const BOTTOM: Rule = Rule("└", "─", "┴", "┘");

impl Table<'_> {
    /// The table as lines, each with its line break.
    pub(crate) fn draw(&self, page: Page) -> String {
        self.draw_below(&[], page)
    }

    /// The same with more lines above its title, each in its own style.
    pub(crate) fn draw_below(&self, heading: &[(String, Style)], page: Page) -> String {
        let widths = self.widths(page);
        let mut out = String::new();
        let columns = widths.iter().map(|width| width + 3).sum::<usize>() + 1;
        let lines = heading.iter().map(|(line, style)| (line.as_str(), *style));
        for (line, style) in lines.chain([(self.title.as_str(), self.title_style)]) {
            draw_centred(&mut out, page, line, style, columns);
        }
        push_rule(&mut out, &TOP, &widths);
        let heads = self.columns.iter().map(|column| (column.title, Style::BOLD));
        self.draw_row(&mut out, page, &widths, "┃", heads);
        push_rule(&mut out, &UNDER_HEAD, &widths);
        for row in &self.rows {
            let cells = row.iter().map(|cell| (cell.text.as_str(), cell.style));
            self.draw_row(&mut out, page, &widths, "│", cells);
        }
        push_rule(&mut out, &BOTTOM, &widths);
        out
    }

    fn draw_row<'t>(
        &self,
        out: &mut String,
        page: Page,
        widths: &[usize],
        border: &str,
        cells: impl Iterator<Item = (&'t str, Style)>,
    ) {
        let cells: Vec<(Vec<String>, Style)> =
            cells.zip(widths).map(|((text, style), &width)| (wrap(text, width), style)).collect();
        let height = cells.iter().map(|(lines, _)| lines.len()).max().unwrap_or(1);
        for at in 0..height {
            out.push_str(border);
            for (((lines, style), column), &width) in cells.iter().zip(&self.columns).zip(widths) {
                let text = lines.get(at).map_or("", |line| line.trim_end());
                let (text, space) = (page.paint(*style, text), fill(text, width));
                match column.align {
                    Align::Left => out.push_str(&format!(" {text}{space} {border}")),
                    Align::Right => out.push_str(&format!(" {space}{text} {border}")),
                }
            }
            out.push('\n');
        }
    }

    /// Whether a cell has the mark of too few requests.
    pub(crate) fn has_marks(&self) -> bool {
        self.rows.iter().flatten().any(|cell| is_marked(&cell.text))
    }

    /// Removes a column.
    pub(crate) fn remove(&mut self, title: &str) {
        if let Some(at) = self.columns.iter().position(|column| column.title == title) {
            self.columns.remove(at);
            self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }

    /// The width at which every column is whole, except those that wrap: these have at least `wrapped` columns, or the
    /// width of their widest word.
    pub(crate) fn least_width(&self, wrapped: usize) -> usize {
        let least = |at: usize| match self.columns[at].wraps {
            true => self.widest(at, widest_line).min(wrapped.max(self.widest(at, widest_word))),
            false => self.widest(at, widest_line),
        };
        (0..self.columns.len()).map(|at| least(at) + 3).sum::<usize>() + 1
    }

    /// Width of each column's contents.
    fn widths(&self, page: Page) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.columns.len()).map(|at| self.widest(at, widest_line)).collect();
        let frame = 3 * widths.len() + 1;
        let room = page.width().saturating_sub(frame);
        // On a screen, words are broken only as a last resort.
        let floor = if page.is_screen() { room } else { room / 4 };
        let least: Vec<usize> = (0..widths.len())
            .map(|at| if self.columns[at].wraps { self.widest(at, widest_word) } else { widths[at] })
            .collect();
        shrink(&mut widths, room, |at, width| self.columns[at].wraps && width > least[at].min(floor));
        shrink(&mut widths, room, |_, width| width > 1);
        widths
    }

    fn widest(&self, column: usize, measure: impl Fn(&str) -> usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| measure(&cell.text));
        cells.chain([measure(self.columns[column].title)]).max().unwrap_or(1)
    }
}

fn draw_centred(out: &mut String, page: Page, text: &str, style: Style, columns: usize) {
    for line in wrap(text, columns) {
        let line = line.trim_end();
        let (left, right) = centre(line, columns, " ");
        out.push_str(&format!("{left}{}{right}\n", page.paint(style, line)));
    }
}

fn widest_line(text: &str) -> usize {
    text.split('\n').map(width).max().unwrap_or(0)
}

fn widest_word(text: &str) -> usize {
    text.split_whitespace().map(width).max().unwrap_or(0)
}

/// Shrinks the widest column that may shrink, one step at a time, until all fit or none may.
fn shrink(widths: &mut [usize], room: usize, may_give: impl Fn(usize, usize) -> bool) {
    let mut excess = widths.iter().sum::<usize>().saturating_sub(room);
    while excess > 0 {
        let givers = widths.iter().enumerate().filter(|&(at, &width)| may_give(at, width));
        let Some((at, _)) = givers.max_by_key(|&(_, &width)| width) else { return };
        widths[at] -= 1;
        excess -= 1;
    }
}

fn push_rule(out: &mut String, Rule(left, line, joint, right): &Rule, widths: &[usize]) {
    let pieces: Vec<String> = widths.iter().map(|width| line.repeat(width + 2)).collect();
    out.push_str(&format!("{left}{}{right}\n", pieces.join(joint)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(cells: &[(&str, &str)]) -> Table<'static> {
        let cell = |text: &str| Cell { text: text.to_owned(), style: Style::PLAIN };
        Table {
            title: "Title".into(),
            title_style: Style::ITALIC,
            columns: vec![
                Column { title: "Metric", align: Align::Right, wraps: true },
                Column { title: "avg", align: Align::Right, wraps: false },
            ],
            rows: cells.iter().map(|(a, b)| vec![cell(a), cell(b)]).collect(),
        }
    }

    #[test]
    fn numbers_stay_whole_while_labels_wrap() {
        let drawn = table(&[("a long label of words", "1,234.56")]).draw(Page::plain(26));
        insta::assert_snapshot!(drawn, @r"
                  Title           
        ┏━━━━━━━━━━━━━┳━━━━━━━━━━┓
        ┃      Metric ┃      avg ┃
        ┡━━━━━━━━━━━━━╇━━━━━━━━━━┩
        │      a long │ 1,234.56 │
        │    label of │          │
        │       words │          │
        └─────────────┴──────────┘
        ");
    }

    proptest! {
        #[test]
        fn every_line_is_as_wide_as_the_table_and_fits_the_page(
            cells in prop::collection::vec(("[a-z ]{0,40}", "[0-9]{1,9}"), 1..5),
            limit in 20usize..80,
        ) {
            let cells: Vec<(&str, &str)> = cells.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            let drawn = table(&cells).draw(Page::plain(limit));
            let widths: Vec<usize> = drawn.lines().map(width).collect();
            prop_assert!(widths.iter().all(|&width| width == widths[0] && width <= limit));
        }
    }
}
