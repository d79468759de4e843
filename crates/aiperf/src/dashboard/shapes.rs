//! Bars, and the numbers next to them.

use super::theme::Theme;
use ratatui::style::Style;
use ratatui::text::Span;

/// A heavy line for the part that is done, in half columns, and a light one for the rest.
pub(crate) fn bar(share: f64, columns: usize, style: Style, theme: &Theme) -> [Span<'static>; 2] {
    let halves = ((share.clamp(0.0, 1.0) * 2.0 * columns as f64) as usize).min(2 * columns);
    let (whole, half) = (halves / 2, halves % 2);
    let done = format!("{}{}", "━".repeat(whole), if half == 1 { "╸" } else { "" });
    let rest = "─".repeat(columns - whole - half);
    [Span::styled(done, style), Span::styled(rest, theme.dim)]
}

/// `  7%`; 100 only if everything is done.
pub(crate) fn percent(share: f64) -> String {
    format!("{:>3}%", (share.clamp(0.0, 1.0) * 100.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::super::theme::Colours;
    use super::*;

    fn drawn(share: f64, columns: usize) -> String {
        bar(share, columns, Style::new(), &Theme::new(Colours::None)).iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn a_bar_always_has_the_given_width() {
        assert_eq!(drawn(0.25, 10), "━━╸───────");
        assert_eq!(drawn(0.0, 4), "────");
        assert_eq!(drawn(1.0, 4), "━━━━");
        for step in 0..=100 {
            assert_eq!(drawn(f64::from(step) / 100.0, 7).chars().count(), 7);
        }
        assert_eq!(drawn(f64::NAN, 3), "───");
    }

    #[test]
    fn a_hundred_percent_only_at_the_end() {
        assert_eq!([percent(0.0), percent(0.999), percent(1.0)], ["  0%", " 99%", "100%"]);
    }
}
