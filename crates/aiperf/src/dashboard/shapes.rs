//! Bars, and numbers as they stand beside them.

use super::theme::Theme;
use ratatui::style::Style;
use ratatui::text::Span;

/// A heavy line for what is done, in half columns, and a light one for the rest.
pub(crate) fn bar(share: f64, columns: usize, style: Style, theme: &Theme) -> [Span<'static>; 2] {
    let halves = ((share.clamp(0.0, 1.0) * 2.0 * columns as f64) as usize).min(2 * columns);
    let (whole, half) = (halves / 2, halves % 2);
    let done = format!("{}{}", "━".repeat(whole), if half == 1 { "╸" } else { "" });
    let rest = "─".repeat(columns - whole - half);
    [Span::styled(done, style), Span::styled(rest, theme.dim)]
}

/// A solid bar in eighths of a column, for amounts.
pub(crate) fn block_bar(share: f64, columns: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = ((share.clamp(0.0, 1.0) * 8.0 * columns as f64) as usize).min(8 * columns);
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

/// `  7%`; 100 only when all is done.
pub(crate) fn percent(share: f64) -> String {
    format!("{:>3}%", (share.clamp(0.0, 1.0) * 100.0) as u32)
}

/// `01:05`, and `1:00:05` from an hour on.
pub(crate) fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes:02}:{seconds:02}") }
}

/// A whole number with thousands commas.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::theme::Colours;
    use super::*;

    fn drawn(share: f64, columns: usize) -> String {
        bar(share, columns, Style::new(), &Theme::new(Colours::None)).iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn a_bar_is_as_long_as_it_is_told_whatever_is_done() {
        assert_eq!(drawn(0.25, 10), "━━╸───────");
        assert_eq!(drawn(0.0, 4), "────");
        assert_eq!(drawn(1.0, 4), "━━━━");
        for step in 0..=100 {
            assert_eq!(drawn(f64::from(step) / 100.0, 7).chars().count(), 7);
        }
        assert_eq!(drawn(f64::NAN, 3), "───");
    }

    #[test]
    fn all_is_done_only_when_it_is() {
        assert_eq!([percent(0.0), percent(0.999), percent(1.0)], ["  0%", " 99%", "100%"]);
    }
}
