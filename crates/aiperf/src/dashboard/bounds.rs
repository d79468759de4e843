//! The maximum size of the screen. A terminal can report any size, and every cell takes memory, twice.

use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

/// More than the largest screens show in the smallest font. Cells past these bounds stay empty.
const MOST_COLUMNS: u16 = 1000;
const MOST_ROWS: u16 = 400;

/// The columns and rows that are drawn.
pub(super) fn bounded((columns, rows): (u16, u16)) -> (u16, u16) {
    (columns.min(MOST_COLUMNS), rows.min(MOST_ROWS))
}

/// A terminal limited to that size.
pub(super) struct Bounded<B>(pub(super) B);

impl<B: Backend> Backend for Bounded<B> {
    type Error = B::Error;

    fn draw<'a, I>(&mut self, content: I) -> Result<(), Self::Error>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.0.draw(content)
    }

    fn append_lines(&mut self, lines: u16) -> Result<(), Self::Error> {
        self.0.append_lines(lines)
    }

    fn hide_cursor(&mut self) -> Result<(), Self::Error> {
        self.0.hide_cursor()
    }

    fn show_cursor(&mut self) -> Result<(), Self::Error> {
        self.0.show_cursor()
    }

    fn get_cursor_position(&mut self) -> Result<Position, Self::Error> {
        self.0.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Self::Error> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> Result<(), Self::Error> {
        self.0.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> Result<(), Self::Error> {
        self.0.clear_region(region)
    }

    fn size(&self) -> Result<Size, Self::Error> {
        let Size { width, height } = self.0.size()?;
        let (width, height) = bounded((width, height));
        Ok(Size { width, height })
    }

    fn window_size(&mut self) -> Result<WindowSize, Self::Error> {
        self.0.window_size()
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn a_terminal_that_reports_a_huge_size_is_drawn_in_part() {
        for (claimed, drawn) in [((80, 24), (80, 24)), ((3000, 24), (1000, 24)), ((1500, 700), (1000, 400))] {
            let backend = Bounded(TestBackend::new(claimed.0, claimed.1));
            let mut terminal = Terminal::new(backend).unwrap();
            let area = terminal.draw(|_| ()).unwrap().area;
            assert_eq!((area.width, area.height), drawn, "{claimed:?}");
        }
        assert_eq!(bounded((u16::MAX, u16::MAX)), (1000, 400));
    }
}
